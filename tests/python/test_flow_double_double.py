"""`gradient_flow` in double-double: golden files to all their digits, both parts of every array, errors."""

import pickle
import re

import mpmath
import numpy as np
import pytest

import implicit_bias as ib

X = np.array([[1.0, 2.0, -0.5], [0.5, -1.0, 3.0]])
Y = np.array([1.0, -0.5])
NET = ib.DiagonalNetwork.from_scale_shape(3, scale=1e-3, shape=0.4)


def exact_flow(net=NET, y=Y, t=None, **options):
    return ib.gradient_flow(net, X, y, t, precision="double-double", **options)


def relative_error(found, truth):
    """Largest error of a row of exact numbers, relative to the largest entry of the truth."""
    with mpmath.workdps(60):
        truth = [mpmath.mpf(str(value)) for value in truth]
        errors = [abs(a - b) for a, b in zip(found, truth, strict=True)]
        return float(max(errors) / max(map(abs, truth)))


def test_ends_have_twenty_seven_digits(golden):
    cases = golden("diagonal_limits")
    assert len(cases) == 30
    for case in cases:
        weights = {name: np.array(values) for name, values in case["shape_of_parameters"].items()}
        net = ib.DiagonalNetwork(**weights, log_magnitude=case["log_parameter_scale"])
        flow = ib.gradient_flow(net, case["X"], case["y"], precision="double-double")
        assert flow.success, flow.message
        assert relative_error(flow.to_mpmath()[-1], case["beta"]) <= 1e-27
        assert relative_error(flow.to_mpmath("multipliers")[-1], case["nu"]) <= 1e-27


@pytest.mark.parametrize("method", ["auto", "radau"])
def test_trajectories_have_all_their_printed_digits(golden, method):
    for case in golden("diagonal_trajectories"):
        u, v = np.array(case["u"]), np.array(case["v"])
        net = ib.DiagonalNetwork(u, v, u, v, log_magnitude=case["log_parameter_scale"])
        times = [point["t"] for point in case["points"]]
        flow = ib.gradient_flow(net, case["X"], case["y"], times, precision="double-double", method=method)
        assert flow.success
        for row, point in zip(flow.to_mpmath(), case["points"], strict=True):
            # 25 digits of the largest entry
            assert relative_error(row, point["beta"]) <= 5e-25


def test_every_array_has_its_low_part_and_the_high_part_is_the_nearest_float():
    flow = exact_flow(t=[0.0, 1.0, 30.0], observables=["l1_norm", "residual", "potential"])
    pairs = [(flow.beta, flow.beta_low), (flow.loss, flow.loss_low), (flow.multipliers, flow.multipliers_low)]
    pairs += [(flow.observables[name], flow.observables_low[name]) for name in flow.observables]
    for high, low in pairs:
        assert high.shape == low.shape
        assert (np.abs(low) <= 0.5 * np.spacing(np.abs(high))).all()
    assert any(low.any() for _, low in pairs)
    plain = ib.gradient_flow(NET, X, Y, [0.0, 1.0, 30.0], rtol=1e-13)
    np.testing.assert_allclose(flow.beta, plain.beta, rtol=1e-11, atol=1e-14)
    assert plain.beta_low is None
    assert plain.loss_low is None
    assert plain.multipliers_low is None
    assert plain.observables_low is None


def test_exact_numbers_are_the_sum_of_the_parts_whatever_the_working_precision():
    flow = exact_flow(t=[1.0], observables=["l2_norm"])
    with mpmath.workdps(5):
        few = flow.to_mpmath(), flow.to_mpmath("l2_norm")
    with mpmath.workdps(50):
        for found, high, low in zip(few[0].ravel(), flow.beta.ravel(), flow.beta_low.ravel(), strict=True):
            assert found == mpmath.mpf(high) + mpmath.mpf(low)
        assert few[1][0] == mpmath.mpf(flow.observables["l2_norm"][0]) + mpmath.mpf(flow.observables_low["l2_norm"][0])
    plain = ib.gradient_flow(NET, X, Y, [1.0])
    assert plain.to_mpmath("loss").tolist() == plain.loss.tolist()
    with pytest.raises(ValueError, match="name must be one of 'beta', 'loss', 'multipliers': got 'gamma'"):
        plain.to_mpmath("gamma")


