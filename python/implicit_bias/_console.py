"""What every command shares: what it says, and how it ends. Knows no command."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import typer

from ._files import FileError

FILE_OR_MACHINE, USAGE, NOT_ARRIVED, INTERRUPTED = 1, 2, 3, 130


def say(lines: Iterable[str]) -> None:
    """Lines on standard output."""
    for line in lines:
        typer.echo(line)


@contextmanager
def one_line() -> Iterator[None]:
    """What went wrong in one line, and the exit code that says whose turn it is.

    The library raises `ValueError` for wrong arguments and nothing else, and data are checked where they are read: what
    is left are options.
    """
    try:
        yield
    except BrokenPipeError:  # the reader of the summary has seen enough: typer ends quietly
        raise
    except (FileError, OSError, MemoryError) as error:
        fail(str(error) or "out of memory", FILE_OR_MACHINE)
    except ValueError as error:
        fail(str(error), USAGE)
    except KeyboardInterrupt:
        fail("interrupted: nothing was written", INTERRUPTED)


def fail(message: str, code: int) -> None:
    """One line on standard error, and the exit code."""
    typer.echo(f"implicit-bias: {' '.join(message.split())}", err=True)
    raise typer.Exit(code) from None
