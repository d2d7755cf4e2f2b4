"""Initial weights, scales and shapes with more digits, and of other sizes, than binary64 has."""

import copy
import pickle
import re
from decimal import Decimal
from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import implicit_bias as ib
import reference

U = 2.0**-104
X, Y = np.array([[1.0, 2.0, -0.5], [0.5, -1.0, 1.5]]), np.array([1.0, -0.25])
UP = [3.0, 4.0, 0.0]
ONE_NEURON = [
    pytest.param(ib.FullyConnectedNetwork.from_scale_shape, id="fully connected"),
    pytest.param(partial(ib.LeakyReLUNetwork.from_scale_shape, slope=1.0), id="leaky ReLU, and linear"),
]
# The same number as everything that has its digits.
TENTHS = ["0.1", " 1e-1", Decimal("0.1"), Fraction(1, 10), (0.1, float(Fraction(1, 10) - Fraction(0.1)))]


def thirty(net, y=Y):
    end = ib.limit(net, X, y, precision="double-double")
    assert end.success, end.message
    return end.to_mpmath()


def off(found, truth):
    """The largest difference, relative to the largest truth."""
    with mpmath.workdps(60):
        worst = max(abs(f - mpmath.mpf(str(t))) for f, t in zip(found, truth, strict=True))
        return float(worst / max(abs(mpmath.mpf(str(t))) for t in truth))


def log_kappa(net):
    return [mpmath.mpf(h) + mpmath.mpf(low) for h, low in zip(net.log_kappa, net.log_kappa_low, strict=True)]


# Diagonal networks by scale and shape


@pytest.mark.parametrize("scale", ["0.1", "1e-400", "1e-5000", "1e400", "0.30000000000000000000001"])
@pytest.mark.parametrize("shape", ["0.1", "-0.9", "0.99999999999999999999999"])
def test_ln_kappa_is_that_of_the_scale_and_shape_that_were_written(scale, shape):
    net = ib.DiagonalNetwork.from_scale_shape(2, scale=scale, shape=shape)
    with mpmath.workdps(80):
        a, s = mpmath.mpf(scale), mpmath.mpf(shape)
        truth = mpmath.log(4 * a * (1 + s * s) / ((1 - s) * (1 + s)))
        # The shape is rounded to 2^-106 of 1, which 1 - s magnifies; ln alpha to 2^-104 of itself.
        allowed = 4 * U * (1 + abs(mpmath.log(a))) + 2.0**-105 / (1 - abs(s))
        assert all(abs(found - truth) <= allowed for found in log_kappa(net))
    assert (net.scale, net.shape) == (scale, shape)
    assert f"scale={scale!r}, shape={shape!r}" in repr(net)


def test_a_tenth_is_not_the_float_next_to_it_and_the_limit_tells_them_apart_as_theory_says():
    decimal = ib.DiagonalNetwork.from_scale_shape(3, scale="0.1", shape="0.1")
    binary = ib.DiagonalNetwork.from_scale_shape(3, scale=0.1, shape=0.1)
    with reference.digits(60):
        truths = [
            reference.limit(X, Y, reference.start_from_scale_shape(3, scale=tenth, shape=tenth)).beta
            for tenth in (Decimal("0.1"), 0.1)
        ]
    found = [thirty(net) for net in (decimal, binary)]
    for beta, truth in zip(found, truths, strict=True):
        assert off(beta, truth) <= 1e-29
    with mpmath.workdps(60):
        moved = [d - b for d, b in zip(*found, strict=True)]
        truth = [mpmath.mpf(str(d)) - mpmath.mpf(str(b)) for d, b in zip(*truths, strict=True)]
        size = max(map(abs, truth))
        assert 1e-19 < size < 1e-16
        assert max(abs(m - t) for m, t in zip(moved, truth, strict=True)) <= 1e-10 * size
    # In binary64 they are the same to its last digits.
    np.testing.assert_allclose(ib.limit(decimal, X, Y).beta, ib.limit(binary, X, Y).beta, rtol=0.0, atol=1e-15)


