"""A measure of a sweep over two of its axes, as a map."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _validate as check
from ._style import axes
from ._sweep import SweepResult
from ._validate import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Order = NDArray[np.intp]
#: Axes and measures that span more than this factor are drawn on logarithmic scales.
WIDE = 30.0


def regime_map(table: SweepResult, measure: str, x: str, y: str, *, ax: "Axes | None" = None) -> "Axes":
    r"""Any measure of a sweep over any two of its axes: where the rich regime ends and the kernel regime begins.

    .. math:: \bar m(x, y) = \text{mean of the measure over all other axes (seeds, say) at } (x, y)

    Parameters
    ----------
    table : SweepResult
        Of `sweep`, with at least two axes.
    measure : str
        One of its measures.
    x, y : str
        Two different axes. Numbers are sorted, and spaced by their logarithms where they are positive and span more
        than a factor of 30; anything else is spaced evenly, in the order of the grid.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        With the map as its first collection and a colour bar, logarithmic for a positive measure that spans as much.
        Points without a number (failed, or not reached) are left blank, and do not count in a mean.

    Raises
    ------
    ValueError
        If `table` is no SweepResult, or has no such measure or axes.

    Examples
    --------
    >>> import functools, implicit_bias as ib
    >>> from matplotlib.figure import Figure
    >>> make_network = functools.partial(ib.DiagonalNetwork.from_scale_shape, 2)
    >>> grid = {"scale": [1e-9, 1e-3, 1e3], "shape": [0.0, 0.5]}
    >>> table = ib.sweep(make_network, ([[1.0, 2.0]], [2.0]), grid, "l1_norm")
    >>> ax = ib.plot.regime_map(table, "l1_norm", "scale", "shape", ax=Figure().subplots())
    >>> ax.get_xlabel(), ax.get_xscale()
    ('scale', 'log')
    """
    if not isinstance(table, SweepResult):
        raise ValueError(f"table must be a SweepResult: got {check.shown(table)}")
    check.choice("measure", measure, table.measures)
    names = tuple(table.axes)
    for argument, name in (("x", x), ("y", y)):
        check.choice(argument, name, names)
    if x == y:
        raise ValueError(f"y must be another axis than x: got {x!r} twice")
    values, x_order, y_order = _means(table, measure, x, y)
    canvas = axes(ax)
    sides = (("x", x, x_order), ("y", y, y_order))
    edges = [_place(canvas, side, table.axes[name], order) for side, name, order in sides]
    from matplotlib.colors import LogNorm

    known = values[np.isfinite(values)]
    wide = known.size > 0 and known.min() > 0.0 and known.max() > WIDE * known.min()
    mesh = canvas.pcolormesh(
        *edges, np.ma.masked_invalid(values), cmap="viridis", norm=LogNorm() if wide else None, rasterized=True
    )
    canvas.set_xlabel(x)
    canvas.set_ylabel(y)
    bar = canvas.figure.colorbar(mesh, ax=canvas)
    bar.set_label(measure)
    return canvas


def _means(table: SweepResult, measure: str, x: str, y: str) -> tuple[Array, Order, Order]:
    """The measure as rows of y and columns of x, both in the order they are drawn in, and these orders."""
    names = list(table.axes)
    grid = np.moveaxis(table.grid(measure), (names.index(y), names.index(x)), (0, 1))
    grid = grid.reshape(*grid.shape[:2], -1)
    counts = np.isfinite(grid).sum(axis=2)
    sums = np.where(np.isfinite(grid), grid, 0.0).sum(axis=2)
    means = np.divide(sums, counts, out=np.full(counts.shape, np.nan), where=counts > 0)
    x_order, y_order = (_order(table.axes[name]) for name in (x, y))
    return means[np.ix_(y_order, x_order)], x_order, y_order


def _numbers(values: tuple[Any, ...]) -> Array | None:
    """The values of an axis, if all are different finite numbers."""
    if not all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in values):
        return None
    found = np.array([float(value) for value in values])
    return found if np.unique(found).size == found.size and np.isfinite(found).all() else None


def _order(values: tuple[Any, ...]) -> Order:
    numbers = _numbers(values)
    return np.arange(len(values)) if numbers is None else np.argsort(numbers)


def _place(canvas: "Axes", side: str, values: tuple[Any, ...], order: Order) -> Array:
    """Edges of the cells along one side, half-way between the values; ticks and scale of the axis."""
    numbers = _numbers(values)
    if numbers is None or len(values) == 1:
        ticks = {f"{side}ticks": np.arange(len(values)), f"{side}ticklabels": [check.shown(values[k]) for k in order]}
        canvas.set(**ticks)
        return np.asarray(np.arange(len(values) + 1) - 0.5, dtype=np.float64)
    at = numbers[order]
    logarithmic = at[0] > 0.0 and at[-1] > WIDE * at[0]
    points = np.log(at) if logarithmic else at
    middle = 0.5 * (points[1:] + points[:-1])
    ends = [points[0] - (middle[0] - points[0]), points[-1] + (points[-1] - middle[-1])]
    edges: Array = np.concatenate([ends[:1], middle, ends[1:]])
    if logarithmic:
        canvas.set(**{f"{side}scale": "log"})
    return np.asarray(np.exp(edges) if logarithmic else edges)
