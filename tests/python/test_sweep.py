"""Sweeps: a point is what one call gives, whoever computes it, and no point depends on another."""

import csv
import json
import math
import os
import pickle
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from joblib import Parallel, delayed
from joblib.externals.loky import ProcessPoolExecutor as LokyExecutor

import implicit_bias as ib
from implicit_bias import _core

DATA = ib.datasets.sparse_regression(n_samples=4, n_features=9, n_nonzero=2, seed=0)
NETWORK = partial(ib.DiagonalNetwork.from_scale_shape, 9)
GRID = {"scale": [1e2, 1e-3, 1e-300], "shape": [0.0, -0.9]}
MEASURES = ["l1_norm", "error_bound", "n_iter", "loss", "residual", "potential_value", "kkt_residual"]
FORKING = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def draw(seed_sequence, n_samples=4):
    random = np.random.default_rng(seed_sequence)
    return random.standard_normal((n_samples, 9)), random.standard_normal(n_samples)


def biased(scale, seed_sequence):
    return ib.DiagonalNetwork(*np.random.default_rng(seed_sequence).standard_normal((4, 9)), math.log(scale))


def fragile(scale, shape=0.0):
    """A network for most points."""
    if scale == 13.0:
        raise RuntimeError("thirteen\nis unlucky")
    if scale == 14.0:
        sys.exit("gone")
    if scale == 15.0:
        return "no network"
    if scale == 16.0:
        os._exit(1)
    return NETWORK(scale=scale, shape=shape)


def sweep(make_network=NETWORK, data=DATA, grid=GRID, measures=MEASURES, **change):
    return ib.sweep(make_network, data, grid, measures, **change)


def same(a, b):
    """Equal tables, bit by bit."""
    return list(a) == list(b) and all(
        a[name].dtype == b[name].dtype
        and (
            a[name].tolist() == b[name].tolist() if a[name].dtype == object else a[name].tobytes() == b[name].tobytes()
        )
        for name in a
    )


# ------------------------------------------------------------------------------------------------------- the numbers


def test_a_row_is_what_one_call_of_limit_gives():
    table = sweep()
    assert list(table) == ["scale", "shape", *MEASURES, "success", "status", "message"]
    row = 0
    for scale in GRID["scale"]:
        for shape in GRID["shape"]:
            end = ib.limit(NETWORK(scale=scale, shape=shape), DATA.X, DATA.y)
            left = DATA.y - DATA.X @ end.beta
            assert (table["scale"][row], table["shape"][row]) == (scale, shape)
            assert table["l1_norm"][row] == np.abs(end.beta).sum()
            assert table["error_bound"][row] == end.error_bound.max()
            assert table["n_iter"][row] == end.n_iter
            assert table["potential_value"][row] == end.potential_value
            assert table["kkt_residual"][row] == max(end.kkt.stationarity, end.kkt.feasibility)
            # two orders of summation of ten terms
            noise = 20 * 2.0**-53 * (np.abs(DATA.X) @ np.abs(end.beta) + np.abs(DATA.y)).max()
            assert abs(table["residual"][row] - np.abs(left).max()) <= noise
            assert abs(table["loss"][row] - (left**2).sum() / 8) <= noise * (np.abs(left).max() + noise)
            assert (table["success"][row], table["status"][row]) == (end.success, end.status)
            assert table["message"][row] == end.message
            row += 1
    assert row == table["scale"].size == 6


def test_a_row_of_flows_is_of_the_last_row_of_one_flow():
    options = {"t": [0.0, 0.5, 5.0], "rtol": 1e-8}
    names = [*MEASURES, "l2_norm", "max_norm", "time"]
    table = sweep(measures=names, solve="flow", solve_options=options)
    for row in range(6):
        net = NETWORK(scale=table["scale"][row], shape=table["shape"][row])
        flow = ib.gradient_flow(net, DATA.X, DATA.y, **options)
        beta = flow.beta[-1]
        report = ib.check_kkt(net, DATA.X, DATA.y, beta)
        assert table["l1_norm"][row] == np.abs(beta).sum()
        assert table["max_norm"][row] == np.abs(beta).max()
        assert table["l2_norm"][row] == pytest.approx(np.linalg.norm(beta), rel=1e-14)
        assert table["error_bound"][row] == flow.distance_bound()[-1].max()
        assert table["n_iter"][row] == flow.stats["accepted"]
        assert table["potential_value"][row] == net.potential()(beta)
        assert table["kkt_residual"][row] == max(report.stationarity, report.feasibility)
        assert table["loss"][row] == pytest.approx(flow.loss[-1], rel=1e-12)
        assert table["time"][row] == 5.0
        assert (table["status"][row], table["message"][row]) == (flow.status, flow.message)
    assert table["success"].all()


