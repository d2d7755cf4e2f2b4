"""Leaky-ReLU networks in double-double: golden digits, closed forms, events, laws, and what is refused."""

import json
import math
import re
from pathlib import Path

import mpmath
import numpy as np
import pytest

import implicit_bias as ib
from bitwise import same

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "leaky_relu_trajectories.json").read_text())["cases"]


def exact_flow(net, X, y, t=None, **options):
    return ib.gradient_flow(net, X, y, t, precision="double-double", **options)


def exact_limit(net, X, y, **options):
    return ib.limit(net, X, y, precision="double-double", **options)


def distance(found, truth):
    """Largest error of exact numbers, relative to the largest of the truth."""
    with mpmath.workdps(60):
        truth = [mpmath.mpf(str(value)) if not isinstance(value, mpmath.mpf) else value for value in truth]
        return float(max(abs(a - b) for a, b in zip(found, truth, strict=True)) / max(map(abs, truth)))


def one_neuron(seed):
    """N = 4, d = 6, slope 0.2, by its weights: a problem whose flow must interpolate."""
    rng = np.random.default_rng(seed)
    X, y, u = rng.standard_normal((4, 6)), rng.standard_normal(4), rng.standard_normal(6)
    scale, shape, sign = 10.0 ** rng.uniform(-3, 0), rng.uniform(0.1, 0.9), rng.choice([-1, 1])
    return ib.LeakyReLUNetwork.from_scale_shape(u, scale=scale, shape=shape, slope=0.2, sign=int(sign)), X, y


def three_neurons(seed, n_samples=5, n_features=7):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n_samples, n_features)), rng.standard_normal(n_samples)
    net = ib.LeakyReLUNetwork(0.5 * rng.standard_normal(3), 0.4 * rng.standard_normal((3, n_features)), slope=0.2)
    return net, X, y


def sequence(flow):
    return [(event.sample, event.neuron, event.kind) for event in flow.events]


def test_states_have_all_the_printed_digits_of_the_golden_file():
    slides = 0
    for case in GOLDEN:
        net = ib.LeakyReLUNetwork.from_scale_shape(
            case["orientation"], scale=case["scale"], shape=case["shape"], slope=case["slope"]
        )
        times = [float(point["t"]) for point in case["points"]]
        flow = exact_flow(net, case["X"], case["y"], times)
        assert flow.success
        slides += sum(event.kind == "starts_sliding" for event in flow.events)
        for row, point in zip(flow.to_mpmath(), case["points"], strict=True):
            with mpmath.workdps(60):
                a = mpmath.mpf(str(point["a"]))
                truth = [a * mpmath.mpf(str(w)) for w in point["w"]]
            # a and w are printed to 22 digits.
            assert distance(row, truth) <= 2e-21
    assert slides >= 3


def test_the_end_of_one_neuron_is_its_closed_form_to_twenty_seven_digits():
    slid = 0
    for seed in range(20):
        net, X, y = one_neuron(seed)
        flow, end = exact_flow(net, X, y), exact_limit(net, X, y)
        assert flow.status == "converged", seed
        assert distance(flow.to_mpmath()[-1], end.to_mpmath()) <= 1e-27, seed
        slid += any(event.kind == "starts_sliding" for event in flow.events)
    assert slid >= 5


def test_events_are_those_of_binary64_at_the_same_times():
    seen = 0
    for seed in range(12):
        net, X, y = three_neurons(seed) if seed % 2 else one_neuron(seed)
        plain, exact = ib.gradient_flow(net, X, y, t=[20.0], rtol=1e-12), exact_flow(net, X, y, t=[20.0])
        assert sequence(plain) == sequence(exact), seed
        for a, b in zip(plain.events, exact.events, strict=True):
            assert abs(a.time - b.time) <= 1e-9 * b.time, seed
        assert np.abs(plain.beta - exact.beta).max() <= 1e-9 * np.abs(exact.beta).max()
        seen += len(exact.events)
    assert seen >= 40


PROBLEMS = [
    (three_neurons, 0),
    (three_neurons, 3),
    (three_neurons, 4),
    (three_neurons, 5),
    (one_neuron, 2),
    (one_neuron, 4),
]


