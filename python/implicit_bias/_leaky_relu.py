"""The leaky-ReLU network: its weights at time 0, and what the core is asked about them."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from . import _core, _leaky_relu_limit
from . import _validate as check
from ._network import FlowOptions, LimitOptions, Network
from ._neuron_potential import NeuronPotential
from ._results import KKTReport, Limit
from ._validate import Array

if TYPE_CHECKING:
    from ._trajectory import Flow

#: Magnitudes of weights that the raw weights can be integrated from: products of two of them are still ordinary floats.
WEIGHT_RANGE = (1e-150, 1e150)


class LeakyReLUParameters(NamedTuple):
    """The weights along a flow; over- and underflow give inf and 0.

    Attributes
    ----------
    a : ndarray, shape (n_times, n_neurons)
    W : ndarray, shape (n_times, n_neurons, n_features)
    """

    a: Array
    W: Array


class LeakyReLUConserved(NamedTuple):
    r"""What gradient flow conserves in every neuron, recomputed from the weights at every time.

    .. math:: \delta_i = a_i^2 - \|w_i\|^2

    Attributes
    ----------
    delta : ndarray, shape (n_times, n_neurons)
    drift : ndarray, shape (n_times,)
        Largest change since the start, relative to :math:`a_i^2 + \|w_i\|^2` of its neuron.
    """

    delta: Array
    drift: Array


@dataclass(frozen=True, eq=False, repr=False)
class LeakyReLUNetwork(Network):
    r"""One hidden layer of leaky-ReLU neurons, given by its weights at time 0.

    .. math:: f(x) = \sum_i a_i\,\sigma(\langle w_i, x\rangle), \qquad \sigma(p) = \max(p, \rho p)

    The flow of its weights is that of Filippov: a pre-activation that both sides push back to its kink stays there
    until they no longer do, and `Flow.events` says when. One neuron that fits the data ends where Theorem 4 of [1]_
    says; `Flow.beta` is :math:`\sum_i a_i w_i`.

    Parameters
    ----------
    a : array_like, shape (n_neurons,)
        Output weights at time 0, in units of ``exp(log_magnitude)``. Copied.
    W : array_like, shape (n_neurons, n_features)
        Hidden weights, a neuron a row, in the same units. Copied.
    slope : float
        :math:`\rho` in [0, 1]: 0 is ReLU, 1 the linear network.
    log_magnitude : float, default 0.0
        Logarithm of the unit of all weights, in [-1e12, 700]: magnitudes far outside of the range of a float are
        ordinary input.

    Attributes
    ----------
    scale, log_scale, shape : float or None
        As given to `from_scale_shape`, and None for a network that was given by its weights.

    Raises
    ------
    ValueError
        If an argument is of the wrong shape, not finite or outside of its interval.

    See Also
    --------
    LeakyReLUNetwork.from_scale_shape : one neuron by scale and shape.

    References
    ----------
    .. [1] Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021, Theorem 4.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> net = ib.LeakyReLUNetwork([1.0], [[0.0, 0.5]], slope=0.5)
    >>> ib.limit(net, [[1.0, 0.0]], [-1.0]).beta.round(6)
    array([-2.      ,  0.800243])
    """

    a: Array
    W: Array
    slope: float
    log_magnitude: float = 0.0
    scale: float | None = field(default=None, init=False)
    log_scale: float | None = field(default=None, init=False)
    shape: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        a = check.array("a", self.a, "(n_neurons,)").copy()
        hidden = check.array("W", self.W, "(n_neurons, n_features)").copy()
        if hidden.shape[0] != a.size:
            raise ValueError(f"W must have one row for every entry of a, {a.size}: got {hidden.shape[0]}")
        for name, values in (("a", a), ("W", hidden)):
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        object.__setattr__(self, "slope", check.within("slope", self.slope, (0.0, 1.0), "0 is ReLU, 1 is linear"))
        magnitude = check.within("log_magnitude", self.log_magnitude, (-1e12, 700.0), "weights must be floats above")
        object.__setattr__(self, "log_magnitude", magnitude)

    @classmethod
    def from_scale_shape(
        cls,
        orientation: ArrayLike,
        scale: float | None = None,
        shape: float = 0.0,
        slope: float = 0.1,
        sign: int = 1,
        log_scale: float | None = None,
    ) -> Self:
        r"""One neuron by scale and shape, in the convention of the paper [1]_.

        .. math:: a = \pm\sqrt{\alpha\,\frac{1+s}{1-s}}, \qquad w = \sqrt{\alpha\,\frac{1-s}{1+s}}\,\frac{u}{\|u\|},
                  \qquad \delta = \frac{4\alpha s}{1-s^2}

        Parameters
        ----------
        orientation : array_like, shape (n_features,)
            Any vector :math:`u \ne 0`.
        scale : float, optional
            :math:`\alpha = |a|\|w\| > 0`. Exactly one of `scale` and `log_scale` must be given.
        shape : float, default 0.0
            :math:`s` in (-1, 1): 0 is the balanced start.
        slope : float, default 0.1
            :math:`\rho` in [0, 1].
        sign : {1, -1}, default 1
            The sign of a.
        log_scale : float, optional
            :math:`\ln\alpha`: ``-11513`` is a scale of 10^-5000.

        Returns
        -------
        LeakyReLUNetwork
            With `scale`, `log_scale` and `shape` as given.

        Raises
        ------
        ValueError
            If an argument is outside of its interval.

        References
        ----------
        .. [1] Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021, Section 7.

        Examples
        --------
        >>> import implicit_bias as ib
        >>> ib.LeakyReLUNetwork.from_scale_shape([3.0, 4.0], scale=4.0).beta0
        array([2.4, 3.2])
        """
        u = check.array("orientation", orientation, "(n_features,)")
        unit = float(np.abs(u).max())
        if unit == 0.0:
            raise ValueError("orientation must be a non-zero vector: got 0")
        check.exactly_one(("scale", "log_scale"), (scale, log_scale))
        s = check.number("shape", shape)
        if not abs(s) < 1.0:
            raise ValueError(f"shape must be in (-1, 1): got {check.shown(s)}")
        if isinstance(sign, bool) or sign not in (1, -1):
            raise ValueError(f"sign must be 1 or -1: got {check.shown(sign)}")
        root, magnitude = 1.0, 0.0
        if scale is not None:
            scale = check.positive("scale", scale)
            root = math.sqrt(scale)
        else:
            log_scale = check.within("log_scale", log_scale, (-1e12, 1400.0), "weights must be floats above")
            magnitude = 0.5 * log_scale
        ratio = math.sqrt((1.0 - s) / (1.0 + s))
        u = u / unit
        hidden = root * ratio * (u / np.linalg.norm(u))
        net = cls(np.array([sign * (root / ratio)]), hidden[None], slope, magnitude)
        for name, value in (("scale", scale), ("log_scale", log_scale), ("shape", s)):
            object.__setattr__(net, name, value)
        return net

    def __repr__(self) -> str:
        names = ("log_magnitude",) if self.shape is None else ("scale", "log_scale", "shape")
        given = [f", {name}={check.shown(getattr(self, name))}" for name in names if getattr(self, name) is not None]
        size = f"n_neurons={self.a.size}, n_features={self.n_features}, slope={self.slope!r}"
        return f"LeakyReLUNetwork({size}{''.join(given)})"

    @property
    def n_features(self) -> int:
        """Number of coefficients."""
        return int(self.W.shape[1])

    @property
    def beta0(self) -> Array:
        r"""Predictor at time 0, :math:`\sum_i a_i w_i`; over- and underflow give inf and 0."""
        a, hidden = self._weights()
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(a @ hidden)

    def potential(self) -> NeuronPotential:
        r"""Of one neuron, the function whose KKT points under :math:`a\sigma(Xw) = y` the flow can end at.

        .. math:: Q(\beta) = q_\delta(\|\beta\|) + \langle z, \beta\rangle, \qquad
                  z = -\tfrac32\operatorname{sign}(a(0))\,w(0)

        Returns
        -------
        NeuronPotential
            Of the same :math:`\delta` and z as the linear neuron has.

        Raises
        ------
        ValueError
            For several neurons, or a(0) = 0: no theorem gives a Q.

        Examples
        --------
        >>> import implicit_bias as ib
        >>> round(ib.LeakyReLUNetwork.from_scale_shape([1.0, 0.0], scale=1.0, shape=0.5).potential().delta, 6)
        2.666667
        """
        if self.a.size > 1 or self.a[0] == 0.0:
            raise ValueError("net must be one neuron with a(0) != 0 for a potential: no theorem gives one for others")
        return self._potential(math.copysign(1.0, self.a[0]))

    def _potential(self, sign: float) -> NeuronPotential:
        _, hidden = self._weights()
        return NeuronPotential(self._delta(), -1.5 * sign * hidden[0])

    def _delta(self) -> float:
        a, size = float(self.a[0]), float(np.linalg.norm(self.W[0]))
        # The difference of the weights, not of their squares: exact where they are close.
        with np.errstate(over="ignore", under="ignore"):
            return float((abs(a) - size) * (abs(a) + size) * np.exp(2.0 * self.log_magnitude))

    def _weights(self) -> tuple[Array, Array]:
        with np.errstate(over="ignore", under="ignore"):
            unit = np.exp(self.log_magnitude)
            return np.asarray(unit * self.a), np.asarray(unit * self.W)

    def _start(self) -> tuple[Array, Array, float]:
        return self.a, self.W, self.log_magnitude

    def _log_scale(self) -> float:
        if self.log_scale is not None:
            return self.log_scale
        if self.scale is not None:
            return math.log(self.scale)
        sizes = np.abs(self.a) * np.linalg.norm(self.W, axis=1)
        if not (sizes > 0.0).any():
            raise ValueError("time_unit 'log_scale' needs a neuron with a w != 0: got none; allowed here is 'flow'")
        return float(np.log(sizes[sizes > 0.0]).mean() + 2.0 * self.log_magnitude)

    def _check_method(self, method: str) -> None:
        if method != "weights":
            return
        weights = np.abs(np.append(self.W.ravel(), self.a))
        logs = np.log(weights[weights > 0.0]) + self.log_magnitude
        low, high = np.log(WEIGHT_RANGE)
        if logs.size and not (low <= logs.max() <= high):
            worst = logs.max() / np.log(10.0)
            raise ValueError(
                f"method 'weights' needs weights between 1e-150 and 1e150: got 10^{worst:.6g}; use another method"
            )

    def _integrate(self, X: Array, y: Array, options: FlowOptions, max_events: int | None) -> "_core._Flow":
        end = None
        if "distance" in options["observables"]:
            end = self._limit(X, y, LimitOptions(bounds=False, tol=options["tol"], n_jobs=options["n_jobs"])).beta
        return _core.leaky_relu_flow(X, y, self._start(), self.slope, max_events=max_events, end=end, **options)

    def _parameters(self, flow: "Flow") -> LeakyReLUParameters:
        # The path of the raw weights has one column for each of them and for the units of the neurons.
        method = "weights" if flow._method == "weights" else "radau"
        return LeakyReLUParameters(
            *_core.leaky_relu_parameters(flow._X, flow._y, self._start(), self.slope, method, flow._path)
        )

    def _conserved(self, flow: "Flow") -> LeakyReLUConserved:
        a, hidden = self._parameters(flow)
        size = np.linalg.norm(hidden, axis=2)
        delta, total = (np.abs(a) - size) * (np.abs(a) + size), a**2 + size**2
        a0, hidden0 = self._weights()
        size0 = np.linalg.norm(hidden0, axis=1)
        change = np.abs(delta - (np.abs(a0) - size0) * (np.abs(a0) + size0))
        drift = np.divide(change, total, out=np.zeros_like(total), where=total > 0.0)
        return LeakyReLUConserved(delta, drift.max(axis=1))

    def _distance_bound(self, X: Array, y: Array, beta: Array, n_jobs: int) -> Array:
        return np.full_like(beta, math.inf)

    def _limit(self, X: Array, y: Array, options: LimitOptions) -> Limit:
        return _leaky_relu_limit.limit(self, X, y, options)

    def _check_kkt(self, X: Array, y: Array, beta: Array, n_jobs: int) -> KKTReport:
        return _leaky_relu_limit.check_kkt(self, X, y, beta)
