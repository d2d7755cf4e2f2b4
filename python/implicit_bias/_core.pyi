from collections.abc import Callable, Sequence
from typing import NotRequired, TypedDict, TypeVar, TypeVarTuple, final

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[np.float64]
_Ts = TypeVarTuple("_Ts")
_R = TypeVar("_R")
_Start = tuple[_Array, _Array, _Array, _Array]
_Neuron = tuple[_Array, _Array, float, float]
_Parts = tuple[_Array, _Array]

__all__ = [
    "Cancellation",
    "__version__",
    "d2q_diagonal",
    "d2q_neuron",
    "depth_bregman",
    "depth_check_kkt",
    "depth_flow",
    "depth_function",
    "depth_limit",
    "depth_potential",
    "diagonal_bregman",
    "diagonal_bregman_double_double",
    "diagonal_check_kkt",
    "diagonal_distance_bound",
    "diagonal_error_bound",
    "diagonal_flow",
    "diagonal_limit",
    "diagonal_limit_path",
    "diagonal_potential",
    "diagonal_potential_double_double",
    "double_double",
    "dq_diagonal",
    "dq_neuron",
    "fully_connected_flow",
    "fully_connected_parameters",
    "fully_connected_reach",
    "leaky_relu_end",
    "leaky_relu_flow",
    "leaky_relu_parameters",
    "log_ab_from_kappa",
    "log_ab_from_scale_shape",
    "log_ab_from_weights",
    "log_scaled",
    "matrix_factorization_flow",
    "neuron_bregman",
    "neuron_bregman_double_double",
    "neuron_check_kkt",
    "neuron_limit",
    "neuron_potential",
    "neuron_potential_double_double",
    "neuron_start",
    "neuron_start_from_scale_shape",
    "neuron_weights",
    "q_diagonal",
    "q_neuron",
    "read_double_double",
]

class _ErrorBound(TypedDict):
    error_bound: _Array
    ended: str | None

class _Limit(TypedDict):
    beta: _Array
    multipliers: _Array
    error_bound: _Array | None
    backward_error: _Array
    potential_value: float
    stationarity: float
    feasibility: float
    duality_gap: float
    n_iter: int
    status: str
    beta_low: _Array | None
    multipliers_low: _Array | None
    potential_value_low: float | None

class _LimitPath(TypedDict):
    beta: _Array
    multipliers: _Array
    error_bound: _Array | None
    backward_error: _Array
    potential_value: _Array
    stationarity: _Array
    feasibility: _Array
    duality_gap: _Array
    n_iter: NDArray[np.int64]
    status: list[str]
    beta_low: _Array | None
    multipliers_low: _Array | None
    potential_value_low: _Array | None

class _KKT(TypedDict):
    stationarity: float
    feasibility: float
    duality_gap: float
    error_bound: _Array
    backward_error: _Array
    multipliers: _Array
    multipliers_low: _Array | None

class _Reach(TypedDict):
    residual: _Array
    feasibility: float
    stationarity: float

class _NeuronReport(TypedDict):
    multipliers: _Array
    multipliers_low: _Array
    off: _Array
    stationarity: float
    residual: _Array
    backward_error: _Array
    potential_value: float
    potential_value_low: float
    reachable: bool

class _NeuronLimit(_NeuronReport):
    beta: _Array
    beta_low: _Array

class _Flow(TypedDict):
    t: _Array
    beta: _Array
    loss: _Array
    observables: dict[str, _Array]
    beta_low: NotRequired[_Array]
    loss_low: NotRequired[_Array]
    observables_low: NotRequired[dict[str, _Array]]
    multipliers_low: NotRequired[_Array]
    path_low: NotRequired[_Array]
    path: _Array
    multipliers: _Array | None
    status: str
    events: list[tuple[float, int, int, str]]
    stats: dict[str, int | float]
    interrupted: bool

__version__: str

@final
class Cancellation:
    def __new__(cls) -> Cancellation: ...
    def cancel(self) -> None: ...
    @property
    def cancelled(self) -> bool: ...
    def call(self, function: Callable[[*_Ts], _R], /, *args: *_Ts) -> _R: ...

