"""One linear neuron against its limit: the six runs of Azulay et al. (ICML 2021), Section 7.2, down to round-off.

The authors ran gradient descent with a step of 1e-3 along the gradient of ||r||²/N and stopped below 1e-10: here it is
run again from the same starts, beside the flow and the closed form of its end.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import datasets
from .._distance import relative_distance
from .._flow import gradient_flow
from .._fully_connected import FullyConnectedNetwork
from .._limit import limit
from .._style import legend, looks
from .._validate import Array
from .page import Drawn, page
from .shape_and_scale import population_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Of the authors' gradient descent; a step is two in the time of the flow, whose loss has the factor 1/2.
STEP, LOSS_BELOW = 1e-3, 1e-10


class Run(NamedTuple):
    """One start: its flow, its end, and where gradient descent came to."""

    shape: float
    scale: float
    time: Array
    distance: Array
    test_mse: Array
    #: Of the limit.
    exact: float
    epochs: int
    descent: float
    descent_distance: float


def draw(*, n_jobs: int) -> Drawn:
    """One linear neuron: distance to the limit in closed form against time, for the six starts of the paper."""
    data, starts = datasets.azulay_single_neuron()
    runs = [_run(start, data, n_jobs) for start in starts]
    table = {
        "shape": np.concatenate([np.full(run.time.size, run.shape) for run in runs]),
        "scale": np.concatenate([np.full(run.time.size, run.scale) for run in runs]),
        "time": np.concatenate([run.time for run in runs]),
        "distance": np.concatenate([run.distance for run in runs]),
        "test_mse": np.concatenate([run.test_mse for run in runs]),
    }
    figure = page()
    _lines(figure.subplots(), runs)
    return Drawn(figure, table, [_said(run) for run in runs])


def _run(start: datasets.NeuronStart, data: datasets.SparseRegression, n_jobs: int) -> Run:
    net = FullyConnectedNetwork.from_scale_shape(**start._asdict())
    flow = gradient_flow(net, data.X, data.y, rtol=1e-12, n_jobs=n_jobs)
    end = limit(net, data.X, data.y, n_jobs=n_jobs).beta
    epochs, beta = _descent(net, data)
    return Run(
        start.shape,
        start.scale,
        flow.t,
        relative_distance(flow.beta, end),
        population_error(flow.beta, data),
        float(population_error(end[None], data)[0]),
        epochs,
        float(population_error(beta[None], data)[0]),
        float(relative_distance(beta[None], end)[0]),
    )


def _descent(net: FullyConnectedNetwork, data: datasets.SparseRegression) -> tuple[int, Array]:
    """Steps taken, and the predictor there: one more than to where the loss is small, for they look after a step."""
    X, y, epochs = data.X, data.y, 0
    a, w, loss = net.a[0], net.W[0], np.inf
    while not loss < LOSS_BELOW:
        r = y - X @ (a * w)
        loss = (r @ r) / y.size
        g = 2.0 * STEP / y.size * (r @ X)
        a, w = a + w @ g, w + a * g
        epochs += 1
    return epochs, a * w


def _lines(ax: "Axes", runs: list[Run]) -> None:
    for run, look in zip(runs, looks(len(runs)), strict=True):
        later = run.time > 0.0
        ax.loglog(run.time[later], run.distance[later], label=f"shape {run.shape:g}, scale {run.scale:g}", **look)
        stop = 2.0 * STEP * run.epochs
        ax.plot(stop, run.descent_distance, "*", ms=9, color=look["color"])
    ax.set_xlabel("time of the flow")
    ax.set_ylabel(r"$\|\beta(t) - \beta(\infty)\| \,/\, \|\beta(\infty)\|$")
    ax.plot([], [], "*", ms=9, color="0.35", label="where published descent stops")
    legend(ax, loc="lower left")


def _said(run: Run) -> str:
    return (
        f"shape {run.shape:g}, scale {run.scale:g}: test error {run.exact:.10f} in closed form, "
        f"{run.descent:.10f} after {run.epochs} steps of descent"
    )
