"""Tied diagonal networks of any depth: functions, limits, bounds and flows against theorems and other programs."""

import math

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

import implicit_bias as ib

mp = mpmath.MPContext()
mp.dps = 90
DEPTHS = (2, 3, 4, 5, 8, 30)
SIZES = [s * m * 10.0**k for k in range(-300, 301, 25) for m in (1.0, 3.7) for s in (1, -1) if m * 10.0**k < 1e301]


def network(n_features, depth, log_scale, weights=1.0):
    return ib.DeepDiagonalNetwork.from_scale(n_features, depth, log_scale=log_scale, weights=weights)


def problem(seed, n_samples=3, n_features=8):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_samples, n_features))
    return X, random.standard_normal(n_samples), random.uniform(0.5, 1.5, n_features)


# ------------------------------------------------------------------------------------------------------ the functions


def exactly_h(z, one_minus, depth):
    """With 1 - |z| given, for at 60 digits z = 1 - 1e-100 is 1."""
    if depth == 2:
        return 2 * mp.sinh(z)
    e = mp.mpf(depth) / (depth - 2)
    return mp.sign(z) * (one_minus**-e - (2 - one_minus) ** -e)


def exactly_inverse(x, depth, digits=400):
    """z and 1 - |z| by bisection in the logarithm of what is small, then Newton: none of the formulas of the core."""
    size = abs(mp.mpf(x))
    if depth == 2:
        return mp.asinh(mp.mpf(x) / 2), None
    e = mp.mpf(depth) / (depth - 2)
    with mp.workdps(digits):
        z = size / (2 * e) if size < 1 else 1 - (size + 1) ** (-1 / e)
        for _ in range(200):
            f = (1 - z) ** -e - (1 + z) ** -e - size
            slope = e * ((1 - z) ** (-e - 1) + (1 + z) ** (-e - 1))
            step = f / slope
            z -= step
            if abs(step) < mp.mpf(10) ** (70 - digits) * abs(z) or abs(step) < mp.mpf(10) ** -60 * (1 - z) * abs(z):
                break
        return mp.sign(x) * z, 1 - z


@pytest.mark.parametrize("depth", DEPTHS)
def test_the_functions_have_all_their_digits_from_1e_minus_300_to_1e300(depth):
    inverse, value = ib.special.h_depth_inverse(SIZES, depth), ib.special.q_depth(SIZES, depth)
    for x, z, q in zip(SIZES, inverse, value, strict=True):
        exact, one_minus = exactly_inverse(x, depth)
        assert abs(mp.mpf(float(z)) / exact - 1) < 4e-16
        with mp.workdps(700):
            # q = x z - (H(z) - H(0)), whose digits cancel: 700 of them do not.
            if depth == 2:
                wanted = mp.mpf(x) * mp.asinh(mp.mpf(x) / 2) + 2 - mp.sqrt(4 + mp.mpf(x) ** 2)
            else:
                k, start = mp.mpf(2) / (depth - 2), abs(exact)
                for _ in range(8):
                    e = 1 + k
                    f = (1 - start) ** -e - (1 + start) ** -e - abs(mp.mpf(x))
                    start -= f / (e * ((1 - start) ** (-e - 1) + (1 + start) ** (-e - 1)))
                total = (1 - start) ** -k + (1 + start) ** -k - 2
                wanted = abs(mp.mpf(x)) * start - total / k
            # x²/(4e) may be subnormal, or none at all.
            assert abs(mp.mpf(float(q)) - wanted) <= 4e-16 * wanted + mp.mpf(2) ** -1074, (depth, x)
        if one_minus is None or abs(exact) < 0.5:
            back = ib.special.h_depth(float(z), depth)
            # The condition of h: z h'/h, 1 for small z and |z| e/(1 - |z|) beyond; for depth 2, 1 + |z|.
            assert abs(back / x - 1) < 1e-14 * (1 + abs(float(z)))


def test_golden_q(golden):
    cases = golden("q_depth")
    assert len(cases) == 28
    for case in cases:
        x, depth = case["x"], int(case["depth"])
        assert abs(ib.special.q_depth(x, depth) / float(case["q"]) - 1) < 1e-13
        assert abs(ib.special.h_depth_inverse(x, depth) / float(case["h_inverse"]) - 1) < 1e-13


def test_functions_broadcast_and_depths_may_be_an_array():
    x, depth = np.array([[0.5], [1.0], [2.0]]), np.array([2, 3, 5, 9])
    q = ib.special.q_depth(x, depth)
    assert q.shape == (3, 4)
    assert q[1, 2] == ib.special.q_depth(1.0, 5)
    assert ib.special.h_depth_inverse(np.zeros((0, 4)), depth).shape == (0, 4)


