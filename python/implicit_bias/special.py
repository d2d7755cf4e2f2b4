r"""Elementwise functions in the manner of `scipy.special`: broadcast, float64 in and out.

Over- and underflow give inf and 0.

The hyperbolic entropy of one coefficient and its derivatives, :math:`\kappa` given by its logarithm:

.. math:: q_\kappa(x) = \tfrac12 x \operatorname{arcsinh}\frac{2x}{\kappa}
                        - \tfrac{\kappa}{4}\Bigl(\sqrt{1 + 4x^2/\kappa^2} - 1\Bigr)

The potential of one linear neuron as a function of the norm of the predictor, with :math:`\delta = a^2 - \|w\|^2`:

.. math:: q_\delta'(x) = \tfrac32\sqrt{\sqrt{x^2 + \delta^2/4} - \delta/2}, \qquad q_\delta(0) = 0

The potential of one coefficient of a tied diagonal network of depth D, in units of its start, and the inverse of
its derivative:

.. math:: q_D(x) = \int_0^x h_D^{-1}, \qquad h_D(z) = (1-z)^{-\frac{D}{D-2}} - (1+z)^{-\frac{D}{D-2}}, \qquad
          h_2(z) = 2\sinh z
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _core, _depth_start
from . import _validate as check
from ._validate import Array

__all__ = [
    "d2q_diagonal",
    "d2q_neuron",
    "dq_diagonal",
    "dq_neuron",
    "h_depth",
    "h_depth_inverse",
    "q_depth",
    "q_diagonal",
    "q_neuron",
]


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


def q_neuron(x: ArrayLike, delta: ArrayLike) -> Any:
    r"""Potential of one linear neuron, as a function of the norm of the predictor.

    .. math:: q_\delta(x) = \frac{x^2 - \frac\delta2\bigl(\frac\delta2 + r\bigr)}{x}\sqrt{r - \tfrac\delta2} + c, \qquad
              r = \sqrt{x^2 + \delta^2/4}

    with the constant of :math:`q_\delta(0) = 0`: :math:`c = \tfrac12\delta^{3/2}` for :math:`\delta \ge 0` and 0 for
    :math:`\delta < 0`. The paper prints it without c.

    Parameters
    ----------
    x : array_like
        Norms, :math:`\|\beta\|`; not negative.
    delta : array_like
        :math:`\delta = a^2 - \|w\|^2` of either sign, broadcast against `x`.

    Returns
    -------
    float64 or ndarray of float64
        Non-negative, of the common shape; :math:`x^{3/2}` for :math:`\delta = 0`.

    Raises
    ------
    ValueError
        If `x` or `delta` holds NaN or infinities, `x` a negative number, or they do not broadcast.

    References
    ----------
    Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021, Theorem 2.

    Examples
    --------
    >>> from implicit_bias.special import q_neuron
    >>> q_neuron([0.0, 1.0, 4.0], delta=0.0)
    array([0., 1., 8.])
    """
    return _of_norm(_core.q_neuron, x, delta)


def dq_neuron(x: ArrayLike, delta: ArrayLike) -> Any:
    r"""Derivative of the potential of one linear neuron.

    .. math:: q_\delta'(x) = \tfrac32\|w\| = \tfrac32\sqrt{\sqrt{x^2 + \delta^2/4} - \delta/2}

    Parameters
    ----------
    x : array_like
        Norms, :math:`\|\beta\|`; not negative.
    delta : array_like
        :math:`\delta = a^2 - \|w\|^2` of either sign, broadcast against `x`.

    Returns
    -------
    float64 or ndarray of float64
        Non-negative, of the common shape; at ``x = 0`` the derivative from the right, :math:`\tfrac32\sqrt{-\delta}`
        for :math:`\delta < 0`.

    Raises
    ------
    ValueError
        If `x` or `delta` holds NaN or infinities, `x` a negative number, or they do not broadcast.

    References
    ----------
    Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021, Theorem 2.

    Examples
    --------
    >>> from implicit_bias.special import dq_neuron
    >>> dq_neuron([0.0, 1.0, 4.0], delta=0.0)
    array([0. , 1.5, 3. ])
    """
    return _of_norm(_core.dq_neuron, x, delta)


def d2q_neuron(x: ArrayLike, delta: ArrayLike) -> Any:
    r"""Second derivative of the potential of one linear neuron.

    .. math:: q_\delta''(x) = \frac32\,\frac{|a|}{a^2 + \|w\|^2}
                            = \frac34\,\frac{\sqrt{r + \delta/2}}{r}, \qquad r = \sqrt{x^2 + \delta^2/4}

    Parameters
    ----------
    x : array_like
        Norms, :math:`\|\beta\|`; not negative.
    delta : array_like
        :math:`\delta = a^2 - \|w\|^2` of either sign, broadcast against `x`.

    Returns
    -------
    float64 or ndarray of float64
        Non-negative, of the common shape; inf at ``x = delta = 0``.

    Raises
    ------
    ValueError
        If `x` or `delta` holds NaN or infinities, `x` a negative number, or they do not broadcast.

    References
    ----------
    Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021, Theorem 2.

    Examples
    --------
    >>> from implicit_bias.special import d2q_neuron
    >>> d2q_neuron([0.0, 1.0, 4.0], delta=0.0)
    array([  inf, 0.75 , 0.375])
    """
    return _of_norm(_core.d2q_neuron, x, delta)


def q_depth(x: ArrayLike, depth: ArrayLike) -> Any:
    r"""Potential of one coefficient of a tied diagonal network of depth D, in units of its start.

    .. math:: q_D(x) = \int_0^x h_D^{-1}(u)\,du, \qquad
              q_2(x) = x\operatorname{arcsinh}\frac x2 + 2 - \sqrt{4 + x^2}

    :math:`x^2/(4e)` near 0, :math:`e = D/(D-2)`, and :math:`|x|` far from it. All digits count, everywhere.

    Parameters
    ----------
    x : array_like
        Coefficients, :math:`\beta/(\alpha w)^D`.
    depth : array_like of int
        :math:`D \ge 2`, broadcast against `x`.

    Returns
    -------
    float64 or ndarray of float64
        Non-negative and even in `x`, of the common shape.

    Raises
    ------
    ValueError
        If `x` holds NaN or infinities, `depth` anything but whole numbers from 2 on, or they do not broadcast.

    References
    ----------
    Woodworth et al., "Kernel and Rich Regimes in Overparametrized Models", COLT 2020, Theorem 3.

    Examples
    --------
    >>> from implicit_bias.special import q_depth
    >>> q_depth([0.0, 1.0, -1.0], depth=3).round(4)
    array([0.    , 0.0799, 0.0799])
    """
    return _of_depth("q", x, depth)


def h_depth(z: ArrayLike, depth: ArrayLike) -> Any:
    r"""Coefficient of a tied diagonal network of depth D as a function of its dual, in units of its start.

    .. math:: h_D(z) = (1-z)^{-\frac{D}{D-2}} - (1+z)^{-\frac{D}{D-2}}, \qquad h_2(z) = 2\sinh z

    Parameters
    ----------
    z : array_like
        In [-1, 1] for :math:`D \ge 3`, with infinite values at the ends.
    depth : array_like of int
        :math:`D \ge 2`, broadcast against `z`.

    Returns
    -------
    float64 or ndarray of float64
        Odd and rising in `z`, of the common shape.

    Raises
    ------
    ValueError
        If `z` is outside of its interval, NaN or infinite, `depth` anything but whole numbers from 2 on, or they do not
        broadcast.

    References
    ----------
    Woodworth et al., "Kernel and Rich Regimes in Overparametrized Models", COLT 2020, Theorem 3.

    Examples
    --------
    >>> from implicit_bias.special import h_depth
    >>> h_depth([0.0, 0.5, 1.0], depth=4)
    array([0.        , 3.55555556,        inf])
    """
    values, depths = check.any_shape("z", z), _depth_start.depths_of(depth)
    outside = np.abs(values) > 1.0
    if outside.any() and depths.size and depths.max() > 2:
        raise ValueError(f"z must be in [-1, 1] for a depth of 3 and more: got {check.shown(values[outside].flat[0])}")
    return _of_depth("h", values, depth, "z")


def h_depth_inverse(x: ArrayLike, depth: ArrayLike) -> Any:
    r"""Derivative of `q_depth`, the dual of a coefficient of a tied diagonal network of depth D.

    .. math:: q_D'(x) = h_D^{-1}(x), \qquad h_2^{-1}(x) = \operatorname{arcsinh}\frac x2

    Parameters
    ----------
    x : array_like
        Coefficients, :math:`\beta/(\alpha w)^D`.
    depth : array_like of int
        :math:`D \ge 2`, broadcast against `x`.

    Returns
    -------
    float64 or ndarray of float64
        Odd and rising in `x`, in (-1, 1) for :math:`D \ge 3`, of the common shape.

    Raises
    ------
    ValueError
        If `x` holds NaN or infinities, `depth` anything but whole numbers from 2 on, or they do not broadcast.

    References
    ----------
    Woodworth et al., "Kernel and Rich Regimes in Overparametrized Models", COLT 2020, Theorem 3.

    Examples
    --------
    >>> from implicit_bias.special import h_depth, h_depth_inverse
    >>> h_depth_inverse(h_depth(0.25, depth=5), depth=5)
    np.float64(0.25)
    """
    return _of_depth("inverse", x, depth)


def _of_depth(what: str, x: ArrayLike, depth: ArrayLike, name: str = "x") -> Any:
    """A function at a depth, of all digits, rounded once."""
    values, depths = check.any_shape(name, x), _depth_start.depths_of(depth)
    try:
        values, depths = np.broadcast_arrays(values, depths)
    except ValueError:
        raise ValueError(f"depth must broadcast against {name} of shape {values.shape}: got {depths.shape}") from None
    flat = np.ascontiguousarray(values).ravel()
    high, _ = _core.depth_function(what, (flat, np.zeros_like(flat)), np.ascontiguousarray(depths).ravel())
    return high.reshape(values.shape)[()]


def _of_norm(function: Callable[[Array, Array], Array], x: ArrayLike, delta: ArrayLike) -> Any:
    """A function of a norm, which is not negative."""
    norms = check.any_shape("x", x)
    if norms.size and norms.min() < 0.0:
        raise ValueError(f"x must not be negative: got {check.shown(norms.min())}")
    return _elementwise(function, norms, delta, "delta")


def _elementwise(
    function: Callable[[Array, Array], Array], x: ArrayLike, parameter: ArrayLike, name: str = "log_kappa"
) -> Any:
    """Broadcast, flatten for the core, and give the shape back; a number for numbers, as NumPy's own functions do."""
    x, parameter = check.any_shape("x", x), check.any_shape(name, parameter)
    try:
        x, parameter = np.broadcast_arrays(x, parameter)
    except ValueError:
        raise ValueError(f"{name} must broadcast against x of shape {x.shape}: got shape {parameter.shape}") from None
    flat = function(np.ascontiguousarray(x).ravel(), np.ascontiguousarray(parameter).ravel())
    return flat.reshape(x.shape)[()]
