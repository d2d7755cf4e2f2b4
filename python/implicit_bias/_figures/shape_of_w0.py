"""What the shape w₀ of the start is worth, Woodworth et al. (COLT 2020), Section 4 and Theorem 1: exact limits.

A tied diagonal network started at α w₀ minimises Σ α² w₀ᵢ² q(βᵢ/(α²w₀ᵢ²)): in the kernel regime the norm Σ βᵢ²/w₀ᵢ²,
which the shape decides; in the rich one the ℓ1 norm, which does not know it. Three shapes, of equal mean square:
uniform, larger on the support of the truth, and smaller there.
"""

from typing import TYPE_CHECKING

import numpy as np

from .. import baselines, datasets
from .._diagonal import DiagonalNetwork
from .._limit import limit_path
from .._style import COLOURS, legend
from .._validate import Array
from .kernel_and_rich import population_error
from .page import Drawn, page

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_SAMPLES, N_FEATURES, N_NONZERO, NOISE = 100, 1000, 5, 0.1
#: log10 α, far enough down for the shape to be forgotten; and from where on it is drawn closely.
NEAR = -6.0
LOG10_SCALES = np.concatenate([-np.geomspace(300.0, 8.0, 24), np.linspace(NEAR, 1.0, 36)])
#: w₀ on the support of the truth over w₀ elsewhere.
RATIOS = (1.0, 3.0, 1.0 / 3.0)
SEED = 0


def draw(*, n_jobs: int) -> Drawn:
    """Population error and ℓ1 norm for three shapes of the start, which decide the kernel regime only."""
    data = datasets.sparse_regression(N_SAMPLES, N_FEATURES, N_NONZERO, noise_std=NOISE, seed=SEED)
    least = float(np.abs(baselines.basis_pursuit(data.X, data.y)).sum())
    rows = [(ratio, _limits(data, ratio, n_jobs)) for ratio in RATIOS]
    table = {
        "ratio": np.repeat(RATIOS, LOG10_SCALES.size),
        "log10_scale": np.tile(LOG10_SCALES, len(RATIOS)),
        "population_error": np.concatenate([population_error(beta, data) for _, beta in rows]),
        "excess_l1": np.concatenate([np.abs(beta).sum(axis=1) / least - 1.0 for _, beta in rows]),
    }
    figure = page(8.0, 3.6)
    left, right = figure.subplots(1, 2)
    _panel(left, table, "population_error", far=False)
    _panel(right, table, "excess_l1", far=True)
    first, last = (table["population_error"][at :: LOG10_SCALES.size] for at in (0, LOG10_SCALES.size - 1))
    kernel, rich = np.ptp(last), np.ptp(first)
    return Drawn(figure, table, [f"errors are {kernel:.2g} apart in the kernel regime, {rich:.1g} in the rich one"])


def weights(data: datasets.SparseRegression, ratio: float) -> Array:
    """w₀ with this ratio of its entries on the support to the others, and mean square 1."""
    w0 = np.where(data.beta_true != 0.0, ratio, 1.0)
    return np.asarray(w0 / np.sqrt(np.mean(w0**2)))


def _limits(data: datasets.SparseRegression, ratio: float, n_jobs: int) -> Array:
    # κ = 4α²w₀², the untied start of scale α²w₀².
    logs = [2.0 * (np.log(10.0) * log10 + np.log(weights(data, ratio))) for log10 in LOG10_SCALES]
    nets = [DiagonalNetwork.from_scale_shape(N_FEATURES, log_scale=log) for log in logs]
    return limit_path(nets, data.X, data.y, bounds=False, n_jobs=n_jobs).beta


def _panel(ax: "Axes", table: dict[str, Array], name: str, far: bool) -> None:
    """Against log10 α near 1, or against its size on a logarithmic axis where the decades are many."""
    for ratio, colour in zip(RATIOS, COLOURS, strict=False):
        here = (table["ratio"] == ratio) & ((table["log10_scale"] < 0.0) if far else (table["log10_scale"] >= NEAR))
        at = -table["log10_scale"][here] if far else table["log10_scale"][here]
        draw = ax.loglog if far else ax.plot
        draw(at, table[name][here], color=colour, lw=1.4, label=f"{ratio:.2g} on the support")
    if far:
        ax.invert_xaxis()
    ax.set_xlabel("−log10 of the scale α" if far else "log10 of the scale α")
    ax.set_ylabel(name.replace("_", " ").replace("l1", "ℓ1 norm"))
    legend(ax)
