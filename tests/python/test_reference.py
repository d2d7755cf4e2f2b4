"""The reference of these tests against golden files that other programs computed: who checks the checker."""

from decimal import Decimal

import numpy as np
import pytest

import reference


def start_of(case):
    return reference.start_from_weights(**case["shape_of_parameters"], log_magnitude=case["log_parameter_scale"])


def relative(found, truth):
    return max(reference.errors(found, truth)) / max(map(abs, truth))


def test_limits_agree_with_the_golden_file_to_thirty_digits(golden):
    cases = golden("diagonal_limits")
    assert len(cases) == 30
    for case in cases:
        found = reference.limit(case["X"], case["y"], start_of(case))
        assert relative(found.beta, case["beta"]) <= Decimal("1e-30")
        assert relative(found.multipliers, case["nu"]) <= Decimal("1e-30")
        with reference.digits(60):
            assert abs(found.potential / case["Q_bregman"] - 1) <= Decimal("1e-30")


def test_trajectories_agree_with_the_golden_file_to_its_digits(golden):
    # Both sides carry 25 digits of beta, hence of X beta and y but not of their difference: at t = 15 of the first case
    # the loss is 1.6e-49, and ten digits of it agree.
    for case in golden("diagonal_trajectories"):
        start = reference.start_from_weights(case["u"], case["v"], case["u"], case["v"], case["log_parameter_scale"])
        rows = reference.trajectory(case["X"], case["y"], start, [point["t"] for point in case["points"]])
        for row, point in zip(rows, case["points"], strict=True):
            assert relative(row.beta, point["beta"]) <= Decimal("1e-24")
            with reference.digits(60):
                unit = Decimal("1e-24") * max(map(abs, [*point["beta"], *reference.exact(case["y"])]))
                noise = 20 * unit * point["loss"].sqrt() + unit**2
                assert abs(row.loss - point["loss"]) <= noise + Decimal("1e-24") * point["loss"]


def test_the_start_of_newton_does_not_matter():
    rng = np.random.default_rng(0)
    X, start = rng.standard_normal((3, 7)), reference.start_from_scale_shape(7, log_scale=-300.0, shape=0.3)
    y = rng.standard_normal(3)
    from_scratch = reference.limit(X, y, start)
    rounded = [float(v) * (1 + 1e-9) for v in from_scratch.multipliers]
    assert relative(reference.limit(X, y, start, rounded).beta, from_scratch.beta) <= Decimal("1e-33")


def test_a_one_sided_coordinate_is_the_end_of_ever_more_lopsided_ones():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((2, 5))
    y = X @ np.abs(rng.standard_normal(5))
    u, c = np.full(5, 0.5), np.full(5, 0.25)
    one_sided = reference.start_from_weights(u, u, c, -c)
    assert not any(v.is_finite() for v in one_sided.log_b)
    limit = reference.limit(X, y, one_sided)
    assert min(limit.beta) > 0
    lopsided = reference.Start(one_sided.log_a, [Decimal(-200)] * 5)
    # B enters beta through AB/(16 p): e^-200 in relation to one
    assert relative(reference.limit(X, y, lopsided).beta, limit.beta) <= Decimal("1e-33")
    assert relative(limit.beta, reference.limit(X, y, reference.Start(one_sided.log_a, one_sided.log_a)).beta) > 1e-6


def test_the_trajectory_ends_in_the_limit():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((2, 4)), rng.standard_normal(2)
    start = reference.start_from_scale_shape(4, scale=0.1, shape=0.5)
    (row,) = reference.trajectory(X, y, start, [200.0])
    assert relative(row.beta, reference.limit(X, y, start).beta) <= Decimal("1e-24")


def test_targets_out_of_reach_are_refused():
    X = np.array([[1.0, 2.0], [2.0, 4.0]])  # the rows are parallel: no number of digits helps
    with pytest.raises(reference.NotEnoughDigitsError):
        reference.limit(X, [1.0, 3.0], reference.start_from_scale_shape(2, scale=1.0))