def test_the_error_is_proportional_to_the_tolerance_through_crossings_and_slides():
    # At a time at which the fastest mode has not yet died out: beyond, a stiffly accurate method is at times far better
    # than it was asked to be, which makes slopes of single problems noise.
    tolerances, slid = 10.0 ** np.arange(-24.0, -11.0, 2.0), 0
    for make, seed in PROBLEMS:
        problem = make(seed)
        runs = [exact_flow(*problem, t=[3.0], rtol=rtol) for rtol in tolerances]
        best = exact_flow(*problem, t=[3.0], rtol=1e-29)
        assert all(sequence(run) == sequence(best) for run in runs)
        slid += any(event.kind == "starts_sliding" for event in best.events)
        errors = [distance(run.to_mpmath()[-1], best.to_mpmath()[-1]) for run in runs]
        slope = np.polyfit(np.log(tolerances), np.log(errors), 1)[0]
        assert 0.8 <= slope <= 1.2, (make, seed, slope, errors)
    assert slid >= 4


def test_times_of_events_converge_with_the_tolerance():
    tolerances, worst = (1e-5, 1e-7, 1e-9, 1e-11, 1e-14), np.zeros(5)
    for make, seed in PROBLEMS:
        problem = make(seed)
        best = [event.time for event in exact_flow(*problem, t=[3.0]).events]
        for k, rtol in enumerate(tolerances):
            times = [event.time for event in exact_flow(*problem, t=[3.0], rtol=rtol).events]
            worst[k] = max(worst[k], np.abs(np.divide(times, best) - 1.0).max())
    # They are told in binary64; where a kink is approached at a small angle they are worse than the state by it.
    assert (worst <= 10.0 * np.array(tolerances) + 2.0**-51).all(), worst
    assert worst[0] > 1e-9 > 1e2 * worst[3]


@pytest.mark.parametrize("scale", [1e-12, 1e-100])
def test_vanishing_starts_end_in_the_closed_form(scale):
    for seed in range(4):
        net, X, y = one_neuron(seed)
        tiny = ib.LeakyReLUNetwork.from_scale_shape(
            net.W[0], scale=scale, shape=net.shape, slope=0.2, sign=int(np.sign(net.a[0]))
        )
        flow = exact_flow(tiny, X, y)
        assert flow.status == "converged"
        assert distance(flow.to_mpmath()[-1], exact_limit(tiny, X, y).to_mpmath()) <= 1e-27


def test_ends_of_several_neurons_fit_to_thirty_digits_and_agree_with_binary64():
    for seed in range(4):
        net, X, y = three_neurons(seed)
        plain, end = ib.limit(net, X, y), exact_limit(net, X, y)
        assert end.success
        assert end.kkt.feasibility <= 1e-29
        assert end.kkt.stationarity <= 1e-29
        assert np.abs(end.beta - plain.beta).max() <= 1e-9 * np.abs(plain.beta).max()
        assert end.beta_low.shape == end.beta.shape
        assert end.beta_low.any()
        flow = exact_flow(net, X, y)
        assert distance(flow.to_mpmath()[-1], end.to_mpmath()) <= 1e-26
        with pytest.raises(ValueError, match="net must be one neuron for check_kkt: got 3"):
            ib.check_kkt(net, X, y, end.beta, precision="double-double")


def test_a_neuron_that_changes_the_sign_of_its_output_weight_ends_in_the_closed_form_it_is_seen_to():
    # delta < 0, and the data want the other sign.
    net, X, y = ib.LeakyReLUNetwork([-0.1], [[1.0, 0.3]], slope=0.5), np.array([[1.0, 0.2]]), np.array([1.0])
    end = exact_limit(net, X, y)
    assert end.success
    assert end.n_iter > 0
    flow = exact_flow(net, X, y)
    assert flow.parameters.a[0, 0] < 0 < flow.parameters.a[-1, 0]
    assert distance(flow.to_mpmath()[-1], end.to_mpmath()) <= 1e-27
    assert ib.check_kkt(net, X, y, (end.beta, end.beta_low), precision="double-double").satisfied(1e-27)


