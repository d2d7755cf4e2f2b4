"""What networks of neurons have in common: weights a and W at time 0, and one neuron by its scale and shape."""

import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from . import _core, _given
from . import _double_double as dd
from . import _validate as check
from ._network import FlowOptions, LimitOptions, Network
from ._neuron_potential import _polar
from ._validate import Array


class NeuronParameters(NamedTuple):
    """The weights of a network of neurons along a flow; over- and underflow give inf and 0.

    Attributes
    ----------
    a : ndarray, shape (n_times, n_neurons)
    W : ndarray, shape (n_times, n_neurons, n_features)
    """

    a: Array
    W: Array


class Balancedness(NamedTuple):
    r"""What gradient flow conserves in a network of neurons, recomputed from the weights at every time.

    .. math:: \delta_i = a_i^2 - \|w_i\|^2, \qquad \Delta = a a^\top - W W^\top \text{ where all neurons are linear}

    Attributes
    ----------
    delta : ndarray, shape (n_times, n_neurons)
        :math:`\delta_i`, the diagonal of :math:`\Delta`.
    drift : ndarray, shape (n_times,)
        Change since the start. Of a linear network the Frobenius norm of that of :math:`\Delta`, which is never formed,
        relative to :math:`\|a\|^2 + \|W\|^2`; of others the largest of the :math:`\delta_i`, relative to
        :math:`a_i^2 + \|w_i\|^2`.
    """

    delta: Array
    drift: Array


class ByShape(NamedTuple):
    """One neuron as it was given, in two parts."""

    orientation: tuple[Array, Array]
    scale: "_given.Scale"
    shape: tuple[float, float]

    @property
    def unit(self) -> tuple[float, float]:
        """The scale in the unit of the weights: 1 where the scale is that unit."""
        return (1.0, 0.0) if self.scale.value is None else _first(self.scale.value)

    @property
    def start(self) -> "_core._Neuron":
        """w(0) and delta, to thirty digits."""
        logarithm = self.scale.value is None
        scale = _first(self.scale.log if self.scale.value is None else self.scale.value)
        return _core.neuron_start_from_scale_shape(self.orientation, scale, logarithm, self.shape)

    def delta(self, unit: float) -> float:
        """4 alpha s / (1 - s^2), not from the rounded weights: at shape 0 it is exactly 0."""
        alpha = unit * unit if self.scale.value is None else self.unit[0]
        s, low = self.shape
        return 4.0 * alpha * (s / (((1.0 - s) - low) * ((1.0 + s) + low)))


def _first(parts: tuple[Array, Array]) -> tuple[float, float]:
    return float(parts[0][0]), float(parts[1][0])


