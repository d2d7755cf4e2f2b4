"""Long runs: what they keep, what they tell, that they stop when they are told to, and every way they can end."""

import itertools
import math
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import implicit_bias as ib

U = 2.0**-53
METHODS = ("auto", "radau", "explicit", "weights")
OBSERVABLES = ("loss", "residual", "l1_norm", "l2_norm", "max_norm", "potential", "distance")


def problem(seed=0, n_samples=4, d=10):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_samples, d)), rng.standard_normal(n_samples)


def network(seed=1, d=10, log_magnitude=-3.0):
    return ib.DiagonalNetwork(*np.random.default_rng(seed).uniform(0.3, 1.5, (4, d)), log_magnitude=log_magnitude)


# -------------------------------------------------------------------------------------------------------- observables


def computed(X, y, net, beta):
    """The same numbers, from the rows of beta."""
    r = y - beta @ X.T
    fitted = X @ np.linalg.lstsq(X, y, rcond=None)[0]
    potential, end = net.potential(), ib.limit(net, X, y).beta
    return {
        "loss": (r**2).sum(1) / (2 * len(y)),
        "residual": np.abs(fitted - beta @ X.T).max(1),
        "l1_norm": np.abs(beta).sum(1),
        "l2_norm": np.linalg.norm(beta, axis=1),
        "max_norm": np.abs(beta).max(1),
        "potential": np.array([potential(row) for row in beta]),
        "distance": np.linalg.norm(beta - end, axis=1),
    }


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", [(4, 10), (12, 4), (20, 100)])
@pytest.mark.parametrize("unit", [1.0, 1e-60])  # data of extreme size are rescaled before they are integrated
def test_observables_are_the_numbers_of_the_rows(method, shape, unit):
    if shape == (20, 100) and method in ("explicit", "weights"):
        shape = (6, 15)  # stiff: the explicit methods take thousands of steps on less than that
    X, y = problem(2, *shape)
    X, y, net = X / unit, y, network(3, shape[1], -3.0 + 0.5 * math.log(unit))
    flow = ib.gradient_flow(net, X, y, method=method, observables=OBSERVABLES)
    assert flow.success, flow.message
    assert list(flow.observables) == list(OBSERVABLES)
    assert flow.observables["loss"].tobytes() == flow.loss.tobytes()
    # Sums of d or N terms, each rounded; a residual is known to the rounding of |X||beta| + |y|.
    terms = (np.abs(X) @ np.abs(flow.beta).T + np.abs(y)[:, None]).max()
    allowed = {"loss": 0.0, "residual": 4 * (shape[1] + 2) * U * terms, "distance": 8 * U * np.abs(flow.beta).max()}
    for name, expected in computed(X, y, net, flow.beta).items():
        found = flow.observables[name]
        assert found.shape == flow.t.shape
        if name == "loss":
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=8 * (shape[1] + 2) * U * terms**2)
        else:
            np.testing.assert_allclose(found, expected, rtol=64 * shape[1] * U, atol=allowed.get(name, 0.0))
    assert flow.observables["distance"][-1] <= 1e-9 * flow.observables["l2_norm"][-1]


def test_a_run_at_a_vanishing_scale_has_its_observables_too():
    X, y = problem(4, 5, 20)
    net = ib.DiagonalNetwork.from_scale_shape(20, log_scale=-230258.5)
    flow = ib.gradient_flow(net, X, y, observables=OBSERVABLES)
    assert flow.success
    assert all(np.isfinite(column).all() for column in flow.observables.values())
    # kappa -> 0: 2 Q / ln(1/kappa) -> the l1 norm, off by O(1/ln(1/kappa))
    ratio = 2 * flow.observables["potential"][-1] / (230258.5 * flow.observables["l1_norm"][-1])
    assert ratio == pytest.approx(1.0, abs=1e-4)
    # what the flow minimises rises from 0 to its constrained minimum
    assert (np.diff(flow.observables["potential"]) >= -1e-9 * flow.observables["potential"][-1]).all()


def test_observables_come_in_any_order_and_number_from_anything_iterable():
    X, y = problem(5)
    for wanted in (["l2_norm", "loss"], ("l2_norm", "loss"), iter(["l2_norm", "loss"]), {"l2_norm": 0, "loss": 0}):
        assert list(ib.gradient_flow(network(), X, y, observables=wanted).observables) == ["l2_norm", "loss"]
    assert ib.gradient_flow(network(), X, y).observables == {}