def test_relu_and_least_squares_ends_have_thirty_digits_too():
    X, y = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, -0.3])
    relu = ib.LeakyReLUNetwork([1.0], [[0.5, -0.5]], slope=0.0)
    end = exact_limit(relu, X, y)
    assert end.status == "saddle"
    assert end.kkt.backward_error[1] == y[1]
    # A run that rests ends when what weights could still fit is 4e-26 of the residual.
    assert abs(end.kkt.backward_error[0]) <= 4e-26
    assert end.kkt.feasibility == pytest.approx(0.3, rel=1e-15)
    assert end.kkt.stationarity <= 4e-26
    moved = ib.check_kkt(relu, X, y, (end.beta, end.beta_low + 1e-22), precision="double-double")
    assert 1e-24 <= moved.stationarity <= 1e-20
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((12, 3)), rng.standard_normal(12)
    net = ib.LeakyReLUNetwork.from_scale_shape(rng.standard_normal(3), scale=0.1, shape=0.5, slope=0.3)
    plain, exact = ib.limit(net, X, y), exact_limit(net, X, y)
    assert plain.status == exact.status == "least_squares"
    assert np.abs(plain.beta - exact.beta).max() <= 1e-8 * np.abs(exact.beta).max()


def test_duplicates_and_antipodes_share_their_kink_at_one_time():
    shared = 0
    for seed in range(10):
        net, X, y = one_neuron(seed)
        twins = np.vstack([X, X[1], -2.0 * X[2]])
        targets = np.append(y, [y[1] - 0.7 * np.sign(net.a[0]), 0.4])
        plain = ib.gradient_flow(net, twins, targets, t=[1.0, 20.0], rtol=1e-12)
        flow = exact_flow(net, twins, targets, t=[1.0, 20.0])
        assert flow.success
        assert sequence(flow) == sequence(plain), seed
        for one, other in ((1, 4), (2, 5)):
            times = [[event.time for event in flow.events if event.sample == n] for n in (one, other)]
            assert times[0] == times[1]
            shared += len(times[0])
    assert shared >= 10


def test_samples_that_arrive_together_are_one_decision():
    # Two samples that nothing tells apart, exactly: no rotation, whose rounding thirty digits would see.
    X = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.25, 0.25, 1.0]])
    for y in ([-1.0, -1.0, 2.0], [-0.3, -0.3, 3.0]):
        net = ib.LeakyReLUNetwork([0.8], [[0.4, 0.4, 0.1]], slope=0.2)
        flow = exact_flow(net, X, y)
        assert flow.success
        first, second = ([(e.time, e.kind) for e in flow.events if e.sample == n] for n in (0, 1))
        assert first
        assert first == second


def test_every_array_has_its_low_part_and_the_high_part_is_the_nearest_float():
    net, X, y = one_neuron(1)
    wanted = ["loss", "residual", "l1_norm", "l2_norm", "max_norm", "potential"]
    flow = exact_flow(net, X, y, t=[0.0, 1.0, 30.0], observables=wanted)
    pairs = [(flow.beta, flow.beta_low), (flow.loss, flow.loss_low)]
    pairs += [(flow.observables[name], flow.observables_low[name]) for name in wanted]
    for high, low in pairs:
        assert high.shape == low.shape
        assert (np.abs(low) <= 0.5 * np.spacing(np.abs(high))).all()
        assert low[1:].any()
    with mpmath.workdps(40):
        largest = max(map(abs, flow.to_mpmath()[1]))
        assert abs(flow.to_mpmath("max_norm")[1] - largest) <= 1e-30 * largest
        assert flow.observables["potential"][0] <= 1e-60
    plain = ib.gradient_flow(net, X, y, t=[0.0, 1.0, 30.0], observables=wanted, rtol=1e-12)
    for name in wanted:
        assert flow.observables[name][1] == pytest.approx(plain.observables[name][1], rel=1e-8), name
    # What the flow minimises: D(beta, beta(0)) at the end is the value that the limit has.
    end = exact_limit(net, X, y)
    last = exact_flow(net, X, y, observables=["potential"]).to_mpmath("potential")[-1]
    assert abs(last / end.to_mpmath("potential_value") - 1) <= 1e-26


