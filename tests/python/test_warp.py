"""Warps: everything that theory knows of these metrics is found again from the metrics alone.

Tolerances are the errors that the results report, so that each test is one of the error as well; where it says so, a
bound on the reported error keeps it from being vacuous.
"""

import math
import pickle
import re
from functools import partial

import mpmath
import numpy as np
import pytest

import implicit_bias as ib
from implicit_bias import _warp_ray, warp
from implicit_bias._warp_derivative import along, is_analytic

RANDOM = np.random.default_rng(20)
POINTS = RANDOM.standard_normal((4, 3))
KAPPA = np.array([1e-3, 1.0, 1e3])
U = 2.0**-53


def diagonal(beta, kappa=KAPPA):
    """[A] Theorem 1."""
    return np.diag(1.0 / np.sqrt(4.0 * beta**2 + kappa**2))


def neuron(beta, delta=1.0):
    """The inverse metric of one linear neuron, [A] Theorem 2."""
    a2 = np.sqrt(beta @ beta + 0.25 * delta**2) + 0.5 * delta
    return a2 * np.eye(beta.size) + np.outer(beta, beta) / a2


def neuron_by_norm(beta, delta=1.0):
    """The same for real input only, although complex numbers go through: they give a wrong derivative."""
    a2 = np.hypot(np.linalg.norm(beta), 0.5 * delta) + 0.5 * delta
    return a2 * np.eye(beta.size) + np.outer(beta, beta) / a2


def rank_one(beta):
    return np.eye(beta.size) + np.outer(beta, beta)


def neuron_weights(theta):
    return theta[0] * theta[1:]


def neuron_jacobian(theta):
    return np.hstack([theta[1:, None], theta[0] * np.eye(theta.size - 1)])


def log_a_gradient(beta, delta):
    """∇ ln|a| by the chain rule: a² = S + δ/2, S = √(x² + δ²/4), so d(ln a)/dx = x/(2 S a²)."""
    s = np.sqrt((beta**2).sum(axis=-1, keepdims=True) + 0.25 * delta**2)
    return beta / (2.0 * s * (s + 0.5 * delta))


def within(found, expected, error, roundings=16):
    """Off by no more than the reported error and a few roundings of the test's own formula."""
    return (np.abs(found - expected) <= error + roundings * U * np.abs(expected)).all()


# Derivatives


@pytest.mark.parametrize("width", [1e-6, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("analytic", [True, False])
def test_the_error_of_a_derivative_holds_on_any_scale_of_the_callable(width, analytic):
    def function(x):
        return np.array([x[0] / np.sqrt(x[0] ** 2 + width**2) + x[1], 1.0 / (x[0] ** 2 + width**2)])

    for x in (0.3 * width, -width, 7.0 * width):
        point = np.array([x, 1.0])
        found = along(function, point, np.eye(2), analytic=analytic)
        s2 = x**2 + width**2
        exact = np.array([[width**2 / s2**1.5, -2.0 * x / s2**2], [1.0, 0.0]])
        assert within(found.value, exact, found.error[:, None])
        # A difference of order 12 costs about five digits of sixteen, a complex step none.
        assert found.error[0] <= (1e-13 if analytic else 1e-8) * np.abs(exact[0]).max()


@pytest.mark.parametrize("value", [0.0, 0.5, -3.0, 1e-200, 1e200])
def test_the_error_holds_for_points_of_any_size(value):
    point = np.array([value, 2.0 * value])
    for analytic in (True, False):
        found = along(lambda x: np.array([[x[0] - 3.0 * x[1]]]), point, np.eye(2), analytic=analytic)
        assert within(found.value[:, 0, 0], [1.0, -3.0], found.error)
        assert found.error.max() <= 1e-10


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.array([np.linalg.norm(x)]),
        lambda x: np.abs(x),
        lambda x: x.real**2,
        lambda x: x * x.conj(),
        lambda x: np.array([float(v) for v in x]),
        lambda x: np.asarray(x, float) ** 2,
        lambda x: x.astype(float),
    ],
)
def test_complex_numbers_that_go_through_a_callable_and_lose_its_derivative_are_found_out(function):
    # at 0 the derivative of a norm along any line is 0 by symmetry, and so is the wrong one
    assert not is_analytic(function, np.array([1.0, -2.0]))
    assert not is_analytic(lambda x: function(x) ** 2, np.zeros(2))
    assert is_analytic(lambda x: np.exp(x) * x[0], np.array([1.0, -2.0]))


