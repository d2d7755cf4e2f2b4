"""Leaky-ReLU networks: golden trajectories, laws of the sliding flow, its end, its KKT conditions."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import implicit_bias as ib
from bitwise import same

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "leaky_relu_trajectories.json").read_text())["cases"]


def sigma(p, slope):
    return np.maximum(p, slope * p)


def outputs(net, X, a, W):
    return sigma(X @ W.T, net.slope) @ a


def random_problem(seed):
    """The 200 problems of the benchmark: N = 4, d = 6, slope 0.2."""
    rng = np.random.default_rng(seed)
    X, y, u = rng.standard_normal((4, 6)), rng.standard_normal(4), rng.standard_normal(6)
    scale, shape, sign = 10.0 ** rng.uniform(-3, 0), rng.uniform(0.0, 0.9), rng.choice([-1, 1])
    return ib.LeakyReLUNetwork.from_scale_shape(u, scale=scale, shape=shape, slope=0.2, sign=int(sign)), X, y


def closed_form(net, X, y):
    """THEORY section 3 with the targets y/1 or y/rho, written out."""
    sign = math.copysign(1.0, net.a[0])
    target = np.where(sign * y >= 0, y, y / net.slope)
    w0 = net.W[0]
    inverse = np.linalg.pinv(X)
    b, free = inverse @ target, w0 - inverse @ (X @ w0)
    kappa = net.a[0] ** 2 - w0 @ w0 + free @ free
    a = sign * np.sqrt((kappa + np.hypot(kappa, 2 * np.linalg.norm(b))) / 2)
    return b + a * free


@pytest.mark.parametrize("method", ["auto", "radau", "explicit", "weights"])
@pytest.mark.parametrize("case", range(len(GOLDEN)))
def test_states_and_events_are_those_of_the_golden_file(method, case):
    case = GOLDEN[case]
    net = ib.LeakyReLUNetwork.from_scale_shape(
        case["orientation"], scale=case["scale"], shape=case["shape"], slope=case["slope"]
    )
    times = [float(point["t"]) for point in case["points"]]
    flow = ib.gradient_flow(net, case["X"], case["y"], t=times, rtol=1e-13, method=method)
    assert flow.success
    assert [(e.sample, e.kind) for e in flow.events] == [(e["sample"], e["kind"]) for e in case["events"]]
    for event, expected in zip(flow.events, case["events"], strict=True):
        assert abs(event.time - float(expected["t"])) <= 2e-11
    for a, w, beta, point in zip(*flow.parameters, flow.beta, case["points"], strict=True):
        exact_a, exact_w = float(point["a"]), np.array(point["w"], dtype=float)
        assert abs(a[0] - exact_a) <= 1e-11 * abs(exact_a)
        assert np.linalg.norm(w[0] - exact_w) <= 1e-11 * np.linalg.norm(exact_w)
        assert np.linalg.norm(beta - exact_a * exact_w) <= 1e-11 * np.linalg.norm(exact_a * exact_w)


def test_two_hundred_random_flows_converge_to_the_closed_form_in_few_evaluations_and_few_events():
    evaluations, slides = [], 0
    for seed in range(200):
        net, X, y = random_problem(seed)
        flow = ib.gradient_flow(net, X, y, rtol=1e-12)
        assert flow.status == "converged", seed
        # One neuron has four kinks: dozens of events would be chattering.
        assert len(flow.events) <= 20, seed
        exact = closed_form(net, X, y)
        # The residual is 1e-12 of the targets; the least singular value of such an X is seldom below 0.02.
        assert np.linalg.norm(flow.beta[-1] - exact) <= 1e-10 * np.linalg.norm(exact), seed
        # Rows of automatic times are interpolated inside steps, all but the last.
        drift = flow.conserved_quantities().drift
        assert drift[-1] <= 1e-11
        assert drift.max() <= 1e-7
        evaluations.append(flow.stats["rhs"])
        slides += any(event.kind == "starts_sliding" for event in flow.events)
    assert np.median(evaluations) <= 3000
    assert slides >= 50


def test_limit_and_its_kkt_conditions_hold_for_random_problems():
    for seed in range(40):
        net, X, y = random_problem(seed)
        end = ib.limit(net, X, y)
        assert end.success
        assert np.linalg.norm(end.beta - closed_form(net, X, y)) <= 1e-12 * np.linalg.norm(end.beta)
        report = ib.check_kkt(net, X, y, end.beta)
        assert report.satisfied(1e-10)
        assert report.theorem == "Azulay et al. 2021, Theorem 4"
        assert np.array_equal(report.slopes, np.where(net.a[0] * y > 0, 1.0, 0.2))
        a = math.copysign(1.0, net.a[0]) * np.sqrt(
            np.hypot(np.linalg.norm(end.beta), net._delta() / 2) + net._delta() / 2
        )
        moved = 1.5 * math.copysign(1.0, a) * (end.beta / a - net.W[0])
        pull = X.T @ (report.multipliers * report.slopes)
        assert np.linalg.norm(moved - pull) <= 1e-10 * np.linalg.norm(moved)
        assert not ib.check_kkt(net, X, y, 1.01 * end.beta).satisfied(1e-3)


def test_a_wide_network_agrees_with_its_raw_weights_and_conserves_what_it_should():
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((40, 100)), rng.standard_normal(40)
    net = ib.LeakyReLUNetwork(0.3 * rng.standard_normal(10), 0.03 * rng.standard_normal((10, 100)), slope=0.05)
    times = [0.5, 2.0, 5.0]
    flow = ib.gradient_flow(net, X, y, t=times, rtol=1e-11)
    raw = ib.gradient_flow(net, X, y, t=times, rtol=1e-11, method="weights")
    assert len(flow.events) > 30
    assert [(e.neuron, e.sample, e.kind) for e in flow.events] == [(e.neuron, e.sample, e.kind) for e in raw.events]
    assert np.abs(flow.beta - raw.beta).max() <= 1e-8 * np.abs(flow.beta).max()
    moved = flow.parameters.W[-1] - net.W
    outside = moved.T - X.T @ np.linalg.lstsq(X.T, moved.T, rcond=None)[0]
    assert np.linalg.norm(outside) <= 1e-12 * np.linalg.norm(moved)
    end = ib.gradient_flow(net, X, y)
    assert end.status == "converged"
    a, W = (rows[-1] for rows in end.parameters)
    assert np.abs(y - outputs(net, X, a, W)).max() <= 2e-12 * np.abs(y).max()
    assert end.conserved_quantities().drift.max() <= 1e-8


def test_events_come_in_the_order_of_time_neuron_and_sample():
    rng = np.random.default_rng(8)
    X, y = rng.standard_normal((6, 8)), rng.standard_normal(6)
    net = ib.LeakyReLUNetwork([0.5, 0.5, -0.4], [[0.1] * 8, [0.1] * 8, [-0.2] * 8], slope=0.1)
    events = ib.gradient_flow(net, X, y, t=[20.0]).events
    keys = [(e.time, e.neuron, e.sample) for e in events]
    assert keys == sorted(keys)
    # Two neurons that are the same stay the same: their events come in pairs, at one time.
    first, second = ([(e.time, e.sample, e.kind) for e in events if e.neuron == i] for i in (0, 1))
    assert first
    assert first == second


def test_a_repeated_sample_is_one_of_twice_the_weight():
    # (x, y1), (x, y2) pull as one sample (x√2, (y1 + y2)/√2) does, over N samples instead of N - 1.
    slid = 0
    for seed in range(60):
        net, X, y = random_problem(seed)
        twice, targets = np.vstack([X, X[1]]), np.append(y, y[1] - 0.7 * np.sign(net.a[0]))
        once, merged = X.copy(), y.copy()
        once[1] *= math.sqrt(2.0)
        merged[1] = (y[1] + targets[4]) / math.sqrt(2.0)
        both = ib.gradient_flow(net, twice, targets, t=[1.0, 30.0], rtol=1e-12)
        one = ib.gradient_flow(net, once, merged, t=[0.8, 24.0], rtol=1e-12)
        assert np.abs(both.beta - one.beta).max() <= 1e-9 * np.abs(one.beta).max(), seed
        kinds = [(e.kind, e.time) for e in both.events if e.sample == 1]
        assert kinds == [(e.kind, e.time) for e in both.events if e.sample == 4]
        slid += any(kind == "starts_sliding" for kind, _ in kinds)
    assert slid >= 3


@pytest.mark.parametrize("between", [0.0, 0.5, -0.5])
def test_samples_that_arrive_together_are_one_decision_at_one_time(between):
    # Two samples that nothing tells apart; a rotation lets their rounding errors differ.
    X = np.array([[1.0, between, 0.0], [between, 1.0, 0.0], [0.3, 0.3, 1.0]])
    turn = np.linalg.qr(np.random.default_rng(4).standard_normal((3, 3)))[0]
    kinds = set()
    for y in ([-1.0, -1.0, 2.0], [-1.0, -1.0, -0.1], [-0.3, -0.3, 3.0], [-0.2, -0.2, 6.0]):
        net = ib.LeakyReLUNetwork([0.8], [turn @ [0.4, 0.4, 0.1]], slope=0.2)
        flow = ib.gradient_flow(net, X @ turn.T, y, rtol=1e-12)
        assert flow.success
        first, second = ([(e.time, e.kind) for e in flow.events if e.sample == n] for n in (0, 1))
        assert first == second
        kinds |= {kind for _, kind in first}
        p = (flow.parameters.W[-1, 0] @ turn) @ X.T
        assert abs(p[0] - p[1]) <= 1e-11 * np.abs(p).max()
    # Where they pull each other on, they cross at once.
    assert kinds >= ({"crosses"} if between < 0 else {"starts_sliding", "stops_sliding_negative"})


def test_hidden_weights_of_zero_lie_on_every_kink():
    # All samples pull the same way and repel: every one leaves to its positive side.
    X, y = np.array([[1.0, 0.2], [0.8, 0.9]]), np.array([1.0, 2.0])
    net = ib.LeakyReLUNetwork([1.0], np.zeros((1, 2)), slope=0.2)
    flow = ib.gradient_flow(net, X, y, t=[1e-3])
    assert flow.success
    assert (X @ flow.parameters.W[-1, 0] > 0).all()
    # With targets of either sign in one dimension both sides are consistent.
    both = ib.gradient_flow(ib.LeakyReLUNetwork([1.0], [[0.0]], slope=0.2), [[1.0], [-1.0]], [1.0, 1.0])
    assert both.status == "ambiguous"


def smoothed(net, X, y, t, width):
    """The flow with the kink smoothed, by SciPy, in raw weights."""
    (n, d), m = X.shape, net.a.size

    def velocity(_, state):
        a, W = state[:m], state[m:].reshape(m, d)
        p = W @ X.T
        step = 0.5 * (1 + np.tanh(p / width))
        slopes = net.slope + (1 - net.slope) * step
        value = net.slope * p + (1 - net.slope) * 0.5 * (
            p + width * np.logaddexp(p / width, -p / width) - width * math.log(2)
        )
        # d/dp [(p + width ln cosh(p/width))/2] is the step above.
        r = y - a @ value
        return np.concatenate([value @ r, (a[:, None] * ((slopes * r) @ X)).ravel()]) / n

    start = np.concatenate([net.a, net.W.ravel()])
    run = solve_ivp(velocity, (0, t), start, method="LSODA", rtol=1e-10, atol=1e-12)
    return run.y[:m, -1], run.y[m:, -1].reshape(m, d)


@pytest.mark.parametrize("antipodal", [False, True])
def test_the_flow_with_a_smoothed_kink_converges_to_it_with_the_width(antipodal):
    rng = np.random.default_rng(17)
    X, y = rng.standard_normal((5, 6)), rng.standard_normal(5)
    if antipodal:
        X[4] = -X[0]
    net = ib.LeakyReLUNetwork(0.5 * rng.standard_normal(3), 0.4 * rng.standard_normal((3, 6)), slope=0.2)
    flow = ib.gradient_flow(net, X, y, t=[6.0], rtol=1e-12)
    assert any(e.kind == "starts_sliding" for e in flow.events)
    a, W = (rows[-1] for rows in flow.parameters)
    errors = []
    for width in (1e-2, 1e-3, 1e-4):
        near_a, near_W = smoothed(net, X, y, 6.0, width)
        errors.append(np.linalg.norm(near_a - a) + np.linalg.norm(near_W - W))
    orders = np.log10(np.divide(errors[:-1], errors[1:]))
    assert (np.abs(orders - 1) < 0.3).all(), errors


def test_slope_one_is_the_linear_neuron():
    net, X, y = random_problem(3)
    linear = ib.LeakyReLUNetwork(net.a, net.W, slope=1.0)
    flow = ib.gradient_flow(linear, X, y)
    exact = linear.potential().interpolate(X, y).beta
    assert flow.events == ()
    assert np.abs(flow.beta[-1] - exact).max() <= 1e-11 * np.abs(exact).max()
    assert np.abs(ib.limit(linear, X, y).beta - exact).max() <= 1e-13 * np.abs(exact).max()


def test_an_output_weight_that_changes_its_sign_is_seen_and_not_guessed():
    # delta < 0, and the data want the other sign.
    X, y = np.array([[1.0, 0.2]]), np.array([1.0])
    net = ib.LeakyReLUNetwork([-0.1], [[1.0, 0.3]], slope=0.5)
    flow = ib.gradient_flow(net, X, y, rtol=1e-12)
    assert flow.status == "converged"
    assert flow.parameters.a[0, 0] < 0 < flow.parameters.a[-1, 0]
    end = ib.limit(net, X, y)
    assert end.success
    assert np.abs(end.beta - flow.beta[-1]).max() <= 1e-10
    assert ib.check_kkt(net, X, y, end.beta).satisfied(1e-10)


def test_a_start_on_a_kink_slides_where_both_sides_push_back():
    # x_1 w = 0 and a r_1 < 0; the other sample pulls along x_1 with a force between the two slopes.
    X, y = np.array([[1.0, 0.0], [0.5, 1.0]]), np.array([-1.0, 1.0])
    net = ib.LeakyReLUNetwork([1.0], [[0.0, 0.1]], slope=0.2)
    flow = ib.gradient_flow(net, X, y, t=[0.0, 0.1], rtol=1e-12)
    assert (flow.events[0].kind, flow.events[0].sample, flow.events[0].time) == ("starts_sliding", 0, 0.0)
    assert abs(flow.parameters.W[-1, 0, 0]) <= 1e-15


def test_a_start_on_a_kink_leaves_to_the_side_that_the_velocity_says():
    X, y = np.array([[1.0, 0.0], [3.0, 1.0]]), np.array([0.1, 1.0])
    net = ib.LeakyReLUNetwork([1.0], [[0.0, 0.1]], slope=0.2)
    flow = ib.gradient_flow(net, X, y, t=[0.1])
    assert flow.success
    assert flow.parameters.W[-1, 0, 0] > 0
    assert flow.events == ()


def test_a_start_on_a_kink_that_repels_to_both_sides_is_ambiguous():
    # Both one-sided velocities lead away: v = (r_1 c_1 x_1 + r_2 x_2) x_1, r_1 = 1, r_2 x_1 x_2 = -0.5.
    X, y = np.array([[1.0, 0.0], [-0.5, 1.0]]), np.array([1.0, 1.1])
    net = ib.LeakyReLUNetwork([1.0], [[0.0, 0.1]], slope=0.2)
    flow = ib.gradient_flow(net, X, y)
    assert flow.status == "ambiguous"
    assert not flow.success
    assert "side" in flow.message
    assert not ib.limit(ib.LeakyReLUNetwork([1.0, 0.0], np.vstack([net.W, net.W]), 0.2), X, y).success


def test_a_relu_sample_that_no_neuron_sees_ends_at_a_saddle_with_the_rest_fitted():
    X, y = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, 1.0])
    net = ib.LeakyReLUNetwork([1.0], [[0.5, -0.5]], slope=0.0)
    flow = ib.gradient_flow(net, X, y)
    assert flow.status == "saddle"
    assert not flow.success
    a, W = (rows[-1] for rows in flow.parameters)
    # A run that rests ends when what weights could still fit is 1e-10 of the residual.
    assert np.abs(y - outputs(net, X, a, W) - [0.0, 1.0]).max() <= 1e-10
    dead = ib.limit(net, X, y)
    assert dead.status == "saddle"


def test_weights_that_are_zero_rest_at_a_saddle():
    net = ib.LeakyReLUNetwork([0.0, 0.0], np.zeros((2, 3)), slope=0.1)
    flow = ib.gradient_flow(net, np.eye(3), [1.0, 2.0, -1.0])
    assert flow.status == "saddle"
    assert not flow.beta.any()


def test_more_samples_than_features_end_at_a_least_squares_point():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((12, 3)), rng.standard_normal(12)
    net = ib.LeakyReLUNetwork.from_scale_shape(rng.standard_normal(3), scale=0.1, shape=0.5, slope=0.3)
    flow = ib.gradient_flow(net, X, y)
    assert flow.status == "least_squares"
    a, W = (rows[-1] for rows in flow.parameters)
    p = X @ W[0]
    off = np.abs(p) > 1e-9
    r = y - a[0] * sigma(p, 0.3)
    pull = X[off].T @ (r * np.where(p > 0, 1, 0.3))[off]
    # Stationary in the sense of Clarke: some slopes in [0.3, 1] of the samples on their kinks make the gradient 0.
    held = X[~off].T * r[~off]
    slopes = np.linalg.lstsq(held, -pull, rcond=None)[0] if held.size else np.zeros(0)
    assert np.linalg.norm(pull + held @ slopes) <= 1e-10 * np.linalg.norm(X.T * r)
    assert ((slopes >= 0.3 - 1e-9) & (slopes <= 1 + 1e-9)).all()


def test_a_vanishing_start_is_an_ordinary_one():
    for seed in range(20):
        net, X, y = random_problem(seed)
        tiny = ib.LeakyReLUNetwork.from_scale_shape(
            net.W[0], log_scale=-11513.0, shape=net.shape, slope=0.2, sign=int(np.sign(net.a[0]))
        )
        flow = ib.gradient_flow(tiny, X, y)
        assert flow.status == "converged", seed
        end = ib.limit(tiny, X, y)
        exact = np.linalg.pinv(X) @ np.where(net.a[0] * y > 0, y, 5 * y)
        assert np.linalg.norm(end.beta - exact) <= 1e-12 * np.linalg.norm(exact)
        assert np.linalg.norm(flow.beta[-1] - exact) <= 1e-10 * np.linalg.norm(exact)


def test_where_floats_can_hold_a_small_start_its_logarithm_says_the_same():
    for seed in range(10):
        net, X, y = random_problem(seed)
        sign = int(np.sign(net.a[0]))
        plain = ib.LeakyReLUNetwork.from_scale_shape(net.W[0], scale=1e-100, shape=0.5, slope=0.2, sign=sign)
        logarithmic = ib.LeakyReLUNetwork.from_scale_shape(
            net.W[0], log_scale=math.log(1e-100), shape=0.5, slope=0.2, sign=sign
        )
        here, there = (ib.gradient_flow(each, X, y, rtol=1e-12) for each in (plain, logarithmic))
        assert [(e.sample, e.kind) for e in here.events] == [(e.sample, e.kind) for e in there.events]
        for one, other in zip(here.events, there.events, strict=True):
            assert abs(one.time - other.time) <= 1e-10 * one.time
        # The closed form of the escape against steps all the way.
        raw = ib.gradient_flow(plain, X, y, t=[here.t[100], here.t[-1]], method="weights", rtol=1e-12)
        exact = ib.gradient_flow(plain, X, y, t=[here.t[100], here.t[-1]], rtol=1e-12)
        assert np.linalg.norm(raw.beta - exact.beta, axis=1) == pytest.approx(0, abs=1e-6 * np.abs(exact.beta).max())


def test_units_of_data_and_targets_are_units():
    net, X, y = random_problem(11)
    flow = ib.gradient_flow(net, X, y, t=[0.5, 5.0, 50.0])
    # x → 2^300 x, y → 2^-200 y, weights → 2^-250: f → 2^-200 f, time in units of 2^-100.
    other = ib.LeakyReLUNetwork(np.ldexp(net.a, -250), np.ldexp(net.W, -250), slope=0.2)
    there = ib.gradient_flow(other, np.ldexp(X, 300), np.ldexp(y, -200), t=np.ldexp([0.5, 5.0, 50.0], -100))
    assert np.array_equal(np.ldexp(there.beta, 500), flow.beta)
    assert [e.time for e in flow.events] == [math.ldexp(e.time, 100) for e in there.events]


def test_the_answer_does_not_depend_on_the_number_of_threads():
    net, X, y = random_problem(1)
    one, two = (ib.gradient_flow(net, X, y, n_jobs=n) for n in (1, 2))
    assert same(one.beta, two.beta)
    assert one.events == two.events
    assert same(ib.limit(net, X, y, n_jobs=1).beta, ib.limit(net, X, y, n_jobs=2).beta)


def test_budgets_end_a_run_with_their_status():
    net, X, y = random_problem(3)
    events = ib.gradient_flow(net, X, y).events
    assert len(events) >= 2
    few = ib.gradient_flow(net, X, y, max_events=1)
    assert few.status == "max_events"
    assert few.events == events[:1]
    assert ib.gradient_flow(net, X, y, max_steps=2).status == "max_steps"


def test_targets_that_are_zero_or_already_met():
    net, X, _ = random_problem(4)
    there = ib.gradient_flow(net, X, outputs(net, X, net.a, net.W))
    assert there.status in ("converged", "roundoff_floor")
    assert np.abs(there.beta[-1] - net.beta0).max() <= 1e-14
    zero = ib.gradient_flow(net, X, np.zeros(4))
    assert zero.success


def test_a_segment_without_events_costs_at_most_twice_a_smooth_problem():
    rng = np.random.default_rng(3)
    # Nearly orthogonal samples: every pre-activation goes to its own target, and all of them are positive.
    X = 5 * (np.linalg.qr(rng.standard_normal((100, 20)))[0].T + 0.002 * rng.standard_normal((20, 100)))
    y, u = 0.5 + rng.random(20), np.linalg.pinv(X) @ np.ones(20)
    kinked = ib.LeakyReLUNetwork.from_scale_shape(u, scale=0.1, shape=0.3, slope=0.2)
    smooth = ib.LeakyReLUNetwork.from_scale_shape(u, scale=0.1, shape=0.3, slope=1.0)
    for method in ("auto", "explicit"):
        one, other = (ib.gradient_flow(net, X, y, t=[30.0], method=method) for net in (kinked, smooth))
        assert one.events == ()
        assert one.stats["rhs"] <= 2 * other.stats["rhs"]
        assert np.abs(one.beta - other.beta).max() <= 1e-9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [[1.0]], -0.1), r"slope must be in \[0, 1\]"),
        (([1.0], [[1.0]], 1.5), r"slope must be in \[0, 1\]"),
        (([1.0], [[1.0]], math.nan), "slope must be"),
        (([], [[1.0]], 0.5), "a must not be empty"),
        (([1.0, 2.0], [[1.0]], 0.5), "W must have 2 rows, one for every entry of a: got 1"),
        (([1.0], [1.0], 0.5), "W must be an array of shape"),
        (([math.inf], [[1.0]], 0.5), "a must"),
        (([1.0], [[1.0]], 0.5, 701.0), r"log_magnitude must be in \[-1e\+12, 700\]"),
    ],
)
def test_bad_weights_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        ib.LeakyReLUNetwork(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"orientation": [0.0, 0.0], "scale": 1.0}, "orientation must not be 0: a direction is needed"),
        ({"orientation": [1.0]}, "exactly one of scale and log_scale"),
        ({"orientation": [1.0], "scale": -1.0}, "scale must be"),
        ({"orientation": [1.0], "scale": 1.0, "shape": 1.0}, r"shape must be in \(-1, 1\)"),
        ({"orientation": [1.0], "scale": 1.0, "sign": 2}, "sign must be 1 or -1"),
        ({"orientation": [1.0], "scale": 1.0, "slope": 2.0}, r"slope must be in \[0, 1\]"),
    ],
)
def test_bad_scales_and_shapes_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        ib.LeakyReLUNetwork.from_scale_shape(**arguments)


def test_what_no_theorem_gives_is_refused():
    net = ib.LeakyReLUNetwork([1.0, 1.0], [[1.0], [2.0]], slope=0.5)
    with pytest.raises(ValueError, match="no theorem gives"):
        net.potential()
    with pytest.raises(ValueError, match="check_kkt"):
        ib.check_kkt(net, [[1.0]], [1.0], [1.0])
    with pytest.raises(ValueError, match="1e-150"):
        ib.gradient_flow(ib.LeakyReLUNetwork([1.0], [[1.0]], 0.5, -1e4), [[1.0]], [1.0], method="weights")