@pytest.mark.parametrize("bad", [1, 2.5, -3, np.nan, [3, 1]])
def test_a_depth_below_two_or_no_whole_number_is_refused(bad):
    with pytest.raises(ValueError, match="depth must be"):
        ib.special.q_depth([1.0, 2.0], bad)


def test_a_dual_beyond_one_is_refused_and_one_is_infinite():
    assert ib.special.h_depth([1.0, -1.0], 3).tolist() == [math.inf, -math.inf]
    with pytest.raises(ValueError, match=r"z must be in \[-1, 1\]"):
        ib.special.h_depth(1.5, 3)
    assert ib.special.h_depth(1.5, 2) == pytest.approx(2.0 * math.sinh(1.5), rel=1e-15)


def test_a_potential_is_the_integral_of_its_gradient_and_its_hessian_the_slope_of_it():
    _, _, w = problem(0)
    for depth in (2, 3, 6):
        Q = ib.DepthPotential(depth, scale=0.7, weights=w)
        beta, step = np.linspace(-2.0, 2.0, w.size), 1e-5
        ahead, behind = Q.gradient(beta + step), Q.gradient(beta - step)
        # Central differences: step² times the third derivative, and rounding over step.
        assert (ahead - behind) / (2 * step) == pytest.approx(Q.hessian(beta), rel=1e-7)
        direction = np.cos(np.arange(w.size))
        along = (Q(beta + step * direction) - Q(beta - step * direction)) / (2 * step)
        assert along == pytest.approx(Q.gradient(beta) @ direction, rel=1e-7)


def test_the_divergence_of_close_points_keeps_its_digits():
    Q = ib.DepthPotential(5, scale=0.3)
    beta = np.array([0.2, -3.0])
    step = np.array([2.0**-40, 2.0**-35])
    # Exact to the next order: half the Hessian, a relative step of 1e-11 beside it.
    expected = 0.5 * (Q.hessian(beta) * step**2).sum()
    assert Q.bregman(beta + step, beta) == pytest.approx(expected, rel=1e-9)
    assert Q.bregman(beta, beta) == 0.0


def test_thirty_digits_of_a_potential():
    Q = ib.DepthPotential(3, scale="0.1", precision="double-double")
    beta = mp.mpf("0.7")
    x = beta / mp.mpf("0.1") ** 3
    z, _ = exactly_inverse(x, 3)
    wanted = mp.mpf("0.01") * (x * z - ((1 - z) ** -2 + (1 + z) ** -2 - 2) / 2)
    assert abs(Q(["0.7"]).to_mpmath() / wanted - 1) < 1e-27


# --------------------------------------------------------------------------------------------------------- the limits


def test_golden_limits(golden):
    cases = golden("deep_diagonal_limits")
    assert len(cases) == 12
    for case in cases:
        X = np.array(case["X"], dtype=float)
        y = np.array(case["y"], dtype=float)
        w = np.array(case.get("weights", np.ones(X.shape[1])), dtype=float)
        end = ib.limit(network(X.shape[1], int(case["depth"]), case["log_parameter"], w), X, y)
        wanted = np.array([float(b) for b in case["beta"]])
        assert end.beta == pytest.approx(wanted, rel=1e-13, abs=0.0)
        # The bound is of the true limit, and the printed digits are 25.
        assert end.error_bound.max() < 1e-15


def test_published_depth_ratio(published):
    for where, log in (("by_depth", -8.0), ("at_0", 0.0)):
        for depth, ratio in published["depth_ratio"][where].items():
            depth = int(depth)
            Q = ib.DepthPotential(depth, log_scale=log / depth)
            peak, flat = np.eye(1, 100)[0], np.full(100, 0.1)
            digits = len(str(ratio).split(".")[1])
            assert Q(peak) / Q(flat) == pytest.approx(float(ratio), abs=0.51 * 10.0**-digits)


@pytest.mark.parametrize("log_scale", [-40.0, -1000.0, -1e5])
@pytest.mark.parametrize("depth", [3, 4, 6])
def test_among_several_of_least_l1_norm_depth_chooses_as_published(depth, log_scale):
    X, y = [[1.0, 1.0, 1.0], [3.0, 0.0, 1.0]], [3.0, 3.0]
    p = depth
    t = 1.0 / (1.0 + (3.0 ** (2 / p) / (2.0 ** (2 / p) + 1.0)) ** (-p / (p - 2)))
    end = ib.limit(network(3, depth, log_scale), X, y)
    assert end.success
    # Off by the order of the scale to the D - 2, below 1e-17, and by the formula's own rounding.
    assert end.beta == pytest.approx([1 - t, 2 * (1 - t), 3 * t], rel=1e-13)


