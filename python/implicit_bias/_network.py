"""What every model answers. `gradient_flow`, `limit`, `check_kkt` and their results know a network only by this."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from . import _validate as check
from ._results import KKTReport, Limit, LimitPath
from ._validate import Array

if TYPE_CHECKING:
    from . import _core
    from ._trajectory import Flow


class FlowOptions(TypedDict):
    """How to integrate, as the core takes it: checked."""

    times: Array | None
    time_unit: float
    rtol: float
    tol: float
    method: str
    max_steps: int | None
    max_seconds: float | None
    observables: list[str]
    save_beta: bool
    progress: Callable[[float, float, int, float], None] | None
    n_jobs: int


class LimitOptions(TypedDict):
    """How to find the end, as the core takes it."""

    bounds: bool
    tol: float
    n_jobs: int
    #: In double-double the rest of the targets; the answer then has one as well.
    y_low: NotRequired[Array | None]


class Network(ABC):
    """A start of gradient flow: the weights at time 0, and what theory says of where they lead.

    Arguments of the methods below have been checked; X and y are float64 and C-contiguous.
    """

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of coefficients."""

    @property
    @abstractmethod
    def beta0(self) -> Array:
        """Predictor at time 0; over- and underflow give inf and 0."""

    @abstractmethod
    def potential(self, *, precision: str = "double") -> Any:
        """The function that this start makes gradient flow minimise.

        Raises
        ------
        ValueError
            If no theorem gives one.
        """

    @abstractmethod
    def _log_scale(self) -> float:
        """Logarithm of the scale, for times in units of ln(1/scale); a ValueError where there is none."""

    def _observed(self, X: object) -> object:
        """`X` as an array, one sample a row, where a model has other forms of it."""
        return X

    def _matrix(self, beta: Array) -> Array:
        """Rows of β as the matrices that they are; a ValueError where they are none."""
        raise ValueError(f"matrix is of a MatrixFactorization: got a {type(self).__name__}, whose predictor is `beta`")

    @abstractmethod
    def _check_method(self, method: str) -> None:
        """A ValueError where this start cannot be integrated in that way."""

    def _check_certify(self) -> None:
        """A ValueError where no theorem bounds the error of the flow."""
        raise self._uncertified()

    def _uncertified(self) -> ValueError:
        name = type(self).__name__
        return ValueError(
            f"certify must be False for a {name}: no theorem bounds the error of its flow, "
            "as one does for a DiagonalNetwork; got certify=True or a number"
        )

    def _error_bound(self, X: Array, y: Array, t: Array, beta: Array, options: FlowOptions) -> "_core._ErrorBound":
        """Proven bound of the error of every row of a flow; a ValueError where no theorem gives one."""
        raise self._uncertified()

    @abstractmethod
    def _integrate(self, X: Array, y: Array, options: FlowOptions, max_events: int | None) -> "_core._Flow":
        """The trajectory."""

    def _integrate_exactly(
        self, X: Array, y: tuple[Array, Array], options: FlowOptions, max_events: int | None
    ) -> "_core._Flow":
        """The trajectory in double-double, of targets in two parts; a ValueError where there is none."""
        raise ValueError(
            f"precision must be 'double' for a flow of {type(self).__name__}, which has no other: got 'double-double'"
        )

    @abstractmethod
    def _parameters(self, flow: "Flow") -> Any:
        """The weights along a flow, a named tuple of arrays with the times as first axis."""

    @abstractmethod
    def _conserved(self, flow: "Flow") -> Any:
        """What the flow conserves, a named tuple of arrays, `drift` (n_times,) among them."""

    @abstractmethod
    def _distance_bound(self, X: Array, y: Array, beta: Array, n_jobs: int) -> Array:
        """Proven bound of the distance of rows to the end, (n_times, n_features); inf where nothing is proven."""

    @abstractmethod
    def _limit(self, X: Array, y: Array, options: LimitOptions) -> Limit:
        """The end of the flow."""

    @abstractmethod
    def _check_kkt(
        self, X: Array, y: Array, beta: Array, n_jobs: int, low: tuple[Array, Array] | None = None
    ) -> KKTReport:
        """How far a predictor is from the end; in double-double `low` is the rest of `y` and of `beta`."""

    @property
    def _tangent_degree(self) -> int:
        """Weights times c have the tangent kernel times c to this."""
        return 2

    @abstractmethod
    def _start_weights(self) -> tuple[Sequence[Array], float]:
        """The weights at time 0, in the order of `_parameters`, in a unit that makes them floats; and its logarithm."""

    @abstractmethod
    def _tangent_kernel(self, X: Array, Z: Array, weights: Sequence[Array]) -> Array:
        """Products of the gradients of the outputs at the samples X with those at Z."""

    @abstractmethod
    def _outputs(self, X: Array, weights: Sequence[Array], log_unit: float) -> Array:
        """Outputs at the samples X."""

    def _tangent_features(self, X: Array, weights: Sequence[Array]) -> tuple[Array, Callable[[Array], Array]] | None:
        r"""Of a model linear in x, :math:`XL`, :math:`H^{-1} = LL^\top`, and :math:`z \mapsto Lz`; None of others."""
        return None

    @classmethod
    def _limit_path(cls, nets: "Sequence[Network]", X: Array, y: Array, options: LimitOptions) -> LimitPath:
        """The ends of many starts; one by one, unless a model knows better."""
        return LimitPath._stacked([net._limit(X, y, options) for net in nets])


def network(name: str, net: object) -> Network:
    """`net`, if it is a network."""
    if not isinstance(net, Network):
        raise ValueError(f"{name} must be a network, such as a DiagonalNetwork: got {check.shown(net)}")
    return net
