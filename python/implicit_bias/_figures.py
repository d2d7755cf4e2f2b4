"""Published figures, computed again: the numbers as a table, and the picture of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import baselines, datasets, plot
from ._distance import relative_bound, relative_distance
from ._files import FileError, as_csv
from ._flow import gradient_flow
from ._gradient_descent import gradient_descent
from ._limit import limit, limit_path
from ._networks import DiagonalNetwork
from ._results import Limit
from ._trajectory import Flow
from ._validate import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Table = Mapping[str, Array]

SHAPES = (0.0, 0.5, 0.7, 0.9, 0.99)
SCALES = np.logspace(-5.0, -0.6, 20)


def shape_and_scale_table(data: datasets.SparseRegression, *, n_jobs: int | None = None) -> Table:
    """The paper's sparse regression: one exact limit for every shape and scale, 100 rows."""
    cells = [(shape, scale) for shape in SHAPES for scale in SCALES]
    n_features = data.X.shape[1]
    nets = [DiagonalNetwork.from_scale_shape(n_features, scale=scale, shape=shape) for shape, scale in cells]
    path = limit_path(nets, data.X, data.y, n_jobs=n_jobs)
    assert path.error_bound is not None
    return {
        "scale": np.array([scale for _, scale in cells]),
        "shape": np.array([shape for shape, _ in cells]),
        "kappa": np.array([net.kappa[0] for net in nets]),
        "test_mse": population_error(path.beta, data),
        "l1_norm": np.abs(path.beta).sum(axis=1),
        "kkt_residual": np.maximum(path.stationarity, path.feasibility),
        "error_bound": path.error_bound.max(axis=1),
    }


def shape_and_scale_figure(table: Table, data: datasets.SparseRegression) -> "Figure":
    """Population error against scale for every shape, between the minimum ℓ2 norm and basis pursuit."""
    ends = {
        "minimum ℓ2 norm": baselines.min_l2_norm(data.X, data.y),
        "basis pursuit": baselines.basis_pursuit(data.X, data.y),
    }
    levels = {name: float(population_error(beta[None], data)[0]) for name, beta in ends.items()}
    figure = _figure()
    plot.shape_and_scale(table, baselines=levels, ax=figure.subplots())
    return figure


def population_error(beta: Array, data: datasets.SparseRegression) -> Array:
    """Mean squared error on the test rows, for each row of `beta`."""
    assert data.X_test is not None
    assert data.y_test is not None
    return np.asarray(((beta @ data.X_test.T - data.y_test) ** 2).mean(axis=1))


# How the authors trained and where they stopped: Azulay et al., the code of their Figure 1 and of its check of Q.
STEP, TESTED_EVERY, MSE_BELOW = 1e-3, 1000, 1e-4
SCALE, SHAPE = 1e-4, 0.5
#: Their rule stops after 37,000 steps; run on for this many, descent stands still at an end of its own.
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


def flow_against_limit(
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


def flow_against_limit_figure(found: FlowAgainstLimit) -> "Figure":
    """Distance to argmin Q against time, for the flow, gradient descent and SLSQP."""
    figure = _figure()
    t, distance = found.table["time"], found.table["descent_distance"]
    ax = plot.distance(
        found.flow,
        found.limit,
        others={f"gradient descent, step {STEP:g}": (t, distance)},
        levels={"SLSQP on min Q": found.slsqp},
        ax=figure.subplots(),
    )
    ax.plot(t[found.stop], distance[found.stop], "*", ms=11, color=plot.COLOURS[1], label="its published stopping rule")
    ax.set_xlim(t[0], t[-1])
    plot.legend(ax, loc="lower left")
    return figure


def flow_against_limit_lines(found: FlowAgainstLimit) -> list[str]:
    """What the picture shows, in numbers."""
    table, stop = found.table, found.stop
    return [
        f"flow: {found.flow.stats['accepted']} steps to t = {table['time'][-1]:g}, "
        f"distance {table['flow_distance'][-1]:.1e}, proven to {table['flow_distance_bound'][-1]:.1e}",
        f"gradient descent: stops after {table['step'][stop]:.0f} steps at {table['descent_distance'][stop]:.1e}, "
        f"run on for {table['step'][-1]:.0f} it stays at {table['descent_distance'][-1]:.1e}",
        f"SLSQP on min Q: {found.slsqp:.1e}",
    ]


def save(picture: "Figure", table: Table, folder: Path, name: str) -> list[Path]:
    """The picture as .png and its numbers as .csv, in a folder that is made where it is missing."""
    paths = [folder / f"{name}.png", folder / f"{name}.csv"]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths[1].write_text(as_csv(table), encoding="utf-8")
        picture.savefig(paths[0])
    except OSError as error:
        raise FileError(f"--out must be a folder that can be written to: {error}") from error
    return paths


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


def _figure() -> "Figure":
    from matplotlib.figure import Figure

    return Figure(figsize=(6.4, 4.4), layout="constrained", dpi=200)
