"""Gradient descent with a fixed step, as published experiments ran it: what the flow is compared with in figures."""

from collections.abc import Callable

import numpy as np

from .._diagonal import DiagonalNetwork
from .._validate import Array


def gradient_descent(
    net: DiagonalNetwork,
    X: Array,
    y: Array,
    *,
    step: float,
    rows: Array,
    progress: Callable[[int], None] | None = None,
) -> Array:
    r"""Predictors after the numbers of steps in `rows`, which increase: shape (rows.size, n_features).

    .. math:: u_\pm \leftarrow u_\pm \pm \eta\, g \circ v_\pm, \quad v_\pm \leftarrow v_\pm \pm \eta\, g \circ u_\pm,
              \qquad g = X^\top r / N

    full batch, on the loss :math:`\sum_n r_n^2 / (2N)`. Sums and differences of the weights decouple:
    :math:`u_+ + v_+` and :math:`u_- - v_-` are multiplied by :math:`1 + \eta g`, the other two by :math:`1 - \eta g`,
    so that :math:`\beta = \tfrac14(A - B)` needs only :math:`A \leftarrow (1 + \eta g)^2 A` and
    :math:`B \leftarrow (1 - \eta g)^2 B`. With A and B in one vector a step is six calls of NumPy instead of the
    twelve of the four weights, which is what a small problem costs; a test runs the four as well.

    `progress` is told the number of steps taken, at every row.
    """
    start = net.start
    ab = np.exp(np.concatenate([start.log_a_high + start.log_a_low, start.log_b_high + start.log_b_low]))
    quarter = 0.25 * np.hstack([X, -X])
    by_residual = 4.0 * step / y.size * quarter
    found, taken = np.empty((rows.size, ab.size // 2)), 0
    for k, target in enumerate(rows.tolist()):
        for _ in range(int(target) - taken):
            growth = (y - quarter @ ab) @ by_residual
            growth += 1.0
            growth *= growth
            ab *= growth
        taken = int(target)
        found[k] = 0.25 * (ab[: ab.size // 2] - ab[ab.size // 2 :])
        if progress is not None:
            progress(taken)
    return found
