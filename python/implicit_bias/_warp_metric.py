"""Metrics given by a user's callable: validated and differentiated, each in the way that suits what was given."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _validate as check
from ._validate import Array
from ._warp_derivative import EPS, Derivative, along, is_analytic
from ._warp_frame import Local, ratio

#: Asymmetry that counts as rounding, relative to sqrt(H_ii H_jj): an inverse by the user has some.
ASYMMETRY = 1e-8
#: A metric that passes as positive definite, while its inverse does not.
SINGULAR = "H must be invertible in double precision: it is not"


@dataclass(frozen=True)
class Jacobian:
    """Jacobian at a point and how it is differentiated: `noise` is the error of its values, entry by entry."""

    name: str
    point: Array
    value: Array
    function: Callable[[NDArray[Any]], NDArray[Any]]
    noise: Array
    by_complex_steps: bool
    #: What `Pullback.jacobian` found out, to be passed on to the next point.
    analytic: bool

    def along(self, directions: Array, where: str) -> Derivative:
        """Its derivatives along some directions."""
        units = np.linalg.norm(self.value, axis=1, keepdims=True)
        return _derivative(
            self.name, self.function, self.point, directions, where, self.by_complex_steps, units, self.noise
        )


class Metric:
    """H(beta), or its inverse, as a callable; points are predictors."""

    def __init__(self, function: object, *, inverse: bool) -> None:
        self._function = _callable("H", function)
        self._inverse = inverse
        self.name = "the inverse of H" if inverse else "H"

    def n_features(self, point: Array) -> int:
        """Every point has one coordinate a feature."""
        return point.size

    def at(self, point: Array, where: str, analytic: bool | None = None) -> Local:
        """Metric and derivatives; `analytic` is found out here where it is not known."""
        shape = (point.size, point.size)
        given = _evaluated(self.name, self._function, point, shape, where)
        positive_definite(self.name, given, where)

        def function(p: NDArray[Any]) -> NDArray[Any]:
            return _shaped(self._function(p), shape)

        if analytic is None:
            analytic = is_analytic(function, point)
        unit = np.eye(point.size)
        root = np.sqrt(np.diag(given))
        slopes, error = _derivative(self.name, function, point, unit, where, analytic, np.outer(root, root))
        if not self._inverse:
            return Local(_symmetric(given), slopes, error, unit, analytic)
        metric = _inverse(given)
        return Local(metric, *_slopes_of_inverse(_symmetric(given), metric, slopes, error), unit, analytic)


class Pullback:
    r"""Metric of a parametrization, :math:`H^{-1} = JJ^\top`; points are parameters, derivatives are along the flow.

    The predictor moves by :math:`e_k` when the parameters move by row k of :math:`HJ`, the only such direction that
    gradient flow can take. H need not be a function of the predictor for that: what the flow conserves stays as it is.
    """

    def __init__(self, function: object, jacobian: object) -> None:
        self._function = _callable("F", function)
        self._jacobian = None if jacobian is None else _callable("jacobian", jacobian)

    def n_features(self, point: Array) -> int:
        """Length of the predictor."""
        return int(self.predictor(point, "the first point").size)

    def predictor(self, point: Array, where: str) -> Array:
        """F(theta)."""
        return _evaluated("F", self._function, point, None, where)

    def at(self, point: Array, where: str, analytic: bool | None = None) -> Local:
        """Metric and derivatives along the flow."""
        J = self.jacobian(point, where, analytic)
        kernel = J.value @ J.value.T
        positive_definite("J Jᵀ", kernel, where)
        metric = _inverse(kernel)
        lift = metric @ J.value
        bends, error = J.along(lift, where)
        half = bends @ J.value.T
        error = (error + 4.0 * J.value.size * EPS * np.abs(bends)) @ np.abs(J.value).T
        slopes, error = _slopes_of_inverse(
            kernel, metric, half + half.transpose(0, 2, 1), error + error.transpose(0, 2, 1)
        )
        return Local(metric, slopes, error, lift, J.analytic)

    def jacobian(self, point: Array, where: str, analytic: bool | None = None) -> "Jacobian":
        """Jacobian at a point, from the user or by derivatives of F."""
        shape = (self.predictor(point, where).size, point.size)
        if self._jacobian is None:
            return self._differences(point, where, shape, analytic)
        given = self._jacobian
        value = _evaluated("jacobian", given, point, shape, where)

        def function(p: NDArray[Any]) -> NDArray[Any]:
            return _shaped(given(p), shape)

        if analytic is None:
            self._confirm(value, point, where)
            analytic = is_analytic(function, point)
        return Jacobian("jacobian", point, value, function, np.zeros(shape), analytic, analytic)

    def _differences(self, point: Array, where: str, shape: tuple[int, int], analytic: bool | None) -> "Jacobian":
        """Complex steps of F do not nest, so that second derivatives are differences of these first ones."""
        plain, unit = self._plain(shape[:1]), np.eye(point.size)
        analytic = is_analytic(plain, point) if analytic is None else analytic

        def function(p: NDArray[Any]) -> NDArray[Any]:
            return along(plain, p, unit, analytic=analytic).value.T

        found = _derivative("F", plain, point, unit, where, analytic, np.ones(shape[0]))
        return Jacobian("F", point, found.value.T, function, found.error.T, False, analytic)

    def _plain(self, shape: tuple[int, ...]) -> Callable[[NDArray[Any]], NDArray[Any]]:
        return lambda p: _shaped(self._function(p), shape)

    def _confirm(self, jacobian: Array, point: Array, where: str) -> None:
        """A jacobian that belongs to another F would be believed otherwise; one direction is enough to tell."""
        direction = np.linspace(0.5, 1.0, point.size) * (np.abs(point).max() or 1.0)
        value, error = _derivative(
            "F", self._plain(jacobian.shape[:1]), point, direction[None], where, False, np.ones(len(jacobian))
        )
        off = np.abs(jacobian @ direction - value[0]).max()
        if off > 100.0 * error.max() + 1e-6 * (np.abs(jacobian) @ direction).max():
            raise ValueError(f"jacobian must be the derivative of F: off by {off:.3g} along one direction at {where}")


def curl(model: Metric | Pullback, local: Local, point: Array, where: str) -> tuple[float, float]:
    """Curl of the least-squares gradient of ln g in [0, 1], and its error, by differences of what `Whitened` gives."""

    def gradient(p: NDArray[Any]) -> NDArray[Any]:
        return model.at(p, where, local.analytic).whitened().log_warp_gradient()[0]

    frame = local.whitened()
    if len(local.metric) == 1:
        return 0.0, 0.0
    noise = frame.log_warp_gradient()[1]
    units = np.abs(frame.root).sum(axis=1)
    found = _derivative("ln g", gradient, point, local.lift, where, False, units, noise)
    size = np.abs(frame.inverse)
    change = frame.inverse @ found.value @ frame.inverse.T
    error = size @ found.error @ size.T
    # ln g of a Hessian is constant, and its derivatives are rounding: measured by each other they would be of size one.
    squared, squared_error = frame.squared_slopes()
    parts = 2.0 * float(np.linalg.norm(change)), 2.0 * float(np.linalg.norm(error))
    return ratio(np.linalg.norm(change - change.T), parts[1], parts[0] + 2.0 * squared, parts[1] + 2.0 * squared_error)


def positive_definite(name: str, matrix: Array, where: str) -> None:
    """Symmetric up to rounding, and positive definite."""
    diagonal = np.diag(matrix)
    if (diagonal > 0.0).all():
        size = np.sqrt(diagonal)
        asymmetry = np.abs((matrix - matrix.T) / size / size[:, None])
        if asymmetry.max() > ASYMMETRY:
            i, j = (int(k) for k in np.unravel_index(asymmetry.argmax(), matrix.shape))
            found = f"got {matrix[i, j]:.6g} at [{i}, {j}] and {matrix[j, i]:.6g} at [{j}, {i}], at {where}"
            raise ValueError(f"{name} must be symmetric: {found}")
        try:
            np.linalg.cholesky(_symmetric(matrix))
        except np.linalg.LinAlgError:
            pass
        else:
            return
    least = float(np.linalg.eigvalsh(_symmetric(matrix))[0])
    raise ValueError(f"{name} must be positive definite: got the eigenvalue {least:.6g} at {where}")


def _derivative(
    name: str,
    function: Callable[[NDArray[Any]], NDArray[Any]],
    point: Array,
    directions: Array,
    where: str,
    analytic: bool,
    units: Array,
    noise: Array | float = 0.0,
) -> Derivative:
    """Derivatives with an error for every entry, largest in the given `units` of the entries."""
    units = np.where(units > 0.0, units, 1.0)
    largest = float((noise / units).max())
    try:
        found = along(lambda p: function(p) / units, point, directions, analytic=analytic, noise=largest)
    except ValueError as error:
        raise ValueError(f"{name} must be differentiable at {where}: {error}") from error
    found = Derivative(found.value * units, np.multiply.outer(found.error, np.ones(found.value.shape[1:])) * units)
    if not (np.isfinite(found.value).all() and np.isfinite(found.error).all()):
        raise ValueError(f"{name} must have finite derivatives: got NaN or infinity at {where}")
    return found


def _slopes_of_inverse(matrix: Array, metric: Array, slopes: Array, error: Array) -> tuple[Array, Array]:
    """Derivatives of an inverse, -H (dG) H, and the error of every entry."""
    size = np.abs(metric)
    # Condition of an inverse that rows of different sizes do not raise (Skeel; Higham, Accuracy and Stability, 7.2).
    condition = (size @ np.abs(matrix)).sum(axis=1).max()
    found = -metric @ slopes @ metric
    error = size @ (error + 4.0 * len(metric) * EPS * condition * np.abs(slopes)) @ size
    return 0.5 * (found + found.transpose(0, 2, 1)), error


def _symmetric(matrix: Array) -> Array:
    return 0.5 * (matrix + matrix.T)


def _inverse(matrix: Array) -> Array:
    return _symmetric(np.asarray(np.linalg.inv(_symmetric(matrix)), np.float64))


def _callable(name: str, function: object) -> Callable[..., Any]:
    if not callable(function):
        raise ValueError(f"{name} must be a callable: got {check.shown(function)}")
    return function


def _shaped(value: object, shape: tuple[int, ...]) -> NDArray[Any]:
    """As the core of a derivative takes it: real or complex, of the shape that was validated."""
    found = np.asarray(value)
    if found.shape != shape:
        raise ValueError(f"shape {found.shape} instead of {shape}")
    return found


def _evaluated(
    name: str, function: Callable[..., Any], point: Array, shape: tuple[int, ...] | None, where: str
) -> Array:
    """A value at a point that the user gave, or on the way between two: here a callable has to keep its promises."""
    found = np.asarray(function(point.copy()))
    expected = "(n_features,)" if shape is None else str(shape)
    if (found.ndim != 1 or found.size == 0) if shape is None else (found.shape != shape):
        raise ValueError(f"{name} must return an array of shape {expected}: got shape {found.shape} at {where}")
    if found.dtype.kind not in "biuf":
        raise ValueError(f"{name} must return real numbers: got dtype {found.dtype} at {where}")
    found = found.astype(np.float64)
    if not np.isfinite(found).all():
        bad = found.size - np.count_nonzero(np.isfinite(found))
        raise ValueError(f"{name} must be finite: {bad} of {found.size} entries are NaN or infinite at {where}")
    return found
