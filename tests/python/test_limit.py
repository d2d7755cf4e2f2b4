"""The limit at every scale and for every kind of data: it succeeds, it interpolates, and it says what it cost."""

import math
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog, nnls

import implicit_bias as ib
import reference
from hard_cases import LOG_KAPPAS, hard_cases
from random_problems import random_problem

LOG_4 = math.log(4)
EPS = 2.0**-52
U = 2.0**-53


def at_kappa(n_features, log_kappa):
    """The unbiased start with this ln kappa: kappa = 4 scale at shape 0."""
    return ib.DiagonalNetwork.from_scale_shape(n_features, log_scale=log_kappa - LOG_4)


def residual(X, y, beta):
    """y - X beta without accumulated rounding: the products are off by u|X||beta|, their sum is exact."""
    products = X * beta
    return np.array([math.fsum([t, *-row]) for t, row in zip(y, products, strict=True)])


# --------------------------------------------------------------------------------------- a hundred samples, any scale


@pytest.fixture(scope="module", params=["with noise", "exactly sparse"])
def large_data(request):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 1000))
    noise = 0.1 if request.param == "with noise" else 0.0
    return X, X[:, :5] @ np.full(5, 5**-0.5) + noise * rng.standard_normal(100)


@pytest.mark.parametrize("log_kappa", [3.0, -10.0, -27.0, -60.0, -230.0, -690.0, -5000.0, -230258.0])
def test_at_most_25_systems_and_a_residual_of_1e_minus_12_at_every_scale(large_data, log_kappa):
    X, y = large_data
    limit = ib.limit(at_kappa(1000, log_kappa), X, y)
    assert limit.success, limit.message
    assert limit.n_iter <= 25
    assert np.abs(residual(X, y, limit.beta)).max() <= 1e-12 * np.abs(y).max()


def test_the_limit_moves_from_least_l2_to_least_l1_and_never_below(large_data):
    X, y = large_data
    l1 = [np.abs(ib.limit(at_kappa(1000, k), X, y).beta).sum() for k in (10.0, 0.0, -10.0, -60.0, -690.0, -230258.0)]
    assert all(later <= earlier * (1 + 1e-12) for earlier, later in pairwise(l1))
    # an independent certificate of the end: any u with |X^T u| <= 1 gives y.u <= min l1. The multipliers are one,
    # since |2 X^T nu| = asinh(2|beta|/kappa) <= ln(1/kappa) + ln(4 max|beta|) + 1.
    end = ib.limit(at_kappa(1000, -230258.0), X, y)
    u = end.multipliers / np.abs(X.T @ end.multipliers).max()
    assert y @ u <= l1[-1] * (1 + 1e-9)
    assert l1[-1] <= y @ u * (1 + 1e-3)  # the dual point is ln(4 max|beta|)/230258 away from the optimal one


# ------------------------------------------------------------------------------------------------------- hard cases


def numerical_rank(X):
    """Rank with rows of size one, by the rule of the theory: singular values above max(N, d) eps sigma_max."""
    sizes = np.abs(X).max(axis=1, keepdims=True)
    return np.linalg.matrix_rank(X / np.where(sizes > 0, sizes, 1.0), tol=None)


def allowed_residual(X, y, beta, log_kappa, condition):
    """Largest |y - X beta| in units in which every row of X has size one."""
    sizes = np.abs(X).max(axis=1)
    rounding = (np.abs(X) @ np.abs(beta) / sizes).max()
    allowed = max(1e-12 * np.abs(y / sizes).max(), 8 * U * rounding)
    if condition > 1e6:
        # Nearly dependent rows: a residual along their difference asks for multipliers 1/U of the others, and what is
        # left is a few roundings of exponents of size |ln kappa|. The status must say so (roundoff_floor).
        allowed = max(allowed, 16 * U * max(1.0, abs(log_kappa)) * rounding)
    return allowed


