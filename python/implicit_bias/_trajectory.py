"""What `gradient_flow` returns: the path of the predictor, and what follows from it on request."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core
from . import _validate as check
from ._networks import DiagonalNetwork
from ._status import Status
from ._validate import Array

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


@dataclass(frozen=True, eq=False)
class Flow:
    r"""Trajectory of a gradient flow.

    Attributes
    ----------
    t : ndarray, shape (n_times,)
        Times of the flow of the loss :math:`\sum_n r_n^2 / (2N)`, in `time_unit`; those that were reached.
    beta : ndarray, shape (n_times, n_features)
        :math:`\beta(t)`. With ``save_beta=False`` the last row alone, (1, n_features).
    loss : ndarray, shape (n_times,)
        :math:`\sum_n r_n^2 / (2N)`.
    observables : dict of str to ndarray, shape (n_times,)
        The numbers asked for, by their names.
    multipliers : ndarray, shape (n_times, n_samples), or None
        :math:`\nu(t) = \int_0^t r\,ds / N`, with :math:`\nabla Q(\beta(t)) = X^\top\nu(t)`; of least norm where they
        are not unique. None for ``method="weights"``, which has no dual; the last row alone with ``save_beta=False``.
    status : Status
        Why it stopped.
    message : str
        One sentence, with what to do about it.
    success : bool
        Whether the last requested time was reached; without requested times, whether it converged.
    stats : dict
        Counters: accepted, rejected, rhs, jacobians, newton_iterations, newton_systems; and seconds.
    time_unit : str
        As it was asked for: "flow", or "log_scale" for units of :math:`\ln(1/\mathrm{scale})`.
    """

    t: Array = field(repr=False)
    beta: Array = field(repr=False)
    loss: Array = field(repr=False)
    observables: dict[str, Array] = field(repr=False)
    multipliers: Array | None = field(repr=False)
    status: Status
    message: str
    success: bool
    stats: dict[str, int | float]
    time_unit: str
    _save_beta: bool = field(repr=False)
    _net: DiagonalNetwork = field(repr=False)
    # Referenced, not copied: X can be most of the memory of the machine.
    _X: Array = field(repr=False)
    _y: Array = field(repr=False)
    # G, (n_times, n_features), or the weights themselves where those were integrated, (n_times, 4, n_features).
    _path: Array = field(repr=False)

    @property
    def parameters(self) -> Parameters:
        r"""The weights :math:`u_\pm(t), v_\pm(t)`, computed on every access.

        .. math:: u_+ + v_+,\ u_- - v_- \propto e^{G}, \qquad u_+ - v_+,\ u_- + v_- \propto e^{-G}, \qquad G = X^\top\nu

        Returns
        -------
        implicit_bias.Parameters
            Named tuple ``u_plus, v_plus, u_minus, v_minus``, each (n_times, n_features).

        Raises
        ------
        ValueError
            If the rows were not kept, ``save_beta=False``.
        """
        self._needs_rows("parameters")
        if self.multipliers is None:
            return Parameters(*(self._path[:, k] for k in range(4)))
        grown, decayed = self._growth()
        net = self._net
        # The direction in the plane of the weights that grow (decay) together never turns; only its length moves.
        sum_plus, difference_minus = _direction(_sum(net.u_plus, net.v_plus), _sum(net.u_minus, -net.v_minus))
        difference_plus, sum_minus = _direction(_sum(net.u_plus, -net.v_plus), _sum(net.u_minus, net.v_minus))
        with np.errstate(over="ignore", under="ignore"):
            plus_up, plus_down = _product(grown, 0.5 * sum_plus), _product(decayed, 0.5 * difference_plus)
            minus_up, minus_down = _product(grown, 0.5 * difference_minus), _product(decayed, 0.5 * sum_minus)
            return Parameters(plus_up + plus_down, plus_up - plus_down, minus_down + minus_up, minus_down - minus_up)

    def conserved_quantities(self) -> ConservedQuantities:
        r"""What the flow conserves, recomputed from the weights, and how far it has drifted.

        .. math:: \delta_\pm = v_\pm^2 - u_\pm^2, \qquad c = u_+ u_- + v_+ v_-

        Returns
        -------
        implicit_bias.ConservedQuantities
            Named tuple ``delta_plus, delta_minus, c, drift``. With ``method="weights"`` the drift is an error of the
            integration; otherwise it is the round-off of the weights.

        Raises
        ------
        ValueError
            If the rows were not kept, ``save_beta=False``.
        """
        self._needs_rows("conserved_quantities()")
        rows = self.parameters
        with np.errstate(over="ignore", under="ignore"):
            unit = np.exp(np.asarray(self._net.log_magnitude))
        start = Parameters(
            *(unit * w for w in (self._net.u_plus, self._net.v_plus, self._net.u_minus, self._net.v_minus))
        )
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            now, then = _conserved(rows), _conserved(start)
            size = sum((part**2 for part in rows), start=np.zeros_like(rows.u_plus))
            change = np.max([np.abs(a - b) for a, b in zip(now, then, strict=True)], axis=0)
            drift = np.divide(change, size, out=np.zeros_like(size), where=size > 0.0).max(axis=1)
        return ConservedQuantities(*now, drift)

    def distance_bound(self, *, n_jobs: int | None = None) -> Array:
        r"""Proven bound of the distance to the end of the flow, for every coefficient at every time.

        .. math:: |\beta_i(\infty) - \beta_i(t)| \le \mathrm{bound}_i(t)

        Costs one limit, whatever the number of rows. `X` and `y` are those of the call, which must not have been
        changed since.

        Parameters
        ----------
        n_jobs : int, optional
            Number of threads, all cores by default.

        Returns
        -------
        ndarray, shape (n_times, n_features)
            The distance to the certified limit plus the limit's own bound; inf where the limit has none.

        Raises
        ------
        ValueError
            If `n_jobs` is not a positive integer, or the rows were not kept, ``save_beta=False``.
        """
        self._needs_rows("distance_bound()")
        return _core.diagonal_distance_bound(
            self._X, self._y, self._net.start, beta=self.beta, n_jobs=check.jobs(n_jobs)
        )

    def _needs_rows(self, name: str) -> None:
        if not self._save_beta:
            raise ValueError(f"{name} needs every row of beta: call gradient_flow with save_beta=True, got False")

    def _growth(self) -> tuple[Array, Array]:
        r""":math:`\sqrt{A e^{2G}}` and :math:`\sqrt{B e^{-2G}}`, (n_times, n_features).

        Their squares are S + 2β and S - 2β, S² = 4β² + κ². G itself is the other way, but at a scale of 10^-100000 it
        is 115,000 and its rounding costs five digits of sixteen: it is left to where β is close to underflow.
        """
        start = self._net.start
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            # Squares of weights that are floats may be none themselves: in another unit they are. 512 is a number that
            # logarithms of that size lose no digit to.
            unit = np.where((start.log_kappa > 512.0) | (np.abs(self.beta) > 1e200), 512.0, 0.0)
            beta = self.beta * np.exp(-unit)
            kappa = np.exp(0.5 * (start.log_a_high + start.log_b_high) - unit)
            kappa *= np.exp(0.5 * (start.log_a_low + start.log_b_low))
            squared = 2.0 * np.abs(beta) + np.hypot(2.0 * beta, kappa)
            larger = np.sqrt(squared) * np.exp(0.5 * unit)
            smaller = np.exp(start.log_kappa - 0.5 * unit - 0.5 * np.log(squared))
            exact, up = squared > SMALLEST, self.beta >= 0.0
            grown = np.where(up, larger, smaller)
            decayed = np.where(up, smaller, larger)
            a = np.exp(0.5 * start.log_a_high + self._path) * np.exp(0.5 * start.log_a_low)
            b = np.exp(0.5 * start.log_b_high - self._path) * np.exp(0.5 * start.log_b_low)
            grown, decayed = np.where(exact, grown, a), np.where(exact, decayed, b)
        return grown, decayed


class FlowInterrupted(KeyboardInterrupt):
    """Ctrl-C during a flow, with the rows that it had.

    Parameters
    ----------
    partial : Flow
        The result so far.
    """

    def __init__(self, partial: Flow) -> None:
        super().__init__(f"interrupted after {partial.stats['accepted']} steps: the rows so far are in .partial")
        self.partial = partial

    def __reduce__(self) -> tuple[type["FlowInterrupted"], tuple[Flow]]:
        return type(self), (self.partial,)


def _product(size: Array, direction: Array) -> Array:
    """Product of both, and 0 where `direction` has no part in it, whatever `size` is."""
    return np.multiply(size, direction, out=np.zeros_like(size), where=direction != 0.0)


#: A vector as values below 2 in size and powers of two: sums of weights near the largest float have no other form.
Scaled = tuple[Array, NDArray[np.int32]]


def _sum(a: Array, b: Array) -> Scaled:
    """Sum of both, rounded once; what is below 2^-1074 of the larger is none of it."""
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