def double_double(name: str, arguments: Sequence[_Parts]) -> _Parts: ...
def read_double_double(texts: Sequence[str]) -> _Parts: ...
def log_scaled(high: _Array, low: _Array, twos: _Array, tens: _Array) -> _Parts: ...
def log_ab_from_weights(weights: Sequence[_Parts]) -> list[_Array]: ...
def log_ab_from_scale_shape(log_scale: _Parts, shape: _Parts) -> list[_Array]: ...
def log_ab_from_kappa(
    log_kappa_high: _Array, log_kappa_low: _Array, beta0_high: _Array, beta0_low: _Array
) -> list[_Array]: ...
def diagonal_potential(beta: _Array, start: _Start) -> list[_Array]: ...
def diagonal_bregman(beta: _Array, beta0: _Array, start: _Start) -> _Array: ...
def q_diagonal(x: _Array, log_kappa: _Array) -> _Array: ...
def dq_diagonal(x: _Array, log_kappa: _Array) -> _Array: ...
def d2q_diagonal(x: _Array, log_kappa: _Array) -> _Array: ...
def q_neuron(x: _Array, delta: _Array) -> _Array: ...
def dq_neuron(x: _Array, delta: _Array) -> _Array: ...
def d2q_neuron(x: _Array, delta: _Array) -> _Array: ...
def neuron_potential(x: float, delta: float) -> tuple[float, float, float, float]: ...
def neuron_bregman(x: float, x0: float, gap: float, delta: float) -> float: ...
def diagonal_potential_double_double(what: str, beta: _Parts, start: _Start) -> _Parts: ...
def diagonal_bregman_double_double(beta: _Parts, beta0: _Parts, start: _Start) -> tuple[float, float]: ...
def neuron_potential_double_double(
    what: str, beta: _Parts, delta: tuple[float, float], linear: _Parts | None
) -> _Parts: ...
def neuron_bregman_double_double(beta: _Parts, beta0: _Parts, delta: tuple[float, float]) -> tuple[float, float]: ...
def depth_function(what: str, x: _Parts, depth: NDArray[np.uint32]) -> _Parts: ...
def depth_potential(what: str, beta: _Parts, depth: int, log_start: _Parts) -> _Parts: ...
def depth_bregman(beta: _Parts, beta0: _Parts, depth: int, log_start: _Parts) -> tuple[float, float]: ...
def depth_flow(
    X: _Array,
    y: _Array,
    depth: int,
    log_start: _Parts,
    times: _Array | None,
    time_unit: float,
    rtol: float,
    tol: float,
    method: str,
    max_steps: int | None,
    max_seconds: float | None,
    observables: Sequence[str],
    save_beta: bool,
    progress: Callable[[float, float, int, float], None] | None,
    n_jobs: int,
) -> _Flow: ...
def depth_limit(
    X: _Array, y: _Array, depth: int, log_start: _Parts, bounds: bool, tol: float, n_jobs: int
) -> _Limit: ...
def depth_check_kkt(X: _Array, y: _Array, depth: int, log_start: _Parts, beta: _Array, n_jobs: int) -> _KKT: ...
def diagonal_limit(
    X: _Array,
    y: _Array,
    start: _Start,
    bounds: bool,
    tol: float,
    n_jobs: int,
    y_low: _Array | None = None,
) -> _Limit: ...
def diagonal_limit_path(
    X: _Array,
    y: _Array,
    starts: Sequence[_Start],
    bounds: bool,
    tol: float,
    n_jobs: int,
    y_low: _Array | None = None,
) -> _LimitPath: ...
def diagonal_check_kkt(
    X: _Array,
    y: _Array,
    start: _Start,
    beta: _Array,
    n_jobs: int,
    y_low: _Array | None = None,
    beta_low: _Array | None = None,
) -> _KKT: ...
def neuron_start(
    start: tuple[_Array, _Array, float], a_low: _Array, W_low: _Array, log_magnitude_low: float
) -> _Neuron | None: ...
def neuron_start_from_scale_shape(
    orientation: _Parts, scale: tuple[float, float], is_logarithm: bool, shape: tuple[float, float]
) -> _Neuron: ...
def neuron_weights(
    orientation: _Parts, scale: tuple[float, float], shape: tuple[float, float]
) -> tuple[tuple[float, float], _Parts]: ...
def neuron_limit(X: _Array, y: _Array, y_low: _Array, start: _Neuron, sign: float, n_jobs: int) -> _NeuronLimit: ...
def neuron_check_kkt(
    X: _Array,
    y: _Array,
    y_low: _Array,
    start: _Neuron,
    sign: float,
    beta: _Array,
    beta_low: _Array,
    n_jobs: int,
) -> _NeuronReport: ...
def diagonal_error_bound(
    X: _Array,
    y: _Array,
    start: _Start,
    times: _Array,
    beta: _Array,
    time_unit: float,
    rtol: float,
    tol: float,
    max_seconds: float | None,
    n_jobs: int,
) -> _ErrorBound: ...
def diagonal_flow(
    X: _Array,
    y: _Array,
    start: _Start,
    weights: tuple[_Array, _Array, _Array, _Array, _Array] | None,
    times: _Array | None,
    time_unit: float,
    rtol: float,
    tol: float,
    method: str,
    max_steps: int | None,
    max_seconds: float | None,
    observables: list[str],
    save_beta: bool,
    progress: Callable[[float, float, int, float], None] | None,
    n_jobs: int,
    precision: str = "double",
    y_low: _Array | None = None,
) -> _Flow: ...
def diagonal_distance_bound(
    X: _Array,
    y: _Array,
    start: _Start,
    beta: _Array,
    n_jobs: int,
) -> _Array: ...
def fully_connected_flow(
    X: _Array,
    y: _Array,
    start: tuple[_Array, _Array, float],
    end: _Array | None,
    times: _Array | None,
    time_unit: float,
    rtol: float,
    tol: float,
    method: str,
    max_steps: int | None,
    max_seconds: float | None,
    observables: list[str],
    save_beta: bool,
    progress: Callable[[float, float, int, float], None] | None,
    n_jobs: int,
    precision: str = "double",
    y_low: _Array | None = None,
    start_low: tuple[_Array | None, _Array | None, float] | None = None,
) -> _Flow: ...
def fully_connected_parameters(
    X: _Array,
    y: _Array,
    start: tuple[_Array, _Array, float],
    states: _Array,
    n_jobs: int,
    precision: str = "double",
    start_low: tuple[_Array | None, _Array | None, float] | None = None,
) -> tuple[_Array, _Array]: ...
def fully_connected_reach(
    X: _Array,
    y: _Array,
    y_low: _Array,
    start: tuple[_Array, _Array, float],
    start_low: tuple[_Array | None, _Array | None, float] | None,
    beta: _Array,
    beta_low: _Array,
    n_jobs: int,
) -> _Reach: ...
def leaky_relu_flow(
    X: _Array,
    y: _Array,
    start: tuple[_Array, _Array, float],
    slope: float,
    times: _Array | None,
    time_unit: float,
    rtol: float,
    tol: float,
    method: str,
    max_steps: int | None,
    max_seconds: float | None,
    max_events: int | None,
    observables: list[str],
    end: _Array | None,
    save_beta: bool,
    progress: Callable[[float, float, int, float], None] | None,
    n_jobs: int,
    precision: str = "double",
    y_low: _Array | None = None,
    start_low: tuple[_Array | None, _Array | None, float] | None = None,
) -> _Flow: ...
def matrix_factorization_flow(
    X: _Array,
    y: _Array,
    start: tuple[_Array, tuple[int, int], bool, float],
    end: _Array | None,
    times: _Array | None,
    time_unit: float,
    rtol: float,
    tol: float,
    method: str,
    max_steps: int | None,
    max_seconds: float | None,
    observables: list[str],
    save_beta: bool,
    progress: Callable[[float, float, int, float], None] | None,
    n_jobs: int,
) -> _Flow: ...
def leaky_relu_parameters(
    X: _Array,
    y: _Array,
    start: tuple[_Array, _Array, float],
    slope: float,
    method: str,
    path: _Array,
    precision: str = "double",
    path_low: _Array | None = None,
    start_low: tuple[_Array | None, _Array | None, float] | None = None,
) -> tuple[tuple[_Array, _Array], tuple[_Array, _Array] | None]: ...
def leaky_relu_end(
    X: _Array,
    y: _Array,
    y_low: _Array,
    start: tuple[_Array, _Array, float],
    slope: float,
    path: _Array,
    path_low: _Array,
    start_low: tuple[_Array | None, _Array | None, float],
) -> tuple[_Array, float]: ...
