"""A flow whose rows come with a proven bound of their error, and the search for a tolerance that meets a wanted one."""

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from . import _validate as check
from ._network import FlowOptions, Network
from ._status import Status
from ._validate import Array

if TYPE_CHECKING:
    from . import _core

#: Bounds, relative to the largest coefficient, that may be asked for.
WANTED = (1e-14, 0.1)
#: The least rtol there is.
LEAST_RTOL = check.RTOL_RANGE[0]
#: Bounds of an exact 0 are below this.
UNDERFLOW = 1e-300
#: Every next tolerance is lower by this factor or more; a bound follows the tolerance with a slope of about 1.
FACTOR, SAFETY = 0.1, 0.3


@dataclass(frozen=True)
class Certified:
    """A flow as the core returns it, and what was proven of it."""

    found: "_core._Flow"
    error_bound: Array
    #: Why the proof ended before the last row, if it did.
    ended: Status | None
    #: What a user has to know about a bound that was asked for and not met.
    shortfall: str | None


def wanted(value: object) -> bool | float:
    """``certify=``: False, True, or the largest bound that is good enough, relative to the largest coefficient."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    allowed = f"True, False or a number in [{WANTED[0]:g}, {WANTED[1]:g}]"
    found = check.number("certify", value, allowed)
    if not WANTED[0] <= found <= WANTED[1]:
        raise ValueError(f"certify must be {allowed}: got {check.shown(value)}")
    return found


def integrate(
    net: Network, X: Array, y: Array, options: FlowOptions, max_events: int | None, target: bool | float
) -> Certified:
    """The flow and its bound; with a number as target at the first tolerance that meets it, or the best there is.

    Steps are those of one run; seconds are those of all runs and proofs together.
    """
    deadline = math.inf if options["max_seconds"] is None else time.monotonic() + options["max_seconds"]
    best = _once(net, X, y, options, max_events, deadline)
    if target is True or best.ended is not None or best.found["interrupted"]:
        return best
    first, size, rtol = best.found, relative(best), options["rtol"]
    tried = rtol
    while not size <= target and tried > LEAST_RTOL and time.monotonic() < deadline:
        step = SAFETY * target / size if math.isfinite(size) else 0.0
        tried = max(LEAST_RTOL, tried * min(FACTOR, step) if step > 0.0 else tried * FACTOR)
        # Rows of the same times: those that a run has chosen for itself are given to the next, and are exact there.
        again = options | {"rtol": tried, "times": first["t"] if options["times"] is None else options["times"]}
        if not options["save_beta"]:
            again = options | {"rtol": tried}
        another = _once(net, X, y, again, max_events, deadline)
        if another.found["interrupted"] or another.ended is not None or another.found["t"].size < first["t"].size:
            break
        if not relative(another) >= size:
            best, size, rtol = another, relative(another), tried
    if options["times"] is None and best.found is not first:
        best.found["status"] = first["status"]
    if size <= target:
        return best
    return Certified(best.found, best.error_bound, best.ended, _shortfall(target, size, rtol))


def relative(certified: Certified) -> float:
    """The largest bound over the largest coefficient, of all rows; 0 if there is none, inf where nothing is known."""
    bound, beta = certified.error_bound, certified.found["beta"]
    worst = float(bound.max(initial=0.0))
    size = float(np.abs(beta).max(initial=0.0))
    with np.errstate(over="ignore"):
        # Of coefficients that are all 0 the bound is the least float, a few times, or says that they are not.
        return float(np.divide(worst, size)) if size > 0.0 else (0.0 if worst < UNDERFLOW else math.inf)


def _once(net: Network, X: Array, y: Array, options: FlowOptions, max_events: int | None, deadline: float) -> Certified:
    left = deadline - time.monotonic()
    if math.isfinite(left):
        options = options | {"max_seconds": max(left, 1e-3)}
    found = net._integrate(X, y, options, max_events)
    nothing = np.full_like(found["beta"], np.inf)
    if found["interrupted"] or not found["beta"].size:
        return Certified(found, nothing, None, None)
    start = time.monotonic()
    left = deadline - start
    if left <= 0.0:
        return Certified(found, nothing, Status.MAX_SECONDS, None)
    limited = options | {"max_seconds": left if math.isfinite(left) else None}
    proof = net._error_bound(X, y, found["t"][-len(found["beta"]) :], found["beta"], limited)
    found["stats"]["certify_seconds"] = time.monotonic() - start
    ended = None if proof["ended"] is None else Status(proof["ended"])
    found["interrupted"] = found["interrupted"] or ended is Status.INTERRUPTED
    return Certified(found, proof["error_bound"], ended, None)


def _shortfall(target: float, size: float, rtol: float) -> str:
    reached = f"{size:.2g} of the largest coefficient" if math.isfinite(size) else "infinite"
    return (
        f"the proven error is {reached} at rtol={rtol:.2g}, the best there is, where certify={target:g} was asked for: "
        "raise certify, or ask for fewer or earlier times"
    )