# What theory knows


@pytest.mark.parametrize("inverse", [False, True])
def test_the_metric_of_the_diagonal_network_is_a_hessian_and_needs_no_warp(inverse):
    def metric(beta):
        return np.diag(1.0 / np.diag(diagonal(beta))) if inverse else diagonal(beta)

    test = warp.hessian_map_residual(metric if inverse else diagonal, POINTS, inverse=inverse)
    found = warp.find_warp(metric, POINTS, inverse=inverse)
    assert (test.residual <= test.error).all()
    assert test.error.max() <= 1e-6
    assert (np.abs(found.gradient) <= found.gradient_error).all()
    assert (found.residual <= found.residual_error).all()
    assert (found.curl <= found.curl_error).all()


@pytest.mark.parametrize("kappa", [1.0, 1e3, KAPPA])
def test_the_potential_of_the_diagonal_network_is_found_from_its_metric(kappa):
    ray, base = np.array([1.0, -0.5, 3.0]), np.array([0.1, 0.2, -1.0])
    Q = ib.HyperbolicEntropy(np.broadcast_to(kappa, 3), beta0=base)
    found = warp.warped_potential(partial(diagonal, kappa=kappa), ray, [0.5, 2.0], base=base)
    for k, s in enumerate(found.s):
        beta = base + s * ray
        # base + s ray is rounded, which moves Q by its gradient; and so is the sum of three terms
        rounding = 8 * U * (np.abs(Q.gradient(beta)) @ (np.abs(base) + s * np.abs(ray)))
        assert abs(found.value[k] - Q(beta)) <= found.value_error[k] + rounding
        assert found.value_error[k] <= 1e-8 * Q(beta)
        slope_rounding = 8 * U * Q.hessian(beta) * (np.abs(base) + s * np.abs(ray))
        assert within(found.gradient[k], Q.gradient(beta), found.gradient_error[k] + slope_rounding, 64)
        assert abs(found.log_warp[k]) <= found.log_warp_error[k]


@pytest.mark.parametrize("kappa", [1e-9, 1e100])
def test_the_potential_is_found_from_0_for_a_metric_of_any_size_there(kappa):
    """The metric at 0 is 1/κ, while the gradient becomes ½ ln(4β/κ) for small κ."""
    ray = np.array([1.0, -0.5])
    Q = ib.HyperbolicEntropy(kappa)
    found = warp.warped_potential(partial(diagonal, kappa=kappa), ray, [0.5, 2.0])
    for k, s in enumerate(found.s):
        assert within(found.value[k], Q(s * ray), found.value_error[k])
        assert found.value_error[k] <= 1e-9 * Q(s * ray)
        assert within(found.gradient[k], Q.gradient(s * ray), found.gradient_error[k])


@pytest.mark.parametrize("metric", [neuron, neuron_by_norm])
@pytest.mark.parametrize("delta", [0.0, 0.3, -1.0])
def test_the_warp_of_one_neuron_is_proportional_to_its_output_weight(metric, delta):
    metric = partial(metric, delta=delta)
    test = warp.hessian_map_residual(metric, POINTS, inverse=True)
    assert (test.residual > 0.02 + test.error).all()
    found = warp.find_warp(metric, POINTS, inverse=True)
    assert within(found.gradient, log_a_gradient(POINTS, delta), found.gradient_error)
    assert (found.residual <= found.residual_error).all()
    assert (found.curl <= found.curl_error).all()
    assert max(found.gradient_error.max(), found.residual_error.max()) <= 1e-8
    assert found.curl_error.max() <= 1e-4


