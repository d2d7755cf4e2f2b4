"""Arithmetic and functions of the core in double-double against mpmath, each within the bound that it states."""

import math
import sys
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from implicit_bias import _core
from implicit_bias import _double_double as dd

UNIT = 2.0**-104
#: Below it the low part of a result has lost digits to underflow: bounds are relative above and a multiple of it below.
SMALL = 2.0**-960
LEAST = 2.0**-1074

# Bits for mpmath, where no part is small; two numbers can have 2,100 between them.
BITS = 400


def pairs(sizes):
    """Normalised pairs: `high` as drawn, `low` anything up to half of its unit, or 0."""

    def normalised(high, fraction, gap):
        low = high * fraction * 2.0 ** -(53 + gap)
        total = high + low
        return total, low - (total - high)

    return st.builds(normalised, sizes, st.floats(-1.0, 1.0), st.integers(0, 30))


def decades(low, high):
    return st.builds(
        lambda sign, decade: sign * 10.0**decade, st.sampled_from([-1.0, 1.0]), st.floats(low, high, width=64)
    )


def value(pair):
    return mpmath.mpf(pair[0]) + mpmath.mpf(pair[1])


def call(name, *arguments):
    """A function at one point."""
    columns = [(np.array([high]), np.array([low])) for high, low in arguments]
    high, low = _core.double_double(name, columns)
    return float(high[0]), float(low[0])


def assert_within(units, found, truth):
    """Relative, in units of 2^-104, of a normalised result; absolute where parts of it underflow; inf beyond."""
    high, low = found
    if abs(truth) >= mpmath.mpf(sys.float_info.max):
        assert abs(high) >= sys.float_info.max * (1.0 - 2.0**-50)
        return
    assert high + low == high, f"{found} is not normalised"
    error = abs(value(found) - truth)
    size = max(abs(truth), mpmath.mpf(SMALL))
    assert error <= units * UNIT * size + LEAST, f"{float(error / size / UNIT)} units"


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workprec(BITS):
        yield


# Arithmetic: 4 units of 2^-104 = 16 u^2 at most, and what Joldes, Muller and Popescu prove of each.

ANY = pairs(decades(-280.0, 280.0))
MODERATE = pairs(decades(-140.0, 140.0))


@given(MODERATE, MODERATE)
def test_products_quotients_and_roots_are_within_four_units(x, y):
    assert_within(1.25, call("mul", x, y), value(x) * value(y))
    assert_within(4.0, call("div", x, y), value(x) / value(y))
    size = (abs(x[0]), math.copysign(x[1], x[0] * x[1]) if x[1] else 0.0)
    assert_within(0.79, call("sqrt", size), mpmath.sqrt(value(size)))


@given(ANY, st.integers(0, 110), st.floats(-2.0, 2.0), st.floats(-1.0, 1.0))
def test_a_sum_is_within_a_unit_also_where_thirty_digits_cancel(x, cancelled, fraction, low):
    # The second number is the first with the other sign, to so many bits.
    with mpmath.workprec(120):
        truth = -value(x) * (1 + mpmath.ldexp(fraction, -cancelled)) + low * x[0] * 2.0**-107
    high = float(truth)
    y = (high, float(truth - high))
    with mpmath.workprec(2400):
        assert_within(0.75, call("add", x, y), value(x) + value(y))
        assert_within(0.75, call("sub", x, (-y[0], -y[1])), value(x) + value(y))


@given(ANY)
def test_a_number_less_itself_is_nothing(x):
    assert call("sub", x, x) == (0.0, 0.0)
    assert call("add", x, (0.0, 0.0)) == x
    assert call("mul", x, (1.0, 0.0)) == x


# Functions: the ranges on which the plain formulas cancel, overflow early or lose digits.

