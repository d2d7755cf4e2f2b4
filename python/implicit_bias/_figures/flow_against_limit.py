"""The theorem as an experiment: how close the flow, gradient descent and a general solver come to argmin Q.

On the data of the check of Q in Azulay et al. (ICML 2021), where argmin Q is left to SLSQP. Gradient descent has the
step and the stopping rule of their Figure 1. Here the flow goes on to round-off, and the end is exact.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import datasets, plot
from .._diagonal import DiagonalNetwork
from .._distance import relative_bound, relative_distance
from .._flow import gradient_flow
from .._limit import limit
from .._progress import bar
from .._results import Limit
from .._style import COLOURS, legend
from .._trajectory import Flow
from .._validate import Array
from .gradient_descent import gradient_descent
from .page import Drawn, Table, page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCALE, SHAPE = 1e-4, 0.5
#: Length of a step of Figure 1, and the rule that stops it: a mean squared error, looked at now and then.
STEP, TESTED_EVERY, MSE_BELOW = 1e-3, 1000, 1e-4
#: The rule stops after 37,000 steps; run on for this many, descent stands still at an end of its own.
STEPS = 600_000


@dataclass(frozen=True)
class FlowAgainstLimit:
    """The theorem as an experiment: which programs arrive at argmin Q, and how close."""

    flow: Flow
    limit: Limit
    table: Table
    #: Row of the table where the authors' rule stops gradient descent.
    stop: int
    #: Distance of what SLSQP makes of min Q, the authors' way to argmin Q.
    slsqp: float


def draw(*, n_jobs: int) -> Drawn:
    """Distance to argmin Q against time: the flow down to round-off, beside gradient descent and SLSQP as published."""
    with bar(STEPS, "gradient descent") as progress:
        found = compute(n_steps=STEPS, n_jobs=n_jobs, progress=progress)
    return Drawn(picture(found), found.table, lines(found))


def compute(
    *, n_steps: int = STEPS, n_jobs: int | None = None, progress: Callable[[int], None] | None = None
) -> FlowAgainstLimit:
    """The paper's check of the potential, at the times of gradient descent: steps times the length of a step."""
    data = datasets.azulay_q_check()
    net = DiagonalNetwork.from_scale_shape(data.X.shape[1], scale=SCALE, shape=SHAPE)
    # Closer together at first, for on a logarithmic axis that is where the most can be seen.
    steps = np.union1d(np.arange(1000, 10_000, 100), np.arange(TESTED_EVERY, n_steps + 1, TESTED_EVERY)).astype(float)
    flow = gradient_flow(net, data.X, data.y, STEP * steps, rtol=1e-12, n_jobs=n_jobs)
    end = limit(net, data.X, data.y, n_jobs=n_jobs)
    descent = gradient_descent(net, data.X, data.y, step=STEP, rows=steps, progress=progress)
    mse = ((data.y - descent @ data.X.T) ** 2).mean(axis=1)
    tested = steps % TESTED_EVERY == 0
    table = {
        "step": steps,
        "time": flow.t,
        "flow_distance": relative_distance(flow.beta, end.beta),
        "flow_distance_bound": relative_bound(flow.distance_bound(n_jobs=n_jobs), end.beta),
        "descent_distance": relative_distance(descent, end.beta),
        "descent_mse": mse,
    }
    stop = int(np.argmax(tested & (mse < MSE_BELOW)))
    slsqp = float(relative_distance(_slsqp(net, data)[None], end.beta)[0])
    return FlowAgainstLimit(flow, end, table, stop, slsqp)


def picture(found: FlowAgainstLimit) -> "Figure":
    """Distance to argmin Q against time, for the flow, gradient descent and SLSQP."""
    figure = page()
    t, distance = found.table["time"], found.table["descent_distance"]
    ax = plot.distance(
        found.flow,
        found.limit,
        others={f"gradient descent, step {STEP:g}": (t, distance)},
        levels={"SLSQP on min Q": found.slsqp},
        ax=figure.subplots(),
    )
    ax.plot(t[found.stop], distance[found.stop], "*", ms=11, color=COLOURS[1], label="where its published rule stops")
    ax.set_xlim(t[0], t[-1])
    handles, labels = ax.get_legend_handles_labels()
    order = [0, 1, len(labels) - 1, *range(2, len(labels) - 1)]  # the star beside the line it lies on
    legend(ax, handles=[handles[k] for k in order], labels=[labels[k] for k in order], loc="lower left")
    return figure


def lines(found: FlowAgainstLimit) -> list[str]:
    """What the picture shows, in numbers."""
    table, stop = found.table, found.stop
    return [
        f"flow: {found.flow.stats['accepted']} steps to t = {table['time'][-1]:g}, "
        f"distance {table['flow_distance'][-1]:.1e}, proven to {table['flow_distance_bound'][-1]:.1e}",
        f"gradient descent: stops after {table['step'][stop]:.0f} steps at {table['descent_distance'][stop]:.1e}, "
        f"run on for {table['step'][-1]:.0f} it stays at {table['descent_distance'][-1]:.1e}",
        f"SLSQP on min Q: {found.slsqp:.1e}",
    ]


def _slsqp(net: DiagonalNetwork, data: datasets.SparseRegression) -> Array:
    """Minimum of Q on Xβ = y by a general solver, with its own differences and stopping rule: the paper's check."""
    from scipy.optimize import minimize

    Q = net.potential()
    settings: dict[str, Any] = {
        "method": "SLSQP",
        "constraints": {"type": "eq", "fun": lambda beta: data.X @ beta - data.y},
        "options": {"maxiter": 1000},
    }
    return np.asarray(minimize(Q, np.zeros(data.X.shape[1]), **settings).x)
