"""From saddle to saddle: gradient flow at ever smaller scales, and the walk that it becomes.

The example of `published.json` (two samples, four features), in units of ln(1/scale). A jump of the flow is where the
coordinate that moves most is half-way; it is off by a constant over ln(1/scale).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .._diagonal import DiagonalNetwork
from .._flow import gradient_flow
from .._saddles import SaddleToSaddle, saddle_to_saddle
from .._style import COLOURS, GREY, legend
from .._validate import Array
from .page import Drawn, page

if TYPE_CHECKING:
    from matplotlib.axes import Axes

X = np.array([[1.0, 0.5, 0.7, 0.0], [0.5, 1.0, 0.1, 0.7]])
Y = np.array([1.0, 0.0])
#: Decades of the scales: 1e-10 to 1e-10000.
DECADES = (10, 30, 100, 300, 1000, 3000, 10000)
#: Those that are drawn over the walk.
SHOWN = {10: ":", 100: "--"}
#: Times at which a jump is looked for, and how often between two of the last ones again.
SAMPLES, ZOOMS = 64, 6


def draw(*, n_jobs: int) -> Drawn:
    """Flow at scales from 1e-10 to 1e-10000 against the walk from saddle to saddle at scale 0."""
    walk = saddle_to_saddle(X, Y)
    cells = [(decades, jump) for decades in DECADES for jump in range(1, walk.t.size)]
    found = np.array([_jump_time(walk, jump, decades, n_jobs) for decades, jump in cells])
    exact = np.array([walk.t[jump] for _, jump in cells])
    table = {
        "log10_scale": np.array([-float(decades) for decades, _ in cells]),
        "jump": np.array([float(jump) for _, jump in cells]),
        "time": found,
        "walk_time": exact,
        "delay": found - exact,
    }
    figure = page(8.0, 4.0)
    left, right = figure.subplots(1, 2)
    _paths(left, walk, n_jobs)
    _delays(right, cells, table["delay"])
    worst = np.abs(table["delay"][-(walk.t.size - 1) :]).max()
    return Drawn(figure, table, [f"{walk.t.size - 1} jumps; at 1e-{DECADES[-1]} off by {worst:.1e} of ln(1/scale)"])


def _flow(decades: int, times: Array, n_jobs: int) -> Array:
    net = DiagonalNetwork.from_scale_shape(X.shape[1], log_scale=-decades * np.log(10.0))
    return gradient_flow(net, X, Y, times, time_unit="log_scale", n_jobs=n_jobs).beta


def _jump_time(walk: SaddleToSaddle, jump: int, decades: int, n_jobs: int) -> float:
    """When the coordinate that this jump moves most is half-way."""
    step = walk.beta[jump] - walk.beta[jump - 1]
    i = int(np.abs(step).argmax())
    half, up = walk.beta[jump - 1, i] + 0.5 * step[i], step[i] > 0.0
    low, high = walk.t[jump - 1], 2.0 * walk.t[-1]
    for _ in range(ZOOMS):
        times = np.linspace(low, high, SAMPLES)
        past = (_flow(decades, times, n_jobs)[:, i] > half) == up
        k = int(np.argmax(past))
        low, high = times[max(k - 1, 0)], times[k]
    return 0.5 * float(low + high)


def _paths(ax: "Axes", walk: SaddleToSaddle, n_jobs: int) -> None:
    end = 1.3 * walk.t[-1]
    times = np.linspace(0.0, end, 800)
    for decades, style in SHOWN.items():
        for i, path in enumerate(_flow(decades, times, n_jobs).T):
            label = f"flow from scale 1e-{decades}" if i == 0 else None
            ax.plot(times, path, linestyle=style, color=COLOURS[i], lw=1.2, label=label)
    for i, path in enumerate(walk.beta.T):
        ax.step(
            [*walk.t, end], [*path, path[-1]], where="post", color=COLOURS[i], lw=1.6, label=rf"$\beta_{i}$, scale 0"
        )
    ax.set_xlim(0.0, end)
    ax.set_xlabel("time / ln(1/scale)")
    ax.set_ylabel(r"coefficient $\beta_i$")
    legend(ax)


def _delays(ax: "Axes", cells: Sequence[tuple[int, int]], delay: Array) -> None:
    logs = np.array([decades * np.log(10.0) for decades, _ in cells])
    jumps = np.array([jump for _, jump in cells])
    for jump, colour, marker in zip(np.unique(jumps), COLOURS, "os^", strict=False):
        here = jumps == jump
        ax.loglog(logs[here], np.abs(delay[here]), marker=marker, ms=4, lw=1.0, color=colour, label=f"jump {jump}")
    ax.loglog(logs, 1.0 / logs, color=GREY, lw=1.0, zorder=0, label="1 / ln(1/scale)")
    ax.set_xlabel("ln(1/scale)")
    ax.set_ylabel("distance of the jumps / ln(1/scale)")
    legend(ax)
