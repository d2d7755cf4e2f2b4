"""Figures: what is drawn, on which axes, and that nothing outside of them changes."""

from functools import cache, partial

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

import implicit_bias as ib

mpl.use("Agg")

DATA = ib.datasets.sparse_regression(n_samples=5, n_features=20, n_nonzero=2, seed=0)
NET = ib.DiagonalNetwork.from_scale_shape(20, scale=1e-3)
OTHERS = {"descent": ([0.0, 1.0, 2.0], [1.0, 0.5, 0.0])}
TABLE = {
    "scale": [1e-1, 1e-5, 1e-3] * 2,
    "shape": [0.9, 0.9, 0.9, 0.0, 0.0, 0.0],
    "test_mse": [0.9, 0.4, 0.8, 0.8, 0.02, 0.3],
}


@cache
def flow():
    return ib.gradient_flow(NET, DATA.X, DATA.y, np.concatenate([[0.0], np.logspace(-1, 3, 30)]))


@cache
def limit():
    return ib.limit(NET, DATA.X, DATA.y)


@cache
def sweep():
    make_network = partial(ib.DiagonalNetwork.from_scale_shape, 20)
    grid = {"shape": [0.9, 0.0], "seed": [0, 1, 2], "scale": [1e-2, 1e-6, 1e2]}
    return ib.sweep(
        lambda shape, scale, seed: make_network(scale=scale, shape=shape),
        lambda shape, scale, seed: ib.datasets.sparse_regression(5, 20, 2, seed=seed),
        grid,
        "l1_norm",
    )


PLOTS = {
    "trajectory": lambda ax=None: ib.plot.trajectory(flow(), ax=ax),
    "coefficients": lambda ax=None: ib.plot.coefficients(limit(), ax=ax),
    "shape_and_scale": lambda ax=None: ib.plot.shape_and_scale(TABLE, ax=ax),
    "regime_map": lambda ax=None: ib.plot.regime_map(sweep(), "l1_norm", "scale", "shape", ax=ax),
    "distance": lambda ax=None: ib.plot.distance(flow(), limit(), others=OTHERS, levels={"ℓ1": 0.1}, ax=ax),
}


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_on_given_axes_changes_nothing_else(name):
    rc, open_figures = mpl.rcParams.copy(), pyplot.get_fignums()
    ax = Figure().subplots()
    assert PLOTS[name](ax) is ax
    assert mpl.rcParams == rc
    assert pyplot.get_fignums() == open_figures


@pytest.mark.parametrize("name", PLOTS)
def test_without_axes_every_plot_has_a_figure_of_its_own(name):
    current = pyplot.figure()
    a, b = PLOTS[name](), PLOTS[name]()
    assert a.figure is not b.figure
    assert not current.axes
    for figure in (current, a.figure, b.figure):
        pyplot.close(figure)


@pytest.mark.parametrize("name", PLOTS)
def test_every_plot_can_be_drawn(name, tmp_path):
    ax = PLOTS[name](Figure(layout="constrained").subplots())
    ax.figure.savefig(tmp_path / "figure.png")
    assert ax.get_xlabel()
    assert ax.get_ylabel()


@pytest.mark.parametrize("name", ["trajectory", "shape_and_scale", "distance"])
def test_lines_can_be_told_apart_without_colour(name):
    lines = PLOTS[name](Figure().subplots()).get_lines()
    assert len(lines) > 1
    # The public `get_linestyle` says "--" for every pattern of one's own.
    assert len({(str(line._dash_pattern), line.get_linewidth()) for line in lines}) == len(lines)


def test_a_trajectory_shows_the_seven_largest_on_a_logarithmic_time_without_t_0():
    ax = ib.plot.trajectory(flow(), ax=Figure().subplots())
    assert ax.get_xscale() == "log"
    largest = np.argsort(-np.abs(flow().beta[-1]))[:7]
    assert labels(ax) == [*(rf"$\beta_{{{i}}}$" for i in largest), "13 others"]
    for i, line in zip(largest, ax.get_lines(), strict=True):
        assert np.array_equal(line.get_xdata(), flow().t[1:])
        assert np.array_equal(line.get_ydata(), flow().beta[1:, i])
    assert len(ax.collections[0].get_paths()) == 13  # the others, in grey


