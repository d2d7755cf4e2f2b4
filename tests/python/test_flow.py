"""Trajectories: independent roads agree, what the flow conserves stays, and every way of stopping is the stated one."""

import math
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import implicit_bias as ib
import reference

U = 2.0**-53
DUAL_METHODS = ("auto", "radau", "explicit")


def gaussian_problem(seed=0, n_samples=4, d=10):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_samples, d)), rng.standard_normal(n_samples)


def biased_network(seed, d, log_magnitude=0.0):
    rng = np.random.default_rng(seed)
    return ib.DiagonalNetwork(*rng.uniform(0.3, 1.5, (4, d)), log_magnitude=log_magnitude)


# ---------------------------------------------------------------------------------------------- independent roads


@pytest.mark.parametrize("method", [*DUAL_METHODS, "weights"])
@pytest.mark.parametrize("log_magnitude", [0.5, -2.0, -8.0])
def test_every_method_ends_in_the_limit(method, log_magnitude):
    X, y = gaussian_problem()
    net = biased_network(1, 10, log_magnitude)
    flow = ib.gradient_flow(net, X, y, method=method, rtol=1e-12)
    assert flow.success, flow.message
    limit = ib.limit(net, X, y)
    # tol = 1e-12 of max|y| is left as a residual; beta is off by S X^T (X S X^T)^-1 r, with S <= 2|beta| + kappa.
    # The raw weights leave the manifold of conserved quantities by their accumulated local errors as well.
    S = np.hypot(2 * limit.beta, np.exp(net.log_kappa))
    amplification = np.abs((S[:, None] * X.T) @ np.linalg.inv((X * S) @ X.T)).sum(1).max()
    tolerance = amplification * 1e-12 * np.abs(y).max() + (1e-9 if method == "weights" else 1e-11)
    np.testing.assert_allclose(flow.beta[-1], limit.beta, atol=tolerance * max(1.0, np.abs(limit.beta).max()), rtol=0)


def scipy_dual_flow(X, y, net, times, method):
    """nu' = (y - X beta(X^T nu))/N by SciPy at its tightest: independent of every line of the package but the start."""
    log_p, log_m = (
        np.log(part) + 2 * float(net.log_magnitude) - math.log(4)
        for part in (
            (net.u_plus + net.v_plus) ** 2 + (net.u_minus - net.v_minus) ** 2,
            (net.u_plus - net.v_plus) ** 2 + (net.u_minus + net.v_minus) ** 2,
        )
    )
    n = len(y)

    def sides(nu):
        z = 2 * (X.T @ nu)
        return np.exp(log_p + z), np.exp(log_m - z)

    def rhs(_t, nu):
        p, m = sides(nu)
        return (y - X @ (p - m)) / n

    def jacobian(_t, nu):
        p, m = sides(nu)
        return -2 / n * (X * (p + m)) @ X.T

    extra = {"jac": jacobian} if method == "Radau" else {}
    found = solve_ivp(rhs, (0, times[-1]), np.zeros(n), method, t_eval=times, rtol=1e-13, atol=1e-15, **extra)
    assert found.success
    return np.array([np.subtract(*sides(nu)) for nu in found.y.T])


@pytest.mark.parametrize("solver", ["DOP853", "Radau"])
@pytest.mark.parametrize("log_magnitude", [0.0, -3.0, -10.0])
def test_trajectories_agree_with_scipy(solver, log_magnitude):
    X, y = gaussian_problem(2)
    net, times = biased_network(3, 10, log_magnitude), np.array([0.01, 0.3, 2.0, 10.0, 40.0])
    expected = scipy_dual_flow(X, y, net, times, solver)
    # SciPy's global error at rtol 1e-13: the dual flow contracts, so local errors of 1e-13 |nu| + 1e-15 add up over the
    # steps (hundreds for DOP853, up to ten thousand for Radau 5(3)) and act on beta times 2|x||beta|.
    tolerance = 1e-10 if solver == "DOP853" else 1e-8
    for method in DUAL_METHODS:
        flow = ib.gradient_flow(net, X, y, t=times, rtol=1e-13, method=method)
        assert flow.success, flow.message
        for found, row in zip(flow.beta, expected, strict=True):
            np.testing.assert_allclose(found, row, atol=tolerance * max(1.0, np.abs(row).max()), rtol=0)


