"""The end of the flow of a fully connected linear network, and the check of any predictor against it.

One neuron, and a balanced network, which is one: the closed form of `NeuronPotential.interpolate`. Few lines of linear
algebra, dominated by one SVD that NumPy does as well: a second road through the core would be a copy. Other networks,
and signs that the start does not decide: by integration in the core. To thirty digits the algebra is the core's.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from . import _core, _neuron_double_double
from . import _validate as check
from ._network import FlowOptions, LimitOptions
from ._neuron_potential import NeuronPotential, _ratio
from ._results import KKTReport, Limit
from ._status import LIMIT_STEPS, Status, message_of_limit
from ._validate import Array

if TYPE_CHECKING:
    from ._fully_connected import FullyConnectedNetwork, OneNeuron

#: Tolerances of an end that is found by integration: the part of β outside of the span is as accurate as that.
END_RTOL, END_TOL = 1e-13, 1e-13
#: The same to thirty digits, where nothing is taken out afterwards.
EXACT_RTOL, EXACT_TOL = 1e-30, 1e-31
#: Tolerances where only a sign is wanted, or whether the flow leaves 0: decided once the loss is below that of β = 0,
#: for it never grows again. So it is where every residual is below 1e-3 of the largest target, up to a million samples.
SIGN_RTOL, SIGN_TOL = 1e-9, 1e-3
#: Neurons that are looked at together.
BLOCK = 2048
#: delta counts as 0, so that the flow may rest at the saddle, below this many roundings of its terms.
DELTA = 64.0 * np.finfo(float).eps


class Span(NamedTuple):
    """X = U Σ Vᵀ, without the singular values that are round-off, and y projected onto the range of X."""

    left: Array
    sizes: Array
    right: Array
    target: Array

    @classmethod
    def of(cls, X: Array, y: Array) -> "Span":
        """Of data and targets."""
        left, sizes, right = np.linalg.svd(X, full_matrices=False)
        kept = sizes > max(X.shape) * np.finfo(float).eps * sizes[0]
        left, sizes, right = left[:, kept], sizes[kept], right[kept]
        return cls(left, sizes, right, left @ (left.T @ y))

    def least_norm(self, r: Array) -> Array:
        """The b of least norm with X b = r."""
        return np.asarray(self.right.T @ ((self.left.T @ r) / self.sizes))

    def outside(self, v: Array) -> Array:
        """Rows of v without their part in the span of the samples."""
        for _ in range(2):
            v = v - (v @ self.right.T) @ self.right
        return v


def potential(one: "OneNeuron", sign: float) -> NeuronPotential:
    r"""Q of one neuron whose outer weight ends with `sign` times its first sign: ∇Q = 3/2 sign(a)(w - w(0))."""
    if not np.isfinite(one.delta):
        raise ValueError(
            f"log_magnitude must be such that the squares of the weights are floats: got delta = {one.delta}"
        )
    a_sign = sign * (1.0 if one.a >= 0.0 else -1.0)
    return NeuronPotential(one.delta, -1.5 * a_sign * one.w)


def limit(net: "FullyConnectedNetwork", X: Array, y: Array, options: LimitOptions) -> Limit:
    """By the theorem where there is one, by integration elsewhere."""
    low = options.get("y_low")
    one = _one_neuron(net, exactly=low is not None)
    if one is None:
        return _by_integration(net, X, y, options)
    sign, how = 1.0, ""
    if _undecided(one, X, y):
        end = _integrated(net, X, y, options, SIGN_RTOL, SIGN_TOL)
        status = Status(end["status"])
        if not status.at_the_end:
            return _of_flow(net, X, y, end, options, None)
        if one.delta < 0.0:
            sign = _final_sign(net, X, y, end, one)
            kept = "changes" if sign < 0.0 else "keeps"
            how = f"; the outer weight {kept} its sign on the way, which was decided by integrating the flow"
    if low is None:
        found = potential(one, sign).interpolate(X, y)
    else:
        found = _neuron_double_double.limit(potential(one, sign), net, X, (y, low), _signed(one, sign), options)
    return replace(
        found,
        message=found.message + how,
        kkt=replace(found.kkt, theorem=one.theorem),
    )


def check_kkt(
    net: "FullyConnectedNetwork", X: Array, y: Array, beta: Array, n_jobs: int, low: tuple[Array, Array] | None
) -> KKTReport:
    """Stationarity by the theorem where there is one; elsewhere feasibility and the reach of the flow."""
    one = _one_neuron(net, exactly=low is not None)
    if one is None:
        return _kkt(net, X, y, beta) if low is None else _kkt_exactly(net, X, (y, low[0]), (beta, low[1]), n_jobs)
    sign = 1.0
    if one.delta < 0.0 and _undecided(one, X, y):
        options = LimitOptions(bounds=False, tol=check.tol(None), n_jobs=n_jobs)
        if low is not None:
            options["y_low"] = low[0]
        sign = _final_sign(net, X, y, _integrated(net, X, y, options, SIGN_RTOL, SIGN_TOL), one)
    Q = potential(one, sign)
    if low is not None:
        found = _neuron_double_double.check_kkt(Q, net, X, (y, low[0]), (beta, low[1]), _signed(one, sign), n_jobs)
        return replace(found, theorem=one.theorem)
    span = Span.of(X, y)
    multipliers = span.left @ ((span.right @ Q.gradient(beta)) / span.sizes)
    stationary = Q._of_gradient(X.T @ multipliers)
    residual = span.target - X @ beta
    # Fenchel's gap without its cancellation, as in `NeuronPotential.interpolate`.
    gap = Q._divergence(beta, stationary) - float(multipliers @ residual)
    return KKTReport(
        stationarity=_ratio(float(np.abs(beta - stationary).max()), float(np.abs(beta).max())),
        feasibility=_ratio(float(np.abs(residual).max()), float(np.abs(span.target).max())),
        duality_gap=gap,
        error_bound=None,
        backward_error=span.target - X @ stationary,
        multipliers=multipliers,
        theorem=one.theorem,
    )


def _one_neuron(net: "FullyConnectedNetwork", *, exactly: bool) -> "OneNeuron | None":
    """The one neuron that the start is, to all the digits that are asked for."""
    one = net._one_neuron
    return None if exactly and one is not None and not _neuron_double_double.is_one(net) else one


def _signed(one: "OneNeuron", sign: float) -> float:
    """The sign of the outer weight at the end, from that relative to its first."""
    return sign * (1.0 if one.a >= 0.0 else -1.0)


def _undecided(one: "OneNeuron", X: Array, y: Array) -> bool:
    """Whether the sign of a at the end, or that there is an end off 0, takes the flow to be known.

    For δ > 0 it does not, a² ≥ δ. Nor does it where the start is better than β = 0: the loss would have to grow.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if one.delta > DELTA * (one.a * one.a + float(np.square(one.w).sum())):
            return False
        start, zero = np.linalg.norm(y - X @ (one.a * one.w)), np.linalg.norm(y)
    return not start < (1.0 - max(X.shape) * np.finfo(float).eps) * zero


