"""Published figures from the command line: what is computed, drawn and written."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import implicit_bias as ib
from implicit_bias import datasets
from implicit_bias._cli import app
from implicit_bias._figures import flow_against_limit, kernel_and_rich, shape_and_scale, shape_of_w0
from implicit_bias._figures.gradient_descent import gradient_descent

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "published.json").read_text())
PUBLISHED, Q_CHECK = GOLDEN["azulay_sparse_regression"], GOLDEN["azulay_q_check"]
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
    monkeypatch.setattr(shape_and_scale, "SHAPES", (0.0,))
    monkeypatch.setattr(shape_and_scale, "SCALES", np.array([1e-2]))


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


# The flow against its limit


@pytest.fixture(scope="module")
def against(tmp_path_factory):
    """What the command printed, its folder, its table, and what it drew."""
    out, compute, found = tmp_path_factory.mktemp("against"), flow_against_limit.compute, []

    def kept(**options):
        found.append(compute(**options))
        return found[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flow_against_limit, "STEPS", 200_000)  # past the stopping rule and past the floor of descent
        patch.setattr(flow_against_limit, "compute", kept)
        result = run("figure", "flow-against-limit", "--out", str(out))
    assert result.exit_code == 0, result.output
    with (out / "flow_against_limit.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return result, out, {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}, found[0]


def test_the_data_of_the_check_are_those_of_the_recipe():
    data, expected = datasets.azulay_q_check(), Q_CHECK["sanity"]
    assert data.X.shape == (10, 100)
    assert np.flatnonzero(data.beta_true).tolist() == expected["support"]
    assert data.X[0, 0] == pytest.approx(expected["X00"], rel=1e-14)
    assert data.y[:3].tolist() == pytest.approx(expected["y_first3"], abs=1e-8)


def test_the_flow_is_followed_to_the_proven_limit_and_the_published_values_are_there(against):
    _, _, table, _ = against
    assert np.allclose(table["time"], flow_against_limit.STEP * table["step"], rtol=1e-15)
    assert (table["flow_distance"] <= table["flow_distance_bound"]).all()
    net = ib.DiagonalNetwork.from_scale_shape(100, scale=Q_CHECK["scale"], shape=Q_CHECK["shape"])
    data = datasets.azulay_q_check()
    beta = ib.limit(net, data.X, data.y).beta
    for name, value in Q_CHECK["exact"].items():
        if name.startswith("w_"):
            assert beta[int(name[2:])] == pytest.approx(value, rel=1e-11)


def test_descent_follows_the_flow_to_the_order_of_its_step_and_then_stands_still(against):
    _, _, table, _ = against
    late = table["time"] >= 150.0
    # Euler's method: its distance from the flow is of first order in the step of 1e-3, and so is that of the two ends
    assert (np.abs(table["descent_distance"] - table["flow_distance"]) <= 1e-2).all()
    assert np.ptp(np.log(table["descent_distance"][late])) <= 0.1
    assert 1e-5 <= table["descent_distance"][-1] <= 1e-3
    assert table["flow_distance"][-1] <= 0.1 * table["descent_distance"][-1]


def test_descent_stops_where_the_published_rule_says(against):
    result, _, table, _ = against
    tested = table["step"] % 1000 == 0
    stop = table["step"][tested & (table["descent_mse"] < 1e-4)][0]
    assert f"gradient descent: stops after {stop:.0f} steps" in result.stdout
    assert (table["descent_mse"][tested & (table["step"] < stop)] >= 1e-4).all()
    assert 1e-2 <= table["descent_distance"][table["step"] == stop][0] <= 1e-1


def test_the_picture_of_the_experiment_shows_the_table(against):
    result, out, table, found = against
    assert (out / "flow_against_limit.png").read_bytes().startswith(b"\x89PNG")
    assert result.stdout.isascii()
    assert len(result.stdout.splitlines()) == 5
    (ax,) = flow_against_limit.picture(found).axes
    drawn = ib.plot.data(ax)
    assert list(drawn) == [
        "gradient flow",
        "gradient descent, step 0.001",
        "proven bound",
        "SLSQP on min Q",
        "where its published rule stops",
    ]
    assert np.array_equal(drawn["gradient descent, step 0.001"][:, 1], table["descent_distance"])
    assert drawn["where its published rule stops"].tolist() == [[37.0, table["descent_distance"][found.stop]]]
    # what the published solver reached, by its own default tolerance
    assert 1e-4 <= found.slsqp <= 1e-2


@pytest.mark.parametrize("biased", [False, True])
def test_two_vectors_descend_as_the_four_weights_do(biased):
    data = ib.datasets.sparse_regression(n_samples=8, n_features=20, n_nonzero=2, seed=1)
    net = ib.DiagonalNetwork.from_scale_shape(20, scale=1e-2, shape=0.4)
    if biased:
        net = ib.DiagonalNetwork(*np.random.default_rng(3).standard_normal((4, 20)), log_magnitude=-1.0)
    weights = np.exp(net.log_magnitude) * np.array([net.u_plus, net.v_plus, net.u_minus, net.v_minus])
    rows, expected, step = np.array([0.0, 1.0, 10.0, 2000.0]), [], 1e-2
    for k in range(2001):
        u_plus, v_plus, u_minus, v_minus = weights
        beta = u_plus * v_plus - u_minus * v_minus
        if k in rows:
            expected.append(beta)
        g = step / 8 * (data.y - data.X @ beta) @ data.X
        weights = weights + g * np.array([v_plus, u_plus, -v_minus, -u_minus])
    found = gradient_descent(net, data.X, data.y, step=step, rows=rows)
    # a few roundings a step, which the iteration contracts; the weights are of order 1
    assert np.abs(found - expected).max() <= 1e-12


@pytest.mark.soak
def test_descent_reproduces_the_published_cell():
    data, cell = datasets.azulay_sparse_regression(), PUBLISHED["published"]
    net = ib.DiagonalNetwork.from_scale_shape(1000, scale=cell["cell"]["scale"], shape=cell["cell"]["shape"])
    rows = np.array([cell["epochs"] - 1000.0, cell["epochs"]])
    before, at = gradient_descent(net, data.X, data.y, step=1e-3, rows=rows)
    mse = [((data.y - data.X @ beta) ** 2).mean() for beta in (before, at)]
    assert mse[0] >= 1e-4
    assert mse[1] == pytest.approx(cell["train_mse"], rel=1e-3)
    assert ((data.X_test @ at - data.y_test) ** 2).mean() == pytest.approx(cell["test_mse"], rel=1e-4)


# Neurons and the warp


def drawn(tmp_path, name):
    """What the command printed, its table as arrays, and whether there is a picture."""
    result = run("figure", name, "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    stem = name.replace("-", "_")
    assert (tmp_path / f"{stem}.png").read_bytes().startswith(b"\x89PNG")
    with (tmp_path / f"{stem}.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return result.stdout, {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


def printed_q(x, delta):
    """Theorem 2 as the paper prints it, less its constant."""
    root = np.sqrt(x**2 + delta**2 / 4.0)
    return (x**2 - delta / 2.0 * (delta / 2.0 + root)) * np.sqrt(root - delta / 2.0) / x + delta**1.5 / 2.0


def test_the_potential_of_a_neuron_is_the_printed_one_for_four_deltas(tmp_path):
    _, table = drawn(tmp_path, "neuron-q")
    assert list(table) == ["x", *(f"q_delta_{delta}" for delta in (0, 1, 2, 5))]
    assert table["x"][[0, -1]].tolist() == [0.0, 5.0]
    away = table["x"] >= 0.5  # below, the printed formula cancels
    for delta in (0, 1, 2, 5):
        q = table[f"q_delta_{delta}"]
        assert q[0] == 0.0
        assert (np.diff(q) > 0.0).all()
        assert np.allclose(q[away], printed_q(table["x"][away], float(delta)), rtol=1e-12, atol=0.0)


def test_the_contours_are_of_the_printed_potential_and_its_least_value_is_at_the_start(tmp_path):
    _, table = drawn(tmp_path, "neuron-contours")
    panels = sorted(set(zip(table["shape"].tolist(), table["scale"].tolist(), strict=True)))
    assert panels == [(0.0, 1.0), (0.5, 0.01), (0.5, 0.3), (0.5, 1.0), (0.5, 2.0), (0.95, 1.0)]
    beta = np.column_stack([table["beta_0"], table["beta_1"]])
    for shape, scale in panels:
        here = (table["shape"] == shape) & (table["scale"] == scale)
        start = scale * np.array([0.6, 0.8])
        closest, least = (np.argmin(v[here]) for v in (np.linalg.norm(beta - start, axis=1), table["potential"]))
        grid = 4.0 / 60.0
        assert np.abs(beta[here][least] - start).max() <= grid
        assert np.abs(beta[here][closest] - start).max() <= grid
        w, delta = np.sqrt(scale * (1.0 - shape) / (1.0 + shape)), 4.0 * scale * shape / (1.0 - shape**2)
        far = here & (np.linalg.norm(beta, axis=1) >= 0.5)
        expected = printed_q(np.linalg.norm(beta[far], axis=1), delta) - 1.5 * w * beta[far] @ [0.6, 0.8]
        # its inner difference of two numbers of delta/2 is x^2/delta: it loses (delta/x)^2 ulps, of delta^(3/2)/2
        lost = np.finfo(float).eps * delta**1.5 * (delta / 0.5) ** 2
        assert np.allclose(table["potential"][far], expected, rtol=1e-13, atol=lost + 1e-13)


def test_the_warp_makes_a_hessian_of_what_is_none_and_finds_the_potential_of_the_theorem(tmp_path):
    said, table = drawn(tmp_path, "warp")
    assert said.isascii()
    assert (table["diagonal_before"] <= 1e-14).all()
    for metric in ("neuron", "plain"):
        assert (table[f"{metric}_before"] > 0.1).all()
        assert (table[f"{metric}_after"] <= 1e-10).all()
    assert np.allclose(table["neuron_theorem"], printed_q(table["length"], 1.0), rtol=1e-10)
    assert np.allclose(table["neuron_potential"], table["neuron_theorem"], rtol=1e-10)


def test_jumps_of_the_flow_approach_those_of_the_walk_as_one_over_the_logarithm_of_the_scale(tmp_path):
    _, table = drawn(tmp_path, "saddle-to-saddle")
    assert sorted(set(table["log10_scale"])) == [-10000.0, -3000.0, -1000.0, -300.0, -100.0, -30.0, -10.0]
    np.testing.assert_allclose(table["time"] - table["walk_time"], table["delay"], atol=1e-15)
    for jump in (1.0, 2.0, 3.0):
        here = (table["jump"] == jump) & (table["log10_scale"] <= -300.0)
        constant = table["delay"][here] * table["log10_scale"][here]
        # The next term is exponentially small in ln(1/scale); times are found to 12 / 63^6 and rtol.
        np.testing.assert_allclose(constant, constant[0], rtol=1e-3)


def test_one_neuron_is_followed_to_the_closed_form_and_descent_to_the_published_steps_and_errors(tmp_path):
    said, table = drawn(tmp_path, "neuron-flow-against-limit")
    expected = GOLDEN["azulay_single_neuron"]
    runs = sorted(set(zip(table["shape"].tolist(), table["scale"].tolist(), strict=True)))
    assert len(runs) == 6
    for shape, scale in runs:
        key = f"{shape:g},{scale:g}"
        here = (table["shape"] == shape) & (table["scale"] == scale)
        # Stopped at a residual of 1e-12: what is left of the way is that times the condition of the data.
        assert table["distance"][here][-1] <= 1e-10
        assert table["test_mse"][here][-1] == pytest.approx(expected["closed_form_test_mse"][key], abs=1e-9)
        error, steps = expected["published_test_mse"][key], expected["published_epochs"][key]
        assert f"scale {key.split(',')[1]}: test error" in said
        assert f"{error:.10f} after {steps} steps of descent" in said


def test_the_slides_of_a_neuron_are_those_of_the_reference(tmp_path):
    said, table = drawn(tmp_path, "leaky-relu")
    case = json.loads((Path(__file__).parents[1] / "golden" / "leaky_relu_trajectories.json").read_text())["cases"][0]
    lines = [line for line in said.splitlines() if line.startswith("t = ")]
    assert lines == [
        f"t = {float(e['t']):.6f}: sample {e['sample']} {e['kind'].replace('_', ' ')}" for e in case["events"]
    ]
    begin, end = (float(event["t"]) for event in case["events"][2:])
    during = (table["time"] >= begin) & (table["time"] <= end)
    assert table["slides_1"].astype(bool).tolist() == during.tolist()
    assert not table["slides_0"].any()
    assert not table["p_1"][during].any()
    assert (table["p_1"][table["time"] > end] < 0.0).all()
    point = next(point for point in case["points"] if float(point["t"]) == 6.0)
    row = int(np.flatnonzero(table["time"] == 6.0)[0])
    assert table["a"][row] == pytest.approx(float(point["a"]), rel=1e-11)
    p = np.array(case["X"]) @ [float(w) for w in point["w"]]
    np.testing.assert_allclose([table[f"p_{n}"][row] for n in range(3)], p, rtol=1e-10)


def test_a_tied_network_goes_from_the_least_l1_norm_to_the_least_l2_norm_as_its_scale_grows(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_and_rich, "DRAWS", 1)
    monkeypatch.setattr(kernel_and_rich, "SCALES", np.logspace(-5.0, 1.0, 13))
    _, table = drawn(tmp_path, "kernel-and-rich")
    # Excess norms are least at their own end, and move one way.
    assert (np.diff(table["excess_l1"]) > -1e-12).all()
    assert (np.diff(table["excess_l2"]) < 1e-12).all()
    assert 0.0 < table["excess_l1"][0] < 0.01
    assert abs(table["excess_l2"][-1]) < 1e-9
    # Woodworth et al., Theorem 2: an α of that size has its ℓ2 norm within 1 + ε squared.
    data = datasets.sparse_regression(100, 1000, 5, noise_std=0.1, seed=0)
    short = np.linalg.norm(ib.baselines.min_l2_norm(data.X, data.y))
    for epsilon in (0.1, 0.5, 2.0):
        enough = table["scale"] >= np.sqrt(2.0 * (1.0 + epsilon) * (1.0 + 2.0 / epsilon) * short)
        assert enough.any()
        assert ((1.0 + table["excess_l2"][enough]) ** 2 <= 1.0 + epsilon).all()
    # The truth is sparse: the rich end finds it, the kernel end nearly nothing of it.
    assert table["population_error"][0] < 1.5 * table["min_l1_error"][0] < 0.05
    np.testing.assert_allclose(table["population_error"][-1], table["min_l2_error"][-1], rtol=1e-6)
    assert table["population_error"][-1] > 0.7 * table["zero_error"][-1]


def test_the_shape_of_the_start_decides_the_kernel_regime_and_is_forgotten_in_the_rich_one(tmp_path, monkeypatch):
    monkeypatch.setattr(shape_of_w0, "LOG10_SCALES", np.array([-300.0, -30.0, -3.0, 3.0]))
    _, table = drawn(tmp_path, "shape-of-w0")
    data = datasets.sparse_regression(100, 1000, 5, noise_std=0.1, seed=0)
    for ratio in shape_of_w0.RATIOS:
        here = table["ratio"] == ratio
        # Theorem 1 for α → ∞: argmin Σ β²/w₀², by its normal equations. The next term is (β/(2α²w₀²))²/6 of it: 1e-12.
        w0 = shape_of_w0.weights(data, ratio)
        beta = w0**2 * (data.X.T @ np.linalg.solve((data.X * w0**2) @ data.X.T, data.y))
        np.testing.assert_allclose(table["population_error"][here][-1], ((beta - data.beta_true) ** 2).sum(), rtol=1e-8)
        # The excess over basis pursuit falls exponentially with ln(1/α); 690 of it leave nothing to be seen.
        assert abs(table["excess_l1"][here][0]) < 1e-9
    rich, kernel = (table["population_error"][at::4] for at in (0, 3))
    assert np.ptp(kernel) > 0.5
    assert np.ptp(rich) < 1e-6
