"""The command line: files in, files out, an exit code, and one line for what went wrong."""

import csv
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import implicit_bias as ib
from implicit_bias import _files, _limit, _sweep
from implicit_bias._cli import app
from implicit_bias._options import WEIGHTS
from implicit_bias._progress import bar

DATA = ib.datasets.sparse_regression(n_samples=6, n_features=15, n_nonzero=2, seed=0)
NET = ib.DiagonalNetwork.from_scale_shape(15, scale=1e-4)
ROOT = Path(__file__).parents[2]
NAMES = [f"x{i}" for i in range(15)]


def arrays(path):
    with np.load(path) as file:
        return dict(file)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def failed(code, *arguments):
    """The line on standard error of a call that ends with `code`, and says nothing else."""
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert not result.stdout
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert result.stderr.startswith("implicit-bias: ")
    return result.stderr


def table(rows, names=None):
    lines = [] if names is None else [",".join(names)]
    return "\n".join([*lines, *(",".join(map(repr, row)) for row in np.atleast_2d(rows).tolist())]) + "\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The same data in every form that is read; relative names, as people type them."""
    monkeypatch.chdir(tmp_path)
    np.save("X.npy", DATA.X)
    np.save("y.npy", DATA.y)
    np.savez("both.npz", X=DATA.X, y=DATA.y)
    np.savez("other.npz", design=DATA.X, target=DATA.y)
    (tmp_path / "X.csv").write_text(table(DATA.X))
    (tmp_path / "named.csv").write_text(table(DATA.X, NAMES), encoding="utf-8-sig")
    (tmp_path / "y.csv").write_text(table(DATA.y[:, None]))
    (tmp_path / "row.csv").write_text(table(DATA.y))
    (tmp_path / "both.csv").write_text(table(np.column_stack([DATA.y, DATA.X]), ["y", *NAMES]))
    (tmp_path / "price.csv").write_text(table(np.column_stack([DATA.X, DATA.y]), [*NAMES, "price"]))
    return tmp_path


WAYS = [
    ["X.npy", "y.npy"],
    ["X.csv", "y.csv"],
    ["named.csv", "row.csv"],
    ["X.npy", "y.csv"],
    ["both.npz"],
    ["both.npz", "both.npz"],
    ["other.npz", "--x-key", "design", "--y-key", "target"],
    ["both.csv"],
    ["price.csv", "--y-key", "price"],
]


# Files in


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_every_form_of_the_data_gives_the_answer_of_the_library_bit_by_bit(way, files):
    result = run("limit", *way, "--scale", "1e-4", "--out", "found.npz")
    assert result.exit_code == 0, result.output
    with np.load("found.npz") as found:
        assert found["beta"].tobytes() == ib.limit(NET, DATA.X, DATA.y).beta.tobytes()
    assert not list(files.glob(".*.part"))