FUNCTIONS = {
    "exp": (5.0, st.floats(-660.0, 709.5)),
    "expm1": (15.0, st.one_of(decades(-250.0, 0.0), st.floats(-2.0, 2.0), st.floats(-700.0, 709.5))),
    "log": (
        15.0,
        st.one_of(
            st.floats(-280.0, 308.0).map(lambda decade: 10.0**decade),
            st.floats(0.5, 2.0),
            decades(-15.9, -1.0).map(lambda gap: 1.0 + gap),
        ),
    ),
    "log1p": (
        16.0,
        st.one_of(
            decades(-250.0, -0.31), st.floats(-0.999, 1.0), st.floats(0.0, 308.0).map(lambda decade: 10.0**decade)
        ),
    ),
    "sinh": (16.0, st.one_of(decades(-250.0, 0.0), st.floats(-2.0, 2.0), st.floats(-710.4, 710.4))),
    "cosh": (6.0, st.one_of(decades(-250.0, 0.0), st.floats(-2.0, 2.0), st.floats(-710.4, 710.4))),
    "asinh": (16.0, st.one_of(decades(-250.0, 308.0), st.floats(-3.0, 3.0), decades(7.0, 17.0))),
}
TRUTH = {name: getattr(mpmath, name) for name in FUNCTIONS}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_within_its_bound(name):
    units, sizes = FUNCTIONS[name]

    @settings(deadline=None, max_examples=300)
    @given(pairs(sizes))
    def within(x):
        # Near 0 and 1 what is left is as small as a part of x, and mpmath must see it beside 1.
        with mpmath.workprec(BITS - 2 * min(0, *(math.frexp(part)[1] for part in x))):
            assert_within(units, call(name, x), TRUTH[name](value(x)))

    within()


@pytest.mark.parametrize(
    ("name", "x"),
    [
        ("asinh", (-1e8, 0.0)),
        ("asinh", (-1e8, 7e-9)),
        ("asinh", (-1e300, 1e283)),
        ("log", (1.0, 1e-30)),
        ("log", (1.0, -(2.0**-54))),
        ("log", (1.0 - 2.0**-53, 2.0**-108)),
        ("log1p", (-1.0, 1e-20)),
        ("log1p", (-1.0 + 2.0**-53, 0.0)),
        ("expm1", (1e-300, 1e-317)),
        ("sinh", (1e-30, -1e-47)),
        ("exp", (709.78271289338397, 0.0)),
        ("sinh", (710.4758600739439, 0.0)),
        ("cosh", (-710.4758600739439, 0.0)),
    ],
)
def test_single_points_that_other_formulas_lose(name, x):
    with mpmath.workprec(3000):
        assert_within(FUNCTIONS[name][0], call(name, x), TRUTH[name](value(x)))


def test_ends_of_the_range_are_infinities_and_zeros():
    for name, x, expected in [
        ("exp", 709.79, math.inf),
        ("exp", -745.2, 0.0),
        ("sinh", -710.48, -math.inf),
        ("cosh", 710.48, math.inf),
        ("expm1", -800.0, -1.0),
        ("log1p", -1.0, -math.inf),
        ("log", 0.0, -math.inf),
        ("asinh", -math.inf, -math.inf),
    ]:
        assert call(name, (x, 0.0)) == (expected, 0.0), name
    for name, x in [("log", -1.0), ("log1p", -1.1), ("sqrt", -1.0), *((name, math.nan) for name in FUNCTIONS)]:
        assert math.isnan(call(name, (x, 0.0))[0]), name
    for name in ("expm1", "log1p", "sinh", "asinh", "sqrt"):
        assert math.copysign(1.0, call(name, (-0.0, 0.0))[0]) == -1.0, name


def test_subnormal_results_are_rounded_once_or_twice():
    # The low part is gone there, and the high one is rounded again where it is scaled down.
    for x in (-709.0, -720.5, -744.0):
        high, low = call("exp", (x, 0.0))
        assert abs(value((high, low)) - mpmath.exp(x)) <= LEAST


# Powers


POWERS = st.one_of(
    st.floats(-280.0, 280.0).map(lambda decade: 10.0**decade),
    decades(-15.0, -0.5).map(lambda gap: 1.0 + gap),
    st.floats(0.3, 4.0),
)


@settings(deadline=None, max_examples=500)
@given(pairs(POWERS), pairs(st.floats(-660.0, 700.0)))
@example((1.0 + 2.0**-52, 0.0), (1e2, 0.0))
@example((2.0, 2.0**-53), (700.0, 0.0))
def test_a_power_is_within_its_bound(x, exponent):
    # The exponent is y ln x, so that results have every size; y is rounded to two parts.
    truth = value(exponent) / mpmath.log(value(x)) if value(x) != 1 else mpmath.mpf(exponent[0])
    y = (float(truth), float(truth - float(truth)))
    logarithm = value(y) * mpmath.log(value(x))
    assert_within(6.0 + float(abs(logarithm)) / 16.0, call("pow", x, y), mpmath.exp(logarithm))


