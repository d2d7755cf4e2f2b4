"""The tied diagonal network of any depth: its weights at time 0, and what the core is asked about them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from . import _core, _depth_start
from . import _validate as check
from ._depth_potential import DepthPotential
from ._depth_start import DepthStart
from ._network import FlowOptions, LimitOptions, Network
from ._results import KKTReport, Limit
from ._validate import Array

if TYPE_CHECKING:
    from ._trajectory import Flow


#: At depth 2, and beyond.
THEOREMS = ("Woodworth et al. 2020, Theorem 1", "Woodworth et al. 2020, Theorem 3")


class TiedParameters(NamedTuple):
    """The two weight vectors along a flow; over- and underflow give inf and 0.

    Attributes
    ----------
    u_plus, u_minus : ndarray, shape (n_times, n_features)
    """

    u_plus: Array
    u_minus: Array


class TiedConserved(NamedTuple):
    r"""What gradient flow conserves in every coordinate, recomputed from the weights at every time.

    .. math:: c = u_+^{2-D} + u_-^{2-D} \quad (D \ge 3), \qquad c = u_+ u_- \quad (D = 2)

    Attributes
    ----------
    c : ndarray, shape (n_times, n_features)
    drift : ndarray, shape (n_times,)
        Largest relative change since the start.
    """

    c: Array
    drift: Array


@dataclass(frozen=True, eq=False, repr=False, init=False)
class DeepDiagonalNetwork(Network):
    r"""Diagonal linear network of depth D with tied weights.

    .. math:: f(x) = \langle\beta, x\rangle, \qquad \beta = u_+^D - u_-^D, \qquad u_\pm(0) = \alpha w

    Gradient flow on :math:`u_\pm` ends, among all predictors that fit the data, at the one that minimises
    `DepthPotential` [1]_: near the minimum of a weighted ℓ2 norm for large :math:`\alpha`, of
    :math:`\sum_i w_i^{2-D}|\beta_i|` as :math:`\alpha \to 0`. Made by `from_scale`.

    Attributes
    ----------
    depth : int
        :math:`D`.
    scale, log_scale : float or None
        As given.
    weights : float or ndarray
        As given.
    start : DepthStart
        What the core takes: a private type, the logarithms of the weights at time 0.

    See Also
    --------
    DiagonalNetwork : untied weights; with :math:`\kappa = 4(\alpha w)^2`, depth 2 at half the speed.

    References
    ----------
    .. [1] Woodworth et al., "Kernel and Rich Regimes in Overparametrized Models", COLT 2020, Theorems 1 and 3.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> net = ib.DeepDiagonalNetwork.from_scale(2, depth=3, log_scale=-1e5)
    >>> ib.limit(net, [[1.0, 2.0]], [2.0]).beta
    array([0., 1.])
    """

    start: DepthStart
    scale: float | None = field(default=None)
    log_scale: float | None = field(default=None)
    weights: Any = field(default=1.0)

    def __init__(self) -> None:
        raise TypeError("a DeepDiagonalNetwork is made by DeepDiagonalNetwork.from_scale(n_features, depth, scale)")

    @classmethod
    def from_scale(
        cls,
        n_features: int,
        depth: int,
        scale: ArrayLike | None = None,
        weights: ArrayLike = 1.0,
        log_scale: ArrayLike | None = None,
    ) -> Self:
        r"""Start by scale and shape of the weights, in the convention of Woodworth et al. [1]_.

        .. math:: u_+(0) = u_-(0) = \alpha w, \qquad \beta(0) = 0

        Parameters
        ----------
        n_features : int
            Number of coefficients.
        depth : int
            :math:`D \ge 2`.
        scale : float, optional
            :math:`\alpha > 0`. Exactly one of `scale` and `log_scale` must be given.
        weights : float or array_like of shape (n_features,), default 1.0
            :math:`w > 0`, the shape of the start.
        log_scale : float, optional
            :math:`\ln\alpha`, at most 1e12 in absolute value: ``-230258.5`` is a scale of 10^-100000.

        Returns
        -------
        DeepDiagonalNetwork
            It keeps `scale`, `log_scale` and `weights` as given; logarithms are formed from them to 31 digits.

        Raises
        ------
        ValueError
            If an argument is outside of its interval or has the wrong length.

        References
        ----------
        .. [1] Woodworth et al., "Kernel and Rich Regimes in Overparametrized Models", COLT 2020, equation 12.

        Examples
        --------
        >>> import implicit_bias as ib
        >>> net = ib.DeepDiagonalNetwork.from_scale(3, depth=4, scale=0.1, weights=[1.0, 2.0, 1.0])
        >>> net.beta0
        array([0., 0., 0.])
        """
        n_features = check.integer("n_features", n_features)
        start = _depth_start.read(depth, scale, weights, log_scale, n_features).for_features(n_features)
        net = object.__new__(cls)
        object.__setattr__(net, "start", start)
        given = {"scale": scale, "log_scale": log_scale}
        for name, value in given.items():
            object.__setattr__(net, name, None if value is None else _as_number(value))
        object.__setattr__(net, "weights", _as_given(weights))
        return net

    def __repr__(self) -> str:
        names = [name for name in ("scale", "log_scale") if getattr(self, name) is not None]
        given = "".join(f", {name}={check.shown(getattr(self, name))}" for name in names)
        weights = "" if np.ndim(self.weights) == 0 and self.weights == 1.0 else f", weights={check.shown(self.weights)}"
        return f"DeepDiagonalNetwork(n_features={self.n_features}, depth={self.depth}{given}{weights})"

    @property
    def depth(self) -> int:
        """Number of layers."""
        return self.start.depth

    @property
    def n_features(self) -> int:
        """Number of coefficients."""
        return self.start.high.size

    @property
    def beta0(self) -> Array:
        """Predictor at time 0, which is 0."""
        return np.zeros(self.n_features)

    def potential(self, *, precision: str = "double") -> DepthPotential:
        r"""The function that this start makes gradient flow minimise.

        .. math:: \beta(\infty) = \operatorname{argmin}_{X\beta = y} Q(\beta)

        Parameters
        ----------
        precision : {"double", "double-double"}, default "double"
            That of the potential, see there.

        Returns
        -------
        DepthPotential
            Its value at 0 is 0, where the flow starts.

        Examples
        --------
        >>> import implicit_bias as ib
        >>> ib.DeepDiagonalNetwork.from_scale(2, depth=3, scale=0.1).potential().depth
        3
        """
        return DepthPotential._from_start(self.start, precision)

    def _log_scale(self) -> float:
        return float(np.mean(self.start.high))

    def _check_method(self, method: str) -> None:
        if method == "weights":
            raise ValueError(
                "method must be one of auto, radau, explicit for a DeepDiagonalNetwork: got 'weights', "
                "its weights follow from the dual in closed form"
            )

    def _integrate(self, X: Array, y: Array, options: FlowOptions, max_events: int | None) -> "_core._Flow":
        # No kinks, no events.
        if self.depth > 2:
            return _core.depth_flow(X, y, self.depth, self.start.parts, **options)
        # A tied pair moves as its untied one does at twice the speed.
        doubled = options.copy()
        doubled["time_unit"] = 2.0 * options["time_unit"]
        found = _core.diagonal_flow(X, y, self.start.untied, weights=None, **doubled)
        return self._tied(found, options["observables"])

    def _tied(self, found: "_core._Flow", observables: list[str]) -> "_core._Flow":
        """A flow of the untied network with the Q of the tied one, which is twice the other's."""
        if found["multipliers"] is not None:
            found["multipliers"] = 2.0 * found["multipliers"]
        if "potential" in observables:
            found["observables"]["potential"] = 2.0 * found["observables"]["potential"]
        return found

    def _parameters(self, flow: "Flow") -> TiedParameters:
        log = self.start.high + self.start.low
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            if self.depth == 2:
                # The path is the untied G, and u± = αw e^{±G}.
                return TiedParameters(np.exp(log + flow._path), np.exp(log - flow._path))
            # u±^D - u∓^D is β and u±^{2-D} = (αw)^{2-D}(1 ∓ z): from β, whose digits count.
            at = self.depth
            z, one_minus = self._arcs(flow.beta)
            near, far = np.exp(log - np.log(one_minus) / (at - 2)), np.exp(log - np.log(2.0 - one_minus) / (at - 2))
            return TiedParameters(np.where(z >= 0.0, near, far), np.where(z >= 0.0, far, near))

    def _arcs(self, beta: Array) -> tuple[Array, Array]:
        r""":math:`z = h^{-1}(\beta/(\alpha w)^D)` and :math:`1 - |z|`, row by row."""
        high, low = self.start.parts
        unit = _core.double_double("mul", [(high, low), (np.full_like(high, -self.depth), np.zeros_like(high))])
        factor = _core.double_double("exp", [unit])
        rows, depth = [], np.full(high.size, self.depth, dtype=np.uint32)
        for row in beta:
            x = _core.double_double("mul", [(np.ascontiguousarray(row), np.zeros_like(row)), factor])
            z = _core.depth_function("inverse", x, depth)[0]
            rows.append((z, _core.depth_function("one_minus_inverse", x, depth)[0]))
        return np.array([z for z, _ in rows]), np.array([a for _, a in rows])

    def _conserved(self, flow: "Flow") -> TiedConserved:
        plus, minus = self._parameters(flow)
        log = self.start.high + self.start.low
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            if self.depth == 2:
                c, relative = plus * minus, np.exp(np.log(plus) + np.log(minus) - 2.0 * log)
            else:
                power = 2.0 - self.depth
                c = plus**power + minus**power
                relative = 0.5 * (np.exp(power * (np.log(plus) - log)) + np.exp(power * (np.log(minus) - log)))
        return TiedConserved(c, np.abs(relative - 1.0).max(axis=1))

    def _distance_bound(self, X: Array, y: Array, beta: Array, n_jobs: int) -> Array:
        end = limit_from(self.start, X, y, {"bounds": True, "tol": check.tol(None), "n_jobs": n_jobs})
        assert end.error_bound is not None
        return np.asarray((np.abs(beta - end.beta) + end.error_bound) * (1.0 + 4.0 * np.finfo(float).eps))

    @property
    def _tangent_degree(self) -> int:
        return 2 * self.depth - 2

    def _start_weights(self) -> tuple[TiedParameters, float]:
        logs = self.start.high
        top = float(logs.max())
        with np.errstate(under="ignore"):
            share = np.exp(logs - top)
        return TiedParameters(share, share), top

    def _tangent_features(self, X: Array, weights: Sequence[Array]) -> tuple[Array, Callable[[Array], Array]]:
        size = self._tangent_size(weights)
        return X * size, lambda step: size * step

    def _tangent_size(self, weights: Sequence[Array]) -> Array:
        r""":math:`D\sqrt{u_+^{2D-2} + u_-^{2D-2}}`, the norm of the gradient of every coefficient."""
        plus, minus = (group ** (self.depth - 1) for group in weights)
        return np.asarray(self.depth * np.hypot(plus, minus))

    def _tangent_kernel(self, X: Array, Z: Array, weights: Sequence[Array]) -> Array:
        return np.asarray((X * self._tangent_size(weights) ** 2) @ Z.T)

    def _outputs(self, X: Array, weights: Sequence[Array], log_unit: float) -> Array:
        return np.zeros(len(X))

    def _limit(self, X: Array, y: Array, options: LimitOptions) -> Limit:
        if self.depth > 2 and options.get("y_low") is not None:
            raise _only_double()
        return limit_from(self.start, X, y, options)

    def _check_kkt(
        self, X: Array, y: Array, beta: Array, n_jobs: int, low: tuple[Array, Array] | None = None
    ) -> KKTReport:
        if low is not None and self.depth > 2:
            raise _only_double()
        if self.depth > 2:
            found = _core.depth_check_kkt(X, y, self.depth, self.start.parts, beta=beta, n_jobs=n_jobs)
            return KKTReport(**found, theorem=THEOREMS[1])
        y_low, beta_low = (None, None) if low is None else low
        untied = self.start.untied
        twice = _core.diagonal_check_kkt(X, y, untied, beta=beta, n_jobs=n_jobs, y_low=y_low, beta_low=beta_low)
        return _of_twice(KKTReport(**twice))


