"""Flows with a proven error: no bound is below the truth, bounds are near to it, and what cannot be proven is said.

Truths are 25-digit Taylor series (`reference.trajectory`), the golden trajectories, and, for sizes that no series
reaches in seconds, runs in double-double, or a run at rtol 1e-14 whose own bound is added.
"""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import implicit_bias as ib
import reference
from bitwise import same
from random_problems import random_problem

NAMES = ("u_plus", "v_plus", "u_minus", "v_minus")
RTOLS = (1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 1e-13)


def assert_bounds_hold(flow, truth):
    """Every coefficient of every row is within its bound; the last digits of the truth do not matter."""
    assert flow.error_bound.shape == flow.beta.shape
    assert not np.isnan(flow.error_bound).any()
    assert (flow.error_bound >= 0.0).all()
    for beta, bound, exact in zip(flow.beta, flow.error_bound, truth, strict=True):
        errors = np.array([float(e) for e in reference.errors(beta, exact)])
        assert (errors <= bound).all(), f"{errors} above {bound}"


# ------------------------------------------------------------------------------------------------ never below the truth


@given(st.integers(0, 10**6), st.sampled_from(RTOLS))
@example(1, 1e-7)  # correlated
@example(3, 1e-5)  # scaled columns
@example(4, 1e-9)  # parallel rows
@example(17, 1e-5)  # biased
@example(25, 1e-7)  # one-sided
@settings(max_examples=15, deadline=None)
def test_no_bound_is_below_the_error_on_data_that_are_hard(seed, rtol):
    problem = random_problem(seed)
    net, options = problem.network(), {"max_steps": 3000, "certify": True}
    whole = ib.gradient_flow(net, problem.X, problem.y, rtol=1e-6, max_steps=3000)
    times = whole.t[-1] * np.array([1e-3, 0.1, 0.5, 0.9, 1.0, 3.0])
    tight = ib.gradient_flow(net, problem.X, problem.y, times, rtol=1e-14, **options)
    flow = ib.gradient_flow(net, problem.X, problem.y, times, rtol=rtol, **options)
    rows = min(len(tight.t), len(flow.t))
    error = np.abs(flow.beta[:rows] - tight.beta[:rows])
    assert not np.isnan(flow.error_bound).any()
    assert (error <= (flow.error_bound[:rows] + tight.error_bound[:rows]) * (1.0 + 1e-15)).all()


@pytest.mark.parametrize("log_scale", [0.0, -30.0, -690.0])
def test_no_bound_is_below_the_error_from_scale_one_to_1e_minus_300(log_scale):
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((2, 4)), np.array([1.0, -0.7])
    net = ib.DiagonalNetwork.from_scale_shape(4, log_scale=log_scale, shape=0.2)
    start = reference.start_from_scale_shape(4, log_scale=log_scale, shape=0.2)
    growth = 2.0 * np.abs(X.T @ y).max() / 2
    times = (2.0 - log_scale) / growth * np.array([0.5, 0.9, 1.0, 1.05])
    truth = [point.beta for point in reference.trajectory(X, y, start, times.tolist())]
    for rtol in (1e-4, 1e-8, 1e-12):
        flow = ib.gradient_flow(net, X, y, times, rtol=rtol, certify=True)
        assert_bounds_hold(flow, truth)
        # And they say something: a bound of all of the largest coefficient would not.
        assert flow.error_bound.max() < 0.01 * np.abs(flow.beta).max()


@pytest.mark.parametrize("method", ["auto", "radau", "explicit", "weights"])
def test_golden_trajectories_of_every_method_are_within_their_bounds(golden, method):
    for case in golden("diagonal_trajectories"):
        if method == "weights" and case["log_parameter_scale"] < -300.0:
            continue
        u, v = np.array(case["u"]), np.array(case["v"])
        net = ib.DiagonalNetwork(u, v, u, v, log_magnitude=case["log_parameter_scale"])
        t = [point["t"] for point in case["points"]]
        flow = ib.gradient_flow(net, case["X"], case["y"], t, rtol=1e-8, method=method, certify=True)
        assert_bounds_hold(flow, [point["beta"] for point in case["points"]])


# ----------------------------------------------------------------------------------------------------- and near to it


@pytest.fixture(scope="module")
def regression():
    return ib.datasets.sparse_regression(20, 100, 5, seed=1)


def true_errors(flow, net, X, y):
    """|computed - true| to 26 digits: the rows against those of a run in double-double."""
    exact = ib.gradient_flow(net, X, y, flow.t, precision="double-double", rtol=1e-26, max_steps=20000)
    return np.abs((flow.beta - exact.beta) - exact.beta_low)