def test_the_weights_are_where_the_dual_says_at_every_time():
    X, y = gaussian_problem(4)
    net, times = biased_network(5, 10, -1.0), [0.0, 0.1, 1.0, 5.0, 25.0]
    dual = ib.gradient_flow(net, X, y, t=times, rtol=1e-13)
    raw = ib.gradient_flow(net, X, y, t=times, rtol=1e-13, method="weights")
    for a, b in zip(dual.parameters, raw.parameters, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10 * np.abs(b).max(), rtol=0)
    np.testing.assert_allclose(dual.beta, raw.beta, atol=1e-10 * np.abs(raw.beta).max(), rtol=0)


def test_parameters_start_at_the_start_and_multiply_to_beta():
    X, y = gaussian_problem(6)
    for net in (biased_network(7, 10), ib.DiagonalNetwork.from_scale_shape(10, scale=1e-3, shape=-0.7)):
        flow = ib.gradient_flow(net, X, y)
        u_plus, v_plus, u_minus, v_minus = flow.parameters
        magnitude = math.exp(float(np.max(net.log_magnitude)))
        for now, initial in zip(flow.parameters, (net.u_plus, net.v_plus, net.u_minus, net.v_minus), strict=True):
            assert now.shape == flow.beta.shape
            np.testing.assert_allclose(
                now[0], magnitude * initial, atol=8 * U * magnitude * np.abs(initial).max(), rtol=0
            )
        size = u_plus**2 + v_plus**2 + u_minus**2 + v_minus**2
        # four roundings of each weight, and z = 2 X^T nu to (N + 3) u |X|^T|nu|
        z_error = 2 * (len(y) + 3) * U * (np.abs(flow.multipliers) @ np.abs(X))
        product = u_plus * v_plus - u_minus * v_minus
        assert (np.abs(product - flow.beta) <= (16 * U + 4 * z_error) * size + 16 * U * np.abs(flow.beta)).all()


# ------------------------------------------------------------------------------------------------------- invariants


@pytest.mark.parametrize("method", [*DUAL_METHODS, "weights"])
def test_conserved_quantities_are_conserved(method):
    X, y = gaussian_problem(8)
    for log_magnitude in (0.5, -5.0, -60.0):
        net = biased_network(9, 10, log_magnitude)
        flow = ib.gradient_flow(net, X, y, method=method, rtol=1e-12, tol=1e-9)
        assert flow.success, flow.message
        u_plus, v_plus, u_minus, v_minus = flow.parameters
        size = u_plus**2 + v_plus**2 + u_minus**2 + v_minus**2
        rows = (v_plus**2 - u_plus**2, v_minus**2 - u_minus**2, u_plus * u_minus + v_plus * v_minus)
        if method == "weights":
            # Local errors of 1e-12 of the weights, kept from the time when the coordinate was largest.
            allowed = 1e-9 * np.maximum.accumulate(size)
        else:
            # In dual coordinates the weights lie on the conserved manifold by construction. What is left is the
            # rounding of each weight, and of sqrt(A) e^G through its exponent, |ln kappa| and more, times u.
            allowed = 16 * U * (21 + np.abs(net.log_kappa).max()) * (size + size[0])
            drift = flow.conserved_quantities().drift
            assert drift.shape == flow.t.shape
            assert (drift <= 2 * (allowed / size).max(axis=1)).all()
        for quantity in rows:
            assert (np.abs(quantity - quantity[0]) <= allowed).all()


@pytest.mark.parametrize("method", [*DUAL_METHODS, "weights"])
def test_the_loss_never_rises(method):
    for seed, log_magnitude in ((10, 0.0), (11, -4.0), (12, -30.0)):
        X, y = gaussian_problem(seed)
        flow = ib.gradient_flow(biased_network(seed, 10, log_magnitude), X, y, method=method)
        assert flow.success, flow.message
        assert (np.diff(flow.t) > 0).all()
        # Loss is known to |r||dr|/N with dr = u (d + 2)(|X||beta| + |y|), plus what rtol of the state moves r by
        sizes = np.linalg.norm(np.abs(X) @ np.abs(flow.beta).T + np.abs(y)[:, None], axis=0)
        dr = (12 * U + 100 * 1e-10) * sizes
        known = np.sqrt(2 * flow.loss / len(y)) * dr / math.sqrt(len(y)) + dr**2 / len(y)
        assert (np.diff(flow.loss) <= known[:-1] + known[1:]).all()
        np.testing.assert_allclose(
            flow.loss, ((y - flow.beta @ X.T) ** 2).sum(1) / (2 * len(y)), atol=known.max() + 1e-300
        )


