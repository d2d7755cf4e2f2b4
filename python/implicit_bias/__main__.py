"""Entry point of ``implicit-bias`` and ``python -m implicit_bias``."""

import sys


def main() -> None:
    """Run the command line, or say in one line what it needs."""
    try:
        import typer  # noqa: F401  (an optional dependency: an import error below this line is a bug, not a missing extra)
    except ImportError:
        sys.stderr.write("the command line needs typer: pip install 'implicit-bias[cli]'\n")
        sys.exit(2)
    from ._cli import app

    app(prog_name="implicit-bias")


if __name__ == "__main__":
    main()