def test_a_flow_that_ends_early_says_so_and_has_no_numbers_without_a_row():
    table = sweep(grid={"scale": [1e-3]}, solve="flow", solve_options={"t": [1e6], "max_steps": 1})
    assert table["status"].tolist() == ["max_steps"]
    assert not table["success"].any()
    assert np.isnan(table["loss"]).all()


def test_a_callable_measure_is_given_the_result():
    table = sweep(measures={"largest": lambda end: end.beta.max(), "found": lambda end: end.success, "l1": "l1_norm"})
    assert table.measures == ("largest", "found", "l1")
    assert table["found"].tolist() == [1.0] * 6
    assert table["largest"][0] == ib.limit(NETWORK(scale=1e2), DATA.X, DATA.y).beta.max()
    assert (table["l1"] == sweep(measures="l1_norm")["l1_norm"]).all()


def test_the_grid_form_has_one_axis_for_every_axis_of_the_grid():
    table = sweep(grid=GRID | {"log_scale": [None]})
    assert table.shape == (3, 2, 1)
    assert table.grid("l1_norm")[1, 0, 0] == np.abs(ib.limit(NETWORK(scale=1e-3), DATA.X, DATA.y).beta).sum()
    assert (table.grid("scale")[:, 1, 0] == GRID["scale"]).all()
    assert (table.grid("status") == "converged").all()


def test_each_function_is_passed_the_axes_it_has_parameters_for():
    seen = []

    def data(n_samples, **rest):
        seen.append((n_samples, rest))
        return DATA.X[:n_samples], DATA.y[:n_samples]

    table = sweep(data=data, grid={"scale": [1e-3], "n_samples": [1, 3]}, n_jobs=1)
    assert seen == [(1, {"scale": 1e-3}), (3, {"scale": 1e-3})]
    assert (table["status"] == "converged").all()


def test_values_arrive_as_they_were_given():
    seen = []

    def make_network(scale, name, weights):
        seen.append((scale, name, weights))
        return NETWORK(scale=scale)

    weights = np.arange(3.0)
    table = sweep(make_network, grid={"scale": np.float32([0.5]), "name": ["a"], "weights": [weights]}, n_jobs=1)
    assert seen[0][:2] == (0.5, "a")
    assert type(seen[0][0]) is float
    assert seen[0][2] is weights
    assert table["weights"][0] is weights


# ------------------------------------------------------------------------------- whoever computes, in any order


class Backwards:
    """Like an executor, and like none: the last task first, all of them in the wait of the first result."""

    def __init__(self):
        self.tasks = []

    def submit(self, function, *args):
        future = Future()
        self.tasks.append((future, function, args))
        if len(self.tasks) == 1:
            threading.Thread(target=self.run).start()
        return future

    def run(self):
        time.sleep(0.05)
        while self.tasks:
            future, function, args = self.tasks.pop()
            future.set_result(function(*args))


def everyone():
    yield "one thread", None, {"n_jobs": 1}
    yield "three threads", None, {"n_jobs": 3}
    yield "a pool of threads", lambda: ThreadPoolExecutor(2), {}
    yield "a pool with more threads a point", lambda: ThreadPoolExecutor(2), {"n_jobs": 2}
    yield "backwards", Backwards, {}
    yield "processes that are spawned", lambda: ProcessPoolExecutor(2, mp_context=get_context("spawn")), {}
    yield "loky", lambda: LokyExecutor(2), {}
    if sys.platform != "win32":
        yield "processes that are forked", lambda: ProcessPoolExecutor(2, mp_context=get_context("fork")), {}