@pytest.mark.parametrize("scale", ["1e-400", "1e-5000"])
def test_a_scale_beyond_binary64_has_the_limit_of_its_logarithm(scale):
    with reference.digits(60):
        start = reference.start_from_scale_shape(3, scale=Decimal(scale), shape=Decimal("0.3"))
        truth = reference.limit(X, Y, start).beta
    beta = thirty(ib.DiagonalNetwork.from_scale_shape(3, scale=scale, shape="0.3"))
    assert off(beta, truth) <= 16 * U * (10 + abs(float(Decimal(scale).ln())))


@pytest.mark.parametrize("tenth", TENTHS)
def test_every_way_to_write_a_tenth_is_the_same_neuron(tenth):
    expected = ib.FullyConnectedNetwork.from_scale_shape(UP, scale="0.1", shape="0.1")
    net = ib.FullyConnectedNetwork.from_scale_shape(UP, scale=tenth, shape=tenth)
    assert (thirty(net) == thirty(expected)).all()
    assert net.scale is tenth


def test_lists_and_arrays_of_strings_give_every_feature_its_own():
    shapes, scales = ["0.1", 0.25, Fraction(1, 3)], np.array(["1e-3", "1e-400", "2.5"])
    net = ib.DiagonalNetwork.from_scale_shape(3, scale=scales, shape=shapes)
    one_by_one = [ib.DiagonalNetwork.from_scale_shape(1, scale=a, shape=s) for a, s in zip(scales, shapes, strict=True)]
    for k, alone in enumerate(one_by_one):
        assert [part[k] for part in net.start] == [part[0] for part in alone.start]
    pair = (np.array([0.1, 0.2, 0.3]), np.array([1e-18, 0.0, -1e-18]))
    by_parts = ib.DiagonalNetwork.from_scale_shape(3, log_scale=pair)
    by_text = ib.DiagonalNetwork.from_scale_shape(
        3,
        log_scale=[Fraction(high) + Fraction(low) for high, low in zip(*(part.tolist() for part in pair), strict=True)],
    )
    for one, other in zip(by_parts.start, by_text.start, strict=True):
        np.testing.assert_array_equal(one, other)


# By weights


@settings(deadline=None, max_examples=40)
@given(
    weights=st.lists(st.decimals("-9", "9", places=25), min_size=4, max_size=4),
    exponent=st.integers(-6000, 6000),
    log_magnitude=st.sampled_from(["0", "0.1", "-230258.1"]),
)
def test_the_logarithms_of_a_and_b_are_those_of_the_weights_that_were_written(weights, exponent, log_magnitude):
    texts = [f"{w:f}e{exponent}" for w in weights]
    net = ib.DiagonalNetwork(*([text] for text in texts), log_magnitude=log_magnitude)
    with mpmath.workdps(80):
        u, v, x, w = map(mpmath.mpf, texts)
        for parts, sums in (
            (net.start[:2], (u + v, x - w)),
            (net.start[2:], (u - v, x + w)),
        ):
            found = mpmath.mpf(parts[0][0]) + mpmath.mpf(parts[1][0])
            size = max(map(abs, (u, v, x, w)))
            largest = max(map(abs, sums))
            if largest == 0:
                assert found == -mpmath.inf
                continue
            truth = mpmath.log(sums[0] ** 2 + sums[1] ** 2) + 2 * mpmath.mpf(log_magnitude)
            # Each weight is known to 2^-106 of the largest, and sums of them may be smaller.
            met = abs(truth) + 2 * abs(mpmath.mpf(log_magnitude)) + 10 + 5 * abs(exponent)
            if largest > size * mpmath.mpf(10) ** -24:
                assert abs(found - truth) <= 16 * U * (met + size / largest)


def test_weights_of_a_diagonal_network_keep_thirty_digits_and_their_magnitude():
    rows = [[f"{text}e-400" for text in (f"0.{k}", f"0.0{k}", f"-0.{k}1")] for k in range(1, 5)]
    net = ib.DiagonalNetwork(*rows)
    # Powers of ten, one a feature, are in the logarithm of the unit.
    assert net.u_plus[0] == 1.0
    assert np.abs(np.array([net.u_plus, net.v_plus, net.u_minus, net.v_minus])).max() < 10.0
    with reference.digits(60):
        numbers = [[Decimal(text) for text in row] for row in rows]
        log = [
            [((u + sign * v) ** 2 + (x - sign * w) ** 2).ln() for u, v, x, w in zip(*numbers, strict=True)]
            for sign in (1, -1)
        ]
        truth = reference.limit(X, Y, reference.Start(*log)).beta
    assert off(thirty(net), truth) <= 1e-27


