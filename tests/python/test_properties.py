"""Laws of every public function on any input: it ends, it raises nothing but ValueError, and success means an answer.

The inputs are those of `extremes`. `COVERED` says which law speaks of which public name; a public name without a law
fails the last test. Each law runs on a few examples, the same every time, and in `make soak` on many, new every time.
"""

import inspect
import math
import re
import signal
import time
import types
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

import extremes
import implicit_bias as ib

U = 2.0**-53
TINY = Fraction(5e-324)
SECONDS, PATIENCE = 10, 300
SOAK = 100

LAWS, COVERED = {}, {}


def law(*names, examples, **strategies):
    """Register a law of these public names, to be tested on this many examples."""

    def register(body):
        LAWS[body.__name__] = body, examples, strategies
        for name in names:
            COVERED.setdefault(name, []).append(body.__name__)
        return body

    return register


def obey(name, times, **options):
    body, examples, strategies = LAWS[name]
    quiet = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    chosen = settings(max_examples=times * examples, deadline=None, suppress_health_check=quiet, **options)
    chosen(given(**strategies)(body))()


@contextmanager
def in_time():
    """A call that has not returned by then fails; the core hears a signal within 20 ms, wherever it is.

    In seconds of work, which do not pass while other programs have the machine; and in many more that do, for a
    deadlock.
    """

    def late(_signal, _frame):
        raise TimeoutError(f"not done after {SECONDS} s of work, or {PATIENCE} s")

    clocks = [(signal.SIGPROF, signal.ITIMER_PROF, SECONDS), (signal.SIGALRM, signal.ITIMER_REAL, PATIENCE)]
    before = [signal.signal(number, late) for number, _, _ in clocks]
    for _, timer, seconds in clocks:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(clocks, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


def refused(call, *args, **kwargs):
    """The result of a call, in time; None where it raises ValueError, which is the only thing it may raise."""
    with in_time():
        try:
            return call(*args, **kwargs)
        except ValueError:
            return None


def no_nan(**values):
    wrong = [name for name, value in values.items() if value is not None and np.isnan(value).any()]
    assert wrong == []


def largest(values):
    return max((abs(v) for v in values), default=Fraction(0))


# ---------------------------------------------------------------------------------------------------------- the limit


def is_a_limit(found, problem, tol=1e-12):
    """What every result of the solvers at t = infinity must be, whatever its status."""
    data = problem.data
    report = found.kkt
    no_nan(
        beta=found.beta,
        multipliers=found.multipliers,
        error_bound=found.error_bound,
        backward_error=found.backward_error,
        potential_value=found.potential_value,
        stationarity=report.stationarity,
        feasibility=report.feasibility,
        duality_gap=report.duality_gap,
    )
    assert found.beta.shape == (data.X.shape[1],)
    assert found.multipliers.shape == found.backward_error.shape == data.y.shape
    assert found.error_bound is None or (found.error_bound >= 0.0).all()
    assert found.potential_value >= 0.0
    assert found.n_iter >= 0
    assert found.success == found.status.at_the_end
    assert "max_steps" not in found.message  # it has no such argument
    if not found.success:
        return
    assert np.isfinite(found.beta).all()
    assert np.isfinite(found.backward_error).all()
    assert np.isfinite([report.stationarity, report.feasibility]).all()
    residual, rounding = data.residual(found.beta), data.rounding(found.beta)
    # Each of the d + 1 terms of y - X beta is off by u for beta's rounding and by u for its own; twice that for safety.
    noise = [4 * (data.X.shape[1] + 1) * Fraction(U) * part + TINY for part in rounding]
    if found.status == "converged":
        # `y` was in range(X) for all the solver could tell: the projection costs a few roundings of y as well.
        size = largest(map(Fraction, data.y.tolist())) or 1  # absolute where all targets are 0
        assert largest(residual) <= Fraction(tol) * size + 8 * max(noise)
        for r, bound, rest in zip(residual, found.backward_error, noise, strict=True):
            assert abs(r) <= Fraction(float(bound)) + 8 * rest


PRECISIONS = st.sampled_from(["double", "double-double"])


def has_low_parts(found, names):
    """Normalised where there is something to add to; 0, not NaN, where there is not."""
    for name in names:
        high, low = getattr(found, name), getattr(found, f"{name}_low")
        no_nan(low=low)
        finite = np.isfinite(high)
        assert (high[finite] + low[finite] == high[finite]).all()


@law(
    "limit", "Limit", "KKTReport", "Status", examples=150,
    problem=extremes.problems(), bounds=st.booleans(), precision=PRECISIONS,
)  # fmt: skip
def a_limit_is_an_answer_or_says_that_it_is_none(problem, bounds, precision):
    found = refused(ib.limit, problem.net, *problem.data, bounds=bounds, precision=precision, n_jobs=1)
    if found is not None:
        is_a_limit(found, problem)
        assert (found.error_bound is not None) == bounds
        if precision == "double-double":
            has_low_parts(found, ("beta", "multipliers"))


@law("limit", "Limit", "Limit.to_mpmath", "LimitPath.to_mpmath", examples=60, problem=extremes.ordinary_problems())
def an_ordinary_limit_of_thirty_digits_succeeds_and_rounds_to_that_of_sixteen(problem):
    found, plain = (
        ib.limit(problem.net, *problem.data, precision=precision, n_jobs=1) for precision in ("double-double", "double")
    )
    assert found.success, found.message
    # What the binary64 limit says of itself holds of the other: it is nearer than the bounds of both.
    known = np.isfinite(plain.error_bound) & np.isfinite(found.error_bound)
    off = np.abs(found.beta - plain.beta)[known]
    assert (off <= plain.error_bound[known] + found.error_bound[known] + 2 * U * np.abs(plain.beta[known])).all()
    assert [float(b) for b in found.to_mpmath()] == found.beta.tolist()
    path = ib.limit_path([problem.net], *problem.data, precision="double-double", n_jobs=1)
    assert path.to_mpmath().tolist() == [found.to_mpmath().tolist()]


@law("limit", "check_kkt", "KKTReport.satisfied", examples=60, problem=extremes.ordinary_problems())
def an_ordinary_limit_succeeds_and_passes_its_own_check(problem):
    found = ib.limit(problem.net, *problem.data, n_jobs=1)
    is_a_limit(found, problem)
    assert found.success, found.message
    assert found.kkt.satisfied(1e-10)
    assert ib.check_kkt(problem.net, *problem.data, found.beta, n_jobs=1).feasibility <= 1e-10


@law(
    "limit_path", "LimitPath", "LimitPath.message", "LimitPath.success", examples=40,
    data=extremes.data(st.just(3)), nets=st.lists(extremes.networks(3), min_size=1, max_size=5), bounds=st.booleans(),
)  # fmt: skip
def every_row_of_a_path_is_a_limit(data, nets, bounds):
    path = refused(ib.limit_path, nets, *data, bounds=bounds, n_jobs=1)
    if path is not None:
        assert len(path) == len(nets) == len(path.message) == path.success.size
        for net, end in zip(nets, path, strict=True):
            is_a_limit(end, extremes.Problem(net, data))


@law(
    "check_kkt", "KKTReport", "KKTReport.satisfied", examples=80,
    problem=extremes.problems(), random=st.data(), tol=st.floats(1e-31, 0.1), precision=PRECISIONS,
)  # fmt: skip
def any_predictor_can_be_checked(problem, random, tol, precision):
    d = problem.net.n_features
    beta = np.array(random.draw(st.lists(extremes.NUMBERS, min_size=d, max_size=d)))
    report = refused(ib.check_kkt, problem.net, *problem.data, beta, precision=precision, n_jobs=1)
    if report is None:
        return
    if precision == "double-double":
        has_low_parts(report, ("multipliers",))
    no_nan(error_bound=report.error_bound, backward_error=report.backward_error, multipliers=report.multipliers)
    no_nan(stationarity=report.stationarity, feasibility=report.feasibility, duality_gap=report.duality_gap)
    assert (report.error_bound >= 0.0).all()
    assert min(report.stationarity, report.feasibility) >= 0.0
    assert isinstance(report.satisfied(tol), bool)


# ----------------------------------------------------------------------------------------------------------- the flow

TIMES = st.lists(
    st.one_of(st.floats(0.0, 100.0), st.sampled_from([0.0, 5e-324, 1e-300, 1e-12, 1e6, 1e100, 1e300])),
    min_size=1, max_size=4, unique=True,
).map(sorted)  # fmt: skip


def is_a_flow(flow, problem, times, rtol=None):
    """What every trajectory must be, whatever its status."""
    data, d = problem.data, problem.net.n_features
    n_times = flow.t.size
    assert flow.beta.shape == (n_times, d)
    assert flow.loss.shape == (n_times,)
    no_nan(t=flow.t, beta=flow.beta, loss=flow.loss, multipliers=flow.multipliers)
    assert np.isfinite(flow.t).all()
    assert (flow.loss >= 0.0).all()
    assert (np.diff(flow.t) > 0.0).all()
    if times is None:
        assert flow.success == flow.status.at_the_end
        assert flow.t[0] == 0.0
    else:
        assert flow.success == (n_times == len(times))
        assert flow.t.tolist() == times[:n_times]
    # Multipliers of tiny rows may exceed the largest float, as those of limits may; coefficients end the run before.
    assert np.isfinite(flow.beta).all()
    for k in {0, n_times // 2, n_times - 1} & set(range(n_times)):
        residual, rounding = data.residual(flow.beta[k]), data.rounding(flow.beta[k])
        # As for a limit; the loss is computed from the same state, of which beta is the rounded value.
        # With more samples than features it is that of a rotated residual, which mixes the rounding of all rows. A
        # coefficient that underflows is not 0 in the units of the run.
        lost = largest(map(Fraction, data.X.ravel().tolist())) * d * TINY
        noise = 16 * (d + 2) * Fraction(U) * max(rounding) + lost + TINY
        high = sum((abs(r) + noise) ** 2 for r in residual) / (2 * len(data.y))
        low = sum(max(abs(r) - noise, Fraction(0)) ** 2 for r in residual) / (2 * len(data.y))
        found = flow.loss[k]
        assert found == math.inf or Fraction(found) <= high * (1 + Fraction(1, 10**9)) + TINY
        assert found == math.inf or Fraction(found) >= low * (1 - Fraction(1, 10**9)) - TINY
    # sqrt(2 loss) is the norm of the residual over sqrt(N): it is off by no more than the largest error of a residual.
    # Coefficients are off by rtol a step, and by 2e-6 of the largest of the run where rows are interpolated.
    relative = 32 * U + 100.0 * (rtol or 1e-10) + (2e-6 if times is None else 0.0)
    sizes = np.abs(flow.beta).max(initial=0.0)
    with np.errstate(over="ignore", invalid="ignore"):  # there is no bound then
        if flow.multipliers is None:
            # A weight far below its partner is as exact as the larger one: the product is off by rtol times its square.
            # Between the ends of steps at the limit of stability that is many times rtol.
            sizes += 10.0 * max(np.square(w).max(initial=0.0) for w in flow.parameters)
        reach = np.nan_to_num(np.abs(data.X).sum(axis=1).max() * sizes + np.abs(data.y).max(), nan=np.inf)
    for before, after in pairwise(math.sqrt(2.0) * np.sqrt(flow.loss)):  # twice the loss may be no float
        assert after <= before * (1 + 8 * U) + relative * reach


@law(
    "gradient_flow", "Flow", "Parameters", "ConservedQuantities", "Flow.parameters", "Flow.conserved_quantities",
    "Flow.distance_bound", examples=120,
    problem=extremes.problems(), times=st.one_of(st.none(), TIMES),
    rtol=st.sampled_from([None, 1e-14, 1e-6]),
    method=st.sampled_from(["auto", "radau", "explicit", "weights"]),
    max_steps=st.sampled_from([1, 30, 300]), max_seconds=st.sampled_from([None, 1e-9, 1.0]),
)  # fmt: skip
def a_flow_is_a_trajectory_or_says_why_it_ended(problem, times, rtol, method, max_steps, max_seconds):
    flow = refused(
        ib.gradient_flow, problem.net, *problem.data, times, rtol=rtol, method=method,
        max_steps=max_steps, max_seconds=max_seconds, n_jobs=1,
    )  # fmt: skip
    if flow is None:
        return
    is_a_flow(flow, problem, times, rtol)
    with in_time():
        weights, conserved, bound = flow.parameters, flow.conserved_quantities(), flow.distance_bound(n_jobs=1)
    assert all(w.shape == flow.beta.shape for w in weights)
    no_nan(**weights._asdict())
    assert bound.shape == flow.beta.shape
    no_nan(bound=bound)
    assert (bound >= 0.0).all()
    size = sum(np.abs(w).max(initial=0.0) for w in weights)
    if 1e-140 < size < 1e140:
        no_nan(**conserved._asdict())


@law("gradient_flow", examples=25, problem=extremes.problems(), seconds=st.sampled_from([1e-3, 0.05]))
def a_flow_without_a_limit_of_steps_ends_with_its_seconds(problem, seconds):
    begin = time.process_time()
    flow = refused(ib.gradient_flow, problem.net, *problem.data, max_seconds=seconds, n_jobs=1)
    assert time.process_time() - begin <= seconds + 1.0
    if flow is not None:
        is_a_flow(flow, problem, None)


OBSERVABLES = ("loss", "residual", "l1_norm", "l2_norm", "max_norm", "potential", "distance")


@law(
    "gradient_flow", "FlowProgress", examples=40,
    problem=extremes.problems(), times=st.one_of(st.none(), TIMES),
    method=st.sampled_from(["auto", "weights"]), time_unit=st.sampled_from(["flow", "log_scale"]),
    observables=st.lists(st.sampled_from(OBSERVABLES), unique=True), save_beta=st.booleans(),
)  # fmt: skip
def what_is_observed_are_the_numbers_of_the_rows(problem, times, method, time_unit, observables, save_beta):
    seen = []
    flow = refused(
        ib.gradient_flow, problem.net, *problem.data, times, method=method, time_unit=time_unit, max_steps=100,
        observables=observables, save_beta=save_beta, progress=seen.append, n_jobs=1,
    )  # fmt: skip
    if flow is None:
        return
    assert all(isinstance(report, ib.FlowProgress) for report in seen)
    assert list(flow.observables) == observables
    assert flow.time_unit == time_unit
    no_nan(**({"t": flow.t, "loss": flow.loss} | flow.observables))
    assert all(values.shape == flow.t.shape and (values >= 0.0).all() for values in flow.observables.values())
    if save_beta:
        rows = np.abs(flow.beta)
        expected = {"l1_norm": rows.sum(axis=1), "l2_norm": np.hypot.reduce(rows, axis=1), "max_norm": rows.max(axis=1)}
        for name in expected.keys() & flow.observables.keys():
            np.testing.assert_allclose(flow.observables[name], expected[name], rtol=32 * U, atol=5e-323)


@law(
    "gradient_flow", "Flow.to_mpmath", examples=40,
    problem=extremes.ordinary_problems(), method=st.sampled_from(["auto", "radau"]),
)  # fmt: skip
def an_ordinary_flow_succeeds_and_conserves_what_it_must(problem, method):
    with in_time():
        flow = ib.gradient_flow(problem.net, *problem.data, method=method, n_jobs=1)
    is_a_flow(flow, problem, None)
    assert flow.success, flow.message
    assert flow.to_mpmath()[-1].tolist() == flow.beta[-1].tolist()
    # A few roundings of each weight, squared, and those of its exponent.
    assert flow.conserved_quantities().drift.max() <= (64 + 4 * np.abs(problem.net.log_kappa).max()) * U
    end = ib.limit(problem.net, *problem.data, n_jobs=1)
    assert (np.abs(flow.beta[-1] - end.beta) <= flow.distance_bound(n_jobs=1)[-1] + end.error_bound).all()


SCALED = ib.DiagonalNetwork.from_scale_shape
#: Flows at the ends of binary64 that were found to break the law of all flows, and what must come of them.
BEYOND_FLOATS = {
    "a time of convergence beyond the largest float": (
        SCALED(1, scale=1e-8), [[0.0], [7.489e-164], [0.0]], [0.0, 7.489e-164, 0.0], None, "10^326"
    ),
    "rows closer to each other than the least float": (
        SCALED(1, scale=1e-308, shape=extremes.NEAREST_TO_1), [[1e142]], [1e292], None, "10^-434"
    ),
    "weights whose sum overflows": (
        ib.DiagonalNetwork(*[[extremes.LARGEST]] * 2, [1.0], [1.0], -41697.0), [[1.0]], [0.0], [1.0], None
    ),
    "slopes whose products underflow": (SCALED(2, scale=1.0), np.diag([1.0, 1e-150]), [1.0, 1e190], None, None),
    "a row whose square underflows": (SCALED(2, scale=1.0), np.diag([1.0, 1e-300]), [1.0, 1e10], [1.0, 1e270], None),
    "rows that are left out, and not small to y": (
        ib.DiagonalNetwork([0.0, -1.53], [0.0, -0.35], [0.2, 0.0], [0.0, 0.2], 0.0),
        [[-1e100, -1e-8], [1e92, 1.0], [1.63e100, 1.0]], [-2.0, 2e8, 2e8], None, None
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BEYOND_FLOATS)
def test_flows_beyond_the_range_of_floats_are_trajectories_or_are_refused(name):
    net, X, y, times, refusal = BEYOND_FLOATS[name]
    problem = extremes.Problem(net, extremes.Data(np.array(X), np.array(y)))
    for method in ("auto", "radau", "explicit"):
        if refusal is not None:
            with pytest.raises(ValueError, match=f"got one of {re.escape(refusal)};"):
                ib.gradient_flow(net, X, y, times, method=method)
            continue
        flow = ib.gradient_flow(net, X, y, times, method=method, max_steps=500, n_jobs=1)
        is_a_flow(flow, problem, times)
        assert flow.stats["accepted"] > 10 or flow.success
        no_nan(**flow.parameters._asdict())


# --------------------------------------------------------------------------------------------- networks and potentials


@law(
    "DiagonalNetwork", "DiagonalNetwork.from_scale_shape", "DiagonalNetwork.n_features", "DiagonalNetwork.beta0",
    "DiagonalNetwork.log_kappa", "DiagonalNetwork.log_kappa_low", "DiagonalNetwork.kappa", "DiagonalNetwork.start",
    "DiagonalNetwork.potential",
    examples=150, net=st.integers(1, 4).flatmap(extremes.networks),
)  # fmt: skip
def a_start_has_a_kappa_and_a_predictor(net):
    with in_time():
        assert repr(net).startswith("DiagonalNetwork(n_features=")
        for values in (net.beta0, net.log_kappa, net.kappa, *net.start):
            assert values.shape == (net.n_features,)
        no_nan(beta0=net.beta0, log_kappa=net.log_kappa, kappa=net.kappa, **net.start._asdict())
    assert (net.kappa >= 0.0).all()
    assert (net.log_kappa < np.inf).all()
    known = np.isfinite(net.log_kappa)
    assert (np.abs(net.log_kappa_low[known]) <= 0.5 * np.spacing(np.abs(net.log_kappa[known]))).all()
    if net.shape is not None:
        assert not net.beta0.any()
        assert (net.log_kappa > -np.inf).all()
    largest_weight = np.abs([net.u_plus, net.v_plus, net.u_minus, net.v_minus]).max()
    if largest_weight < 1e20 and np.max(net.log_magnitude) < 99.0:
        assert np.isfinite(net.beta0).all()


def is_a_potential(Q, points):
    """Convex, 0 at its centre, never NaN."""
    a, b = points
    with in_time():
        assert repr(Q).startswith("HyperbolicEntropy(")
        value, gradient, hessian, between = Q(a), Q.gradient(a), Q.hessian(a), Q.bregman(a, b)
        assert Q.bregman(a, a) == 0.0 or not np.isfinite(value)
    no_nan(value=value, gradient=gradient, hessian=hessian, between=between, log_kappa=Q.log_kappa)
    assert value >= 0.0
    assert between >= 0.0
    assert (hessian >= 0.0).all()
    assert gradient.shape == hessian.shape == a.shape


def points(random, d):
    return [np.array(random.draw(st.lists(extremes.NUMBERS, min_size=d, max_size=d))) for _ in range(2)]


@law(
    "DiagonalNetwork.potential", "HyperbolicEntropy.gradient", "HyperbolicEntropy.hessian", "HyperbolicEntropy.bregman",
    "HyperbolicEntropy.log_kappa", "HyperbolicEntropy.start", examples=120,
    net=st.integers(1, 4).flatmap(extremes.networks), random=st.data(),
)  # fmt: skip
def the_potential_of_any_start_is_a_potential(net, random):
    is_a_potential(net.potential(), points(random, net.n_features))


@law(
    "HyperbolicEntropy", "HyperbolicEntropy.gradient", "HyperbolicEntropy.hessian", "HyperbolicEntropy.bregman",
    "HyperbolicEntropy.interpolate", examples=120, data=extremes.data(), random=st.data(),
)  # fmt: skip
def a_potential_of_any_kappa_and_centre_is_a_potential(data, random):
    d = data.X.shape[1]
    each = st.lists(extremes.NUMBERS, min_size=d, max_size=d)
    kind, sizes = random.draw(st.sampled_from([("kappa", extremes.SCALES), ("log_kappa", extremes.LOG_SCALES)]))
    given = {kind: random.draw(st.one_of(sizes, st.lists(sizes, min_size=d, max_size=d)))}
    beta0 = random.draw(st.one_of(st.none(), each))
    Q = refused(ib.HyperbolicEntropy, **given, beta0=beta0)
    if Q is None:
        return
    is_a_potential(Q, points(random, d))
    found = refused(Q.interpolate, *data)
    if found is not None:
        is_a_limit(found, extremes.Problem(None, data))


FINITE = st.one_of(extremes.NUMBERS, st.sampled_from([0.0, 5e-324, 1e-160, 1e160, extremes.LARGEST]))


@law(
    "special.q_diagonal", "special.dq_diagonal", "special.d2q_diagonal", examples=200,
    x=FINITE, z=FINITE, log_kappa=st.one_of(extremes.LOG_SCALES, FINITE),
)  # fmt: skip
def the_entropy_of_one_coefficient_is_even_convex_and_never_nan(x, z, log_kappa):
    q, dq, d2q = ib.special.q_diagonal, ib.special.dq_diagonal, ib.special.d2q_diagonal
    for function, least in ((q, 0.0), (dq, -np.inf), (d2q, 0.0)):
        value = function(x, log_kappa)
        assert value >= least
        assert function(-x, log_kappa) == (-value if function is dq else value)
        table = function([[x], [z]], [log_kappa, 0.0])
        assert table.shape == (2, 2)
        assert table[0, 0] == value
    # Monotone but for a few roundings of the larger one, and of subnormal numbers.
    low, high = sorted([abs(x), abs(z)])
    for function in (q, dq):
        smaller, larger = function(low, log_kappa), function(high, log_kappa)
        assert smaller <= larger * (1 + 32 * U) + 5e-323
    assert d2q(low, log_kappa) * (1 + 32 * U) + 5e-323 >= d2q(high, log_kappa)


# ----------------------------------------------------------------------------------------------------------- the warp

#: Features, points and kappa of a diagonal metric.
METRICS = st.integers(1, 3).flatmap(
    lambda d: st.tuples(
        st.lists(st.lists(extremes.NUMBERS, min_size=d, max_size=d), min_size=1, max_size=3),
        st.lists(st.one_of(st.floats(1e-8, 1e3), extremes.SCALES), min_size=d, max_size=d),
    )
)


@law(
    "warp.hessian_map_residual", "warp.find_warp", "warp.HessianTest", "warp.Warp", examples=40,
    points_and_kappa=METRICS, inverse=st.booleans(),
)  # fmt: skip
def the_diagonal_metric_is_a_hessian_wherever_it_has_one(points_and_kappa, inverse):
    points, kappa = np.array(points_and_kappa[0]), np.array(points_and_kappa[1])

    def metric(beta):
        with np.errstate(all="ignore"):  # the function is the user's own, and so are its warnings
            slope = np.sqrt(4.0 * beta**2 + kappa**2)
            return np.diag(slope if inverse else 1.0 / slope)

    found = refused(ib.warp.hessian_map_residual, metric, points, inverse=inverse)
    if found is not None:
        assert found.residual.shape == found.error.shape == (len(points),)
        assert np.isfinite([found.residual, found.error]).all()
        assert (found.error >= 0.0).all()
        assert (found.residual <= found.error + 64 * U).all()
    warp = refused(ib.warp.find_warp, metric, points, inverse=inverse)
    if warp is not None:
        assert warp.gradient.shape == points.shape
        for values in (warp.gradient, warp.residual, warp.residual_error, warp.curl, warp.curl_error):
            assert np.isfinite(values).all()


@law(
    "warp.warped_potential", "warp.commuting_residual", "warp.RayPotential", "warp.CommutingTest", examples=4,
    points_and_kappa=METRICS, ray=st.lists(st.floats(-10.0, 10.0), min_size=2, max_size=2),
    s=st.lists(st.floats(0.0, 3.0), min_size=1, max_size=3, unique=True), kappa=st.floats(1e-3, 1e3),
)  # fmt: skip
def potentials_on_rays_and_brackets_are_finite_or_refused(points_and_kappa, ray, s, kappa):
    points = np.array(points_and_kappa[0])

    def metric(beta):
        return np.diag(1.0 / np.sqrt(4.0 * beta**2 + kappa**2))

    found = refused(ib.warp.warped_potential, metric, ray, sorted(s), rtol=1e-3)
    if found is not None:
        assert np.isfinite([found.value, found.value_error, found.log_warp]).all()
        assert (found.value >= -found.value_error).all()
    with np.errstate(all="ignore"):
        brackets = refused(ib.warp.commuting_residual, lambda theta: theta * theta, points)
    if brackets is not None:
        assert np.isfinite(brackets.residual).all()
        assert (brackets.residual <= brackets.residual_error + 64 * U).all()


# ------------------------------------------------------------------------------------- sweeps, baselines, data, plots


@law(
    "sweep", "SweepResult", "SweepResult.axes", "SweepResult.shape", "SweepResult.grid", examples=20,
    problem=extremes.problems(), scales=st.lists(extremes.LOG_SCALES, min_size=1, max_size=3),
    shapes=st.lists(st.one_of(extremes.SHAPES, st.just(1.0)), min_size=1, max_size=2),
    solve=st.sampled_from(["limit", "flow"]),
)  # fmt: skip
def a_sweep_has_a_row_for_every_point_and_the_message_of_each(problem, scales, shapes, solve):
    d = problem.net.n_features
    measures = ["loss", "residual", "l1_norm", "l2_norm", "max_norm", "potential_value", "kkt_residual", "n_iter"]

    def make_network(log_scale, shape):
        return ib.DiagonalNetwork.from_scale_shape(d, log_scale=log_scale, shape=shape)

    options = {"max_steps": 50} if solve == "flow" else None
    grid = {"log_scale": scales, "shape": shapes}
    with in_time():
        table = ib.sweep(make_network, problem.data, grid, measures, solve=solve, solve_options=options, n_jobs=1)
    assert {column.size for column in table.values()} == {len(scales) * len(shapes)}
    assert table.grid("loss").shape == table.shape == (len(scales), len(shapes))
    for status, message, success, shape in zip(
        *(table[n] for n in ("status", "message", "success", "shape")), strict=True
    ):
        if status == "failed":
            assert "ValueError" in message
            assert not success
        else:
            assert abs(shape) < 1.0
            assert success == ib.Status(status).at_the_end
    for name in measures:
        assert not np.isnan(table[name][table["success"]]).any(), name


@law("baselines.min_l2_norm", examples=80, data=extremes.data())
def the_least_l2_norm_is_finite(data):
    beta = refused(ib.baselines.min_l2_norm, *data)
    if beta is not None:
        assert beta.shape == (data.X.shape[1],)
        assert np.isfinite(beta).all()


@law("baselines.basis_pursuit", examples=60, data=extremes.data())
def basis_pursuit_is_finite_or_says_that_nothing_fits(data):
    beta = refused(ib.baselines.basis_pursuit, *data)
    if beta is not None:
        assert beta.shape == (data.X.shape[1],)
        assert np.isfinite(beta).all()


@law(
    "datasets.sparse_regression", "datasets.SparseRegression", examples=40,
    n_samples=st.integers(-1, 6), n_features=st.integers(-1, 6), n_nonzero=st.integers(-1, 7),
    noise_std=st.one_of(st.floats(0.0, 1e3), FINITE), seed=st.one_of(st.none(), st.integers(-1, 2**70)),
)  # fmt: skip
def drawn_data_are_finite(n_samples, n_features, n_nonzero, noise_std, seed):
    drawn = refused(ib.datasets.sparse_regression, n_samples, n_features, n_nonzero, noise_std, seed)
    if drawn is not None:
        assert drawn.X.shape == (n_samples, n_features)
        assert np.isfinite(drawn.X).all()
        assert np.isfinite(drawn.y).all()
        assert np.count_nonzero(drawn.beta_true) == n_nonzero


@law("datasets.azulay_sparse_regression", "citation", examples=1, nothing=st.none())
def what_takes_no_argument_returns_the_same_every_time(nothing):
    assert nothing is None
    assert ib.citation() == ib.citation() != ""
    assert np.array_equal(ib.datasets.azulay_sparse_regression().X, ib.datasets.azulay_sparse_regression().X)


@law(
    "plot.trajectory", "plot.coefficients", "plot.distance", "plot.data", examples=10,
    problem=st.one_of(extremes.problems(extremes.PLAIN_SIZE), extremes.ordinary_problems()),
    times=st.one_of(st.none(), st.just([0.0, 1e-3, 1.0, 1e6])),
)  # fmt: skip
def every_result_can_be_drawn(problem, times):
    flow = refused(ib.gradient_flow, problem.net, *problem.data, times, max_steps=50, n_jobs=1)
    end = refused(ib.limit, problem.net, *problem.data, n_jobs=1)
    drawings = [(ib.plot.coefficients, end)]
    if flow is not None:
        drawings += [(ib.plot.trajectory, flow), (ib.plot.distance, flow, end)]
    for draw, *results in drawings:
        ax = refused(draw, *results, ax=Figure().subplots())
        if ax is not None:
            assert ib.plot.data(ax)


@law(
    "plot.shape_and_scale", examples=10,
    rows=st.lists(st.tuples(st.floats(1e-250, 1e250), extremes.SHAPES, st.floats(1e-250, 1e250)), max_size=4),
)  # fmt: skip
def any_table_can_be_drawn(rows):
    table = dict(zip(("scale", "shape", "test_mse"), np.array(rows).reshape(-1, 3).T, strict=True))
    refused(ib.plot.shape_and_scale, table, ax=Figure().subplots())


# ------------------------------------------------------------------------------------------------ arguments of no sense

NET = ib.DiagonalNetwork.from_scale_shape(2, scale=0.1)
X, Y = [[1.0, 2.0]], [2.0]
LIMIT, FLOW = ib.limit(NET, X, Y), ib.gradient_flow(NET, X, Y, [1.0])
PATH = ib.limit_path([NET], X, Y)
TABLE = ib.sweep(partial(ib.DiagonalNetwork.from_scale_shape, 2), (X, Y), {"scale": [1.0], "shape": [0.5]}, "loss")
ENTROPY = ib.HyperbolicEntropy(kappa=1.0)
PLAIN = {
    "limit": (ib.limit, {"net": NET, "X": X, "y": Y}),
    "limit_path": (ib.limit_path, {"nets": [NET], "X": X, "y": Y}),
    "check_kkt": (ib.check_kkt, {"net": NET, "X": X, "y": Y, "beta": [0.0, 1.0]}),
    "gradient_flow": (ib.gradient_flow, {"net": NET, "X": X, "y": Y, "max_seconds": 1.0}),
    "DiagonalNetwork": (ib.DiagonalNetwork, {f"{w}_{s}": [1.0, 2.0] for w in "uv" for s in ("plus", "minus")}),
    "DiagonalNetwork.from_scale_shape": (ib.DiagonalNetwork.from_scale_shape, {"n_features": 2, "scale": 1.0}),
    "HyperbolicEntropy": (ib.HyperbolicEntropy, {"kappa": 1.0}),
    "HyperbolicEntropy.__call__": (ENTROPY.__call__, {"beta": [1.0]}),
    "HyperbolicEntropy.gradient": (ENTROPY.gradient, {"beta": [1.0]}),
    "HyperbolicEntropy.hessian": (ENTROPY.hessian, {"beta": [1.0]}),
    "HyperbolicEntropy.bregman": (ENTROPY.bregman, {"beta": [1.0], "beta0": [0.0]}),
    "HyperbolicEntropy.interpolate": (ENTROPY.interpolate, {"X": X, "y": Y}),
    "KKTReport.satisfied": (LIMIT.kkt.satisfied, {}),
    "Flow.distance_bound": (FLOW.distance_bound, {}),
    "SweepResult.grid": (TABLE.grid, {"name": "loss"}),
    "sweep": (ib.sweep, {
        "make_network": lambda scale: NET, "data": (X, Y), "grid": {"scale": [1.0]}, "measures": "loss",
    }),
    "special.q_diagonal": (ib.special.q_diagonal, {"x": 1.0, "log_kappa": 0.0}),
    "special.dq_diagonal": (ib.special.dq_diagonal, {"x": 1.0, "log_kappa": 0.0}),
    "special.d2q_diagonal": (ib.special.d2q_diagonal, {"x": 1.0, "log_kappa": 0.0}),
    "baselines.min_l2_norm": (ib.baselines.min_l2_norm, {"X": X, "y": Y}),
    "baselines.basis_pursuit": (ib.baselines.basis_pursuit, {"X": X, "y": Y}),
    "datasets.sparse_regression": (ib.datasets.sparse_regression, {"n_samples": 2, "n_features": 3, "n_nonzero": 1}),
    "plot.trajectory": (ib.plot.trajectory, {"flow": FLOW}),
    "plot.coefficients": (ib.plot.coefficients, {"limit": LIMIT}),
    "plot.distance": (ib.plot.distance, {"flow": FLOW, "limit": LIMIT}),
    "plot.shape_and_scale": (ib.plot.shape_and_scale, {"table": {"scale": [1.0], "shape": [0.0], "test_mse": [1.0]}}),
    "plot.regime_map": (ib.plot.regime_map, {"table": TABLE, "measure": "loss", "x": "scale", "y": "shape"}),
    "plot.data": (ib.plot.data, {"ax": Figure().subplots()}),
}  # fmt: skip
#: Arguments with which a call writes a file, draws on the screen or makes arrays as large as it is told.
ELSEWHERE = {"checkpoint", "progress", "ax", "executor", "n_samples", "n_features", "n_nonzero", "noise_std"}
ARGUMENTS = [
    (name, argument)
    for name, (call, _) in PLAIN.items()
    for argument in inspect.signature(call).parameters
    if argument not in ELSEWHERE
]


@law(*PLAIN, examples=700, where=st.sampled_from(ARGUMENTS), value=extremes.junk())
def an_argument_of_no_sense_is_refused_with_one_sentence(where, value):
    name, argument = where
    call, plain = PLAIN[name]
    extra = {"ax": Figure().subplots()} if "ax" in inspect.signature(call).parameters and argument != "ax" else {}
    refused(call, **(extra | plain | {argument: value}))


# -------------------------------------------------------------------------------------------------- tied, of any depth


@law(
    "DeepDiagonalNetwork", examples=120,
    data=extremes.data(), depth=st.sampled_from([2, 3, 4, 7, 40]), seed=st.integers(0, 2**32),
    log_scale=st.sampled_from([0.0, -3.0, -60.0, -1e4, -1e9, 8.0, 300.0]), decades=st.sampled_from([0.0, 0.3, 3.0]),
    times=st.sampled_from([None, [0.0], [1e-300, 1.0, 1e10]]),
)  # fmt: skip
def a_deep_network_has_a_limit_and_a_flow_of_numbers_or_says_why_not(data, depth, seed, log_scale, decades, times):
    weights = 10.0 ** np.random.default_rng(seed).uniform(-decades, decades, data.X.shape[1])
    net = ib.DeepDiagonalNetwork.from_scale(data.X.shape[1], depth, log_scale=log_scale, weights=weights)
    found = refused(ib.limit, net, *data, n_jobs=1)
    if found is not None:
        is_a_limit(found, types.SimpleNamespace(data=data))
        report = refused(ib.check_kkt, net, *data, np.nan_to_num(found.beta, posinf=1.0, neginf=-1.0), n_jobs=1)
        assert report is None or (report.error_bound >= 0.0).all()
    flow = refused(ib.gradient_flow, net, *data, times, max_seconds=1.0, n_jobs=1)
    if flow is not None:
        assert np.isfinite(flow.beta).all()
        assert not np.isnan(flow.loss).any()
        assert (np.diff(flow.t) > 0.0).all()


# ------------------------------------------------------------------------------------------------- networks of neurons


@law(
    "FullyConnectedNetwork", "LeakyReLUNetwork", examples=80,
    data=extremes.data(), seed=st.integers(0, 2**32), n_neurons=st.integers(1, 3),
    log_magnitude=st.sampled_from([0.0, -5.0, -400.0, -11513.0, -1e6, 30.0, 300.0]),
    slope=st.sampled_from([None, 0.0, 0.2, 1.0]), dead=st.booleans(),
    times=st.sampled_from([None, [0.0], [1e-300, 1.0, 1e10], [1e300]]),
)  # fmt: skip
def a_network_of_neurons_has_a_flow_of_numbers_or_says_why_not(
    data, seed, n_neurons, log_magnitude, slope, dead, times
):
    random = np.random.default_rng(seed)
    a, W = random.standard_normal(n_neurons), random.standard_normal((n_neurons, data.X.shape[1]))
    if dead:
        a[0], W[0] = 0.0, 0.0
    if slope is None:
        net = ib.FullyConnectedNetwork(a, W, log_magnitude)
    else:
        net = ib.LeakyReLUNetwork(a, W, slope, log_magnitude)
    flow = refused(ib.gradient_flow, net, *data, times, max_seconds=1.0)
    if flow is not None:
        assert np.isfinite(flow.beta).all()
        assert np.isfinite(flow.t).all()
        assert not np.isnan(flow.loss).any()
        assert flow.beta.shape == (flow.t.size, data.X.shape[1])
        assert (np.diff(flow.t) > 0.0).all()


# ----------------------------------------------------------------------------------------------------- tangent kernels


@law(
    "tangent_kernel", "kernel_limit", "KernelLimit", "KernelLimit.predict", "kernel_distance", "parameter_movement",
    examples=80, data=extremes.data(), seed=st.integers(0, 2**32),
    model=st.sampled_from(["diagonal", "linear", "leaky"]),
    log_magnitude=st.sampled_from([0.0, -5.0, -400.0, -1e6, 30.0, 300.0]),
)  # fmt: skip
def a_tangent_kernel_is_symmetric_and_what_is_made_of_it_is_numbers_or_says_why_not(data, seed, model, log_magnitude):
    X, y = data
    random = np.random.default_rng(seed)
    if model == "diagonal":
        net = ib.DiagonalNetwork(*random.standard_normal((4, X.shape[1])), log_magnitude)
    else:
        weights = random.standard_normal(2), random.standard_normal((2, X.shape[1]))
        more = {} if model == "linear" else {"slope": 0.3}
        kind = ib.FullyConnectedNetwork if model == "linear" else ib.LeakyReLUNetwork
        net = kind(*weights, log_magnitude=log_magnitude, **more)
    kernel = ib.tangent_kernel(net, X)
    assert not np.isnan(kernel).any()
    assert np.array_equal(np.isfinite(kernel), np.isfinite(kernel.T))
    end = refused(ib.kernel_limit, net, X, y)
    if end is not None:
        assert np.isfinite(end.residual).all()
        assert end.beta is None or np.isfinite(end.beta).all()
        assert np.isfinite(end.predict(X)).all()
    flow = refused(ib.gradient_flow, net, X, y, max_seconds=1.0)
    if flow is not None:
        movement = ib.parameter_movement(flow)
        assert movement[0] == 0.0
        assert (movement >= 0.0).all()
        distance = refused(ib.kernel_distance, flow)
        assert distance is None or ((distance >= 0.0) & (distance <= 2.0)).all()


# --------------------------------------------------------------------------------------------------------- all of them


@law(
    "MatrixFactorization", "MatrixFactorization.symmetric", examples=60,
    seed=st.integers(0, 2**32), shape=st.sampled_from([(1, 1), (2, 3), (3, 3)]), width=st.sampled_from([1, 2, 9]),
    n=st.integers(1, 7), log_magnitude=st.sampled_from([0.0, -5.0, -300.0, -400.0, -1e6, 3.0, 300.0]),
    symmetric=st.booleans(), unit=st.sampled_from([1.0, 1e-150, 1e150]),
    times=st.sampled_from([None, [0.0], [1e-300, 1.0, 1e10], [1e300]]),
)  # fmt: skip
def a_factorization_has_a_flow_of_numbers_or_says_why_not(seed, shape, width, n, log_magnitude, symmetric, unit, times):
    random = np.random.default_rng(seed)
    U, V = random.standard_normal((shape[0], width)), random.standard_normal((shape[1], width))
    X, y = random.standard_normal((n, *shape)), unit * random.standard_normal(n)
    if symmetric and shape[0] == shape[1]:
        net = ib.MatrixFactorization.symmetric(U, log_magnitude)
    else:
        net = ib.MatrixFactorization(U, V, log_magnitude)
    flow = refused(ib.gradient_flow, net, X, y, times, max_seconds=1.0)
    if flow is not None:
        assert np.isfinite(flow.beta).all()
        assert flow.matrix.shape == (flow.t.size, *shape)
        assert (np.diff(flow.t) > 0.0).all()
        assert not np.isnan(flow.loss).any()


def public_names():
    """Every public function, class, method and property, by its dotted name."""
    for name in ib.__all__:
        thing = getattr(ib, name)
        if isinstance(thing, types.ModuleType):
            yield from (f"{name}.{inner}" for inner in thing.__all__)
        elif callable(thing):
            yield name
            if isinstance(thing, type) and thing.__module__.startswith("implicit_bias"):
                yield from (f"{name}.{m}" for m, v in vars(thing).items() if not m.startswith("_") and is_code(v))


def is_code(value):
    return isinstance(value, types.FunctionType | classmethod | staticmethod | property) or hasattr(value, "func")


#: Exceptions that carry a result, and a function that writes a file: test_flow and test_sweep say what they must.
ELSEWHERE_NAMES = {
    "Event",
    "FlowInterrupted",
    "FlowProgress",
    "SweepInterrupted",
    "SweepResult.to_csv",
    "Status.at_the_end",
    "Status.message",
}


#: What has a file of tests of its own: test_warp, test_neuron_potential, test_saddles,
#: test_fully_connected, test_leaky_relu, test_deep_diagonal, test_matrix_factorization.
ELSEWHERE_GROUPS = (
    "warp.", "NeuronPotential", "special.q_neuron", "special.dq_neuron", "special.d2q_neuron",
    "saddle_to_saddle", "scale_to_l1", "SaddleToSaddle", "ScaleToL1",
    "FullyConnectedNetwork", "LeakyReLU", "NeuronParameters", "Balancedness",
    "MatrixFactorization", "Observations", "Factor", "Flow.matrix",
    "baselines.NuclearNorm", "baselines.min_nuclear_norm",
    "DeepDiagonalNetwork.", "DepthPotential", "special.q_depth", "special.h_depth", "theory.", "Tied",
)  # fmt: skip


def test_every_public_name_has_a_law():
    names = {name for name in public_names() if not name.startswith(ELSEWHERE_GROUPS)}
    assert names - COVERED.keys() - ELSEWHERE_NAMES == set()


@pytest.mark.parametrize("name", LAWS)
def test_law(name):
    obey(name, 1)


@pytest.mark.soak
@pytest.mark.parametrize("name", LAWS)
def test_law_on_many_examples(name):
    obey(name, SOAK, derandomize=False, phases=[Phase.generate, Phase.shrink])
