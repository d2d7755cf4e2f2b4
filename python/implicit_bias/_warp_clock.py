"""The integral of a positive function of the predictor along a flow, by Gauss-Kronrod in the time of the flow."""

from collections.abc import Callable

import numpy as np

from ._flow import gradient_flow
from ._trajectory import Flow
from ._validate import Array

#: Positive nodes of the 15-point rule and its weights, then the weights of the 7-point rule inside of it (every other
#: node from the second on, and 0): Kronrod 1965, as in QUADPACK's qk15.
NODES = np.array([
    0.991455371120812639206854697526329, 0.949107912342758524526189684047851, 0.864864423359769072789712788640926,
    0.741531185599394439863864773280788, 0.586087235467691130294144691693013, 0.405845151377397166906606412076961,
    0.207784955007898467600689403773245, 0.0,
])  # fmt: skip
KRONROD = np.array([
    0.022935322010529224963732008058970, 0.063092092629978553290700663189204, 0.104790010322250183839876322541518,
    0.140653259715525918745189590510238, 0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
    0.204432940075298892414161999234649, 0.209482141084727828012999174891714,
])  # fmt: skip
GAUSS = np.array([
    0.0, 0.129484966168869693270611432679082, 0.0, 0.279705391489276667901467771423780,
    0.0, 0.381830050505118944950369775488975, 0.0, 0.417959183673469387755102040816327,
])  # fmt: skip
#: Halvings of an interval between two rows; what the last one leaves is in the error.
ROUNDS = 6
#: Part of the whole integral that one interval may be off by before it is halved.
ENOUGH = 1e-12
#: Tolerances of the flow: the first is integrated, the second measures it.
RTOLS = (1e-12, 1e-10)


def integral(flow: Flow, function: Callable[[Array, float], float]) -> tuple[Array, Array]:
    """Integral from the first row to every row, and its error."""
    rows = flow.t
    left, right, row = rows[:-1], rows[1:], np.arange(1, rows.size)
    total, error = np.zeros(rows.size), np.zeros(rows.size)
    for round_left in reversed(range(ROUNDS + 1)):
        if not left.size:
            break
        fine, rough = _rules(flow, function, left, right, RTOLS[0])
        loose = _rules(flow, function, left, right, RTOLS[1])[0]
        off = np.abs(fine - rough)
        middle = 0.5 * (left + right)
        done = (off <= ENOUGH * (total.sum() + fine.sum())) | (middle <= left) | (middle >= right) | (round_left == 0)
        np.add.at(total, row[done], fine[done])
        np.add.at(error, row[done], (off + np.abs(fine - loose))[done])
        split = ~done
        left, right = np.append(left[split], middle[split]), np.append(middle[split], right[split])
        row = np.append(row[split], row[split])
        order = np.argsort(left)
        left, right, row = left[order], right[order], row[order]
    value = np.cumsum(total)
    return value, np.cumsum(error) + rows.size * np.finfo(float).eps * value


def _rules(
    flow: Flow, function: Callable[[Array, float], float], left: Array, right: Array, rtol: float
) -> tuple[Array, Array]:
    """Both rules on every interval; the whole flow is run once more, with a row at every node."""
    nodes = np.concatenate([-NODES, NODES[-2::-1]])
    half = 0.5 * (right - left)
    times = 0.5 * (left + right)[:, None] + half[:, None] * nodes
    distinct, where = np.unique(times, return_inverse=True)
    path = gradient_flow(flow._net, flow._X, flow._y, distinct, rtol=rtol, time_unit=flow.time_unit)
    if not path.success:
        raise ValueError(f"flow must be one that can be run again: {path.message}")
    values = np.array([function(beta, t) for beta, t in zip(path.beta, distinct, strict=True)])[
        where.reshape(times.shape)
    ]
    both = [values @ np.concatenate([w, w[-2::-1]]) * half for w in (KRONROD, GAUSS)]
    return both[0], both[1]