def test_targets_and_weights_may_be_given_beyond_binary64():
    net, X, _ = one_neuron(2)
    decimals = ["0.1", "-0.7", "0.3", "1.1"]
    flow, end = exact_flow(net, X, decimals), exact_limit(net, X, decimals)
    assert distance(flow.to_mpmath()[-1], end.to_mpmath()) <= 1e-27
    rounded = exact_flow(net, X, [float(text) for text in decimals])
    assert 1e-19 <= distance(flow.to_mpmath()[-1], rounded.to_mpmath()[-1]) <= 1e-15


def test_rows_budgets_and_units_are_those_of_binary64():
    net, X, y = three_neurons(3)
    full = exact_flow(net, X, y)
    assert full.status == "converged"
    assert full.t.shape == (200,)
    assert full.t[0] == 0.0
    few = exact_flow(net, X, y, save_beta=False, observables=["l2_norm"])
    assert same(few.beta, full.beta[-1:])
    assert same(few.beta_low, full.beta_low[-1:])
    assert exact_flow(net, X, y, max_steps=3).status == "max_steps"
    assert exact_flow(net, X, y, max_events=1).status == "max_events"
    assert exact_flow(net, X, y, max_seconds=1e-6).status == "max_seconds"
    small = ib.LeakyReLUNetwork.from_scale_shape([1.0, 2.0], scale=0.01, slope=0.2)
    unit = -math.log(0.01)
    a = exact_flow(small, [[1.0, 0.5]], [1.0], t=[2.0], time_unit="log_scale")
    b = exact_flow(small, [[1.0, 0.5]], [1.0], t=[2.0 * unit])
    # The product with the unit is exact in the one and rounded in the other.
    assert distance(a.to_mpmath()[0], b.to_mpmath()[0]) <= 1e-15


def test_progress_is_told_and_its_errors_end_the_run():
    net, X, y = three_neurons(1)
    told = []
    exact_flow(net, X, y, progress=told.append)
    assert told[-1].fraction == 1.0

    def refuse(_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        exact_flow(net, X, y, progress=refuse)


def test_one_and_two_threads_give_the_same_bits():
    net, X, y = three_neurons(5, n_samples=8, n_features=12)
    one, two = (exact_flow(net, X, y, n_jobs=n) for n in (1, 2))
    for name in ("t", "beta", "beta_low", "loss", "loss_low", "events"):
        assert same(getattr(one, name), getattr(two, name)), name
    assert same(exact_limit(net, X, y, n_jobs=1), exact_limit(net, X, y, n_jobs=2))


def test_methods_agree_with_each_other():
    net, X, y = one_neuron(7)
    times = [0.5, 3.0]
    radau = exact_flow(net, X, y, times, rtol=1e-18, method="radau")
    explicit = exact_flow(net, X, y, times, rtol=1e-18, method="explicit")
    assert sequence(radau) == sequence(explicit)
    assert distance(radau.to_mpmath()[-1], explicit.to_mpmath()[-1]) <= 1e-16


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            {"method": "weights"},
            "method must be 'auto', 'radau' or 'explicit' with precision 'double-double': got 'weights'",
        ),
        ({"observables": ["distance"]}, "observables must be without 'distance' with precision 'double-double'"),
        ({"rtol": 1e-31}, "rtol must be in [1e-30, 0.1] (1e-30 is the floor of double-double precision): got 1e-31"),
        ({"tol": 1e-32}, "tol must be in [1e-31, 0.1] (1e-31 is the round-off of y): got 1e-32"),
        ({"certify": True}, "certify must be False for a LeakyReLUNetwork"),
        ({"y": ["a", 1.0, 1.0, 1.0]}, "y must"),
    ],
)
def test_what_is_not_there_is_refused_by_name(options, says):
    net, X, y = one_neuron(0)
    given = {"y": y} | options
    with pytest.raises(ValueError, match=f"^{re.escape(says)}"):
        exact_flow(net, X, **given)
