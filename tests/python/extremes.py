"""Hypothesis strategies for what users can pass in: problems at the edges of what a float is, and arguments that are no
problem at all.

Small (at most 4 samples and 5 features), because no law here needs more: what breaks a solver is the sizes, the zeros
and the dependences between rows. A value from here is valid input, but for `junk`.
"""

import math
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

import implicit_bias as ib

FEATURES = st.integers(1, 5)
LARGEST = np.finfo(float).max
NEAREST_TO_1 = 1.0 - 2.0**-53

#: ln of 1e-5000, 10^-100000, 1e300; the ends of what is accepted; where exp begins to over- and underflow.
LOG_SCALES = st.one_of(
    st.floats(-30.0, 5.0),
    st.sampled_from([0.0, -11512.9, -230258.5, 690.7, 1e12, -1e12, 708.0, 709.7, 712.0, -708.3, -745.1, -760.0]),
    st.floats(-1e5, 1e5),
)
SMALL_LOG_SCALES = st.one_of(st.floats(-30.0, 5.0), st.sampled_from([0.0, -708.3, -745.1, -11512.9, -230258.5]))
SCALES = st.one_of(st.floats(1e-8, 1e3), st.sampled_from([5e-324, 1e-308, 1e-300, 1.0, 1e150, 1e300, LARGEST]))
SHAPES = st.one_of(
    st.floats(-0.99, 0.99),
    st.sampled_from([0.0, NEAREST_TO_1, -NEAREST_TO_1, 1 - 1e-8, 1e-8 - 1, 5e-324, 0.5]),
)
WEIGHTS = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 2.0, 0.5, 1.0 + 2.0**-52]),
    st.floats(-2.0, 2.0),
    st.sampled_from([1e150, -1e150, 1e-150, 1e300, -1e-300, 5e-324, LARGEST]),
)
PLAIN_WEIGHTS = st.one_of(st.sampled_from([0.0, 1.0, -1.0, 2.0, 0.5, 1.0 + 2.0**-52]), st.floats(0.1, 2.0))
#: Decimal exponents of rows, columns and targets: mostly none.
DECADES = st.sampled_from([0, 0, 0, 0, 3, -3, 8, -8, 100, -100, 150, -150, 300, -300])
FEW_DECADES = st.sampled_from([0, 0, 0, 0, 2, -2])
ENTRIES = st.one_of(st.integers(-2, 2).map(float), st.floats(-3.0, 3.0), st.sampled_from([0.0, 1.0, 1e-8, 1e8]))
PLAIN_ENTRIES = st.one_of(st.integers(-2, 2).map(float), st.floats(0.1, 3.0))
#: Any float that is a number.
NUMBERS = st.one_of(st.floats(-10.0, 10.0), st.floats(allow_nan=False, allow_infinity=False))


def _finite(values):
    """Nearest finite floats: a product of sizes may not be one."""
    return np.nan_to_num(values, nan=0.0, posinf=LARGEST, neginf=-LARGEST)


def _scaled(values, decades):
    """values * 10^decades without the overflow of the power."""
    with np.errstate(over="ignore", under="ignore"):
        half = 10.0 ** (np.asarray(decades) / 2)
        return _finite(values * half * half)


def _list(draw, strategy, n):
    return np.array(draw(st.lists(strategy, min_size=n, max_size=n)))


class Sizes(NamedTuple):
    """How far apart the numbers of a problem can be."""

    weights: st.SearchStrategy
    log_scales: st.SearchStrategy
    scales: st.SearchStrategy
    entries: st.SearchStrategy
    decades: st.SearchStrategy


ANY_SIZE = Sizes(WEIGHTS, LOG_SCALES, SCALES, ENTRIES, DECADES)
#: Data within a few decades and starts that may vanish: what a flow can follow.
PLAIN_SIZE = Sizes(PLAIN_WEIGHTS, SMALL_LOG_SCALES, st.floats(1e-8, 100.0), PLAIN_ENTRIES, FEW_DECADES)


class Data(NamedTuple):
    X: np.ndarray
    y: np.ndarray

    def residual(self, beta):
        """y - X beta, exactly."""
        beta = [Fraction(b) for b in beta.tolist()]
        return [
            Fraction(t) - sum((Fraction(v) * b for v, b in zip(row, beta, strict=True)), Fraction(0))
            for row, t in zip(self.X.tolist(), self.y.tolist(), strict=True)
        ]

    def rounding(self, beta):
        """|X||beta| + |y|, one exact number a sample: what one relative error of u in each product is measured by."""
        return Data(-np.abs(self.X), np.abs(self.y)).residual(np.abs(beta))


