"""Population error against scale and shape, Figure 1 of Azulay et al. (ICML 2021), from exact limits."""

from typing import TYPE_CHECKING

import numpy as np

from .. import baselines, datasets, plot
from .._diagonal import DiagonalNetwork
from .._limit import limit_path
from .._validate import Array
from .page import Drawn, Table, page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHAPES = (0.0, 0.5, 0.7, 0.9, 0.99)
SCALES = np.logspace(-5.0, -0.6, 20)


def draw(*, n_jobs: int) -> Drawn:
    """Population error against scale for five shapes: 100 exact limits of gradient flow, every one with its bound."""
    data = datasets.azulay_sparse_regression()
    numbers = table(data, n_jobs=n_jobs)
    worst = numbers["error_bound"].max()
    lines = [f"{numbers['scale'].size} limits, every coefficient proven to {worst:.1e}"]
    return Drawn(picture(numbers, data), numbers, lines)


def table(data: datasets.SparseRegression, *, n_jobs: int | None = None) -> Table:
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


def picture(numbers: Table, data: datasets.SparseRegression) -> "Figure":
    """Population error against scale for every shape, between the minimum ℓ2 norm and basis pursuit."""
    ends = {
        "minimum ℓ2 norm": baselines.min_l2_norm(data.X, data.y),
        "basis pursuit": baselines.basis_pursuit(data.X, data.y),
    }
    levels = {name: float(population_error(beta[None], data)[0]) for name, beta in ends.items()}
    figure = page()
    plot.shape_and_scale(numbers, baselines=levels, ax=figure.subplots())
    return figure


def population_error(beta: Array, data: datasets.SparseRegression) -> Array:
    """Mean squared error on the test rows, for each row of `beta`."""
    assert data.X_test is not None
    assert data.y_test is not None
    return np.asarray(((beta @ data.X_test.T - data.y_test) ** 2).mean(axis=1))