def _integrated(
    net: "FullyConnectedNetwork", X: Array, y: Array, options: LimitOptions, rtol: float, tol: float
) -> "_core._Flow":
    low = options.get("y_low")
    how = FlowOptions(
        times=None,
        time_unit=1.0,
        rtol=rtol,
        tol=tol,
        method="auto",
        max_steps=LIMIT_STEPS,
        max_seconds=None,
        observables=[],
        save_beta=False,
        progress=None,
        n_jobs=options["n_jobs"],
    )
    if low is not None:
        return net._integrate_exactly(X, (y, low), how, None)
    return _core.fully_connected_flow(X, y, net._start, end=None, **how)


def _final_sign(net: "FullyConnectedNetwork", X: Array, y: Array, end: "_core._Flow", one: "OneNeuron") -> float:
    """The sign of a at the end, times the one at the start."""
    exactly = end.get("beta_low") is not None
    a, _ = _core.fully_connected_parameters(
        X,
        y,
        net._start,
        states=end["path"],
        n_jobs=1,
        precision="double-double" if exactly else "double",
        start_low=net._start_low if exactly else None,
    )
    return float(np.sign(a[-1, 0]) * (1.0 if one.a >= 0.0 else -1.0)) or 1.0


def _by_integration(net: "FullyConnectedNetwork", X: Array, y: Array, options: LimitOptions) -> Limit:
    low = options.get("y_low")
    tolerances = (END_RTOL, END_TOL) if low is None else (EXACT_RTOL, EXACT_TOL)
    end = _integrated(net, X, y, options, *tolerances)
    if low is None and Status(end["status"]).at_the_end:
        # In the span of the samples the end is known: what is left of the residual is taken out at once.
        span, beta = Span.of(X, y), end["beta"][-1]
        end["beta"][-1] = beta + span.least_norm(span.target - X @ beta)
    return _of_flow(net, X, y, end, options, options["tol"])


