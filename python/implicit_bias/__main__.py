"""Entry point of ``implicit-bias`` and ``python -m implicit_bias``."""

import io
import sys
from importlib.util import find_spec


def main() -> None:
    """Run the command line, or say in one line what it needs."""
    # Asked for by name: an import error from further down is a bug, not a missing extra.
    if find_spec("typer") is None:
        sys.stderr.write("the command line needs typer: pip install 'implicit-bias[cli]'\n")
        sys.exit(2)
    from ._cli import app

    # A file may have a name that the terminal has no letters for: results must not be lost over saying it.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    app(prog_name="implicit-bias")


if __name__ == "__main__":
    main()
