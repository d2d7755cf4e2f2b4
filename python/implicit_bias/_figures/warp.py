"""Before and after the warp: which metrics are Hessians, and the potential that one finds in them.

Three metrics along one ray: that of a diagonal network, a Hessian as it is; that of one linear neuron, a Hessian after
a warp (Azulay et al., ICML 2021, Sections 3 and 5); and I + ββᵀ, which is none before and one after.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import warp
from .._style import COLOURS, legend
from .._validate import Array
from ..special import q_neuron
from .page import Drawn, Table, page

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DELTA, KAPPA = 1.0, 0.5
RAY = np.array([2.0, 1.0, 2.0]) / 3.0
LENGTHS = np.linspace(0.1, 3.0, 30)
#: Residuals that are 0 to the last digit have no place on a logarithmic axis.
FLOOR = 1e-17


def draw(**_: int) -> Drawn:
    """Residuals of the Hessian condition before and after the warp, and the potential of a neuron found by it."""
    table: dict[str, Array] = {"length": LENGTHS}
    points = LENGTHS[:, None] * RAY
    for name, metric in METRICS.items():
        before, found = warp.hessian_map_residual(metric, points), warp.find_warp(metric, points)
        table |= {f"{name}_before": before.residual, f"{name}_after": found.residual}
    ray = warp.warped_potential(_neuron, RAY, LENGTHS)
    # g(0) = 1 here; the theorem's g is 3/2 |a|, and |a(0)| = √δ.
    table["neuron_potential"] = 1.5 * np.sqrt(DELTA) * ray.value
    table["neuron_theorem"] = q_neuron(LENGTHS, DELTA)
    figure = page(8.0, 4.0)
    left, right = figure.subplots(1, 2)
    _residuals(left, table)
    _potential(right, table)
    worst = np.abs(table["neuron_potential"] / table["neuron_theorem"] - 1.0).max()
    lines = [
        f"{name}: {table[f'{name}_before'].max():.1e} before, {table[f'{name}_after'].max():.1e} after"
        for name in METRICS
    ]
    return Drawn(figure, table, [*lines, f"potential of the neuron: the theorem's to {worst:.1e}"])


def _diagonal(beta: Any) -> Any:
    return np.diag(1.0 / np.sqrt(4.0 * beta**2 + KAPPA**2))


def _neuron(beta: Any) -> Any:
    square = (beta * beta).sum()
    a2 = np.sqrt(square + 0.25 * DELTA**2) + 0.5 * DELTA
    # The inverse of a² I + ββᵀ/a², by Sherman and Morrison.
    return (np.eye(3) - np.outer(beta, beta) / (a2 * a2 + square)) / a2


def _plain(beta: Any) -> Any:
    return np.eye(3) + np.outer(beta, beta)


METRICS: dict[str, Callable[[Any], Any]] = {"diagonal": _diagonal, "neuron": _neuron, "plain": _plain}
LABELS = {"diagonal": "diagonal network", "neuron": "one linear neuron", "plain": r"$I + \beta\beta^\top$"}


def _residuals(ax: "Axes", table: Table) -> None:
    for name, colour, marker in zip(METRICS, COLOURS, "os^", strict=False):
        for stage, style, filled in (("before", "-", colour), ("after", ":", "none")):
            residual = np.maximum(table[f"{name}_{stage}"], FLOOR)
            look = {"color": colour, "linestyle": style, "marker": marker, "ms": 3.5, "mfc": filled, "lw": 1.0}
            ax.semilogy(LENGTHS, residual, label=f"{LABELS[name]}, {stage}", **look)
    ax.set_xlabel(r"length $\|\beta\|$ along a ray")
    ax.set_ylabel("residual of the Hessian condition")
    ax.set_ylim(FLOOR / 3.0, 1e4)
    legend(ax, ncols=1, loc="center right")


def _potential(ax: "Axes", table: Table) -> None:
    ax.plot(LENGTHS, table["neuron_theorem"], "-", color=COLOURS[1], lw=1.5, label=r"$q_\delta$ of the theorem")
    ax.plot(LENGTHS, table["neuron_potential"], "o", color=COLOURS[1], mfc="none", ms=4, label="found from the metric")
    ax.set_xlabel(r"length $\|\beta\|$ along the ray")
    ax.set_ylabel(rf"potential of one neuron, $\delta = {DELTA:g}$")
    legend(ax)