def q_neuron(x, delta):
    """The printed q_δ of [A] Theorem 2, in 50 digits."""
    x, half = mpmath.mpf(x), mpmath.mpf(delta) / 2
    s = mpmath.sqrt(x**2 + half**2)
    return (x**2 - half * (half + s)) * mpmath.sqrt(s - half) / x


@pytest.mark.parametrize(("metric", "delta"), [(neuron, 0.0), (neuron, 1.0), (neuron, 5.0), (neuron_by_norm, 1.0)])
def test_the_potential_of_one_neuron_is_found_from_its_metric(metric, delta):
    base, ray = np.array([0.3, -0.2, 0.1]), np.array([1.0, 2.0, -0.5])
    found = warp.warped_potential(partial(metric, delta=delta), ray, [0.5, 1.0, 4.0], base=base, inverse=True)
    with mpmath.workdps(50):
        x0 = mpmath.norm(mpmath.matrix(base))
        a0 = mpmath.sqrt(mpmath.sqrt(x0**2 + mpmath.mpf(delta) ** 2 / 4) + mpmath.mpf(delta) / 2)
        # q' = (3/2)|w|, and |w| = x/|a|; g = (3/2)|a| there and g(base) = 1 here
        for k, s in enumerate(found.s):
            beta = mpmath.matrix(base) + mpmath.mpf(float(s)) * mpmath.matrix(ray)
            x = mpmath.norm(beta)
            cosine = mpmath.fdot(base, [b - c for b, c in zip(beta, base, strict=True)]) / x0
            bregman = q_neuron(x, delta) - q_neuron(x0, delta) - mpmath.mpf(3) / 2 * x0 / a0 * cosine
            expected = float(bregman / (mpmath.mpf(3) / 2 * a0))
            assert within(found.value[k], expected, found.value_error[k])
            assert found.value_error[k] <= 1e-8 * expected
            a = mpmath.sqrt(mpmath.sqrt(x**2 + mpmath.mpf(delta) ** 2 / 4) + mpmath.mpf(delta) / 2)
            assert within(found.log_warp[k], float(mpmath.log(a / a0)), found.log_warp_error[k])
            gradient = [float((b / a - c / a0) / a0) for b, c in zip(beta, base, strict=True)]
            assert within(found.gradient[k], np.array(gradient), found.gradient_error[k])


def test_the_metric_of_rank_one_is_no_hessian_but_has_a_warp():
    """With H⁻¹ = I - ββᵀ/(1 + x²) the formula of `find_warp` gives ∇ ln g = β, so g = exp(‖β‖²/2)."""
    test = warp.hessian_map_residual(rank_one, POINTS)
    assert (test.residual > 0.1 + test.error).all()
    found = warp.find_warp(rank_one, POINTS)
    assert within(found.gradient, POINTS, found.gradient_error)
    assert found.gradient_error.max() <= 1e-11
    assert (found.residual <= found.residual_error).all()
    assert (found.curl <= found.curl_error).all()


def test_two_rays_to_one_point_agree_where_there_is_a_warp():
    base, corner, end = np.array([0.1, 0.2, 0.0]), np.array([1.0, -0.5, 0.3]), np.array([0.4, 1.0, 0.8])
    straight = warp.warped_potential(rank_one, end - base, [1.0], base=base)
    first = warp.warped_potential(rank_one, corner - base, [1.0], base=base)
    second = warp.warped_potential(rank_one, end - corner, [1.0], base=corner)
    # the second leg starts with g = 1 and gradient 0, where the first one has ended with g and a gradient
    g = np.exp(first.log_warp[0])
    value = first.value[0] + first.gradient[0] @ (end - corner) + g * second.value[0]
    error = first.value_error[0] + first.gradient_error[0] @ np.abs(end - corner) + g * second.value_error[0]
    error += straight.value_error[0] + first.log_warp_error[0] * g * second.value[0]
    assert within(straight.value[0], value, error)
    assert error <= 1e-8 * value
    assert within(straight.log_warp[0], first.log_warp[0] + second.log_warp[0], 1e-12)