def exactly_limit(X, y, depth, log_scale, w, beta):
    """Newton for the dual in mpmath from the neighbourhood of beta: residuals are 0 to 60 digits."""
    n, d = X.shape
    e = mp.mpf(depth) / (depth - 2)
    start = [mp.exp(mp.mpf(log_scale)) * mp.mpf(float(v)) for v in w]
    cost = [v ** (depth - 2) for v in start]
    unit = [v**depth for v in start]
    rows = [[mp.mpf(float(v)) for v in row] for row in X]
    arcs = [exactly_inverse(mp.mpf(float(b)) / u, depth, 130)[0] for b, u in zip(beta, unit, strict=True)]

    def slope(z):
        return e * ((1 - z) ** (-e - 1) + (1 + z) ** (-e - 1))

    sizes = [float(mp.log(c * u * slope(z))) for c, u, z in zip(cost, unit, arcs, strict=True)]
    basis = np.argsort(sizes)[-n:]
    square = mp.matrix([[rows[k][int(i)] for k in range(n)] for i in basis])
    nu = mp.lu_solve(square, mp.matrix([arcs[int(i)] / cost[int(i)] for i in basis]))
    for _ in range(12):
        z = [c * sum(rows[k][i] * nu[k] for k in range(n)) for i, c in enumerate(cost)]
        there = [u * ((1 - v) ** -e - (1 + v) ** -e) for u, v in zip(unit, z, strict=True)]
        S = [c * u * slope(v) for c, u, v in zip(cost, unit, z, strict=True)]
        r = mp.matrix([mp.mpf(float(y[k])) - sum(rows[k][i] * there[i] for i in range(d)) for k in range(n)])
        H = mp.matrix(n, n)
        for k in range(n):
            for m in range(n):
                H[k, m] = sum(S[i] * rows[k][i] * rows[m][i] for i in range(d))
        step = mp.lu_solve(H, r)
        nu += step
        if max(abs(v) for v in r) < mp.mpf(10) ** -45:
            return there
    raise AssertionError("Newton did not converge")


def test_no_bound_is_below_the_error_of_two_thousand_coefficients_and_most_are_close_to_it():
    ratios, count = [], 0
    for seed in range(250):
        X, y, w = problem(seed)
        depth, log_scale = (3, 4, 5, 8)[seed % 4], (0.7, -0.5, -2.0, -4.0, -9.0)[seed % 5]
        end = ib.limit(network(8, depth, log_scale, w), X, y)
        assert end.success
        truth = exactly_limit(X, y, depth, log_scale, w, end.beta)
        for b, t, bound in zip(end.beta, truth, end.error_bound, strict=True):
            error = float(abs(mp.mpf(float(b)) - t))
            assert error <= bound, (seed, depth, log_scale)
            count += 1
            if error > 0.0:
                ratios.append(bound / error)
    assert count == 2000
    # What is left of the error is the rounding of the reported number, which the bound knows.
    assert np.median(ratios) < 1.1


@pytest.mark.parametrize("depth", [3, 4, 7])
def test_the_limit_is_the_end_of_the_flow(depth):
    for seed in range(4):
        X, y, w = problem(seed)
        for log_scale in (0.5, -1.0, -2.5):
            net = network(8, depth, log_scale, w)
            flow, end = ib.gradient_flow(net, X, y), ib.limit(net, X, y)
            assert flow.success
            size = np.abs(end.beta).max()
            # The residual stops at 1e-12 of the targets, or where roundings, grown by 1/(1 - |z|) = 1e5, are seen.
            off = 1e-10 if flow.status == "converged" else 1e-7
            assert flow.beta[-1] == pytest.approx(end.beta, abs=off * size)
            assert flow.multipliers[-1] == pytest.approx(end.multipliers, rel=1e-9)
            assert (flow.distance_bound()[-1] >= np.abs(flow.beta[-1] - end.beta)).all()


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_the_flow_is_that_of_the_raw_weights(depth):
    X, y, w = problem(3)
    n, d = X.shape
    alpha, times = 0.5, [0.1, 1.0, 3.0]

    def weights(_t, u):
        plus, minus = u[:d], u[d:]
        g = X.T @ (y - X @ (plus**depth - minus**depth)) / n
        return depth * np.concatenate([plus ** (depth - 1) * g, -(minus ** (depth - 1)) * g])

    start = np.concatenate([alpha * w, alpha * w])
    raw = solve_ivp(weights, (0.0, 3.0), start, method="DOP853", rtol=1e-12, atol=1e-14, t_eval=times).y
    flow = ib.gradient_flow(ib.DeepDiagonalNetwork.from_scale(d, depth, scale=alpha, weights=w), X, y, times)
    # SciPy's tolerance, times the steps.
    assert flow.beta == pytest.approx((raw[:d] ** depth - raw[d:] ** depth).T, abs=1e-9)
    assert flow.parameters.u_plus == pytest.approx(raw[:d].T, abs=1e-9)
    assert flow.parameters.u_minus == pytest.approx(raw[d:].T, abs=1e-9)
    assert flow.conserved_quantities().drift.max() < 1e-12