SEEDED = {"make_network": biased, "data": draw, "grid": {"scale": [1e2, 1e-3, 1e-9], "seed": 4}}


@pytest.fixture(scope="module")
def reference_tables():
    return sweep(**SEEDED), sweep(**SEEDED, solve="flow")


@FORKING
@pytest.mark.parametrize(("executor", "change"), [pytest.param(e, c, id=name) for name, e, c in everyone()])
def test_neither_the_executor_nor_the_number_of_threads_nor_the_order_changes_a_bit(executor, change, reference_tables):
    pool = executor and executor()
    for solve, expected in zip(("limit", "flow"), reference_tables, strict=True):
        assert expected["success"].all()
        assert same(sweep(**SEEDED, solve=solve, executor=pool, **change), expected)
    if pool is not None and hasattr(pool, "shutdown"):
        assert pool.submit(abs, -1).result() == 1  # it is still the user's
        pool.shutdown()


def test_one_point_alone_has_the_numbers_it_has_among_others():
    table = sweep()
    for row in range(6):
        alone = sweep(grid={name: [table[name][row]] for name in GRID}, n_jobs=2)
        assert all(alone[name][0] == table[name][row] for name in table)


def test_calls_that_ask_for_one_thread_each_run_side_by_side():
    random = np.random.default_rng(3)
    X, y = random.standard_normal((20, 400)), random.standard_normal(20)
    slow, ended = ib.DiagonalNetwork.from_scale_shape(400, scale=1e-300), threading.Event()

    def explicit():
        # explicit steps at a vanishing scale would take minutes
        ib.gradient_flow(slow, X, y, method="explicit", max_seconds=3.0, n_jobs=1)
        ended.set()

    thread = threading.Thread(target=explicit)
    thread.start()
    time.sleep(0.2)
    assert ib.limit(NETWORK(scale=1e-3), DATA.X, DATA.y, n_jobs=1).success
    assert not ended.is_set()
    thread.join()


# ------------------------------------------------------------------------------------------------------------- seeds


def test_data_and_network_of_a_seed_are_its_two_children_whatever_the_other_axes():
    table = sweep(biased, draw, {"seed": [7, 3], "scale": [1e-3, 1.0]}, ["l1_norm"])
    for seed in (7, 3):
        for scale in (1e-3, 1.0):
            of_data, of_network = np.random.SeedSequence(seed).spawn(2)
            X, y = draw(of_data)
            expected = np.abs(ib.limit(biased(scale, of_network), X, y).beta).sum()
            assert table["l1_norm"][(table["seed"] == seed) & (table["scale"] == scale)].tolist() == [expected]


def test_a_number_of_seeds_is_the_first_of_more_seeds():
    few, many = (sweep(biased, draw, {"scale": [1.0], "seed": n}, ["l1_norm"]) for n in (2, 5))
    assert many["seed"].tolist() == [0, 1, 2, 3, 4]
    assert (few["l1_norm"] == many["l1_norm"][:2]).all()
    assert len(set(many["l1_norm"])) == 5


def test_a_plain_seed_is_passed_as_it_is():
    draw_plain = partial(ib.datasets.sparse_regression, 4, 9, 2)
    table = sweep(data=draw_plain, grid={"scale": [1e-3], "seed": [0, 5]}, measures="l1_norm")
    expected = np.abs(ib.limit(NETWORK(scale=1e-3), DATA.X, DATA.y).beta).sum()
    assert table["l1_norm"][0] == expected != table["l1_norm"][1]


# --------------------------------------------------------------------------------------------------------- failures


def assert_others_unharmed(table, unlucky, grid):
    good = [k for k in range(len(grid)) if k not in unlucky]
    alone = sweep(grid={"scale": [grid[k] for k in good]})
    for name in MEASURES:
        assert table[name][good].tobytes() == alone[name].tobytes()
        assert np.isnan(table[name][unlucky]).all()
    assert (table["status"][unlucky] == "failed").all()
    assert (table["status"][good] == "converged").all()
    assert table["success"].tolist() == [k in good for k in range(len(grid))]


