"""The leaky-ReLU network: its weights at time 0, and what the core is asked about them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from . import _core, _leaky_relu_limit, _neuron_double_double
from . import _validate as check
from ._network import FlowOptions, LimitOptions
from ._neuron_potential import NeuronPotential
from ._neurons import Balancedness, NeuronParameters, Neurons, balancedness
from ._results import KKTReport, Limit
from ._validate import Array

if TYPE_CHECKING:
    from ._trajectory import Flow

#: Magnitudes of weights that the raw weights can be integrated from: products of two of them are still ordinary floats.
WEIGHT_RANGE = (1e-150, 1e150)


@dataclass(frozen=True, eq=False, repr=False)
class LeakyReLUNetwork(Neurons):
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
        Hidden weights, a neuron a row, in the same units. Copied. Both may have up to thirty digits, as decimal
        strings or two arrays (high, low); a unit that binary64 cannot hold goes into `log_magnitude`.
    slope : float
        :math:`\rho` in [0, 1]: 0 is ReLU, 1 the linear network.
    log_magnitude : float, default 0.0
        Logarithm of the unit of all weights, in [-1e12, 700]: magnitudes far below the range of a float are
        ordinary input.

    Attributes
    ----------
    scale, log_scale, shape : float, what was given, or None
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
    scale: Any = field(default=None, init=False)
    log_scale: Any = field(default=None, init=False)
    shape: Any = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._keep_weights()
        check.within("log_magnitude", self.log_magnitude, (-1e12, 700.0), "weights must be floats above")
        object.__setattr__(self, "slope", check.within("slope", self.slope, (0.0, 1.0), "0 is ReLU, 1 is linear"))

    @classmethod
    def from_scale_shape(
        cls,
        orientation: ArrayLike,
        scale: Any = None,
        shape: Any = 0.0,
        slope: float = 0.1,
        sign: int = 1,
        log_scale: Any = None,
    ) -> Self:
        r"""One neuron by scale and shape, in the convention of the paper [1]_.

        .. math:: a = \pm\sqrt{\alpha\,\frac{1+s}{1-s}}, \qquad w = \sqrt{\alpha\,\frac{1-s}{1+s}}\,\frac{u}{\|u\|},
                  \qquad \delta = \frac{4\alpha s}{1-s^2}

        Parameters
        ----------
        orientation : array_like, shape (n_features,)
            Any vector :math:`u \ne 0`.
        scale : float, optional
            :math:`\alpha = |a|\|w\| > 0`. Exactly one of `scale` and `log_scale` must be given. Here and below numbers
            may have up to thirty digits (``"0.1"``), and a scale may be beyond the range of a float (``"1e-400"``).
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
        return cls._one(orientation, scale, shape, sign, log_scale, slope=slope)

    def _more(self) -> str:
        return f", slope={self.slope!r}"

    def potential(self, *, precision: str = "double") -> NeuronPotential:
        r"""Of one neuron, the function whose KKT points under :math:`a\sigma(Xw) = y` the flow can end at.

        .. math:: Q(\beta) = q_\delta(\|\beta\|) + \langle z, \beta\rangle, \qquad
                  z = -\tfrac32\operatorname{sign}(a(0))\,w(0)

        Parameters
        ----------
        precision : {"double", "double-double"}, default "double"
            That of the potential, see there.

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
        sign = math.copysign(1.0, self.a[0])
        if check.precision(precision) == "double-double":
            return _neuron_double_double.potential(self, sign)
        return self._potential(sign)

    def _potential(self, sign: float) -> NeuronPotential:
        _, hidden = self._weights
        return NeuronPotential(self._delta(), -1.5 * sign * hidden[0])

    def _delta(self) -> float:
        a, size = float(self.a[0]), float(np.linalg.norm(self.W[0]))
        # The difference of the weights, not of their squares: exact where they are close.
        with np.errstate(over="ignore", under="ignore"):
            return float((abs(a) - size) * (abs(a) + size) * np.exp(2.0 * self.log_magnitude))

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
        end = self._end_asked(X, y, options)
        return _core.leaky_relu_flow(X, y, self._start, self.slope, max_events=max_events, end=end, **options)

    def _integrate_exactly(
        self, X: Array, y: tuple[Array, Array], options: FlowOptions, max_events: int | None
    ) -> "_core._Flow":
        return _core.leaky_relu_flow(
            X,
            y[0],
            self._start,
            self.slope,
            max_events=max_events,
            end=None,
            precision="double-double",
            y_low=y[1],
            start_low=self._start_low,
            **options,
        )

    def _parameters(self, flow: "Flow") -> NeuronParameters:
        # The path of the raw weights has one column for each of them and for the units of the neurons.
        method = "weights" if flow._method == "weights" else "radau"
        precision = "double" if flow.beta_low is None else "double-double"
        weights, _ = _core.leaky_relu_parameters(
            flow._X, flow._y, self._start, self.slope, method, flow._path, precision=precision
        )
        return NeuronParameters(*weights)

    def _conserved(self, flow: "Flow") -> Balancedness:
        rows, (a, hidden) = self._parameters(flow), self._weights
        delta, start = balancedness(rows), balancedness(NeuronParameters(a[None], hidden[None]))
        total = rows.a**2 + np.square(rows.W).sum(axis=2)
        drift = np.divide(np.abs(delta - start), total, out=np.zeros_like(total), where=total > 0.0)
        return Balancedness(delta, drift.max(axis=1))

    def _limit(self, X: Array, y: Array, options: LimitOptions) -> Limit:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return _leaky_relu_limit.limit(self, X, y, options)

    def _tangent_kernel(self, X: Array, Z: Array, weights: Sequence[Array]) -> Array:
        a, W = weights
        inputs, others = X @ W.T, Z @ W.T
        slopes, more = (np.where(p >= 0.0, 1.0, self.slope) for p in (inputs, others))
        return np.asarray((slopes * inputs) @ (more * others).T + ((slopes * a**2) @ more.T) * (X @ Z.T))

    def _outputs(self, X: Array, weights: Sequence[Array], log_unit: float) -> Array:
        a, W = weights
        inputs = X @ W.T
        with np.errstate(over="ignore", under="ignore"):
            unit = np.exp(log_unit)
            return np.asarray((unit * np.where(inputs >= 0.0, inputs, self.slope * inputs)) @ (unit * a))

    def _check_kkt(
        self, X: Array, y: Array, beta: Array, n_jobs: int, low: tuple[Array, Array] | None = None
    ) -> KKTReport:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return _leaky_relu_limit.check_kkt(self, X, y, beta, n_jobs, low)
