"""Laws of matrix factorizations: against raw factors, closed forms, the theorems of Woodworth et al. and themselves."""

import pickle

import numpy as np
import pytest

import implicit_bias as ib


def completion(seed=0, d=10, n=60, rank=1):
    """Observed entries of a random matrix of Frobenius norm d."""
    random = np.random.default_rng(seed)
    M = random.standard_normal((d, rank)) @ random.standard_normal((rank, d))
    M *= d / np.linalg.norm(M)
    rows, cols = np.divmod(random.choice(d * d, n, replace=False), d)
    seen = ib.Observations(rows, cols, (d, d))
    return seen, seen.of(M), M


def nuclear(M):
    return np.linalg.svd(M, compute_uv=False).sum()


def commuting(seed, d=5, n=3):
    """Symmetric matrices with one eigenbasis, and targets of a positive semidefinite matrix with it."""
    random = np.random.default_rng(seed)
    Q = np.linalg.qr(random.standard_normal((d, d)))[0]
    x = random.standard_normal((n, d))
    X = np.einsum("pi,ni,qi->npq", Q, x, Q)
    return 0.5 * (X + X.transpose(0, 2, 1)), Q, x, x @ np.abs(random.standard_normal(d))


# ------------------------------------------------------------------------------------------------------------ the flow


@pytest.mark.parametrize("k", [10, 50])
@pytest.mark.parametrize("symmetric", [False, True])
def test_the_lifted_flow_is_that_of_the_raw_factors(k, symmetric):
    random = np.random.default_rng(k)
    d, t = 6, [0.0, 0.1, 1.0, 10.0]
    U, V = (random.standard_normal((d, k)) / np.sqrt(k) for _ in range(2))
    X, y = random.standard_normal((8, d, d)), random.standard_normal(8)
    net = ib.MatrixFactorization.symmetric(U) if symmetric else ib.MatrixFactorization(U, V)
    raw = ib.gradient_flow(net, X, y, t, method="weights", rtol=1e-12)
    for method in ("auto", "radau", "explicit"):
        flow = ib.gradient_flow(net, X, y, t, method=method, rtol=1e-12)
        assert np.abs(flow.beta - raw.beta).max() <= 1e-10 * np.abs(raw.beta).max()
        for lifted, given in zip(flow.parameters, raw.parameters, strict=True):
            assert lifted.shape == (4, d, k)
            assert np.abs(lifted - given).max() <= 1e-10 * np.abs(given).max()


def test_the_matrix_is_a_view_of_beta_and_the_product_of_the_parameters():
    seen, y, _ = completion(1, d=4, n=9)
    net = ib.MatrixFactorization.gaussian((4, 4), width=3, std=0.3, seed=1)
    flow = ib.gradient_flow(net, seen, y, t=[0.0, 1.0, 3.0])
    assert np.shares_memory(flow.matrix, flow.beta)
    U, V = flow.parameters
    assert np.allclose(U @ V.transpose(0, 2, 1), flow.matrix, rtol=0.0, atol=1e-13 * np.abs(flow.matrix).max())
    assert np.allclose(flow.matrix[0].ravel(), net.beta0, rtol=0.0, atol=1e-14)
    with pytest.raises(ValueError, match="matrix is of a MatrixFactorization: got a DiagonalNetwork"):
        _ = ib.gradient_flow(ib.DiagonalNetwork.from_scale_shape(2, 1.0), [[1.0, 2.0]], [1.0], t=[0.0]).matrix


@pytest.mark.parametrize("method", ["auto", "radau", "weights"])
@pytest.mark.parametrize("k", [2, 30])
def test_balancedness_is_conserved(method, k):
    seen, y, _ = completion(2, d=5, n=12)
    net = ib.MatrixFactorization.gaussian((5, 5), width=k, std=0.4, seed=2)
    if k > 10:  # not thin: more columns than are integrated
        random = np.random.default_rng(3)
        net = ib.MatrixFactorization(*(random.standard_normal((5, k)) / 3.0 for _ in range(2)))
    balance = ib.gradient_flow(net, seen, y, t=[0.0, 1.0, 10.0], rtol=1e-12, method=method).conserved_quantities()
    # Each of some hundred steps adds 1e-12 of the weights.
    assert balance.drift.max() <= 1e-9
    assert np.abs(balance.delta).max() > 0.01  # there was something to conserve