@pytest.mark.parametrize("pool", [None, ThreadPoolExecutor])
def test_a_network_that_cannot_be_made_costs_its_own_point_only(pool):
    scales = [1.0, 13.0, 1e-3, 14.0, 15.0, 1e-9, -1.0]
    table = sweep(fragile, grid={"scale": scales}, executor=pool and pool(2))
    assert_others_unharmed(table, [1, 3, 4, 6], scales)
    assert table["message"][[1, 3, 4, 6]].tolist() == [
        "make_network: RuntimeError: thirteen is unlucky",
        "make_network: SystemExit: gone",
        "make_network: ValueError: make_network(...) must be a network, such as a DiagonalNetwork: got 'no network'",
        "make_network: ValueError: scale must be positive: got -1.0",
    ]


def test_bad_data_and_bad_measures_cost_their_own_point_only():
    def data(size):
        return {0: (DATA.X, DATA.y), 1: (DATA.X, DATA.y[1:]), 2: (DATA.X[:, 1:], DATA.y), 3: DATA.X, 4: DATA}[size]

    def measure(end):
        return {4: end.beta}.get(len(asked), 0.0) if asked.append(1) is None else None

    asked = []
    table = sweep(data=data, grid={"scale": [1.0], "size": [0, 1, 2, 3, 4]}, measures="n_iter")
    assert table["status"].tolist() == ["converged", "failed", "failed", "failed", "converged"]
    assert table["message"][1] == "data: ValueError: y must have length 4, one target for every row of X: got 3"
    assert table["message"][2] == (
        "limit: ValueError: X must have 9 columns, one for every feature of the start: got 8"
    )
    assert table["message"][3].startswith("data: ValueError: data must be (X, y), or have the attributes X and y: got")
    table = sweep(measures=[measure, "n_iter"], n_jobs=1)
    assert table["status"].tolist() == ["converged"] * 3 + ["failed"] + ["converged"] * 2
    assert table["message"][3].startswith(
        "measure 'measure': ValueError: a measure must be one real number: got array("
    )
    assert np.isnan(table["n_iter"][3])


def test_a_worker_that_dies_leaves_the_points_that_were_done():
    scales = [1.0] * 40 + [16.0] + [1.0] * 3
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        table = sweep(fragile, grid={"scale": scales}, executor=pool)
    assert table["status"][40] == "failed"
    assert table["message"][40].startswith("executor: BrokenProcessPool: ")
    done = table["status"] == "converged"
    assert done[:30].all()
    assert set(table["status"][~done]) == {"failed"}
    assert (table["n_iter"][done] == table["n_iter"][0]).all()


def test_an_executor_that_is_shut_down_is_an_error_of_the_call():
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(RuntimeError, match="after shutdown"):
        sweep(executor=pool)


# ------------------------------------------------------------------------------------------------------ progress


def test_progress_is_told_in_the_calling_thread_up_to_the_end():
    told = []
    sweep(progress=lambda *news: told.append((*news, threading.current_thread())))
    done = [news[0] for news in told]
    assert done[0] == 0
    assert done == sorted(done)
    assert done[-1] == 6
    assert {news[1:] for news in told} == {(6, threading.main_thread())}


def test_an_exception_of_the_callback_ends_the_sweep():
    calls = []

    def make_network(scale, shape):
        calls.append(scale)
        return NETWORK(scale=scale, shape=shape)

    def progress(done, total):
        if done:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        sweep(make_network, grid=GRID | {"shape": np.linspace(-0.9, 0.9, 1000)}, progress=progress)
    time.sleep(0.05)
    count = len(calls)
    time.sleep(0.1)
    assert len(calls) == count < 3000


def test_the_bar_is_quiet_where_nobody_watches(capfd):
    sweep(progress=True)
    assert capfd.readouterr() == ("", "")


def test_the_bar_counts_points_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda self: True, raising=False)
    sweep(progress=True)
    out, shown = capsys.readouterr()
    assert out == ""
    assert "6/6" in shown


def test_a_bar_without_tqdm_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(ImportError, match=r"pip install 'implicit-bias\[cli\]'"):
        sweep(progress=True)
    assert sweep(progress=False)["success"].all()


# -------------------------------------------------------------------------------------------------------- the table