BROKEN = {
    "no such file": (None, "X.npy", "No such file"),
    "a folder": (lambda path: path.mkdir(), "X.npy", "Is a directory"),
    "text called npy": (b"1,2,3", "X.npy", "is not a NumPy file of numbers, or is damaged or cut short"),
    "empty npy": (b"", "X.npy", "is not a NumPy file of numbers, or is damaged or cut short"),
    "npy cut short": (lambda path: path.write_bytes(_saved(DATA.X)[:300]), "X.npy", "cut short"),
    "pickled objects": (lambda path: np.save(path, np.array([{}], object)), "X.npy", "is not a NumPy file of numbers"),
    "words in npy": (lambda path: np.save(path, np.array([["a"]])), "X.npy", "must be an array of real numbers"),
    "one axis": (lambda path: np.save(path, np.ones(6)), "X.npy", "must be an array of shape (n_samples, n_features)"),
    "NaN": (lambda path: np.save(path, np.full((6, 2), np.nan)), "X.npy", "12 of 12 entries are NaN or infinite"),
    "rows do not match": (lambda path: np.save(path, np.ones((7, 2))), "X.npy", "y must have length 7"),
    "text called npz": (b"1,2,3", "X.npz", "is not a NumPy file of numbers, or is damaged or cut short"),
    "npz cut short": (lambda path: path.write_bytes(_zipped(DATA.X)[:400]), "X.npz", "cut short"),
    "npz without X": (lambda path: np.savez(path, A=1, B=2), "X.npz", "has no array 'X': it has A, B"),
    "empty csv": (b"", "X.csv", "holds no numbers"),
    "blank csv": (b"\n\n", "X.csv", "holds no numbers"),
    "header alone": (b"a,b\n", "X.csv", "holds no numbers"),
    "ragged csv": (b"1,2\n3,4,5\n", "X.csv", "line 2 has 3 entries where the first has 2"),
    "a word": (b"1,2\n3,four\n", "X.csv", "line 2, column 2 is not a number: 'four'"),
    "a word in the first line": (b"1,two\n3,4\n", "X.csv", "line 1, column 2 is not a number: 'two'"),
    "a hole": (b"1,2\n3,\n", "X.csv", "line 2, column 2 is not a number: ''"),
    "semicolons": (b"1;2\n3;4\n", "X.csv", "line 2, column 1 is not a number: '3;4' (numbers stand between commas)"),
    "a counted header": (b"0,1,2\n3,4,5\n", "X.csv", "line 1 counts the columns, is it a header?"),
    "bytes": (b"\xff\xfe\x00", "X.csv", "is not a text file of numbers between commas"),
    "a spreadsheet": (b"", "X.xlsx", "must end in one of .npy, .npz, .csv"),
}