def assert_sharp(flow, error):
    """Within 5 in the median and 100 at worst of errors above 1e-10 of the largest coefficient; how many these are."""
    assert (error <= flow.error_bound).all()
    seen = error > 1e-10 * np.abs(flow.beta).max()
    ratio = flow.error_bound[seen] / error[seen]
    assert not ratio.size or (np.median(ratio) < 5.0 and ratio.max() < 100.0), (np.median(ratio), ratio.max())
    return ratio.size


@pytest.mark.parametrize("scale", [1e-2, 1e-12, 1e-60, 1e-100])
def test_bounds_are_within_5_of_the_error_in_the_median_and_100_at_worst(regression, scale):
    net = ib.DiagonalNetwork.from_scale_shape(100, scale=scale)
    end = ib.gradient_flow(net, regression.X, regression.y).t[-1]
    times = np.geomspace(1e-3 * end, end, 40)
    counted = 0
    for rtol in (1e-4, 1e-6, 1e-8):
        flow = ib.gradient_flow(net, regression.X, regression.y, times, rtol=rtol, certify=True)
        counted += assert_sharp(flow, true_errors(flow, net, regression.X, regression.y))
    assert counted > 100


def test_bounds_of_a_hundred_samples_and_a_thousand_features_are_as_sharp():
    data = ib.datasets.sparse_regression(100, 1000, 5, seed=1)
    net = ib.DiagonalNetwork.from_scale_shape(1000, scale=1e-12)
    end = ib.gradient_flow(net, data.X, data.y).t[-1]
    flow = ib.gradient_flow(net, data.X, data.y, np.geomspace(1e-3 * end, end, 20), rtol=1e-5, certify=True)
    assert assert_sharp(flow, true_errors(flow, net, data.X, data.y)) > 20


@pytest.mark.parametrize("kind", ["correlated", "biased", "one-sided", "per coordinate", "square", "dependent rows"])
def test_bounds_are_as_sharp_on_data_and_starts_of_every_kind(kind):
    rng = np.random.default_rng(11)
    X = rng.standard_normal((6, 14) if kind != "square" else (14, 14))
    if kind == "correlated":
        X = X @ np.linalg.cholesky(0.99 ** np.abs(np.subtract.outer(np.arange(14), np.arange(14)))).T
    beta = rng.uniform(0.3, 1.5, 14)
    y = X @ beta
    if kind == "dependent rows":
        X, y = X[[0, 1, 2, 3, 4, 5, 0]], y[[0, 1, 2, 3, 4, 5, 0]]
    weights = {name: rng.uniform(0.5, 1.5, 14) for name in NAMES}
    if kind == "one-sided":  # u+ = v+ and u- = -v-: B = 0, and beta stays above 0, as the targets allow
        weights["v_plus"], weights["v_minus"] = weights["u_plus"], -weights["u_minus"]
    plain = ib.DiagonalNetwork.from_scale_shape(14, scale=1e-10)
    net = {
        "biased": ib.DiagonalNetwork(**weights, log_magnitude=-8.0),
        "one-sided": ib.DiagonalNetwork(**weights, log_magnitude=-8.0),
        "per coordinate": ib.DiagonalNetwork.from_scale_shape(14, log_scale=rng.uniform(-40.0, -10.0, 14)),
    }.get(kind, plain)
    end = ib.gradient_flow(net, X, y).t[-1]
    counted = 0
    for rtol in (1e-4, 1e-7):
        flow = ib.gradient_flow(net, X, y, np.geomspace(1e-4 * end, end, 30), rtol=rtol, certify=True)
        counted += assert_sharp(flow, true_errors(flow, net, X, y))
    assert counted > 20


@pytest.mark.parametrize("scale", [1e-12, 1e-100])
def test_a_bound_of_1e_minus_11_is_met_at_small_scales(regression, scale):
    net = ib.DiagonalNetwork.from_scale_shape(100, scale=scale)
    flow = ib.gradient_flow(net, regression.X, regression.y, certify=1e-11)
    assert flow.success
    assert flow.error_bound.max() <= 1e-11 * np.abs(flow.beta).max()
    assert (true_errors(flow, net, regression.X, regression.y) <= flow.error_bound).all()


def test_rows_that_are_interpolated_have_bounds_as_well(regression):
    net = ib.DiagonalNetwork.from_scale_shape(100, scale=1e-6)
    flow = ib.gradient_flow(net, regression.X, regression.y, certify=True)
    exact = ib.gradient_flow(net, regression.X, regression.y, flow.t, rtol=1e-14, certify=True)
    assert (np.abs(flow.beta - exact.beta) <= flow.error_bound + exact.error_bound).all()
    assert flow.success
    assert flow.error_bound.max() < 1e-6 * np.abs(flow.beta).max()


# ------------------------------------------------------------------------------------------------------- every problem


