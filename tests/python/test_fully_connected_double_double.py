"""Flows of linear networks of neurons in double-double: golden files to their digits, invariants, ends, errors."""

import json
import re
from decimal import Decimal
from pathlib import Path

import mpmath
import numpy as np
import pytest

import implicit_bias as ib

GOLDEN = Path(__file__).parent.parent / "golden"
X = np.array([[1.0, 2.0, -0.5, 0.25], [0.5, -1.0, 3.0, 1.0]])
Y = np.array([1.0, -0.5])
ONE = ib.FullyConnectedNetwork([0.7], [[0.2, -0.1, 0.4, 0.3]])
THREE = ib.FullyConnectedNetwork(
    [0.6, -0.3, 0.2], [[0.2, -0.1, 0.4, 0.3], [0.1, 0.5, -0.2, 0.0], [-0.4, 0.3, 0.1, 0.2]]
)


def exactly(net, X=X, y=Y, t=None, **options):
    return ib.gradient_flow(net, X, y, t, precision="double-double", **options)


def error(found, truth):
    """Largest error relative to the largest entry of the truth."""
    with mpmath.workdps(60):
        return float(max(abs(a - b) for a, b in zip(found, truth, strict=True)) / max(map(abs, truth)))


def mpf(text):
    return mpmath.mpf(str(text))


def predictor(a, W):
    return [sum(x * w[k] for x, w in zip(a, W, strict=True)) for k in range(len(W[0]))]


def cases(name):
    return json.loads((GOLDEN / f"{name}.json").read_text(), parse_float=Decimal)["cases"]


def test_one_neuron_has_all_the_printed_digits_of_its_trajectory():
    for case in cases("neuron_trajectories"):
        orientation = np.array(case["orientation"], dtype=float)
        net = ib.FullyConnectedNetwork.from_scale_shape(
            orientation, scale=float(case["scale"]), shape=float(case["shape"])
        )
        times = [float(point["t"]) for point in case["points"]]
        flow = exactly(net, np.array(case["X"], dtype=float), np.array(case["y"], dtype=float), times)
        assert flow.success
        for row, point in zip(flow.to_mpmath(), case["points"], strict=True):
            with mpmath.workdps(60):
                truth = predictor([mpf(point["a"])], [[mpf(w) for w in point["w"]]])
            assert error(row, truth) <= 1e-20


def test_several_neurons_have_all_the_printed_digits_of_their_trajectories():
    for case in cases("fully_connected_trajectories"):
        X, y, a, W = (np.array(case[key], dtype=float) for key in ("X", "y", "a", "W"))
        flow = exactly(ib.FullyConnectedNetwork(a, W), X, y, [float(point["t"]) for point in case["points"]])
        assert flow.success
        for t, point in enumerate(case["points"]):
            with mpmath.workdps(60):
                beta = predictor([mpf(v) for v in point["a"]], [[mpf(w) for w in row] for row in point["W"]])
                f = [sum(x * b for x, b in zip(row, beta, strict=True)) for row in X.tolist()]
                loss = sum((v - p) ** 2 for v, p in zip(y.tolist(), f, strict=True)) / (2 * len(y))
            assert error(flow.to_mpmath()[t], beta) <= 1e-20
            # Twenty-two digits of beta are as many of the residual's terms.
            assert abs(flow.to_mpmath("loss")[t] - loss) <= 1e-20 * mpmath.sqrt(loss)


def test_the_end_of_one_neuron_is_its_closed_form_at_every_scale():
    nets = [ONE]
    nets += [ib.FullyConnectedNetwork.from_scale_shape([1.0, -2.0, 0.5, 3.0], scale, 0.3) for scale in (1e-12, 1e-300)]
    nets += [ib.FullyConnectedNetwork.from_scale_shape([1.0, -2.0, 0.5, 3.0], shape=-0.2, log_scale=-23025.0)]
    for net in nets:
        flow, end = exactly(net), ib.limit(net, X, Y, precision="double-double")
        assert flow.success
        assert end.success
        assert error(flow.to_mpmath()[-1], end.to_mpmath()) <= 1e-27


def test_the_high_parts_are_what_float64_finds_and_weights_are_there():
    rng = np.random.default_rng(3)
    for m in (1, 3, 200):
        net = ib.FullyConnectedNetwork(rng.standard_normal(m) / np.sqrt(m), rng.standard_normal((m, 4)) / np.sqrt(m))
        options = {"t": [0.0, 0.5, 5.0], "observables": ["residual", "l1_norm", "l2_norm", "max_norm", "loss"]}
        plain, exact = ib.gradient_flow(net, X, Y, rtol=1e-13, **options), exactly(net, **options)
        assert np.abs(plain.beta - exact.beta).max() < 1e-11
        for name, column in plain.observables.items():
            assert np.abs(column - exact.observables[name]).max() < 1e-11
            low = exact.observables_low[name]
            assert (np.abs(low) <= 0.5 * np.spacing(np.abs(exact.observables[name]))).all()
        for found, same in zip(exact.parameters, plain.parameters, strict=True):
            assert found.shape == same.shape
            assert np.abs(found - same).max() < 1e-11
        assert exact.conserved_quantities().drift.max() < 1e-13