class Neurons(Network):
    """A start by output weights a, (n_neurons,), and hidden weights W, a neuron a row."""

    a: Array
    W: Array
    log_magnitude: float
    scale: Any
    log_scale: Any
    shape: Any
    #: What binary64 leaves out of the weights and of the logarithm of their unit; None where that is nothing.
    _a_low: Array | None = None
    _W_low: Array | None = None
    _log_magnitude_low: float | None = None
    #: Of one neuron by scale and shape, as they were given: its weights follow from them by roots.
    _by_shape: "ByShape | None" = None

    def _keep_weights(self) -> None:
        """Checked copies of the weights, which cannot be written to."""
        outer, hidden, tens = _given.layers(self.a, self.W)
        if outer[0].size != hidden[0].shape[0]:
            raise ValueError(f"W must have {outer[0].size} rows, one for every entry of a: got {hidden[0].shape[0]}")
        for name, (high, low) in (("a", outer), ("W", hidden)):
            copy = np.array(high, order="C")
            copy.flags.writeable = False
            object.__setattr__(self, name, copy)
            object.__setattr__(self, f"_{name}_low", _given.low_or_none(low))
        given = [np.array([part]) for part in dd.number_parts("log_magnitude", self.log_magnitude)]
        check.logarithms("log_magnitude", given[0])
        high, low = _given.magnitude((given[0], given[1]), tens)
        object.__setattr__(self, "log_magnitude", float(high[0]))
        object.__setattr__(self, "_log_magnitude_low", float(low[0]) or None)

    @classmethod
    def _one(
        cls,
        orientation: ArrayLike,
        scale: Any,
        shape: Any,
        sign: int,
        log_scale: Any,
        **more: Any,
    ) -> Self:
        r"""One neuron: :math:`|a| = \sqrt{\alpha(1+s)/(1-s)}`, :math:`\|w\| = \sqrt{\alpha(1-s)/(1+s)}`."""
        given = dd.parts("orientation", orientation, "(n_features,)")
        if not given[0].any():
            raise ValueError("orientation must not be 0: a direction is needed")
        check.exactly_one(("scale", "log_scale"), (scale, log_scale))
        s = _given.shape(shape)
        if check.integer("sign", sign, least=-1) not in (1, -1):
            raise ValueError(f"sign must be 1 or -1: got {check.shown(sign)}")
        alpha = _given.log_scale(log_scale) if scale is None else _given.number_scale(scale)
        one = ByShape((given[0].copy(), given[1].copy()), alpha, (float(s[0][0]), float(s[1][0])))
        (a, a_low), W = _core.neuron_weights(one.orientation, one.unit, one.shape)
        in_unit = alpha.value is not None
        magnitude = (0.0, 0.0) if in_unit else (0.5 * float(alpha.log[0][0]), 0.5 * float(alpha.log[1][0]))
        net = cls(
            a=(np.array([sign * a]), np.array([sign * a_low])),  # type: ignore[call-arg]
            W=(W[0][None, :], W[1][None, :]),
            log_magnitude=magnitude,
            **more,
        )
        object.__setattr__(net, "log_scale" if scale is None else "scale", alpha.kept)
        object.__setattr__(net, "shape", _given.kept(shape, s[0]))
        object.__setattr__(net, "_by_shape", one)
        return net

    def __repr__(self) -> str:
        names = ("log_magnitude",) if self.shape is None else ("scale", "log_scale", "shape")
        given = [f", {name}={check.shown(getattr(self, name))}" for name in names if getattr(self, name) is not None]
        size = f"n_neurons={self.a.size}, n_features={self.n_features}"
        return f"{type(self).__name__}({size}{self._more()}{''.join(given)})"

    def _more(self) -> str:
        """What else `repr` says."""
        return ""

    @property
    def n_features(self) -> int:
        """Number of coefficients."""
        return int(self.W.shape[1])

    @property
    def beta0(self) -> Array:
        r"""Predictor at time 0, :math:`W^\top a`; over- and underflow give inf and 0."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            half = np.exp(self.log_magnitude)
            found = (half * self.W).T @ (half * self.a)
        return np.asarray(np.where(np.isnan(found), 0.0, found))

    @property
    def _start(self) -> tuple[Array, Array, float]:
        """As the core takes it."""
        return self.a, self.W, self.log_magnitude

    @property
    def _start_low(self) -> tuple[Array | None, Array | None, float]:
        """What `_start` leaves out."""
        return self._a_low, self._W_low, self._log_magnitude_low or 0.0

    @property
    def _weights(self) -> tuple[Array, Array]:
        """The weights as numbers."""
        with np.errstate(over="ignore", under="ignore"):
            unit = np.exp(self.log_magnitude)
            return np.asarray(unit * self.a), np.asarray(unit * self.W)

    def _start_weights(self) -> tuple[NeuronParameters, float]:
        return NeuronParameters(self.a, self.W), self.log_magnitude

    def _end_asked(self, X: Array, y: Array, options: FlowOptions) -> Array | None:
        """Where the observable "distance" is measured from; a ValueError where "potential" has no theorem."""
        if "potential" in options["observables"]:
            self.potential()
        if "distance" not in options["observables"]:
            return None
        return self._limit(X, y, LimitOptions(bounds=False, tol=options["tol"], n_jobs=options["n_jobs"])).beta

    def _log_scale(self) -> float:
        """That of one neuron; the mean of several."""
        if self._by_shape is not None:
            return float(self._by_shape.scale.log[0][0])
        with np.errstate(divide="ignore"):
            logs = np.log(np.abs(self.a)) + np.log([_polar(w)[0] for w in self.W])
        moving = np.isfinite(logs)
        if not moving.any():
            raise ValueError("time_unit 'log_scale' needs both layers to start off 0; allowed here is 'flow'")
        return float(logs[moving].mean()) + 2.0 * self.log_magnitude

    def _distance_bound(self, X: Array, y: Array, beta: Array, n_jobs: int) -> Array:
        # Nothing is proven of a neuron on its way.
        return np.full_like(beta, math.inf)


def balancedness(rows: NeuronParameters) -> Array:
    r""":math:`\delta_i` at every time: the product of sum and difference, exact where the two layers are close."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        sizes = np.sqrt(np.square(rows.W).sum(axis=2))
        return np.asarray((np.abs(rows.a) - sizes) * (np.abs(rows.a) + sizes))
