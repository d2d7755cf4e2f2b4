"""Publication figures of results. Each takes an `Axes` or makes one, and returns it; `data` gives its numbers back.

Nothing global is read or written: no style, no current axes. Without `ax` a new pyplot figure is made, so that
notebooks show it. Lines differ in style as well as in colour (the cycle of Okabe and Ito, which colour-blind readers
can tell apart).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from . import _validate as check
from ._distance import relative_bound, relative_distance
from ._regime_map import regime_map
from ._results import Limit
from ._style import COLOURS, GREY, across, axes, cycle, legend, looks
from ._trajectory import Flow
from ._validate import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["coefficients", "data", "distance", "regime_map", "shape_and_scale", "trajectory"]


def trajectory(flow: Flow, *, ax: "Axes | None" = None) -> "Axes":
    r"""Coefficients against time: :math:`\beta_i(t)`, the seven largest in colour, the others in grey.

    Parameters
    ----------
    flow : Flow
        What `implicit_bias.gradient_flow` returned.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        Time is logarithmic; a row at t = 0, which has no place there, is left out.

    Raises
    ------
    ValueError
        If `flow` is not a flow, or holds no row, or only its last one (``save_beta=False``).

    Examples
    --------
    >>> import implicit_bias as ib
    >>> from matplotlib.figure import Figure
    >>> net = ib.DiagonalNetwork.from_scale_shape(2, scale=1e-3)
    >>> flow = ib.gradient_flow(net, [[1.0, 2.0]], [2.0], t=[1.0, 10.0])
    >>> ib.plot.trajectory(flow, ax=Figure().subplots()).get_xscale()
    'log'
    """
    from matplotlib.collections import LineCollection

    if not isinstance(flow, Flow) or flow.t.size == 0:
        raise ValueError(f"flow must be a Flow with at least one row: got {check.shown(flow)}")
    flow._needs_rows("plot.trajectory")
    ax = axes(ax)
    shown = flow.t > 0.0
    if shown.any():
        ax.set_xscale("log")
    else:
        shown = np.ones_like(shown)
    t, beta = flow.t[shown], flow.beta[shown]
    largest = np.argsort(-np.abs(beta[-1]), kind="stable")
    named, rest = largest[: len(COLOURS)], largest[len(COLOURS) :]
    paths = [np.column_stack([t, beta[:, i]]) for i in rest]
    for i, look in zip(named, looks(len(named)), strict=True):
        ax.plot(t, beta[:, i], label=rf"$\beta_{{{i}}}$", zorder=2, **look)
    if rest.size:
        others = f"{rest.size} others" if rest.size > 1 else "1 other"
        ax.add_collection(LineCollection(paths, colors=GREY, linewidths=0.6, zorder=1, label=others))
    ax.autoscale_view()
    ax.margins(x=0.0)
    ax.set_xlabel("time of the flow" if flow.time_unit == "flow" else "time of the flow / ln(1/scale)")
    ax.set_ylabel(r"coefficient $\beta_i(t)$")
    legend(ax)
    return ax


def coefficients(limit: Limit, *, ax: "Axes | None" = None) -> "Axes":
    r"""Coefficients of a limit, :math:`\beta_i(\infty)`, with the proven bound of each as an error bar.

    Parameters
    ----------
    limit : Limit
        What `implicit_bias.limit` returned.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        The largest bound is in the legend: error bars of a good answer are too short to see.

    Raises
    ------
    ValueError
        If `limit` is not a limit.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> from matplotlib.figure import Figure
    >>> net = ib.DiagonalNetwork.from_scale_shape(2, scale=1e-3)
    >>> end = ib.limit(net, [[1.0, 2.0]], [2.0])
    >>> ib.plot.coefficients(end, ax=Figure().subplots()).get_xlabel()
    'feature i'
    """
    if not isinstance(limit, Limit):
        raise ValueError(f"limit must be a Limit: got {check.shown(limit)}")
    ax = axes(ax)
    index = np.arange(limit.beta.size)
    bound, label = None, r"$\beta_i(\infty)$"
    if limit.error_bound is not None:
        bound = np.where(np.isfinite(limit.error_bound), limit.error_bound, 0.0)
        worst = limit.error_bound.max()
        label += f", proven to {worst:.0e}" if np.isfinite(worst) else ", no bound for some"
    ax.axhline(0.0, color=GREY, linewidth=0.8, zorder=1)
    ax.vlines(index, 0.0, limit.beta, colors=COLOURS[0], linewidths=0.8, zorder=2)
    size = 3.0 if index.size <= 200 else 2.0
    ax.errorbar(
        index, limit.beta, yerr=bound, fmt="o", ms=size, color=COLOURS[0], ecolor=COLOURS[1], label=label, zorder=3
    )
    ax.set_xlabel("feature i")
    ax.set_ylabel(r"coefficient $\beta_i(\infty)$")
    legend(ax)
    return ax


def distance(
    flow: Flow,
    limit: Limit,
    *,
    others: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
    levels: Mapping[str, float] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    r"""Distance of a flow to its end against time, with the proven bound of it.

    .. math:: \|\beta(t) - \beta(\infty)\|_2 \,/\, \|\beta(\infty)\|_2

    Parameters
    ----------
    flow : Flow
        What `implicit_bias.gradient_flow` returned.
    limit : Limit
        What `implicit_bias.limit` returned for the same start and data.
    others : mapping of str to pair of array_like, each of shape (n_times,), optional
        Times and distances of other methods, drawn under their names.
    levels : mapping of str to float, optional
        Distances that do not depend on time, drawn as horizontal lines under their names.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        Both axes are logarithmic; t = 0 and distances of exactly 0, which have no place there, are left out. The
        bound ends at its own floor, that of the proof: see `Flow.distance_bound`, which is what it costs.

    Raises
    ------
    ValueError
        If `flow` or `limit` is not one, or they differ in the number of features.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> from matplotlib.figure import Figure
    >>> net = ib.DiagonalNetwork.from_scale_shape(2, scale=1e-3)
    >>> X, y = [[1.0, 2.0]], [2.0]
    >>> flow, end = ib.gradient_flow(net, X, y), ib.limit(net, X, y)
    >>> ax = ib.plot.distance(flow, end, ax=Figure().subplots())
    >>> list(ib.plot.data(ax))
    ['gradient flow', 'proven bound']
    """
    if not isinstance(flow, Flow) or flow.t.size == 0:
        raise ValueError(f"flow must be a Flow with at least one row: got {check.shown(flow)}")
    if not isinstance(limit, Limit) or limit.beta.size != flow.beta.shape[1]:
        raise ValueError(
            f"limit must be a Limit with the {flow.beta.shape[1]} features of flow: got {_features(limit)}"
        )
    curves = {"gradient flow": (flow.t, relative_distance(flow.beta, limit.beta))}
    curves |= {name: _curve(f"others[{name!r}]", pair) for name, pair in check.by_name("others", others).items()}
    given = check.by_name("levels", levels)
    heights = {name: check.positive(f"levels[{name!r}]", value) for name, value in given.items()}
    bound = relative_bound(flow.distance_bound(), limit.beta)
    ax = axes(ax)
    ax.set_xscale("log")
    ax.set_yscale("log")
    for (name, (times, values)), look in zip(curves.items(), looks(len(curves)), strict=True):
        drawn = (times > 0.0) & (values > 0.0)
        ax.plot(times[drawn], values[drawn], label=name, zorder=3, **look)
    drawn = (flow.t > 0.0) & np.isfinite(bound) & (bound > 0.0)
    ax.plot(flow.t[drawn], bound[drawn], color=GREY, linewidth=4.0, label="proven bound", zorder=1)
    across(ax, heights)
    ax.set_xlabel("time of the flow")
    ax.set_ylabel(r"distance to $\beta(\infty)$, relative")
    legend(ax)
    return ax


def shape_and_scale(
    table: Mapping[str, ArrayLike], *, baselines: Mapping[str, float] | None = None, ax: "Axes | None" = None
) -> "Axes":
    r"""Population error against scale, one line a shape: the figure of the paper [1]_.

    Parameters
    ----------
    table : mapping of str to array_like, each of shape (n_cells,)
        Columns ``scale``, ``shape`` and ``test_mse``, one row a cell, in any order.
    baselines : mapping of str to float, optional
        Errors of other predictors, drawn as horizontal lines under their names.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        Both axes are logarithmic.

    Raises
    ------
    ValueError
        If a column is missing, not finite, or longer than another.

    References
    ----------
    .. [1] Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021, Figure 1.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> from matplotlib.figure import Figure
    >>> table = {"scale": [1e-3, 1e-2], "shape": [0.0, 0.0], "test_mse": [0.1, 0.5]}
    >>> ax = ib.plot.shape_and_scale(table, baselines={"min ℓ2": 0.86}, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['shape 0', 'min ℓ2']
    """
    scale = _column(table, "scale")
    shape, error = _column(table, "shape", scale.size), _column(table, "test_mse", scale.size)
    given = check.by_name("baselines", baselines)
    levels = {name: check.number(f"baselines[{name!r}]", value) for name, value in given.items()}
    ax = axes(ax)
    shapes = np.unique(shape)
    for s, look, marker in zip(shapes, looks(shapes.size), cycle("osD^vP*", shapes.size), strict=True):
        rows = np.flatnonzero(shape == s)
        rows = rows[np.argsort(scale[rows], kind="stable")]
        ax.plot(scale[rows], error[rows], marker=marker, ms=3.5, label=f"shape {s:g}", **look)
    across(ax, levels)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel(r"scale $\alpha$ of the start")
    ax.set_ylabel("population error")
    legend(ax)
    return ax


def data(ax: "Axes") -> dict[str, Array]:
    """The numbers behind a plot, by the names in its legend.

    Parameters
    ----------
    ax : matplotlib Axes
        With plots of this module; whatever else has a label on it is there as well.

    Returns
    -------
    dict of str to ndarray
        Columns x and y of every line, (n_points, 2). The grey curves of `trajectory` are one array under "... others",
        (n_curves, n_points, 2). A horizontal line has x 0 and 1: it spans the axes. Bounds of `coefficients` are in the
        `Limit`.

    Raises
    ------
    ValueError
        If `ax` is not an Axes.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> from matplotlib.figure import Figure
    >>> table = {"scale": [1e-3, 1e-2], "shape": [0.0, 0.0], "test_mse": [0.1, 0.5]}
    >>> ax = ib.plot.shape_and_scale(table, ax=Figure().subplots())
    >>> ib.plot.data(ax)["shape 0"]
    array([[0.001, 0.1  ],
           [0.01 , 0.5  ]])
    """
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.container import ErrorbarContainer
    from matplotlib.lines import Line2D

    if not isinstance(ax, Axes):
        raise ValueError(f"ax must be a matplotlib Axes: got {check.shown(ax)}")
    found = {}
    for artist, label in zip(*ax.get_legend_handles_labels(), strict=True):
        if isinstance(artist, ErrorbarContainer):
            artist = artist.lines[0]
        if isinstance(artist, Line2D):
            found[label] = np.column_stack(artist.get_data(orig=True)).astype(np.float64)
        elif isinstance(artist, LineCollection):
            found[label] = np.asarray(artist.get_segments(), dtype=np.float64)
    return found


def _curve(name: str, pair: object) -> tuple[Array, Array]:
    if not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
        raise ValueError(f"{name} must be two arrays, of times and distances: got {check.shown(pair)}")
    times = check.array(f"{name}[0]", pair[0], "(n_times,)")
    return times, check.vector(f"{name}[1]", pair[1], times.size, "one distance for every time")


def _features(limit: object) -> str:
    return f"{limit.beta.size}" if isinstance(limit, Limit) else check.shown(limit)


def _column(table: Mapping[str, ArrayLike], name: str, length: int | None = None) -> Array:
    if not isinstance(table, Mapping) or name not in table:
        found = list(table) if isinstance(table, Mapping) else table
        raise ValueError(f"table must have a column {name!r}: got {check.shown(found)}")
    column = f"table[{name!r}]"
    if length is None:
        return check.array(column, table[name], "(n_cells,)")
    return check.vector(column, table[name], length, "as long as the column 'scale'")