@pytest.mark.parametrize(
    "model", [ib.FullyConnectedNetwork, lambda a, W, **k: ib.LeakyReLUNetwork(a, W, slope=1.0, **k)]
)
def test_a_neuron_keeps_the_digits_of_its_weights(model):
    a, W = ["0.7"], [["0.1", "0.2", "-0.3"]]
    exact, rounded = model(a, W), model([0.7], [[0.1, 0.2, -0.3]])
    np.testing.assert_array_equal(exact.W, rounded.W)
    assert rounded._a_low is rounded._W_low is rounded._log_magnitude_low is None
    with mpmath.workdps(60):
        for text, high, low in zip(W[0], exact.W[0], exact._W_low[0], strict=True):
            assert abs(mpmath.mpf(high) + mpmath.mpf(low) - mpmath.mpf(text)) < 1e-32
        outer, inner = mpmath.mpf(a[0]), [mpmath.mpf(w) for w in W[0]]
        truth = by_the_closed_form(outer, inner)
    assert off(thirty(exact), truth) <= 1e-29
    assert 1e-19 < off(thirty(rounded), truth) < 1e-15
    Q = exact.potential(precision="double-double")
    with mpmath.workdps(60):
        delta = outer**2 - mpmath.fsum(w * w for w in inner)
        assert abs(mpmath.mpf(Q.delta) + mpmath.mpf(Q.delta_low) - delta) < 1e-31
        for w, high, low in zip(inner, Q.z, Q.z_low, strict=True):
            assert abs(mpmath.mpf(high) + mpmath.mpf(low) + 1.5 * w) < 1e-31


def by_the_closed_form(a, w, y=Y):
    """beta = b + a P w(0), a^2 = (k + sqrt(k^2 + 4 |b|^2))/2, k = delta + |P w(0)|^2, at the precision of mpmath."""
    rows = mpmath.matrix(X.tolist())
    gram = rows * rows.T
    b = rows.T * mpmath.lu_solve(gram, mpmath.matrix([mpmath.mpf(t) for t in y]))
    start = mpmath.matrix(w)
    p = start - rows.T * mpmath.lu_solve(gram, rows * start)
    kappa = a**2 - mpmath.fsum(x * x for x in w) + mpmath.fsum(x * x for x in p)
    size = mpmath.sqrt((kappa + mpmath.sqrt(kappa**2 + 4 * mpmath.fsum(x * x for x in b))) / 2)
    return list(b + size * p)


@pytest.mark.parametrize("make", ONE_NEURON)
@pytest.mark.parametrize("scale", ["0.1", "1e-20"])
def test_one_neuron_by_scale_and_shape_starts_at_the_weights_of_theory(make, scale):
    net = make(["0.3", "0.4", "0.0"], scale=scale, shape="0.3", sign=-1)
    with mpmath.workdps(60):
        alpha, s = mpmath.mpf(scale), mpmath.mpf("0.3")
        slope = mpmath.sqrt((1 + s) / (1 - s))
        a, w = -mpmath.sqrt(alpha) * slope, [mpmath.sqrt(alpha) / slope * mpmath.mpf(u) for u in ("0.6", "0.8", "0")]
        assert abs(mpmath.mpf(net.a[0]) + mpmath.mpf(net._a_low[0]) - a) <= 32 * U * abs(a)
        for truth, high, low in zip(w, net.W[0], net._W_low[0], strict=True):
            assert abs(mpmath.mpf(high) + mpmath.mpf(low) - truth) <= 32 * U * abs(a)
        Q = net.potential(precision="double-double")
        delta = 4 * alpha * s / (1 - s * s)
        assert abs(mpmath.mpf(Q.delta) + mpmath.mpf(Q.delta_low) - delta) <= 32 * U * delta


