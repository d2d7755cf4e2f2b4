"""Limits of thirty digits: golden files, mpmath, decimal arithmetic of as many digits as it takes, and their laws."""

import math
import pickle
from decimal import Decimal

import mpmath
import numpy as np
import pytest

import implicit_bias as ib
import reference

#: 2^-104, the unit of the error bounds of double-double operations.
U = 2.0**-104
SCALES = [1e-12, 1e-300]
LOG_SCALES = [-11513.0, -230258.5]


def thirty(solve, *args, **options):
    return solve(*args, precision="double-double", **options)


def errors(values, low, truth):
    return np.array([float(error) for error in reference.errors(values, truth, low)])


def assert_normalised(high, low):
    assert high.shape == low.shape
    assert np.isfinite(high).all()
    np.testing.assert_array_equal(high + low, high)


def network_of(case):
    weights = {name: np.array(value) for name, value in case["shape_of_parameters"].items()}
    return ib.DiagonalNetwork(**weights, log_magnitude=case["log_parameter_scale"])


# ------------------------------------------------------------------------------------------- diagonal networks


def test_golden_limits_have_twenty_seven_digits(golden):
    for case in golden("diagonal_limits"):
        end = thirty(ib.limit, network_of(case), case["X"], case["y"])
        assert end.status == "converged"
        error, size = errors(end.beta, end.beta_low, case["beta"]), np.abs(end.beta).max()
        assert error.max() <= 1e-27 * size
        assert (error <= end.error_bound).all()
        # The bound is round-off: 20 units of exponents of up to 1000, times the condition of the data.
        assert end.error_bound.max() <= 1e-26 * size
        assert errors(end.multipliers, end.multipliers_low, case["nu"]).max() <= 1e-27 * np.abs(end.multipliers).max()
        value = errors([end.potential_value], [end.potential_value_low], [case["Q_bregman"]])[0]
        assert value <= 1e-27 * end.potential_value
        assert_normalised(end.beta, end.beta_low)
        assert_normalised(end.multipliers, end.multipliers_low)


@pytest.mark.parametrize("shape", [0.0, 0.9])
@pytest.mark.parametrize("start", [{"scale": a} for a in SCALES] + [{"log_scale": a} for a in LOG_SCALES])
@pytest.mark.parametrize("seed", range(3))
def test_at_any_scale_the_digits_are_those_of_the_exponents(start, shape, seed):
    random = np.random.default_rng(seed)
    n, d = seed + 1, 6
    X, y = random.standard_normal((n, d)), random.standard_normal(n)
    net = ib.DiagonalNetwork.from_scale_shape(d, shape=shape, **start)
    end, plain = thirty(ib.limit, net, X, y), ib.limit(net, X, y)
    truth = reference.limit(X, y, reference.start_from_scale_shape(d, shape=shape, **start), plain.multipliers)
    size, length = np.abs(end.beta).max(), float(np.abs(net.log_kappa).max())
    error = errors(end.beta, end.beta_low, truth.beta)
    assert end.success
    # ln A, ln B and 2G are as long as ln kappa and known to a few units of 2^-104 of that; so is what they cancel to.
    assert error.max() <= 8 * U * (10 + length) * size
    assert (error <= end.error_bound).all()
    # The proof counts every rounding: 4 (N + 1) + 30 units of such exponents, by the condition of the data.
    assert end.error_bound.max() <= 1000 * U * (10 + length) * size
    assert np.abs(end.beta - plain.beta).max() <= 1e-11 * size
    value = errors([end.potential_value], [end.potential_value_low], [truth.potential])[0]
    assert value <= 8 * U * (10 + length) * end.potential_value


