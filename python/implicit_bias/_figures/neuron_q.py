"""The potential of one linear neuron as a function of the norm, for four values of what the flow conserves."""

import numpy as np

from .._style import legend, looks
from ..special import q_neuron
from .page import Drawn, page

DELTAS = (0.0, 1.0, 2.0, 5.0)
NORMS = np.linspace(0.0, 5.0, 201)


def draw(**_: int) -> Drawn:
    """What one linear neuron implicitly minimises: q(x) for delta = 0, 1, 2, 5 (Azulay et al. 2021, Theorem 2)."""
    values = {delta: np.asarray(q_neuron(NORMS, delta)) for delta in DELTAS}
    figure = page()
    ax = figure.subplots()
    for (delta, q), look in zip(values.items(), looks(len(DELTAS)), strict=True):
        ax.plot(NORMS, q, label=rf"$\delta = {delta:g}$" + (r": $x^{3/2}$" if delta == 0.0 else ""), **look)
    ax.set_xlim(NORMS[0], NORMS[-1])
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel(r"norm of the predictor, $x = \|\beta\|$")
    ax.set_ylabel(r"$q_\delta(x)$, with $q_\delta(0) = 0$")
    legend(ax)
    table = {"x": NORMS} | {f"q_delta_{delta:g}": q for delta, q in values.items()}
    return Drawn(figure, table, ["q(5): " + ", ".join(f"{q[-1]:.6g} for delta {d:g}" for d, q in values.items())])