def limit_from(start: DepthStart, X: Array, y: Array, options: Any) -> Limit:
    """The limit of the tied start; at depth 2 that of the untied one, whose Q is half of it."""
    if start.depth > 2:
        plain = {name: value for name, value in options.items() if name != "y_low"}
        end = Limit._from_core(_core.depth_limit(X, y, start.depth, start.parts, **plain))
        return replace(end, kkt=replace(end.kkt, theorem=THEOREMS[1]))
    end = Limit._from_core(_core.diagonal_limit(X, y, start.untied, **options))
    return replace(
        end,
        kkt=_of_twice(end.kkt),
        multipliers=_twice(end.multipliers),
        multipliers_low=_twice(end.multipliers_low),
        potential_value=None if end.potential_value is None else 2.0 * end.potential_value,
        potential_value_low=None if end.potential_value_low is None else 2.0 * end.potential_value_low,
    )


def _of_twice(report: KKTReport) -> KKTReport:
    """The report of a Q for that of half of it."""
    multipliers, low = _twice(report.multipliers), _twice(report.multipliers_low)
    return replace(report, multipliers=multipliers, multipliers_low=low, theorem=THEOREMS[0])


def _twice(values: Array | None) -> Array | None:
    return None if values is None else 2.0 * values


def _only_double() -> ValueError:
    return ValueError(
        "precision must be 'double' for a DeepDiagonalNetwork of depth 3 and more: got 'double-double', which its "
        "potential alone has"
    )


def _as_number(value: Any) -> Any:
    """A number as a float; what says more than a float does, a decimal string, as it is."""
    return float(value) if isinstance(value, int | float | np.number) else value


def _as_given(weights: Any) -> Any:
    if np.ndim(weights) == 0:
        return _as_number(weights)
    kept = np.array(weights)
    kept.flags.writeable = False
    return kept
