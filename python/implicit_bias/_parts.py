"""Numbers of thirty digits as pairs of arrays, high + low, on their way in and out. Knows no model.

A pair is a tuple of two arrays of the expected shape; a plain tuple of numbers is what it always was, one array.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, TypeGuard

import numpy as np

from . import _validate as check
from ._validate import Array


def vector_parts(name: str, value: object, length: int, of: str) -> tuple[Array, Array]:
    """The parts of an array of a length that something else fixes; `of` says what."""
    if not _is_pair(value):
        high = check.vector(name, value, length, of)
        return high, np.zeros_like(high)
    high, low = (check.vector(name, part, length, of) for part in value)
    with np.errstate(over="ignore", invalid="ignore"):
        total = high + low
        part = total - high
        rest = (high - (total - part)) + (low - part)
    if not np.isfinite(total).all():
        raise ValueError(f"{name} must be in the range of float64: got {check.shown(high[~np.isfinite(total)][0])}")
    return total, rest


def data(X: object, y: object, n_features: int) -> tuple[Array, Array, Array]:
    """As `_validate.data`, with the targets in two parts."""
    X = check.array("X", X, "(n_samples, n_features)")
    y, low = vector_parts("y", y, X.shape[0], "one target for every row of X")
    return *check.data(X, y, n_features), low


def field_to_mpmath(result: object, name: object, names: Sequence[str]) -> Any:
    """One array of a result, exactly: high + low where it has a low part."""
    if name not in names:
        raise ValueError(f"name must be one of {', '.join(map(repr, names))}: got {check.shown(name)}")
    value = getattr(result, str(name))
    if value is None:
        return None
    try:
        mpmath = import_module("mpmath")
    except ImportError:
        raise ImportError("to_mpmath needs mpmath: pip install 'implicit-bias[mpmath]'") from None
    low = getattr(result, f"{name}_low", None)
    high = np.asarray(value, dtype=np.float64)
    rest = np.zeros_like(high) if low is None else np.asarray(low, dtype=np.float64)
    found = np.empty(high.shape, dtype=object)
    for index in np.ndindex(high.shape):
        found[index] = mpmath.fadd(float(high[index]), float(rest[index]), exact=True)
    return found[()]


def _is_pair(value: object) -> TypeGuard[tuple[object, object]]:
    return isinstance(value, tuple) and len(value) == 2 and all(_has_one_axis(part) for part in value)


def _has_one_axis(part: object) -> bool:
    try:
        return not isinstance(part, str) and np.ndim(part) == 1  # type: ignore[arg-type]
    except ValueError:
        return False
