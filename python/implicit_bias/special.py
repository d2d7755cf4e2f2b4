r"""Elementwise functions in the manner of `scipy.special`: broadcast, float64 in and out.

Over- and underflow give inf and 0.

The hyperbolic entropy of one coefficient and its derivatives, :math:`\kappa` given by its logarithm:

.. math:: q_\kappa(x) = \tfrac12 x \operatorname{arcsinh}\frac{2x}{\kappa}
                        - \tfrac{\kappa}{4}\Bigl(\sqrt{1 + 4x^2/\kappa^2} - 1\Bigr)
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from . import _validate as check
from ._validate import Array

__all__ = ["d2q_diagonal", "dq_diagonal", "q_diagonal"]


def q_diagonal(x: ArrayLike, log_kappa: ArrayLike) -> Any:
    r"""Hyperbolic entropy of one coefficient.

    .. math:: q_\kappa(x) = \int_0^x \tfrac12 \operatorname{arcsinh}\frac{2z}{\kappa}\,dz

    Parameters
    ----------
    x : array_like
        Coefficients.
    log_kappa : array_like
        :math:`\ln\kappa`, broadcast against `x`.

    Returns
    -------
    float64 or ndarray of float64
        Non-negative, of the common shape.

    Raises
    ------
    ValueError
        If `x` or `log_kappa` holds NaN or infinities, or they do not broadcast.

    References
    ----------
    Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021, Theorem 1.

    Examples
    --------
    >>> from implicit_bias.special import q_diagonal
    >>> q_diagonal([0.0, 1.0, -1.0], log_kappa=-2000.0)
    array([   0.        , 1000.19314718, 1000.19314718])
    """
    return _elementwise(_core.q_diagonal, x, log_kappa)


def dq_diagonal(x: ArrayLike, log_kappa: ArrayLike) -> Any:
    r"""Derivative of the hyperbolic entropy.

    .. math:: q_\kappa'(x) = \tfrac12 \operatorname{arcsinh}\frac{2x}{\kappa}

    Parameters
    ----------
    x : array_like
        Coefficients.
    log_kappa : array_like
        :math:`\ln\kappa`, broadcast against `x`.

    Returns
    -------
    float64 or ndarray of float64
        Odd in `x`, of the common shape.

    Raises
    ------
    ValueError
        If `x` or `log_kappa` holds NaN or infinities, or they do not broadcast.

    References
    ----------
    Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021, Theorem 1.

    Examples
    --------
    >>> from implicit_bias.special import dq_diagonal
    >>> dq_diagonal([0.0, 1.0, -1.0], log_kappa=-2000.0)
    array([    0.        ,  1000.69314718, -1000.69314718])
    """
    return _elementwise(_core.dq_diagonal, x, log_kappa)


def d2q_diagonal(x: ArrayLike, log_kappa: ArrayLike) -> Any:
    r"""Second derivative of the hyperbolic entropy.

    .. math:: q_\kappa''(x) = \frac{1}{\sqrt{4x^2 + \kappa^2}}

    Parameters
    ----------
    x : array_like
        Coefficients.
    log_kappa : array_like
        :math:`\ln\kappa`, broadcast against `x`.

    Returns
    -------
    float64 or ndarray of float64
        Positive, of the common shape; inf where it exceeds the largest float.

    Raises
    ------
    ValueError
        If `x` or `log_kappa` holds NaN or infinities, or they do not broadcast.

    References
    ----------
    Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021, Theorem 1.

    Examples
    --------
    >>> from implicit_bias.special import d2q_diagonal
    >>> d2q_diagonal([0.0, 1.0], log_kappa=0.0)
    array([1.       , 0.4472136])
    """
    return _elementwise(_core.d2q_diagonal, x, log_kappa)


def _elementwise(function: Callable[[Array, Array], Array], x: ArrayLike, log_kappa: ArrayLike) -> Any:
    """Broadcast, flatten for the core, and give the shape back; a number for numbers, as NumPy's own functions do."""
    x, log_kappa = check.any_shape("x", x), check.any_shape("log_kappa", log_kappa)
    try:
        x, log_kappa = np.broadcast_arrays(x, log_kappa)
    except ValueError:
        raise ValueError(
            f"log_kappa must broadcast against x of shape {x.shape}: got shape {log_kappa.shape}"
        ) from None
    flat = function(np.ascontiguousarray(x).ravel(), np.ascontiguousarray(log_kappa).ravel())
    return flat.reshape(x.shape)[()]
