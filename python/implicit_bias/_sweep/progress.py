"""What a sweep tells about its progress: a callback, or a bar."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .._progress import new_bar, told

Report = Callable[[int, int], object]


@contextmanager
def reporting(progress: object) -> Iterator[Report]:
    """A function of (points done, points in all), from what the user passed."""
    with told(progress, _bar, "(done, total)") as report:
        yield report or (lambda done, total: None)


@contextmanager
def _bar() -> Iterator[Report]:
    with new_bar(unit="point") as bar:

        def report(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield report