def test_a_table_is_a_frozen_value_that_pickles():
    table = sweep()
    assert same(pickle.loads(pickle.dumps(table)), table)
    stop = ib.SweepInterrupted(table)
    assert same(pickle.loads(pickle.dumps(stop)).partial, table)
    assert table == table
    assert table != sweep()
    assert repr(table) == f"SweepResult(scale: 3, shape: 2; {', '.join(MEASURES)}; 6 converged)"


def test_numbers_in_a_file_read_back_as_themselves(tmp_path):
    table = sweep(grid={"scale": [0.1, 1e-300, 2.0 / 3.0], "shape": [0.3]})
    failing = sweep(fragile, grid={"scale": [13.0, 1.0]})
    for found in (table, failing):
        found.to_csv(tmp_path / "table.csv")
        with open(tmp_path / "table.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert list(rows[0]) == list(found)
        for name in found:
            if found[name].dtype == np.float64:
                read = np.array([float(row[name]) for row in rows])
                assert np.array_equal(read, found[name], equal_nan=True)
            else:
                assert [row[name] for row in rows] == [str(value) for value in found[name]]


def test_a_table_draws_the_figure_of_scale_and_shape():
    from matplotlib.figure import Figure

    table = sweep(measures={"test_mse": "loss"})
    assert ib.plot.shape_and_scale(table, ax=Figure().subplots()).get_xscale() == "log"


# ------------------------------------------------------------------------------------------------------- checkpoints


@pytest.fixture
def counted():
    """A network function that remembers what it was asked for; it has no closure, and one name."""
    COUNTED.clear()
    return counting


COUNTED = []


def counting(scale, shape=0.0):
    COUNTED.append((scale, shape))
    return fragile(scale, shape)


def test_a_rerun_computes_only_what_is_missing(tmp_path, counted):
    path = tmp_path / "sweep.jsonl"
    first = sweep(counted, checkpoint=path)
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == 7
    # every length that a kill can leave behind
    for length in range(0, len(b"".join(lines)) + 1, 37):
        COUNTED.clear()
        path.write_bytes(b"".join(lines)[:length])
        whole = path.read_bytes().count(b"\n")
        assert same(sweep(counted, checkpoint=path, n_jobs=1), first)
        assert len(COUNTED) == 6 - max(0, whole - 1)
        assert sorted(path.read_bytes().splitlines()) == sorted(b"".join(lines).splitlines())


def test_failed_points_are_tried_again(tmp_path, counted):
    path = tmp_path / "sweep.jsonl"
    grid = {"scale": [1.0, 13.0]}
    assert sweep(counted, grid=grid, checkpoint=path)["status"].tolist() == ["converged", "failed"]
    COUNTED.clear()
    assert sweep(counted, grid=grid, checkpoint=path)["status"].tolist() == ["converged", "failed"]
    assert COUNTED == [(13.0, 0.0)]


def test_infinite_and_undefined_numbers_survive(tmp_path):
    path = tmp_path / "sweep.jsonl"
    measures = {"infinite": lambda end: math.inf, "undefined": lambda end: math.nan, "tiny": lambda end: 5e-324}
    first = sweep(measures=measures, checkpoint=path)
    assert same(sweep(measures=measures, checkpoint=path), first)


OTHERS = {
    "grid": {"grid": GRID | {"shape": [0.0, -0.8]}},
    "measures": {"measures": MEASURES[1:]},
    "solver": {"solve_options": {"tol": 1e-9}},
    "make_network": {"make_network": partial(ib.DiagonalNetwork.from_scale_shape, n_features=9)},
    "data": {"data": (DATA.X, 2.0 * DATA.y)},
}


@pytest.mark.parametrize("what", OTHERS)
def test_the_file_of_another_sweep_is_refused_and_left_alone(what, tmp_path):
    path = tmp_path / "sweep.jsonl"
    sweep(checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=rf"^checkpoint must be a file of this sweep: .* with other {what}; delete it"):
        sweep(**OTHERS[what], checkpoint=path)
    assert path.read_bytes() == before


class Thing:
    """Shows nothing of what it holds."""

    def __init__(self, content):
        self.content = content

    def __repr__(self):
        return "Thing()"

    def __call__(self, **point):
        return NETWORK(scale=1.0)


ALIKE = {
    "data sets": [ib.datasets.sparse_regression(4, 9, 2, seed=seed) for seed in (0, 1)],
    "arrays of objects": [np.array([1, "a"], object), np.array([1, "b"], object)],
    "objects": [Thing(1), Thing(2)],
    "numbers": [0.0, -0.0],
    "number and word": [1, "1"],
    "nested": [[[1], 2], [[1, 2]]],
    "methods": [Thing(1).__call__, Thing(2).__call__],
    "unknown": [None, False],
}


@pytest.mark.parametrize("one", ALIKE)
def test_sweeps_are_told_apart_by_what_their_values_hold(one, tmp_path):
    path = tmp_path / "sweep.jsonl"
    make_network = Thing(0)
    first, second = ALIKE[one]
    for value in (first, first):
        assert sweep(make_network, grid={"thing": [value]}, checkpoint=path)["success"].all()
    with pytest.raises(ValueError, match=r"with other grid"):
        sweep(make_network, grid={"thing": [second]}, checkpoint=path)
    with pytest.raises(ValueError, match=r"with other make_network"):
        sweep(Thing(3), grid={"thing": [first]}, checkpoint=path)


def test_a_value_that_cannot_be_written_down_has_no_checkpoint(tmp_path):
    with pytest.raises(ValueError, match=r"^checkpoint must be None with values that cannot be written down: "):
        sweep(Thing(0), grid={"thing": [threading.Lock()]}, checkpoint=tmp_path / "sweep.jsonl")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [b"my notes", b"my\nnotes\n", b"{}\n", b"[1]\n", b"\xff\xfe\n\x00"])
