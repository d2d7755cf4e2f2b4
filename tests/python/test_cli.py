"""The command line: what it writes, and one line for what went wrong."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import implicit_bias as ib
from implicit_bias import _figures
from implicit_bias._cli import app

PUBLISHED = json.loads((Path(__file__).parents[1] / "golden" / "published.json").read_text())[
    "azulay_sparse_regression"
]
COLUMNS = ["scale", "shape", "kappa", "test_mse", "l1_norm", "kkt_residual", "error_bound"]


def run(*arguments):
    return CliRunner().invoke(app, arguments)


@pytest.fixture(scope="module")
def figure(tmp_path_factory):
    out = tmp_path_factory.mktemp("deep") / "er"
    result = run("figure", "shape-and-scale", "--out", str(out))
    assert result.exit_code == 0, result.output
    return result, out


@pytest.fixture(scope="module")
def rows(figure):
    with (figure[1] / "shape_and_scale.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(_figures, "SHAPES", (0.0,))
    monkeypatch.setattr(_figures, "SCALES", np.array([1e-2]))


def test_the_table_has_the_columns_and_the_100_cells_of_the_recipe(rows):
    assert list(rows[0]) == COLUMNS
    cells = [(float(row["shape"]), float(row["scale"])) for row in rows]
    assert cells == [(shape, scale) for shape in PUBLISHED["shapes"] for scale in np.logspace(-5, -0.6, 20)]


def test_population_errors_are_the_exact_ones_to_nine_digits(rows):
    expected = [error for shape in PUBLISHED["shapes"] for error in PUBLISHED["exact_test_mse"][str(shape)]]
    assert np.allclose([float(row["test_mse"]) for row in rows], expected, rtol=1e-9, atol=0.0)


def test_every_cell_is_proven_and_satisfies_the_optimality_conditions(rows):
    assert max(float(row["error_bound"]) for row in rows) <= 1e-10
    assert max(float(row["kkt_residual"]) for row in rows) <= 1e-12


def test_kappa_is_that_of_the_paper_and_norms_lie_between_the_baselines(rows):
    for row in rows:
        scale, shape = float(row["scale"]), float(row["shape"])
        kappa = 4.0 * scale * (1.0 + shape**2) / ((1.0 - shape) * (1.0 + shape))
        assert float(row["kappa"]) == pytest.approx(kappa, rel=1e-14)
        low, high = PUBLISHED["limits"]["basis_pursuit_l1_norm"], PUBLISHED["limits"]["min_l2_l1_norm"]
        assert low <= float(row["l1_norm"]) <= high * (1.0 + 1e-9)


def test_numbers_are_written_in_full(rows):
    for row in rows:
        for text in row.values():
            assert repr(float(text)) == text


def test_the_picture_is_written_beside_the_table_and_both_are_reported(figure):
    result, out = figure
    assert (out / "shape_and_scale.png").read_bytes().startswith(b"\x89PNG")
    assert "100 limits" in result.output
    assert "shape_and_scale.csv" in result.output.replace("\n", "")


@pytest.mark.usefixtures("small")
def test_the_number_of_threads_does_not_change_a_digit(tmp_path):
    for n_jobs in ("1", "2"):
        assert run("figure", "shape-and-scale", "--out", str(tmp_path / n_jobs), "--n-jobs", n_jobs).exit_code == 0
    one, two = ((tmp_path / n_jobs / "shape_and_scale.csv").read_bytes() for n_jobs in ("1", "2"))
    assert one == two


@pytest.mark.usefixtures("small")
def test_a_folder_that_cannot_be_written_to_is_one_line_and_exit_1(tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = run("figure", "shape-and-scale", "--out", str(tmp_path / "file"))
    assert result.exit_code == 1
    assert "--out must be a folder that can be written to" in result.output


def test_a_bad_option_is_refused_before_any_work():
    assert run("figure", "shape-and-scale", "--n-jobs", "0").exit_code == 2
    assert run("figure", "nothing").exit_code == 2


def test_info_names_the_version_and_the_machine():
    result = run("info")
    assert result.exit_code == 0
    assert result.output.startswith(f"implicit-bias {ib.__version__}\n")
    assert "threads" in result.output


def without(module, *arguments):
    code = f"import sys; sys.modules[{module!r}] = None; sys.argv[1:] = {list(arguments)!r}; "
    code += "from implicit_bias.__main__ import main; main()"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("module", "arguments", "extra"),
    [("typer", ["info"], "cli"), ("matplotlib", ["figure", "shape-and-scale"], "plot")],
)
def test_a_missing_extra_is_one_line_that_says_what_to_install(module, arguments, extra, tmp_path):
    done = without(module, *arguments)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert f"pip install 'implicit-bias[{extra}]'" in done.stderr
    assert not done.stdout


def test_the_module_runs_as_a_program():
    done = subprocess.run([sys.executable, "-m", "implicit_bias", "info"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"implicit-bias {ib.__version__}\n")
