"""From the kernel regime to the rich one, Figure 1 of Woodworth et al. (COLT 2020), from exact limits.

Sparse regression, a tied diagonal network of depth 2, started at weights α: population error, and by what the ℓ1
and the ℓ2 norm of the solution exceed the least possible. Means over independent draws.
"""

from typing import TYPE_CHECKING

import numpy as np

from .. import baselines, datasets
from .._diagonal import DiagonalNetwork
from .._limit import limit_path
from .._style import COLOURS, GREY, legend
from .._validate import Array
from .page import Drawn, page

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Scales α of the weights; a tied start α is the untied one of scale α², κ = 4α².
SCALES = np.logspace(-5.0, 1.0, 37)
N_SAMPLES, N_FEATURES, N_NONZERO, NOISE = 100, 1000, 5, 0.1
DRAWS = 5


def draw(*, n_jobs: int) -> Drawn:
    """Population error and excess norms against the scale of a tied diagonal network, kernel to rich regime."""
    names = ("population_error", "excess_l1", "excess_l2")
    draws = [_one(seed, n_jobs) for seed in range(DRAWS)]
    means = {name: np.mean([found[name] for found in draws], axis=0) for name in draws[0]}
    table = {"scale": SCALES} | {name: means[name] for name in names}
    ends = {name: float(means[name]) for name in ("min_l1_error", "min_l2_error", "zero_error")}
    figure = page(9.6, 3.2)
    left, middle, right = figure.subplots(1, 3)
    _error(left, table["population_error"], ends)
    _excess(middle, table["excess_l1"], "excess ℓ1 norm", COLOURS[1])
    _excess(right, table["excess_l2"], "excess ℓ2 norm", COLOURS[2])
    small, large = table["population_error"][[0, -1]]
    n_limits = DRAWS * SCALES.size
    lines = [f"{n_limits} limits; population error {small:.3g} at scale {SCALES[0]:g}, {large:.3g} at {SCALES[-1]:g}"]
    table |= {name: np.full(SCALES.size, value) for name, value in ends.items()}
    return Drawn(figure, table, lines)


def _one(seed: int, n_jobs: int) -> dict[str, Array]:
    data = datasets.sparse_regression(N_SAMPLES, N_FEATURES, N_NONZERO, noise_std=NOISE, seed=seed)
    nets = [DiagonalNetwork.from_scale_shape(N_FEATURES, scale=scale**2) for scale in SCALES]
    beta = limit_path(nets, data.X, data.y, bounds=False, n_jobs=n_jobs).beta
    sparse, short = baselines.basis_pursuit(data.X, data.y), baselines.min_l2_norm(data.X, data.y)
    return {
        "population_error": population_error(beta, data),
        "excess_l1": np.abs(beta).sum(axis=1) / np.abs(sparse).sum() - 1.0,
        "excess_l2": np.linalg.norm(beta, axis=1) / np.linalg.norm(short) - 1.0,
        "min_l1_error": population_error(sparse, data),
        "min_l2_error": population_error(short, data),
        "zero_error": population_error(np.zeros(N_FEATURES), data),
    }


def population_error(beta: Array, data: datasets.SparseRegression) -> Array:
    """E⟨β − β*, x⟩² over x ~ N(0, I), for each row of `beta`."""
    return np.asarray(((beta - data.beta_true) ** 2).sum(axis=-1))


def _error(ax: "Axes", error: Array, ends: dict[str, float]) -> None:
    ax.semilogx(SCALES, error, color=COLOURS[0], lw=1.6)
    for name, style, label in (("min_l1_error", "--", "minimum ℓ1 norm"), ("min_l2_error", ":", "minimum ℓ2 norm")):
        ax.axhline(ends[name], color=GREY, linestyle=style, lw=1.0, label=label)
    ax.set_xlabel("scale α")
    ax.set_ylabel("population error")
    legend(ax, loc="center left")


def _excess(ax: "Axes", excess: Array, label: str, colour: str) -> None:
    ax.semilogx(SCALES, excess, color=colour, lw=1.6)
    ax.axhline(0.0, color=GREY, lw=1.0)
    ax.set_xlabel("scale α")
    ax.set_ylabel(label)