# ------------------------------------------------------------------------------------------------------------- memory


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("times", [None, [0.0, 0.5, 5.0, 1e6]])
def test_without_save_beta_the_numbers_are_the_same_and_the_last_row_is_kept(method, times):
    X, y = problem(6)
    options = {"method": method, "observables": OBSERVABLES}
    everything = ib.gradient_flow(network(), X, y, times, **options)
    flow = ib.gradient_flow(network(), X, y, times, save_beta=False, **options)
    assert flow.status == everything.status
    for name in ("t", "loss"):
        np.testing.assert_array_equal(getattr(flow, name), getattr(everything, name))
    for name in OBSERVABLES:
        np.testing.assert_array_equal(flow.observables[name], everything.observables[name])
    np.testing.assert_array_equal(flow.beta, everything.beta[-1:])
    if method == "weights":
        assert flow.multipliers is None
    else:
        np.testing.assert_array_equal(flow.multipliers, everything.multipliers[-1:])


def test_without_save_beta_what_needs_every_row_says_so():
    X, y = problem(7)
    flow = ib.gradient_flow(network(), X, y, save_beta=False)
    for call in (
        lambda: flow.parameters,
        flow.conserved_quantities,
        flow.distance_bound,
        lambda: ib.plot.trajectory(flow),
    ):
        with pytest.raises(ValueError, match=r"needs every row of beta: call gradient_flow with save_beta=True"):
            call()
    assert ib.check_kkt(network(), X, y, flow.beta[-1]).satisfied(1e-9)


@pytest.mark.skipif(sys.platform == "win32", reason="the peak of memory is asked for in the POSIX way")
def test_without_save_beta_no_row_stays_in_memory():
    # 800 rows of 20,000 coefficients are 128 MB, and as much again for each part of the path.
    code = """
        import resource, sys
        import numpy as np
        import implicit_bias as ib
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((4, 20_000)), rng.standard_normal(4)
        net = ib.DiagonalNetwork.from_scale_shape(20_000, scale=1e-9)
        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        ib.gradient_flow(net, X, y, [1.0], save_beta=False)
        before = peak()
        times = np.geomspace(1e-3, 1e6, 800)
        flow = ib.gradient_flow(net, X, y, times, save_beta=False, observables=["l1_norm", "residual"])
        print(peak() - before, flow.observables["l1_norm"].size, flow.success)
    """
    out = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    grown, rows, success = out.stdout.split()
    assert (rows, success) == ("800", "True")
    # a batch of 16 rows and its workspace: 16 * 20,000 * 8 bytes a handful of times
    assert int(grown) < 40e6


# --------------------------------------------------------------------------------------------------------------- time


def test_times_in_units_of_the_scale_are_those_of_the_flow_divided():
    X, y = problem(8)
    times = np.array([0.0, 0.3, 1.0, 7.0])
    scales = np.geomspace(1e-9, 1e-5, 10)
    biased = network()
    for net, log_scale in (
        (ib.DiagonalNetwork.from_scale_shape(10, scale=1e-8), math.log(1e-8)),
        (ib.DiagonalNetwork.from_scale_shape(10, scale=1e-8, shape=0.9), math.log(1e-8)),
        (ib.DiagonalNetwork.from_scale_shape(10, log_scale=-5000.0), -5000.0),
        (ib.DiagonalNetwork.from_scale_shape(10, scale=scales), np.log(scales).mean()),
        (biased, biased.log_kappa.mean() - math.log(4.0)),
        # a coordinate that keeps its sign has no kappa, and says nothing
        (ib.DiagonalNetwork([0.1, 0.1], [0.1, 0.1], [0.0, 0.1], [0.0, 0.1]), math.log(0.01)),
    ):
        d = net.n_features
        flow = ib.gradient_flow(net, X[:, :d], y, times, time_unit="log_scale", observables=["loss"])
        plain = ib.gradient_flow(net, X[:, :d], y, times * -log_scale)
        assert (flow.time_unit, plain.time_unit) == ("log_scale", "flow")
        np.testing.assert_array_equal(flow.t, times)
        np.testing.assert_allclose(flow.beta, plain.beta, rtol=0, atol=1e-9 * np.abs(plain.beta).max())
        free, fixed = (ib.gradient_flow(net, X[:, :d], y, time_unit=unit) for unit in ("log_scale", "flow"))
        np.testing.assert_allclose(free.t, fixed.t / -log_scale, rtol=1e-14)
        np.testing.assert_array_equal(free.beta, fixed.beta)