def test_a_width_beyond_all_memory_is_an_ordinary_width():
    seen, y, _ = completion(3)
    for width in (20, 500_000, 10**12):
        net = ib.MatrixFactorization.gaussian((10, 10), width=width, std=width**-0.5, seed=3)
        assert net.U.size == 200
        assert net.width == width
        flow = ib.gradient_flow(net, seen, y)
        assert flow.success
        assert np.abs(seen.of(flow.matrix[-1]) - y).max() <= 1e-12 * np.abs(y).max()


def test_observations_are_the_matrices_that_they_stand_for():
    seen, y, M = completion(4, d=3, n=5)
    net = ib.MatrixFactorization.gaussian((3, 3), width=4, std=0.1, seed=4)
    flows = [ib.gradient_flow(net, X, y, t=[0.0, 5.0]).beta for X in (seen, seen.matrices())]
    assert np.array_equal(*flows)
    assert np.array_equal(np.einsum("nij,ij->n", seen.matrices(), M), y)


@pytest.mark.parametrize("log_magnitude", [0.0, -18.0, -100.0, -300.0])
def test_starts_of_every_scale_arrive(log_magnitude):
    seen, y, _ = completion(5, d=4, n=10)
    random = np.random.default_rng(5)
    U, V = random.standard_normal((2, 4, 5))
    flow = ib.gradient_flow(ib.MatrixFactorization(U, V, log_magnitude), seen, y)
    assert flow.status == "converged"
    assert np.isfinite(flow.beta).all()


def test_a_flow_pickles_and_its_bits_do_not_depend_on_the_threads():
    seen, y, _ = completion(6, d=4, n=8)
    net = ib.MatrixFactorization.gaussian((4, 4), width=100, std=0.05, seed=6)
    one, two = (ib.gradient_flow(net, seen, y, n_jobs=n) for n in (1, 2))
    assert np.array_equal(one.beta, two.beta)
    copy = pickle.loads(pickle.dumps(one))
    assert np.array_equal(copy.matrix, one.matrix)
    assert np.array_equal(copy.parameters.U, one.parameters.U)


# ------------------------------------------------------------------------------------------------------ random starts


def test_the_wishart_start_has_the_moments_of_the_factors_it_stands_for():
    # E P = k I, var P_ij = k (1 + δ_ij): of 2,000 draws the mean has a standard deviation of √(2k/2000), of which five.
    d, k, draws = 2, 9, 2000
    P = []
    for seed in range(draws):
        net = ib.MatrixFactorization.gaussian((d, d), width=k, std=1.0, seed=seed)
        Z = np.vstack([net.U, net.V])
        assert Z.shape == (2 * d, 2 * d)
        P.append(Z @ Z.T)
    P = np.array(P)
    assert np.abs(P.mean(axis=0) - k * np.eye(2 * d)).max() <= 5.0 * np.sqrt(2.0 * k / draws)
    # The variance of a sample variance of something close to normal is 2/n of its square; chi square has heavier tails.
    assert np.allclose(P.var(axis=0), k * (1.0 + np.eye(2 * d)), rtol=0.35)


def test_the_wishart_start_is_drawn_as_a_chi_square_of_k_degrees_of_freedom():
    from scipy import stats

    k = 50
    draws = [ib.MatrixFactorization.gaussian((1, 1), width=k, std=2.0, seed=seed) for seed in range(1000)]
    for corner in ([np.square(net.U).sum() / 4.0 for net in draws], [np.square(net.V).sum() / 4.0 for net in draws]):
        assert stats.kstest(corner, stats.chi2(k).cdf).pvalue > 1e-3
    # UVᵀ of two vectors: mean 0 and variance k.
    products = np.array([net.beta0[0] / 4.0 for net in draws])
    assert stats.kstest(products / np.sqrt(k), stats.norm.cdf).pvalue > 1e-3


# ------------------------------------------------------------------------------------------------------------- limits


def test_observations_that_commute_have_the_limit_of_a_diagonal_network():
    X, Q, x, y = commuting(7)
    d, a = 5, 0.03
    half = np.sqrt(a) * np.eye(d)
    zero = np.zeros((d, d))
    net = ib.MatrixFactorization(np.hstack([half, zero]), np.hstack([zero, half]))
    end = ib.limit(net, X, y)
    assert end.success
    assert end.kkt.theorem == "Woodworth et al. 2020, Theorem 4"
    # κ = 2 a: U Uᵀ = V Vᵀ = a I.
    spectrum = ib.HyperbolicEntropy(kappa=np.full(d, 2.0 * a)).interpolate(x, y).beta
    assert np.abs(end.beta.reshape(d, d) - (Q * spectrum) @ Q.T).max() <= 1e-12 * np.abs(spectrum).max()
    flow = ib.gradient_flow(net, X, y, rtol=1e-12)
    assert np.abs(flow.beta[-1] - end.beta).max() <= 1e-9 * np.abs(end.beta).max()
    assert ib.check_kkt(net, X, y, end.beta).satisfied(1e-9)
    assert not ib.check_kkt(net, X, y, end.beta + 1e-3).satisfied(1e-6)


