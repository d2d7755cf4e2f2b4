"""What networks of neurons have in common: weights a and W at time 0, and one neuron by its scale and shape."""

import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

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


class Neurons(Network):
    """A start by output weights a, (n_neurons,), and hidden weights W, a neuron a row."""

    a: Array
    W: Array
    log_magnitude: float
    scale: float | None
    log_scale: float | None
    shape: float | None
    #: As given, where the weights follow from it by roots.
    _orientation: Array | None = None

    def _keep_weights(self) -> None:
        """Checked copies of the weights, which cannot be written to."""
        outer = check.array("a", self.a, "(n_neurons,)")
        hidden = check.array("W", self.W, "(n_neurons, n_features)")
        if outer.size != hidden.shape[0]:
            raise ValueError(f"W must have {outer.size} rows, one for every entry of a: got {hidden.shape[0]}")
        for name, weights in (("a", outer), ("W", hidden)):
            copy = np.array(weights, order="C")
            copy.flags.writeable = False
            object.__setattr__(self, name, copy)
        magnitude = check.logarithms("log_magnitude", np.array([check.number("log_magnitude", self.log_magnitude)]))
        object.__setattr__(self, "log_magnitude", float(magnitude[0]))

    @classmethod
    def _one(
        cls,
        orientation: ArrayLike,
        scale: float | None,
        shape: float,
        sign: int,
        log_scale: float | None,
        **more: Any,
    ) -> Self:
        r"""One neuron: :math:`|a| = \sqrt{\alpha(1+s)/(1-s)}`, :math:`\|w\| = \sqrt{\alpha(1-s)/(1+s)}`."""
        given = check.array("orientation", orientation, "(n_features,)").copy()
        size, direction = _polar(given)
        if size == 0.0:
            raise ValueError("orientation must not be 0: a direction is needed")
        check.exactly_one(("scale", "log_scale"), (scale, log_scale))
        s = check.number("shape", shape)
        if not -1.0 < s < 1.0:
            raise ValueError(f"shape must be in (-1, 1): got {check.shown(shape)}")
        if check.integer("sign", sign, least=-1) not in (1, -1):
            raise ValueError(f"sign must be 1 or -1: got {check.shown(sign)}")
        alpha = None if scale is None else check.positive("scale", scale)
        logarithm = None if log_scale is None else check.number("log_scale", log_scale)
        root = 1.0 if alpha is None else math.sqrt(alpha)
        slope = math.sqrt((1.0 + s) / (1.0 - s))
        magnitude = 0.0 if logarithm is None else 0.5 * logarithm
        a, W = np.array([sign * root * slope]), (root / slope * direction)[None, :]
        net = cls(a=a, W=W, log_magnitude=magnitude, **more)  # type: ignore[call-arg]
        for name, value in (("scale", alpha), ("log_scale", logarithm), ("shape", s)):
            object.__setattr__(net, name, value)
        object.__setattr__(net, "_orientation", given)
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
        if self.log_scale is not None:
            return self.log_scale
        if self.scale is not None:
            return math.log(self.scale)
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