@pytest.mark.parametrize("log_scale", [1.0, -2.0, -400.0, -1e5])
def test_depth_two_is_the_untied_network_at_half_the_time(log_scale):
    X, y, w = problem(7)
    tied = network(8, 2, log_scale, w)
    # κ = 4α²w² is [A]'s 4α at shape 0.
    untied = ib.DiagonalNetwork.from_scale_shape(8, log_scale=2.0 * log_scale + 2.0 * np.log(w))
    mine, other = ib.limit(tied, X, y), ib.limit(untied, X, y)
    assert mine.beta == pytest.approx(other.beta, rel=1e-9)
    assert mine.multipliers == pytest.approx(2.0 * other.multipliers, rel=1e-12)
    if log_scale >= -2.0:
        assert mine.potential_value == pytest.approx(2.0 * other.potential_value, rel=1e-10)
        assert tied.potential()(mine.beta) == pytest.approx(mine.potential_value, rel=1e-12)
        times = np.array([0.1, 0.5, 2.0])
        slow, fast = ib.gradient_flow(untied, X, y, 2.0 * times), ib.gradient_flow(tied, X, y, times)
        assert fast.beta == pytest.approx(slow.beta, rel=1e-8, abs=1e-12)
        assert fast.t.tolist() == times.tolist()


def test_the_gradient_of_the_potential_at_the_limit_is_in_the_range_of_the_data():
    for depth in (2, 3, 5, 12):
        X, y, w = problem(depth)
        net = network(8, depth, -0.7, w)
        end = ib.limit(net, X, y)
        assert net.potential().gradient(end.beta) == pytest.approx(X.T @ end.multipliers, rel=1e-11, abs=1e-12)
        assert ib.check_kkt(net, X, y, end.beta).satisfied(1e-9)
        assert not ib.check_kkt(net, X, y, ib.baselines.min_l2_norm(X, y)).satisfied(1e-6)


@pytest.mark.parametrize("depth", [3, 5, 30])
def test_every_scale_from_1000_to_ten_to_the_minus_100000_has_a_certified_limit(depth):
    X, y, w = problem(11, 5, 20)
    for log_scale in (math.log(1e3), 0.0, -5.0, -20.0, -100.0, -1e3, -230258.5):
        end = ib.limit(network(20, depth, log_scale, w), X, y)
        assert end.status == "converged"
        assert end.error_bound.max() < 1e-15 * np.abs(end.beta).max(), (depth, log_scale)
    # At the smallest only the weighted ℓ1 norm is left.
    factor = w ** (2.0 - depth)
    vertex = ib.baselines.basis_pursuit(X / factor, y) / factor
    assert end.beta == pytest.approx(vertex, abs=1e-12 * np.abs(vertex).max())


@pytest.mark.parametrize("log_scale", [math.log(1e3), 0.0, -3.0, -30.0, -230258.5])
def test_hard_data(log_scale):
    random = np.random.default_rng(2)
    X = random.standard_normal((12, 40))
    parallel = X.copy()
    parallel[1] = X[0] + 1e-6 * random.standard_normal(40)
    sparse = np.zeros(40)
    sparse[:5] = [1.0, -2.0, 0.5, 3.0, -1.0]
    for depth in (3, 5):
        cases = {
            "parallel rows": (parallel, random.standard_normal(12), 1.0),
            "five of forty, exactly": (X, X @ sparse, 1.0),
            "weights over decades": (X, random.standard_normal(12), 10.0 ** random.uniform(-1, 1, 40)),
            "rows of all sizes": (X * 10.0 ** random.uniform(-8, 8, (12, 1)), random.standard_normal(12), 1.0),
        }
        for name, (data, y, w) in cases.items():
            end = ib.limit(network(40, depth, log_scale, w), data, y)
            assert end.success, (name, depth, end.status)
            # Next to parallel rows coefficients are a million times as large as targets, and so is their rounding.
            reach = (np.abs(data) @ np.abs(end.beta) + np.abs(y)).max() / np.abs(y).max()
            assert end.kkt.feasibility < 1e-15 * reach, (name, depth)
            assert end.n_iter <= 60, (name, depth)