def test_a_symmetric_factorization_of_observations_that_commute_is_one_sided():
    X, _, _, y = commuting(8)
    net = ib.MatrixFactorization.symmetric(0.1 * np.eye(5))
    end, flow = ib.limit(net, X, y), ib.gradient_flow(net, X, y, rtol=1e-12)
    assert end.kkt.theorem is not None
    assert flow.success
    assert np.abs(flow.beta[-1] - end.beta).max() <= 1e-9 * np.abs(end.beta).max()
    assert np.linalg.eigvalsh(end.beta.reshape(5, 5)).min() >= -1e-12


@pytest.mark.parametrize("size", [1e-200, 1e-3, 1e100, 1e200])
def test_limits_of_the_smallest_and_largest_starts_hold_no_nan(size):
    X, _, _, y = commuting(13)
    half, zero = size * np.eye(5), np.zeros((5, 5))
    for net in (
        ib.MatrixFactorization(np.hstack([half, zero]), np.hstack([zero, half])),
        ib.MatrixFactorization.symmetric(half),
    ):
        end = ib.limit(net, X, y)
        assert end.kkt.theorem is not None
        assert not np.isnan(end.beta).any()
        assert np.isfinite(end.beta).all() or not end.success
        assert end.success or size >= 1e100  # beyond the least scale at which binary64 sees y beside it


def test_woodworth_theorem_4_the_limit_of_infinite_width():
    # k → ∞ at α² k fixed: κ = 2 α² k. P(0) is α² k (I + O(√(d/k))), and the limit follows it.
    X, Q, x, y = commuting(9)
    for mu in (1e-3, 1.0):
        spectrum = ib.HyperbolicEntropy(kappa=np.full(5, 2.0 * mu)).interpolate(x, y).beta
        M = (Q * spectrum) @ Q.T
        off = []
        for k in (10**4, 10**8):
            net = ib.MatrixFactorization.gaussian((5, 5), width=k, std=np.sqrt(mu / k), seed=9)
            found = ib.limit(net, X, y)
            assert found.success
            assert found.kkt.theorem is None  # of a finite width the theorem does not speak
            off.append(np.linalg.norm(found.beta.reshape(5, 5) - M) / np.linalg.norm(M))
        assert off[1] <= 20.0 * np.sqrt(5 / 10**8)
        assert off[1] <= 0.1 * off[0]


def test_no_theorem_is_an_error_of_check_kkt_and_of_the_potential():
    seen, y, M = completion(10, d=3, n=5)
    net = ib.MatrixFactorization.gaussian((3, 3), width=6, std=0.1, seed=1)
    with pytest.raises(ValueError, match="X must be symmetric matrices that commute"):
        ib.check_kkt(net, seen, y, M.ravel())
    for ask in (net.potential, lambda: ib.gradient_flow(net, seen, y, observables=["potential"])):
        with pytest.raises(ValueError, match="no theorem gives one"):
            ask()
    end = ib.limit(net, seen, y)
    assert end.success
    assert (end.multipliers, end.potential_value, end.kkt.theorem) == (None, None, None)


# -------------------------------------------------------------------------------------------------------- nuclear norm


@pytest.mark.parametrize("seed", range(4))
def test_the_least_nuclear_norm_is_proven_by_its_multipliers(seed):
    random = np.random.default_rng(seed)
    seen, y, M = completion(seed, d=6, n=20)
    for X, target in ((seen, y), (random.standard_normal((4, 3, 5)), 1e6 * random.standard_normal(4))):
        found = ib.baselines.min_nuclear_norm(X, target)
        matrices = X.matrices() if isinstance(X, ib.Observations) else X
        assert np.abs(np.einsum("nij,ij->n", matrices, found.matrix) - target).max() <= 1e-12 * np.abs(target).max()
        assert np.linalg.norm(np.tensordot(found.multipliers, matrices, axes=1), 2) <= 1.0
        assert found.value == pytest.approx(nuclear(found.matrix), rel=1e-14)
        assert found.gap == pytest.approx(found.value - found.multipliers @ target, abs=1e-12 * found.value)
        # The lower bound holds of every matrix that fits; the program stops at 1e-10 of a program of size one.
        assert -1e-13 * found.value <= found.gap <= 1e-6 * found.value
    assert ib.baselines.min_nuclear_norm(seen, seen.of(M)).value <= nuclear(M) * (1.0 + 1e-7)


