"""Gradient flow from a vanishing start: a walk from saddle to saddle, in closed form between them."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from . import _core, _start
from . import _validate as check
from ._status import Status
from ._validate import Array

#: Gradients below this many ulps of the terms they are sums of are 0.
GRADIENT_FLOOR = 256.0
#: Coordinates whose times agree to this are switched on by one jump.
SIMULTANEOUS = 1e-12
#: Columns whose part outside of the span of the others is below this share of them decide nothing.
DEPENDENT = 1e-10


@dataclass(frozen=True, eq=False)
class SaddleToSaddle:
    r"""The walk of a gradient flow whose scale vanishes: saddle k is where it rests from ``t[k]`` to ``t[k + 1]``.

    Attributes
    ----------
    t : ndarray, shape (n_saddles,)
        Times of the jumps in units of :math:`\ln(1/\alpha)`; the first is 0.
    beta : ndarray, shape (n_saddles, n_features)
        Predictors; the first is 0, the last the end of the flow.
    signs : ndarray of int, shape (n_saddles, n_features)
        1 and -1 where a coordinate is switched on, 0 where it is not: at a saddle :math:`\beta` has the least loss
        among predictors with these signs.
    loss : ndarray, shape (n_saddles,)
        :math:`\sum_n r_n^2 / (2N)`, falling.
    multipliers : ndarray, shape (n_saddles, n_samples)
        :math:`\nu = \int_0^t r\,dt / N` at the jumps. At the end :math:`X^\top\nu` is a subgradient of the (weighted)
        ℓ1 norm at the predictor: what proves that it is least.
    status : Status
        "converged"; "least_squares" where no predictor fits the data; "infeasible_sign" where infinite thresholds are
        why none does; "step_too_small" where rounding hides the next saddle, and the walk ends before it.
    message : str
        One sentence, with what to do about it.
    success : bool
        Whether the last saddle is the end of the flow.
    """

    t: Array
    beta: Array = field(repr=False)
    signs: np.ndarray[tuple[int, int], np.dtype[np.int8]] = field(repr=False)
    loss: Array = field(repr=False)
    multipliers: Array = field(repr=False)
    status: Status
    message: str
    success: bool


def saddle_to_saddle(X: ArrayLike, y: ArrayLike, *, thresholds: ArrayLike = 0.5) -> SaddleToSaddle:
    r"""Gradient flow of a diagonal network in the limit of a vanishing scale, without integration.

    .. math:: s(t) = \int_0^t \frac{X^\top r}{N}\,dt, \qquad
              \beta = \operatorname{argmin}\{L(\beta) : \beta_i \ge 0 \text{ where } s_i = \theta_i^+,\
              \beta_i \le 0 \text{ where } s_i = -\theta_i^-,\ \beta_i = 0 \text{ elsewhere}\}

    with time in units of :math:`\ln(1/\alpha)`: the predictor rests at a saddle until the next :math:`s_i` reaches a
    threshold, and jumps [1]_. Each jump is a non-negative least-squares problem. As the scale :math:`\alpha \to 0` the
    flow approaches this walk at the rate of :math:`1/\ln(1/\alpha)`. Where several predictors have the least loss it
    goes to the one of least :math:`\sum_i|\beta_i|\ln|\beta_i|` [3]_ (for :math:`\kappa_i = \alpha^{2\theta_i}`).

    Parameters
    ----------
    X : array_like, shape (n_samples, n_features)
        One sample per row.
    y : array_like, shape (n_samples,)
        Targets.
    thresholds : float or array_like of shape (n_features,) or (n_features, 2), default 0.5
        :math:`\theta_i > 0`, or the pairs :math:`(\theta_i^-, \theta_i^+)`; inf where a coordinate cannot move to that
        side. 0.5 is that of `DiagonalNetwork.from_scale_shape` with one scale :math:`\alpha` and any shape, for
        :math:`\kappa \propto \alpha` and :math:`\beta = \tfrac12\kappa\sinh 2s`; a coordinate with the scale
        :math:`\alpha^c` has c/2 [2]_. Papers that start at :math:`u = \alpha, v = 0` have 1, and twice the times.

    Returns
    -------
    SaddleToSaddle
        All saddles, the origin first and the end last.

    Raises
    ------
    ValueError
        If an argument is of the wrong shape, not finite or outside of its interval.

    See Also
    --------
    gradient_flow : with ``time_unit="log_scale"``, the flow at a scale that does not vanish.
    implicit_bias.baselines.basis_pursuit : the end alone, where all thresholds are equal.

    References
    ----------
    .. [1] Pesme and Flammarion, "Saddle-to-Saddle Dynamics in Diagonal Linear Networks", NeurIPS 2023, Algorithm 1.
    .. [2] Zhao et al., 2026: unequal rates, by which coordinates can be switched off again.
    .. [3] Wind, Antun and Hansen, "Implicit Regularization in AI Meets Generalized Hardness of Approximation in
       Optimization", 2023.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> walk = ib.saddle_to_saddle([[1.0, 0.5, 0.7, 0.0], [0.5, 1.0, 0.1, 0.7]], [1.0, 0.0])
    >>> walk.beta.round(4) + 0.0
    array([[ 0.    ,  0.    ,  0.    ,  0.    ],
           [ 0.8   ,  0.    ,  0.    ,  0.    ],
           [ 0.    ,  0.    ,  1.4   ,  0.    ],
           [ 0.    ,  0.    ,  1.4286, -0.2041]])
    >>> walk.t.round(4)
    array([0.    , 1.    , 4.    , 5.6327])
    """
    X, y = check.data(X, y)
    return _Walk(X, y, _thresholds(thresholds, X.shape[1])).to_the_end()


#: Said where Status has only words for steps of an integrator.
LOST = "the next saddle is lost to rounding, for columns of X are parallel or far from each other in size: drop some"


class _Walk:
    """The algorithm, in units in which the largest entries of X and y are between 1 and 2."""

    def __init__(self, X: Array, y: Array, thresholds: Array) -> None:
        self.x_unit, self.y_unit = _exponent(X), _exponent(y)
        self.X, self.y = np.ldexp(X, -self.x_unit), np.ldexp(y, -self.y_unit)
        self.low, self.high = -thresholds[:, 0], thresholds[:, 1]
        self.s, self.nu = np.zeros(X.shape[1]), np.zeros(y.size)
        self.t, self.beta = 0.0, np.zeros(X.shape[1])
        self.rows: list[tuple[float, Array, Array, Array]] = []

    def to_the_end(self) -> SaddleToSaddle:
        while True:
            self.rows.append((self.t, self.beta, self.signs(), self.nu))
            rates = self.rates()
            if not rates.any():
                return self.result(Status.LEAST_SQUARES if self.misfit() else Status.CONVERGED)
            waits = np.full(rates.size, math.inf)
            up, down = rates > 0.0, rates < 0.0
            with np.errstate(over="ignore"):
                waits[up] = (self.high - self.s)[up] / rates[up]
                waits[down] = (self.low - self.s)[down] / rates[down]
            wait = waits.min()
            if not math.isfinite(wait):
                # Only coordinates that cannot move are still pushed.
                return self.result(Status.INFEASIBLE_SIGN)
            self.advance(wait, rates, waits <= wait * (1.0 + SIMULTANEOUS))
            before, rest = self.loss(), self.beta
            with np.errstate(over="ignore", invalid="ignore"):
                self.jump()
            # What arrives is pushed on, so that the loss falls; where it does not, rounding decides, again and again.
            if not (np.isfinite(self.beta).all() and self.loss() < before):
                self.beta = rest
                return self.result(Status.STEP_TOO_SMALL)

    def rates(self) -> Array:
        """s', the negative gradient; 0 where it is that to rounding, and where only rounding still pushes outward."""
        fitted = self.X @ self.beta
        rates = (self.y - fitted) @ self.X
        terms = (np.abs(self.y) + np.abs(self.X) @ np.abs(self.beta)) @ np.abs(self.X)
        noise = GRADIENT_FLOOR * np.finfo(float).eps * terms
        outward = ((self.s == self.high) & (rates > 0.0)) | ((self.s == self.low) & (rates < 0.0))
        return np.where((np.abs(rates) <= noise) | (self.beta != 0.0) | outward, 0.0, rates) / self.y.size

    def advance(self, wait: float, rates: Array, arrived: Array) -> None:
        self.t += wait
        self.nu = self.nu + wait / self.y.size * (self.y - self.X @ self.beta)
        moved = self.s + wait * rates
        self.s = np.where(arrived, np.where(rates > 0.0, self.high, self.low), moved)

    def signs(self) -> Array:
        return np.where(self.s == self.high, 1, np.where(self.s == self.low, -1, 0)).astype(np.int8)

    def jump(self) -> None:
        """To the least loss among the signs of the moment; columns are scaled to 1, for nnls has a tolerance."""
        from scipy.optimize import nnls

        signs = self.signs()
        on = np.flatnonzero(signs)
        sizes = np.abs(self.X[:, on]).max(axis=0)
        columns = self.X[:, on] / sizes * signs[on]
        found = nnls(columns, self.y)[0]
        support = np.flatnonzero(found)
        # nnls stops at a tolerance of its own; on its support the problem is linear.
        polished = np.linalg.lstsq(columns[:, support], self.y)[0]
        if (polished > 0.0).all():
            found[support] = polished
        self.beta = np.zeros(signs.size)
        self.beta[on] = found / sizes * signs[on]
        # What is on and not pushed back can move without loss, if its columns are dependent.
        free = (found > 0.0) | (self.rates()[on] == 0.0)
        if free.any() and np.linalg.matrix_rank(columns[:, free], tol=DEPENDENT) < np.count_nonzero(free):
            least = _least_entropy(self.X[:, on[free]] * signs[on[free]], np.abs(self.beta[on[free]]))
            self.beta[on[free]] = signs[on[free]] * least

    def loss(self) -> float:
        return float(np.square(self.y - self.X @ self.beta).sum())

    def misfit(self) -> bool:
        residual = np.abs(self.y - self.X @ self.beta).max()
        return bool(residual > check.tol(None) * np.abs(self.y).max())

    def result(self, status: Status) -> SaddleToSaddle:
        t, beta, signs, nu = (np.array(column) for column in zip(*self.rows, strict=True))
        # s is a pure number: t goes as 1/(X y), β as y/X, ν as s/X.
        with np.errstate(over="ignore", under="ignore"):
            beta = np.ldexp(beta, self.y_unit - self.x_unit)
            loss = np.square(np.ldexp(self.y - np.array([row[1] for row in self.rows]) @ self.X.T, self.y_unit))
            return SaddleToSaddle(
                t=np.ldexp(t, -self.x_unit - self.y_unit),
                beta=beta,
                signs=signs,
                loss=loss.sum(axis=1) / (2.0 * self.y.size),
                multipliers=np.ldexp(nu, -self.x_unit),
                status=status,
                message=LOST if status is Status.STEP_TOO_SMALL else status.message,
                success=status.at_the_end,
            )


def _least_entropy(columns: Array, found: Array) -> Array:
    r"""The :math:`x \ge 0` of least :math:`\sum x\ln x` with the same fit: the limit of one-sided coordinates."""
    start = _start.one_sided(found.size)
    targets = np.ascontiguousarray(columns @ found)
    end = _core.diagonal_limit(np.ascontiguousarray(columns), targets, start, bounds=False, tol=1e-12, n_jobs=1)
    return np.maximum(end["beta"], 0.0)


def _exponent(values: Array) -> int:
    return math.frexp(float(np.abs(values).max()))[1] - 1 if values.any() else 0


def _thresholds(value: ArrayLike, n_features: int) -> Array:
    """One pair a feature, all positive; inf is allowed."""
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"thresholds must be positive numbers: {error}") from error
    shapes = ((), (n_features,), (n_features, 2))
    if found.shape not in shapes:
        raise ValueError(f"thresholds must have shape {shapes[1]} or {shapes[2]}, or be one number: got {found.shape}")
    if not (found > 0.0).all():
        raise ValueError(f"thresholds must be positive: got {check.shown(found[~(found > 0.0)][0])}")
    return np.broadcast_to(found if found.ndim == 2 else np.atleast_1d(found)[:, None], (n_features, 2))