def test_a_file_of_something_else_is_refused_and_left_alone(content, tmp_path):
    path = tmp_path / "notes"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"^checkpoint must be a file of a sweep"):
        sweep(checkpoint=path)
    assert path.read_bytes() == content


def damaged_lines():
    row = {"number": 0, "values": [0.0] * 7, "success": True, "status": "converged", "message": ""}
    yield "no JSON", "{"
    for name, value in (("number", 6), ("number", "0"), ("values", [0.0]), ("values", ["x"] * 7), ("status", 3)):
        yield f"{name} {value}", json.dumps(row | {name: value})
    yield "less", json.dumps({"number": 0})


@pytest.mark.parametrize("line", [pytest.param(line, id=name) for name, line in damaged_lines()])
def test_a_damaged_line_is_named(line, tmp_path):
    path = tmp_path / "sweep.jsonl"
    sweep(checkpoint=path)
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(
        ValueError, match=r"^checkpoint must be a file of a sweep: line 8 of '.*' is not one of its lines$"
    ):
        sweep(checkpoint=path)


# ------------------------------------------------------------------------------------------------------------ Ctrl-C

SLOW_SWEEP = """
    import signal, sys, time, threading, os
    from concurrent.futures import ThreadPoolExecutor
    from functools import partial
    import numpy as np
    import implicit_bias as ib
    # A shell starts what it sends to the background with Ctrl-C ignored, and Python then leaves it so.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((100, 2000)), rng.standard_normal(100)
    net = partial(ib.DiagonalNetwork.from_scale_shape, 2000)
    def interrupt():
        global sent
        sent = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)
    threading.Timer(1.5, interrupt).start()
    # At scale 1 a flow is short; explicit steps at a vanishing one are stiff: minutes, uninterrupted.
    run = partial(ib.sweep, net, (X, y), {"scale": [1.0, 1e-300, 1e-200, 1e-100]}, "l1_norm", solve="flow",
                  solve_options={"method": "explicit", "t": [1e-3, 1.0, 1e6], "tol": 1e-2})
"""
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="SIGINT to oneself is a POSIX notion")


def run_and_interrupt(body, *args):
    code = textwrap.dedent(SLOW_SWEEP) + textwrap.dedent(body)
    return subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, timeout=60, check=True
    ).stdout.splitlines()


