"""Published figures, computed again: the numbers as a table, and the picture of them. One module a figure."""

from . import (
    flow_against_limit,
    kernel_and_rich,
    leaky_relu,
    neuron_contours,
    neuron_flow_against_limit,
    neuron_q,
    saddle_to_saddle,
    shape_and_scale,
    shape_of_w0,
    warp,
)
from .page import Draw

#: By the names that the command line knows them under.
FIGURES: dict[str, Draw] = {
    "shape-and-scale": shape_and_scale.draw,
    "flow-against-limit": flow_against_limit.draw,
    "neuron-q": neuron_q.draw,
    "neuron-contours": neuron_contours.draw,
    "neuron-flow-against-limit": neuron_flow_against_limit.draw,
    "leaky-relu": leaky_relu.draw,
    "warp": warp.draw,
    "saddle-to-saddle": saddle_to_saddle.draw,
    "kernel-and-rich": kernel_and_rich.draw,
    "shape-of-w0": shape_of_w0.draw,
}
