r"""Level lines of what one linear neuron implicitly minimises, :math:`q_\delta(\|\beta\|) + \langle z, \beta\rangle`.

Azulay et al. (ICML 2021) show three shapes at one scale and three scales at one shape, in two dimensions; the numbers
are ours.
"""

from typing import TYPE_CHECKING

import numpy as np

from .._neuron_potential import NeuronPotential
from .._style import COLOURS, GREY
from .._validate import Array
from .page import Drawn, Table, page

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ORIENTATION = np.array([0.6, 0.8])
#: Shape and scale of the panels, a row of the page each.
PANELS = (((0.0, 1.0), (0.5, 1.0), (0.95, 1.0)), ((0.5, 0.01), (0.5, 0.3), (0.5, 2.0)))
GRID = np.linspace(-2.0, 2.0, 61)


def draw(**_: int) -> Drawn:
    """Level lines of the potential of one linear neuron for three shapes and three scales of the start."""
    cells = [cell for row in PANELS for cell in row]
    levels = [_potential(shape, scale) for shape, scale in cells]
    first, second = (axis.ravel() for axis in np.meshgrid(GRID, GRID, indexing="ij"))
    table = {
        "shape": np.repeat([shape for shape, _ in cells], first.size),
        "scale": np.repeat([scale for _, scale in cells], first.size),
        "beta_0": np.tile(first, len(cells)),
        "beta_1": np.tile(second, len(cells)),
        "potential": np.concatenate([level.ravel() for level in levels]),
    }
    figure = page(7.4, 5.2)
    for ax, (shape, scale), level in zip(
        figure.subplots(2, 3, sharex=True, sharey=True).flat, cells, levels, strict=True
    ):
        _panel(ax, shape, scale, level)
    figure.supxlabel(r"$\beta_0$", fontsize="medium")
    figure.supylabel(r"$\beta_1$", fontsize="medium")
    return Drawn(figure, table, _lines(table))


def _potential(shape: float, scale: float) -> Array:
    """Q on the grid, without data: its least value is at the start."""
    delta = 4.0 * scale * shape / (1.0 - shape**2)
    hidden = np.sqrt(scale * (1.0 - shape) / (1.0 + shape))
    potential = NeuronPotential(delta, z=-1.5 * hidden * ORIENTATION)
    return np.array([[potential([b0, b1]) for b1 in GRID] for b0 in GRID])


def _panel(ax: "Axes", shape: float, scale: float, level: Array) -> None:
    # Levels at equal steps of the root: rings at about equal distances, as of a squared norm.
    least, most = level.min(), level.max()
    rings = least + (most - least) * np.linspace(0.0, 1.0, 13)[1:] ** 2
    ax.contour(GRID, GRID, level.T, levels=rings, colors=COLOURS[0], linewidths=0.9, linestyles="-")
    ax.axhline(0.0, color=GREY, linewidth=0.6, zorder=0)
    ax.axvline(0.0, color=GREY, linewidth=0.6, zorder=0)
    ax.plot(*(scale * ORIENTATION), "*", ms=9, color=COLOURS[1])
    ax.set_aspect("equal")
    ax.set_title(rf"shape {shape:g}, scale {scale:g}", fontsize="small")


def _lines(table: Table) -> list[str]:
    panels = list(dict.fromkeys(zip(table["shape"].tolist(), table["scale"].tolist(), strict=True)))
    return [f"{len(panels)} panels of {GRID.size} x {GRID.size} values; the star is the start, where Q is least"]