def test_a_start_without_any_kappa_has_no_unit_of_the_scale():
    with pytest.raises(ValueError, match=r"^time_unit 'log_scale' needs a coordinate with kappa > 0: got none"):
        ib.gradient_flow(ib.DiagonalNetwork(*np.zeros((4, 10))), *problem(), time_unit="log_scale")


def test_jumps_between_saddles_come_to_rest_in_units_of_the_scale():
    # One sample of each coordinate: beta_i rises when G = t y_i/N reaches ln(1/kappa)/2, at t = N/(2 y_i) ln(1/scale).
    X, y = np.eye(2), np.array([1.0, 0.5])
    for log_scale in (-50.0, -5000.0):
        net = ib.DiagonalNetwork.from_scale_shape(2, log_scale=log_scale)
        early, late = 1.0 * (1 - 3e2 / 5e3), 1.0 * (1 + 3e2 / 5e3)
        flow = ib.gradient_flow(net, X, y, [early, late, 2 * early, 2 * late], time_unit="log_scale")
        if log_scale < -1000.0:
            np.testing.assert_allclose(flow.beta, [[0, 0], [1, 0], [1, 0], [1, 0.5]], atol=1e-9)
    figure = ib.plot.trajectory(flow)
    assert "ln(1/scale)" in figure.get_xlabel()


# ----------------------------------------------------------------------------------------------------------- progress


def slow():
    """A flow that takes seconds: explicit steps on a stiff problem."""
    X, y = problem(9, 40, 400)
    return network(10, 400, -200.0), X, y


def test_progress_is_told_in_the_calling_thread_ten_times_a_second():
    told, threads = [], set()

    def progress(now):
        told.append((time.perf_counter(), now))
        threads.add(threading.current_thread())

    net, X, y = slow()
    began = time.perf_counter()
    flow = ib.gradient_flow(net, X, y, method="explicit", max_seconds=1.0, progress=progress)
    seconds = time.perf_counter() - began
    assert flow.status == "max_seconds"
    assert threads == {threading.current_thread()}
    assert 3 <= len(told) <= 10 * seconds + 2
    # between calls at least the tenth of a second, but for the last one
    assert min(np.diff([when for when, _ in told[:-1]])) >= 0.099
    values = [now for _, now in told]
    assert all(isinstance(now, ib.FlowProgress) for now in values)
    for earlier, later in itertools.pairwise(values):
        assert earlier.steps <= later.steps
        assert earlier.t <= later.t
        assert earlier.fraction <= later.fraction
    assert 0 < values[-1].steps <= flow.stats["accepted"]
    assert 0.0 <= values[-1].fraction < 1.0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("times", [None, [0.0, 1.0, 1e7]])
def test_progress_of_a_run_that_arrives_ends_at_one(method, times):
    X, y = problem(11)
    told = []
    flow = ib.gradient_flow(
        network(), X, y, times, method=method, time_unit="log_scale", progress=told.append, observables=["residual"]
    )
    assert flow.success
    assert told[-1].fraction == 1.0
    assert told[-1].t == pytest.approx(flow.t[-1], rel=1e-14)
    assert told[-1].steps == flow.stats["accepted"]
    assert told[-1].residual == pytest.approx(flow.observables["residual"][-1], abs=1e-14)


class Enough(Exception):  # noqa: N818 (it is no error)
    pass


@pytest.mark.parametrize("raised", [Enough("told enough"), SystemExit(3)])
def test_what_progress_raises_ends_the_run_and_is_raised(raised):
    def progress(now):
        raise raised

    net, X, y = slow()
    began = time.perf_counter()
    with pytest.raises(type(raised)) as caught:
        ib.gradient_flow(net, X, y, method="explicit", progress=progress)
    assert caught.value is raised
    assert time.perf_counter() - began < 2.0  # uninterrupted it takes minutes
    with pytest.raises(type(raised)):  # so short a run that only its end is told
        ib.gradient_flow(network(), *problem(), progress=progress)
    assert ib.gradient_flow(network(), *problem()).success


def test_control_c_in_progress_keeps_the_rows():
    def progress(now):
        raise KeyboardInterrupt

    net, X, y = slow()
    with pytest.raises(ib.FlowInterrupted) as caught:
        ib.gradient_flow(net, X, y, np.geomspace(1e-6, 1e6, 500), method="explicit", progress=progress)
    assert caught.value.partial.status == "interrupted"
    assert caught.value.partial.t.size > 0