@POSIX
@pytest.mark.parametrize("how", ["n_jobs=1", "n_jobs=3", "executor=ThreadPoolExecutor(2)"])
def test_control_c_is_answered_within_a_fifth_of_a_second_with_the_points_so_far(how):
    waited, threads, again = run_and_interrupt(f"""
        def short(scale):
            return net(scale=scale)
        table = ib.sweep(net, (X, y), {{"scale": [1.0]}}, "l1_norm")
        try:
            run({how})
        except ib.SweepInterrupted as stop:
            print(time.perf_counter() - sent)
            partial = stop.partial
        time.sleep(0.3)  # the threads that computed were told to stop, and did
        before = time.process_time()
        time.sleep(0.3)
        print(time.process_time() - before)
        assert "interrupted" in partial["status"].tolist(), partial["status"]
        assert np.isnan(partial["l1_norm"][partial["status"] == "interrupted"]).all()
        assert (partial["message"][partial["status"] == "interrupted"]
                == "interrupted before this point: call again to compute it").all()
        print(ib.sweep(net, (X, y), {{"scale": [1.0]}}, "l1_norm")["l1_norm"][0] == table["l1_norm"][0])
    """)
    assert float(waited) < 0.2
    assert float(threads) < 0.1
    assert again == "True"


@POSIX
def test_control_c_can_return_the_points_so_far_and_a_checkpoint_goes_on_from_them(tmp_path):
    lines = run_and_interrupt(
        """
        slow = True
        def make_network(scale):
            return net(scale=scale)
        def data(scale):
            if scale == 1e-3 and slow:
                time.sleep(60.0)
            return X, y
        grid = {"scale": [1.0, 1e-1, 1e-2, 1e-3]}
        run = partial(ib.sweep, make_network, data, grid, "l1_norm", checkpoint=sys.argv[1], on_interrupt="return")
        table = run(n_jobs=1)
        print(table["status"].tolist())
        slow = False
        print((run()["l1_norm"] == ib.sweep(make_network, data, grid, "l1_norm")["l1_norm"]).all())
        os._exit(0 if sys.stdout.flush() is None else 1)  # not after the minute that the thread sleeps
        """,
        str(tmp_path / "sweep.jsonl"),
    )
    assert lines == [str(["converged"] * 3 + ["interrupted"]), "True"]


@POSIX
def test_a_kill_loses_at_most_the_points_that_were_being_computed(tmp_path):
    path = tmp_path / "sweep.jsonl"
    code = """
        import sys, time
        from test_sweep import *
        def progress(done, total):
            print(done, flush=True)
        sweep(lambda scale: (time.sleep(0.06), NETWORK(scale=scale))[1], grid={"scale": [1.0] * 1000}, n_jobs=1,
              checkpoint=sys.argv[1], progress=progress)
    """
    here = os.path.dirname(__file__)
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), str(path)], cwd=here, stdout=subprocess.PIPE, text=True
    )
    while int(process.stdout.readline()) < 4:
        pass
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert path.read_bytes().count(b"\n") >= 1 + 4


