"""The end of a leaky-ReLU flow, and the KKT conditions of one neuron ([A] Theorem 4)."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from . import _core, _neuron_double_double
from ._results import KKTReport, Limit
from ._status import LIMIT_STEPS, Status, message_of_limit
from ._validate import Array

if TYPE_CHECKING:
    from ._leaky_relu import LeakyReLUNetwork
    from ._network import LimitOptions

THEOREM = "Azulay et al. 2021, Theorem 4"
#: A pre-activation below this part of |x||w| lies on its kink.
ON_KINK = 1e-9


def limit(net: "LeakyReLUNetwork", X: Array, y: Array, options: "LimitOptions") -> Limit:
    """The end of the flow: in closed form where it must interpolate or is seen to, otherwise where it gets."""
    one = net.a.size == 1 and net.slope > 0.0 and y.any() and _full_rank(X)
    if one and net._delta() > 0.0:
        return _closed_form(net, X, y, math.copysign(1.0, net.a[0]), options, 0)
    low = options.get("y_low")
    found = _integrated(net, X, y, options)
    status, n_iter = Status(found["status"]), int(found["stats"]["newton_systems"])
    precision = "double" if low is None else "double-double"
    weights, _ = _core.leaky_relu_parameters(X, y, net._start, net.slope, "radau", found["path"], precision=precision)
    a, hidden = (part[-1] for part in weights)
    if one and status in (Status.CONVERGED, Status.ROUNDOFF_FLOOR) and a[0] != 0.0:
        # It interpolates, and which sign a has at the end is seen, not guessed: the rest is algebra.
        return _closed_form(net, X, y, math.copysign(1.0, a[0]), options, n_iter)
    if net.a.size == 1 and a[0] != 0.0:
        sign = math.copysign(1.0, a[0])
        if low is None:
            kkt = _report(net, X, y, found["beta"][-1], sign)
        else:
            kkt = _exact_report(net, X, (y, low), (found["beta"][-1], found["beta_low"][-1]), sign, options["n_jobs"])
    else:
        kkt = _of_the_end(net, X, y, low, found, (a, hidden))
    return Limit(
        beta=found["beta"][-1],
        multipliers=kkt.multipliers,
        error_bound=None,
        backward_error=kkt.backward_error,
        potential_value=None,
        kkt=kkt,
        n_iter=n_iter,
        status=status,
        message=message_of_limit(status),
        success=status.at_the_end,
        beta_low=None if low is None else found["beta_low"][-1],
        multipliers_low=kkt.multipliers_low,
    )


def _integrated(net: "LeakyReLUNetwork", X: Array, y: Array, options: "LimitOptions") -> "_core._Flow":
    """The flow to its end, of which the last state is kept."""
    low = options.get("y_low")
    exact = low is not None
    return _core.leaky_relu_flow(
        X,
        y,
        net._start,
        net.slope,
        times=None,
        time_unit=1.0,
        rtol=1e-28 if exact else 1e-12,
        tol=min(options["tol"], 1e-29 if exact else 1e-12),
        method="auto",
        max_steps=LIMIT_STEPS,
        max_seconds=None,
        max_events=None,
        observables=[],
        end=None,
        save_beta=False,
        progress=None,
        n_jobs=options["n_jobs"],
        precision="double-double" if exact else "double",
        y_low=low,
        start_low=net._start_low if exact else None,
    )


def _of_the_end(
    net: "LeakyReLUNetwork",
    X: Array,
    y: Array,
    low: Array | None,
    found: "_core._Flow",
    weights: tuple[Array, Array],
) -> KKTReport:
    """What can be asked where no theorem gives a potential: whether the data are fitted, and W moved in their span."""
    if low is None:
        residual = _residual(X, y, net.slope, *weights)
        outside = _outside(X, weights[1] - net._weights[1])
    else:
        parts = found["path"][-1:], found["path_low"][-1:]
        residual, outside = _core.leaky_relu_end(X, y, low, net._start, net.slope, *parts, net._start_low)
    return KKTReport(
        stationarity=outside,
        feasibility=_ratio(residual, y),
        duality_gap=None,
        error_bound=None,
        backward_error=residual,
        multipliers=None,
        theorem=None,
    )


def check_kkt(
    net: "LeakyReLUNetwork", X: Array, y: Array, beta: Array, n_jobs: int, low: tuple[Array, Array] | None
) -> KKTReport:
    """How far one neuron with this predictor is from a KKT point; a sign that a cannot take is not tried."""
    if net.a.size > 1:
        raise ValueError(
            f"net must be one neuron for check_kkt: got {net.a.size}, whose outputs the predictor does not determine"
        )
    signs = (1.0, -1.0) if net._delta() < 0.0 or net.a[0] == 0.0 else (math.copysign(1.0, net.a[0]),)
    if low is None:
        reports = [_report(net, X, y, beta, sign) for sign in signs]
    else:
        pairs = (y, low[0]), (beta, low[1])
        reports = [_exact_report(net, X, *pairs, sign, n_jobs) for sign in signs]
    return min(reports, key=lambda report: max(report.stationarity, report.feasibility))


def _closed_form(
    net: "LeakyReLUNetwork", X: Array, y: Array, sign: float, options: "LimitOptions", n_iter: int
) -> Limit:
    """Section 3's closed form with the targets y/1 or y/rho, by the sign that p has where the flow interpolates."""
    slopes = np.where(sign * y >= 0.0, 1.0, net.slope)
    low = options.get("y_low")
    if low is not None:
        end = _neuron_double_double.limit(net._potential(sign), net, X, (y, low), sign, options, slopes)
        return replace(end, kkt=replace(end.kkt, duality_gap=None, theorem=THEOREM), n_iter=n_iter)
    end = net._potential(sign)._interpolate(X, y / slopes)
    kkt = _report(net, X, y, end.beta, sign)
    status = Status.CONVERGED if kkt.feasibility <= options["tol"] else Status.ROUNDOFF_FLOOR
    return Limit(
        beta=end.beta,
        multipliers=kkt.multipliers,
        error_bound=None,
        backward_error=kkt.backward_error,
        potential_value=end.potential_value,
        kkt=kkt,
        n_iter=n_iter,
        status=status,
        message=message_of_limit(status),
        success=status.at_the_end,
    )