def test_beta_and_slope_of_binary64_keep_their_digits_where_plain_exponents_lose_them():
    # Issue 6, part 3. Exponents of 230,000 are known to 1.5e-11 in binary64: 2^-53 of them, and of the products beside.
    random = np.random.default_rng(4)
    X, y = random.standard_normal((3, 7)), random.standard_normal(3)
    start = {"log_scale": -230258.5}
    net = ib.DiagonalNetwork.from_scale_shape(7, **start)
    truth = reference.limit(X, y, reference.start_from_scale_shape(7, **start))
    size = float(max(map(abs, truth.beta)))
    plain = ib.limit(net, X, y)
    nu = np.array([float(v) for v in truth.multipliers])
    exponents = 2.0 * (X.T @ nu)
    by_plain_exponents = 0.25 * (np.exp(net.log_kappa + exponents) - np.exp(net.log_kappa - exponents))
    lost = max(map(float, reference.errors(by_plain_exponents, truth.beta))) / size
    assert 1e-13 < lost < 1e-9, lost
    flow = ib.gradient_flow(net, X, y, tol=1e-15, rtol=1e-13)
    active = [k for k, b in enumerate(truth.beta) if abs(b) > Decimal("1e-3") * Decimal(size)]
    assert len(active) == 3
    for beta in (plain.beta, flow.beta[-1]):
        # The residual is known to (d + 2) 2^-53 of |X||beta| + |y|, times the condition of the active columns.
        error = np.array([float(e) for e in reference.errors(beta, truth.beta)])
        assert error.max() <= 1e-14 * size
        slope = 1.0 / net.potential().hessian(beta)[active]
        exact = np.array([2.0 * abs(float(truth.beta[k])) for k in active])
        assert (np.abs(slope - exact) <= 1e-14 * size).all()


def test_targets_of_thirty_digits_are_met_to_thirty_digits():
    random = np.random.default_rng(5)
    X, high = random.standard_normal((3, 6)), random.standard_normal(3)
    low = high * 2.0**-54 * random.uniform(-1, 1, 3)
    net = ib.DiagonalNetwork.from_scale_shape(6, scale=1e-3)
    end = thirty(ib.limit, net, X, (high, low))
    with mpmath.workdps(60):
        beta = end.to_mpmath()
        for row, h, rest in zip(X, high, low, strict=True):
            left = (
                mpmath.mpf(h)
                + mpmath.mpf(rest)
                - mpmath.fsum(mpmath.mpf(x) * b for x, b in zip(row, beta, strict=True))
            )
            assert abs(left) <= 1e-30 * np.abs(high).max()
    rounded = thirty(ib.limit, net, X, high)
    assert np.abs((end.beta - rounded.beta) + (end.beta_low - rounded.beta_low)).max() > 1e-19
    # In binary64 a pair is rounded to its first part.
    np.testing.assert_array_equal(ib.limit(net, X, (high, low)).beta, ib.limit(net, X, high).beta)


def test_decimal_strings_are_targets_to_thirty_digits():
    net = ib.DiagonalNetwork.from_scale_shape(2, scale=1e-3)
    X, third = [[1.0, 2.0], [1.0, -1.0]], "0.33333333333333333333333333333333333"
    end = thirty(ib.limit, net, X, ["0.1", third])
    with mpmath.workdps(50):
        # Two samples, two features: the one solution, 3 beta_1 = y_0 + 2 y_1.
        truth = (mpmath.mpf("0.1") + 2 * mpmath.mpf(third)) / 3
        assert abs(end.to_mpmath()[0] - truth) <= 1e-30


def test_the_check_sees_an_error_in_the_twentieth_digit_and_covers_it(golden):
    for case in golden("diagonal_limits")[::5]:
        net, X, y = network_of(case), case["X"], case["y"]
        high = np.array([float(b) for b in case["beta"]])
        with reference.digits(60):
            low = np.array([float(b - Decimal(h)) for b, h in zip(case["beta"], high.tolist(), strict=True)])
        report = thirty(ib.check_kkt, net, X, y, (high, low))
        assert report.satisfied(1e-27)
        assert report.duality_gap <= 1e-27
        assert report.error_bound.max() <= 1e-26 * np.abs(high).max()
        assert (
            errors(report.multipliers, report.multipliers_low, case["nu"]).max()
            <= 1e-25 * np.abs(report.multipliers).max()
        )
        step = 1e-20 * np.abs(high).max()
        low[0] += step
        moved = thirty(ib.check_kkt, net, X, y, (high, low))
        assert not moved.satisfied(1e-24)
        assert 0.999 * step <= moved.error_bound[0] <= 1.001 * step
        # To binary64 the rounded coefficients are all there is.
        assert thirty(ib.check_kkt, net, X, y, high).feasibility > 1e-20


