r"""What theorems say in advance: how small or large a start has to be, and what explicit regularisation would do.

.. math:: \alpha \le \min\Bigl\{\bigl(2(1+\varepsilon)\|\beta^*_1\|_1\bigr)^{-\frac{2+\varepsilon}{2\varepsilon}},
                                e^{-d/(\varepsilon\|\beta^*_1\|_1)}\Bigr\}, \qquad
          \alpha \ge \sqrt{2(1+\varepsilon)(1+2/\varepsilon)\,\|\beta^*_2\|_2}

make the limit of gradient flow on a tied diagonal network of depth 2 a minimum of the ℓ1 (of the ℓ2) norm to a factor
of :math:`1+\varepsilon`.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from . import _validate as check
from ._deep_diagonal import DeepDiagonalNetwork
from ._depth_start import read
from ._limit import limit
from ._validate import Array
from .baselines import basis_pursuit, min_l2_norm

__all__ = ["explicit_distance", "explicit_regularizer", "min_explicit_regularizer", "scale_for_l1", "scale_for_l2"]


def scale_for_l1(eps: float, X: ArrayLike, y: ArrayLike, *, log: bool = False) -> float:
    r"""Scale that is small enough for an ℓ1 norm within a factor of :math:`1+\varepsilon` of the least.

    .. math:: \alpha = \min\Bigl\{\bigl(2(1+\varepsilon)\|\beta^*\|_1\bigr)^{-\frac{2+\varepsilon}{2\varepsilon}},
                                  e^{-d/(\varepsilon\|\beta^*\|_1)}\Bigr\}

    with the minimum ℓ1 interpolator :math:`\beta^*`: every start :math:`u_\pm = \alpha` at or below it has
    :math:`\|\beta(\infty)\|_1 \le (1+\varepsilon)\|\beta^*\|_1` [1]_. Sufficient, and often far from necessary:
    `implicit_bias.scale_to_l1` finds the largest one, in the convention of `DiagonalNetwork` (the square of this one).

    Parameters
    ----------
    eps : float
        :math:`\varepsilon`, in (0, n_features).
    X : array_like, shape (n_samples, n_features)
        One sample per row.
    y : array_like, shape (n_samples,)
        Targets, in the range of X and not all 0.
    log : bool, default False
        Return :math:`\ln\alpha`: the scale itself may be below the smallest float.

    Returns
    -------
    float
        In the convention of `DeepDiagonalNetwork`.

    Raises
    ------
    ValueError
        If `eps` is outside of its interval, y is 0, or the data are not valid or cannot be interpolated.

    References
    ----------
    .. [1] Woodworth et al., "Kernel and Rich Regimes in Overparametrized Models", COLT 2020, Theorem 2.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> round(ib.theory.scale_for_l1(0.5, [[1.0, 2.0]], [2.0]), 6)
    0.018316
    """
    X, y, eps, log = _asked(eps, X, y, log)
    least = float(np.abs(basis_pursuit(X, y)).sum())
    logarithm = min(
        -(2.0 + eps) / (2.0 * eps) * (math.log(2.0 * (1.0 + eps)) + math.log(least)),
        -X.shape[1] / eps / least,
    )
    return logarithm if log else math.exp(min(logarithm, 709.0))


def scale_for_l2(eps: float, X: ArrayLike, y: ArrayLike, *, log: bool = False) -> float:
    r"""Scale that is large enough for a squared ℓ2 norm within a factor of :math:`1+\varepsilon` of the least.

    .. math:: \alpha = \sqrt{2(1+\varepsilon)(1+2/\varepsilon)\,\|\beta^*\|_2}

    with the minimum ℓ2 interpolator :math:`\beta^*`: every start :math:`u_\pm = \alpha` at or above it has
    :math:`\|\beta(\infty)\|_2^2 \le (1+\varepsilon)\|\beta^*\|_2^2` [1]_.

    Parameters
    ----------
    eps : float
        :math:`\varepsilon`, in (0, n_features).
    X : array_like, shape (n_samples, n_features)
        One sample per row.
    y : array_like, shape (n_samples,)
        Targets, in the range of X and not all 0.
    log : bool, default False
        Return :math:`\ln\alpha`.

    Returns
    -------
    float
        In the convention of `DeepDiagonalNetwork`.

    Raises
    ------
    ValueError
        If `eps` is outside of its interval, y is 0, or the data are not valid.

    References
    ----------
    .. [1] Woodworth et al., "Kernel and Rich Regimes in Overparametrized Models", COLT 2020, Theorem 2.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> round(ib.theory.scale_for_l2(0.5, [[1.0, 2.0]], [2.0]), 6)
    3.662842
    """
    X, y, eps, log = _asked(eps, X, y, log)
    least = float(np.linalg.norm(min_l2_norm(X, y)))
    logarithm = 0.5 * (math.log(2.0 * (1.0 + eps) * (1.0 + 2.0 / eps)) + math.log(least))
    return logarithm if log else math.exp(min(logarithm, 709.0))


def explicit_distance(z: ArrayLike) -> Any:
    r"""Least squared distance of two weights from their start for a coefficient, all in units of the start.

    .. math:: r(z) = \min_{a^2 - b^2 = z} (a-1)^2 + (b-1)^2

    the smaller of the two real roots u of :math:`u^4 - 6u^3 + (12-2z^2)u^2 - (8+10z^2)u + z^2 + z^4` [1]_ (the paper
    says that there is one). With the multiplier :math:`\lambda` of the constraint :math:`a = 1/(1-\lambda)`,
    :math:`b = 1/(1+\lambda)`, so that :math:`z = h_4(\lambda)` and :math:`r = q_4`: what gradient flow on a network of
    depth 4 minimises is the distance that the weights of one of depth 2 travel. All digits count, everywhere.

    Parameters
    ----------
    z : array_like
        Coefficients, :math:`\beta/(\alpha w)^2`.

    Returns
    -------
    float64 or ndarray of float64
        Non-negative and even; :math:`z^2/8` near 0, :math:`|z|` far from it.

    Raises
    ------
    ValueError
        If `z` holds NaN or infinities.

    References
    ----------
    .. [1] Woodworth et al., "Kernel and Rich Regimes in Overparametrized Models", COLT 2020, Section 5.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> ib.theory.explicit_distance([0.0, 1.0]).round(6)
    array([0.      , 0.118351])
    """
    from .special import q_depth

    return q_depth(check.any_shape("z", z), 4)


def explicit_regularizer(
    beta: ArrayLike, scale: ArrayLike | None = None, weights: ArrayLike = 1.0, log_scale: ArrayLike | None = None
) -> float:
    r"""Least squared distance of the weights from the start, over all weights of depth 2 that make this predictor.

    .. math:: R(\beta) = \min_{u_+^2 - u_-^2 = \beta} \|u_+ - \alpha w\|^2 + \|u_- - \alpha w\|^2
                       = \sum_i (\alpha w_i)^2\, r\Bigl(\frac{\beta_i}{(\alpha w_i)^2}\Bigr)

    What "stay close to the start" would minimise, to be compared with what gradient flow does [1]_.

    Parameters
    ----------
    beta : array_like, shape (n_features,)
        Predictor coefficients.
    scale : float, optional
        :math:`\alpha > 0`. Exactly one of `scale` and `log_scale` must be given.
    weights : float or array_like of shape (n_features,), default 1.0
        :math:`w > 0`.
    log_scale : float, optional
        :math:`\ln\alpha`.

    Returns
    -------
    float
        Non-negative, 0 at 0.

    Raises
    ------
    ValueError
        If an argument is outside of its interval or has the wrong length.

    References
    ----------
    .. [1] Woodworth et al., "Kernel and Rich Regimes in Overparametrized Models", COLT 2020, Section 5.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> round(ib.theory.explicit_regularizer([1.0, 0.0], scale=1.0), 6)
    0.118351
    """
    point = check.array("beta", beta, "(n_features,)")
    start = read(2, scale, weights, log_scale, point.size).for_features(point.size)
    minus_two = (np.full(point.size, -2.0), np.zeros(point.size))
    unit = _core.double_double("exp", [_core.double_double("mul", [start.parts, minus_two])])
    ratio = _core.double_double("mul", [(point, np.zeros_like(point)), unit])
    if not np.isfinite(ratio[0]).all():
        # r(z) = |z| - 2 sqrt(|z|) + O(1), far beyond its last digit.
        return float(np.abs(point).sum())
    each = _core.depth_function("q", ratio, np.full(point.size, 4, dtype=np.uint32))
    return float(_core.double_double("div", [each, unit])[0].sum())


def min_explicit_regularizer(
    X: ArrayLike,
    y: ArrayLike,
    scale: ArrayLike | None = None,
    weights: ArrayLike = 1.0,
    log_scale: ArrayLike | None = None,
) -> Array:
    r"""Predictor whose weights stay closest to the start among those that fit the data.

    .. math:: \operatorname{argmin}_{X\beta = y} R(\beta)

    `R` is the `explicit_regularizer`. By :math:`r = q_4` it is the limit of gradient flow on a network of depth 4,
    scale :math:`\sqrt\alpha` and the same weights, for data and predictor in units of :math:`w^2`; found as that.

    Parameters
    ----------
    X : array_like, shape (n_samples, n_features)
        One sample per row.
    y : array_like, shape (n_samples,)
        Targets.
    scale : float, optional
        :math:`\alpha > 0`. Exactly one of `scale` and `log_scale` must be given.
    weights : float or array_like of shape (n_features,), default 1.0
        :math:`w > 0`.
    log_scale : float, optional
        :math:`\ln\alpha`.

    Returns
    -------
    ndarray, shape (n_features,)
        It fits the data as well as any can.

    Raises
    ------
    ValueError
        If an argument is outside of its interval or has the wrong length, or no minimiser was found.

    References
    ----------
    .. [1] Woodworth et al., "Kernel and Rich Regimes in Overparametrized Models", COLT 2020, Section 5.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> ib.theory.min_explicit_regularizer([[1.0, 2.0]], [2.0], scale=1e-3).round(3)
    array([0., 1.])
    """
    X, y = check.data(X, y)
    start = read(2, scale, weights, log_scale, X.shape[1])
    w = np.broadcast_to(check.per_coordinate("weights", weights, X.shape[1]), X.shape[1])
    with np.errstate(over="ignore", under="ignore"):
        unit = w * w
        scaled = X / unit
    if not (np.isfinite(scaled).all() and unit.min() > 0.0):
        raise ValueError(f"weights must have squares that are floats beside X: got {check.shown(weights)}")
    # The mean of ln(αw) less that of ln w: ln α, however it was given.
    log_alpha = float(start.high[0] - np.log(w[0]))
    net = DeepDiagonalNetwork.from_scale(X.shape[1], 4, log_scale=0.5 * log_alpha, weights=w)
    end = limit(net, scaled, y, bounds=False)
    if not end.success:
        raise ValueError(f"X and y must have a minimiser: {end.message}")
    return np.asarray(end.beta / unit)


def _asked(eps: object, X: ArrayLike, y: ArrayLike, log: object) -> tuple[Array, Array, float, bool]:
    X, y = check.data(X, y)
    eps = check.positive("eps", eps)
    if eps >= X.shape[1]:
        raise ValueError(f"eps must be in (0, {X.shape[1]}), the number of features: got {check.shown(eps)}")
    if not y.any():
        raise ValueError("y must not be 0: every scale ends at the predictor 0")
    return X, y, eps, check.flag("log", log)