@pytest.mark.parametrize("seed", range(5))
def test_every_hard_case_succeeds_within_sixty_systems(seed):
    failed = []
    for name, X, y in hard_cases(seed):
        sizes = np.abs(X).max(axis=1)
        condition = np.linalg.cond(X / sizes[:, None])
        assert numerical_rank(X) == len(y)  # so none of them may be called a least-squares problem
        for log_kappa in LOG_KAPPAS:
            limit = ib.limit(at_kappa(X.shape[1], log_kappa), X, y, bounds=False)
            left = (np.abs(residual(X, y, limit.beta)) / sizes).max()
            on_time = limit.success and limit.n_iter <= 60
            honest = limit.status == "converged" or (limit.status == "roundoff_floor" and condition > 1e6)
            if not (on_time and honest and left <= allowed_residual(X, y, limit.beta, log_kappa, condition)):
                failed.append((name, log_kappa, str(limit.status), limit.n_iter, left))
    assert failed == []


@pytest.mark.parametrize("seed", range(0, 320, 8))
def test_the_limit_has_eleven_digits_of_the_truth(seed):
    problem = random_problem(seed)  # multiples of 8: gaussian data, every kind of start
    limit = ib.limit(problem.network(), problem.X, problem.y)
    assert limit.success, limit.message
    assert reference.relative_error(limit.beta, problem.truth.beta) <= 1e-11
    assert float(limit.potential_value) == pytest.approx(float(problem.truth.potential), rel=1e-11)


# --------------------------------------------------------------------------------------------- unusual shapes of data


def test_one_sample_and_one_feature():
    limit = ib.limit(at_kappa(1, -50.0), [[2.0]], [3.0])
    assert limit.beta == pytest.approx([1.5], rel=1e-15)
    # nu x = q'(beta) = arcsinh(2 beta/kappa)/2
    assert limit.multipliers[0] * 2 == pytest.approx(0.5 * np.arcsinh(3.0 * math.exp(50.0)), rel=1e-14)


def test_as_many_samples_as_features_leave_nothing_to_the_start():
    rng = np.random.default_rng(3)
    X, beta = rng.standard_normal((6, 6)), rng.standard_normal(6)
    expected = np.linalg.solve(X, X @ beta)
    for log_kappa in (5.0, -20.0, -2000.0):
        found = ib.limit(at_kappa(6, log_kappa), X, X @ beta).beta
        np.testing.assert_allclose(found, expected, atol=1e3 * U * np.linalg.cond(X) * np.abs(beta).max(), rtol=0)


@pytest.mark.parametrize("log_kappa", [3.0, -20.0, -690.0])
def test_more_samples_than_features_end_in_least_squares(log_kappa):
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((20, 5)), rng.standard_normal(20)
    limit = ib.limit(at_kappa(5, log_kappa), X, y)
    assert limit.success
    assert limit.status == "least_squares"
    expected = np.linalg.lstsq(X, y, rcond=None)[0]
    np.testing.assert_allclose(limit.beta, expected, atol=1e3 * U * np.linalg.cond(X) * np.abs(expected).max(), rtol=0)
    assert limit.kkt.feasibility <= 1e-12  # measured on the projected y
    assert limit.multipliers.shape == (20,)


def test_dependent_rows_change_nothing():
    # A sample that is twice another: same least-squares set, same minimiser, and the minimum-norm multipliers.
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((4, 12)), rng.standard_normal(4)
    stacked, targets = np.vstack([X, 2 * X[1]]), np.append(y, 2 * y[1])
    for log_kappa in (3.0, -27.0, -690.0):
        alone, doubled = ib.limit(at_kappa(12, log_kappa), X, y), ib.limit(at_kappa(12, log_kappa), stacked, targets)
        assert doubled.success
        np.testing.assert_allclose(doubled.beta, alone.beta, atol=1e-11 * np.abs(alone.beta).max(), rtol=0)
        nu = doubled.multipliers
        assert nu[4] == pytest.approx(2 * nu[1], rel=1e-9)  # orthogonal to the null vector (0, 2, 0, 0, -1) of X^T
        np.testing.assert_allclose(stacked.T @ nu, X.T @ alone.multipliers, rtol=1e-9, atol=1e-9 * np.abs(nu).max())


def test_inconsistent_targets_are_projected():
    # The flow sees X^T r only, so y outside the range of X acts through its projection.
    rng = np.random.default_rng(6)
    X = rng.standard_normal((3, 8))
    stacked = np.vstack([X, X[0] + X[2]])
    y = rng.standard_normal(4)
    projected = y - (n := np.array([1.0, 0.0, 1.0, -1.0])) * (n @ y) / 3
    for log_kappa in (3.0, -27.0, -690.0):
        limit = ib.limit(at_kappa(8, log_kappa), stacked, y)
        assert limit.success
        assert limit.status == "least_squares"
        expected = ib.limit(at_kappa(8, log_kappa), X, projected[:3]).beta
        np.testing.assert_allclose(limit.beta, expected, atol=1e-11 * np.abs(expected).max(), rtol=0)
        assert limit.kkt.feasibility <= 1e-12