def test_a_metric_without_a_warp_is_told_by_its_residual():
    """diag(exp(β₂), 1, 1): ∂₂H₁₁ asks for a ∂₂ ln g of -1 and ∂₂H₃₃ for one of 0."""
    found = warp.find_warp(lambda beta: np.diag(np.exp([beta[1], 0.0 * beta[0], 0.0 * beta[0]])), POINTS)
    assert (found.residual > 0.4 + found.residual_error).all()
    assert within(found.gradient, np.array([0.0, -0.5, 0.0]), found.gradient_error)


def test_a_metric_of_two_features_without_a_warp_is_told_by_its_curl():
    """diag(exp(β₁β₂), 1): ∂₂ ln g = -β₁ and ∂₁ ln g = 0, of curl -1, while the linear equations leave nothing."""
    found = warp.find_warp(lambda beta: np.diag(np.exp([beta[0] * beta[1], 0.0 * beta[0]])), POINTS[:, :2])
    assert (found.residual <= found.residual_error).all()
    assert (found.curl > 0.01 + found.curl_error).all()
    assert within(found.gradient, np.column_stack([np.zeros(4), -POINTS[:, 0]]), found.gradient_error)


def test_the_warp_solves_the_least_squares_problem_in_whitened_coordinates():
    """Against a general solver, for a metric that has no warp; second oracle: derivatives in closed form."""
    mix = RANDOM.standard_normal((3, 3, 3))

    def metric(beta):
        return 4.0 * np.eye(3) + sum(b**2 * m @ m.T for b, m in zip(beta, mix, strict=True))

    for beta in POINTS:
        found = warp.find_warp(metric, [beta])
        inverse = np.linalg.inv(np.linalg.cholesky(metric(beta)))
        slopes = np.array([2.0 * b * m @ m.T for b, m in zip(beta, mix, strict=True)])
        slopes = np.einsum("ck,ai,bj,kij->cab", inverse, inverse, inverse, slopes)
        rows, right = [], []
        for a in range(3):
            for b in range(3):
                for c in range(b + 1, 3):
                    row = np.zeros(3)
                    row[c] += a == b
                    row[b] -= a == c
                    rows.append(row)
                    right.append(slopes[b, a, c] - slopes[c, a, b])
        phi, left, *_ = np.linalg.lstsq(np.array(rows), np.array(right))
        expected = np.linalg.solve(inverse, phi)
        # cond(metric) is below 1e3 and everything is of size one to ten
        assert within(found.gradient[0], expected, found.gradient_error[0] + 1e-11)
        residual = np.sqrt(left[0]) / (math.sqrt(2.0) * np.linalg.norm(slopes))
        assert found.residual[0] == pytest.approx(residual, abs=1e-11)


def test_one_feature_needs_no_warp():
    found = warp.find_warp(lambda beta: np.exp(beta)[:, None], [[0.5]])
    assert (found.gradient[0, 0], found.residual[0], found.curl[0]) == (0.0, 0.0, 0.0)
    assert warp.hessian_map_residual(lambda beta: np.exp(beta)[:, None], [[0.5]]).residual[0] == 0.0


def test_a_constant_metric_is_a_hessian_without_doubt():
    H = np.array([[2.0, 1.0], [1.0, 3.0]])
    for function in (lambda beta: H, lambda beta: H + 0.0 * beta[0], lambda beta: H * float(beta[0] == beta[0])):
        found = warp.find_warp(function, [[0.5, 2.0]])
        assert found.residual == found.residual_error == found.curl == 0.0
        assert not found.gradient.any()


