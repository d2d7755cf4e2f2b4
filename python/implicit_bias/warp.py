r"""Whether a metric makes gradient flow a mirror descent, by itself or on another clock, and which potential it has.

A model with predictor dynamics :math:`H(\beta)\,\dot\beta = -\nabla L` minimises :math:`Q` if :math:`gH = \nabla^2 Q`
for some :math:`g(\beta) > 0`: on the clock :math:`d\tau = g\,dt` it visits the same points and ends at the same limit
(Azulay et al. 2021, Sections 3 and 5). What is known of the model is a callable: H, its inverse, or a parametrization.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _validate as check
from . import _warp_ray
from ._trajectory import Flow
from ._validate import Array
from ._warp_commute import brackets
from ._warp_metric import SINGULAR, Metric, Pullback, curl

__all__ = [
    "CommutingTest",
    "HessianTest",
    "Parametrization",
    "RayPotential",
    "Warp",
    "WarpedTime",
    "commuting_residual",
    "find_warp",
    "hessian_map_residual",
    "warp_time",
    "warped_potential",
]


@dataclass(frozen=True, eq=False)
class Parametrization:
    r"""Model given by its parameters, :math:`\beta = F(\theta)`, in place of a metric.

    .. math:: H^{-1} = J J^\top, \qquad J = \partial F / \partial\theta

    Points are parameters then, and derivatives are taken along the directions in which gradient flow can move. So what
    the flow conserves stays as it is at the point, and H need not be a function of the predictor alone.

    Parameters
    ----------
    function : callable
        ``function(theta)`` returns the predictor, (n_features,), for parameters (n_parameters,).
    jacobian : callable, optional
        ``jacobian(theta)`` returns J, (n_features, n_parameters), of full row rank. Without it F is differentiated
        twice, which costs digits.

    Examples
    --------
    >>> from implicit_bias import warp
    >>> model = warp.Parametrization(lambda theta: theta[0] * theta[1:])
    >>> warp.find_warp(model, [[2.0, 1.0, 0.0]]).gradient.round(6) + 0.0
    array([[0.1, 0. ]])
    """

    function: Callable[[Any], Any]
    jacobian: Callable[[Any], Any] | None = None


@dataclass(frozen=True, eq=False)
class HessianTest:
    """How far a metric is from being the Hessian of a function, at every point.

    Attributes
    ----------
    residual : ndarray, shape (n_points,)
        In [0, 1], independent of the units of every coefficient; 0 for a Hessian.
    error : ndarray, shape (n_points,)
        Estimated error of it; 1 says that nothing is known.
    """

    residual: Array
    error: Array


@dataclass(frozen=True, eq=False)
class Warp:
    r"""The warp that comes nearest to making a metric the Hessian of a function, at every point.

    Attributes
    ----------
    gradient, gradient_error : ndarray, shape (n_points, n_features)
        :math:`\nabla\ln g` and the estimated error of every entry.
    residual, residual_error : ndarray, shape (n_points,)
        What the warp leaves of the residual of `hessian_map_residual`, on the same scale.
    curl, curl_error : ndarray, shape (n_points,)
        In [0, 1]: 0 where :math:`\nabla\ln g` is a gradient. A warp exists where both `residual` and `curl` vanish.
    """

    gradient: Array = field(repr=False)
    gradient_error: Array = field(repr=False)
    residual: Array
    residual_error: Array
    curl: Array
    curl_error: Array


@dataclass(frozen=True, eq=False)
class RayPotential:
    r"""Potential of a warped metric along a ray.

    Attributes
    ----------
    s : ndarray, shape (n_lengths,)
        Where on the ray, as it was asked for.
    value, value_error : ndarray, shape (n_lengths,)
        :math:`Q`, with value and gradient 0 at the base, and its estimated error.
    gradient, gradient_error : ndarray, shape (n_lengths, n_features)
        :math:`\nabla Q`.
    log_warp, log_warp_error : ndarray, shape (n_lengths,)
        :math:`\ln g`, 0 at the base.
    """

    s: Array = field(repr=False)
    value: Array
    value_error: Array
    gradient: Array = field(repr=False)
    gradient_error: Array = field(repr=False)
    log_warp: Array = field(repr=False)
    log_warp_error: Array = field(repr=False)


@dataclass(frozen=True, eq=False)
class WarpedTime:
    r"""Another clock for the rows of a flow.

    Attributes
    ----------
    t : ndarray, shape (n_times,)
        Times of the flow, in its own unit.
    tau : ndarray, shape (n_times,)
        The other clock, 0 at the first row, in the same unit.
    error : ndarray, shape (n_times,)
        Estimated error of `tau`.
    """

    t: Array = field(repr=False)
    tau: Array
    error: Array


@dataclass(frozen=True, eq=False)
class CommutingTest:
    r"""Lie brackets of the gradients of the components of a parametrization, at every point.

    Attributes
    ----------
    brackets : ndarray, shape (n_points, n_features, n_features, n_parameters)
        :math:`[\nabla F_i, \nabla F_j]`.
    residual, residual_error : ndarray, shape (n_points,)
        Their size in [0, 1], independent of the units of the coefficients; 0 where F commutes.
    outside, outside_error : ndarray, shape (n_points,)
        That of their part outside of the kernel of J, which alone moves the predictor. It is the residual of
        `hessian_map_residual` in another measure: they vanish together.
    """

    brackets: Array = field(repr=False)
    residual: Array
    residual_error: Array
    outside: Array
    outside_error: Array


def hessian_map_residual(
    H: Callable[[Any], Any] | Parametrization, points: ArrayLike, *, inverse: bool = False
) -> HessianTest:
    r"""Test whether a metric is the Hessian of some function.

    .. math:: \frac{\|C\|}{2\|\partial H\|}, \qquad C_{ijk} = \partial_k H_{ij} - \partial_j H_{ik}

    The flow :math:`H(\beta)\,\dot\beta = -\nabla L` is a mirror descent if and only if it vanishes [1]_. Norms are
    Frobenius norms in coordinates in which H is the identity at the point.

    Parameters
    ----------
    H : callable or Parametrization
        ``H(beta)`` returns the metric, (n_features, n_features), symmetric and positive definite. If it takes complex
        input and is analytic, derivatives are complex steps, otherwise extrapolated differences; that is found out.
    points : array_like, shape (n_points, n_features)
        Where to test; parameters, (n_points, n_parameters), for a `Parametrization`.
    inverse : bool, default False
        Whether `H` returns the inverse of the metric instead.

    Returns
    -------
    HessianTest
        Residual and error at every point.

    Raises
    ------
    ValueError
        If an argument is of the wrong shape or not finite, or H at a point is not a finite, symmetric and positive
        definite matrix or not differentiable.

    References
    ----------
    .. [1] Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021, Section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from implicit_bias.warp import hessian_map_residual
    >>> points = [[1.0, 2.0], [-0.5, 0.1]]
    >>> hessian_map_residual(lambda beta: np.diag(1.0 / np.sqrt(4.0 * beta**2 + 1.0)), points).residual
    array([0., 0.])
    >>> hessian_map_residual(lambda beta: np.eye(2) + np.outer(beta, beta), points).residual.round(2)
    array([0.49, 0.33])
    """
    model = _model(H, inverse)
    return HessianTest(*_at_every(points, lambda point, where: model.at(point, where).whitened().hessian_residual()))


def find_warp(H: Callable[[Any], Any] | Parametrization, points: ArrayLike, *, inverse: bool = False) -> Warp:
    r"""Find the change of clock that makes a metric the Hessian of a function.

    .. math:: \nabla\ln g = \frac{1}{d - 1}\Bigl(\sum_{ij} (H^{-1})_{ij}\,\partial_i H_{j\cdot}
                            - \nabla\ln\det H\Bigr)

    That is the least-squares solution of :math:`(\partial_k\ln g) H_{ij} - (\partial_j\ln g) H_{ik} = \partial_j H_{ik}
    - \partial_k H_{ij}` [1]_ in coordinates in which H is the identity. A warp exists where what it leaves is 0 and it
    is free of curl. For two features it never leaves anything and the curl alone decides; for one any g will do, and it
    is 1.

    Parameters
    ----------
    H : callable or Parametrization
        As for `hessian_map_residual`.
    points : array_like, shape (n_points, n_features)
        As for `hessian_map_residual`.
    inverse : bool, default False
        Whether `H` returns the inverse of the metric instead.

    Returns
    -------
    Warp
        Gradient of ln g, residual and curl at every point, each with its error.

    Raises
    ------
    ValueError
        As for `hessian_map_residual`.

    References
    ----------
    .. [1] Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021, Sections 3 and 5.

    Examples
    --------
    One linear neuron, f = a wᵀx, as Theorem 2 of the paper has it: its metric alone gives the warp, g ∝ abs(a).

    >>> import numpy as np
    >>> from implicit_bias.warp import find_warp
    >>> def inverse_metric(beta, delta=1.0):
    ...     a2 = np.sqrt(beta @ beta + delta**2 / 4) + delta / 2
    ...     return a2 * np.eye(beta.size) + np.outer(beta, beta) / a2
    >>> found = find_warp(inverse_metric, [[0.6, 0.0, 0.8]], inverse=True)
    >>> found.gradient.round(6) + 0.0
    array([[0.165836, 0.      , 0.221115]])
    >>> bool(found.residual[0] <= 1e-13), bool(found.curl[0] <= 1e-9)
    (True, True)
    """
    model = _model(H, inverse)

    def warp(point: Array, where: str) -> tuple[Any, ...]:
        local = model.at(point, where)
        frame = local.whitened()
        return (*frame.log_warp_gradient(), *frame.remaining_residual(), *curl(model, local, point, where))

    return Warp(*_at_every(points, warp))


def warped_potential(
    H: Callable[[Any], Any] | Parametrization,
    ray: ArrayLike,
    s: ArrayLike,
    *,
    base: ArrayLike | None = None,
    inverse: bool = False,
    rtol: float = 1e-10,
) -> RayPotential:
    r"""Potential along a ray, by integrating the warped metric twice.

    .. math:: Q(\beta_0 + su) = \int_0^s (s - r)\, g\, u^\top H u \, dr, \qquad
              \nabla Q = \int_0^s g H u \, dr, \qquad \ln g = \int_0^s \nabla\ln g \cdot u \, dr

    with H and g at :math:`\beta_0 + ru` [1]_. Where `find_warp` leaves nothing and is free of curl, the answers of all
    rays belong to one function, :math:`Q` with :math:`Q(\beta_0) = 0`, :math:`\nabla Q(\beta_0) = 0` and
    :math:`g(\beta_0) = 1`; elsewhere they are numbers without a meaning.

    Parameters
    ----------
    H : callable or Parametrization
        As for `hessian_map_residual`.
    ray : array_like, shape (n_features,)
        The direction u, of any length but 0.
    s : array_like, shape (n_lengths,)
        Where on the ray to report, in units of u: non-negative and strictly increasing.
    base : array_like, shape (n_features,), optional
        The point :math:`\beta_0`, 0 by default. For a `Parametrization` it is parameters and has no default.
    inverse : bool, default False
        Whether `H` returns the inverse of the metric instead.
    rtol : float, default 1e-10
        Relative tolerance, in [1e-12, 0.1].

    Returns
    -------
    RayPotential
        Potential, gradient and warp at every length. Errors are the difference to a run at a hundredth of the
        tolerance, which is the one that is returned, plus the integrated errors of the derivatives.

    Raises
    ------
    ValueError
        As for `hessian_map_residual`, or if the metric cannot be integrated along the ray.

    References
    ----------
    .. [1] Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021, Sections 3 and 5.

    Examples
    --------
    >>> import numpy as np
    >>> import implicit_bias as ib
    >>> kappa = np.array([1.0, 0.01])
    >>> def metric(beta):
    ...     return np.diag(1.0 / np.sqrt(4.0 * beta**2 + kappa**2))
    >>> found = ib.warp.warped_potential(metric, [1.0, -2.0], [0.5, 1.0])
    >>> found.value.round(9)
    array([2.61501916, 6.09991091])
    >>> ib.HyperbolicEntropy(kappa)([1.0, -2.0]).__round__(9)
    6.099910908
    """
    model = _model(H, inverse)
    direction = check.array("ray", ray, "(n_features,)")
    if not direction.any():
        raise ValueError("ray must not be 0: it has no direction")
    lengths = _lengths(s)
    rtol = check.within("rtol", rtol, (1e-12, 0.1), "1e-12 leaves digits for the error")
    if base is None:
        if isinstance(model, Pullback):
            raise ValueError("base must be given for a Parametrization: got none")
        start = np.zeros(direction.size)
    else:
        start = check.array("base", base, "(n,)")
    n_features = model.n_features(start)
    if direction.size != n_features:
        raise ValueError(f"ray must have length {n_features}, as the predictor at base has: got {direction.size}")
    try:
        found = _warp_ray.integrate(model, start, direction, lengths, rtol)
    except np.linalg.LinAlgError as error:
        raise ValueError(f"{SINGULAR} on the ray") from error
    return RayPotential(
        s=lengths,
        value=found.value,
        value_error=found.value_error,
        gradient=found.gradient,
        gradient_error=found.gradient_error,
        log_warp=found.log_warp,
        log_warp_error=found.log_warp_error,
    )


def warp_time(flow: Flow, g: Callable[[Any], Any], *, inverse: bool = False) -> WarpedTime:
    r"""Time of a flow on another clock.

    .. math:: \tau(t) = \int_0^t g(\beta(r))\,dr

    The flow :math:`H\,d\beta/dt = -\nabla L` is :math:`gH\,d\beta/d\tau = -\nabla L`, a mirror descent if
    :math:`gH = \nabla^2 Q` [1]_. The flow is run again with rows at the nodes of the quadrature.

    Parameters
    ----------
    flow : Flow
        From `gradient_flow`; its rows of coefficients are not needed.
    g : callable
        ``g(beta)`` returns one positive number.
    inverse : bool, default False
        Whether the clock of the flow is the warped one: integrates 1/g instead, and gives back the other one.

    Returns
    -------
    WarpedTime
        The other clock at every row of the flow, with its error.

    Raises
    ------
    ValueError
        If `flow` is not a Flow, g is no positive finite number somewhere on it, or it cannot be run again.

    References
    ----------
    .. [1] Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021, Section 3.

    Examples
    --------
    On the clock of g = √(4β² + κ²) one coefficient follows the gradient of the loss itself, y - β.

    >>> import numpy as np
    >>> import implicit_bias as ib
    >>> net = ib.DiagonalNetwork.from_scale_shape(1, scale=1e-3)
    >>> flow = ib.gradient_flow(net, [[1.0]], [2.0], t=[0.0, 1.0, 3.0])
    >>> clock = ib.warp.warp_time(flow, lambda beta: np.sqrt(4.0 * beta[0] ** 2 + net.kappa[0] ** 2))
    >>> clock.tau.round(6)
    array([0.      , 0.02695 , 4.412304])
    >>> np.log(2.0 / (2.0 - flow.beta[:, 0])).round(6)
    array([0.      , 0.02695 , 4.412304])
    """
    from ._warp_clock import integral

    if not isinstance(flow, Flow):
        raise ValueError(f"flow must be a Flow, as gradient_flow returns it: got {check.shown(flow)}")
    if not callable(g):
        raise ValueError(f"g must be a callable: got {check.shown(g)}")
    inverse = check.flag("inverse", inverse)

    def rate(beta: Array, t: float) -> float:
        value = np.asarray(g(beta.copy()))
        if value.size != 1 or value.dtype.kind not in "biuf":
            raise ValueError(f"g must return one real number: got {check.shown(value)} at t = {t:.6g}")
        number = float(value.reshape(()))
        if not (0.0 < number < np.inf and 1.0 / number < np.inf):
            raise ValueError(f"g must be positive and finite: got {number!r} at t = {t:.6g}")
        return 1.0 / number if inverse else number

    tau, error = integral(flow, rate)
    return WarpedTime(flow.t.copy(), tau, error)


def commuting_residual(F: Callable[[Any], Any] | Parametrization, points: ArrayLike) -> CommutingTest:
    r"""Test whether a parametrization commutes.

    .. math:: [\nabla F_i, \nabla F_j] = \nabla^2 F_j \nabla F_i - \nabla^2 F_i \nabla F_j

    If they vanish, gradient flow from any start is a mirror descent [1]_. That is not necessary: brackets in the kernel
    of the Jacobian do no harm, and :math:`\nabla F_k \cdot [\nabla F_i, \nabla F_j]` vanishes if and only if the metric
    :math:`H = (JJ^\top)^{-1}` is the Hessian of a function along the flow.

    Parameters
    ----------
    F : callable or Parametrization
        ``F(theta)`` returns the predictor, (n_features,); with its Jacobian in a `Parametrization`.
    points : array_like, shape (n_points, n_parameters)
        Parameters at which J has full row rank.

    Returns
    -------
    CommutingTest
        Brackets and their sizes at every point.

    Raises
    ------
    ValueError
        If an argument is of the wrong shape or not finite, F is not differentiable at a point, or J has no full row
        rank there.

    References
    ----------
    .. [1] Li, Wang, Lee and Arora, "Implicit Bias of Gradient Descent on Reparametrized Models: On Equivalence to
       Mirror Descent", NeurIPS 2022, Section 4.

    Examples
    --------
    >>> from implicit_bias.warp import commuting_residual
    >>> commuting_residual(lambda theta: theta[:2] ** 2 - theta[2:] ** 2, [[1.0, 2.0, 0.5, 3.0]]).residual
    array([0.])
    >>> commuting_residual(lambda theta: theta[0] * theta[1:], [[1.0, 2.0, 0.5]]).residual.round(2)
    array([0.45])
    """
    model = F if isinstance(F, Parametrization) else Parametrization(F)
    pullback = Pullback(model.function, model.jacobian)
    return CommutingTest(*_at_every(points, lambda point, where: brackets(pullback, point, where)))


def _model(H: object, inverse: object) -> Metric | Pullback:
    flag = check.flag("inverse", inverse)
    if isinstance(H, Parametrization):
        if flag:
            raise ValueError("inverse must be False for a Parametrization: got True")
        return Pullback(H.function, H.jacobian)
    return Metric(H, inverse=flag)


def _at_every(points: ArrayLike, function: Callable[[Array, str], tuple[Any, ...]]) -> list[Array]:
    """Columns of what a function returns at every point; nothing that is not a number comes back."""
    rows = []
    for k, point in enumerate(check.array("points", points, "(n_points, n_coordinates)")):
        where = f"points[{k}]"
        try:
            with np.errstate(all="ignore"):
                rows.append(function(point, where))
        except np.linalg.LinAlgError as error:
            raise ValueError(f"{SINGULAR} at {where}") from error
        if not all(np.isfinite(value).all() for value in rows[-1]):
            raise ValueError(f"points must be where H and its derivatives are within range: they are not at {where}")
    return [np.array(column) for column in zip(*rows, strict=True)]


def _lengths(s: ArrayLike) -> Array:
    found = check.array("s", s, "(n_lengths,)")
    if found[0] < 0.0:
        raise ValueError(f"s must not be negative: got {check.shown(found[0])}")
    if (np.diff(found) <= 0.0).any() or found[-1] == 0.0:
        raise ValueError("s must be strictly increasing and end above 0")
    return found.copy()