# Decimal text


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=Decimal("-1e300"), max_value=Decimal("1e300")))
@example(Decimal("0.1"))
@example(Decimal("1." + "0" * 900 + "1"))
@example(Decimal(2) ** 107)
def test_decimals_are_read_to_the_nearest_number(text):
    high, low = (float(part[0]) for part in _core.read_double_double([str(text)]))
    exact = Fraction(text)
    assert high == float(exact)
    # Half a unit of the low part, and it is half a unit of the high one at most.
    assert abs(Fraction(high) + Fraction(low) - exact) <= Fraction(math.ulp(low)) / 2
    assert abs(low) <= math.ulp(high) / 2


# What users may write


THIRD = Fraction(1, 3)
SPELLINGS = ["0." + "3" * 40, Decimal("0." + "3" * 40), THIRD]


@pytest.mark.parametrize("spelling", SPELLINGS, ids=lambda spelling: type(spelling).__name__)
def test_a_third_has_two_parts_however_it_is_written(spelling):
    expected = (1 / 3, float(THIRD - Fraction(1 / 3)))
    assert dd.number_parts("delta", spelling) == expected
    high, low = dd.parts("y", [spelling, 2.0], "(n_samples,)")
    assert (high[0], low[0]) == expected
    assert (high[1], low[1]) == (2.0, 0.0)
    high, low = dd.parts("y", np.array([spelling], dtype=object), "(n_samples,)")
    assert (high[0], low[0]) == expected


def test_an_mpf_of_any_precision_keeps_what_two_parts_hold():
    third = mpmath.mpf(1) / 3
    assert dd.number_parts("delta", third) == (1 / 3, float(THIRD - Fraction(1 / 3)))
    assert dd.number_parts("delta", mpmath.mpf("-0.0")) == (0.0, 0.0)


def test_integers_and_long_floats_keep_their_digits():
    assert dd.number_parts("delta", 2**70 + 1) == (2.0**70, 1.0)
    high, low = dd.parts("y", np.array([2**62 + 1, -(2**62) - 1]), "(n,)")
    assert high.tolist() == [2.0**62, -(2.0**62)]
    assert low.tolist() == [1.0, -1.0]
    long = np.longdouble(1) + np.longdouble(2) ** -60
    high, low = dd.parts("y", np.array([long]), "(n,)")
    assert float(low[0]) == float(long - 1)  # 0 where a long double is no longer than a float


def test_a_float_beside_a_string_stays_what_it_is():
    high, low = dd.parts("y", [0.1, "0.1"], "(n,)")
    assert high.tolist() == [0.1, 0.1]
    assert low.tolist() == [0.0, float(Fraction(1, 10) - Fraction(0.1))]


def test_a_pair_is_a_tuple_of_two_arrays():
    high, low = dd.parts("y", ([1.0, 2.0], [2.0**-53, 1e-30]), "(n,)")
    assert high.tolist() == [1.0, 2.0]  # ties to even: 1 + 2^-53 stays apart
    assert low.tolist() == [2.0**-53, 1e-30]
    assert dd.parts("y", (1.0, 2.0), "(n,)")[0].tolist() == [1.0, 2.0]
    assert dd.number_parts("delta", (1.0, 1.0)) == (2.0, 0.0)
    matrix = dd.parts("beta", ([[1.0, 2.0]], [[0.0, 1e-20]]), "(k, n)")
    assert [part.shape for part in matrix] == [(1, 2), (1, 2)]


def test_arrays_of_floats_are_neither_copied_nor_slow():
    y = np.arange(5.0)
    high, low = dd.parts("y", y, "(n,)")
    assert high is y
    assert not low.any()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("one", "y must be a real number, as a float, a decimal string, a Decimal, a Fraction or an mpf: got 'one'"),
        ("1e400", "y must be in the range of float64: got '1e400'"),
        ("-1e-400", "y must be in the range of float64: got '-1e-400'"),
        (Fraction(1, 10**400), "y must be in the range of float64: got Fraction(1, 1000"),
        (None, "y must be a finite number: got None"),
        (Decimal("NaN"), "y must be in the range of float64: got Decimal('NaN')"),
        (True, "y must be a finite number: got True"),
    ],
)
def test_what_is_no_number_is_refused_by_name(value, message):
    with pytest.raises(ValueError, match="must be") as error:
        dd.number_parts("y", value)
    assert str(error.value).startswith(message)
    with pytest.raises(ValueError, match="must be"):
        dd.parts("y", ["0.1", value], "(n,)")


