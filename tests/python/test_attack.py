"""The integrator under attack, as far as it is seen from Python (docs/integrator.md has the table)."""

import numpy as np
import pytest

import implicit_bias as ib


def leaky():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((4, 6)), rng.standard_normal(4)
    net = ib.LeakyReLUNetwork.from_scale_shape(rng.standard_normal(6), scale=0.3, shape=0.4, slope=0.2)
    return net, X, y


def test_an_event_at_a_save_time_is_an_event_and_the_row_is_the_state_at_it():
    net, X, y = leaky()
    plain = ib.gradient_flow(net, X, y, [30.0])
    assert plain.success
    assert plain.events
    at = [event.time for event in plain.events]
    times = sorted({*at, 30.0})
    flow = ib.gradient_flow(net, X, y, times)
    assert flow.success
    assert [(e.sample, e.kind) for e in flow.events] == [(e.sample, e.kind) for e in plain.events]
    np.testing.assert_allclose([e.time for e in flow.events], at, rtol=1e-8)
    # The state is continuous through a kink: rows just before and after are next to it.
    for time in at:
        around = ib.gradient_flow(net, X, y, [time * (1.0 - 1e-9), time * (1.0 + 1e-9)])
        row = flow.beta[times.index(time)]
        assert np.abs(around.beta - row).max() < 1e-6 * np.abs(row).max()


def test_a_million_save_times_have_a_million_rows():
    net = ib.DiagonalNetwork.from_scale_shape(2, scale=1e-3)
    times = np.linspace(0.0, 20.0, 10**6)
    flow = ib.gradient_flow(net, [[1.0, 2.0]], [2.0], times, save_beta=False, method="explicit")
    assert flow.success
    assert flow.t.size == flow.loss.size == 10**6
    # The loss of a gradient flow falls, but for the rounding of y - x b in the square: 1e-15 of it.
    assert (np.diff(flow.loss) <= 1e-14 * flow.loss[:-1] + 1e-20).all()


@pytest.mark.parametrize("method", ["radau", "explicit"])
def test_the_floor_of_the_tolerance_is_reached_and_below_it_is_refused(method):
    net = ib.DiagonalNetwork.from_scale_shape(2, scale=1e-3)
    flow = ib.gradient_flow(net, [[1.0, 2.0]], [2.0], [1.0, 10.0], rtol=1e-14, method=method, certify=True)
    assert flow.success
    assert flow.error_bound.max() < 1e-11
    with pytest.raises(ValueError, match=r"rtol must be in \[1e-14, 0.1\]"):
        ib.gradient_flow(net, [[1.0, 2.0]], [2.0], rtol=9e-15, method=method)


@pytest.mark.parametrize("method", ["radau", "explicit", "weights"])
def test_one_step_is_one_step_and_says_what_to_raise(method):
    net = ib.DiagonalNetwork.from_scale_shape(2, scale=1e-3)
    flow = ib.gradient_flow(net, [[1.0, 2.0]], [2.0], [0.0, 1e3], method=method, max_steps=1)
    assert flow.status == "max_steps"
    assert not flow.success
    assert "raise max_steps" in flow.message
    assert flow.stats["accepted"] + flow.stats["rejected"] == 1
    assert flow.t.tolist() == [0.0]
    assert np.isfinite(flow.beta).all()


def test_a_start_on_a_saddle_is_no_success_and_names_the_remedy():
    net = ib.DiagonalNetwork(*np.zeros((4, 2)))
    flow = ib.gradient_flow(net, [[1.0, 2.0]], [2.0])
    assert flow.status == "saddle"
    assert not flow.success
    assert "move the start off it" in flow.message