def test_a_trajectory_of_t_0_alone_is_drawn_on_a_linear_time():
    start = ib.gradient_flow(NET, DATA.X, DATA.y, [0.0])
    assert ib.plot.trajectory(start, ax=Figure().subplots()).get_xscale() == "linear"


def test_coefficients_carry_their_bounds():
    ax = ib.plot.coefficients(limit(), ax=Figure().subplots())
    points, _, (bars,) = ax.containers[0].lines
    assert np.array_equal(points.get_ydata(), limit().beta)
    heights = [segment[1, 1] - segment[0, 1] for segment in bars.get_segments()]
    # end points are rounded to the spacing of beta itself
    assert np.allclose(heights, 2.0 * limit().error_bound, rtol=0.0, atol=2.0**-52 * np.abs(limit().beta).max())
    assert labels(ax) == [rf"$\beta_i(\infty)$, proven to {limit().error_bound.max():.0e}"]


def test_coefficients_without_bounds_claim_none():
    ax = ib.plot.coefficients(ib.limit(NET, DATA.X, DATA.y, bounds=False), ax=Figure().subplots())
    assert labels(ax) == [r"$\beta_i(\infty)$"]


def test_a_table_in_any_order_is_one_rising_line_a_shape_with_the_baselines_across():
    ax = ib.plot.shape_and_scale(TABLE, baselines={"ℓ2": 0.86, "ℓ1": 0.011}, ax=Figure().subplots())
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert labels(ax) == ["shape 0", "shape 0.9", "ℓ2", "ℓ1"]
    first, second, least, sparse = ax.get_lines()
    assert first.get_xdata().tolist() == [1e-5, 1e-3, 1e-1]
    assert first.get_ydata().tolist() == [0.02, 0.3, 0.8]
    assert second.get_ydata().tolist() == [0.4, 0.8, 0.9]
    assert set(least.get_ydata()) == {0.86}
    assert set(sparse.get_ydata()) == {0.011}


def test_a_distance_is_relative_and_bounded_and_its_axes_are_logarithmic():
    ax = PLOTS["distance"](Figure().subplots())
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    drawn = ib.plot.data(ax)
    assert list(drawn) == ["gradient flow", "descent", "proven bound", "ℓ1"]
    size = np.sqrt((limit().beta ** 2).sum())
    expected = np.sqrt(((flow().beta[1:] - limit().beta) ** 2).sum(axis=1)) / size
    assert np.array_equal(drawn["gradient flow"][:, 0], flow().t[1:])
    assert np.allclose(drawn["gradient flow"][:, 1], expected, rtol=1e-14)
    assert (drawn["gradient flow"][:, 1] <= drawn["proven bound"][:, 1]).all()
    assert drawn["descent"].tolist() == [[1.0, 0.5]]  # neither t = 0 nor a distance of 0 has a place
    assert drawn["ℓ1"].tolist() == [[0.0, 0.1], [1.0, 0.1]]


def test_a_distance_to_an_end_at_zero_is_absolute():
    X, y = [[1.0, 0.0]], [0.0]
    net = ib.DiagonalNetwork([1.0, 1.0], [0.5, 0.5], [1.0, 1.0], [0.0, 0.5])
    away, end = ib.gradient_flow(net, X, y, [0.0, 0.1, 1.0]), ib.limit(net, X, y)
    drawn = ib.plot.data(ib.plot.distance(away, end, ax=Figure().subplots()))
    assert end.beta.tolist() == [0.0, 0.0]
    assert drawn["gradient flow"][:, 1].tolist() == np.linalg.norm(away.beta[1:], axis=1).tolist()


