"""Entry point of ``implicit-bias`` and ``python -m implicit_bias``."""

import sys
from importlib.util import find_spec


def main() -> None:
    """Run the command line, or say in one line what it needs."""
    # Asked for by name: an import error from further down is a bug, not a missing extra.
    if find_spec("typer") is None:
        sys.stderr.write("the command line needs typer: pip install 'implicit-bias[cli]'\n")
        sys.exit(2)
    from ._cli import app

    app(prog_name="implicit-bias")


if __name__ == "__main__":
    main()