def test_the_multipliers_are_the_dual_of_every_row():
    X, y = gaussian_problem(13)
    net = ib.DiagonalNetwork.from_scale_shape(10, scale=1e-2, shape=0.5)
    flow = ib.gradient_flow(net, X, y, rtol=1e-12)
    for beta, nu in zip(flow.beta, flow.multipliers, strict=True):
        # grad Q(beta) = X^T nu for an unbiased start; the gradient amplifies an error of beta by q'' <= 1/kappa
        np.testing.assert_allclose(net.potential().gradient(beta), X.T @ nu, atol=1e-12, rtol=1e-12)


# --------------------------------------------------------------------------------------------------- requested times


def test_without_times_there_are_two_hundred_rows_from_the_start_to_the_stop():
    X, y = gaussian_problem(14)
    net = biased_network(15, 10, -1.0)
    flow = ib.gradient_flow(net, X, y)
    assert flow.success
    assert flow.status == "converged"
    assert flow.t.shape == (200,)
    assert flow.t[0] == 0.0
    np.testing.assert_allclose(flow.beta[0], net.beta0, atol=8 * U * np.abs(net.beta0).max(), rtol=0)
    ratios = flow.t[2:] / flow.t[1:-1]
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-9)
    assert np.abs(y - X @ flow.beta[-1]).max() <= 1e-12 * np.abs(y).max() * 1.01
    before = y - X @ flow.beta[-20]
    assert np.abs(before).max() > 1e-12 * np.abs(y).max()  # it stopped when it was there, not long after


@pytest.mark.parametrize(("n_samples", "n_features"), [(3, 8), (5, 20), (20, 60)])
@pytest.mark.parametrize("log_scale", [-5.0, -27.0, -230.0])
@pytest.mark.parametrize("seed", range(3))
def test_rows_inside_of_steps_are_known_to_six_digits(n_samples, n_features, log_scale, seed):
    # The dense output of a step is that of its collocation polynomial, which nobody has asked for its error.
    random = np.random.default_rng(seed)
    X, y = random.standard_normal((n_samples, n_features)), random.standard_normal(n_samples)
    net = ib.DiagonalNetwork.from_scale_shape(n_features, log_scale=log_scale)
    chosen = ib.gradient_flow(net, X, y)
    asked = ib.gradient_flow(net, X, y, chosen.t, rtol=1e-12)
    error, size = np.abs(chosen.beta - asked.beta).max(axis=1), np.abs(asked.beta).max(axis=1)
    assert (error <= 2e-6 * np.maximum.accumulate(size) + 1e-300).all()
    # The last is the end of a step.
    assert error[-1] <= 1e-9 * size[-1]


def test_every_requested_time_has_its_row_also_after_convergence():
    X, y = gaussian_problem(16)
    net, times = biased_network(17, 10), [0.0, 1e-6, 1.0, 1e3, 1e9, 1e300]
    flow = ib.gradient_flow(net, X, y, t=times)
    assert flow.success, flow.message
    np.testing.assert_array_equal(flow.t, times)
    limit = ib.limit(net, X, y).beta
    for row in flow.beta[3:]:
        np.testing.assert_allclose(row, limit, atol=1e-9 * np.abs(limit).max(), rtol=0)


def test_rows_do_not_depend_on_which_other_times_are_asked_for():
    X, y = gaussian_problem(18)
    net = biased_network(19, 10, -2.0)
    few = ib.gradient_flow(net, X, y, t=[3.0, 30.0], rtol=1e-12).beta
    many = ib.gradient_flow(net, X, y, t=np.linspace(0.0, 30.0, 301), rtol=1e-12)
    # dense output carries an error of its own, of the order of rtol, and steps may be cut at the last time
    np.testing.assert_allclose(many.beta[[30, 300]], few, atol=1e-9 * np.abs(few).max(), rtol=0)


def test_time_zero_alone_is_the_start():
    X, y = gaussian_problem(20)
    net = biased_network(21, 10)
    flow = ib.gradient_flow(net, X, y, t=[0.0])
    assert flow.success
    np.testing.assert_allclose(flow.beta, [net.beta0], atol=8 * U * np.abs(net.beta0).max(), rtol=0)