def _cases():
    rng = np.random.default_rng(8)
    X, y = rng.standard_normal((3, 6)), rng.standard_normal(3)
    tall, left = rng.standard_normal((8, 3)), rng.standard_normal(8)
    weights = rng.uniform(0.5, 1.5, (4, 6))
    stuck = weights.copy()
    stuck[:, 2] = 0.0
    one_sided = weights.copy()
    one_sided[1], one_sided[3] = one_sided[0], -one_sided[2]
    free = {"log_scale": -6.0, "shape": 0.3}
    return {
        "more samples than features": (tall, left, free),
        "dependent rows": (X[[0, 1, 2, 0]], np.append(y, y[0]), free),
        "contradicting rows": (X[[0, 1, 2, 0]], np.append(y, y[0] + 1.0), free),
        "targets of 0": (X, np.zeros(3), free),
        "coordinates that never move": (X, y, dict(zip(NAMES, stuck, strict=True))),
        "signs out of reach": (X, -np.abs(y), dict(zip(NAMES, one_sided, strict=True))),
        "huge data": (1e120 * X, 1e-130 * y, {"log_scale": -600.0, "shape": 0.0}),
    }  # fmt: skip


@pytest.mark.parametrize("name", _cases())
def test_bounds_hold_whatever_the_problem(name):
    X, y, arguments = _cases()[name]
    d = X.shape[1]
    given_by_scale = "log_scale" in arguments
    net = ib.DiagonalNetwork.from_scale_shape(d, **arguments) if given_by_scale else ib.DiagonalNetwork(**arguments)
    start = (reference.start_from_scale_shape(d, **arguments) if given_by_scale else
             reference.start_from_weights(**arguments))  # fmt: skip
    unit = 1.0 / (np.abs(X).max() * max(np.abs(y).max(), np.abs(X).max() * 1e-250))
    times = np.array([0.0, 0.1, 1.0, 5.0, 20.0]) * unit
    if name == "targets of 0":
        times = np.array([0.0, 1.0, 10.0])
    truth = [point.beta for point in reference.trajectory(X, y, start, times.tolist())]
    for rtol in (1e-4, 1e-10):
        flow = ib.gradient_flow(net, X, y, times, rtol=rtol, certify=True)
        assert_bounds_hold(flow, truth)
        assert np.isfinite(flow.error_bound).all()


def test_rows_long_after_convergence_are_bounded_by_what_is_left():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((3, 6)), rng.standard_normal(3)
    net = ib.DiagonalNetwork.from_scale_shape(6, scale=0.1)
    flow = ib.gradient_flow(net, X, y, [10.0, 1e4, 1e10, 1e300], certify=True)
    limit = ib.limit(net, X, y)
    assert flow.success
    # At 1e4 and later the flow is at its limit to all digits.
    error = np.abs(flow.beta[1:] - limit.beta)
    assert (error <= flow.error_bound[1:] + limit.error_bound).all()
    assert flow.error_bound.max() < 1e-9


@pytest.mark.parametrize("shape", [(8, 3), (12, 5), (6, 6)])
def test_bounds_do_not_grow_with_time_where_the_limit_is_known(shape):
    # Along the flow they do: what the reduction of N > d rows has rounded is a force that never ends.
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal(shape), rng.standard_normal(shape[0])
    net = ib.DiagonalNetwork.from_scale_shape(shape[1], scale=0.1)
    converged = ib.gradient_flow(net, X, y).t[-1]
    flow = ib.gradient_flow(net, X, y, converged * np.array([1.0, 1e2, 1e6, 1e12]), certify=True)
    limit = ib.limit(net, X, y)
    late = flow.error_bound[1:]
    assert (np.abs(flow.beta[1:] - limit.beta) <= late + limit.error_bound).all()
    assert late.max() < 1e-12 * np.abs(flow.beta).max()
    # Nothing is left but the distance to the limit and the error of that, and a rounding each.
    known = np.abs(flow.beta[-1] - limit.beta) + limit.error_bound
    assert (late[-1] <= known * (1.0 + 1e-12) + 1e-15 * np.abs(limit.beta)).all()


# ----------------------------------------------------------------------------------------------------------- a target


def test_a_wanted_bound_is_met_by_a_lower_tolerance(regression):
    net = ib.DiagonalNetwork.from_scale_shape(100, scale=1e-6)
    end = ib.gradient_flow(net, regression.X, regression.y).t[-1]
    times = np.geomspace(1e-3 * end, end, 20)
    plain = ib.gradient_flow(net, regression.X, regression.y, times, rtol=1e-3, certify=True)
    assert plain.error_bound.max() > 1e-8 * np.abs(plain.beta).max()
    flow = ib.gradient_flow(net, regression.X, regression.y, times, rtol=1e-3, certify=1e-8)
    assert flow.success
    assert flow.error_bound.max() <= 1e-8 * np.abs(flow.beta).max()


