"""The two ends that implicit bias interpolates between: the minimum ℓ2 and the minimum ℓ1 interpolator.

Of matrices the second is the one of least nuclear norm.
"""

import numpy as np
from numpy.typing import ArrayLike

from . import _validate as check
from ._nuclear_norm import NuclearNorm, solve
from ._observations import Observations
from ._validate import Array

__all__ = ["NuclearNorm", "basis_pursuit", "min_l2_norm", "min_nuclear_norm"]

#: Coefficients that the linear program is asked for: the ends of binary64 are no unit to measure others in.
MEASURABLE = (1e-290, 1e290)


def min_l2_norm(X: ArrayLike, y: ArrayLike) -> Array:
    r"""Predictor of least Euclidean norm among those that fit the data best.

    .. math:: \operatorname{argmin} \|\beta\|_2 \quad\text{subject to}\quad X\beta = y

    The limit of gradient flow for :math:`\kappa \to \infty`, and the start of every comparison [1]_.

    Parameters
    ----------
    X : array_like, shape (n_samples, n_features)
        One sample per row.
    y : array_like, shape (n_samples,)
        Targets; outside of the range of X they are projected onto it.

    Returns
    -------
    ndarray, shape (n_features,)
        In the span of the rows of X.

    Raises
    ------
    ValueError
        If an argument is of the wrong shape or not finite, or a coefficient exceeds the largest float.

    References
    ----------
    .. [1] Woodworth et al., "Kernel and Rich Regimes in Overparametrized Models", COLT 2020.

    Examples
    --------
    >>> from implicit_bias.baselines import min_l2_norm
    >>> min_l2_norm([[1.0, 2.0]], [2.0]).round(12)
    array([0.4, 0.8])
    """
    X, y = check.data(X, y)
    beta = np.asarray(np.linalg.lstsq(X, y)[0])
    if not np.isfinite(beta).all():
        raise ValueError(
            f"y must not need coefficients beyond the largest float: got targets up to {np.abs(y).max():.1e}"
        )
    return beta


def basis_pursuit(X: ArrayLike, y: ArrayLike) -> Array:
    r"""Predictor of least ℓ1 norm among those that fit the data.

    .. math:: \operatorname{argmin} \|\beta\|_1 \quad\text{subject to}\quad X\beta = y

    The limit of gradient flow for :math:`\kappa \to 0`, where it is unique [1]_. Solved as a linear program by the dual
    simplex of HiGHS, then once more on the coefficients that it found: the program stops at a residual of 1e-7.

    Parameters
    ----------
    X : array_like, shape (n_samples, n_features)
        One sample per row.
    y : array_like, shape (n_samples,)
        Targets, in the range of X.

    Returns
    -------
    ndarray, shape (n_features,)
        A vertex: at most n_samples coefficients differ from 0.

    Raises
    ------
    ValueError
        If an argument is of the wrong shape or not finite, no predictor fits the data, or those that might are beyond
        1e±290.

    References
    ----------
    .. [1] Chen, Donoho and Saunders, "Atomic Decomposition by Basis Pursuit", SIAM Review 43 (2001).

    Examples
    --------
    >>> from implicit_bias.baselines import basis_pursuit
    >>> basis_pursuit([[1.0, 2.0]], [2.0])
    array([0., 1.])
    """
    from scipy.optimize import linprog

    X, y = check.data(X, y)
    largest = np.abs(y).max()
    if largest == 0.0:
        return np.zeros(X.shape[1])
    # Tolerances of the program are absolute, so rows and targets go in at size one.
    rows = np.abs(X).max(axis=1)
    rows[rows == 0.0] = 1.0
    with np.errstate(over="ignore", under="ignore"):
        unit = np.abs(y / rows).max()
    if not MEASURABLE[0] < unit < MEASURABLE[1]:
        raise ValueError(f"y must fit coefficients in {MEASURABLE}: got targets of {unit:.1e} times their rows of X")
    scaled, target = X / rows[:, None], y / rows / unit
    found = linprog(np.ones(2 * X.shape[1]), A_eq=np.hstack([scaled, -scaled]), b_eq=target, method="highs-ds")
    if found.x is None:
        raise ValueError(f"y must be in the range of X: no predictor fits the data ({found.message})")
    beta = found.x[: X.shape[1]] - found.x[X.shape[1] :]
    support = np.flatnonzero(beta)
    polished = np.zeros_like(beta)
    polished[support] = np.linalg.lstsq(scaled[:, support], target)[0]
    residual, polished_residual = (np.abs(target - scaled @ b).max() for b in (beta, polished))
    return np.asarray(unit * (polished if polished_residual <= residual else beta))


def min_nuclear_norm(X: ArrayLike | Observations, y: ArrayLike) -> NuclearNorm:
    r"""Matrix of least nuclear norm among those that fit the data, with a proof of how close it is.

    .. math:: \operatorname{argmin} \|M\|_* \quad\text{subject to}\quad \langle X_n, M\rangle = y_n

    What a `MatrixFactorization` of vanishing start tends to where the observations commute [1]_. Solved as a
    semidefinite program by Clarabel (extra "convex"); a feasible point of the dual bounds the least norm from below.

    Parameters
    ----------
    X : Observations, or array_like of shape (n_samples, n_rows, n_columns)
        What is observed.
    y : array_like, shape (n_samples,)
        Targets, in the range of X.

    Returns
    -------
    NuclearNorm
        The matrix, its norm, the multipliers that prove it, and the gap between them.

    Raises
    ------
    ValueError
        If an argument is of the wrong shape or not finite, or no matrix fits the data.
    ImportError
        If Clarabel is missing.

    References
    ----------
    .. [1] Gunasekar et al., "Implicit Regularization in Matrix Factorization", NeurIPS 2017.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> seen = ib.Observations([0, 0, 1], [0, 1, 0], (2, 2))
    >>> found = ib.baselines.min_nuclear_norm(seen, [1.0, 2.0, 2.0])
    >>> round(found.value, 6), found.gap < 1e-6
    (4.0, True)
    """
    return solve(X, y)
