"""The diagonal network along a flow: its weights at every time, what they conserve, and its unit of time."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._validate import Array

if TYPE_CHECKING:
    from ._diagonal import DiagonalNetwork
    from ._trajectory import Flow

#: Magnitudes of weights that the raw weights can be integrated from: products of two of them are still ordinary floats.
WEIGHT_RANGE = (1e-150, 1e150)
#: Coefficients below this are close to underflow: their relative precision is gone, that of their logarithm is not.
SMALLEST = 1e-290


class Parameters(NamedTuple):
    """The four weight vectors along a flow; over- and underflow give inf and 0.

    Attributes
    ----------
    u_plus, v_plus, u_minus, v_minus : ndarray, shape (n_times, n_features)
    """

    u_plus: Array
    v_plus: Array
    u_minus: Array
    v_minus: Array


class ConservedQuantities(NamedTuple):
    r"""What gradient flow conserves in every coordinate, recomputed from the weights at every time.

    .. math:: \delta_\pm = v_\pm^2 - u_\pm^2, \qquad c = u_+ u_- + v_+ v_-

    Attributes
    ----------
    delta_plus, delta_minus, c : ndarray, shape (n_times, n_features)
    drift : ndarray, shape (n_times,)
        Largest change since the start, relative to :math:`u_+^2 + v_+^2 + u_-^2 + v_-^2` of its coordinate.
    """

    delta_plus: Array
    delta_minus: Array
    c: Array
    drift: Array


def parameters(net: "DiagonalNetwork", flow: "Flow") -> Parameters:
    r"""The weights at every time.

    .. math:: u_+ + v_+,\ u_- - v_- \propto e^{G}, \qquad u_+ - v_+,\ u_- + v_- \propto e^{-G}, \qquad G = X^\top\nu
    """
    if flow.multipliers is None:
        return Parameters(*(flow._path[:, k] for k in range(4)))
    grown, decayed = _growth(net, flow)
    # The direction in the plane of the weights that grow (decay) together never turns; only its length moves.
    sum_plus, difference_minus = _direction(_sum(net.u_plus, net.v_plus), _sum(net.u_minus, -net.v_minus))
    difference_plus, sum_minus = _direction(_sum(net.u_plus, -net.v_plus), _sum(net.u_minus, net.v_minus))
    with np.errstate(over="ignore", under="ignore"):
        plus_up, plus_down = _product(grown, 0.5 * sum_plus), _product(decayed, 0.5 * difference_plus)
        minus_up, minus_down = _product(grown, 0.5 * difference_minus), _product(decayed, 0.5 * sum_minus)
        return Parameters(plus_up + plus_down, plus_up - plus_down, minus_down + minus_up, minus_down - minus_up)


def conserved(net: "DiagonalNetwork", flow: "Flow") -> ConservedQuantities:
    """What the flow conserves, recomputed from the weights, and how far it has drifted."""
    rows = parameters(net, flow)
    with np.errstate(over="ignore", under="ignore"):
        unit = np.exp(np.asarray(net.log_magnitude))
    start = Parameters(*(unit * w for w in (net.u_plus, net.v_plus, net.u_minus, net.v_minus)))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        now, then = _conserved(rows), _conserved(start)
        size = sum((part**2 for part in rows), start=np.zeros_like(rows.u_plus))
        change = np.max([np.abs(a - b) for a, b in zip(now, then, strict=True)], axis=0)
        drift = np.divide(change, size, out=np.zeros_like(size), where=size > 0.0).max(axis=1)
    return ConservedQuantities(*now, drift)


def _growth(net: "DiagonalNetwork", flow: "Flow") -> tuple[Array, Array]:
    r""":math:`\sqrt{A e^{2G}}` and :math:`\sqrt{B e^{-2G}}`, (n_times, n_features).

    Their squares are S + 2β and S - 2β, S² = 4β² + κ². G itself is the other way, but at a scale of 10^-100000 it
    is 115,000 and its rounding costs five digits of sixteen: it is left to where β is close to underflow.
    """
    start = net.start
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        # Squares of weights that are floats may be none themselves: in another unit they are. 512 is a number that
        # logarithms of that size lose no digit to.
        unit = np.where((start.log_kappa > 512.0) | (np.abs(flow.beta) > 1e200), 512.0, 0.0)
        beta = flow.beta * np.exp(-unit)
        kappa = np.exp(0.5 * (start.log_a_high + start.log_b_high) - unit)
        kappa *= np.exp(0.5 * (start.log_a_low + start.log_b_low))
        squared = 2.0 * np.abs(beta) + np.hypot(2.0 * beta, kappa)
        larger = np.sqrt(squared) * np.exp(0.5 * unit)
        smaller = np.exp(start.log_kappa - 0.5 * unit - 0.5 * np.log(squared))
        exact, up = squared > SMALLEST, flow.beta >= 0.0
        grown = np.where(up, larger, smaller)
        decayed = np.where(up, smaller, larger)
        a = np.exp(0.5 * start.log_a_high + flow._path) * np.exp(0.5 * start.log_a_low)
        b = np.exp(0.5 * start.log_b_high - flow._path) * np.exp(0.5 * start.log_b_low)
        grown, decayed = np.where(exact, grown, a), np.where(exact, decayed, b)
    return grown, decayed


def _product(size: Array, direction: Array) -> Array:
    """The product, and 0 where the direction has no part in it, whatever the size."""
    return np.multiply(size, direction, out=np.zeros_like(size), where=direction != 0.0)


#: A vector as values below 2 in size and powers of two: sums of weights near the largest float have no other form.
Scaled = tuple[Array, NDArray[np.int32]]


def _sum(a: Array, b: Array) -> Scaled:
    """The sum, rounded once; what is below 2^-1074 of the larger is none of it."""
    power = np.maximum(np.frexp(a)[1], np.frexp(b)[1])
    with np.errstate(under="ignore"):
        values, more = np.frexp(np.ldexp(a, -power) + np.ldexp(b, -power))
    return values, power + more


def _direction(x: Scaled, y: Scaled) -> tuple[Array, Array]:
    """(x, y) / |(x, y)|, and 0 where both are 0."""
    least = np.iinfo(np.int32).min // 4  # of a 0, which says nothing of the size
    powers = [np.where(values == 0.0, least, power) for values, power in (x, y)]
    top = np.maximum(*powers)
    with np.errstate(under="ignore"):
        a, b = np.ldexp(x[0], powers[0] - top), np.ldexp(y[0], powers[1] - top)
        size = np.hypot(a, b)
        size[size == 0.0] = 1.0
        return a / size, b / size


def _conserved(weights: Parameters) -> tuple[Array, Array, Array]:
    u_plus, v_plus, u_minus, v_minus = weights
    return v_plus**2 - u_plus**2, v_minus**2 - u_minus**2, u_plus * u_minus + v_plus * v_minus


def log_scale(net: "DiagonalNetwork") -> float:
    """Logarithm of the scale: the mean of several."""
    if net._log_alpha is not None:
        return float(np.mean(net._log_alpha[0]))
    # One side is 0 where a coordinate keeps its sign, and both where it never moves: kappa says nothing there.
    log_a, log_b = net.start.log_a_high, net.start.log_b_high
    both = np.isfinite(log_a) & np.isfinite(log_b)
    if not both.any():
        raise ValueError("time_unit 'log_scale' needs a coordinate with kappa > 0: got none; allowed here is 'flow'")
    return float(np.mean(0.5 * (log_a[both] + log_b[both])) - np.log(4.0))


def weights(net: "DiagonalNetwork") -> tuple[Array, Array, Array, Array, Array]:
    """The weights and the logarithm of their unit, as the core takes them."""
    return net.u_plus, net.v_plus, net.u_minus, net.v_minus, _magnitude(net)


def _magnitude(net: "DiagonalNetwork") -> Array:
    return np.ascontiguousarray(np.broadcast_to(net.log_magnitude, net.n_features))


def check_representable(net: "DiagonalNetwork") -> None:
    """The raw weights and their products must be floats; the dual methods need neither."""
    weights = np.abs([net.u_plus, net.v_plus, net.u_minus, net.v_minus])
    with np.errstate(divide="ignore"):
        logs = (np.log(weights) + _magnitude(net))[weights > 0.0]
    low, high = np.log(WEIGHT_RANGE)
    if logs.size and not (low <= logs.min() and logs.max() <= high):
        worst = logs[np.abs(logs).argmax()] / np.log(10.0)
        raise ValueError(
            f"method 'weights' needs every weight in [{WEIGHT_RANGE[0]:g}, {WEIGHT_RANGE[1]:g}] or 0: "
            f"got one of size 10^{worst:.6g}; allowed here are 'auto', 'radau', 'explicit'"
        )
