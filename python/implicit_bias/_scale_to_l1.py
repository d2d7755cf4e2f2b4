"""How small is vanishing: the scale at which the limit of gradient flow is basis pursuit to a tolerance."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from . import _validate as check
from ._diagonal import DiagonalNetwork
from ._limit import limit
from ._validate import Array
from .baselines import basis_pursuit, min_l2_norm

#: The ℓ1 norm of a limit is known to about the first; beyond the second nothing is asked.
TOL_RANGE = (1e-12, 1e6)
#: Steps of the search for the scale, in its logarithm: this share of it, and at least so much.
STEP, LEAST_STEP = 0.1, 2.0
#: The logarithm of the scale is found to this share of it.
RESOLUTION = 1e-12


class ScaleToL1(NamedTuple):
    r"""The largest scale whose limit is close to the least ℓ1 norm.

    Attributes
    ----------
    scale : float or ndarray of the shape of `shape`
        :math:`\alpha`; 0 where it is below the smallest float, inf where every scale is close enough.
    log_scale : float or ndarray of the shape of `shape`
        :math:`\ln\alpha`.
    excess : float
        :math:`\|\beta(\infty)\|_1 / \min\|\beta\|_1 - 1` there, at most the tolerance.
    """

    scale: float | Array
    log_scale: float | Array
    excess: float


def scale_to_l1(
    X: ArrayLike, y: ArrayLike, tol: float, *, shape: ArrayLike = 0.0, n_jobs: int | None = None
) -> ScaleToL1:
    r"""Largest scale at which gradient flow on a diagonal network ends within `tol` of basis pursuit.

    .. math:: \max\{\alpha : \|\beta_\alpha(\infty)\|_1 \le (1 + \mathrm{tol}) \min_{X\beta = y}\|\beta\|_1\}

    The approach is logarithmic [1]_: on the data of Azulay et al. the excess is 5 % at a scale of 1e-5, and 1e-8 takes
    1e-300. Found from exact limits along the scale, from above.

    Parameters
    ----------
    X : array_like, shape (n_samples, n_features)
        One sample per row.
    y : array_like, shape (n_samples,)
        Targets, in the range of X.
    tol : float
        Excess of the ℓ1 norm, relative; in [1e-12, 1e6].
    shape : float or array_like, default 0.0
        Shape of the start, in (-1, 1), or several: :math:`\kappa = 4\alpha(1+s^2)/(1-s^2)` alone decides the limit, so
        that the scale for every shape follows from one.
    n_jobs : int, optional
        Number of threads, all cores by default.

    Returns
    -------
    ScaleToL1
        The scale, its logarithm, and the excess there.

    Raises
    ------
    ValueError
        If an argument is of the wrong shape, not finite or outside of its interval, or no predictor fits the data.

    References
    ----------
    .. [1] Woodworth et al., "Kernel and Rich Regimes in Overparametrized Models", COLT 2020, Theorem 2.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> data = ib.datasets.sparse_regression(10, 30, 2, seed=0)
    >>> ib.scale_to_l1(data.X, data.y, 0.01).log_scale < ib.scale_to_l1(data.X, data.y, 0.1).log_scale
    True
    """
    X, y = check.data(X, y)
    tol = check.within("tol", tol, TOL_RANGE, "1e-12 is what rounding leaves of an l1 norm")
    s = check.any_shape("shape", shape)
    if s.size == 0 or np.abs(s).max() >= 1.0:
        raise ValueError(f"shape must be in (-1, 1): got {check.shown(s[()])}")
    threads = check.jobs(n_jobs)
    least = float(np.abs(basis_pursuit(X, y)).sum())
    log_kappa, excess = _largest(X, y, least, tol, threads) if least > 0.0 else (math.inf, 0.0)
    # ln κ = ln 4α + ln((1 + s²)/(1 − s²)), the last difference as it stands: a rounded 1 − s² would not be exact.
    log_scale = np.asarray(log_kappa - math.log(4.0) - np.log1p(s**2) + np.log1p(-s) + np.log1p(s))
    with np.errstate(over="ignore", under="ignore"):
        scale = np.asarray(np.exp(log_scale))
    if not s.ndim:
        return ScaleToL1(float(scale), float(log_scale), excess)
    return ScaleToL1(scale, log_scale, excess)


def _largest(X: Array, y: Array, least: float, tol: float, n_jobs: int) -> tuple[float, float]:
    """Ln κ, from above, and the excess there."""
    from scipy.optimize import brentq

    def above(log_kappa: float) -> float:
        # At shape 0 the scale is κ/4.
        net = DiagonalNetwork.from_scale_shape(X.shape[1], log_scale=log_kappa - math.log(4.0))
        beta = limit(net, X, y, bounds=False, n_jobs=n_jobs).beta
        return float(np.abs(beta).sum()) / least - 1.0 - tol

    dense = min_l2_norm(X, y)
    if float(np.abs(dense).sum()) / least - 1.0 <= tol:
        return math.inf, float(np.abs(dense).sum()) / least - 1.0
    # κ of a hundred coefficients is κ = ∞ to a relative (β/κ)²: there the excess is above the tolerance.
    high = math.log(float(np.abs(dense).max())) + math.log(100.0)
    while above(high) <= 0.0:
        high += LEAST_STEP
    low = high
    while above(low) > 0.0:
        high, low = low, low - max(LEAST_STEP, STEP * abs(low))
    found = float(brentq(above, low, high, xtol=RESOLUTION * max(abs(low), 1.0), rtol=1e-15))
    while (excess := above(found)) > 0.0:
        found -= 2.0 * RESOLUTION * max(abs(found), 1.0)
    return found, excess + tol