def test_a_cancellation_stops_the_calls_under_it_and_no_others():
    stop = _core.Cancellation()
    assert stop.call(lambda a, b: a + b, 1, 2) == 3
    assert stop.call(ib.limit, NETWORK(scale=1.0), DATA.X, DATA.y).success
    assert not stop.cancelled
    stop.cancel()
    assert stop.cancelled
    with pytest.raises(KeyboardInterrupt):
        stop.call(ib.limit, NETWORK(scale=1.0), DATA.X, DATA.y)
    assert ib.limit(NETWORK(scale=1.0), DATA.X, DATA.y).success
    with pytest.raises(ZeroDivisionError):
        stop.call(lambda: 1 // 0)
    assert ib.limit(NETWORK(scale=1.0), DATA.X, DATA.y).success


# -------------------------------------------------------------------------- threads, processes, environment


def beta(net, X, y):
    return ib.limit(net, X, y).beta.tobytes(), ib.gradient_flow(net, X, y, n_jobs=2).beta.tobytes()


@FORKING
@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_a_child_process_computes_what_its_parent_does(method):
    if method == "fork" and sys.platform == "win32":
        pytest.skip("no fork on Windows")
    expected = beta(NETWORK(scale=1e-3), DATA.X, DATA.y)  # the pools of this process exist when it forks
    with get_context(method).Pool(2) as pool:
        found = pool.starmap_async(beta, [(NETWORK(scale=1e-3), DATA.X, DATA.y)] * 4).get(timeout=60)
    assert found == [expected] * 4


@FORKING
@pytest.mark.skipif(sys.platform == "win32", reason="no fork on Windows")
def test_a_child_that_is_forked_amid_a_sweep_sweeps_as_well():
    expected, found = sweep(), []

    def progress(done, total):
        if not found:
            with get_context("fork").Pool(1) as pool:
                found.append(pool.apply_async(sweep).get(timeout=60))

    assert same(sweep(progress=progress), expected)
    assert same(found[0], expected)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib_computes_what_a_loop_does(backend):
    nets = [NETWORK(scale=scale) for scale in (1.0, 1e-3, 1e-9)]
    found = Parallel(n_jobs=2, backend=backend)(delayed(ib.limit)(net, DATA.X, DATA.y) for net in nets)
    flows = Parallel(n_jobs=2, backend=backend)(delayed(ib.gradient_flow)(net, DATA.X, DATA.y) for net in nets)
    for net, limit, flow in zip(nets, found, flows, strict=True):
        assert limit.beta.tobytes() == ib.limit(net, DATA.X, DATA.y).beta.tobytes()
        assert flow.beta.tobytes() == ib.gradient_flow(net, DATA.X, DATA.y).beta.tobytes()


def test_the_environment_sets_the_number_of_threads(monkeypatch):
    from implicit_bias import _validate

    for given, expected in (("3", 3), (" 3 ", 3), ("9999", _validate.MOST_JOBS)):
        monkeypatch.setenv("IMPLICIT_BIAS_NUM_THREADS", given)
        assert _validate.jobs(None) == expected
        assert _validate.jobs(2) == 2
    cores = os.cpu_count()
    for unset in ("", " "):
        monkeypatch.setenv("IMPLICIT_BIAS_NUM_THREADS", unset)
        assert 1 <= _validate.jobs(None) <= cores


@pytest.mark.parametrize("given", ["0", "-2", "two", "1.5", "1_0"])
def test_a_number_of_threads_that_is_none_is_named_with_its_variable(given, monkeypatch):
    monkeypatch.setenv("IMPLICIT_BIAS_NUM_THREADS", given)
    for call in (sweep, lambda: ib.limit(NETWORK(scale=1.0), DATA.X, DATA.y)):
        with pytest.raises(ValueError, match=r"^IMPLICIT_BIAS_NUM_THREADS must be an integer of at least 1: got "):
            call()
    assert ib.limit(NETWORK(scale=1.0), DATA.X, DATA.y, n_jobs=1).success


@pytest.mark.skipif(sys.platform == "win32", reason="the resource module is of POSIX")
def test_memory_does_not_grow_with_the_number_of_points_beyond_the_table():
    code = """
        import resource
        from test_sweep import *
        data = ib.datasets.sparse_regression(20, 200, 3, seed=0)
        network = partial(ib.DiagonalNetwork.from_scale_shape, 200)
        def run(count):
            grid = {"scale": [1.0], "shape": np.linspace(-0.9, 0.9, count)}
            assert sweep(network, data, grid, "l1_norm", n_jobs=2)["success"].all()
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        few = run(500)
        print(run(4000) - few)
    """
    here = os.path.dirname(__file__)
    grown = int(subprocess.check_output([sys.executable, "-c", textwrap.dedent(code)], cwd=here, text=True))
    unit = 1 if sys.platform == "darwin" else 1024
    # The results alone are 7 kB a point, four vectors of the 200 coefficients and more, 28 MB in all; rows are 100 B.
    assert grown * unit <= 4e6


def test_the_examples_of_the_page_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).parents[2] / "docs" / "sweeps.md"
    names = {}
    exec(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)[0], names)
    assert names["table"]["success"].all()
    assert (tmp_path / "table.csv").is_file()


def test_threads_of_a_sweep_end_with_it():
    sweep(n_jobs=3)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("implicit_bias")]
