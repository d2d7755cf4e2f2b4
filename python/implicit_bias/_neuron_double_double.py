"""One neuron to thirty digits: the closed form of its limit, and the check of any predictor against it.

The algebra is the core's (`rust/limit/neuron.rs`), which starts from the weights as they were given; here are the
answers put together, by the same rules as those of `NeuronPotential.interpolate`.
"""

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from . import _core
from ._neuron_potential import NeuronPotential, _ratio
from ._results import KKTReport, Limit
from ._status import Status
from ._validate import Array

if TYPE_CHECKING:
    from ._network import LimitOptions
    from ._neurons import Neurons

#: Two points this close, relative to their size, have the divergence of the quadratic part of Q to six digits.
CLOSE = 1e-6


def unavailable(what: str) -> ValueError:
    """Where the end is only known by integration."""
    return ValueError(
        f"precision must be 'double' for {what}: its limit has no closed form, and is found by integration in float64; "
        "'double-double' is for diagonal networks, one neuron, and neurons in a line"
    )


def is_one(net: "Neurons") -> bool:
    """Whether the weights are those of one neuron to thirty digits."""
    return net._by_shape is not None or _of_weights(net) is not None


def start_of(net: "Neurons") -> "_core._Neuron":
    """w(0) and delta; a ValueError for several neurons that are not one."""
    if net._by_shape is not None:
        return net._by_shape.start
    found = _of_weights(net)
    if found is None:
        raise unavailable(f"{net.a.size} neurons whose weights are not W = a u^T to thirty digits")
    return found


def _of_weights(net: "Neurons") -> "_core._Neuron | None":
    a_low, W_low, log_magnitude_low = net._start_low
    a_low = np.zeros_like(net.a) if a_low is None else a_low
    W_low = np.zeros_like(net.W) if W_low is None else W_low
    return _core.neuron_start(net._start, a_low, W_low, log_magnitude_low)


def potential(net: "Neurons", sign: float) -> NeuronPotential:
    r"""Q of a start whose outer weight has this sign: :math:`z = -\tfrac32 \operatorname{sign}(a) w(0)`."""
    w, w_low, *delta = start_of(net)
    if not math.isfinite(delta[0]):
        raise ValueError(
            f"log_magnitude must be such that the squares of the weights are floats: got delta = {delta[0]}"
        )
    factor = (np.full_like(w, -1.5 * sign), np.zeros_like(w))
    linear = _core.double_double("mul", [(w, w_low), factor])
    return NeuronPotential(tuple(delta), linear, precision="double-double")


def limit(
    Q: NeuronPotential,
    net: "Neurons",
    X: Array,
    y: tuple[Array, Array],
    sign: float,
    options: "LimitOptions",
    slopes: Array | None = None,
) -> Limit:
    """The end of the flow of one neuron whose outer weight ends with `sign`; `slopes` are those of a kinked one."""
    return minimiser(Q, start_of(net), X, y, sign, options["tol"], options["n_jobs"], slopes)


def minimiser(
    Q: NeuronPotential,
    start: "_core._Neuron",
    X: Array,
    y: tuple[Array, Array],
    sign: float,
    tol: float,
    n_jobs: int,
    slopes: Array | None = None,
) -> Limit:
    """The minimiser of Q under the data, in closed form."""
    found = _core.neuron_limit(X, *_divided(y, slopes), start, sign=sign, n_jobs=n_jobs)
    beta = found["beta"]
    if not all(np.isfinite(part).all() for part in (beta, found["multipliers"], found["residual"])):
        raise ValueError("X, y and the weights must have a limit in the range of float64: it overflows")
    kkt = _report(Q, X, beta, found, slopes)
    if not found["reachable"] or X.shape[0] > X.shape[1]:
        status = Status.LEAST_SQUARES
    else:
        status = Status.CONVERGED if kkt.feasibility <= tol else Status.ROUNDOFF_FLOOR
    return Limit(
        beta=beta,
        multipliers=kkt.multipliers,
        error_bound=None,
        backward_error=kkt.backward_error,
        potential_value=found["potential_value"],
        kkt=kkt,
        n_iter=0,
        status=status,
        message=status.message,
        success=status.at_the_end,
        beta_low=found["beta_low"],
        multipliers_low=kkt.multipliers_low,
        potential_value_low=found["potential_value_low"],
    )


def check_kkt(
    Q: NeuronPotential,
    net: "Neurons",
    X: Array,
    y: tuple[Array, Array],
    beta: tuple[Array, Array],
    sign: float,
    n_jobs: int,
    slopes: Array | None = None,
) -> KKTReport:
    """How far a predictor of thirty digits is from that end."""
    found = _core.neuron_check_kkt(X, *_divided(y, slopes), start_of(net), sign, *beta, n_jobs=n_jobs)
    return _report(Q, X, beta[0], found, slopes)


def _divided(y: tuple[Array, Array], slopes: Array | None) -> tuple[Array, Array]:
    """``y / slopes`` to thirty digits: what a linear neuron has to reach for a kinked one to reach y."""
    if slopes is None:
        return y
    high, low = (part.copy() for part in y)
    for n in np.flatnonzero(slopes != 1.0):
        exact = (Fraction(float(y[0][n])) + Fraction(float(y[1][n]))) / Fraction(float(slopes[n]))
        high[n] = float(exact)
        low[n] = float(exact - Fraction(float(high[n])))
    return high, low


def _report(Q: NeuronPotential, X: Array, beta: Array, found: "_core._NeuronReport", slopes: Array | None) -> KKTReport:
    """Of a kinked neuron the residuals are c times, the multipliers 1/c times those of the linear one with y/c."""
    c = np.ones(X.shape[0]) if slopes is None else slopes
    residual = c * found["residual"]
    # Fenchel's gap without its cancellation, as in `NeuronPotential.interpolate`.
    gap = _divergence(Q, beta, found["off"]) - float(found["multipliers"] @ found["residual"])
    target = float(np.abs(c * (X @ beta) + residual).max())
    multipliers, low = _divided((found["multipliers"], found["multipliers_low"]), slopes)
    return KKTReport(
        stationarity=found["stationarity"],
        feasibility=_ratio(float(np.abs(residual).max()), target),
        duality_gap=math.inf if math.isnan(gap) else gap,
        error_bound=None,
        backward_error=c * found["backward_error"],
        multipliers=multipliers,
        multipliers_low=low,
        slopes=slopes,
    )


def _divergence(Q: NeuronPotential, beta: Array, off: Array) -> float:
    """That of `beta` from ``beta - off``, whose difference `off` has digits that `beta` has not."""
    if float(np.abs(off).max()) > CLOSE * float(np.abs(beta).max()):
        return Q._divergence(beta, beta - off)
    if not off.any():
        return 0.0
    here = Q._curvature(beta)
    along = float(here.direction @ off)
    across = off - along * here.direction
    return 0.5 * (here.along * along**2 + here.across * float(np.square(across).sum()))