def test_units_of_the_coefficients_change_no_residual():
    unit = np.array([1e-4, 1.0, 1e5])
    scaled = warp.find_warp(lambda beta: rank_one(beta / unit) / np.outer(unit, unit), POINTS * unit)
    plain = warp.find_warp(rank_one, POINTS)
    test = warp.hessian_map_residual(rank_one, POINTS)
    scaled_test = warp.hessian_map_residual(lambda beta: rank_one(beta / unit) / np.outer(unit, unit), POINTS * unit)
    assert within(scaled_test.residual, test.residual, test.error + scaled_test.error)
    assert scaled_test.error.max() <= 1e-11
    assert within(scaled.gradient * unit, plain.gradient, plain.gradient_error + unit * scaled.gradient_error)


# Parametrizations


@pytest.mark.parametrize("jacobian", [neuron_jacobian, None])
def test_a_parametrization_gives_what_its_metric_gives(jacobian):
    model = warp.Parametrization(neuron_weights, jacobian)
    theta = np.array([[1.3, 0.4, -0.7], [-0.8, 0.5, 1.5]])
    found, test = warp.find_warp(model, theta), warp.hessian_map_residual(model, theta)
    for k, weights in enumerate(theta):
        beta, delta = neuron_weights(weights), weights[0] ** 2 - weights[1:] @ weights[1:]
        metric = partial(neuron, delta=delta)
        other = warp.hessian_map_residual(metric, [beta], inverse=True)
        # δ is rounded: relative to a² and |w|², of size one, by a few U
        assert within(test.residual[k], other.residual[0], test.error[k] + other.error[0] + 64 * U)
        assert within(found.gradient[k], log_a_gradient(beta, delta), found.gradient_error[k] + 64 * U)
        assert found.residual[k] <= found.residual_error[k]
        assert found.curl[k] <= found.curl_error[k]
    assert test.error.max() <= 1e-7


def test_the_potential_of_a_parametrization_is_that_of_its_metric():
    theta = np.array([1.3, 0.4, -0.7])
    delta = theta[0] ** 2 - theta[1:] @ theta[1:]
    model = warp.Parametrization(neuron_weights, neuron_jacobian)
    found = warp.warped_potential(model, [1.0, 0.5], [0.3, 2.0], base=theta)
    other = warp.warped_potential(
        partial(neuron, delta=delta), [1.0, 0.5], [0.3, 2.0], base=neuron_weights(theta), inverse=True
    )
    assert within(found.value, other.value, found.value_error + other.value_error + 64 * U)
    assert within(found.log_warp, other.log_warp, found.log_warp_error + other.log_warp_error + 64 * U)
    assert (found.value_error <= 1e-8 * found.value).all()


def test_the_diagonal_network_commutes():
    theta = RANDOM.standard_normal((3, 12))

    def predictor(w):
        return w[:3] * w[3:6] - w[6:9] * w[9:]

    found = warp.commuting_residual(predictor, theta)
    assert (found.residual <= found.residual_error).all()
    assert (found.outside <= found.outside_error).all()
    assert found.residual_error.max() <= 1e-9
    test = warp.hessian_map_residual(warp.Parametrization(predictor), theta)
    assert (test.residual <= test.error).all()
    assert test.error.max() <= 1e-6


def test_the_fully_connected_neuron_does_not_commute():
    found = warp.commuting_residual(warp.Parametrization(neuron_weights, neuron_jacobian), POINTS)
    assert (found.residual > 0.01 + found.residual_error).all()
    assert (found.outside > 0.01 + found.outside_error).all()
    # [∇(a w_1), ∇(a w_2)] = -w_1 e_{w_2} + w_2 e_{w_1}: the Hessians only swap a with one w
    for theta, bracket in zip(POINTS, found.brackets, strict=True):
        expected = np.array([0.0, -theta[2], theta[1]])
        assert np.allclose(np.abs(bracket[0, 1]), np.abs(expected), rtol=1e-13)
        assert np.array_equal(bracket[0, 1], -bracket[1, 0])