def test_the_least_nuclear_norm_of_commuting_observations_is_that_of_their_eigenvalues():
    X, _, x, y = commuting(12)
    l1 = np.abs(ib.baselines.basis_pursuit(x, y)).sum()
    assert ib.baselines.min_nuclear_norm(X, y).value == pytest.approx(l1, rel=1e-7)
    # [W] Theorem 4, the rich end: κ → 0.
    a = 1e-150
    half, zero = a * np.eye(5), np.zeros((5, 5))
    end = ib.limit(ib.MatrixFactorization(np.hstack([half, zero]), np.hstack([zero, half])), X, y)
    # The excess over ℓ1 is O(1/ln(1/κ)), 1/690 here, and vanishes far faster for unique vertices.
    assert nuclear(end.beta.reshape(5, 5)) == pytest.approx(l1, rel=2e-3)


def test_targets_that_no_matrix_fits_have_no_nuclear_norm():
    seen = ib.Observations([0, 0], [0, 0], (2, 2))
    with pytest.raises(ValueError, match="y must be in the range of X"):
        ib.baselines.min_nuclear_norm(seen, [1.0, 2.0])
    assert ib.baselines.min_nuclear_norm(seen, [0.0, 0.0]).value == 0.0


# ---------------------------------------------------------------------------------------------- kernel and rich regimes


def test_the_transition_of_matrix_completion_is_at_alpha_squared_k_of_one():
    # The grid of [W], figure 4: d = 10, rank 1, 60 observed entries. Excess nuclear norm of what has been learned over
    # the least one, and how far the entries have moved that nobody observes.
    seen, y, M = completion(11)
    least = ib.baselines.min_nuclear_norm(seen, y).value
    hidden = np.ones((10, 10), dtype=bool)
    hidden[seen.rows, seen.cols] = False
    rich, kernel, between = [], [], []
    for alpha_squared in (1e-2, 2.5e-3, 1e-4, 1e-6, 1e-8):
        for k in np.geomspace(10, 500_000, 11).round().astype(int):
            net = ib.MatrixFactorization.gaussian((10, 10), width=k, std=np.sqrt(alpha_squared), seed=k)
            flow = ib.gradient_flow(net, seen, y, t=None, n_jobs=1)
            assert flow.status == "converged"
            learned = flow.matrix[-1] - flow.matrix[0]
            excess = nuclear(learned) / least - 1.0
            moved = np.linalg.norm(learned[hidden]) / np.linalg.norm(M[hidden])
            product = alpha_squared * k
            (rich if product < 1e-2 else kernel if product > 10.0 else between).append((product, excess, moved))
    (_, excess, moved), (_, kernel_excess, kernel_moved) = np.transpose(rich), np.transpose(kernel)
    # Measured: excess 0.0004 to 0.007 and 0.86 to 1.00 moved; excess 0.44 to 12 and 0.002 to 0.04 moved.
    assert excess.max() < 0.02
    assert moved.min() > 0.8
    assert kernel_excess.min() > 0.4
    assert kernel_moved.max() < 0.06
    # Between them both fall from one to the other with α²k alone, up to the scatter of single draws.
    product, excess, moved = np.transpose(sorted(between))
    assert np.corrcoef(np.log(product), excess)[0, 1] > 0.9
    assert np.corrcoef(np.log(product), moved)[0, 1] < -0.9


