"""How far predictors are from an end, as one number each."""

import numpy as np

from ._validate import Array


def relative_distance(beta: Array, end: Array) -> Array:
    r""":math:`\|\beta_t - \beta_\infty\|_2 / \|\beta_\infty\|_2` for each row; absolute where the end is 0."""
    return _relative(beta - end, end)


def relative_bound(bound: Array, end: Array) -> Array:
    """The same of proven bounds of the coefficients, one row a time; inf where one of them is."""
    return _relative(bound, end)


def _relative(rows: Array, end: Array) -> Array:
    # In units of the largest coefficient, so that no square of the end over- or underflows.
    unit = float(np.abs(end).max())
    if not 0.0 < unit < np.inf:
        unit = 1.0
    size = float(np.linalg.norm(end / unit))
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.linalg.norm(rows / unit, axis=1) / (size if size > 0.0 else 1.0 / unit)
    return np.where(np.isnan(found), np.inf, found)