def test_brackets_of_quadratic_components_are_the_commutators_of_their_matrices():
    A = RANDOM.standard_normal((3, 5, 5))
    A = A + A.transpose(0, 2, 1)
    theta = RANDOM.standard_normal((2, 5))
    model = warp.Parametrization(lambda w: 0.5 * np.array([w @ m @ w for m in A]), lambda w: A @ w)
    found = warp.commuting_residual(model, theta)
    for k, w in enumerate(theta):
        for i in range(3):
            for j in range(3):
                expected = (A[j] @ A[i] - A[i] @ A[j]) @ w
                # sums of 25 products of size ten
                assert np.abs(found.brackets[k, i, j] - expected).max() <= 1e4 * U


def test_brackets_leave_the_kernel_if_and_only_if_the_metric_is_no_hessian():
    """J [∇F_i, ∇F_j] is the torsion of J Jᵀ along the gradients: one identity, two codes."""
    A = RANDOM.standard_normal((2, 4, 4))
    mixed = warp.Parametrization(lambda w: np.array([w @ m @ w for m in A]))
    theta = RANDOM.standard_normal((3, 4))
    found, test = warp.commuting_residual(mixed, theta), warp.hessian_map_residual(mixed, theta)
    assert (found.outside > 1e-3 + found.outside_error).all()
    assert (test.residual > 1e-3 + test.error).all()
    assert (found.outside <= found.residual + found.outside_error).all()


# Clocks


@pytest.fixture(scope="module")
def one_coefficient():
    net = ib.DiagonalNetwork.from_scale_shape(1, scale=1e-6)
    return net, ib.gradient_flow(net, [[1.0]], [2.0], t=[0.0, 1.0, 3.0, 5.0, 8.0])


def test_the_clock_of_one_is_that_of_the_flow(one_coefficient):
    for inverse in (False, True):
        found = warp.warp_time(one_coefficient[1], lambda beta: 1.0, inverse=inverse)
        assert within(found.tau, found.t, found.error)
        assert found.error.max() <= 1e-12


def test_one_coefficient_on_the_clock_of_its_metric_relaxes_exponentially(one_coefficient):
    """β' = √(4β² + κ²)(y - β), so dτ = √(4β² + κ²) dt makes dβ/dτ = y - β."""
    net, flow = one_coefficient
    found = warp.warp_time(flow, lambda beta: np.sqrt(4.0 * beta[0] ** 2 + net.kappa[0] ** 2))
    exact = np.log(2.0 / (2.0 - flow.beta[:, 0]))
    # rows of the flow itself are good to about 1e-9 of beta, and ln(2 - beta) to that over 2 - beta
    rows = 2e-9 * np.abs(flow.beta[:, 0]) / (2.0 - flow.beta[:, 0])
    assert within(found.tau, exact, found.error + rows)
    assert found.error.max() <= 1e-6


def test_the_inverse_clock_integrates_the_inverse(one_coefficient):
    _, flow = one_coefficient

    def g(beta):
        return 1.0 + beta[0] ** 2

    there, back = warp.warp_time(flow, lambda beta: 1.0 / g(beta)), warp.warp_time(flow, g, inverse=True)
    assert within(there.tau, back.tau, there.error + back.error)
    assert (np.diff(back.tau) > 0.0).all()


def test_a_clock_needs_no_rows_and_keeps_the_unit_of_time():
    net = ib.DiagonalNetwork.from_scale_shape(2, scale=1e-8)
    X, y = [[1.0, 2.0]], [2.0]
    flow = ib.gradient_flow(net, X, y, t=[0.0, 0.2, 1.0], time_unit="log_scale", save_beta=False)
    found = warp.warp_time(flow, lambda beta: 1.0)
    assert within(found.tau, [0.0, 0.2, 1.0], found.error)
    rows = ib.gradient_flow(net, X, y)
    assert warp.warp_time(rows, lambda beta: 2.0).tau == pytest.approx(2.0 * rows.t, rel=1e-12)


