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
    size = float(np.linalg.norm(end))
    return np.asarray(np.linalg.norm(rows, axis=1) / (size if size > 0.0 else 1.0))