def test_the_bar_is_quiet_where_standard_error_is_no_terminal(capfd):
    assert ib.gradient_flow(network(), *problem(), progress=True).success
    assert capfd.readouterr() == ("", "")


def test_the_bar_says_where_the_flow_is(monkeypatch):
    written = []

    class Terminal:
        encoding = "utf-8"

        def write(self, text):
            written.append(text)

        def flush(self):
            pass

        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    ib.gradient_flow(network(), *problem(), progress=True)
    assert "100%" in "".join(written)
    assert "residual" in "".join(written)


def test_a_missing_tqdm_is_named_with_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(ImportError, match=r"^progress=True needs tqdm: pip install 'implicit-bias\[cli\]'$"):
        ib.gradient_flow(network(), *problem(), progress=True)
    assert ib.gradient_flow(network(), *problem(), progress=False).success


# ----------------------------------------------------------------------------------------------------------- statuses


def ends():
    """One way to every status; a flow or a limit by the arguments that lead there."""
    X, y = problem(12)
    net, small = network(13), ib.DiagonalNetwork.from_scale_shape(10, scale=1e-12)
    hard = problem(14, 20, 200)
    half, none = np.full(10, 0.5), np.zeros(10)
    never_negative = ib.DiagonalNetwork(half, half, none, none)
    positive = np.abs(X)
    tall = problem(15, 12, 10)
    times = np.geomspace(1e-3, 1e9, 300)
    both = {
        "converged": (net, X, y, {}),
        "roundoff_floor": (ib.DiagonalNetwork.from_scale_shape(200, scale=1e-20), *hard, {"tol": 1e-16}),
        "least_squares": (net, *tall, {}),
        "infeasible_sign": (never_negative, positive[:1], np.array([-1.0]), {}),
        "saddle": (ib.DiagonalNetwork(*np.zeros((4, 10))), X, y, {}),
    }
    flows = both | {
        "reached_end": (net, X, y, {"t": [0.1, 1.0]}),
        "max_steps": (small, X, y, {"max_steps": 3}),
        # A start on a kink that repels to both sides; a pre-activation that crosses on its way.
        "ambiguous": (ib.LeakyReLUNetwork([1.0], [[0.0]], 0.2), [[1.0], [-1.0]], [1.0, 1.0], {}),
        "max_events": (ib.LeakyReLUNetwork([1.0], [[-0.5]], 0.2), [[1.0]], [1.0], {"max_events": 1}),
        "max_seconds": (small, X, y, {"max_seconds": 1e-9, "t": times}),
        "interrupted": (*slow(), {"method": "explicit", "on_interrupt": "return", "t": times, "progress": press}),
        # 1e-150 beta = 1e190
        "step_too_small": (ib.DiagonalNetwork.from_scale_shape(1, scale=1.0), [[1e-150]], [1e190], {}),
    }
    return both, flows


def press(now):
    """Ctrl-C, as a signal handler raises it in the thread that waits."""
    raise KeyboardInterrupt


SUCCESS = {"converged", "reached_end", "roundoff_floor", "least_squares", "infeasible_sign"}


@pytest.mark.parametrize("status", list(ib.Status))
def test_every_status_of_a_flow_has_a_way_to_it(status):
    net, X, y, options = ends()[1][status]
    flow = ib.gradient_flow(net, X, y, **options)
    assert flow.status is status
    assert flow.message == status.message
    assert flow.success == (status in SUCCESS)
    assert flow.t.size == flow.loss.size == len(flow.beta)
    assert np.isfinite(flow.beta).all()


def test_every_status_of_a_limit_has_a_way_to_it():
    # Of the others "max_steps" takes more systems than any known problem needs, and an interrupted limit raises: the
    # tests of the core ask for a budget of one system, and to stop at once.
    for status, (net, X, y, options) in ends()[0].items():
        limit = ib.limit(net, X, y, **options)
        assert limit.status == status
        assert limit.success == (status in SUCCESS)