def test_a_tighter_tolerance_gives_a_smaller_error():
    X, y = gaussian_problem(22)
    net, times = biased_network(23, 10, -1.0), [0.5, 2.0, 8.0]
    start = reference.start_from_weights(net.u_plus, net.v_plus, net.u_minus, net.v_minus, -1.0)
    truth = reference.trajectory(X, y, start, times)
    for method in DUAL_METHODS:
        errors = []
        for rtol in (1e-4, 1e-7, 1e-10, 1e-13):
            flow = ib.gradient_flow(net, X, y, t=times, rtol=rtol, method=method)
            errors.append(max(reference.relative_error(b, p.beta) for b, p in zip(flow.beta, truth, strict=True)))
            assert errors[-1] <= 100 * rtol + 1e-12, (method, rtol)
        assert errors[2] < 1e-3 * max(errors[0], 1e-6)  # it is the tolerance that decides, not luck


# ----------------------------------------------------------------------------------------------- statuses, budgets


def test_zero_targets_and_interpolating_starts_take_no_steps():
    X, _ = gaussian_problem(24)
    interpolating = biased_network(25, 10)
    for net, targets in (
        (ib.DiagonalNetwork.from_scale_shape(10, scale=1e-3), np.zeros(4)),
        (interpolating, X @ interpolating.beta0),
    ):
        flow = ib.gradient_flow(net, X, targets)
        assert flow.success
        assert flow.stats["accepted"] == 0
        np.testing.assert_allclose(flow.beta[-1], net.beta0, atol=8 * U * np.abs(net.beta0).max(), rtol=0)


def test_status_converged_says_that_nothing_is_to_do():
    X, y = gaussian_problem(26)
    flow = ib.gradient_flow(biased_network(27, 10), X, y)
    assert flow.status == "converged"
    assert flow.success
    assert flow.message


def test_status_reached_end_before_convergence():
    X, y = gaussian_problem(28)
    flow = ib.gradient_flow(biased_network(29, 10), X, y, t=[0.1, 0.2])
    assert flow.status == "reached_end"
    assert flow.success
    assert flow.loss[-1] > 1e-6


def test_status_roundoff_floor_when_tol_cannot_be_reached():
    # Twenty sums of two hundred products: no binary64 beta makes all of them right to 1e-16 of the largest target.
    X, y = gaussian_problem(30, 20, 200)
    net = ib.DiagonalNetwork.from_scale_shape(200, scale=1e-20)
    for found in (ib.gradient_flow(net, X, y, tol=1e-16), ib.limit(net, X, y, tol=1e-16)):
        assert found.status == "roundoff_floor"
        assert found.success


def test_status_least_squares_with_more_samples_than_features():
    X, y = gaussian_problem(31, 12, 4)
    for scale in (1.0, 1e-6):
        net = ib.DiagonalNetwork.from_scale_shape(4, scale=scale, shape=0.3)
        flow = ib.gradient_flow(net, X, y)
        assert flow.status == "least_squares"
        assert flow.success
        expected = np.linalg.lstsq(X, y, rcond=None)[0]
        np.testing.assert_allclose(flow.beta[-1], expected, atol=1e-10 * np.abs(expected).max(), rtol=0)
        assert flow.multipliers.shape == (200, 12)


def test_more_samples_than_features_follow_the_same_flow_as_the_weights():
    X, y = gaussian_problem(32, 12, 4)
    net, times = biased_network(33, 4, -1.0), [0.1, 1.0, 5.0]
    dual = ib.gradient_flow(net, X, y, t=times, rtol=1e-13)
    raw = ib.gradient_flow(net, X, y, t=times, rtol=1e-13, method="weights")
    np.testing.assert_allclose(dual.beta, raw.beta, atol=1e-10 * np.abs(raw.beta).max(), rtol=0)


def test_status_infeasible_sign():
    u = np.full(3, 0.5)
    net, X, y = ib.DiagonalNetwork(u, u, 0 * u, 0 * u), [[1.0, 0.5, 0.2]], [-1.0]  # beta >= 0, and only -1 would do
    flow = ib.gradient_flow(net, X, y, t=[1.0, 10.0, 100.0])
    assert flow.success
    assert (flow.beta >= 0).all()
    assert (np.diff(flow.beta, axis=0) < 0).all()
    for end in (ib.gradient_flow(net, X, y), ib.limit(net, X, y)):
        assert end.status == "infeasible_sign"
        assert end.success
    np.testing.assert_allclose(ib.gradient_flow(net, X, y).beta[-1], 0.0, atol=1e-10)