def _exact_report(
    net: "LeakyReLUNetwork", X: Array, y: tuple[Array, Array], beta: tuple[Array, Array], sign: float, n_jobs: int
) -> KKTReport:
    """As `_report`, to thirty digits: that of a linear neuron with the targets y/c."""
    p = sign * (X @ beta[0])
    slopes = np.where(p > 0.0, 1.0, net.slope)
    slopes[np.abs(p) <= ON_KINK * np.linalg.norm(X, axis=1) * np.linalg.norm(beta[0])] = 1.0
    potential, seen = net._potential(sign), slopes > 0.0
    # A sample of slope 0 pulls nowhere, as one of zeros does: its multiplier is 0, and its output is.
    data, targets = np.where(seen[:, None], X, 0.0), tuple(np.where(seen, part, 0.0) for part in y)
    divisors = np.where(seen, slopes, 1.0)
    found = _neuron_double_double.check_kkt(
        potential, net, data, (targets[0], targets[1]), beta, sign, n_jobs, divisors
    )
    missed, fitted = (float(np.abs(np.where(part, y[0], 0.0)).max()) for part in (~seen, seen))
    size = max(missed, fitted)
    feasibility = found.feasibility if missed == 0.0 else max(found.feasibility * (fitted or 1.0), missed) / size
    return replace(
        found,
        feasibility=feasibility,
        backward_error=np.where(seen, found.backward_error, y[0]),
        slopes=slopes,
        duality_gap=None,
        theorem=THEOREM,
    )


def _report(net: "LeakyReLUNetwork", X: Array, y: Array, beta: Array, sign: float) -> KKTReport:
    r""":math:`\tfrac32\operatorname{sign}(a)(w - w(0)) = \sum_n\nu_n c_n x_n` and :math:`a\sigma(Xw) = y`."""
    potential = net._potential(sign)
    size = float(np.linalg.norm(beta))
    a = sign * _outer(size, potential.delta)
    w = beta / a if a != 0.0 else np.zeros_like(beta)
    p = X @ w
    slopes = np.where(p > 0.0, 1.0, net.slope)
    # On a kink any slope goes with a multiplier of its own: the largest fits as well as any.
    slopes[np.abs(p) <= ON_KINK * np.linalg.norm(X, axis=1) * np.linalg.norm(w)] = 1.0
    wanted = 1.5 * sign * (w - net._weights[1][0])
    # A sample of slope 0 pulls nowhere: its multiplier says nothing, and is 0.
    pulled = np.linalg.lstsq((slopes[:, None] * X).T, wanted, rcond=None)[0]
    stationary = potential._of_gradient(X.T @ (slopes * pulled))
    residual = _residual(X, y, net.slope, np.array([a]), w[None])
    outer = sign * _outer(float(np.linalg.norm(stationary)), potential.delta)
    inner = stationary / outer if outer != 0.0 else stationary
    return KKTReport(
        stationarity=_ratio(beta - stationary, beta),
        feasibility=_ratio(residual, y),
        duality_gap=None,
        error_bound=None,
        backward_error=_residual(X, y, net.slope, np.array([outer]), inner[None]),
        multipliers=np.where(slopes > 0.0, pulled, 0.0),
        slopes=slopes,
        theorem=THEOREM,
    )


def _outer(size: float, delta: float) -> float:
    r"""\|a\| of a neuron, a^2 = sqrt(x^2 + delta^2/4) + delta/2, without cancellation for delta < 0."""
    root = math.hypot(size, 0.5 * delta)
    if delta >= 0.0:
        return math.sqrt(root + 0.5 * delta)
    return size / math.sqrt(root - 0.5 * delta)


def _residual(X: Array, y: Array, slope: float, a: Array, hidden: Array) -> Array:
    """Of the outputs, y - f(X); inf where a sum of it is beyond the largest float."""
    p = X @ hidden.T
    found = y - np.maximum(p, slope * p) @ a
    return np.asarray(np.where(np.isnan(found), np.inf, found))


def _outside(X: Array, moved: Array) -> float:
    """How far W has left the span of the samples, relative to how far it has moved."""
    left = moved.T - X.T @ np.linalg.lstsq(X.T, moved.T, rcond=None)[0]
    return _ratio(left, moved)


def _ratio(error: Array, of: Array) -> float:
    size = float(np.abs(of).max())
    largest = float(np.abs(error).max())
    found = largest / size if size > 0.0 else largest
    return math.inf if math.isnan(found) else found


def _full_rank(X: Array) -> bool:
    rows = np.linalg.norm(X, axis=1)
    if X.shape[0] > X.shape[1] or not rows.all():
        return False
    return bool(np.linalg.matrix_rank(X / rows[:, None]) == X.shape[0])