def test_shapes_are_checked():
    for value, axes in [([["0.1"]], "(n,)"), ([], "(n,)"), ("0.1", "(n,)"), ([["0.1"], ["0.2", "0.3"]], "(k, n)")]:
        with pytest.raises(ValueError, match=r"^y must"):
            dd.parts("y", value, axes)
    with pytest.raises(ValueError, match=r"^y must have parts of one shape: got \(2,\) and \(1,\)$"):
        dd.parts("y", ([1.0, 2.0], [0.0]), "(n,)")
    with pytest.raises(ValueError, match=r"^y must have length 3, one a row: got 2$"):
        dd.vector_parts("y", ["0.1", "0.2"], 3, "one a row")
    with pytest.raises(ValueError, match=r"^kappa must have length 3, one for every feature: got 2$"):
        dd.log_parts("kappa", ["0.1", "1e-400"], 3)


def test_data_come_in_three_arrays():
    X, y, low = dd.data([[1.0, 2.0]], ["0.1"], 2)
    assert X.shape == (1, 2)
    assert (y[0], low[0]) == dd.number_parts("y", "0.1")
    with pytest.raises(ValueError, match=r"^y must have length 1, one target for every row of X: got 2$"):
        dd.data([[1.0, 2.0]], ["0.1", "0.2"])
    with pytest.raises(ValueError, match=r"^X must have 3 columns, one for every feature of the start: got 2$"):
        dd.data([[1.0, 2.0]], ["0.1"], 3)


# Logarithms of what binary64 cannot hold


@pytest.mark.parametrize(
    ("scale", "logarithm"),
    [
        ("1e-100000", lambda: -100000 * mpmath.log(10)),
        ("2.5e400", lambda: mpmath.log(2.5) + 400 * mpmath.log(10)),
        (Decimal("0.7e-400"), lambda: mpmath.log("0.7") - 400 * mpmath.log(10)),
        (Fraction(3, 7**500), lambda: mpmath.log(3) - 500 * mpmath.log(7)),
        (mpmath.ldexp(3, -5000), lambda: mpmath.log(3) - 5000 * mpmath.log(2)),
        ("1.00000000000000000001", lambda: mpmath.log1p(mpmath.mpf("1e-20"))),
        ("1e-310", lambda: -310 * mpmath.log(10)),
        (1e-300, lambda: mpmath.log(mpmath.mpf(1e-300))),
    ],
    ids=str,
)
def test_scales_are_kept_by_their_logarithm(scale, logarithm):
    for given_as in (scale, [scale]):
        high, low = dd.log_parts("scale", given_as)
        # 15 units of ln, 0.75 and 1 of a sum and products, and 1.00000000000000000001 is rounded to 2^-107 of 1.
        truth = logarithm()
        error = abs(value((high[0], low[0])) - truth)
        assert error <= 18 * UNIT * abs(truth) + 2.0**-107


def test_a_scale_must_be_positive():
    for scale in ("-1e-400", "0", 0.0, "-0.1", "nan", [0.1, -1.0]):
        with pytest.raises(ValueError, match=r"^scale must be positive: got "):
            dd.log_parts("scale", scale)
    with pytest.raises(ValueError, match=r"^the logarithm of scale must be in"):
        dd.log_parts("scale", "1e-1000000000000")


# To mpmath


@given(ANY)
def test_mpmath_gets_every_bit_and_its_precision_is_left_alone(x):
    with mpmath.workprec(20):
        found = dd.to_mpmath(*x)
        assert mpmath.mp.prec == 20
    with mpmath.workprec(2400):
        assert found == value(x)


def test_arrays_keep_their_shape_and_a_field_its_low_part():
    high, low = np.array([[1.0, math.inf]]), np.array([[2.0**-60, 0.0]])
    found = dd.to_mpmath(high, low)
    assert found.shape == (1, 2)
    assert found.dtype == object
    assert found[0, 0] == value((1.0, 2.0**-60))
    assert found[0, 1] == mpmath.inf

    class Result:
        beta, beta_low, loss, loss_low, nothing = high, low, 0.5, None, None

    names = ("beta", "loss", "nothing")
    assert dd.field_to_mpmath(Result, "beta", names)[0, 0] == found[0, 0]
    assert dd.field_to_mpmath(Result, "loss", names) == 0.5
    assert dd.field_to_mpmath(Result, "nothing", names) is None
    with pytest.raises(ValueError, match=r"^name must be one of 'beta', 'loss', 'nothing': got 'gamma'$"):
        dd.field_to_mpmath(Result, "gamma", names)


def test_a_missing_mpmath_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpmath", None)
    with pytest.raises(ImportError, match=r"^to_mpmath needs mpmath: pip install 'implicit-bias\[mpmath\]'$"):
        dd.to_mpmath(1.0)