def test_a_dead_coordinate_stays_at_zero_and_disturbs_nothing():
    # All four weights of a coordinate zero: its gradient is zero for ever, as if the column were not there.
    X, y = gaussian_problem(45)
    weights = np.random.default_rng(46).uniform(0.3, 1.5, (4, 10))
    weights[:, [2, 7]] = 0.0
    alive = np.delete(np.arange(10), [2, 7])
    flow = ib.gradient_flow(ib.DiagonalNetwork(*weights), X, y, t=[0.5, 5.0], rtol=1e-12)
    expected = ib.gradient_flow(ib.DiagonalNetwork(*weights[:, alive]), X[:, alive], y, t=[0.5, 5.0], rtol=1e-12)
    np.testing.assert_array_equal(flow.beta[:, [2, 7]], 0.0)
    np.testing.assert_allclose(flow.beta[:, alive], expected.beta, atol=1e-10, rtol=0)
    limit = ib.limit(ib.DiagonalNetwork(*weights), X, y)
    assert limit.status == "converged"
    np.testing.assert_array_equal(limit.beta[[2, 7]], 0.0)


def test_status_saddle_when_every_coordinate_is_dead():
    X, y = gaussian_problem(47)
    net = ib.DiagonalNetwork(*np.zeros((4, 10)))
    for found in (ib.gradient_flow(net, X, y), ib.limit(net, X, y)):
        assert found.status == "saddle"
        assert not found.success
    np.testing.assert_array_equal(ib.limit(net, X, y).beta, 0.0)


@pytest.mark.parametrize("method", [*DUAL_METHODS, "weights"])
def test_status_max_steps_keeps_the_rows_that_were_reached(method):
    X, y = gaussian_problem(34)
    net, times = biased_network(35, 10, -3.0), np.geomspace(1e-3, 1e4, 200)
    complete = ib.gradient_flow(net, X, y, t=times, method=method)
    flow = ib.gradient_flow(net, X, y, t=times, method=method, max_steps=5)
    assert flow.status == "max_steps"
    assert not flow.success
    assert flow.stats["accepted"] + flow.stats["rejected"] <= 5
    assert 0 < len(flow.t) < len(times)
    np.testing.assert_array_equal(flow.t, times[: len(flow.t)])
    np.testing.assert_allclose(flow.beta, complete.beta[: len(flow.t)], atol=1e-8, rtol=0)
    assert len(flow.beta) == len(flow.loss) == len(flow.t)


def test_status_max_seconds():
    X, y = gaussian_problem(36, 40, 400)
    net = biased_network(37, 400, -200.0)
    began = time.perf_counter()
    flow = ib.gradient_flow(net, X, y, method="explicit", max_seconds=0.2)  # stiff: explicit steps take minutes
    assert flow.status == "max_seconds"
    assert not flow.success
    assert time.perf_counter() - began < 2.0


@pytest.mark.parametrize("method", [*DUAL_METHODS, "weights"])
@pytest.mark.parametrize(
    ("X", "y", "exponent"), [([[1e-160, 0.0]], [1e-160], 319), ([[1e150, 0.0]], [1e160], -310)], ids=["slow", "fast"]
)
def test_a_flow_whose_times_are_no_floats_is_refused_before_any_work(method, X, y, exponent):
    # 1/(x^2 S) with S = kappa = 4, or 1/(2 x y) where that is less.
    net = ib.DiagonalNetwork.from_scale_shape(2, scale=1.0)
    with pytest.raises(ValueError, match=rf"X and y must be .* got one of 10\^{exponent}; multiply X or y"):
        ib.gradient_flow(net, X, y, method=method)
    # Given times are somewhere: before the flow has begun to move, or after it has come to rest.
    flow = ib.gradient_flow(net, X, y, [0.0, 1.9e-230, 1.0, 1e200], method=method, rtol=1e-6, max_steps=10_000)
    if method == "weights" and exponent < 0:
        assert flow.status == "step_too_small"  # x y overflows
        return
    assert flow.t.tolist() == [0.0, 1.9e-230, 1.0, 1e200]
    np.testing.assert_allclose(flow.beta[-1], [0.0 if exponent > 0 else 1e10, 0.0], rtol=1e-5, atol=1e-110)


