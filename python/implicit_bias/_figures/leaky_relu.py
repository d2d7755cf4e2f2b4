"""One leaky-ReLU neuron: the path of every pre-activation, with its slides along the kink.

Three samples in four dimensions. Pre-activations cross their kinks, stay on them for a while and
leave them again; a program that does not know of that takes a million steps there.
"""

from typing import TYPE_CHECKING

import numpy as np

from .._flow import gradient_flow
from .._leaky_relu import LeakyReLUNetwork
from .._style import COLOURS, STYLES, legend
from .._trajectory import Flow
from .._validate import Array
from .page import Drawn, page

if TYPE_CHECKING:
    from matplotlib.axes import Axes

X = np.array(
    [
        [-0.025, 1.201, -0.334, -0.499],
        [-1.358, 0.2, -0.082, -0.024],
        [-0.43, 0.072, -0.185, 0.856],
    ]
)
Y = np.array([1.369, -0.466, 0.333])
ORIENTATION = np.array([-0.573, -0.97, 0.168, -0.356])
SCALE, SHAPE, SLOPE = 0.5, 0.5, 0.2
TIMES = np.linspace(0.0, 12.0, 601)


def draw(*, n_jobs: int) -> Drawn:
    """Pre-activations of a leaky-ReLU neuron along the flow, with their crossings and slides."""
    net = LeakyReLUNetwork.from_scale_shape(ORIENTATION, scale=SCALE, shape=SHAPE, slope=SLOPE)
    flow = gradient_flow(net, X, Y, TIMES, rtol=1e-12, n_jobs=n_jobs)
    weights = flow.parameters
    p = weights.W[:, 0] @ X.T
    slides = _slides(flow)
    for n, began, ended in slides:
        # Exactly on the kink; the weights say so to rounding.
        p[(began <= TIMES) & (ended >= TIMES), n] = 0.0
    table = {"time": flow.t, "a": weights.a[:, 0], "loss": flow.loss}
    table |= {f"p_{n}": p[:, n] for n in range(Y.size)}
    table |= {f"slides_{n}": _during(slides, n) for n in range(Y.size)}
    figure = page()
    _paths(figure.subplots(), flow, p, slides)
    return Drawn(
        figure, table, [f"t = {e.time:.6f}: sample {e.sample} {e.kind.replace('_', ' ')}" for e in flow.events]
    )


def _slides(flow: Flow) -> list[tuple[int, float, float]]:
    """Sample, begin and end of every slide; one that is not over ends with the rows."""
    open_, found = {}, []
    for event in flow.events:
        if event.kind == "starts_sliding":
            open_[event.sample] = event.time
        elif event.kind.startswith("stops_sliding"):
            found.append((event.sample, open_.pop(event.sample), event.time))
    return [*found, *((n, began, float(TIMES[-1])) for n, began in open_.items())]


def _during(slides: list[tuple[int, float, float]], sample: int) -> Array:
    inside = [(began <= TIMES) & (ended >= TIMES) for n, began, ended in slides if n == sample]
    return np.any(inside, axis=0).astype(float) if inside else np.zeros(TIMES.size)


def _paths(ax: "Axes", flow: Flow, p: Array, slides: list[tuple[int, float, float]]) -> None:
    ax.axhline(0.0, color="0.75", lw=0.8, zorder=0)
    for n in range(Y.size):
        ax.plot(flow.t, p[:, n], color=COLOURS[n], linestyle=STYLES[n], lw=1.4, label=f"sample {n}, y = {Y[n]:g}")
    for k, (n, began, ended) in enumerate(slides):
        ax.plot([began, ended], [0.0, 0.0], color=COLOURS[n], lw=5.0, alpha=0.45, label=None if k else "slides")
    crossings = [event for event in flow.events if event.kind == "crosses"]
    for k, event in enumerate(crossings):
        ax.plot(event.time, 0.0, "o", color=COLOURS[event.sample], mfc="white", ms=5, label=None if k else "crosses")
    ax.set_xlim(TIMES[0], TIMES[-1])
    ax.set_xlabel("time of the flow")
    ax.set_ylabel(r"pre-activation $w(t)^\top x_n$")
    legend(ax)
