r"""Numbers that a sweep can keep of a result, by name.

Those of a limit are of :math:`\beta(\infty)`, those of a flow of its last row. What does not exist (a bound that was
not asked for, the last row of a flow that reached none of its times) is NaN.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._limit import check_kkt
from .._network import Network
from .._results import KKTReport, Limit
from .._trajectory import Flow
from .._validate import Array


class Solved(NamedTuple):
    """A result and what it was computed from."""

    result: Limit | Flow
    net: Network
    X: Array
    y: Array
    n_jobs: int

    @property
    def beta(self) -> Array:
        """The end, or the last row."""
        return self.result.beta if isinstance(self.result, Limit) else self.result.beta[-1]


def _largest(values: Array | None) -> float:
    return math.nan if values is None else float(np.abs(values).max())


def _residual(of: Solved) -> Array:
    # Not by BLAS, whose last digit depends on its number of threads, which executors change.
    return np.asarray(of.y - np.einsum("nd,d->n", of.X, of.beta))


def _loss(of: Solved) -> float:
    return float(np.square(_residual(of)).sum() / (2.0 * of.y.size))


def _report(of: Solved) -> KKTReport:
    if isinstance(of.result, Limit):
        return of.result.kkt
    return check_kkt(of.net, of.X, of.y, of.beta, n_jobs=of.n_jobs)


def _kkt_residual(of: Solved) -> float:
    report = _report(of)
    return max(report.stationarity, report.feasibility)


def _error_bound(of: Solved) -> float:
    if isinstance(of.result, Limit):
        return _largest(of.result.error_bound)
    return _largest(of.result.distance_bound(n_jobs=of.n_jobs)[-1])


def _potential_value(of: Solved) -> float:
    if isinstance(of.result, Limit):
        return math.nan if of.result.potential_value is None else of.result.potential_value
    return float(of.net.potential()(of.beta))


def _n_iter(of: Solved) -> float:
    return of.result.n_iter if isinstance(of.result, Limit) else of.result.stats["accepted"]


def _time(of: Solved) -> float:
    return math.inf if isinstance(of.result, Limit) else float(of.result.t[-1])


#: What each is stands in the documentation of `sweep`.
NAMED: dict[str, Callable[[Solved], float]] = {
    "loss": _loss,
    "residual": lambda of: _largest(_residual(of)),
    "l1_norm": lambda of: float(np.abs(of.beta).sum()),
    "l2_norm": lambda of: float(np.sqrt(np.square(of.beta).sum())),
    "max_norm": lambda of: _largest(of.beta),
    "potential_value": _potential_value,
    "kkt_residual": _kkt_residual,
    "error_bound": _error_bound,
    "n_iter": _n_iter,
    "time": _time,
}


def measured(name: str, of: Solved) -> float:
    """The number called `name`."""
    if isinstance(of.result, Flow) and of.result.t.size == 0:
        return math.nan
    with np.errstate(over="ignore", invalid="ignore"):  # inf, and NaN where infinities meet
        return float(NAMED[name](of))