@pytest.mark.parametrize("method", [*DUAL_METHODS, "weights"])
@pytest.mark.parametrize("t", [None, [0.0, 1.0, 1e60, 1e300]])
def test_a_coefficient_beyond_the_largest_float_is_no_success(method, t):
    net = ib.DiagonalNetwork.from_scale_shape(1, scale=1.0)
    flow = ib.gradient_flow(net, [[1e-150]], [1e190], t, method=method)
    assert (flow.status, flow.success) == ("step_too_small", False)
    assert flow.t.size == len(flow.beta) == flow.loss.size > 0
    assert np.isfinite(flow.beta).all()
    if t is None:
        assert flow.beta[-1, 0] > 1e290
    last = ib.gradient_flow(net, [[1e-150]], [1e190], t, method=method, save_beta=False)
    assert (last.t.tolist(), last.beta.tolist()) == (flow.t.tolist(), flow.beta[-1:].tolist())


@pytest.mark.parametrize("method", [*DUAL_METHODS, "weights"])
@pytest.mark.parametrize("unit", ["flow", "log_scale"])
def test_rows_carry_the_given_times_bit_for_bit(method, unit):
    times = np.random.default_rng(0).uniform(1.0, 2.0, 40).cumsum() * 1.9e-230
    net = ib.DiagonalNetwork.from_scale_shape(2, scale=np.exp(-0.3))
    flow = ib.gradient_flow(net, [[1e100, 1e40]], [1e130], times, method=method, time_unit=unit, max_steps=5000)
    assert flow.success
    assert flow.t.tobytes() == times.tobytes()


@pytest.mark.parametrize("method", DUAL_METHODS)
@pytest.mark.parametrize("log_scale", [60.0, 100.0, 300.0])
def test_huge_scales_end_as_well(method, log_scale):
    # Nothing changes with kappa but the unit of time: the flow is linear there, and takes the same number of steps.
    net = ib.DiagonalNetwork.from_scale_shape(2, log_scale=log_scale)
    flow = ib.gradient_flow(net, [[1.0, 2.0]], [1.0], method=method, max_seconds=1.0)
    assert flow.success, flow.message
    np.testing.assert_allclose(flow.beta[-1], [0.2, 0.4], rtol=1e-11)
    assert flow.stats["accepted"] <= 500


def test_every_status_is_a_string_with_a_message():
    for status in ib.Status:
        assert isinstance(status, str)
        assert len(status.message.split()) > 3
        assert not status.message.endswith(".")


# --------------------------------------------------------------------------------------------------------- distance


def test_the_distance_bound_is_never_below_the_distance_to_the_limit():
    finite = 0
    for seed, log_magnitude in ((38, 0.0), (39, -3.0), (40, -30.0), (41, -345.0)):
        X, y = gaussian_problem(seed)
        net = biased_network(seed, 10, log_magnitude)
        start = reference.start_from_weights(net.u_plus, net.v_plus, net.u_minus, net.v_minus, log_magnitude)
        truth = reference.limit(X, y, start)
        flow = ib.gradient_flow(net, X, y)
        bound = flow.distance_bound()
        assert bound.shape == flow.beta.shape
        for beta, row in zip(flow.beta, bound, strict=True):
            errors = reference.errors(beta, truth.beta)
            assert all(b == math.inf or float(e) <= b * (1 + 4 * U) for e, b in zip(errors, row, strict=True))
            finite += np.isfinite(row).all()
        assert bound[-1].max() <= 1e-9 * np.abs(flow.beta[-1]).max()
    assert finite >= 40


# ------------------------------------------------------------------------------------------------ any scale and shape