def test_a_wanted_bound_is_met_at_times_that_the_flow_has_chosen(regression):
    net = ib.DiagonalNetwork.from_scale_shape(100, scale=1e-6)
    flow = ib.gradient_flow(net, regression.X, regression.y, rtol=1e-5, certify=1e-9)
    assert flow.success
    assert flow.status == "converged"
    assert flow.t.shape == (200,)
    assert flow.error_bound.max() <= 1e-9 * np.abs(flow.beta).max()


def test_a_bound_that_cannot_be_met_says_what_was_reached(regression):
    net = ib.DiagonalNetwork.from_scale_shape(100, scale=1e-30)
    flow = ib.gradient_flow(net, regression.X, regression.y, certify=1e-14)
    assert not flow.success
    assert "certify=1e-14" in flow.message
    assert "rtol=" in flow.message
    assert "raise certify" in flow.message
    reached = flow.error_bound.max() / np.abs(flow.beta).max()
    assert f"{reached:.2g}" in flow.message


def test_targets_of_zero_meet_any_bound():
    net = ib.DiagonalNetwork.from_scale_shape(2, scale=0.1)
    flow = ib.gradient_flow(net, [[1.0, 2.0]], [0.0], certify=1e-14)
    assert flow.success


# ------------------------------------------------------------------------------------------------------- in the package


def test_without_certify_there_is_no_bound():
    net = ib.DiagonalNetwork.from_scale_shape(2, scale=0.1)
    assert ib.gradient_flow(net, [[1.0, 2.0]], [2.0]).error_bound is None


@pytest.mark.parametrize("bad", ["yes", None, 0.0, -1e-8, 1.0, math.nan, math.inf, 1e-15, [1e-8]])
def test_a_certify_that_means_nothing_is_refused_by_name(bad):
    net = ib.DiagonalNetwork.from_scale_shape(2, scale=0.1)
    with pytest.raises(ValueError, match=r"certify must be True, False or a number in \[1e-14, 0.1\]"):
        ib.gradient_flow(net, [[1.0, 2.0]], [2.0], certify=bad)


@pytest.mark.parametrize("certify", [True, 1e-8])
def test_networks_without_a_theorem_are_refused_by_name(certify):
    neuron = ib.FullyConnectedNetwork.from_scale_shape([1.0, 0.0], scale=0.1)
    leaky = ib.LeakyReLUNetwork.from_scale_shape([1.0, 0.0], scale=0.1)
    for net in (neuron, leaky):
        with pytest.raises(ValueError, match=f"certify must be False for a {type(net).__name__}"):
            ib.gradient_flow(net, [[1.0, 2.0]], [2.0], certify=certify)
        assert ib.gradient_flow(net, [[1.0, 2.0]], [2.0], certify=False).error_bound is None


def test_with_the_last_row_alone_there_is_one_bound(regression):
    net = ib.DiagonalNetwork.from_scale_shape(100, scale=1e-3)
    whole = ib.gradient_flow(net, regression.X, regression.y, certify=True)
    last = ib.gradient_flow(net, regression.X, regression.y, certify=True, save_beta=False)
    assert last.error_bound.shape == (1, 100)
    assert same(last.error_bound[0], whole.error_bound[-1])


def test_the_unit_of_time_changes_no_bound_but_by_its_rounding(regression):
    net = ib.DiagonalNetwork.from_scale_shape(100, scale=1e-12)
    unit = math.log(1e12)
    times = np.geomspace(1.0, 50.0, 8)
    plain = ib.gradient_flow(net, regression.X, regression.y, unit * times, rtol=1e-6, certify=True)
    scaled = ib.gradient_flow(net, regression.X, regression.y, times, rtol=1e-6, certify=True, time_unit="log_scale")
    np.testing.assert_allclose(scaled.error_bound, plain.error_bound, rtol=1e-3, atol=1e-10)


def test_the_bounds_are_the_same_bits_for_any_number_of_threads(regression):
    net = ib.DiagonalNetwork.from_scale_shape(100, scale=1e-9)
    one, two = (ib.gradient_flow(net, regression.X, regression.y, certify=True, n_jobs=k) for k in (1, 2))
    assert same(one.error_bound, two.error_bound)


def test_seconds_that_run_out_before_the_proof_are_said(regression):
    net = ib.DiagonalNetwork.from_scale_shape(100, scale=1e-200)
    flow = ib.gradient_flow(net, regression.X, regression.y, certify=True, max_seconds=0.02)
    assert not flow.success
    assert flow.status == "max_seconds"
    assert flow.error_bound.shape == flow.beta.shape
    assert np.isinf(flow.error_bound[-1]).all()