def test_targets_out_of_reach_are_projected_and_dependent_rows_agree_with_independent_ones():
    random = np.random.default_rng(4)
    tall = random.standard_normal((12, 5))
    y = random.standard_normal(12)
    end = ib.limit(network(5, 3, -2.0), tall, y)
    assert end.status == "least_squares"
    assert end.beta == pytest.approx(np.linalg.lstsq(tall, y)[0], rel=1e-10)
    X, targets, _ = problem(5)
    twice = ib.limit(network(8, 4, -2.0), np.vstack([X, X[:1]]), np.append(targets, targets[0]))
    assert twice.beta == pytest.approx(ib.limit(network(8, 4, -2.0), X, targets).beta, rel=1e-11)


def test_targets_of_zero_stay_where_they_are():
    X, _, _ = problem(1)
    end = ib.limit(network(8, 3, -5.0), X, np.zeros(3))
    assert end.success
    assert not end.beta.any()
    flow = ib.gradient_flow(network(8, 3, -5.0), X, np.zeros(3))
    assert flow.success
    assert not flow.beta.any()


def test_a_path_is_its_limits_one_by_one_and_threads_change_no_bit():
    X, y, w = problem(8)
    nets = [network(8, depth, log, w) for depth in (3, 5) for log in (-1.0, -9.0)]
    path = ib.limit_path(nets, X, y)
    for row, net in zip(path.beta, nets, strict=True):
        assert (row == ib.limit(net, X, y, n_jobs=1).beta).all()


def test_scales_whose_times_are_no_floats_have_limits_and_no_flows():
    X, y, _ = problem(8)
    with pytest.raises(ValueError, match="log_scale"):
        ib.gradient_flow(network(8, 3, -1e4), X, y)
    assert ib.limit(network(8, 3, -1e4), X, y).success


def test_arguments_of_no_sense_are_refused_by_name():
    make = ib.DeepDiagonalNetwork.from_scale
    for match, call in [
        ("depth must be", lambda: make(3, 1, scale=1.0)),
        ("exactly one of scale and log_scale", lambda: make(3, 3)),
        ("scale must be", lambda: make(3, 3, scale=0.0)),
        ("weights must be positive", lambda: make(3, 3, scale=1.0, weights=[1.0, 0.0, 1.0])),
        ("weights must have", lambda: make(3, 3, scale=1.0, weights=[1.0, 1.0])),
        ("precision must be", lambda: ib.limit(make(2, 3, scale=1.0), [[1.0, 2.0]], [1.0], precision="double-double")),
        ("method must be", lambda: ib.gradient_flow(make(2, 3, scale=1.0), [[1.0, 2.0]], [1.0], method="weights")),
        ("certify must be", lambda: ib.gradient_flow(make(2, 3, scale=1.0), [[1.0, 2.0]], [1.0], certify=True)),
    ]:
        with pytest.raises(ValueError, match=match):
            call()
    with pytest.raises(TypeError, match="from_scale"):
        ib.DeepDiagonalNetwork()


# ---------------------------------------------------------------------------------------------------------- theorems


@pytest.mark.parametrize("depth", [2, 3, 6])
def test_woodworth_theorem_1_and_3_the_limit_minimises_q_among_interpolators(depth):
    """Against SLSQP on random problems, and against every direction in the null space."""
    for seed in range(3):
        X, y, w = problem(seed, 2, 5)
        net = network(5, depth, -0.3, w)
        Q, end = net.potential(), ib.limit(net, X, y)
        null = np.linalg.svd(X)[2][2:].T
        found = minimize(
            lambda c, base=end.beta, null=null, Q=Q: Q(base + null @ c), 0.1 * np.ones(3), jac=None, tol=1e-12
        )
        assert end.beta + null @ found.x == pytest.approx(end.beta, abs=1e-5)
        assert null.T @ Q.gradient(end.beta) == pytest.approx(np.zeros(3), abs=1e-12)