def test_a_clock_starts_at_the_first_row(one_coefficient):
    net, _ = one_coefficient
    flow = ib.gradient_flow(net, [[1.0]], [2.0], t=[1.0, 2.0])
    assert warp.warp_time(flow, lambda beta: 3.0).tau.tolist() == pytest.approx([0.0, 3.0])
    last = ib.gradient_flow(net, [[1.0]], [2.0], t=[1.0])
    assert warp.warp_time(last, lambda beta: 3.0).tau.tolist() == [0.0]


# Results and bad input


def test_results_are_frozen_and_pickle():
    found = warp.find_warp(rank_one, POINTS)
    with pytest.raises(AttributeError):
        found.residual = None
    assert np.array_equal(pickle.loads(pickle.dumps(found)).gradient, found.gradient)


def test_a_callable_cannot_change_the_points():
    points = POINTS.copy()

    def metric(beta):
        beta *= 0.5
        return np.eye(3)

    warp.hessian_map_residual(metric, points)
    assert np.array_equal(points, POINTS)


def skew(beta):
    return np.array([[1.0, 0.5], [0.4, 1.0]])


def shrinking(beta):
    return np.eye(2) * (1.0 - beta[0])


def jump(theta):
    return theta * np.where(theta > 1.0, 2.0, 1.0)


FLOW = ib.gradient_flow(ib.DiagonalNetwork.from_scale_shape(1, scale=0.1), [[1.0]], [2.0], t=[0.0, 1.0])
AT = [[0.0, 1.0], [2.0, 3.0]]
hessian, find, potential, clock = warp.hessian_map_residual, warp.find_warp, warp.warped_potential, warp.warp_time
PARAMETRIZED = warp.Parametrization(neuron_weights, neuron_jacobian)

BAD = [
    (lambda: hessian(3, AT), "H must be a callable: got 3"),
    (lambda: hessian(rank_one, [1.0]), "points must be an array of shape (n_points, n_coordinates): got shape (1,)"),
    (lambda: find(rank_one, [[math.nan]]), "points must be finite: 1 of 1 entries are NaN or infinite"),
    (lambda: hessian(rank_one, AT, inverse=1), "inverse must be True or False: got 1"),
    (lambda: hessian(PARAMETRIZED, AT, inverse=True), "inverse must be False for a Parametrization: got True"),
    (lambda: hessian(lambda beta: beta, AT), "H must return an array of shape (2, 2): got shape (2,) at points[0]"),
    (lambda: hessian(lambda beta: 1j * np.eye(2), AT), "H must return real numbers: got dtype complex128 at points[0]"),
    (
        lambda: hessian(lambda beta: np.eye(2) / (2.0 - beta[0]), [[0.0, 1.0], [2.0, 3.0]]),
        "H must be finite: 4 of 4 entries are NaN or infinite at points[1]",
    ),
    (lambda: find(skew, AT), "H must be symmetric: got 0.5 at [0, 1] and 0.4 at [1, 0], at points[0]"),
    (lambda: find(shrinking, AT), "H must be positive definite: got the eigenvalue -1 at points[1]"),
    (
        lambda: find(shrinking, AT, inverse=True),
        "the inverse of H must be positive definite: got the eigenvalue -1 at points[1]",
    ),
    (
        lambda: hessian(warp.Parametrization(lambda theta: theta[:1] * theta[1:]), [[0.0, 0.0]]),
        "J Jᵀ must be positive definite: got the eigenvalue 0 at points[0]",
    ),
    (lambda: warp.commuting_residual(None, AT), "F must be a callable: got None"),
    (
        lambda: warp.commuting_residual(lambda theta: 1.0, AT),
        "F must return an array of shape (n_features,): got shape () at points[0]",
    ),
    (
        lambda: hessian(warp.Parametrization(neuron_weights, lambda theta: np.eye(2)), [[1.0, 2.0, 3.0]]),
        "jacobian must return an array of shape (2, 3): got shape (2, 2) at points[0]",
    ),
    (lambda: hessian(warp.Parametrization(neuron_weights, 1), [[1.0, 2.0]]), "jacobian must be a callable: got 1"),
    (lambda: potential(rank_one, [0.0], [1.0]), "ray must not be 0: it has no direction"),
    (lambda: potential(rank_one, [1.0], [-1.0, 1.0]), "s must not be negative: got -1.0"),
    (lambda: potential(rank_one, [1.0], [1.0, 1.0]), "s must be strictly increasing and end above 0"),
    (lambda: potential(rank_one, [1.0], [0.0]), "s must be strictly increasing and end above 0"),
    (
        lambda: potential(rank_one, [1.0], [1.0], rtol=1e-15),
        "rtol must be in [1e-12, 0.1] (1e-12 leaves digits for the error): got 1e-15",
    ),
    (lambda: potential(PARAMETRIZED, [1.0], [1.0]), "base must be given for a Parametrization: got none"),
    (
        lambda: potential(rank_one, [1.0], [1.0], base=[0.0, 0.0]),
        "ray must have length 2, as the predictor at base has: got 1",
    ),
    (lambda: clock(3, abs), "flow must be a Flow, as gradient_flow returns it: got 3"),
    (lambda: clock(FLOW, 1.0), "g must be a callable: got 1.0"),
    (lambda: clock(FLOW, lambda beta: 1.0, inverse=None), "inverse must be True or False: got None"),
]


