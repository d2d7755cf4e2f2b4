"""The bar of a long run: on a terminal only, and only where tqdm is installed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec


@contextmanager
def bar(total: int, what: str) -> Iterator[Callable[[int], None] | None]:
    """A function that takes how much of `total` is done; None where nobody would see it."""
    if find_spec("tqdm") is None:
        yield None
        return
    from tqdm import tqdm

    # disable=None is tqdm's word for "unless standard error is a terminal".
    with tqdm(total=total, desc=what, disable=None, leave=False) as shown:

        def progress(done: int) -> None:
            shown.update(done - shown.n)

        yield None if shown.disable else progress