def test_the_distance_is_measured_from_the_limit_of_thirty_digits():
    flow = exact_flow(t=[0.0, 1.0, 30.0, 1e4], observables=["distance", "loss"])
    end = ib.limit(NET, X, Y, precision="double-double").to_mpmath()
    with mpmath.workdps(60):
        for row, found, low in zip(
            flow.to_mpmath(), flow.observables["distance"], flow.observables_low["distance"], strict=True
        ):
            truth = mpmath.sqrt(mpmath.fsum((b - e) ** 2 for b, e in zip(row, end, strict=True)))
            size = max(map(abs, end))
            # Differences of numbers of size one, each known to a few units of 2^-104.
            assert abs(mpmath.mpf(float(found)) + mpmath.mpf(float(low)) - truth) <= 1e-30 * size
    assert flow.observables["distance"][-1] < 1e-20
    plain = ib.gradient_flow(NET, X, Y, [0.0, 1.0], observables=["distance"])
    np.testing.assert_allclose(flow.observables["distance"][:2], plain.observables["distance"], rtol=1e-8)


def test_weights_are_rebuilt_and_conserve_what_the_flow_conserves():
    flow = exact_flow(t=[0.0, 1.0, 30.0])
    u_plus, v_plus, u_minus, v_minus = flow.parameters
    np.testing.assert_allclose(u_plus * v_plus - u_minus * v_minus, flow.beta, rtol=1e-12, atol=1e-15)
    assert (flow.conserved_quantities().drift < 1e-14).all()
    assert np.isfinite(flow.distance_bound()).all()


def test_targets_may_come_in_two_parts_in_any_order_of_size():
    tiny = 1e-20 * Y
    expected = exact_flow(y=(Y, tiny)).to_mpmath()[-1]
    swapped = exact_flow(y=(tiny, Y)).to_mpmath()[-1]
    assert (swapped == expected).all()
    with mpmath.workdps(60):
        data = mpmath.matrix(X.tolist())
        fitted = data * mpmath.matrix(expected.tolist())
        for row, high, low in zip(fitted, Y, tiny, strict=True):
            assert abs(row - mpmath.mpf(high) - mpmath.mpf(low)) < 1e-28
    # in binary64 their sum is what counts
    assert (ib.gradient_flow(NET, X, (Y, 0.5 * Y)).beta == ib.gradient_flow(NET, X, 1.5 * Y).beta).all()


def test_a_tuple_of_two_floats_is_two_targets():
    assert (exact_flow(y=(1.0, -0.5)).beta == exact_flow(y=[1.0, -0.5]).beta).all()


def test_a_start_whose_logarithm_is_a_quarter_of_a_million():
    net = ib.DiagonalNetwork.from_scale_shape(3, log_scale=-230258.0)
    flow = exact_flow(net, max_steps=1000)
    assert flow.success
    # beta from the multipliers in many digits; ln kappa is known to 2^-105 of itself
    with mpmath.workdps(60):
        log_a, log_b = (
            [mpmath.mpf(float(high)) + mpmath.mpf(float(low)) for high, low in zip(*parts, strict=True)]
            for parts in ((net.start.log_a_high, net.start.log_a_low), (net.start.log_b_high, net.start.log_b_low))
        )
        nu = flow.to_mpmath("multipliers")[-1]
        g = [sum(mpmath.mpf(float(x)) * n for x, n in zip(column, nu, strict=True)) for column in X.T]
        beta = [(mpmath.exp(a + 2 * k) - mpmath.exp(b - 2 * k)) / 4 for a, b, k in zip(log_a, log_b, g, strict=True)]
        assert max(abs(b - f) for b, f in zip(beta, flow.to_mpmath()[-1], strict=True)) / max(map(abs, beta)) < 1e-25


def test_results_pickle_and_are_the_same_for_any_number_of_threads():
    one, two = (exact_flow(t=[0.5, 5.0], n_jobs=n) for n in (1, 2))
    again = pickle.loads(pickle.dumps(one))
    for other in (two, again):
        for name in ("beta", "beta_low", "loss", "loss_low", "multipliers", "multipliers_low"):
            assert (getattr(one, name) == getattr(other, name)).all()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"rtol": 1e-31}, "rtol must be in [1e-30, 0.1] (1e-30 is the floor of double-double precision): got 1e-31"),
        ({"tol": 1e-32}, "tol must be in [1e-31, 0.1] (1e-31 is the round-off of y): got 1e-32"),
        (
            {"method": "weights"},
            "method must be 'auto', 'radau' or 'explicit' with precision 'double-double': got 'weights'",
        ),
        ({"y": (Y, [1.0])}, "y must have parts of one shape: got (2,) and (1,)"),
        ({"y": (Y, [1.0, np.nan])}, "y must be finite: 1 of 2 entries are NaN or infinite"),
    ],
)
def test_what_is_not_there_is_refused_by_name(options, says):
    with pytest.raises(ValueError, match=f"^{re.escape(says)}$"):
        exact_flow(**options)