def wide(seed, mu, off):
    """Orthonormal symmetric observations of a start W W^T near μ I, and targets near the edge of what [W] allows."""
    random = np.random.default_rng(seed)
    d, n, k = 4, 5, 12
    symmetric = random.standard_normal((n, d, d))
    flat = np.linalg.qr((symmetric + symmetric.transpose(0, 2, 1)).reshape(n, -1).T)[0].T
    X = flat.reshape(n, d, d)
    W = np.sqrt(mu) * np.linalg.qr(random.standard_normal((k, d)))[0].T
    W = W + off * np.sqrt(mu) * random.standard_normal((d, k))
    gamma = np.linalg.norm(W @ W.T - mu * np.eye(d), 2)
    # λ = Λ = 1: the rows are orthonormal.
    assert mu > 4.0 * gamma
    reach = mu * (1.0 - np.sqrt((1.0 + gamma / mu) / 1.25))
    assert reach > 0.0
    direction = random.standard_normal(n)
    gap = 0.99 * reach * direction / np.linalg.norm(direction)
    return X, W, np.einsum("nij,ij->n", X, W @ W.T) + gap, np.linalg.norm(gap), gamma


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mu", [0.1, 10.0])
@pytest.mark.parametrize("off", [0.0, 1e-3])
def test_woodworth_bounds_of_wide_factorizations_in_the_kernel_regime(seed, mu, off):
    X, W, y, gap, gamma = wide(seed, mu, off)
    flow = ib.gradient_flow(ib.MatrixFactorization.symmetric(W), X, y)
    assert flow.success
    path = flow.parameters.U
    moved = np.linalg.norm(path - W, axis=(1, 2))
    # (λ = Λ = 1 in the constants of the statement; neither the clock nor the factor of the loss enters a supremum.)
    assert 0.0 < moved.max() <= np.sqrt(1.25) * gap / np.sqrt(mu)
    # The linearised model at the same times: r' = −K r/N, W = W₀ + Σ c_n ∂f_n, K c = r(0) − r.
    features = 2.0 * X @ W
    K = np.einsum("nik,mik->nm", features, features)
    values, vectors = np.linalg.eigh(K)
    r = vectors.T @ (y - np.einsum("nij,ij->n", X, W @ W.T))
    c = (-np.expm1(-np.outer(flow.t, values) / y.size) / values * r) @ vectors.T
    tangent = W + np.einsum("tn,nik->tik", c, features)
    distance = np.linalg.norm(path - tangent, axis=(1, 2)).max()
    bound = np.sqrt(1.25) * gap**2 / mu**1.5 + 2.0 * np.sqrt(1.0 + gamma / mu) * gap / np.sqrt(mu)
    assert 0.0 < distance <= bound


# ------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ib.MatrixFactorization([[1.0]], [[1.0, 2.0]]), "V must have 1 columns, as U has: got 2"),
        (lambda: ib.MatrixFactorization([1.0]), r"U must be an array of shape \(n_rows, width\): got shape \(1,\)"),
        (lambda: ib.MatrixFactorization([[np.nan]]), "U must be finite"),
        (lambda: ib.MatrixFactorization.symmetric([[np.inf]]), "W must be finite"),
        (lambda: ib.MatrixFactorization.gaussian((2, 3), 1, 1.0, symmetric=True), "shape must be square"),
        (lambda: ib.MatrixFactorization.gaussian(2, 1, 1.0), "shape must be two positive integers: got 2"),
        (lambda: ib.MatrixFactorization.gaussian((2, 2), 0, 1.0), "width must be an integer of at least 1: got 0"),
        (lambda: ib.MatrixFactorization.gaussian((2, 2), 1, -1.0), "std must be a positive finite number: got -1.0"),
        (lambda: ib.Observations([0], [2], (2, 2)), r"cols must be integers in \[0, 2\): got 2"),
        (lambda: ib.Observations([0.5], [0], (2, 2)), r"rows must be integers in \[0, 2\): got 0.5"),
        (lambda: ib.Observations([0, 1], [0], (2, 2)), "cols must have length 2, one for every row: got 1"),
        (lambda: ib.Observations([0], [0], (2, 2)).of([[1.0]]), r"M must be of shape \(2, 2\): got \(1, 1\)"),
    ],
)
def test_a_bad_argument_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_observations_of_another_matrix_are_refused():
    net = ib.MatrixFactorization.gaussian((2, 2), 3, 1.0, seed=0)
    with pytest.raises(ValueError, match=r"X must be observations of a matrix of shape \(2, 2\): got \(3, 2\)"):
        ib.gradient_flow(net, ib.Observations([0], [0], (3, 2)), [1.0])
    with pytest.raises(ValueError, match=r"X must be of shape \(n_samples, 2, 2\): got \(1, 2, 3\)"):
        ib.gradient_flow(net, np.ones((1, 2, 3)), [1.0])
    with pytest.raises(ValueError, match="conserved_quantities\\(\\) needs two factors"):
        ib.gradient_flow(
            ib.MatrixFactorization.symmetric([[1.0]]), [[[1.0]]], [2.0], t=[0.0, 1.0]
        ).conserved_quantities()
