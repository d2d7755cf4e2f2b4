"""The limit of a vanishing scale: the walk from saddle to saddle, and how small a scale is small enough."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import extremes
import implicit_bias as ib

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "published.json").read_text())
EXAMPLE = GOLDEN["saddle_to_saddle"]
EPS = np.finfo(float).eps


def random_problem(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 12)), int(rng.integers(12, 60))
    return rng.standard_normal((n, d)), rng.standard_normal(n)


# The walk


def test_the_published_saddles_are_visited_in_order_and_to_all_digits():
    walk = ib.saddle_to_saddle(EXAMPLE["X"], EXAMPLE["y"])
    assert walk.status == "converged"
    assert walk.success
    expected = np.array([[0.0] * 4, *EXAMPLE["saddles_of_the_vanishing_limit"]])
    np.testing.assert_allclose(walk.beta, expected, rtol=0.0, atol=1e-14)
    assert walk.signs.tolist() == [[0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 1, 0], [0, 0, 1, -1]]
    # By hand: coordinate 0 reaches 1/2 at the rate 1/2; coordinate 2, at 0.35 by then, at the rate 0.05.
    np.testing.assert_allclose(walk.t[:3], [0.0, 1.0, 4.0], rtol=1e-14)


def test_where_predictors_of_least_l1_norm_are_many_the_one_of_least_entropy_is_chosen():
    # Wind, Antun and Hansen (2023): the limit for depth 2.
    data = GOLDEN["non_unique_l1"]
    t = (4.0 - 6.0 * 2.0 ** (1.0 / 3.0) + 9.0 * 2.0 ** (2.0 / 3.0)) / 31.0
    expected = [1.0 - t, 2.0 * (1.0 - t), 3.0 * t]
    walk = ib.saddle_to_saddle(data["A"], data["y"])
    np.testing.assert_allclose(walk.beta[-1], expected, rtol=1e-14)
    net = ib.DiagonalNetwork.from_scale_shape(3, log_scale=-1e5)
    np.testing.assert_allclose(ib.limit(net, data["A"], data["y"]).beta, expected, rtol=1e-14)


@pytest.mark.parametrize("seed", range(40))
def test_the_walk_ends_at_basis_pursuit_with_a_proof_that_no_l1_norm_is_less(seed):
    X, y = random_problem(seed)
    walk = ib.saddle_to_saddle(X, y)
    end, dual = walk.beta[-1], X.T @ walk.multipliers[-1]
    size = np.abs(end).max()
    assert walk.success
    # Xᵀν is a subgradient of ‖β‖₁/2: at most 1/2, with equality and the sign of β where β is not 0. It is a sum over
    # the jumps of terms that may each be some times larger.
    assert np.abs(dual).max() <= 0.5 + 1e-10
    np.testing.assert_allclose(dual[end != 0.0], 0.5 * np.sign(end[end != 0.0]), atol=1e-10)
    np.testing.assert_allclose(X @ end, y, atol=1e-11 * size)
    np.testing.assert_allclose(end, ib.baselines.basis_pursuit(X, y), atol=1e-9 * size)
    assert (np.diff(walk.t) > 0.0).all()
    assert (np.diff(walk.loss) <= 1e-14 * walk.loss[0]).all()


@pytest.mark.parametrize("unequal", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_flow_at_a_scale_of_1e_minus_10000_rests_at_every_saddle(seed, unequal):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((4, 9)), rng.standard_normal(4)
    rates = rng.uniform(0.5, 2.0, 9) if unequal else np.ones(9)
    walk = ib.saddle_to_saddle(X, y, thresholds=0.5 * rates)
    rests = 0.5 * (walk.t + np.append(walk.t[1:], 2.0 * walk.t[-1]))
    stay = np.diff(np.append(walk.t, 3.0 * walk.t[-1]))
    log_scale = -10000.0 * math.log(10.0)
    net = ib.DiagonalNetwork.from_scale_shape(9, log_scale=log_scale * rates)
    flow = ib.gradient_flow(net, X, y, -log_scale * rests)
    # A jump takes O(1), a stay of 1 % of ln(1/scale) is 230: what is left of the jump before has long decayed.
    long = stay > 0.01 * walk.t[-1]
    assert np.count_nonzero(long) >= 2
    np.testing.assert_allclose(flow.beta[long], walk.beta[long], atol=1e-8 * np.abs(walk.beta).max())


def test_unequal_rates_end_at_the_least_weighted_l1_norm_and_switch_coordinates_off_on_the_way():
    switched_off = 0
    for seed in range(30):
        X, y = random_problem(seed)
        thresholds = np.random.default_rng(seed).uniform(0.3, 2.0, (X.shape[1], 2))
        walk = ib.saddle_to_saddle(X, y, thresholds=thresholds)
        end, dual = walk.beta[-1], X.T @ walk.multipliers[-1]
        np.testing.assert_allclose(X @ end, y, atol=1e-11 * np.abs(end).max())
        # A subgradient of Σ θ⁺ max(β, 0) + θ⁻ max(−β, 0).
        assert (dual <= thresholds[:, 1] + 1e-10).all()
        assert (dual >= -thresholds[:, 0] - 1e-10).all()
        on = end != 0.0
        np.testing.assert_allclose(dual[on], np.where(end > 0.0, thresholds[:, 1], -thresholds[:, 0])[on], atol=1e-10)
        switched_off += int(((walk.signs[:-1] != 0) & (walk.signs[1:] == 0)).any())
    assert switched_off >= 10


def test_coordinates_that_may_not_take_a_sign_do_not():
    one_sided = np.array([[math.inf, 0.5]] * 4)
    walk = ib.saddle_to_saddle(EXAMPLE["X"], EXAMPLE["y"], thresholds=one_sided)
    assert walk.status == "infeasible_sign"
    assert (walk.beta >= 0.0).all()
    # Non-negative least squares is where it ends: no descent left among these signs.
    residual = np.array(EXAMPLE["y"]) - np.array(EXAMPLE["X"]) @ walk.beta[-1]
    gradient = residual @ np.array(EXAMPLE["X"])
    assert (gradient <= 1e-14).all()
    assert np.abs(gradient[walk.beta[-1] > 0.0]).max() <= 1e-14


@pytest.mark.parametrize(
    ("X", "y", "status", "end"),
    [
        ([[1.0, 2.0]], [0.0], "converged", [0.0, 0.0]),
        ([[0.0, 0.0]], [1.0], "least_squares", [0.0, 0.0]),
        ([[1.0, 2.0], [2.0, 4.0]], [1.0, 1.0], "least_squares", [0.0, 0.3]),
        (np.eye(3), [1.0, 1.0, 1.0], "converged", [1.0, 1.0, 1.0]),
        ([[1.0, 1.0]], [1.0], "converged", [0.5, 0.5]),
        ([[1e-150, 2e-150]], [1e150], "converged", [0.0, 5e299]),
    ],
)
def test_ends_of_problems_that_are_not_in_general_position(X, y, status, end):
    walk = ib.saddle_to_saddle(X, y)
    assert walk.status == status
    np.testing.assert_allclose(walk.beta[-1], end, rtol=1e-14)


def test_times_and_predictors_go_with_the_units_of_the_data():
    X, y = random_problem(3)
    plain, scaled = ib.saddle_to_saddle(X, y), ib.saddle_to_saddle(X * 2.0**300, y * 2.0**-100)
    assert np.array_equal(scaled.t, plain.t * 2.0**-200)
    assert np.array_equal(scaled.beta, plain.beta * 2.0**-400)
    assert np.array_equal(scaled.signs, plain.signs)


@given(data=extremes.data())
@settings(max_examples=150, deadline=None)
def test_any_data_have_a_walk_of_numbers(data):
    try:
        walk = ib.saddle_to_saddle(*data)
    except ValueError:
        return
    assert not np.isnan(walk.beta).any()
    assert not np.isnan(walk.t).any()
    assert (np.diff(walk.t) >= 0.0).all()
    assert walk.beta.shape == walk.signs.shape == (walk.t.size, data.X.shape[1])


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        (0.0, "thresholds must be positive: got 0.0"),
        ([1.0, -2.0, 1.0, 1.0], "thresholds must be positive: got -2.0"),
        (math.nan, "thresholds must be positive: got nan"),
        ([1.0, 2.0], "thresholds must have shape (4,) or (4, 2), or be one number: got (2,)"),
        ("x", "thresholds must be positive numbers: could not convert string to float: 'x'"),
    ],
)
def test_thresholds_that_are_none_are_refused(thresholds, message):
    with pytest.raises(ValueError, match="thresholds") as caught:
        ib.saddle_to_saddle(EXAMPLE["X"], EXAMPLE["y"], thresholds=thresholds)
    assert str(caught.value) == message


# How small is small enough


@pytest.mark.parametrize("tol", [0.3, 1e-3, 1e-9])
@pytest.mark.parametrize("shape", [0.0, 0.9])
def test_the_limit_at_that_scale_is_within_the_tolerance_and_at_a_larger_one_it_is_not(tol, shape):
    data = ib.datasets.sparse_regression(10, 40, 3, seed=1)
    least = np.abs(ib.baselines.basis_pursuit(data.X, data.y)).sum()
    found = ib.scale_to_l1(data.X, data.y, tol, shape=shape)
    assert found.excess <= tol

    def excess(log_scale):
        net = ib.DiagonalNetwork.from_scale_shape(40, log_scale=log_scale, shape=shape)
        return np.abs(ib.limit(net, data.X, data.y).beta).sum() / least - 1.0

    # Rounding of a sum of 40 coefficients, and of the two norms.
    assert excess(found.log_scale) <= tol + 1e-13
    assert excess(found.log_scale + 1e-3 * abs(found.log_scale)) > tol
    assert found.scale == np.exp(found.log_scale)


def test_the_excess_of_the_paper_is_found_again():
    # THEORY: on the data of Azulay et al. the excess is 0.35 % at a scale of 1e-10.
    data = ib.datasets.azulay_sparse_regression()
    found = ib.scale_to_l1(data.X, data.y, 0.0035, shape=[0.0, 0.5])
    assert -10.3 <= found.log_scale[0] / math.log(10.0) <= -9.7
    # κ is the same: α (1 + s²)/(1 − s²).
    assert found.log_scale[0] - found.log_scale[1] == pytest.approx(math.log(1.25 / 0.75), rel=1e-12)


def test_where_the_dense_predictor_is_close_enough_every_scale_is():
    assert ib.scale_to_l1([[1.0, 1.0]], [2.0], 1e-6).scale == math.inf
    assert ib.scale_to_l1([[1.0, 2.0]], [0.0], 1e-6).log_scale == math.inf


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": 0.0}, "tol must be in [1e-12, 1e+06] (1e-12 is what rounding leaves of an l1 norm): got 0.0"),
        ({"tol": 0.1, "shape": 1.0}, "shape must be in (-1, 1): got 1.0"),
        ({"tol": 0.1, "n_jobs": 0}, "n_jobs must be an integer of at least 1: got 0"),
    ],
)
def test_bad_options_of_the_search_are_refused(options, message):
    with pytest.raises(ValueError, match="must be") as caught:
        ib.scale_to_l1([[1.0, 2.0]], [1.0], **options)
    assert str(caught.value) == message
