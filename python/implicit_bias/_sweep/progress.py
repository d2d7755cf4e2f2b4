"""What a sweep tells about its progress: a callback, or a bar."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .. import _validate as check
from .._progress import new_bar

Report = Callable[[int, int], object]


@contextmanager
def reporting(progress: object) -> Iterator[Report]:
    """A function of (points done, points in all), from what the user passed."""
    if progress is None or progress is False:
        yield lambda done, total: None
    elif progress is True:
        yield from _bar()
    elif callable(progress):
        yield progress
    else:
        raise ValueError(f"progress must be True, False or a function of (done, total): got {check.shown(progress)}")


def _bar() -> Iterator[Report]:
    with new_bar(unit="point") as bar:

        def report(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield report
