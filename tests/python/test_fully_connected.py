"""Fully connected linear networks: the golden files, the theorems of the paper, two roads to every end, bad input."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import implicit_bias as ib
from implicit_bias import datasets

METHODS = ("auto", "radau", "explicit", "weights")


def problem(n, d, m, seed, size=1.0):
    """Gaussian data and targets, and a network of m Gaussian neurons."""
    random = np.random.default_rng(seed)
    X, y = random.standard_normal((n, d)), random.standard_normal(n)
    return X, y, ib.FullyConnectedNetwork(size * random.standard_normal(m), size * random.standard_normal((m, d)))


def gap(found, truth):
    return np.abs(found - truth).max() / np.abs(truth).max()


# Golden files


@pytest.mark.parametrize("method", METHODS)
def test_golden_trajectories_of_one_neuron(golden, method):
    for case in golden("neuron_trajectories"):
        net = ib.FullyConnectedNetwork.from_scale_shape(case["orientation"], scale=case["scale"], shape=case["shape"])
        times = [point["t"] for point in case["points"]]
        flow = ib.gradient_flow(net, case["X"], case["y"], times, rtol=1e-12, method=method)
        assert flow.success
        for k, point in enumerate(case["points"]):
            assert gap(flow.parameters.a[k], np.array([point["a"]])) < 1e-11
            assert gap(flow.parameters.W[k, 0], np.array(point["w"])) < 1e-11


@pytest.mark.parametrize("method", METHODS)
def test_golden_trajectories_of_networks(golden, method):
    for case in golden("fully_connected_trajectories"):
        net = ib.FullyConnectedNetwork(case["a"], case["W"])
        times = [point["t"] for point in case["points"]]
        flow = ib.gradient_flow(net, case["X"], case["y"], times, rtol=1e-13, method=method)
        assert flow.success
        for k, point in enumerate(case["points"]):
            assert gap(flow.parameters.a[k], np.array(point["a"])) < 1e-11
            assert gap(flow.parameters.W[k], np.array(point["W"])) < 1e-11
            residual = np.array(case["y"]) - np.array(case["X"]) @ (np.array(point["W"]).T @ np.array(point["a"]))
            assert flow.loss[k] == pytest.approx(np.square(residual).mean() / 2, rel=1e-9, abs=1e-25)


def test_the_published_experiment_with_one_neuron(published):
    # The stream of the authors, continued after the regression data.
    random = np.random.RandomState(1993)
    data = datasets._azulay_draw(random, n_samples=100, n_features=1000)
    expected = published["azulay_single_neuron"]
    for shape in (0, 0.5, 0.95):
        for scale in (0.01, 0.1):
            w = random.standard_normal((1, 1000))
            sign = int(np.sign(random.standard_normal((1, 1)).item()))
            net = ib.FullyConnectedNetwork.from_scale_shape(w[0], scale=scale, shape=shape, sign=sign)
            end = ib.limit(net, data.X, data.y)
            assert end.success
            mse = np.mean((data.X_test @ end.beta - data.y_test) ** 2)
            key = f"{shape},{scale}"
            assert mse == pytest.approx(float(expected["closed_form_test_mse"][key]), abs=1e-9)
            # The authors stop gradient descent of step 1e-3 at a loss of 1e-10.
            assert mse == pytest.approx(float(expected["published_test_mse"][key]), rel=1e-4)


def test_the_published_end_points_of_one_sample(published):
    case = published["single_neuron_rank_one"]
    X, y = np.array([case["x"]], dtype=float), np.array([float(case["y"])])
    beta0 = np.array(case["predictor_at_0"], dtype=float)
    for delta, truth in case["exact_limit_by_delta"].items():
        delta, truth = float(delta), np.array(truth, dtype=float)
        x = np.linalg.norm(beta0)
        a = (
            math.sqrt(math.hypot(x, delta / 2) + delta / 2)
            if delta >= 0
            else x / math.sqrt(math.hypot(x, delta / 2) - delta / 2)
        )
        net = ib.FullyConnectedNetwork([a], [beta0 / a])
        assert gap(ib.limit(net, X, y).beta, truth) < 1e-11
        assert gap(ib.gradient_flow(net, X, y, rtol=1e-13).beta[-1], truth) < 1e-11


# Theorems


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 5),
    d=st.integers(1, 8),
    seed=st.integers(0, 2**32 - 1),
    shape=st.floats(-0.9, 0.9),
    log_scale=st.floats(-6.0, 2.0),
    sign=st.sampled_from([1, -1]),
)
def test_the_closed_form_is_where_the_flow_goes(n, d, seed, shape, log_scale, sign):
    random = np.random.default_rng(seed)
    X, y = random.standard_normal((n, d)), random.standard_normal(n)
    net = ib.FullyConnectedNetwork.from_scale_shape(
        random.standard_normal(d), scale=math.exp(log_scale), shape=shape, sign=sign
    )
    flow = ib.gradient_flow(net, X, y, rtol=1e-13, tol=1e-13)
    end = ib.limit(net, X, y)
    if flow.status == "saddle":
        assert end.status == "saddle"
        return
    assert flow.success
    assert end.success
    # The flow ends where a residual of 1e-13 is left, β is off by that over the least singular value.
    condition = np.linalg.cond(X)
    assert gap(flow.beta[-1], end.beta) < 1e-10 + 1e-12 * condition
    # [A] Theorem 2 for δ >= 0, and for δ < 0 with the sign that a ends with. There β = w √(‖w‖² - |δ|) knows its
    # gradient, 3/2 w, |δ|/a² times better than the gradient knows β.
    delta, x = net.potential().delta, np.linalg.norm(end.beta)
    loss = 1.0 if delta >= 0.0 else 1.0 - delta * (math.hypot(x, delta / 2) - delta / 2) / x**2
    assert end.kkt.stationarity < 1e-10 * loss
    assert end.kkt.feasibility < 1e-11
    report = ib.check_kkt(net, X, y, flow.beta[-1])
    assert report.stationarity < (1e-9 + 1e-11 * condition) * loss
    assert report.theorem == "Azulay et al. 2021, Theorem 2"


def test_stationarity_is_that_of_theorem_2():
    X, y, _ = problem(3, 7, 1, 1)
    net = ib.FullyConnectedNetwork.from_scale_shape(np.arange(1.0, 8.0), scale=0.3, shape=0.4)
    end = ib.limit(net, X, y)
    Q = net.potential()
    assert gap(Q.gradient(end.beta), X.T @ end.multipliers) < 1e-12
    assert np.abs(Q.gradient(net.beta0)).max() < 1e-15
    # Least on the solution set: any other interpolator costs more.
    null = np.linalg.svd(X)[2][3:]
    for step in np.random.default_rng(2).standard_normal((20, 4)):
        assert Q(end.beta + step @ null) > Q(end.beta)


def test_an_outer_weight_that_has_to_change_its_sign_does():
    X, y = np.array([[1.0, 0.0]]), np.array([1.0])
    net = ib.FullyConnectedNetwork([-0.1], [[1.0, 1.0]])
    end = ib.limit(net, X, y)
    flow = ib.gradient_flow(net, X, y, rtol=1e-13, tol=1e-13)
    assert gap(flow.beta[-1], end.beta) < 1e-11
    assert "changes its sign" in end.message
    assert flow.parameters.a[-1, 0] > 0.0
    kept = ib.limit(ib.FullyConnectedNetwork([-0.1], [[-1e-3, 1.0]]), X, np.array([1e-5]))
    assert "keeps its sign" in kept.message or "sign" not in kept.message


def test_balanced_networks_of_any_width_are_one_neuron():
    # [A] Proposition 1, and Theorem 3 for their end: argmin ‖β‖^(3/2) + ⟨z, β⟩.
    random = np.random.default_rng(5)
    X, y = random.standard_normal((3, 6)), random.standard_normal(3)
    a, u = random.standard_normal(5), random.standard_normal(6)
    u /= np.linalg.norm(u)
    net = ib.FullyConnectedNetwork(a, np.outer(a, u))
    one = ib.FullyConnectedNetwork([np.linalg.norm(a)], [np.linalg.norm(a) * u])
    times = np.geomspace(1e-2, 10.0, 5)
    wide, narrow = (ib.gradient_flow(n, X, y, times, rtol=1e-12).beta for n in (net, one))
    assert gap(wide, narrow) < 1e-10
    end = ib.limit(net, X, y)
    assert gap(ib.gradient_flow(net, X, y, rtol=1e-13, tol=1e-13).beta[-1], end.beta) < 1e-10
    assert end.kkt.theorem == "Azulay et al. 2021, Proposition 1"
    gradient = 1.5 * end.beta / np.sqrt(np.linalg.norm(end.beta)) - 1.5 * net.beta0 / np.sqrt(np.linalg.norm(net.beta0))
    assert gap(gradient, X.T @ end.multipliers) < 1e-10
    assert net.potential().delta == 0.0


def test_a_vanishing_start_ends_at_the_least_norm():
    X, y, net = problem(3, 7, 2, 6)
    least = np.linalg.pinv(X) @ y
    for log_magnitude in (-40.0, -11_513.0, -1e6):
        tiny = ib.FullyConnectedNetwork(net.a, net.W, log_magnitude)
        assert gap(ib.limit(tiny, X, y).beta, least) < 1e-12
        assert gap(ib.gradient_flow(tiny, X, y).beta[-1], least) < 1e-10
    one = ib.FullyConnectedNetwork.from_scale_shape(np.ones(7), log_scale=-2 * 11_513.0, shape=0.3)
    assert gap(ib.limit(one, X, y).beta, least) < 1e-12
    assert gap(ib.gradient_flow(one, X, y).beta[-1], least) < 1e-10


def test_a_smaller_start_is_a_later_one():
    # While it escapes β grows as e^(2‖h‖t), h = Xᵀy/N, along h: a scale smaller by e^-2000 is the same flow, later.
    X, y, _ = problem(3, 7, 1, 7)
    h = X.T @ y / 3
    rate = 2.0 * np.linalg.norm(h)
    times = 2000.0 / rate + np.array([-5.0, 0.0, 1.0, 5.0])
    first, later = (
        ib.gradient_flow(ib.FullyConnectedNetwork.from_scale_shape(h, log_scale=-2000.0 * k), X, y, t, rtol=1e-12).beta
        for k, t in ((1, times), (2, times + 2000.0 / rate))
    )
    assert np.abs(first[0]).max() < 1e-3
    # Times of a thousand are known to 1e-13 times themselves, growth rates are of order 1.
    assert gap(later, first) < 1e-9


def test_towards_shape_one_is_the_kernel_and_a_large_scale_is_not():
    # s → 1: argmin ‖β - β(0)‖. At fixed s the start moves along as α → ∞, and a gap remains: 4 to 8 % at s = 0.
    random = np.random.default_rng(8)
    gaps = []
    for _ in range(5):
        X, y, w = random.standard_normal((4, 9)), random.standard_normal(4), random.standard_normal(9)

        def kernel(net, X=X, y=y):
            return net.beta0 + np.linalg.pinv(X) @ (y - X @ net.beta0)

        net = ib.FullyConnectedNetwork.from_scale_shape(w, scale=1.0, shape=1.0 - 1e-9)
        # Q differs from the distance by terms of ‖β‖²/δ² with δ = 2e9.
        assert gap(ib.limit(net, X, y).beta, kernel(net)) < 1e-8
        large = ib.FullyConnectedNetwork.from_scale_shape(w, scale=1e3, shape=0.0)
        # The NTK there is xᵀB⁻¹x', B = I - uuᵀ(1-s)²/(2(1+s²)), and the kernel regime were
        # β(0) + B⁻¹Xᵀ(XB⁻¹Xᵀ)⁻¹(y - Xβ(0)).
        u = w / np.linalg.norm(w)
        inverse = np.linalg.inv(np.eye(9) - 0.5 * np.outer(u, u))
        ntk = large.beta0 + inverse @ X.T @ np.linalg.solve(X @ inverse @ X.T, y - X @ large.beta0)
        gaps.append(np.linalg.norm(ib.limit(large, X, y).beta - ntk) / np.linalg.norm(ntk))
    assert 0.005 < np.median(gaps) < 0.2


@pytest.mark.parametrize("m", [2, 10, 1000])
def test_networks_without_a_potential_say_so(m):
    X, y, net = problem(3, 12, m, 9, size=m**-0.5)
    with pytest.raises(ValueError, match="no theorem gives one"):
        net.potential()
    end = ib.limit(net, X, y)
    raw = ib.gradient_flow(net, X, y, method="weights", rtol=1e-12, tol=1e-12)
    assert end.success
    assert gap(raw.beta[-1], end.beta) < 1e-9
    assert end.multipliers is None
    assert end.potential_value is None
    assert end.error_bound is None
    assert "no theorem" in end.message
    assert end.kkt.theorem is None
    assert end.kkt.duality_gap is None
    report = ib.check_kkt(net, X, y, end.beta)
    assert report.satisfied(1e-11)
    # Fits as well, but two neurons cannot go there: their part outside of the span of the samples is fixed.
    null = np.linalg.svd(X)[2][3]
    elsewhere = ib.check_kkt(net, X, y, end.beta + null)
    assert elsewhere.feasibility < 1e-10
    assert (elsewhere.stationarity > 1e-2) == (m == 2)


def test_widths_that_are_folded_follow_the_raw_weights():
    for m in (1, 2, 10, 1000):
        X, y, net = problem(3, 5, m, 10 + m, size=m**-0.5)
        times = np.geomspace(1e-2, 20.0, 6)
        flow, raw = (ib.gradient_flow(net, X, y, times, rtol=1e-12, method=how) for how in ("auto", "weights"))
        assert gap(flow.beta, raw.beta) < 1e-10
        assert gap(flow.parameters.a, raw.parameters.a) < 1e-10
        assert gap(flow.parameters.W, raw.parameters.W) < 1e-10
        assert flow.conserved_quantities().drift.max() < 1e-10
        delta = flow.conserved_quantities().delta
        assert np.abs(delta - (net.a**2 - np.square(net.W).sum(axis=1))).max() < 1e-10


def test_a_very_wide_network_costs_what_a_narrow_one_does():
    X, y, net = problem(10, 40, 20_000, 11, size=20_000**-0.5)
    flow = ib.gradient_flow(net, X, y)
    assert flow.success
    assert flow._path.shape[1] == 11 * 11
    # Every w_i moves in the span of the samples alone.
    end = ib.limit(net, X, y)
    assert gap(end.beta, flow.beta[-1]) < 1e-9


# Ends, options, input


def test_zero_weights_are_a_saddle_with_a_remedy():
    X, y = np.eye(2), np.ones(2)
    for net in (
        ib.FullyConnectedNetwork([0.0], [[0.0, 0.0]]),
        ib.FullyConnectedNetwork([0.0, 0.0], np.zeros((2, 2))),
        ib.FullyConnectedNetwork([0.0], [[1.0, -1.0]]),
        ib.FullyConnectedNetwork([1.0], [[-1.0, 0.0]], -3000.0),
    ):
        X1, y1 = (X[:1], y[:1]) if net.log_magnitude else (X, y)
        flow, end = ib.gradient_flow(net, X1, y1), ib.limit(net, X1, y1)
        assert flow.status == end.status == "saddle"
        assert not flow.success
        assert not end.success
        assert "move the start" in flow.message
        assert "move the start" in end.message
    with pytest.raises(ValueError, match="a must not be 0"):
        ib.FullyConnectedNetwork([0.0], [[1.0, -1.0]]).potential()


def test_the_flow_into_the_saddle_of_one_feature():
    net = ib.FullyConnectedNetwork([1.0], [[1.0]])
    flow, end = ib.gradient_flow(net, [[1.0]], [-1.0]), ib.limit(net, [[1.0]], [-1.0])
    assert flow.status == end.status == "saddle"
    assert abs(flow.beta[-1, 0]) < 1e-9


def test_targets_out_of_reach_are_least_squares():
    random = np.random.default_rng(12)
    X, y = random.standard_normal((7, 3)), random.standard_normal(7)
    least = np.linalg.lstsq(X, y)[0]
    for net in (
        ib.FullyConnectedNetwork([0.5], random.standard_normal((1, 3))),
        ib.FullyConnectedNetwork([0.5, 1.0], random.standard_normal((2, 3))),
    ):
        flow, end = ib.gradient_flow(net, X, y), ib.limit(net, X, y)
        assert flow.status == end.status == "least_squares"
        assert gap(end.beta, least) < 1e-12
        assert gap(flow.beta[-1], least) < 1e-10


def test_observables_are_those_of_the_rows():
    X, y, _ = problem(3, 6, 1, 13)
    net = ib.FullyConnectedNetwork.from_scale_shape(np.ones(6), scale=0.1, shape=0.2)
    flow = ib.gradient_flow(net, X, y, [0.0, 0.1, 1.0], observables=("potential", "distance", "residual"))
    Q, end = net.potential(), ib.limit(net, X, y).beta
    for k, beta in enumerate(flow.beta):
        assert flow.observables["potential"][k] == pytest.approx(Q.bregman(beta, net.beta0), rel=1e-9, abs=1e-14)
        assert flow.observables["distance"][k] == pytest.approx(np.linalg.norm(beta - end), rel=1e-12)
        assert flow.observables["residual"][k] == pytest.approx(np.abs(y - X @ beta).max(), rel=1e-9)
    assert np.diff([Q.bregman(end, beta) for beta in flow.beta]).max() < 0.0
    many = problem(3, 6, 2, 13)[2]
    with pytest.raises(ValueError, match="no theorem gives one for these 2 neurons"):
        ib.gradient_flow(many, X, y, [1.0], observables=("potential",))
    assert np.isinf(ib.gradient_flow(many, X, y, [1.0]).distance_bound()).all()


def test_the_answer_is_the_same_on_any_number_of_threads_and_pickles():
    X, y, net = problem(30, 400, 500, 14, size=0.05)
    one, two = (ib.gradient_flow(net, X, y, [0.01, 0.1], n_jobs=jobs) for jobs in (1, 2))
    assert (one.beta == two.beta).all()
    assert (one.loss == two.loss).all()
    again = pickle.loads(pickle.dumps(one))
    assert (again.parameters.a == one.parameters.a).all()
    paths = ib.limit_path([net, ib.FullyConnectedNetwork([1.0], X[:1])], X, y)
    assert paths.beta.shape == (2, 400)
    assert paths.multipliers is None


def test_log_scale_is_a_unit_of_time():
    X, y, _ = problem(2, 4, 1, 15)
    net = ib.FullyConnectedNetwork.from_scale_shape(np.ones(4), log_scale=-10.0)
    same = ib.FullyConnectedNetwork(net.a, net.W, net.log_magnitude)
    flows = [ib.gradient_flow(n, X, y, [0.5, 1.0], time_unit="log_scale").beta for n in (net, same)]
    assert gap(flows[0], flows[1]) < 1e-8
    assert gap(flows[0], ib.gradient_flow(net, X, y, [5.0, 10.0]).beta) < 1e-8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [[1.0]]), "a must"),
        (([1.0], [1.0]), "W must"),
        (([1.0], [[1.0], [2.0]]), "W must have 1 rows, one for every entry of a: got 2"),
        (([math.nan], [[1.0]]), "a must"),
        (([1.0], [[math.inf]]), "W must"),
        (([1.0], [[1.0]], 1e13), "log_magnitude must"),
        (([1.0], [[1.0]], math.nan), "log_magnitude must"),
        ((["x"], [[1.0]]), "a must"),
    ],
)
def test_bad_weights_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        ib.FullyConnectedNetwork(*arguments)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"orientation": [0.0, 0.0]}, "orientation must not be 0"),
        ({"scale": None}, "scale"),
        ({"log_scale": 0.0}, "scale"),
        ({"scale": -1.0}, "scale must"),
        ({"shape": 1.0}, r"shape must be in \(-1, 1\)"),
        ({"shape": math.nan}, "shape must"),
        ({"sign": 0}, "sign must"),
        ({"scale": None, "log_scale": 1e13}, "log_magnitude|log_scale"),
    ],
)
def test_bad_scales_and_shapes_are_named(changes, message):
    arguments = {"orientation": [1.0, 2.0], "scale": 1.0, "shape": 0.0, "sign": 1, "log_scale": None}
    with pytest.raises(ValueError, match=message):
        ib.FullyConnectedNetwork.from_scale_shape(**{**arguments, **changes})


def test_weights_that_no_float_holds_are_refused_where_they_are_needed():
    X, y, net = problem(2, 3, 2, 16)
    with pytest.raises(ValueError, match=r"log_magnitude must be such that .*'weights'"):
        ib.gradient_flow(ib.FullyConnectedNetwork(net.a, net.W, -2000.0), X, y, method="weights")
    for huge in (ib.FullyConnectedNetwork(net.a, net.W, 1e6), ib.FullyConnectedNetwork([1.0], [[3.0, 0.0, 0.0]], 1e6)):
        with pytest.raises(ValueError, match="log_magnitude must be such that the squares"):
            ib.gradient_flow(huge, X, y)
        with pytest.raises(ValueError, match="log_magnitude must be such that the squares"):
            ib.limit(huge, X, y)