# ------------------------------------------------------------------------------------------------------------ budgets


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("times", [None, np.geomspace(1e-3, 1e9, 400)])
def test_budgets_keep_the_rows_that_were_reached(method, times):
    X, y = problem(16)
    net = network(17, log_magnitude=-40.0)
    for budget in ({"max_steps": 4}, {"max_seconds": 1e-9}):
        flow = ib.gradient_flow(net, X, y, times, method=method, observables=["l1_norm"], **budget)
        assert flow.status == next(iter(budget))
        assert not flow.success
        assert flow.t.size == flow.observables["l1_norm"].size == len(flow.beta)
        if times is not None:
            np.testing.assert_array_equal(flow.t, times[: flow.t.size])
        if "max_steps" in budget:
            assert flow.stats["accepted"] + flow.stats["rejected"] <= 4
            assert flow.t.size > 0


def test_seconds_are_counted_inside_a_step_with_many_rows():
    # Late in a run one step passes thousands of requested times, and each of them is worth a step of its own.
    X, y = problem(18, 40, 2000)
    net = ib.DiagonalNetwork.from_scale_shape(2000, scale=1e-100)
    times = np.linspace(0.0, 100.0, 20_000)
    began = time.perf_counter()
    flow = ib.gradient_flow(net, X, y, times, method="radau", max_seconds=0.3, save_beta=False)
    assert flow.status == "max_seconds"
    assert time.perf_counter() - began < 1.5
    assert 0 < flow.t.size < times.size


# ---------------------------------------------------------------------------------------------------------- control-C


LARGE_FLOW = """
    import os, signal, threading, time
    import numpy as np
    import implicit_bias as ib
    from implicit_bias import _core
    core = _core.diagonal_flow
    # A shell starts what it sends to the background with Ctrl-C ignored, and Python then leaves it so.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 20_000)), rng.standard_normal(300)
    net = ib.DiagonalNetwork.from_scale_shape(20_000, scale=1e-100)
    def wait_after_control_c(delay):
        def press():
            global pressed
            pressed = time.perf_counter(), time.process_time()
            os.kill(os.getpid(), signal.SIGINT)
        def compute(*args, **options):
            threading.Timer(delay, press).start()
            return core(*args, **options)
        _core.diagonal_flow = compute
        try:
            ib.gradient_flow(net, X, y, {times}, method="{method}", observables=["loss"])
        except KeyboardInterrupt as stop:
            # Where the machine is busy with something else: what the threads of this process have worked since then.
            return min(time.perf_counter() - pressed[0], time.process_time() - pressed[1]), stop
    waited, partial = [], None
    for attempt in range(3):
        seconds, stop = wait_after_control_c({delay})
        waited.append(seconds)
        partial = stop.partial
    assert partial.status == "interrupted" and not partial.success
    assert len(partial.t) == len(partial.beta) == len(partial.loss) == len(partial.observables["loss"])
    assert np.isfinite(partial.beta).all()
    # and everything still works
    small = ib.DiagonalNetwork.from_scale_shape(2, scale=1e-3)
    assert ib.gradient_flow(small, [[1.0, 2.0]], [2.0]).success
    assert ib.limit(small, [[1.0, 2.0]], [2.0]).success
    print(min(waited), len(partial.t))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT to oneself is a POSIX notion")
@pytest.mark.parametrize(
    ("method", "times", "delay", "rows"),
    [
        ("auto", "None", 0.03, 0),  # while the data are factorized
        ("auto", "None", 1.5, 16),  # the first row and a batch of others, to the last
        ("radau", "np.geomspace(1e-3, 1e6, 2_000)", 1.5, 1),  # while rows are written, hundreds in a step
        ("explicit", "np.geomspace(1e-6, 1e6, 2_000)", 1.5, 1),
        ("weights", "None", 1.0, 1),
    ],
)
def test_control_c_in_a_large_flow_is_answered_within_a_fifth_of_a_second(method, times, delay, rows):
    code = textwrap.dedent(LARGE_FLOW).replace("{times}", times).replace("{method}", method)
    code = code.replace("{delay}", str(delay))
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert out.returncode == 0, out.stderr
    waited, kept = out.stdout.split()
    assert float(waited) < 0.2
    assert int(kept) >= rows


def test_the_rows_of_a_signal_that_raises_something_else_are_not_taken_for_an_interruption():
    # A handler of the caller's own, for an alarm say, raises what it likes: that is what the caller gets.
    class Alarm(Exception):  # noqa: N818 (it is no error)
        pass

    if not hasattr(__import__("signal"), "setitimer"):
        pytest.skip("alarms are a POSIX notion")
    import signal

    def ring(*_):
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        net, X, y = slow()
        with pytest.raises(Alarm):
            ib.gradient_flow(net, X, y, method="explicit")
    finally:
        signal.signal(signal.SIGALRM, before)