def test_zero_targets_keep_an_unbiased_start_at_zero():
    rng = np.random.default_rng(7)
    limit = ib.limit(at_kappa(9, -40.0), rng.standard_normal((4, 9)), np.zeros(4), bounds=False)
    assert limit.success
    assert limit.n_iter == 0  # with bounds, the factorization of their kernel is one
    np.testing.assert_array_equal(limit.beta, 0.0)
    np.testing.assert_array_equal(limit.multipliers, 0.0)
    assert limit.potential_value == 0.0


def test_a_start_that_interpolates_stays():
    rng = np.random.default_rng(8)
    X, weights = rng.standard_normal((3, 7)), rng.uniform(0.5, 1.5, (4, 7))
    net = ib.DiagonalNetwork(*weights)
    beta0 = weights[0] * weights[1] - weights[2] * weights[3]
    limit = ib.limit(net, X, X @ beta0)
    np.testing.assert_allclose(limit.beta, beta0, atol=20 * U * np.abs(beta0).max(), rtol=0)
    assert 0 <= limit.potential_value <= 1e-28 * np.abs(weights).max() ** 2  # quadratic in the distance


def test_zero_rows_and_zero_columns_are_harmless():
    rng = np.random.default_rng(9)
    X, y = rng.standard_normal((3, 8)), rng.standard_normal(3)
    padded = np.zeros((4, 9))
    padded[:3, :8] = X
    found = ib.limit(at_kappa(9, -30.0), padded, np.append(y, 0.0))
    expected = ib.limit(at_kappa(8, -30.0), X, y)
    assert found.success
    np.testing.assert_allclose(found.beta[:8], expected.beta, atol=1e-12 * np.abs(expected.beta).max(), rtol=0)
    assert found.beta[8] == 0.0


# ------------------------------------------------------------------------------------------ coordinates of one sign


def one_sided(signs, log_magnitude=0.0):
    """u+ = v+ keeps beta_i >= 0, u+ = -v+ keeps beta_i <= 0; u- = v- = 0 here."""
    d = len(signs)
    u = np.full(d, 0.5)
    return ib.DiagonalNetwork(u, u * np.asarray(signs, float), np.zeros(d), np.zeros(d), log_magnitude=log_magnitude)


@pytest.mark.parametrize("log_magnitude", [0.0, -15.0, -345.0, -100000.0])
def test_one_sided_starts_reach_feasible_data_with_their_sign(log_magnitude):
    rng = np.random.default_rng(10)
    X, signs = rng.standard_normal((4, 10)), rng.choice([-1.0, 1.0], 10)
    y = X @ (signs * rng.uniform(0.5, 1.5, 10))
    limit = ib.limit(one_sided(signs, log_magnitude), X, y)
    assert limit.status == "converged"
    assert (limit.beta * signs >= 0).all()
    assert np.abs(residual(X, y, limit.beta)).max() <= 1e-12 * np.abs(y).max()
    if log_magnitude == -100000.0:  # min sum |beta_i| under the signs: a linear program
        program = linprog(np.ones(10), A_eq=X * signs, b_eq=y, bounds=(0, None), method="highs")
        assert np.abs(limit.beta).sum() == pytest.approx(program.fun, rel=1e-6)


@pytest.mark.parametrize("log_magnitude", [0.0, -15.0, -345.0])
def test_data_that_need_the_other_sign_end_in_constrained_least_squares(log_magnitude):
    rng = np.random.default_rng(11)
    X = np.abs(rng.standard_normal((3, 6)))
    y = np.array([1.0, 0.5, -2.0])  # X >= 0 and beta >= 0 cannot make a negative target
    limit = ib.limit(one_sided(np.ones(6), log_magnitude), X, y)
    assert limit.success
    assert limit.status == "infeasible_sign"
    expected, norm = nnls(X, y)
    assert (limit.beta >= 0).all()
    # the fitted values are unique (a projection onto a convex cone), the coefficients need not be; the flow only gets
    # there as 1/t, so the zero coordinates are those of the limit, and 1e-8 allows a solver that stops at the gradient
    np.testing.assert_allclose(X @ limit.beta, X @ expected, atol=1e-8 * norm, rtol=0)


