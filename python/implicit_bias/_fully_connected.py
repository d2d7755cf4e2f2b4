"""The fully connected linear network: its weights at time 0, and what the core and theory are asked about them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from . import _core, _fully_connected_limit, _neuron_double_double
from . import _validate as check
from ._network import FlowOptions, LimitOptions
from ._neuron_potential import NeuronPotential, _polar
from ._neurons import Balancedness, NeuronParameters, Neurons, balancedness
from ._results import KKTReport, Limit
from ._validate import Array

if TYPE_CHECKING:
    from ._trajectory import Flow

#: A a^T - W W^T counts as 0 below this many roundings of its terms.
BALANCED = 64.0 * np.finfo(float).eps


class OneNeuron(NamedTuple):
    """The one neuron that a start is: a single one, or a balanced network, W = a u^T, with ‖a‖ and ‖a‖u."""

    a: float
    w: Array
    delta: float
    theorem: str


@dataclass(frozen=True, eq=False, repr=False)
class FullyConnectedNetwork(Neurons):
    r"""Two-layer fully connected linear network of any width, given by its weights at time 0.

    .. math:: f(x) = \sum_i a_i \langle w_i, x\rangle = \langle\beta, x\rangle, \qquad \beta = W^\top a

    For one neuron, and for balanced networks, :math:`a a^\top = W W^\top`, of any width, gradient flow ends at the
    minimiser of a potential fixed by the start alone [1]_. For other networks no theorem gives such a potential; their
    flow, its end and what it conserves are computed all the same, at a cost that does not grow with the number of
    features, nor with that of neurons beyond the number of samples.

    Parameters
    ----------
    a : array_like, shape (n_neurons,)
        Outer weights at time 0, in units of ``exp(log_magnitude)``. Copied.
    W : array_like, shape (n_neurons, n_features)
        Hidden weights, a neuron a row, in the same units. Copied. Both may have up to thirty digits, as decimal
        strings or two arrays (high, low); a unit that binary64 cannot hold goes into `log_magnitude`.
    log_magnitude : float, default 0.0
        Logarithm of the common factor of all weights, at most 1e12 in absolute value: weights of 10^-5000 are ordinary
        input.

    Attributes
    ----------
    scale, log_scale, shape : float, what was given, or None
        As given to `from_scale_shape`, and None for a network that was given by its weights.

    Raises
    ------
    ValueError
        If the weights are empty, hold NaN or infinities, are not real numbers or do not fit together.

    See Also
    --------
    FullyConnectedNetwork.from_scale_shape : one neuron by scale and shape.
    implicit_bias.NeuronPotential : what one neuron implicitly minimises.

    References
    ----------
    .. [1] Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021, Theorem 2 and Proposition 1.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> net = ib.FullyConnectedNetwork([1.0, -0.5], [[0.3, 0.0], [0.2, 0.4]])
    >>> net.beta0
    array([ 0.2, -0.2])
    >>> ib.limit(net, [[1.0, 2.0]], [2.0]).success
    True
    """

    a: Array
    W: Array
    log_magnitude: float = 0.0
    scale: Any = field(default=None, init=False)
    log_scale: Any = field(default=None, init=False)
    shape: Any = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._keep_weights()

    @classmethod
    def from_scale_shape(
        cls,
        orientation: ArrayLike,
        scale: Any = None,
        shape: Any = 0.0,
        sign: int = 1,
        log_scale: Any = None,
    ) -> Self:
        r"""One neuron by scale and shape, in the convention of the paper [1]_.

        .. math:: |a| = \sqrt{\alpha\,\frac{1+s}{1-s}}, \quad \|w\| = \sqrt{\alpha\,\frac{1-s}{1+s}}, \qquad
                  \delta = a^2 - \|w\|^2 = \frac{4\alpha s}{1-s^2}

        with scale :math:`\alpha = |a|\,\|w\|` and shape :math:`s = (|a| - \|w\|)/(|a| + \|w\|)`.

        Parameters
        ----------
        orientation : array_like, shape (n_features,)
            Direction of the hidden weights: any vector but 0.
        scale : float, optional
            :math:`\alpha > 0`. Exactly one of `scale` and `log_scale` must be given. Here and below numbers may have up
            to thirty digits (``"0.1"``), and a scale may be beyond the range of a float (``"1e-400"``).
        shape : float, default 0.0
            :math:`s` in (-1, 1). Towards 1 the outer weight is ever larger than the hidden ones (the kernel regime).
        sign : {1, -1}, default 1
            Sign of the outer weight.
        log_scale : float, optional
            :math:`\ln\alpha`, at most 1e12 in absolute value.

        Returns
        -------
        FullyConnectedNetwork
            It keeps `scale`, `log_scale` and `shape` as given.

        Raises
        ------
        ValueError
            If an argument is outside of its interval, or the orientation is 0.

        References
        ----------
        .. [1] Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021, Section 7.2.

        Examples
        --------
        >>> import implicit_bias as ib
        >>> net = ib.FullyConnectedNetwork.from_scale_shape([3.0, 4.0], scale=1.0, shape=0.6)
        >>> net.a, net.W
        (array([2.]), array([[0.3, 0.4]]))
        """
        return cls._one(orientation, scale, shape, sign, log_scale)

    def potential(self, *, precision: str = "double") -> NeuronPotential:
        r"""The function that this start makes gradient flow minimise.

        .. math:: Q(\beta) = q_\delta(\|\beta\|) + \langle z, \beta\rangle, \qquad
                  z = -\tfrac32\|w(0)\|\,\frac{\beta(0)}{\|\beta(0)\|}

        Parameters
        ----------
        precision : {"double", "double-double"}, default "double"
            That of the potential, see there.

        Returns
        -------
        NeuronPotential
            That of one neuron; of a balanced network that of :math:`\|a\|` and :math:`W^\top a/\|a\|`, with
            :math:`\delta = 0`. For :math:`\delta < 0` it is the potential as long as a keeps its sign.

        Raises
        ------
        ValueError
            For several neurons that are not balanced: no theorem gives a potential. For a = 0: the data decide which
            sign it takes.

        Examples
        --------
        >>> import implicit_bias as ib
        >>> ib.FullyConnectedNetwork.from_scale_shape([3.0, 4.0], scale=1.0).potential().z.round(6)
        array([-0.9, -1.2])
        """
        one = self._one_neuron
        if one is None:
            raise ValueError(
                "net must be one neuron or a balanced network, a a^T = W W^T, to have a potential: no theorem gives "
                f"one for these {self.a.size} neurons"
            )
        if one.a == 0.0 and one.w.any():
            raise ValueError("a must not be 0 for a potential: the data decide which sign it takes, see limit")
        if check.precision(precision) == "double-double":
            return _neuron_double_double.potential(self, 1.0 if one.a >= 0.0 else -1.0)
        return _fully_connected_limit.potential(one, 1.0)

    @cached_property
    def _one_neuron(self) -> OneNeuron | None:
        """What [A] Theorem 2 and Proposition 1 speak of."""
        with np.errstate(over="ignore", under="ignore"):
            # Beyond that the squares of the weights are no floats: δ says so.
            unit = min(float(np.exp(self.log_magnitude)), 1e200)
        if self.a.size == 1:
            a, w = float(self.a[0]), self.W[0]
            size, direction = _polar(w)
            delta = (abs(a) - size) * unit * (abs(a) + size) * unit
            if self._by_shape is not None:
                delta = self._by_shape.delta(unit)
            return OneNeuron(a * unit, size * unit * direction, delta, "Azulay et al. 2021, Theorem 2")
        outer, share = _polar(self.a)
        if outer == 0.0:
            return None
        # Balanced: W = a u^T with a unit vector u. Its length first: most networks need no second look at all weights.
        u = (share @ self.W) / outer
        if abs(_polar(u)[0] - 1.0) > BALANCED or np.abs(self.W / outer - share[:, None] * u).max() > BALANCED:
            return None
        return OneNeuron(outer * unit, outer * unit * u, 0.0, "Azulay et al. 2021, Proposition 1")

    def _check_method(self, method: str) -> None:
        """The core says it."""

    def _integrate(self, X: Array, y: Array, options: FlowOptions, max_events: int | None) -> "_core._Flow":
        end = self._end_asked(X, y, options)
        found = _core.fully_connected_flow(X, y, self._start, end=end, **options)
        if options["method"] == "weights":
            # A neuron a row; states in span coordinates are left as they are, with one axis less.
            outer, hidden = np.split(found["path"], [self.a.size], axis=1)
            found["path"] = np.dstack([outer[:, :, None], hidden.reshape(-1, *self.W.shape)])
        return found

    def _integrate_exactly(
        self, X: Array, y: tuple[Array, Array], options: FlowOptions, max_events: int | None
    ) -> "_core._Flow":
        if "potential" in options["observables"]:
            self.potential()
        return _core.fully_connected_flow(
            X,
            y[0],
            self._start,
            end=None,
            precision="double-double",
            y_low=y[1],
            start_low=self._start_low,
            **options,
        )

    def _parameters(self, flow: "Flow") -> NeuronParameters:
        path = flow._path
        if path.ndim == 3:
            return NeuronParameters(path[:, :, 0].copy(), path[:, :, 1:].copy())
        exactly = flow.beta_low is not None
        found = _core.fully_connected_parameters(
            flow._X,
            flow._y,
            self._start,
            states=path,
            n_jobs=check.jobs(None),
            precision="double-double" if exactly else "double",
            start_low=self._start_low if exactly else None,
        )
        return NeuronParameters(*found)

    def _conserved(self, flow: "Flow") -> Balancedness:
        rows = self._parameters(flow)
        start = np.column_stack(self._weights)
        drift = [_drift(start, np.column_stack([a, W])) for a, W in zip(*rows, strict=True)]
        return Balancedness(balancedness(rows), np.array(drift))

    def _limit(self, X: Array, y: Array, options: LimitOptions) -> Limit:
        return _fully_connected_limit.limit(self, X, y, options)

    def _tangent_features(self, X: Array, weights: Sequence[Array]) -> tuple[Array, Callable[[Array], Array]]:
        # H⁻¹ = ‖a‖² I + WᵀW.
        a, W = weights
        outer, d = float(np.linalg.norm(a)), self.n_features
        return np.hstack([outer * X, X @ W.T]), lambda step: outer * step[:d] + W.T @ step[d:]

    def _tangent_kernel(self, X: Array, Z: Array, weights: Sequence[Array]) -> Array:
        a, W = weights
        return np.asarray(float(a @ a) * (X @ Z.T) + (X @ W.T) @ (Z @ W.T).T)

    def _outputs(self, X: Array, weights: Sequence[Array], log_unit: float) -> Array:
        return np.asarray(X @ self.beta0)

    def _check_kkt(
        self, X: Array, y: Array, beta: Array, n_jobs: int, low: tuple[Array, Array] | None = None
    ) -> KKTReport:
        return _fully_connected_limit.check_kkt(self, X, y, beta, n_jobs, low)


def _drift(start: Array, now: Array) -> float:
    r"""Relative change of :math:`\Delta = Z J Z^\top`, Z = [a W], J = diag(1, -1, …, -1), by a QR of [Z(t) Z(0)].

    The change is Q (R S Rᵀ) Qᵀ, S = diag(J, -J): as small as the shorter side of Z.
    """
    size = max(float(np.abs(now).max()), float(np.abs(start).max()))
    if size == 0.0 or not math.isfinite(size):
        return 0.0 if size == 0.0 else math.inf
    both = np.column_stack([now / size, start / size])
    signs = np.concatenate([[1.0], -np.ones(now.shape[1] - 1)])
    triangle = np.asarray(np.linalg.qr(both, mode="r"))
    change = (triangle * np.concatenate([signs, -signs])) @ triangle.T
    return float(np.linalg.norm(change) / np.square(both[:, : now.shape[1]]).sum())
