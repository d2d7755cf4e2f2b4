"""The diagonal network: its weights at time 0, and what the core is asked about them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from . import _core, _diagonal_flow, _given, _start
from . import _double_double as dd
from . import _validate as check
from ._diagonal_flow import ConservedQuantities, Parameters
from ._network import FlowOptions, LimitOptions, Network
from ._potential import HyperbolicEntropy
from ._results import KKTReport, Limit, LimitPath
from ._start import Start
from ._validate import Array

if TYPE_CHECKING:
    from ._trajectory import Flow


#: The weights, in the order of the core.
WEIGHTS = ("u_plus", "v_plus", "u_minus", "v_minus")


@dataclass(frozen=True, eq=False, repr=False)
class DiagonalNetwork(Network):
    r"""Two-layer diagonal linear network with untied weights, given by its weights at time 0.

    .. math:: f(x) = \langle\beta, x\rangle, \qquad \beta = u_+ \circ v_+ - u_- \circ v_-

    Gradient flow on the four weight vectors ends, among all predictors that fit the data, at the one that minimises a
    potential fixed by the start alone [1]_: near the minimum ℓ2 norm for large :math:`\kappa`, near the minimum ℓ1 norm
    as :math:`\kappa \to 0`.

    Parameters
    ----------
    u_plus, v_plus, u_minus, v_minus : array_like, shape (n_features,)
        Weights at time 0, in units of ``exp(log_magnitude)``. Copied. With more digits than binary64 has as decimal
        strings, `fractions.Fraction`, `decimal.Decimal`, `mpmath.mpf`, or two arrays (high, low); what does not fit
        into the range of a float, as ``"1e-400"``, goes into `log_magnitude`.
    log_magnitude : float or array_like of shape (n_features,), default 0.0
        Logarithm of the common factor of the weights: magnitudes far outside of the range of a float are ordinary
        input. At most 1e12 in absolute value. As the weights, of up to thirty digits.

    Attributes
    ----------
    scale, log_scale, shape : float, ndarray, what was given, or None
        As given to `from_scale_shape`, and None for a network that was given by its weights.

    Raises
    ------
    ValueError
        If a weight vector is empty, holds NaN or infinities, is not made of real numbers or differs in length.

    See Also
    --------
    DiagonalNetwork.from_scale_shape : the unbiased start of the paper, by scale and shape.

    References
    ----------
    .. [1] Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021, Theorem 1.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> net = ib.DiagonalNetwork([1.0, 2.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0])
    >>> net.beta0
    array([0., 1.])
    """

    u_plus: Array
    v_plus: Array
    u_minus: Array
    v_minus: Array
    log_magnitude: float | Array = 0.0
    scale: Any = field(default=None, init=False)
    log_scale: Any = field(default=None, init=False)
    shape: Any = field(default=None, init=False)
    #: What binary64 leaves out of the four weights and of their unit; None where that is nothing.
    _weights_low: tuple[Array, Array, Array, Array] | None = field(default=None, init=False)
    _log_magnitude_low: Array | None = field(default=None, init=False)
    #: The logarithm of the scale in two parts, one or one a feature; None of a network that was given by its weights.
    _log_alpha: tuple[Array, Array] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        values = {name: getattr(self, name) for name in WEIGHTS}
        weights, tens = _given.vectors(values, "one weight for every entry of u_plus")
        n_features = weights["u_plus"][0].size
        given = dd.per_coordinate_parts("log_magnitude", self.log_magnitude, n_features)
        check.logarithms("log_magnitude", given[0])
        magnitude = _given.magnitude(given, tens)
        for name, (high, _) in weights.items():
            object.__setattr__(self, name, _frozen(high))
        object.__setattr__(self, "log_magnitude", _as_given(magnitude[0]))
        object.__setattr__(self, "_log_magnitude_low", _given.low_or_none(magnitude[1]))
        if any(low.any() for _, low in weights.values()):
            object.__setattr__(self, "_weights_low", tuple(_frozen(low) for _, low in weights.values()))

    @classmethod
    def from_scale_shape(
        cls,
        n_features: int,
        scale: ArrayLike | None = None,
        shape: ArrayLike = 0.0,
        log_scale: ArrayLike | None = None,
    ) -> Self:
        r"""Unbiased start by scale and shape, in the convention of the paper [1]_.

        .. math:: u_\pm = \sqrt{\alpha\,\frac{1-s}{1+s}}, \quad v_\pm = \sqrt{\alpha\,\frac{1+s}{1-s}}, \qquad
                  \kappa = 4\alpha\,\frac{1+s^2}{1-s^2}

        with scale :math:`\alpha = u v` and shape :math:`s = (v-u)/(v+u)`; :math:`\beta(0) = 0`. Other papers mean other
        numbers by "scale": the :math:`\alpha` of Woodworth et al. has :math:`\kappa = 4\alpha^2`.

        Parameters
        ----------
        n_features : int
            Number of coefficients.
        scale : float or array_like of shape (n_features,), optional
            :math:`\alpha > 0`. Exactly one of `scale` and `log_scale` must be given. Here and below numbers may have up
            to thirty digits (``"0.1"``), and a scale may be beyond the range of a float (``"1e-400"``).
        shape : float or array_like of shape (n_features,), default 0.0
            :math:`s` in (-1, 1). 0 is the balanced start; towards 1 one layer is ever smaller than the other.
        log_scale : float or array_like of shape (n_features,), optional
            :math:`\ln\alpha`, at most 1e12 in absolute value: ``-230258.5`` is a scale of 10^-100000.

        Returns
        -------
        DiagonalNetwork
            It keeps `scale`, `log_scale` and `shape` as given; :math:`\ln\kappa` is formed from them to 31 digits.

        Raises
        ------
        ValueError
            If an argument is outside of its interval or has the wrong length.

        References
        ----------
        .. [1] Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021, equation 8.

        Examples
        --------
        >>> import implicit_bias as ib
        >>> net = ib.DiagonalNetwork.from_scale_shape(2, scale=1e-3, shape=0.9)
        >>> net.log_kappa.round(6)
        array([-3.267403, -3.267403])
        """
        n_features = check.integer("n_features", n_features)
        check.exactly_one(("scale", "log_scale"), (scale, log_scale))
        s = _given.shape(shape, n_features)
        alpha = _given.log_scale(log_scale, n_features) if scale is None else _given.scale(scale, n_features)
        if alpha.value is not None:
            root, magnitude = np.sqrt(alpha.value[0]), (np.zeros(1), np.zeros(1))
        else:
            root, magnitude = np.ones(1), (0.5 * alpha.log[0], 0.5 * alpha.log[1])
        # 1 - s and 1 + s are exact enough as they stand; a quotient of rounded 1 -/+ s^2 would not be, for s near 1.
        slope = np.sqrt(_given.one_minus(s) / _given.one_minus((-s[0], -s[1])))
        u = np.broadcast_to(root * slope, n_features)
        v = np.broadcast_to(root / slope, n_features)
        net = cls(u, v, u, v, _as_given(magnitude[0]))
        object.__setattr__(net, "log_scale" if scale is None else "scale", alpha.kept)
        object.__setattr__(net, "shape", _given.kept(shape, s[0]))
        object.__setattr__(net, "_log_alpha", alpha.log)
        object.__setattr__(net, "_log_magnitude_low", _given.low_or_none(magnitude[1]))
        # The logarithms of the weights above are rounded; those of the arguments are not.
        net.__dict__["start"] = _start.from_scale_shape(alpha.log, s).for_features(n_features)
        return net

    def __repr__(self) -> str:
        names = ("log_magnitude",) if self.shape is None else ("scale", "log_scale", "shape")
        given = [f", {name}={check.shown(getattr(self, name))}" for name in names if getattr(self, name) is not None]
        return f"DiagonalNetwork(n_features={self.n_features}{''.join(given)})"

    @property
    def n_features(self) -> int:
        """Number of coefficients."""
        return self.u_plus.size

    @property
    def beta0(self) -> Array:
        r"""Predictor at time 0, :math:`u_+ \circ v_+ - u_- \circ v_-`; over- and underflow give inf and 0."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            half = np.exp(np.asarray(self.log_magnitude))
            plus, minus = (half * self.u_plus) * (half * self.v_plus), (half * self.u_minus) * (half * self.v_minus)
            beta0 = np.where(plus == minus, 0.0, plus - minus)
        # A product that overflows says nothing of the difference, nor does inf times a weight of 0; the logarithms do.
        exact = np.isfinite(plus) & np.isfinite(minus)
        return np.asarray(beta0 if exact.all() else np.where(exact, beta0, self.start.beta0))

    @property
    def log_kappa(self) -> Array:
        r""":math:`\ln\kappa`, one a feature: large is ℓ2, small is ℓ1, -inf where a coordinate keeps its sign."""
        return self.start.log_kappa

    @property
    def log_kappa_low(self) -> Array:
        r"""What binary64 leaves out of :math:`\ln\kappa`, which is known to thirty digits."""
        return self.start.log_kappa_parts[1]

    @property
    def kappa(self) -> Array:
        r""":math:`\kappa`, one a feature; over- and underflow give inf and 0."""
        return self.start.kappa

    @cached_property
    def start(self) -> Start:
        """What the core takes: the logarithms of ``A`` and ``B``."""
        weights = (self.u_plus, self.v_plus, self.u_minus, self.v_minus)
        rest = self._weights_low or tuple(np.zeros_like(w) for w in weights)
        low = np.zeros(1) if self._log_magnitude_low is None else self._log_magnitude_low
        magnitude = [np.broadcast_to(part, self.n_features) for part in (self.log_magnitude, low)]
        return _start.from_weights(list(zip(weights, rest, strict=True)), (magnitude[0], magnitude[1]))

    def potential(self, *, precision: str = "double") -> HyperbolicEntropy:
        r"""The function that this start makes gradient flow minimise.

        .. math:: Q(\beta) = D(\beta, \beta(0)), \qquad
                  \beta(\infty) = \operatorname{argmin}_{X\beta = y} Q(\beta)

        Parameters
        ----------
        precision : {"double", "double-double"}, default "double"
            That of the potential, see there.

        Returns
        -------
        HyperbolicEntropy
            For any start: where :math:`\beta(0) \ne 0` it is the Bregman divergence from there, and a coordinate that
            keeps its sign has the one-sided entropy :math:`\tfrac12\beta\ln(4\beta/A) - \tfrac12\beta + A/8`.

        Examples
        --------
        >>> import implicit_bias as ib
        >>> Q = ib.DiagonalNetwork.from_scale_shape(2, scale=0.25).potential()
        >>> Q.gradient([0.0, 1.0])
        array([0.        , 0.72181774])
        """
        return HyperbolicEntropy._from_start(self.start, precision)

    def _log_scale(self) -> float:
        return _diagonal_flow.log_scale(self)

    def _check_method(self, method: str) -> None:
        if method == "weights":
            _diagonal_flow.check_representable(self)

    def _integrate(self, X: Array, y: Array, options: FlowOptions, max_events: int | None) -> "_core._Flow":
        # No kinks, no events.
        weights = _diagonal_flow.weights(self) if options["method"] == "weights" else None
        return _core.diagonal_flow(X, y, self.start, weights=weights, **options)

    def _integrate_exactly(
        self, X: Array, y: tuple[Array, Array], options: FlowOptions, max_events: int | None
    ) -> "_core._Flow":
        return _core.diagonal_flow(X, y[0], self.start, weights=None, precision="double-double", y_low=y[1], **options)

    def _check_certify(self) -> None:
        # Rows of any method have a bound: nothing is asked of how they were computed.
        return

    def _error_bound(self, X: Array, y: Array, t: Array, beta: Array, options: FlowOptions) -> "_core._ErrorBound":
        return _core.diagonal_error_bound(
            X,
            y,
            self.start,
            times=t,
            beta=beta,
            time_unit=options["time_unit"],
            rtol=options["rtol"],
            tol=options["tol"],
            max_seconds=options["max_seconds"],
            n_jobs=options["n_jobs"],
        )

    def _parameters(self, flow: "Flow") -> Parameters:
        return _diagonal_flow.parameters(self, flow)

    def _conserved(self, flow: "Flow") -> ConservedQuantities:
        return _diagonal_flow.conserved(self, flow)

    def _distance_bound(self, X: Array, y: Array, beta: Array, n_jobs: int) -> Array:
        return _core.diagonal_distance_bound(X, y, self.start, beta=beta, n_jobs=n_jobs)

    def _limit(self, X: Array, y: Array, options: LimitOptions) -> Limit:
        return Limit._from_core(_core.diagonal_limit(X, y, self.start, **options))

    def _check_kkt(
        self, X: Array, y: Array, beta: Array, n_jobs: int, low: tuple[Array, Array] | None = None
    ) -> KKTReport:
        y_low, beta_low = (None, None) if low is None else low
        found = _core.diagonal_check_kkt(X, y, self.start, beta=beta, n_jobs=n_jobs, y_low=y_low, beta_low=beta_low)
        return KKTReport(**found)

    def _start_weights(self) -> tuple[Parameters, float]:
        magnitude = np.broadcast_to(self.log_magnitude, self.n_features)
        top = float(magnitude.max())
        with np.errstate(under="ignore"):
            share = np.exp(magnitude - top)
            return Parameters(*(share * w for w in (self.u_plus, self.v_plus, self.u_minus, self.v_minus))), top

    def _tangent_features(self, X: Array, weights: Sequence[Array]) -> tuple[Array, Callable[[Array], Array]]:
        size = _size(weights)
        return X * size, lambda step: size * step

    def _tangent_kernel(self, X: Array, Z: Array, weights: Sequence[Array]) -> Array:
        return np.asarray((X * _size(weights) ** 2) @ Z.T)

    def _outputs(self, X: Array, weights: Sequence[Array], log_unit: float) -> Array:
        return np.asarray(X @ self.beta0)

    @classmethod
    def _limit_path(cls, nets: Sequence[Network], X: Array, y: Array, options: LimitOptions) -> LimitPath:
        # Neighbours in ln kappa help each other; another network among them helps nobody.
        starts: list[tuple[Array, Array, Array, Array]] = [
            net.start for net in nets if isinstance(net, DiagonalNetwork)
        ]
        if len(starts) < len(nets):
            return super()._limit_path(nets, X, y, options)
        return LimitPath._from_core(_core.diagonal_limit_path(X, y, starts, **options))


def _size(weights: Sequence[Array]) -> Array:
    """The norm of the four weights of every coordinate."""
    u_plus, v_plus, u_minus, v_minus = weights
    return np.hypot(np.hypot(u_plus, v_plus), np.hypot(u_minus, v_minus))


def _frozen(weights: Array) -> Array:
    """An owned copy that cannot be written to: a network is a value."""
    copy = weights.copy()
    copy.flags.writeable = False
    return copy


def _as_given(values: Array) -> float | Array:
    """A number for length 1, an owned read-only array for one number a feature."""
    return float(values[0]) if values.size == 1 else _frozen(values)
