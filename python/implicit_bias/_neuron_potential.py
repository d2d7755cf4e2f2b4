"""The potential of one linear neuron as an object: what gradient flow on f(x) = a⟨w, x⟩ implicitly minimises."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from . import _double_double as dd
from . import _validate as check
from ._results import KKTReport, Limit
from ._status import Status
from ._validate import Array


@dataclass(frozen=True, init=False, eq=False, repr=False)
class NeuronPotential:
    r"""Implicit regulariser of one linear neuron, as a function of the predictor.

    .. math:: Q(\beta) = q_\delta(\|\beta\|) + \langle z, \beta\rangle, \qquad
              q_\delta'(x) = \tfrac32\sqrt{\sqrt{x^2 + \delta^2/4} - \delta/2}, \quad q_\delta(0) = 0

    For :math:`\beta = a w` the flow conserves :math:`\delta = a^2 - \|w\|^2`. With
    :math:`z = -\tfrac32\|w(0)\|\,\beta(0)/\|\beta(0)\|` it ends at the minimiser of Q under the data (for
    :math:`\delta \ge 0`; for :math:`\delta < 0` as long as a keeps its sign) [1]_. Q goes from
    :math:`\|\beta\|^{3/2}` at :math:`\delta = 0` to :math:`\tfrac34\|\beta\|^2/\sqrt\delta` for
    :math:`\delta \to \infty`: with the linear term, the distance from the start.

    Parameters
    ----------
    delta : float
        Any finite number, in the units of :math:`\beta`.
    z : array_like of shape (n_features,), optional
        The linear term; none by default. A read-only copy is kept.
    precision : {"double", "double-double"}, default "double"
        "double-double": value, gradient, Hessian and divergence have 28 digits and more, and each is returned as a pair
        ``(high, low)`` whose sum it is. All arguments may have as many: decimal strings, `decimal.Decimal`,
        `fractions.Fraction`, `mpmath.mpf` or pairs of arrays.

    Attributes
    ----------
    delta_low, z_low : float, ndarray
        What `delta` and `z` leave of numbers that were given with more digits; for "double" 0 and none.

    Raises
    ------
    ValueError
        If `delta` is no finite number, `z` no finite vector, or `precision` neither of the two.

    See Also
    --------
    implicit_bias.special.q_neuron : the function of the norm, elementwise.
    implicit_bias.HyperbolicEntropy : the potential of the diagonal network.

    Notes
    -----
    The paper prints :math:`q_\delta(x) - \tfrac12\delta^{3/2}` for :math:`\delta \ge 0`: a constant that moves no
    minimiser.

    For :math:`\delta \le 0` Q has a kink at 0: the gradient there is that of the linear term, the Hessian infinite.

    References
    ----------
    .. [1] Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021, Theorem 2.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> Q = ib.NeuronPotential(delta=0.0, z=[-3.0, 0.0])
    >>> Q([4.0, 0.0]), Q.gradient([4.0, 0.0])
    (-4.0, array([0., 0.]))
    >>> Q.interpolate([[0.0, 1.0]], [3.0]).beta.round(6)
    array([4.735209, 3.      ])
    """

    delta: float
    z: Array | None
    precision: str
    delta_low: float
    z_low: Array | None

    def __init__(self, delta: Any, z: ArrayLike | None = None, *, precision: str = "double") -> None:
        plain = check.choice("precision", precision, dd.PRECISIONS) == "double"
        high, low = dd.number_parts("delta", delta)
        linear: tuple[Array | None, Array | None] = (None, None)
        if z is not None:
            parts = tuple(part.copy() for part in dd.parts("z", z, "(n_features,)"))
            for part in parts:
                part.flags.writeable = False
            linear = (parts[0], None if plain else parts[1])
        fields = ("delta", "z", "precision", "delta_low", "z_low")
        for name, value in zip(fields, (high, linear[0], precision, 0.0 if plain else low, linear[1]), strict=True):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        linear = "" if self.z is None else f", z={check.shown(self.z)}"
        precision = "" if self.precision == "double" else f", precision={self.precision!r}"
        return f"NeuronPotential(delta={self.delta!r}{linear}{precision})"

    def __call__(self, beta: ArrayLike) -> Any:
        r"""Value :math:`q_\delta(\|\beta\|) + \langle z, \beta\rangle`, 0 at 0.

        Parameters
        ----------
        beta : array_like, shape (n_features,)
            Predictor coefficients.

        Returns
        -------
        float or (float, float)
            Inf where it exceeds the largest float.

        Raises
        ------
        ValueError
            If `beta` is not a finite vector of the right length.
        """
        if self.precision != "double":
            return dd.DoubleDouble(*(float(part[0]) for part in self._precise("value", beta)))
        point = self._point(beta)
        with np.errstate(over="ignore", invalid="ignore"):
            value = self._curvature(point).value + (0.0 if self.z is None else float((self.z * point).sum()))
        return value if math.isfinite(value) else self._far_value(point)

    def gradient(self, beta: ArrayLike) -> Any:
        r"""Gradient, :math:`q_\delta'(\|\beta\|)\,\beta/\|\beta\| + z`.

        Parameters
        ----------
        beta : array_like, shape (n_features,)
            Predictor coefficients.

        Returns
        -------
        ndarray, shape (n_features,), or two of them
            At the limit of the flow it is :math:`X^\top\nu`, and all along the flow 3/2 of the sign of a times
            :math:`w(t) - w(0)`; `z` at the kink that Q has at 0 for :math:`\delta \le 0`.
        """
        if self.precision != "double":
            return self._precise("gradient", beta)
        here = self._curvature(self._point(beta))
        slopes = here.slope * here.direction
        return np.asarray(slopes if self.z is None else slopes + self.z)

    def hessian(self, beta: ArrayLike) -> Any:
        r"""Hessian, :math:`q_\delta''` along :math:`\beta` and :math:`q_\delta'(\|\beta\|)/\|\beta\|` across it.

        Parameters
        ----------
        beta : array_like, shape (n_features,)
            Predictor coefficients.

        Returns
        -------
        ndarray, shape (n_features, n_features), or two of them
            Its inverse, times :math:`\tfrac32|a|`, is the metric in which the predictor flows. At the kink that Q has
            at 0 for :math:`\delta \le 0` its diagonal is inf.
        """
        if self.precision != "double":
            high, low = self._precise("hessian", beta)
            shape = (math.isqrt(high.size),) * 2
            return dd.DoubleDouble(high.reshape(shape), low.reshape(shape))
        here = self._curvature(self._point(beta))
        parallel = np.outer(here.direction, here.direction)
        with np.errstate(over="ignore", invalid="ignore"):
            # At 0 there is no direction along, and all of it is across.
            across = here.across * (np.eye(here.direction.size) - parallel)
            along = here.along * parallel
        # NaN is 0 times inf, an entry in which that part has no share.
        return np.nan_to_num(along, posinf=math.inf, neginf=-math.inf) + np.nan_to_num(
            across, posinf=math.inf, neginf=-math.inf
        )

    def bregman(self, beta: ArrayLike, beta0: ArrayLike) -> Any:
        r"""Bregman divergence, the excess of Q over its tangent at another point.

        .. math:: D(\beta, \beta_0) = Q(\beta) - Q(\beta_0) - \langle\nabla Q(\beta_0), \beta - \beta_0\rangle

        Parameters
        ----------
        beta, beta0 : array_like, shape (n_features,)
            Predictor coefficients. The digits do not cancel where the two are close.

        Returns
        -------
        float or (float, float)
            Non-negative, 0 only at ``beta == beta0``; it does not depend on `z`.
        """
        parts = self._parts(beta)
        centres = dd.vector_parts("beta0", beta0, parts[0].size, "one for every entry of beta")
        if self.precision != "double":
            delta = (self.delta, self.delta_low)
            return dd.DoubleDouble(*_core.neuron_bregman_double_double(parts, centres, delta))
        point, centre = parts[0], centres[0]
        with np.errstate(over="ignore"):
            return self._divergence(point, centre)

    def interpolate(self, X: ArrayLike, y: ArrayLike) -> Limit:
        r"""Minimiser under the data, :math:`\operatorname{argmin}_{X\beta = y} Q(\beta)`, in closed form.

        With P the projector onto the null space of X, :math:`b = X^+y`, :math:`p = -\tfrac23 P z` and
        :math:`\kappa = \delta + \|p\|^2` it is :math:`\beta = b + a p`,
        :math:`a^2 = \tfrac12(\kappa + \sqrt{\kappa^2 + 4\|b\|^2})`.

        Parameters
        ----------
        X : array_like, shape (n_samples, n_features)
            One sample per row.
        y : array_like, shape (n_samples,)
            Targets; outside of the range of X they are projected onto it.

        Returns
        -------
        Limit
            With no `error_bound`; `potential_value` is the excess of Q over its least value without data. In
            "double-double" `y` may have thirty digits, and so has the answer.

        Raises
        ------
        ValueError
            If an argument is of the wrong shape or not finite, or the minimiser exceeds the largest float.
        """
        X, y, y_low = dd.data(X, y)
        self._match("X", X.shape[1])
        if self.precision != "double":
            return self._interpolate_exactly(X, (y, y_low))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return self._interpolate(X, y)

    def _interpolate_exactly(self, X: Array, y: tuple[Array, Array]) -> Limit:
        r"""As a neuron with :math:`w(0) = -\tfrac23 z` and a positive outer weight ends."""
        from . import _neuron_double_double

        zero = np.zeros(X.shape[1])
        z = zero if self.z is None else self.z
        w = _core.double_double("mul", [(z, zero if self.z_low is None else self.z_low), (zero - 2.0, zero)])
        w = _core.double_double("div", [w, (zero + 3.0, zero)])
        start, plain = (*w, self.delta, self.delta_low), NeuronPotential(self.delta, self.z)
        tol = check.tol(None, self.precision)
        return _neuron_double_double.minimiser(plain, start, X, y, 1.0, tol, check.jobs(None))

    def _interpolate(self, X: Array, y: Array) -> Limit:
        left, sizes, right = np.linalg.svd(X, full_matrices=False)
        kept = sizes > max(X.shape) * np.finfo(float).eps * sizes[0]
        left, sizes, right = left[:, kept], sizes[kept], right[kept]
        coordinates = left.T @ y
        target = left @ coordinates
        b = right.T @ (coordinates / sizes)
        linear = np.zeros_like(b) if self.z is None else self.z
        # Twice: what rounding leaves in the span of the samples would be multiplied by a.
        p = -2.0 / 3.0 * linear
        for _ in range(2):
            p -= right.T @ (right @ p)
        a = _outer_size(self.delta, _polar(p)[0], _polar(b)[0])
        beta = b + a * p
        # ∇Q = (3/2) w + z with w = b/a + p, whose part across the samples is 0.
        inner = b / a if a > 0.0 else np.zeros_like(b)
        multipliers = left @ ((right @ (1.5 * inner + linear)) / sizes)
        stationary, start = self._of_gradient(X.T @ multipliers), self._of_gradient(np.zeros_like(b))
        residual, backward_error = target - X @ beta, target - X @ stationary
        if not all(np.isfinite(found).all() for found in (beta, start, multipliers, residual, backward_error)):
            raise ValueError("X, y and z must have a minimiser in the range of float64: it overflows")
        # Fenchel's gap without its cancellation: Q(β) + Q*(g) − ⟨g, β⟩ is the divergence from the β of g. NaN is a
        # difference of infinities, where Q itself exceeds the largest float.
        gap = self._divergence(beta, stationary) - float(multipliers @ residual)
        kkt = KKTReport(
            stationarity=_ratio(np.abs(beta - stationary).max(), np.abs(beta).max()),
            feasibility=_ratio(np.abs(residual).max(), np.abs(target).max()),
            duality_gap=math.inf if math.isnan(gap) else gap,
            error_bound=None,
            backward_error=backward_error,
            multipliers=multipliers,
        )
        tol = check.tol(None)
        outside = np.abs(y - target).max() > tol * np.abs(y).max()
        if outside or X.shape[0] > X.shape[1]:
            status = Status.LEAST_SQUARES
        else:
            status = Status.CONVERGED if kkt.feasibility <= tol else Status.ROUNDOFF_FLOOR
        return Limit(
            beta=beta,
            multipliers=multipliers,
            error_bound=None,
            backward_error=backward_error,
            potential_value=self._divergence(beta, start) if start.any() else self(beta),
            kkt=kkt,
            n_iter=0,
            status=status,
            message=status.message,
            success=status.at_the_end,
        )

    def _curvature(self, point: Array) -> "_Curvature":
        """The part of the norm; a norm beyond the largest float by Q_(4δ)(4β) = 8 Q_δ(β)."""
        norm, direction = _polar(point)
        if math.isinf(norm):
            value, slope, along, across, _ = NeuronPotential(self.delta / 4.0)._curvature(point / 4.0)
            return _Curvature(8.0 * value, 2.0 * slope, along / 2.0, across / 2.0, direction)
        return _Curvature(*_core.neuron_potential(norm, self.delta), direction)

    def _far_value(self, point: Array) -> float:
        r"""Q as norm times mean slope, in units of 2^400: two infinities of opposite sign do not meet."""
        norm, direction = _polar(np.ldexp(point, -400))
        mean = _core.neuron_potential(norm, math.ldexp(self.delta, -400))[0] / norm
        linear = 0.0 if self.z is None else float((np.ldexp(self.z, -200) * direction).sum())
        return (mean + linear) * norm * 2.0**300 * 2.0**300

    def _divergence(self, point: Array, centre: Array) -> float:
        r"""That of the norms plus :math:`q'(\|\beta_0\|)(\|\beta\| - \langle\beta_0/\|\beta_0\|, \beta\rangle)`."""
        (x, u), (x0, u0) = _polar(point), _polar(centre)
        if math.isinf(x) or math.isinf(x0):
            return 8.0 * NeuronPotential(self.delta / 4.0)._divergence(point / 4.0, centre / 4.0)
        if x0 == 0.0:
            return _core.neuron_potential(x, self.delta)[0]
        chord = float(np.square(u - u0).sum())
        gap, turned = x - x0, x * (0.5 * chord)
        if abs(gap) <= min(x, x0) and chord < 1.0:
            # From the step between the points, whose digits the norms and directions have lost, in a unit of its own.
            # Across the bisector it is (‖β‖ + ‖β₀‖) sin θ/2: exactly 0 along an axis, where for δ < 0 the rest may be
            # far smaller than the square of a rounding.
            unit = -math.frexp(x)[1]
            here, there = np.ldexp(point, unit), np.ldexp(centre, unit)
            step, total = here - there, math.ldexp(x, unit) + math.ldexp(x0, unit)
            middle = (u + u0) / math.sqrt(4.0 - chord)
            across = step - middle * (middle * step).sum()
            gap = math.ldexp(float((step * (here + there)).sum()) / total, -unit)
            turned = x * (2.0 * float(np.square(across).sum()) / total**2)
        slope = _core.neuron_potential(x0, self.delta)[1]
        return _core.neuron_bregman(x, x0, gap, self.delta) + slope * turned

    def _of_gradient(self, gradient: Array) -> Array:
        r"""The :math:`\beta` of a gradient: :math:`w = \tfrac23(g - z)`, :math:`\beta = w\sqrt{\|w\|^2 + \delta}`."""
        w = 2.0 / 3.0 * (gradient if self.z is None else gradient - self.z)
        size, _ = _polar(w)
        if self.delta >= 0.0:
            return np.asarray(w * math.hypot(size, math.sqrt(self.delta)))
        least = math.sqrt(-self.delta)
        return np.asarray(w * (math.sqrt(max(size - least, 0.0)) * math.sqrt(size + least)))

    def _point(self, beta: ArrayLike) -> Array:
        return self._parts(beta)[0]

    def _parts(self, beta: ArrayLike) -> tuple[Array, Array]:
        point = dd.parts("beta", beta, "(n_features,)")
        self._match("beta", point[0].size)
        return point

    def _precise(self, what: str, beta: ArrayLike) -> dd.DoubleDouble:
        """The value, the gradient or the Hessian row by row, in two parts."""
        linear = None if self.z is None or self.z_low is None else (self.z, self.z_low)
        delta = (self.delta, self.delta_low)
        return dd.DoubleDouble(*_core.neuron_potential_double_double(what, self._parts(beta), delta, linear))

    def _match(self, name: str, n_features: int) -> None:
        if self.z is not None and self.z.size != n_features:
            raise ValueError(f"{name} must have {self.z.size} features, as z has: got {n_features}")


class _Curvature(NamedTuple):
    """Of q(‖β‖): its value, its slope, its second derivative along β and across it, and the direction of β."""

    value: float
    slope: float
    along: float
    across: float
    direction: Array


def _polar(point: Array) -> tuple[float, Array]:
    """Norm and direction, without over- or underflow of the squares; the direction of 0 is 0."""
    unit = math.frexp(float(np.abs(point).max()))[1]
    scaled = np.ldexp(point, -unit)
    norm = math.sqrt(float(np.square(scaled).sum()))
    if norm == 0.0:
        return 0.0, np.zeros_like(point)
    try:
        return math.ldexp(norm, unit), scaled / norm
    except OverflowError:
        return math.inf, scaled / norm


def _outer_size(delta: float, p: float, b: float) -> float:
    """The non-negative root a of a⁴ − κa² = b², κ = δ + p²; the larger one."""
    if delta >= 0.0:
        root = math.hypot(math.sqrt(delta), p)
        if b == 0.0:
            return root
        # a² = (κ + √(κ² + 4b²))/2, halved before it is squared.
        return math.sqrt(0.5 * (root * root + math.hypot(root * root, 2.0 * b)))
    least = math.sqrt(-delta)
    kappa = (p - least) * (p + least)
    large = 0.5 * (abs(kappa) + math.hypot(kappa, 2.0 * b))
    if large == 0.0:
        return 0.0
    return math.sqrt(large) if kappa >= 0.0 else b / math.sqrt(large)


def _ratio(size: float, of: float) -> float:
    """Relative to what it is a part of, absolute where that is 0."""
    return float(size / of if of > 0.0 else size)