@pytest.mark.parametrize(("call", "message"), [pytest.param(*row, id=row[1]) for row in BAD])
def test_bad_input_is_a_value_error_that_says_what_and_where(call, message):
    with np.errstate(divide="ignore"), pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call()


@pytest.mark.parametrize(
    ("call", "pattern"),
    [
        (lambda: potential(lambda beta: np.eye(1) - beta, [1.0], [2.0]), r"^H must be positive definite: .* at s = "),
        (lambda: clock(FLOW, lambda beta: -1.0), r"^g must be positive and finite: got -1.0 at t = "),
        (lambda: clock(FLOW, lambda beta: math.nan), r"^g must be positive and finite: got nan at t = "),
        (lambda: clock(FLOW, lambda beta: np.ones(2)), r"^g must return one real number: got array"),
        (
            lambda: hessian(warp.Parametrization(neuron_weights, lambda theta: 2.0 * neuron_jacobian(theta)), POINTS),
            r"^jacobian must be the derivative of F: off by .* at points\[0\]$",
        ),
    ],
)
def test_what_goes_wrong_on_the_way_says_where(call, pattern):
    with pytest.raises(ValueError, match=pattern):
        call()


def test_a_ray_that_takes_too_many_evaluations_ends_with_where_it_came_to(monkeypatch):
    monkeypatch.setattr(_warp_ray, "MOST_EVALUATIONS", 100)
    with pytest.raises(ValueError, match=r"^H must be smooth along the ray: 100 evaluations came to s = .* only$"):
        potential(shrinking, [1.0, 0.0], [2.0])


def test_any_lengths_on_a_ray_give_the_same_potential():
    few, many = (potential(rank_one, [1.0, 0.5], s) for s in ([2.0], np.linspace(0.0, 2.0, 6)))
    assert within(few.value[-1], many.value[-1], few.value_error[-1] + many.value_error[-1])
    assert many.value[0] == many.value_error[0] == 0.0


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e150, 1e300])
def test_extreme_points_are_answered_or_refused_but_never_nan(size):
    for function in (rank_one, diagonal, neuron):
        for call in (warp.find_warp, warp.hessian_map_residual):
            try:
                found = call(function, POINTS * size)
            except ValueError:
                continue
            assert all(np.isfinite(value).all() for value in vars(found).values())