def _saved(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _zipped(array):
    file = io.BytesIO()
    np.savez(file, X=array)
    return file.getvalue()


@pytest.mark.parametrize("case", BROKEN)
def test_a_file_that_cannot_be_used_is_one_line_that_names_it_and_exit_1(case, files):
    content, name, says = BROKEN[case]
    path = files / "broken" / name
    path.parent.mkdir()
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        content(path)
    line = failed(1, "limit", path, "y.npy", "--scale", "1")
    assert says in line
    assert str(path) in line


def test_one_file_of_data_must_say_which_column_the_targets_are(files):
    assert "X.csv has no header, so no column 'y'" in failed(1, "limit", "X.csv", "--scale", "1")
    assert "named.csv must have one column 'y' of targets" in failed(1, "limit", "named.csv", "--scale", "1")
    assert "X.npy holds one array" in failed(1, "limit", "X.npy", "--scale", "1")


# The start


def test_a_scale_and_a_shape_may_be_one_number_a_feature(files):
    scale, shape = np.linspace(1e-3, 1e-1, 15), np.linspace(-0.5, 0.5, 15)
    np.save("scale.npy", scale)
    (files / "shape.csv").write_text(table(shape[:, None]))
    assert run("limit", "both.npz", "--scale", "scale.npy", "--shape", "shape.csv", "--out", "a.npz").exit_code == 0
    net = ib.DiagonalNetwork.from_scale_shape(15, scale=scale, shape=shape)
    with np.load("a.npz") as found:
        assert found["beta"].tobytes() == ib.limit(net, DATA.X, DATA.y).beta.tobytes()
        assert found["scale"].tolist() == scale.tolist()


@pytest.mark.parametrize("name", ["start.npz", "start.csv"])
def test_a_start_may_be_its_weights(name, files):
    weights = dict(
        zip(("u_plus", "v_plus", "u_minus", "v_minus"), np.random.default_rng(0).normal(size=(4, 15)), strict=True)
    )
    if name == "start.npz":
        np.savez(name, **weights, log_magnitude=-3.0)
    else:
        columns = np.column_stack([*weights.values(), np.full(15, -3.0)])
        (files / name).write_text(table(columns, [*weights, "log_magnitude"]))
    assert run("limit", "both.npz", "--start", name, "--out", "a.npz").exit_code == 0
    net = ib.DiagonalNetwork(**weights, log_magnitude=-3.0 if name == "start.npz" else np.full(15, -3.0))
    with np.load("a.npz") as found:
        assert found["beta"].tobytes() == ib.limit(net, DATA.X, DATA.y).beta.tobytes()


def test_a_start_file_with_a_part_missing_or_of_another_size_is_one_line(files):
    np.savez("start.npz", u_plus=np.ones(15), v_plus=np.ones(15))
    assert "u_minus, v_minus not found" in failed(1, "limit", "both.npz", "--start", "start.npz")
    np.savez("start.npz", **dict.fromkeys(("u_plus", "v_plus", "u_minus", "v_minus"), np.ones(3)))
    assert "has 3 features where X has 15" in failed(1, "limit", "both.npz", "--start", "start.npz")


# Results out


def test_what_is_written_is_the_result_in_every_format(files):
    end = ib.limit(NET, DATA.X, DATA.y)
    for kind in ("npz", "json", "csv"):
        result = run("limit", "both.npz", "--scale", "1e-4", "--out", f"deep/er/found.{kind}")
        assert result.exit_code == 0
        assert f"deep/er/found.{kind}" in result.stdout
    with np.load("deep/er/found.npz") as found:
        for name in ("beta", "error_bound", "multipliers", "backward_error", "potential_value"):
            assert found[name].tobytes() == np.asarray(getattr(end, name)).tobytes()
        assert (str(found["status"]), bool(found["success"])) == ("converged", True)
    text = json.loads((files / "deep" / "er" / "found.json").read_text())
    assert text["beta"] == end.beta.tolist()
    assert text["n_iter"] == end.n_iter
    with (files / "deep" / "er" / "found.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["beta"]) for row in rows] == end.beta.tolist()
    assert [float(row["error_bound"]) for row in rows] == end.error_bound.tolist()


def test_json_has_null_where_there_is_no_number(files):
    beta = np.ones(15)
    beta[2:] = 0.0
    np.save("exact.npy", DATA.X @ beta)  # degenerate: no bound at a vanishing scale
    assert run("limit", "X.npy", "exact.npy", "--log-scale", "-2000", "--out", "a.json").exit_code == 0
    bound = json.loads((files / "a.json").read_text(), parse_constant=pytest.fail)["error_bound"]
    assert None in bound
    assert "Infinity" not in (files / "a.json").read_text()


def test_a_flow_is_a_table_with_one_row_a_time(files):
    assert run("flow", "both.npz", "--scale", "1e-4", "--t", "0,1,10", "--out", "a.csv").exit_code == 0
    flow = ib.gradient_flow(NET, DATA.X, DATA.y, [0.0, 1.0, 10.0])
    with (files / "a.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["t"]) for row in rows] == [0.0, 1.0, 10.0]
    assert [[float(row[f"beta_{i}"]) for i in range(15)] for row in rows] == flow.beta.tolist()


def test_observables_take_the_place_of_rows_and_times_may_count_in_the_scale(files):
    keep = ("--observable", "l1_norm", "--observable", "loss", "--no-save-beta")
    times = ("--t", "0.5,1,2", "--time-unit", "log_scale")
    assert run("flow", "both.npz", "--scale", "1e-4", *times, *keep, "--out", "a.csv").exit_code == 0
    flow = ib.gradient_flow(NET, DATA.X, DATA.y, [0.5, 1.0, 2.0], time_unit="log_scale")
    with (files / "a.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["t", "loss", "l1_norm"]
    assert [float(row["loss"]) for row in rows] == flow.loss.tolist()
    norms = np.abs(flow.beta).sum(axis=1)
    np.testing.assert_allclose([float(row["l1_norm"]) for row in rows], norms, rtol=1e-13)


def test_times_may_be_a_list_a_file_or_a_span(files):
    spaced = np.geomspace(0.1, 100.0, 7)
    np.save("t.npy", spaced)
    run("flow", "both.npz", "--scale", "1", "--t", "t.npy", "--out", "a.npz")
    run("flow", "both.npz", "--scale", "1", "--t-span", "0.1", "100", "--n-times", "7", "--out", "b.npz")
    with np.load("a.npz") as a, np.load("b.npz") as b:
        assert a["t"].tolist() == b["t"].tolist() == spaced.tolist()
        assert a["beta"].tobytes() == b["beta"].tobytes()


def test_the_number_of_threads_does_not_change_a_byte_of_the_files(files):
    for n_jobs in ("1", "2"):
        assert run("limit", "both.npz", "--scale", "1", "--n-jobs", n_jobs, "--out", f"{n_jobs}.json").exit_code == 0
    assert (files / "1.json").read_bytes() == (files / "2.json").read_bytes()


def test_a_summary_is_short_and_ascii(files):
    for command in (["limit"], ["flow"]):
        result = run(*command, "both.npz", "--scale", "1e-4")
        assert result.exit_code == 0
        assert result.stdout.isascii()
        assert len(result.stdout.splitlines()) <= 8
        assert "converged" in result.stdout
        assert not result.stderr


# Exit codes


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "one of --scale, --log-scale and --start must be given"),
        (["--scale", "1", "--log-scale", "0"], "exactly one of scale and log_scale must be given: got both"),
        (["--scale", "-1"], "scale must be positive: got -1.0"),
        (["--scale", "tiny"], "--scale must be a number or a file .npy, .npz, .csv: got 'tiny'"),
        (["--scale", "nan"], "scale must be a finite number or an array of them: got nan"),
        (["--scale", "1", "--shape", "1"], "shape must be in (-1, 1): got 1.0"),
        (["--log-scale", "1e300"], "log_scale must be in [-1e+12, 1e+12]: got 1e+300"),
        (["--scale", "1", "--tol", "2"], "tol must be in [1e-16, 0.1]"),
        (["--scale", "1", "--start", "both.npz"], "--start holds the weights: --scale and --log-scale cannot"),
        (["--scale", "1", "--out", "a.xlsx"], "--out must end in one of .npz, .csv, .json: got 'a.xlsx'"),
        (["--scale", "1", "--out", "both.npz"], "--out must not be a file that is read: got 'both.npz'"),
    ],
)
@pytest.mark.usefixtures("files")
def test_a_wrong_option_is_one_line_and_exit_2(arguments, says):
    for command in ("limit", "flow"):
        assert says in failed(2, command, "both.npz", *arguments)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--rtol", "1e-20"], "rtol must be in [1e-14, 0.1] (1e-14 is the floor of double precision): got 1e-20"),
        (["--method", "euler"], "method must be one of 'auto', 'radau', 'explicit', 'weights': got 'euler'"),
        (["--max-seconds", "0"], "max_seconds must be a positive finite number: got 0.0"),
        (["--t", "1,0"], "t must be strictly increasing: got 0.0 after 1.0"),
        (["--t", "soon"], "--t must be numbers between commas: got 'soon'"),
        (["--t-span", "0", "1"], "--t-span must be two positive numbers, the smaller first: got 0 1"),
        (["--t", "1", "--t-span", "1", "2"], "--t and --t-span must not both be given"),
    ],
)
@pytest.mark.usefixtures("files")
def test_a_wrong_option_of_a_flow_is_one_line_and_exit_2(arguments, says):
    assert says in failed(2, "flow", "both.npz", "--scale", "1", *arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        ["limit"],
        ["limit", "both.npz", "--scale"],
        ["limit", "both.npz", "--scale", "1", "--n-jobs", "0"],
        ["flow", "both.npz", "--scale", "1", "--n-times", "1"],
        ["flow", "both.npz", "--scale", "1", "--max-steps", "few"],
        ["nothing"],
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("files")
def test_what_cannot_be_parsed_is_exit_2(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Error" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_run_that_does_not_arrive_is_exit_3_and_writes_what_it_has(files):
    result = run("flow", "both.npz", "--scale", "1e-4", "--max-steps", "3", "--out", "a.json")
    assert result.exit_code == 3
    assert "max_steps" in result.stdout
    found = json.loads((files / "a.json").read_text())
    assert (found["status"], found["success"]) == ("max_steps", False)
    assert len(found["beta"]) == len(found["t"]) > 0


def test_a_place_that_cannot_be_written_to_is_refused_before_any_work(files, monkeypatch):
    monkeypatch.setattr(_limit, "limit", lambda *_, **__: pytest.fail("computed first"))
    (files / "folder.npz").mkdir()
    assert "it is a folder" in failed(1, "limit", "both.npz", "--scale", "1", "--out", "folder.npz")
    assert "cannot be written" in failed(1, "limit", "both.npz", "--scale", "1", "--out", "X.npy/a.npz")


# Sweeps


def test_a_sweep_is_a_table_of_the_library(files):
    result = run("sweep", "both.npz", "--scale", "1e-6:1:4", "--shape", "0,0.5", "--out", "a.csv")
    assert result.exit_code == 0, result.output
    assert "limits from 4 scales x 2 shapes" in result.stdout
    assert not result.stderr
    expected = ib.sweep(
        lambda scale, shape: ib.DiagonalNetwork.from_scale_shape(15, scale=scale, shape=shape),
        (DATA.X, DATA.y),
        {"scale": np.geomspace(1e-6, 1.0, 4).tolist(), "shape": [0.0, 0.5]},
        ["l1_norm", "l2_norm", "kkt_residual", "error_bound", "n_iter"],
    )
    with (files / "a.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(expected)
    for name in ("scale", "shape", *expected.measures):
        assert [float(row[name]) for row in rows] == expected[name].tolist()


@pytest.mark.parametrize("kind", ["npz", "json"])
def test_a_sweep_of_flows_measures_their_last_rows(kind, files):
    options = ["--log-scale", "-9:0:2", "--solve", "flow", "--until", "3", "--measure", "loss,time"]
    assert run("sweep", "both.npz", *options, "--out", f"a.{kind}").exit_code == 0
    found = arrays("a.npz") if kind == "npz" else json.loads((files / "a.json").read_text())
    losses = [
        ib.gradient_flow(ib.DiagonalNetwork.from_scale_shape(15, log_scale=log), DATA.X, DATA.y, [3.0]).loss[0]
        for log in (-9.0, 0.0)
    ]
    assert np.allclose(found["loss"], losses, rtol=1e-12)
    assert list(found["time"]) == [3.0, 3.0]
    assert list(found["status"]) == ["reached_end", "reached_end"]


def test_a_point_that_fails_is_exit_3_and_costs_no_other(files):
    result = run("sweep", "both.npz", "--scale", "1,-1", "--out", "a.json")
    assert result.exit_code == 3
    assert "1 converged, 1 failed" in result.stdout
    assert "scale -1, shape 0: make_network: ValueError: scale must be positive" in result.stdout
    found = json.loads((files / "a.json").read_text())
    assert found["success"] == [True, False]
    assert found["l1_norm"][1] is None


def test_an_interrupted_sweep_writes_its_points_and_is_exit_130(files, monkeypatch):
    real, calls = _sweep.sweep, []

    def sweep(*args, **kwargs):
        def stop(done, total):
            calls.append(done)
            if done >= 3:
                raise KeyboardInterrupt

        return real(*args, **kwargs | {"progress": stop})

    monkeypatch.setattr(_sweep, "sweep", sweep)
    options = ["--scale", "1e-6:1:20", "--n-jobs", "1", "--checkpoint", "points", "--out", "a.csv"]
    result = run("sweep", "both.npz", *options)
    assert result.exit_code == 130
    monkeypatch.setattr(_sweep, "sweep", real)
    with (files / "a.csv").open() as file:
        before = [row["status"] for row in csv.DictReader(file)]
    assert 3 <= before.count("converged") < 20
    assert before.count("interrupted") == 20 - before.count("converged")
    assert run("sweep", "both.npz", *options).exit_code == 0  # and goes on from there


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "exactly one of --scale and --log-scale must be given: got neither"),
        (["--scale", "1", "--log-scale", "1"], "exactly one of --scale and --log-scale must be given: got both"),
        (["--scale", "a,b"], "--scale must be numbers between commas: got 'a,b'"),
        (["--scale", "1:2"], "--scale must be numbers between commas, or LOW:HIGH:N: got '1:2'"),
        (["--scale", "1:2:1"], "--scale must have at least 2 values in LOW:HIGH:N: got 1"),
        (["--scale", "0:1:5"], "--scale must be two positive numbers, the smaller first: got 0 1"),
        (["--scale", "1", "--rtol", "1e-9"], "--rtol is an option of flows: add --solve flow"),
        (["--scale", "1", "--until", "1"], "--until is an option of flows: add --solve flow"),
        (["--scale", "1", "--solve", "walk"], "solve must be one of 'limit', 'flow': got 'walk'"),
        (["--scale", "1", "--measure", "size"], "measures must be one of"),
    ],
)
@pytest.mark.usefixtures("files")
def test_a_wrong_option_of_a_sweep_is_one_line_and_exit_2(arguments, says):
    assert says in failed(2, "sweep", "both.npz", *arguments)


