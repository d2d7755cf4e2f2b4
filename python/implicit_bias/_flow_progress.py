"""What a flow tells about its progress: a small value for a callback, or a bar."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ._progress import new_bar, told


class FlowProgress(NamedTuple):
    """How far a flow is, as its ``progress`` callback is told: at most ten times a second, and once at the end.

    Attributes
    ----------
    t : float
        Time of the flow, in the `time_unit` of the call.
    residual : float
        Largest residual, with y projected onto the range of X; of the rotated rows where there are more samples than
        features.
    steps : int
        Accepted steps.
    fraction : float
        Share of the way, in [0, 1], never falling: of the requested rows; for ``t=None`` of the decades between the
        first residual and `tol`, in which a flow that rests near a saddle makes no progress.
    """

    t: float
    residual: float
    steps: int
    fraction: float


#: What the core calls: time of the flow, residual, steps, fraction.
Report = Callable[[float, float, int, float], None]


@contextmanager
def reporting(progress: object) -> Iterator[Report | None]:
    """What to hand to the core, from what the user passed."""
    with told(progress, _bar, "a FlowProgress") as show:
        yield None if show is None else _calling(show)


def _calling(progress: Callable[[FlowProgress], object]) -> Report:
    def report(time: float, residual: float, steps: int, fraction: float) -> None:
        progress(FlowProgress(time, residual, steps, fraction))

    return report


@contextmanager
def _bar() -> Iterator[Callable[[FlowProgress], None]]:
    look = "{percentage:3.0f}%|{bar}| {elapsed}{postfix}"
    with new_bar(total=1.0, bar_format=look) as bar:

        def show(now: FlowProgress) -> None:
            bar.set_postfix_str(f"t {now.t:.3g}, residual {now.residual:.1e}, steps {now.steps}", refresh=False)
            bar.update(now.fraction - bar.n)

        yield show