@st.composite
def data(draw, n_features=FEATURES, sizes=ANY_SIZE):
    """Data with fewer, as many and more samples than features; zero, repeated and badly scaled rows and columns."""
    n, d = draw(st.integers(1, 4)), draw(n_features)
    X = _list(draw, sizes.entries, n * d).reshape(n, d)
    if draw(st.booleans()):
        X = _scaled(X, _list(draw, sizes.decades, n)[:, None])
    if draw(st.integers(0, 3)) == 0:
        X = _scaled(X, _list(draw, sizes.decades, d))
    if n > 1 and draw(st.integers(0, 3)) == 0:
        with np.errstate(over="ignore"):
            X[draw(st.integers(1, n - 1))] = _finite(
                X[0] * draw(st.sampled_from([1.0, -1.0, 0.5, 0.0, 1.0 + 2.0**-52]))
            )
    if d > 1 and draw(st.integers(0, 3)) == 0:
        X[:, draw(st.integers(1, d - 1))] = X[:, 0] * draw(st.sampled_from([1.0, -1.0, 0.0]))
    kind = draw(st.sampled_from(["reachable", "any", "any", "zero"]))
    if kind == "zero":
        y = np.zeros(n)
    elif kind == "any":
        y = _scaled(_list(draw, sizes.entries, n), draw(sizes.decades))
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            y = _finite(_scaled(X @ _list(draw, sizes.entries, d), draw(sizes.decades)))
    return Data(X, y)


@st.composite
def networks(draw, n_features, sizes=ANY_SIZE):
    """Starts of every kind: by scale and by weights, one-sided, frozen, biased, of any size."""
    d = n_features
    one_or_each = st.booleans()

    def given(strategy):
        return draw(strategy) if draw(one_or_each) else _list(draw, strategy, d)

    kind = draw(st.sampled_from(["log_scale", "log_scale", "scale", "weights", "one-sided", "unbiased"]))
    if kind in ("scale", "log_scale"):
        given_sizes = given(sizes.scales if kind == "scale" else sizes.log_scales)
        return ib.DiagonalNetwork.from_scale_shape(d, **{kind: given_sizes}, shape=given(SHAPES))
    u_plus, v_plus, u_minus, v_minus = (_list(draw, sizes.weights, d) for _ in range(4))
    if kind == "unbiased":
        u_minus, v_minus = u_plus, v_plus
    if kind == "one-sided":
        v_plus, v_minus = u_plus * draw(st.sampled_from([1.0, -1.0])), u_minus * draw(st.sampled_from([1.0, -1.0]))
    return ib.DiagonalNetwork(
        u_plus, v_plus, u_minus, v_minus, given(st.one_of(st.just(0.0), sizes.log_scales.map(lambda x: x / 2)))
    )


class Problem(NamedTuple):
    net: ib.DiagonalNetwork
    data: Data

    def __repr__(self):
        net = self.net
        weights = ", ".join(repr(w.tolist()) for w in (net.u_plus, net.v_plus, net.u_minus, net.v_minus))
        start = f"{net!r} = DiagonalNetwork({weights}, {np.asarray(net.log_magnitude).tolist()!r})"
        return f"Problem({start}, X={self.data.X.tolist()!r}, y={self.data.y.tolist()!r})"


@st.composite
def problems(draw, sizes=ANY_SIZE):
    """A start and data."""
    found = draw(data(sizes=sizes))
    return Problem(draw(networks(found.X.shape[1], sizes)), found)


@st.composite
def ordinary_problems(draw):
    """Scales from 1e-300 to 1e3, data of size one: problems that must be solved, not only survived."""
    n, d = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = random.standard_normal((n, d))
    y = X @ random.standard_normal(d) if draw(st.booleans()) else random.standard_normal(n)
    log_scale, shape = draw(st.floats(-690.0, 6.9)), draw(st.floats(-0.99, 0.99))
    return Problem(ib.DiagonalNetwork.from_scale_shape(d, log_scale=log_scale, shape=shape), Data(X, y))


class Unruly:
    """Has a length and no more: what some containers are."""

    def __len__(self):
        return 2

    def __repr__(self):
        return "Unruly()"


def junk():
    """Things that are no argument of anything, and some that are but should not be."""
    return st.one_of(
        st.none(),
        st.booleans(),
        st.text(max_size=3),
        st.integers(),
        st.sampled_from([0, -1, 10**400, 2**63, math.nan, math.inf, -math.inf, 1e-400, 5e-324, -0.0, 1j, LARGEST]),
        st.sampled_from([b"ab", object(), Unruly(), Decimal("0.5"), Fraction(1, 3), len, int, ..., {}, {1}, {"a": 1}]),
        st.lists(st.one_of(st.floats(), st.none(), st.text(max_size=1)), max_size=3),
        st.lists(st.lists(st.floats(), max_size=3), max_size=3),
        st.sampled_from([
            np.array([]), np.zeros((0, 2)), np.zeros((2, 0)), np.ones((1, 2, 1)), np.array(1.0), np.array([1 + 1j]),
            np.array(["a"]), np.array([None]), np.array(["2020-01-01"], "M8[D]"), np.ones(2, [("a", float)]),
            np.array([np.nan, 1.0]), np.array([[np.inf, 1.0]]), np.array([True, False]), np.float32(0.1),
            np.bool_(True), np.ma.masked_array([1.0, 2.0], [True, False]), np.array([1.0, 2.0])[::-1],
            np.ones((2, 2), np.float16), np.array([LARGEST, -LARGEST]), np.array([[LARGEST, LARGEST]]),
            np.array([2**63], np.uint64),
        ]),
    )  # fmt: skip