@pytest.mark.parametrize("eps", [0.05, 0.3, 1.0, 3.0])
def test_woodworth_theorem_2_with_the_constants_of_the_statement(eps):
    for seed in range(8):
        X, y, _ = problem(seed)
        small, large = ib.theory.scale_for_l1(eps, X, y, log=True), ib.theory.scale_for_l2(eps, X, y)
        rich = ib.limit(network(8, 2, small), X, y)
        least = np.abs(ib.baselines.basis_pursuit(X, y)).sum()
        assert np.abs(rich.beta).sum() <= (1.0 + eps) * least
        kernel = ib.limit(ib.DeepDiagonalNetwork.from_scale(8, 2, scale=large), X, y)
        assert (kernel.beta**2).sum() <= (1.0 + eps) * (ib.baselines.min_l2_norm(X, y) ** 2).sum()
        assert small == pytest.approx(
            min(-(2 + eps) / (2 * eps) * math.log(2 * (1 + eps) * least), -8 / (eps * least)), rel=1e-12
        )


def test_bounds_of_theorem_2_refuse_what_the_statement_excludes():
    X, y, _ = problem(0)
    for eps in (0.0, -1.0, 8.0, np.nan):
        with pytest.raises(ValueError, match="eps must be"):
            ib.theory.scale_for_l1(eps, X, y)
        with pytest.raises(ValueError, match="eps must be"):
            ib.theory.scale_for_l2(eps, X, y)
    with pytest.raises(ValueError, match="y must not be 0"):
        ib.theory.scale_for_l1(0.5, X, np.zeros(3))


def test_the_explicit_distance_is_the_smaller_root_of_the_quartic_at_any_size():
    for z in [s * 10.0**k for k in range(-100, 101, 20) for s in (1.0, -3.0)] + [1.0]:
        with mp.workdps(600):
            exact = mp.mpf(z)
            m, _ = exactly_inverse(exact, 4)
            for _ in range(8):
                f = (1 - m) ** -2 - (1 + m) ** -2 - exact
                m -= f / (2 * ((1 - m) ** -3 + (1 + m) ** -3))
            u = 2 * m**2 * (1 + m**2) / (1 - m**2) ** 2

            def quartic(u, z=exact):
                return (((u - 6) * u + 12 - 2 * z**2) * u - 8 - 10 * z**2) * u + z**2 + z**4

            # Positive up to the smaller root, negative from there to the larger one: those are at least 1e-51 apart.
            step = mp.mpf(10) ** -80
            assert quartic(u * (1 - step)) > 0 > quartic(u * (1 + step))
            assert abs(mp.mpf(float(ib.theory.explicit_distance(z))) / u - 1) < 4e-16
    assert ib.theory.explicit_distance(1.0) == pytest.approx(0.118351, abs=1e-6)


def test_the_explicit_regularizer_is_the_least_distance_of_weights():
    random = np.random.default_rng(3)
    w, beta, alpha = random.uniform(0.5, 1.5, 4), random.standard_normal(4), 0.4

    def distance(minus):
        plus = np.sqrt(np.abs(beta) + minus**2)
        return ((plus - alpha * w) ** 2).sum() + ((minus - alpha * w) ** 2).sum()

    # Even in beta: the weight that has to grow is the first.
    found = minimize(
        distance,
        np.abs(beta) + alpha * w,
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 20000, "maxfev": 20000},
    )
    assert ib.theory.explicit_regularizer(beta, scale=alpha, weights=w) == pytest.approx(found.fun, rel=1e-7)


def test_the_minimiser_of_the_explicit_regularizer_is_one_and_is_not_that_of_the_flow():
    X, y, w = problem(2)
    R = ib.theory.explicit_regularizer
    beta = ib.theory.min_explicit_regularizer(X, y, scale=0.3, weights=w)
    assert X @ beta == pytest.approx(y, rel=1e-12)
    null = np.linalg.svd(X)[2][3:].T
    for direction in null.T:
        ahead, behind = (R(beta + step * direction, scale=0.3, weights=w) for step in (1e-4, -1e-4))
        here = R(beta, scale=0.3, weights=w)
        assert min(ahead, behind) > here
        # Stationary: the slope is of the order of the step's square.
        assert abs(ahead - behind) / 2e-4 < 1e-6
    flow = ib.limit(ib.DeepDiagonalNetwork.from_scale(8, 2, scale=0.3, weights=w), X, y).beta
    assert np.abs(flow - beta).max() > 1e-3