@settings(max_examples=60, deadline=None)
@given(
    log_scale=st.one_of(st.floats(-11513.0, 23.0), st.floats(-30.0, 23.0)),  # 1e-5000 to 1e10
    shape=st.floats(-0.999, 0.999),
    n_samples=st.integers(1, 6),
    d=st.integers(1, 9),
    seed=st.integers(0, 2**32 - 1),
)
def test_flow_and_limit_agree_at_any_scale_and_shape(log_scale, shape, n_samples, d, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n_samples, d)), rng.standard_normal(n_samples)
    net = ib.DiagonalNetwork.from_scale_shape(d, log_scale=log_scale, shape=shape)
    limit, flow = ib.limit(net, X, y), ib.gradient_flow(net, X, y)
    assert limit.success, limit.message
    assert flow.success, flow.message
    if n_samples > d:
        assert limit.status == flow.status == "least_squares"
    scale = max(np.abs(limit.beta).max(), np.abs(y).max())
    # The flow stops at a residual of 1e-12 max|y|; what that leaves of beta is S X^T (X S X^T)^-1 r.
    S = np.hypot(2 * limit.beta, np.exp(np.maximum(net.log_kappa, -700.0)))
    kernel = (X * S) @ X.T if n_samples <= d else X.T @ X
    condition = np.linalg.cond(kernel)
    if condition < 1e8:
        np.testing.assert_allclose(flow.beta[-1], limit.beta, atol=1e-11 * condition * scale, rtol=0)
    assert (np.diff(flow.loss) <= 1e-8 * flow.loss[0]).all()
    left = y - X @ flow.beta[-1]
    # X^T r = 0 is where any flow of this kind ends, interpolating or not
    assert np.abs(X.T @ left).max() <= 1e-9 * np.abs(X).sum() * scale


# ---------------------------------------------------------------------------------------------------------- control-C


SLOW_FLOW = """
    import numpy as np, signal, sys, time, threading, os
    import implicit_bias as ib
    # A shell starts what it sends to the background with Ctrl-C ignored, and Python then leaves it so.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((100, 2000)), rng.standard_normal(100)
    net = ib.DiagonalNetwork.from_scale_shape(2000, scale=1e-300)
    def interrupt():
        global sent
        sent = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)
    threading.Timer(1.0, interrupt).start()
    {body}
"""


def run_and_interrupt(body):
    code = textwrap.dedent(SLOW_FLOW).replace("{body}", textwrap.dedent(body).strip())
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    ).stdout.split()


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT to oneself is a POSIX notion")
def test_control_c_is_answered_within_a_fifth_of_a_second_with_the_result_so_far():
    # explicit steps at vanishing scale are stiff: uninterrupted this takes minutes
    waited, rows, status = run_and_interrupt("""
try:
    ib.gradient_flow(net, X, y, t=np.geomspace(1e-6, 1e6, 500), method="explicit")
except KeyboardInterrupt as stop:
    print(time.perf_counter() - sent, len(stop.partial.t), stop.partial.status)
""")
    assert float(waited) < 0.2
    assert 0 < int(rows) < 500
    assert status == "interrupted"


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT to oneself is a POSIX notion")
def test_control_c_can_return_the_result_so_far():
    status, success, rows = run_and_interrupt("""
flow = ib.gradient_flow(net, X, y, t=np.geomspace(1e-6, 1e6, 500), method="explicit", on_interrupt="return")
print(flow.status, flow.success, len(flow.t))
""")
    assert status == "interrupted"
    assert success == "False"
    assert 0 < int(rows) < 500


def test_the_handler_of_control_c_is_left_alone():
    before = signal.getsignal(signal.SIGINT)
    X, y = gaussian_problem(42)
    ib.gradient_flow(biased_network(43, 10), X, y)
    assert signal.getsignal(signal.SIGINT) is before


# ------------------------------------------------------------------------------------------------ cost, threads


def test_a_flow_from_a_vanishing_scale_takes_at_most_a_hundred_steps():
    data = ib.datasets.azulay_sparse_regression()
    net = ib.DiagonalNetwork.from_scale_shape(1000, scale=1e-12)
    flow = ib.gradient_flow(net, data.X, data.y)
    assert flow.success
    assert flow.stats["accepted"] <= 100
    assert np.abs(data.y - data.X @ flow.beta[-1]).max() <= 1e-12 * np.abs(data.y).max()
    assert flow.stats["newton_systems"] > 0
    assert set(flow.stats) >= {
        "accepted",
        "rejected",
        "rhs",
        "jacobians",
        "newton_iterations",
        "newton_systems",
        "seconds",
    }


def test_the_number_of_threads_changes_no_bit():
    X, y = gaussian_problem(44, 30, 500)
    net = ib.DiagonalNetwork.from_scale_shape(500, scale=1e-9)
    one, two = (ib.gradient_flow(net, X, y, n_jobs=n) for n in (1, 2))
    for name in ("t", "beta", "loss", "multipliers"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    np.testing.assert_array_equal(one.distance_bound(n_jobs=1), two.distance_bound(n_jobs=2))