def _of_flow(
    net: "FullyConnectedNetwork", X: Array, y: Array, end: "_core._Flow", options: LimitOptions, tol: float | None
) -> Limit:
    """What the last row of a flow says of its end."""
    beta, low, rest = end["beta"][-1], options.get("y_low"), None
    status = Status(end["status"])
    message = message_of_limit(status)
    if low is None:
        kkt = _kkt(net, X, y, beta)
    else:
        rest = end["beta_low"][-1]
        kkt = _kkt_exactly(net, X, (y, low), (beta, rest), options["n_jobs"])
    if status is Status.ROUNDOFF_FLOOR and tol is not None and kkt.feasibility <= tol:
        status, message = Status.CONVERGED, Status.CONVERGED.message
    return Limit(
        beta=beta,
        multipliers=None,
        error_bound=None,
        backward_error=kkt.backward_error,
        potential_value=None,
        kkt=kkt,
        n_iter=int(end["stats"]["newton_systems"]),
        status=status,
        message=message + "; no theorem gives a potential, the end was found by integrating the flow",
        success=status.at_the_end,
        beta_low=rest,
    )


def _kkt(net: "FullyConnectedNetwork", X: Array, y: Array, beta: Array) -> KKTReport:
    """What holds of every end: it fits the data, and outside of the span it is a combination of the hidden weights."""
    span = Span.of(X, y)
    residual = span.target - X @ beta
    away, hidden = span.outside(beta), net.W[:0]
    # Block by block: what is left never has more rows than a block and the features.
    for start in range(0, net.a.size, BLOCK):
        hidden = np.vstack([hidden, span.outside(net.W[start : start + BLOCK])])
        if hidden.shape[0] > hidden.shape[1]:
            hidden = np.asarray(np.linalg.qr(hidden, mode="r"))
    # Directions that are round-off beside the weights are none.
    _, sizes, rows = np.linalg.svd(hidden, full_matrices=False)
    reach = rows[sizes > max(net.W.shape) * np.finfo(float).eps * float(np.linalg.norm(net.W))]
    for _ in range(2):
        away = away - (away @ reach.T) @ reach
    return KKTReport(
        stationarity=_ratio(float(np.abs(away).max()), float(np.abs(beta).max())),
        feasibility=_ratio(float(np.abs(residual).max()), float(np.abs(span.target).max())),
        duality_gap=None,
        error_bound=None,
        backward_error=residual,
        multipliers=None,
        theorem=None,
    )


def _kkt_exactly(
    net: "FullyConnectedNetwork", X: Array, y: tuple[Array, Array], beta: tuple[Array, Array], n_jobs: int
) -> KKTReport:
    """The same of a predictor of thirty digits."""
    found = _core.fully_connected_reach(X, *y, net._start, net._start_low, *beta, n_jobs=n_jobs)
    return KKTReport(
        stationarity=found["stationarity"],
        feasibility=found["feasibility"],
        duality_gap=None,
        error_bound=None,
        backward_error=found["residual"],
        multipliers=None,
        theorem=None,
    )