# What may go wrong outside


def test_a_disk_that_fills_up_leaves_the_old_file_and_no_part_of_a_new_one(files, monkeypatch):
    (files / "a.json").write_text("old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_files, "as_json", full)
    assert "No space left on device" in failed(1, "limit", "both.npz", "--scale", "1", "--out", "a.json")
    assert (files / "a.json").read_text() == "old"
    assert not list(files.glob(".*.part"))


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [(KeyboardInterrupt(), 130, "interrupted: nothing was written"), (MemoryError(), 1, "out of memory")],
)
@pytest.mark.usefixtures("files")
def test_a_limit_cut_short_is_one_line(error, code, says, monkeypatch):
    def limit(*_, **__):
        raise error

    monkeypatch.setattr(_limit, "limit", limit)
    assert says in failed(code, "limit", "both.npz", "--scale", "1")


STOPPABLE = """
import signal, sys
from implicit_bias import _core
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores Ctrl-C for what it starts in its background
real = _core.diagonal_flow
def diagonal_flow(*args, **kwargs):
    open("started", "w").close()
    return real(*args, **kwargs)
_core.diagonal_flow = diagonal_flow
from implicit_bias.__main__ import main
sys.argv[1:] = ["flow", "both.npz", "--scale", "1e-12", "--method", "weights", "--t", "0,1e-3,1e9", "--out", "a.npz"]
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends the signal that a POSIX terminal sends")
def test_ctrl_c_writes_the_rows_so_far_and_is_exit_130(files):
    # Stiff, and the explicit method takes tens of seconds over it.
    data = ib.datasets.azulay_sparse_regression()
    np.savez("both.npz", X=data.X, y=data.y)
    with subprocess.Popen([sys.executable, "-c", STOPPABLE], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        until = time.monotonic() + 60.0
        while not (files / "started").exists() and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        out, error = child.communicate(timeout=60)
    assert child.returncode == 130, error
    assert not error
    assert b"interrupted" in out
    with np.load("a.npz") as found:
        assert str(found["status"]) == "interrupted"
        assert found["t"].tolist() == [0.0, 1e-3]
        assert found["beta"].shape == (2, 1000)


# Documentation


@pytest.mark.parametrize("name", ["README.md", "docs/command_line.md"])
def test_the_documented_commands_run_and_write_what_they_say(name, tmp_path, monkeypatch):
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), flags=re.DOTALL)
    commands = [shlex.split(line)[1:] for block in blocks for line in block.splitlines()]
    assert len(commands) >= 4
    assert all(line.startswith("implicit-bias ") for block in blocks for line in block.splitlines())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(table(np.column_stack([DATA.X, DATA.y]), [*NAMES, "y"]))
    for command in commands:
        if command[0] == "figure":  # tested where it is drawn
            continue
        result = run(*command)
        assert result.exit_code == 0, (command, result.output)
        if "--out" in command:
            out = tmp_path / command[command.index("--out") + 1]
            assert out.is_file()
            out.unlink()


# Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_is_drawn_on_a_terminal_alone(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with bar(10, "steps") as progress:
        progress(3)
        progress(10)
    assert "steps" in sys.stderr.getvalue()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with bar(10, "steps") as progress:
        assert progress is None
    assert not sys.stderr.getvalue()


# The program


def test_info_names_the_version_and_the_machine():
    result = run("info")
    assert result.exit_code == 0
    assert result.output.startswith(f"implicit-bias {ib.__version__}\n")
    assert "threads" in result.output


def test_the_version_is_that_of_the_package():
    assert run("--version").stdout == f"{ib.__version__}\n"


@pytest.mark.parametrize("command", [[], ["limit"], ["flow"], ["sweep"], ["figure"], ["info"]], ids=" ".join)
def test_every_command_explains_itself(command):
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.stdout


def test_a_name_that_the_terminal_cannot_spell_costs_nothing(files):
    done = subprocess.run(
        [sys.executable, "-m", "implicit_bias", "limit", "both.npz", "--scale", "1", "--out", "größe.npz"],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (files / "größe.npz").is_file()


def test_a_reader_that_hangs_up_gets_no_traceback_and_the_file_is_there(files):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "implicit_bias", "limit", "both.npz", "--scale", "1", "--out", "a.npz"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert not done.stderr
    assert (files / "a.npz").is_file()


def without(module, *arguments):
    code = f"import sys; sys.modules[{module!r}] = None; sys.argv[1:] = {list(arguments)!r}; "
    code += "from implicit_bias.__main__ import main; main()"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("module", "arguments", "extra"),
    [
        ("typer", ["info"], "cli"),
        ("matplotlib", ["figure", "shape-and-scale"], "plot"),
        ("matplotlib", ["figure", "flow-against-limit"], "plot"),
    ],
)
def test_a_missing_extra_is_one_line_that_says_what_to_install(module, arguments, extra):
    done = without(module, *arguments)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert f"pip install 'implicit-bias[{extra}]'" in done.stderr
    assert not done.stdout


def test_the_module_runs_as_a_program():
    done = subprocess.run([sys.executable, "-m", "implicit_bias", "info"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"implicit-bias {ib.__version__}\n")


# Thirty digits


LONG = ["0.10000000000000000000000000000001", "-0.3", "0.25", "1e-3", "2", "0.7"]


@pytest.fixture
def thirty(files, tmp_path):
    """The targets in every form that has more digits than binary64; the limit from them."""
    (tmp_path / "long.csv").write_text("\n".join(["y", *LONG]) + "\n")
    rows = [[*map(repr, row), text] for row, text in zip(DATA.X.tolist(), LONG, strict=True)]
    (tmp_path / "together.csv").write_text("\n".join(",".join(row) for row in [[*NAMES, "y"], *rows]) + "\n")
    high = [float(text) for text in LONG]
    low = [float(Fraction(text) - Fraction(part)) for text, part in zip(LONG, high, strict=True)]
    np.savez("parts.npz", X=DATA.X, y=high, y_low=low)
    (tmp_path / "two.csv").write_text(table(np.column_stack([low, high]), ["y_low", "target"]))
    rows = np.column_stack([DATA.X, high, low])
    (tmp_path / "three.csv").write_text(table(rows, [*NAMES, "y", "y_low"]))
    net = ib.DiagonalNetwork.from_scale_shape(15, scale="0.1", shape="0.3")
    return ib.limit(net, DATA.X, LONG, precision="double-double")


@pytest.mark.parametrize("data", ["X.npy long.csv", "together.csv", "parts.npz", "X.csv two.csv", "three.csv"])
def test_every_digit_of_text_and_of_low_parts_is_read(thirty, data):
    options = ["--scale", "0.1", "--shape", "0.3", "--precision", "double-double", "--out", "end.npz"]
    assert run("limit", *data.split(), *options).exit_code == 0
    found = arrays("end.npz")
    for name in ("beta", "beta_low", "multipliers", "multipliers_low", "potential_value_low"):
        np.testing.assert_array_equal(found[name], getattr(thirty, name))
    # In binary64 the low parts are no features, and are left out.
    assert run("limit", *data.split(), "--scale", "0.1", "--shape", "0.3", "--out", "plain.json").exit_code == 0
    plain = json.loads(Path("plain.json").read_text())
    np.testing.assert_allclose(plain["beta"], thirty.beta, atol=1e-13)
    assert "beta_low" not in plain
    assert plain["scale"] == 0.1


def test_flows_and_sweeps_have_thirty_digits_too(thirty):
    options = ["--scale", "0.1", "--shape", "0.3", "--precision", "double-double"]
    assert run("flow", "parts.npz", *options, "--t", "0,1", "--observable", "distance", "--out", "a.csv").exit_code == 0
    net = ib.DiagonalNetwork.from_scale_shape(15, scale="0.1", shape="0.3")
    flow = ib.gradient_flow(net, DATA.X, LONG, [0.0, 1.0], precision="double-double", observables=["distance"])
    with open("a.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["loss_low"]) for row in rows] == flow.loss_low.tolist()
    assert [float(row["distance_low"]) for row in rows] == flow.observables_low["distance"].tolist()
    assert [[float(row[f"beta_{i}_low"]) for i in range(15)] for row in rows] == flow.beta_low.tolist()
    arguments = ["--scale", "1,1e-3", "--measure", "kkt_residual", "--out", "b.json"]
    assert run("sweep", "both.npz", *arguments, "--precision", "double-double").exit_code == 0
    assert max(json.loads(Path("b.json").read_text())["kkt_residual"]) < 1e-28


def test_weights_of_a_file_have_their_digits(thirty, tmp_path):
    texts = {name: [f"0.{k}{i}" for i in range(1, 10)] + ["1"] * 6 for k, name in enumerate(WEIGHTS, 1)}
    rows = zip(*texts.values(), strict=True)
    (tmp_path / "w.csv").write_text("\n".join(",".join(row) for row in [[*texts], *rows]) + "\n")
    high = {name: np.array([float(text) for text in column]) for name, column in texts.items()}
    low = {
        f"{name}_low": [float(Fraction(text) - Fraction(float(text))) for text in column]
        for name, column in texts.items()
    }
    np.savez("w.npz", **high, **low)
    end = ib.limit(ib.DiagonalNetwork(*texts.values()), DATA.X, DATA.y, precision="double-double")
    for file in ("w.csv", "w.npz"):
        assert (
            run("limit", "both.npz", "--start", file, "--precision", "double-double", "--out", "c.npz").exit_code == 0
        )
        np.testing.assert_array_equal(arrays("c.npz")["beta_low"], end.beta_low)


def test_a_precision_that_there_is_not_is_refused(files):
    for command in ("limit", "flow", "sweep"):
        said = failed(2, command, "both.npz", "--scale", "1", "--precision", "quad")
        assert "--precision must be one of 'double', 'double-double': got 'quad'" in said