# ------------------------------------------------------------------------------------------------- the limiting cases


def test_a_vanishing_scale_ends_in_basis_pursuit():
    rng = np.random.default_rng(12)
    X, y = rng.standard_normal((8, 40)), rng.standard_normal(8)
    program = linprog(np.ones(80), A_eq=np.hstack([X, -X]), b_eq=y, bounds=(0, None), method="highs")
    limit = ib.limit(at_kappa(40, -230258.0), X, y)
    assert np.abs(limit.beta).sum() == pytest.approx(program.fun, rel=1e-7)  # HiGHS: 1e-7 feasibility
    np.testing.assert_allclose(
        limit.beta, program.x[:40] - program.x[40:], atol=1e-6 * np.abs(limit.beta).max(), rtol=0
    )


def test_a_large_scale_ends_in_weighted_least_l2():
    # Q -> sum beta_i^2/(2 kappa_i) with a relative error (beta/kappa)^2/3, so weights kappa_i and 1e-16 at 1e8.
    rng = np.random.default_rng(13)
    X, y, weights = rng.standard_normal((5, 20)), rng.standard_normal(5), 10.0 ** rng.uniform(0, 2, 20)
    limit = ib.limit(ib.DiagonalNetwork.from_scale_shape(20, scale=1e8 * weights), X, y)
    expected = weights * (X.T @ np.linalg.solve((X * weights) @ X.T, y))
    np.testing.assert_allclose(limit.beta, expected, atol=1e-12 * np.abs(expected).max(), rtol=0)


@pytest.mark.parametrize("accuracy", [0.1, 0.5, 2.0])
def test_the_bounds_of_woodworth_theorem_2_hold(accuracy):
    # alpha of the tied network w+^2 - w-^2 with all-ones weights: kappa = 4 alpha^2, so scale = alpha^2 at shape 0.
    rng = np.random.default_rng(14)
    X, y, d = rng.standard_normal((4, 12)), rng.standard_normal(4), 12
    l1 = linprog(np.ones(2 * d), A_eq=np.hstack([X, -X]), b_eq=y, bounds=(0, None), method="highs").fun
    l2 = np.linalg.norm(np.linalg.lstsq(X, y, rcond=None)[0])
    power = -(2 + accuracy) / (2 * accuracy)
    log_alpha = min(power * math.log(2 * (1 + accuracy) * l1), -d / (accuracy * l1))
    rich = ib.limit(ib.DiagonalNetwork.from_scale_shape(d, log_scale=2 * log_alpha), X, y)
    assert l1 * (1 - 1e-7) <= np.abs(rich.beta).sum() <= (1 + accuracy) * l1
    scale = 2 * (1 + accuracy) * (1 + 2 / accuracy) * l2
    kernel = ib.limit(ib.DiagonalNetwork.from_scale_shape(d, scale=scale), X, y)
    assert l2**2 * (1 - 1e-12) <= np.linalg.norm(kernel.beta) ** 2 <= (1 + accuracy) * l2**2


def test_only_kappa_matters_not_how_scale_and_shape_make_it():
    rng = np.random.default_rng(15)
    X, y, shape = rng.standard_normal((5, 15)), rng.standard_normal(5), 0.9
    factor = (1 + shape**2) / (1 - shape**2)
    plain = ib.limit(ib.DiagonalNetwork.from_scale_shape(15, scale=1e-6 * factor), X, y)
    for sign in (-1, 1):
        shaped = ib.limit(ib.DiagonalNetwork.from_scale_shape(15, scale=1e-6, shape=sign * shape), X, y)
        np.testing.assert_allclose(shaped.beta, plain.beta, atol=1e-14 * np.abs(plain.beta).max(), rtol=0)


# ------------------------------------------------------------------------------------------------------ paths, threads


