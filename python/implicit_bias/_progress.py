"""Who is told how far long work is: nobody, a function of the user, or a bar, which shows on a terminal only."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar, cast

from . import _validate as check

if TYPE_CHECKING:
    from tqdm import tqdm

#: What is called with how far the work is.
Report = TypeVar("Report", bound=Callable[..., object])

#: Whether a bar can be shown: it is an extra.
AVAILABLE = find_spec("tqdm") is not None


@contextmanager
def told(progress: object, bar: Callable[[], AbstractContextManager[Report]], argument: str) -> Iterator[Report | None]:
    """Whom the user wants to be told: nobody, `bar` for True, or a function of `argument`."""
    if progress is None or progress is False:
        yield None
    elif progress is True:
        with bar() as report:
            yield report
    elif callable(progress):
        yield cast(Report, progress)
    else:
        raise ValueError(f"progress must be True, False or a function of {argument}: got {check.shown(progress)}")


def new_bar(**look: Any) -> "tqdm[Any]":
    """A bar, quiet where standard error is not a terminal."""
    try:
        from tqdm import tqdm
    except ImportError:
        raise ImportError("progress=True needs tqdm: pip install 'implicit-bias[cli]'") from None
    # disable=None is tqdm's word for "unless the file is a terminal".
    return tqdm(file=sys.stderr, disable=None, **look)


@contextmanager
def bar(total: int, what: str) -> Iterator[Callable[[int], None] | None]:
    """A function that takes how much of `total` is done; None where nobody would see it."""
    if not AVAILABLE:
        yield None
        return
    with new_bar(total=total, desc=what, leave=False) as shown:

        def progress(done: int) -> None:
            shown.update(done - shown.n)

        yield None if shown.disable else progress