def test_several_neurons_have_an_end_to_thirty_digits():
    end = ib.limit(THREE, X, Y, precision="double-double")
    plain = ib.limit(THREE, X, Y)
    assert end.success
    assert np.abs(end.beta - plain.beta).max() < 1e-11
    assert end.kkt.feasibility < 1e-28
    assert end.kkt.stationarity < 1e-28
    assert end.multipliers is None
    assert end.potential_value is None
    assert "no theorem" in end.message
    flow = exactly(THREE, rtol=1e-29)
    assert error(flow.to_mpmath()[-1], end.to_mpmath()) < 1e-26
    report = ib.check_kkt(THREE, X, Y, (end.beta, end.beta_low), precision="double-double")
    assert report.feasibility == end.kkt.feasibility
    rounded = ib.check_kkt(THREE, X, Y, end.beta, precision="double-double")
    assert 1e-18 < max(rounded.feasibility, rounded.stationarity) < 1e-15


def test_a_sign_that_the_flow_decides_is_decided_to_thirty_digits_as_well():
    net = ib.FullyConnectedNetwork([-0.01], [[1.0, 0.5, 0.0, 0.0]])
    messages = []
    for y in (Y, -Y):
        end, plain = ib.limit(net, X, y, precision="double-double"), ib.limit(net, X, y)
        assert end.message == plain.message
        messages.append(end.message)
        assert np.abs(end.beta - plain.beta).max() < 1e-11
        assert error(exactly(net, y=y).to_mpmath()[-1], end.to_mpmath()) <= 1e-27
        beta = (end.beta, end.beta_low)
        assert ib.check_kkt(net, X, y, beta, precision="double-double").stationarity < 1e-28
    assert any("changes its sign" in message for message in messages)


def test_data_out_of_reach_end_in_least_squares():
    rng = np.random.default_rng(7)
    tall, wide = rng.standard_normal((9, 4)), rng.standard_normal((5, 4))
    wide[1] = wide[0]
    for data in (tall, wide):
        y = rng.standard_normal(data.shape[0])
        flow, end = exactly(ONE, data, y), ib.limit(ONE, data, y, precision="double-double")
        assert flow.status == end.status == "least_squares"
        assert error(flow.to_mpmath()[-1], end.to_mpmath()) <= 1e-27
        assert ib.limit(THREE, data, y, precision="double-double").kkt.feasibility < 1e-27


def test_data_that_are_dependent_to_sixteen_digits_are_not_waited_for():
    rng = np.random.default_rng(11)
    data, y = rng.standard_normal((3, 4)), rng.standard_normal(3)
    data[2] = (data[0] + data[1]) / 3.0
    flow, plain = exactly(ONE, data, y, observables=["residual"]), ib.gradient_flow(ONE, data, y)
    assert flow.status == plain.status == "least_squares"
    assert np.abs(flow.beta[-1] - plain.beta[-1]).max() < 1e-10
    assert flow.observables["residual"][-1] <= 1e-29 * np.abs(y).max()


def test_targets_of_thirty_digits_are_not_rounded():
    with mpmath.workdps(40):
        third = mpmath.mpf(1) / 3
    flow = exactly(ONE, y=[third, "0.1"])
    with mpmath.workdps(40):
        fitted = [sum(x * b for x, b in zip(row, flow.to_mpmath()[-1], strict=True)) for row in X.tolist()]
        assert error(fitted, [third, mpmath.mpf("0.1")]) < 1e-28


def test_the_divergence_of_one_neuron_falls_short_of_nothing():
    flow = exactly(ONE, t=[0.0, 1.0, 1e4], observables=["potential"])
    column = flow.to_mpmath("potential")
    end = ib.limit(ONE, X, Y, precision="double-double")
    assert abs(column[0]) < 1e-60
    assert column[1] < column[2]
    assert abs(column[2] / end.to_mpmath("potential_value") - 1) < 1e-25


def test_any_number_of_threads_gives_the_same_bits():
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((10, 1000)), rng.standard_normal(10)
    net = ib.FullyConnectedNetwork(rng.standard_normal(30), rng.standard_normal((30, 1000)), log_magnitude=-3.0)
    one, two = (exactly(net, X, y, [0.0, 1e-3, 1e-2], n_jobs=n) for n in (1, 2))
    assert (one.beta == two.beta).all()
    assert (one.beta_low == two.beta_low).all()
    assert (one.loss_low == two.loss_low).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rtol": 1e-31}, "rtol must be in [1e-30, 0.1]"),
        ({"method": "weights"}, "method must be 'auto', 'radau' or 'explicit' with precision 'double-double'"),
        ({"observables": ["distance"]}, "observables must be without 'distance'"),
        ({"observables": ["potential"]}, "net must be one neuron or a balanced network"),
        ({"certify": True}, "certify must be False"),
    ],
)
def test_what_is_not_allowed_is_named(options, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        exactly(THREE, **options)