def test_a_path_is_its_limits_one_by_one():
    random = np.random.default_rng(6)
    X, y = random.standard_normal((4, 9)), random.standard_normal(4)
    nets = [ib.DiagonalNetwork.from_scale_shape(9, scale=a, shape=s) for a in (1e2, 1e-3, 1e-9) for s in (0.0, 0.5)]
    path = thirty(ib.limit_path, nets, X, y)
    assert path.success.all()
    assert path.beta_low.shape == path.beta.shape
    for k, net in enumerate(nets):
        one, row = thirty(ib.limit, net, X, y), pickle.loads(pickle.dumps(path[k]))
        off = (one.beta - row.beta) + (one.beta_low - row.beta_low)
        assert np.abs(off).max() <= 1e-28 * np.abs(one.beta).max()
        assert (np.abs(off) <= one.error_bound + row.error_bound).all()
        assert row.potential_value_low == path.potential_value_low[k]
    mixed = thirty(ib.limit_path, [nets[0], ib.FullyConnectedNetwork([1.0], [np.ones(9)])], X, y)
    assert mixed.beta_low.shape == (2, 9)
    assert mixed.success.all()


def test_the_bits_do_not_depend_on_the_number_of_threads():
    random = np.random.default_rng(7)
    X, y = random.standard_normal((30, 400)), random.standard_normal(30)
    net = ib.DiagonalNetwork.from_scale_shape(400, scale=1e-20)
    one, two = (thirty(ib.limit, net, X, y, n_jobs=n) for n in (1, 2))
    for name in ("beta", "beta_low", "multipliers", "multipliers_low", "error_bound", "backward_error"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert one.potential_value_low == two.potential_value_low


def test_dependent_samples_one_sided_signs_surplus_samples_and_zero_targets_are_answered():
    X, one_sided = np.array([[1.0, 0.5, 0.25], [-0.5, 1.0, 0.75]]), np.full(3, 0.5)
    net = ib.DiagonalNetwork.from_scale_shape(3, scale=1e-6)
    zero = thirty(ib.limit, net, X, [0.0, 0.0])
    assert zero.status == "converged"
    assert zero.n_iter == 0
    assert not (zero.beta.any())
    assert not (zero.beta_low.any())
    same = thirty(ib.limit, net, X[[0, 1, 0]], [1.0, -0.3, 1.0])
    assert same.status == "converged"
    assert np.isfinite(same.error_bound).all()
    contradiction = thirty(ib.limit, net, X[[0, 1, 0]], [0.75, -0.3, 1.25])
    assert contradiction.status == "least_squares"
    assert np.abs((same.beta - contradiction.beta) + (same.beta_low - contradiction.beta_low)).max() <= 1e-29
    surplus = thirty(ib.limit, net, np.vstack([X, np.eye(3)]), np.arange(5.0))
    assert surplus.status == "least_squares"
    assert surplus.kkt.feasibility <= 1e-29
    signs = thirty(ib.limit, ib.DiagonalNetwork(one_sided, one_sided, 0 * one_sided, 0 * one_sided), X, [-1.0, 0.5])
    assert signs.status == "infeasible_sign"
    assert (signs.beta >= 0.0).all()
    underflow = thirty(ib.limit, ib.DiagonalNetwork.from_scale_shape(3, log_scale=-1e5), [[1.0, 2.0, 0.0]], [1.0])
    assert underflow.success
    assert underflow.beta[0] == 0.0
    assert underflow.beta[1] == 0.5


@pytest.mark.parametrize("log_scale", [-230.0, -1000.0, -5000.0])
@pytest.mark.parametrize("seed", range(3))
def test_coefficients_that_only_the_eighteenth_digit_of_the_targets_needs_are_found(log_scale, seed):
    # y = 2 x_2 + 1e-17: three others of 1e-17 make up for what one coefficient leaves, far above kappa as well. The
    # binary64 limit that the search begins from knows nothing of them.
    random = np.random.default_rng(seed)
    # Columns of one length: x_2 itself is a multiplier for which no other column reaches 1: one coefficient is enough.
    X = random.standard_normal((4, 9))
    X /= np.linalg.norm(X, axis=0)
    high, low = 2.0 * X[:, 2], 1e-17 * random.standard_normal(4)
    end = thirty(ib.limit, ib.DiagonalNetwork.from_scale_shape(9, log_scale=log_scale), X, (high, low))
    with reference.digits(60):
        targets = [Decimal(h) + Decimal(rest) for h, rest in zip(high.tolist(), low.tolist(), strict=True)]
    # The dual is strictly convex: where Newton of the reference ends is the truth, wherever it begins.
    start = reference.start_from_scale_shape(9, log_scale=log_scale)
    truth = reference.limit(X, targets, start, end.multipliers)
    assert end.success
    assert end.kkt.feasibility <= 4 * U * (10 - log_scale)
    error = errors(end.beta, end.beta_low, truth.beta)
    assert error.max() <= 8 * U * (10 - log_scale)
    assert (error <= end.error_bound).all()
    small = np.array([1e-20 < abs(b) < 1e-15 for b in truth.beta])
    assert small.sum() >= 3
    np.testing.assert_allclose(end.beta[small], [float(b) for b in np.array(truth.beta)[small]], rtol=1e-9)


def entropy(x, log_kappa):
    """q of one coordinate of an unbiased start, at the working precision of mpmath."""
    kappa, size = mpmath.exp(log_kappa), abs(mpmath.mpf(x))
    return size * mpmath.asinh(2 * size / kappa) / 2 - kappa / 4 * (mpmath.sqrt(1 + (2 * size / kappa) ** 2) - 1)


ENDS_OF_THE_RANGE = [
    (log_scale, y)
    for log_scale in [-800.0, -709.0, -300.0, 0.0, 300.0, 707.0, 708.0, 708.4, 709.0, 711.0, 798.0]
    for y in [1e308, -1.7e308, 1e300, 1.0, -1e-20, -1e-290, 1e-300]
    # Its multiplier, about y/kappa there, has to be a float.
    if log_scale < math.log(abs(y)) + math.log(1e290)
]


@pytest.mark.parametrize(("log_scale", "y"), ENDS_OF_THE_RANGE)
def test_the_potential_is_right_wherever_it_is_a_float_and_inf_beyond(log_scale, y):
    net = ib.DiagonalNetwork.from_scale_shape(2, log_scale=log_scale)
    for X, beta in (([[0.0, 0.0], [1.0, 1.0]], [0.5 * y, 0.5 * y]), ([[1.0, 0.0], [1.0, 1.0]], [0.0, y])):
        end = thirty(ib.limit, net, X, [0.0, y])
        assert end.success
        np.testing.assert_allclose(end.beta, beta, rtol=4 * np.finfo(float).eps)
        with mpmath.workprec(9000):
            log_kappa = mpmath.log(4) + mpmath.mpf(log_scale)
            truth = mpmath.fsum(entropy(b, log_kappa) for b in beta if b)
            if truth > np.finfo(float).max:
                assert end.potential_value == np.inf
                continue
            error = abs(end.to_mpmath("potential_value") - truth)
            # As many units of 2^-104 as ln kappa and 2G are long, and the last places of the least floats.
            length = 10 + abs(log_scale) + abs(math.log(abs(y)))
            assert error <= 8 * U * length * truth + mpmath.mpf(2) ** -1072


# ------------------------------------------------------------------------------------------------ one neuron


def neuron_by_mpmath(X, y, a0, w0, slopes, near):
    """a w for a c_n <x_n, w> = y_n, a^2 - |w|^2 kept and w - w(0) in the span of the samples: Newton at 60 digits."""
    n = len(y)
    rows = [[mpmath.mpf(float(x)) for x in row] for row in X]
    delta = a0**2 - mpmath.fsum(w**2 for w in w0)

    def weights(mu):
        return [w + mpmath.fsum(mu[k] * rows[k][i] for k in range(n)) for i, w in enumerate(w0)]

    def left(a, *mu):
        w = weights(mu)
        outputs = [a * slopes[k] * mpmath.fdot(rows[k], w) for k in range(n)]
        return [*(f - mpmath.mpf(float(t)) for f, t in zip(outputs, y, strict=True)), a**2 - mpmath.fdot(w, w) - delta]

    a = near[0]
    G = np.linalg.lstsq(np.asarray(X).T, np.asarray(near[1]) - np.array([float(w) for w in w0]), rcond=None)[0]
    root = mpmath.findroot(left, (a, *map(float, G)), tol=1e-100, maxsteps=50)
    w = weights(root[1:])
    return [root[0] * v for v in w]


def relative(found, truth):
    with mpmath.workdps(60):
        size = max(abs(t) for t in truth)
        return float(max(abs(f - t) for f, t in zip(found, truth, strict=True)) / size)


def ends(end, delta, sign):
    """a and w of a predictor, in binary64."""
    size = np.linalg.norm(end.beta)
    root = np.hypot(size, delta / 2)
    a = sign * (np.sqrt(root + delta / 2) if delta >= 0 else size / np.sqrt(root - delta / 2))
    return a, end.beta / a


@pytest.mark.parametrize(("a", "size"), [(1.5, 0.3), (0.4, 1.0), (1.0, 1e-9), (1e-9, 1e-10), (30.0, 1.0), (-1.2, 0.5)])
@pytest.mark.parametrize("seed", range(2))
def test_one_neuron_by_its_weights_against_mpmath(a, size, seed):
    random = np.random.default_rng(seed)
    X, y, w = random.standard_normal((2, 5)), random.standard_normal(2), size * random.standard_normal(5)
    net = ib.FullyConnectedNetwork([a], [w])
    plain, end = ib.limit(net, X, y), thirty(ib.limit, net, X, y)
    delta = a * a - float(w @ w)
    outer = ib.gradient_flow(net, X, y).parameters.a[-1, 0]
    with mpmath.workdps(60):
        near = ends(plain, delta, np.sign(outer))
        truth = neuron_by_mpmath(X, y, mpmath.mpf(a), [mpmath.mpf(float(v)) for v in w], [1, 1], near)
        # A few hundred operations, passed on by the condition of X and of a.
        assert relative(end.to_mpmath(), truth) <= 1e-29
        assert end.status == "converged"
        assert end.kkt.stationarity <= 1e-29
        assert np.abs(end.beta - plain.beta).max() <= 1e-11 * np.abs(end.beta).max()
        assert end.potential_value == pytest.approx(plain.potential_value, rel=1e-11)
        np.testing.assert_allclose(
            end.multipliers, plain.multipliers, rtol=1e-9, atol=1e-11 * np.abs(end.multipliers).max()
        )
    assert_normalised(end.beta, end.beta_low)
    report = thirty(ib.check_kkt, net, X, y, (end.beta, end.beta_low))
    assert report.satisfied(1e-28)
    moved = thirty(ib.check_kkt, net, X, y, (end.beta, end.beta_low + 1e-20 * np.abs(end.beta).max()))
    assert not moved.satisfied(1e-22)


@pytest.mark.parametrize("make", [ib.FullyConnectedNetwork.from_scale_shape, ib.LeakyReLUNetwork.from_scale_shape])
@pytest.mark.parametrize("shape", [0.25, 0.9])
def test_one_neuron_by_scale_and_shape_starts_from_them_not_from_rounded_weights(make, shape):
    random = np.random.default_rng(3)
    X, y, u = random.standard_normal((2, 4)), random.standard_normal(2), random.standard_normal(4)
    net = make(u, scale=0.3, shape=shape)
    plain, end = ib.limit(net, X, y), thirty(ib.limit, net, X, y)
    with mpmath.workdps(60):
        scale, s = mpmath.mpf(0.3), mpmath.mpf(shape)
        direction = [mpmath.mpf(float(v)) for v in u]
        norm = mpmath.sqrt(mpmath.fdot(direction, direction))
        a, size = mpmath.sqrt(scale * (1 + s) / (1 - s)), mpmath.sqrt(scale * (1 - s) / (1 + s))
        w = [size * v / norm for v in direction]
        slopes = [mpmath.mpf(1 if t > 0 or isinstance(net, ib.FullyConnectedNetwork) else net.slope) for t in y]
        near = ends(plain, float(a * a - size * size), 1.0)
        truth = neuron_by_mpmath(X, y, a, w, slopes, near)
        assert relative(end.to_mpmath(), truth) <= 1e-29
    assert end.status == "converged"
    assert end.kkt.feasibility <= 1e-29
    report = thirty(ib.check_kkt, net, X, y, (end.beta, end.beta_low))
    assert report.satisfied(1e-28)
    np.testing.assert_allclose(report.multipliers, plain.multipliers, rtol=1e-9)


def test_a_neuron_of_vanishing_weights_ends_at_least_norm():
    X, y = np.array([[3.0, 4.0, 0.0], [1.0, -1.0, 2.0]]), np.array([5.0, 1.0])
    end = thirty(ib.limit, ib.FullyConnectedNetwork.from_scale_shape([1.0, 1.0, 1.0], log_scale=-1e5), X, y)
    with mpmath.workdps(60):
        rows = mpmath.matrix(X.tolist())
        truth = rows.T * mpmath.lu_solve(rows * rows.T, mpmath.matrix(y.tolist()))
        assert relative(end.to_mpmath(), list(truth)) <= 1e-30


def test_neurons_in_a_line_are_one():
    X, y, u = np.array([[1.0, 0.5, -0.25]]), np.array([2.0]), np.array([1.0, 0.0, 0.0])
    line = thirty(ib.limit, ib.FullyConnectedNetwork([3.0, 4.0], np.outer([3.0, 4.0], u)), X, y)
    one = thirty(ib.limit, ib.FullyConnectedNetwork([5.0], [5.0 * u]), X, y)
    assert np.abs((line.beta - one.beta) + (line.beta_low - one.beta_low)).max() <= 1e-30


# --------------------------------------------------------------------------------------------- what goes in and out


def test_values_come_out_as_numbers_of_mpmath_that_are_exact():
    net = ib.DiagonalNetwork.from_scale_shape(3, scale=0.1)
    end = thirty(ib.limit, net, [[1.0, 2.0, 3.0]], [1.0])
    digits = mpmath.mp.dps
    for name in ("beta", "multipliers", "potential_value"):
        found, high, low = end.to_mpmath(name), getattr(end, name), getattr(end, f"{name}_low")
        assert np.shape(found) == np.shape(high)
        with mpmath.workdps(700):
            assert all(
                f - mpmath.mpf(float(h)) == mpmath.mpf(float(rest))
                for f, h, rest in zip(np.ravel(found), np.ravel(high), np.ravel(low), strict=True)
            )
    assert mpmath.mp.dps == digits
    plain = ib.limit(net, [[1.0, 2.0, 3.0]], [1.0])
    assert (plain.beta_low, plain.multipliers_low, plain.potential_value_low) == (None, None, None)
    assert [float(b) for b in plain.to_mpmath()] == plain.beta.tolist()
    assert ib.limit(net, [[1.0, 2.0, 3.0]], [1.0], bounds=False).to_mpmath("error_bound") is None
    with pytest.raises(ValueError, match="name must be one of 'beta', 'multipliers'"):
        end.to_mpmath("betas")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": "quad"}, "precision must be one of 'double', 'double-double': got 'quad'"),
        ({"precision": "double-double", "tol": 1e-32}, r"tol must be in \[1e-31, 0.1\]"),
        ({"precision": "double", "tol": 1e-20}, r"tol must be in \[1e-16, 0.1\]"),
        ({"y": (np.ones(1), np.zeros(2))}, "y must have parts of one shape"),
        ({"y": (np.ones(2), np.zeros(2))}, "y must have length 1"),
        ({"y": (np.array([np.inf]), np.zeros(1))}, "y must be finite"),
    ],
)
def test_bad_input_is_named(options, message):
    arguments = {"X": [[1.0, 2.0]], "y": [1.0]} | options
    with pytest.raises(ValueError, match=message):
        ib.limit(ib.DiagonalNetwork.from_scale_shape(2, scale=1.0), **arguments)