def test_a_path_is_its_limits_one_by_one_in_the_order_given(large_data):
    X, y = large_data
    rng = np.random.default_rng(16)
    nets = [at_kappa(1000, k) for k in rng.permutation([5.0, -1.0, -4.0, -9.0, -15.0, -27.0, -60.0, -690.0])]
    path = ib.limit_path(nets, X, y)
    assert len(path) == len(nets)
    for net, found in zip(nets, path, strict=True):
        alone = ib.limit(net, X, y)
        assert found.success
        # both are within 1e-11 of the truth (the promise for limits)
        np.testing.assert_allclose(found.beta, alone.beta, atol=2e-11 * np.abs(alone.beta).max(), rtol=0)
    assert path.n_iter.sum() <= sum(ib.limit(net, X, y).n_iter for net in nets) + len(nets)


def test_the_number_of_threads_changes_no_bit(large_data):
    X, y = large_data
    nets = [at_kappa(1000, k) for k in (3.0, -10.0, -27.0, -690.0, -5000.0)]
    for net in nets:
        one, two = (ib.limit(net, X, y, n_jobs=n) for n in (1, 2))
        for name in ("beta", "multipliers", "error_bound", "backward_error"):
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    one, two = (ib.limit_path(nets, X, y, n_jobs=n) for n in (1, 2))
    for name in ("beta", "multipliers", "error_bound", "backward_error", "n_iter"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_inputs_are_never_written_to():
    rng = np.random.default_rng(17)
    X, y = rng.standard_normal((4, 9)), rng.standard_normal(4)
    before = X.copy(), y.copy()
    X.flags.writeable = y.flags.writeable = False
    for data in (X, np.asfortranarray(X), X.astype(np.float32).astype(float).tolist()):
        ib.limit(at_kappa(9, -9.0), data, y)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


@pytest.mark.parametrize("log_kappa", [-5.0, -27.0, -300.0])
@pytest.mark.parametrize("correlated", [False, True])
def test_wide_data_have_a_proven_limit_that_is_the_predictor_of_its_multipliers(log_kappa, correlated):
    random = np.random.default_rng(5)
    N, d = 20, 30_000
    X = random.standard_normal((N, d)) + correlated * random.standard_normal(d)
    y = X[:, :3] @ np.ones(3) + 0.1 * random.standard_normal(N)
    limit = ib.limit(at_kappa(d, log_kappa), X, y)
    assert limit.success, limit.message
    assert limit.kkt.feasibility <= 1e-12
    assert limit.error_bound.max() <= 1e-10 * np.abs(limit.beta).max()
    # Independent of every kernel: the predictor of the multipliers is the coefficients, in NumPy's longest float.
    G = X.T.astype(np.longdouble) @ limit.multipliers.astype(np.longdouble)
    beta = np.exp(2 * np.abs(G) + log_kappa) * -np.expm1(-4 * np.abs(G)) / 4 * np.sign(G)
    # nu is binary64: G is off by u |X|'|nu|; ln kappa went to ln scale and back, two roundings. Both move beta by S.
    reach = np.abs(X).T @ np.abs(limit.multipliers) + 2 * abs(log_kappa)
    allowed = EPS * reach * np.hypot(2 * limit.beta, np.exp(log_kappa)) + 4 * EPS * np.abs(limit.beta)
    assert (np.abs(beta - limit.beta) <= allowed).all()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell private memory")
def test_data_on_disk_stay_there(tmp_path):
    code = f"""
import re, threading
import numpy as np
import implicit_bias as ib

X = np.lib.format.open_memmap({str(tmp_path / "X.npy")!r}, "w+", dtype=float, shape=(200, 60_000))
X[:] = np.random.default_rng(0).standard_normal(X.shape)
X.flush()
X = np.load({str(tmp_path / "X.npy")!r}, mmap_mode="r")
y = np.array(X[:, :5]).sum(axis=1)
net = ib.DiagonalNetwork.from_scale_shape(X.shape[1], scale=1e-12)
net.potential()
now = lambda: 1024 * int(re.search(r"RssAnon:\\s+(\\d+)", open("/proc/self/status").read())[1])
before, peak, done = now(), 0, threading.Event()
def watch():
    global peak
    while not done.wait(0.002):
        peak = max(peak, now() - before)
thread = threading.Thread(target=watch)
thread.start()
limit = ib.limit(net, X, y)
done.set()
thread.join()
assert limit.success and limit.error_bound.max() <= 1e-10 * abs(limit.beta).max()
print(peak / X.nbytes)
"""
    part = float(subprocess.check_output([sys.executable, "-c", code], text=True))
    assert 0 < part <= 0.5