def test_the_numbers_of_every_curve_come_back_bit_by_bit():
    drawn = ib.plot.data(PLOTS["trajectory"](Figure().subplots()))
    largest = np.argsort(-np.abs(flow().beta[-1]), kind="stable")
    assert list(drawn) == [*(rf"$\beta_{{{i}}}$" for i in largest[:7]), "13 others"]
    for curve, i in zip(drawn.values(), largest[:7], strict=False):
        assert np.array_equal(curve, np.column_stack([flow().t[1:], flow().beta[1:, i]]))
    assert np.array_equal(drawn["13 others"][:, :, 1], flow().beta[1:, largest[7:]].T)
    (points,) = ib.plot.data(PLOTS["coefficients"](Figure().subplots())).values()
    assert np.array_equal(points, np.column_stack([np.arange(20), limit().beta]))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: ib.plot.distance(limit(), limit()), "flow must be a Flow with at least one row"),
        (lambda: ib.plot.distance(flow(), flow()), "limit must be a Limit with the 20 features of flow"),
        (lambda: ib.plot.distance(flow(), limit(), levels={"a": 0.0}), r"levels\['a'\] must be a positive"),
        (lambda: ib.plot.distance(flow(), limit(), others={"a": ([1.0], [1.0, 2.0])}), r"others\['a'\]\[1\] must have"),
        (lambda: ib.plot.distance(flow(), limit(), others={"a": [1.0]}), r"others\['a'\] must be two arrays"),
        (lambda: ib.plot.data(Figure()), "ax must be a matplotlib Axes"),
    ],
)
def test_a_wrong_argument_is_named_before_anything_is_drawn(call, says):
    open_figures = pyplot.get_fignums()
    with pytest.raises(ValueError, match=says):
        call()
    assert pyplot.get_fignums() == open_figures


def test_a_map_shows_the_mean_over_the_other_axes_at_its_place_sorted():
    ax = ib.plot.regime_map(sweep(), "l1_norm", "scale", "shape", ax=Figure().subplots())
    (mesh,) = ax.collections
    expected = sweep().grid("l1_norm").mean(axis=1)  # shape, scale
    np.testing.assert_allclose(mesh.get_array(), expected[::-1][:, [1, 0, 2]], rtol=1e-14)
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_xscale(), ax.get_yscale()) == ("scale", "shape", "log", "linear")
    x, y = mesh.get_coordinates()[0, :, 0], mesh.get_coordinates()[:, 0, 1]
    np.testing.assert_allclose(x, [1e-8, 1e-4, 1.0, 1e4])
    np.testing.assert_allclose(y, [-0.45, 0.45, 1.35])


def test_a_map_leaves_out_of_a_mean_what_has_no_number_and_blank_what_has_none():
    def data(scale, shape, seed):
        if seed == 1 or shape == 0.9:
            raise ValueError("no such data")
        return DATA.X, DATA.y

    make = partial(ib.DiagonalNetwork.from_scale_shape, 20)
    table = ib.sweep(
        lambda scale, shape, seed: make(scale=scale, shape=shape),
        data,
        {"scale": [1e-3, 1.0], "shape": [0.0, 0.9], "seed": [0, 1]},
        "l1_norm",
    )
    (mesh,) = ib.plot.regime_map(table, "l1_norm", "scale", "shape", ax=Figure().subplots()).collections
    np.testing.assert_allclose(mesh.get_array()[0], table.grid("l1_norm")[:, 0, 0])
    assert mesh.get_array().mask[1].all()


def test_axes_of_a_map_that_are_no_numbers_keep_the_order_of_the_grid():
    make = {"sparse": 1e-6, "short": 1e3}
    table = ib.sweep(
        lambda kind, shape: ib.DiagonalNetwork.from_scale_shape(20, scale=make[kind], shape=shape),
        (DATA.X, DATA.y),
        {"kind": ["short", "sparse"], "shape": [0.0, 0.5]},
        "l1_norm",
    )
    ax = ib.plot.regime_map(table, "l1_norm", "kind", "shape", ax=Figure().subplots())
    assert [text.get_text() for text in ax.get_xticklabels()] == ["'short'", "'sparse'"]
    np.testing.assert_allclose(ax.collections[0].get_array(), table.grid("l1_norm").T)
