"""Tangent kernels: against gradients by complex steps, the linearised flow, and the two regimes of the papers."""

import numpy as np
import pytest
import scipy.linalg
from numpy.typing import NDArray

import implicit_bias as ib
from implicit_bias._network import Network

Array = NDArray[np.float64]

N, D, M = 4, 6, 3


def data(seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((N, D)), rng.standard_normal(N)


def networks(seed: int = 1) -> list[Network]:
    rng = np.random.default_rng(seed)
    four = [rng.standard_normal(D) for _ in range(4)]
    a, W = rng.standard_normal(M), rng.standard_normal((M, D))
    U, V = rng.standard_normal((2, M)), rng.standard_normal((3, M))
    return [
        ib.DiagonalNetwork(*four),
        ib.FullyConnectedNetwork(a, W),
        ib.LeakyReLUNetwork(a, W, slope=0.3),
        ib.DeepDiagonalNetwork.from_scale(D, 3, scale=0.5, weights=np.exp(rng.uniform(-0.5, 0.5, D))),
        ib.MatrixFactorization(U, V),
        # Wider than its rows together.
        ib.MatrixFactorization(rng.standard_normal((2, 8)), rng.standard_normal((3, 8))),
    ]


def outputs(net: Network, X: Array, weights: list[NDArray[np.complex128]]) -> NDArray[np.complex128]:
    """f(x) from its definition, for complex weights."""
    if isinstance(net, ib.DiagonalNetwork):
        u_plus, v_plus, u_minus, v_minus = weights
        return X @ (u_plus * v_plus - u_minus * v_minus)
    if isinstance(net, ib.DeepDiagonalNetwork):
        return X @ (weights[0] ** net.depth - weights[1] ** net.depth)
    if isinstance(net, ib.MatrixFactorization):
        return X @ (weights[0] @ weights[1].T).ravel()
    a, W = weights
    inputs = X @ W.T
    slope = getattr(net, "slope", 1.0)
    return np.where(inputs.real >= 0.0, inputs, slope * inputs) @ a


def gradients(net: Network, X: Array, weights: list[Array]) -> Array:
    """∂f/∂θ, (N, number of weights), by complex steps: exact to rounding."""
    columns = []
    for k, group in enumerate(weights):
        for i in np.ndindex(group.shape):
            moved = [g.astype(complex) for g in weights]
            moved[k][i] += 1e-30j
            columns.append(outputs(net, X, moved).imag / 1e-30)
    return np.array(columns).T


def weights_of(net: Network) -> list[Array]:
    if isinstance(net, ib.DeepDiagonalNetwork):
        return [net.scale * net.weights] * 2
    names = {ib.DiagonalNetwork: ("u_plus", "v_plus", "u_minus", "v_minus"), ib.MatrixFactorization: ("U", "V")}
    return [getattr(net, name) for name in names.get(type(net), ("a", "W"))]


@pytest.mark.parametrize("net", networks(), ids=repr)
def test_the_kernel_is_the_product_of_the_gradients(net: Network) -> None:
    X, _ = data()
    J = gradients(net, X, weights_of(net))
    # A few dozen roundings of terms no larger than the diagonal.
    assert np.abs(ib.tangent_kernel(net, X) - J @ J.T).max() <= 1e-14 * np.abs(J @ J.T).max()


@pytest.mark.parametrize("net", networks(), ids=repr)
def test_the_kernel_at_other_weights_is_that_of_a_network_with_these_weights_at_every_time(net: Network) -> None:
    X, y = data()
    flow = ib.gradient_flow(net, X, y, t=[0.0, 0.5, 2.0])
    kernels = ib.tangent_kernel(net, X, flow.parameters)
    assert kernels.shape == (3, N, N)
    for k, kernel in enumerate(kernels):
        row = [group[k] for group in flow.parameters]
        J = gradients(net, X, row)
        assert np.abs(kernel - J @ J.T).max() <= 1e-14 * np.abs(kernel).max()
        assert np.array_equal(ib.tangent_kernel(net, X, row), kernel)


@pytest.mark.parametrize("net", networks(), ids=repr)
def test_the_kernel_limit_is_the_end_of_the_linearised_flow(net: Network) -> None:
    X, y = data()
    rng = np.random.default_rng(2)
    new = rng.standard_normal((5, D))
    weights = weights_of(net)
    J, J_new = gradients(net, X, weights), gradients(net, new, weights)
    start, start_new = (outputs(net, Z, [w.astype(complex) for w in weights]).real for Z in (X, new))
    # θ' = Jᵀ(y − f₀ − Jθ)/N, by the exponential of its matrix, until e^{−Kt/N} is below rounding.
    K = J @ J.T / N
    t = 40.0 / np.linalg.eigvalsh(K)[0]
    moved = np.linalg.solve(K, (np.eye(N) - scipy.linalg.expm(-K * t)) @ (y - start) / N)
    expected = start_new + J_new @ (J.T @ moved)
    found = ib.kernel_limit(net, X, y)
    # Solved with K or with its root: cond(K) roundings at most.
    tol = 100.0 * np.finfo(float).eps * np.linalg.cond(K) * np.abs(expected).max()
    assert np.abs(found.predict(new) - expected).max() <= tol
    assert np.abs(found.residual).max() <= tol
    assert (found.beta is None) == isinstance(net, ib.LeakyReLUNetwork)


def test_the_kernel_limit_is_the_limit_of_ever_larger_starts() -> None:
    X, y = data(3)
    rng = np.random.default_rng(4)
    spread = np.exp(rng.uniform(-1.0, 1.0, D))
    errors = []
    for log_scale in (5.0, 7.5, 10.0):
        net = ib.DiagonalNetwork.from_scale_shape(D, log_scale=log_scale + np.log(spread), shape=0.2)
        errors.append(np.abs(ib.limit(net, X, y).beta - ib.kernel_limit(net, X, y).beta).max())
    # arcsinh(x) = x − x³/6 …: the difference goes down with the square of the scale.
    assert errors[1] < 0.01 * errors[0]
    assert errors[2] < 0.01 * errors[1] + 1e-13


def test_the_kernel_limit_does_not_know_the_scale_of_an_unbiased_start() -> None:
    X, y = data()
    far = [ib.kernel_limit(ib.DiagonalNetwork.from_scale_shape(D, log_scale=s), X, y).beta for s in (-1e9, 0.0, 1e9)]
    assert np.array_equal(far[0], far[1])
    assert np.array_equal(far[1], far[2])
    assert np.abs(far[0] - ib.baselines.min_l2_norm(X, y)).max() <= 1e-14 * np.abs(far[0]).max()


def test_kernels_stay_in_the_kernel_regime_and_turn_in_the_rich_one() -> None:
    X, y = data()
    distances, movements = [], []
    for scale in (1e4, 1.0, 1e-4):
        flow = ib.gradient_flow(ib.DiagonalNetwork.from_scale_shape(D, scale=scale), X, y)
        distance, movement = ib.kernel_distance(flow), ib.parameter_movement(flow)
        assert distance[0] == 0.0
        assert movement[0] == 0.0
        assert ((distance >= 0.0) & (distance <= 1.0)).all()
        distances.append(distance[-1])
        movements.append(movement[-1])
    # |θ(t) − θ(0)|/|θ(0)| ≈ |Xᵀν| and the angle of the kernels is of the same order: its cosine misses 1 by the square.
    assert distances[0] < 1e-6
    assert movements[0] < 1e-2
    assert distances[0] < distances[1] < distances[2]
    assert movements[0] < movements[1] < movements[2]
    assert distances[2] > 0.1


def test_the_distance_is_one_minus_the_cosine_of_the_kernels_at_the_same_data() -> None:
    X, y = data()
    new = np.random.default_rng(5).standard_normal((7, D))
    for net in networks():
        flow = ib.gradient_flow(net, X, y, t=[0.0, 0.3, 1.0])
        kernels = ib.tangent_kernel(net, new, flow.parameters)
        cosines = [np.sum(K * kernels[0]) / np.linalg.norm(K) / np.linalg.norm(kernels[0]) for K in kernels]
        assert np.abs(ib.kernel_distance(flow, new) - (1.0 - np.array(cosines))).max() <= 1e-14


def test_tiny_starts_have_their_kernels_as_long_as_their_weights_are_floats() -> None:
    X, y = data()
    ordinary = ib.gradient_flow(ib.DiagonalNetwork.from_scale_shape(D, scale=1e-4), X, y)
    tiny = ib.gradient_flow(ib.DiagonalNetwork.from_scale_shape(D, log_scale=-1000.0), X, y)
    assert ib.kernel_distance(tiny)[-1] > 0.5 * ib.kernel_distance(ordinary)[-1]
    none = ib.gradient_flow(ib.DiagonalNetwork.from_scale_shape(D, log_scale=-1e5), X, y)
    with pytest.raises(ValueError, match=r"flow must have kernels that are floats at every time"):
        ib.kernel_distance(none)


def test_dependent_rows_are_fitted_as_well_as_they_can_be() -> None:
    X, y = data()
    twice, targets = np.vstack([X, X[:1]]), np.append(y, y[0] + 2.0)
    for net in networks():
        once = ib.kernel_limit(net, X, np.append(y[0] + 1.0, y[1:]))
        found = ib.kernel_limit(net, twice, targets)
        assert np.abs(found.predict(X) - once.predict(X)).max() <= 1e-11
        assert np.abs(found.residual[[0, -1]] - [-1.0, 1.0]).max() <= 1e-11


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda net, X, y: ib.tangent_kernel(3, X), r"net must be a network.*: got 3"),
        (lambda net, X, y: ib.tangent_kernel(net, X[:, :2]), r"X must have 6 columns.*: got 2"),
        (lambda net, X, y: ib.tangent_kernel(net, X, [y]), r"parameters must be 4 arrays.*: got 1"),
        (
            lambda net, X, y: ib.tangent_kernel(net, X, [y] * 4),
            r"parameters must have arrays of shape \(6,\).*\(1, 4\)",
        ),
        (lambda net, X, y: ib.kernel_limit(net, X, y[:2]), r"y must have length 4.*: got 2"),
        (
            lambda net, X, y: ib.kernel_limit(ib.DiagonalNetwork(*[np.zeros(D)] * 4), X, y),
            r"net must have a weight that is not 0",
        ),
        (
            lambda net, X, y: ib.kernel_distance(ib.gradient_flow(net, X, y, save_beta=False)),
            r"parameters needs every row of beta",
        ),
    ],
)
def test_bad_input_is_named(call, message: str) -> None:  # type: ignore[no-untyped-def]
    X, y = data()
    with pytest.raises(ValueError, match=message):
        call(networks()[0], X, y)