@pytest.mark.parametrize("make", ONE_NEURON)
def test_a_scale_of_a_neuron_beyond_binary64_is_one_of_its_logarithm(make):
    net = make(UP, scale="1e-400", shape="0.6")
    assert net.scale == "1e-400"
    assert "scale='1e-400'" in repr(net)
    with mpmath.workdps(60):
        half = -200 * mpmath.log(10)
        assert abs(mpmath.mpf(net.log_magnitude) + mpmath.mpf(net._log_magnitude_low) - half) < 1e-28
    assert net.potential().delta == 0.0  # 3.75e-400
    beta = thirty(net)
    with mpmath.workdps(60):
        truth = by_the_closed_form(
            mpmath.mpf("2e-200"), [mpmath.mpf("0.3e-200"), mpmath.mpf("0.4e-200"), mpmath.mpf(0)]
        )
    assert off(beta, truth) <= 1e-29


def test_neurons_of_weights_beyond_binary64_share_one_unit():
    net = ib.FullyConnectedNetwork(["1e-400", "-3e-401"], [["2e-400", "0", "0"], ["0", "5e-402", "0"]])
    np.testing.assert_allclose(net.a, [0.5, -0.15] if net.a[0] == 0.5 else [1.0, -0.3])
    np.testing.assert_allclose(net.W[:, :2], net.a[0] * np.array([[2.0, 0.0], [0.0, 0.05]]))
    assert ib.limit(net, X, Y).success


# What stays as it was


@pytest.mark.parametrize(
    "net",
    [
        ib.DiagonalNetwork.from_scale_shape(2, scale=["0.1", "1e-400"], shape="0.3"),
        ib.DiagonalNetwork(["0.1"], [0.2], ["0.3"], [0.4], log_magnitude="0.1"),
        ib.FullyConnectedNetwork.from_scale_shape(UP, log_scale="-0.1", shape="0.3"),
        ib.LeakyReLUNetwork(["0.1"], [["0.2", 0.3, 0.4]], slope=0.5, log_magnitude="0.1"),
    ],
)
def test_networks_of_thirty_digits_pickle_copy_and_cannot_be_written_to(net):
    for again in (pickle.loads(pickle.dumps(net)), copy.deepcopy(net)):
        assert repr(again) == repr(net)
        if isinstance(net, ib.DiagonalNetwork):
            for one, other in zip(again.start, net.start, strict=True):
                np.testing.assert_array_equal(one, other)
        else:
            assert again.W.tobytes() == net.W.tobytes()
            assert again._W_low.tobytes() == net._W_low.tobytes()
    for name, value in vars(net).items():
        for array in value if isinstance(value, tuple) else (value,):
            if isinstance(array, np.ndarray) and name not in ("start", "_log_alpha", "_by_shape"):
                assert not array.flags.writeable, name


REFUSED = [
    (lambda: ib.DiagonalNetwork.from_scale_shape(1, scale="-1e-400"), "scale must be positive: got '-1e-400'"),
    (lambda: ib.DiagonalNetwork.from_scale_shape(1, scale="1", shape="1"), "shape must be in (-1, 1): got '1'"),
    (lambda: ib.DiagonalNetwork.from_scale_shape(1, scale="one"), "scale must be a real number"),
    (lambda: ib.DiagonalNetwork(["1"], ["1e-400"], [0], [0]), "v_plus must be in the range of float64 beside"),
    (lambda: ib.DiagonalNetwork(["1", "2"], ["1"], [0], [0]), "v_plus must have length 2, one weight for every entry"),
    (lambda: ib.DiagonalNetwork(["nan"], [1], [0], [0]), "u_plus must be"),
    (lambda: ib.FullyConnectedNetwork.from_scale_shape(UP, scale="0"), "scale must be positive: got '0'"),
    (lambda: ib.FullyConnectedNetwork.from_scale_shape(UP, scale="1", shape="-1.5"), "shape must be in (-1, 1): got"),
    (lambda: ib.FullyConnectedNetwork(["1e-400"], [["1"]]), "a must be in the range of float64 beside the other"),
    (lambda: ib.FullyConnectedNetwork(["1"], [["1", "2"], ["3", "4"]]), "W must have 1 rows, one for every entry of a"),
    (
        lambda: ib.FullyConnectedNetwork(["1"], [["1"]], log_magnitude="1e13"),
        "log_magnitude must be in [-1e+12, 1e+12]",
    ),
]


@pytest.mark.parametrize(("call", "says"), REFUSED)
def test_what_cannot_be_a_start_is_refused_by_name(call, says):
    with pytest.raises(ValueError, match=f"^{re.escape(says)}"):
        call()
