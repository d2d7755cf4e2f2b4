"""Checks of what users pass in. Every message names the argument, what is allowed and what was found.

A check returns its argument in the form the core takes (float64, C-contiguous, never written to), so that a function
validates everything before it does anything. All of them raise `ValueError`: a wrong type is a wrong value here, and
one `except` clause is enough for the caller.
"""

import math
import numbers
import operator
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Below the least one the rounding of a step is as large as the error asked for; above the largest nothing is resolved.
RTOL_RANGE = (1e-14, 0.1)
#: The same in double-double.
EXACT_RTOL_RANGE = (1e-30, 0.1)
#: A residual below the least one is round-off of `y` itself; of a `y` of thirty digits in double-double.
TOL_RANGE = (1e-16, 0.1)
EXACT_TOL_RANGE = (1e-31, 0.1)
#: In what arithmetic an answer can be had.
PRECISIONS = ("double", "double-double")
#: Threads beyond this are not started: no problem is large enough, and the answer does not depend on them.
MOST_JOBS = 256
#: Environment variable with the number of threads where a call does not say it.
NUM_THREADS = "IMPLICIT_BIAS_NUM_THREADS"
#: Largest |logarithm| of a scale: beyond it the spacing of binary64 numbers exceeds 1e-4.
LARGEST_LOG = 1e12


def array(name: str, value: object, axes: str) -> Array:
    """A non-empty, finite array of real numbers; `axes` names its axes, as in ``"(n_samples, n_features)"``."""
    found = _real(name, value)
    if found.ndim != len(axes.strip("(,)").split(",")):
        raise ValueError(f"{name} must be an array of shape {axes}: got shape {found.shape}")
    if found.size == 0:
        raise ValueError(f"{name} must not be empty: got shape {found.shape}")
    return _finite(name, found)


def any_shape(name: str, value: object) -> Array:
    """A finite array of real numbers of any shape; elementwise functions take empty and 0-d ones as well."""
    return _finite(name, _real(name, value))


def _real(name: str, value: object) -> NDArray[np.number]:
    try:
        found = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of real numbers: {error}") from error
    if found.dtype.kind not in "biuf":  # a bool is 0 or 1: columns of dummies are data
        raise ValueError(f"{name} must be an array of real numbers: got dtype {found.dtype}")
    return found


def _finite(name: str, found: NDArray[np.number]) -> Array:
    with np.errstate(over="ignore"):  # a longer float may not fit; it is infinite then, which is what is looked for
        converted = np.require(found, np.float64, ["C", "A"])
    flat = converted.reshape(-1)
    # A part at a time: the answers for all of X would be an eighth of its size.
    bad = sum(part.size - np.count_nonzero(np.isfinite(part)) for part in _parts(flat))
    if bad:
        raise ValueError(f"{name} must be finite: {bad} of {flat.size} entries are NaN or infinite")
    return converted


def _parts(flat: Array, size: int = 1 << 20) -> Iterator[Array]:
    return (flat[start : start + size] for start in range(0, flat.size, size))


def vector(name: str, value: object, length: int, of: str) -> Array:
    """An array of a length that something else fixes; `of` says what."""
    found = array(name, value, "(n,)")
    if found.size != length:
        raise ValueError(f"{name} must have length {length}, {of}: got {found.size}")
    return found


def data(X: object, y: object, n_features: int | None = None) -> tuple[Array, Array]:
    """One sample per row of `X`, one target per sample, and as many columns as the network has features."""
    X = array("X", X, "(n_samples, n_features)")
    y = vector("y", y, X.shape[0], "one target for every row of X")
    if n_features is not None and X.shape[1] != n_features:
        raise ValueError(f"X must have {n_features} columns, one for every feature of the start: got {X.shape[1]}")
    return X, y


def number(name: str, value: object, allowed: str = "a finite number") -> float:
    """A finite real number that is not a bool."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        try:
            found = float(value)
        except OverflowError:
            found = math.inf
        if math.isfinite(found):
            return found
    raise ValueError(f"{name} must be {allowed}: got {shown(value)}")


def positive(name: str, value: object) -> float:
    """A finite number above 0."""
    allowed = "a positive finite number"
    found = number(name, value, allowed)
    if found <= 0.0:
        raise ValueError(f"{name} must be {allowed}: got {shown(value)}")
    return found


def non_negative(name: str, value: object) -> float:
    """A finite number, 0 or above."""
    allowed = "a non-negative finite number"
    found = number(name, value, allowed)
    if found < 0.0:
        raise ValueError(f"{name} must be {allowed}: got {shown(value)}")
    return found


def within(name: str, value: object, interval: tuple[float, float], why: str) -> float:
    """A number in a closed interval; `why` explains its lower end."""
    low, high = interval
    allowed = f"in [{low:g}, {high:g}] ({why})"
    found = number(name, value, allowed)
    if not low <= found <= high:
        raise ValueError(f"{name} must be {allowed}: got {shown(value)}")
    return found


def rtol(value: object, precision: str = "double") -> float:
    """A relative tolerance of the integrator; None is the default, 1e-10 in binary64 and 1e-28 in double-double."""
    if precision == "double-double":
        floor = "1e-30 is the floor of double-double precision"
        return 1e-28 if value is None else within("rtol", value, EXACT_RTOL_RANGE, floor)
    return 1e-10 if value is None else within("rtol", value, RTOL_RANGE, "1e-14 is the floor of double precision")


def tol(value: object, precision: str = "double") -> float:
    """A tolerance of the residual; None is the default, 1e-12 in binary64 and 1e-29 in double-double."""
    if precision == "double-double":
        return 1e-29 if value is None else within("tol", value, EXACT_TOL_RANGE, "1e-31 is the round-off of y")
    return 1e-12 if value is None else within("tol", value, TOL_RANGE, "1e-16 is the round-off of y")


def integer(name: str, value: object, least: int = 1) -> int:
    """An integer of at least `least` that is not a bool."""
    found = least - 1
    # Python counts True as an integer, and NumPy gives arrays and its own True an index.
    # A class of integers looks like one as well, for it has the method.
    if isinstance(value, SupportsIndex) and not isinstance(value, bool | np.bool_ | np.ndarray | type):
        found = operator.index(value)
    if found < least:
        raise ValueError(f"{name} must be an integer of at least {least}: got {shown(value)}")
    if found > sys.maxsize:
        raise ValueError(f"{name} must be an integer of at most {sys.maxsize}: got {shown(value)}")
    return found


def flag(name: str, value: object) -> bool:
    """True or False; a number is not a flag, because ``bounds=1e-9`` is a mistake."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False: got {shown(value)}")
    return bool(value)


def choice(name: str, value: object, allowed: Sequence[str]) -> str:
    """One of a few words."""
    if not (isinstance(value, str) and value in allowed):
        words = ("one of " if len(allowed) > 1 else "") + ", ".join(map(repr, allowed))
        raise ValueError(f"{name} must be {words}: got {shown(value)}")
    return str(value)


def choices(name: str, values: object, allowed: Sequence[str]) -> list[str]:
    """Some of a few words, each at most once, in the order given."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(f"{name} must be a sequence of names: got {shown(values)}")
    try:
        found = list(values)
    except TypeError:  # an array of no dimensions says that it can be iterated over
        raise ValueError(f"{name} must be a sequence of names: got {shown(values)}") from None
    for k, value in enumerate(found):
        choice(f"{name}[{k}]", value, allowed)
        if value in found[:k]:
            raise ValueError(f"{name} must not repeat a name: got {shown(value)} twice")
    return found


def precision(value: object) -> str:
    """The name of an arithmetic."""
    return choice("precision", value, PRECISIONS)


def jobs(value: object) -> int:
    """A number of threads; None is what the environment says, or else every core this process may use."""
    if value is not None:
        return min(integer("n_jobs", value), MOST_JOBS)
    if given := os.environ.get(NUM_THREADS, "").strip():
        # Only digits: int() would take "1_0" as well.
        return min(integer(NUM_THREADS, int(given) if given.isascii() and given.isdigit() else given), MOST_JOBS)
    available = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    return len(available(0)) if available else os.cpu_count() or 1


def times(value: object) -> Array:
    """Requested times: non-negative and strictly increasing."""
    found = array("t", value, "(n_times,)")
    if found[0] < 0.0:
        raise ValueError(f"t must not be negative: got {shown(found[0])}")
    stalled = np.flatnonzero(found[1:] <= found[:-1])
    if stalled.size:
        k = int(stalled[0])
        raise ValueError(f"t must be strictly increasing: got {shown(found[k + 1])} after {shown(found[k])}")
    return found


def per_coordinate(name: str, value: object, n_features: int | None = None) -> Array:
    """A number, as an array of length 1 that broadcasts, or one number for every feature."""
    if isinstance(value, str) or not hasattr(value, "__len__"):
        return np.array([number(name, value, "a finite number or an array of them")])
    if n_features is None:
        return array(name, value, "(n_features,)")
    return vector(name, value, n_features, "one for every feature")


def positive_entries(name: str, values: Array) -> Array:
    """Every entry above 0."""
    if values.min() <= 0.0:
        raise ValueError(f"{name} must be positive: got {shown(values.min())}")
    return values


def logarithms(name: str, values: Array) -> Array:
    """Every entry small enough to be the logarithm of a scale."""
    worst = values[np.argmax(np.abs(values))]
    if abs(worst) > LARGEST_LOG:
        raise ValueError(f"{name} must be in [{-LARGEST_LOG:g}, {LARGEST_LOG:g}]: got {shown(worst)}")
    return values


def by_name(name: str, value: object) -> dict[str, Any]:
    """Values by their names; None is none of them."""
    if value is None:
        return {}
    if not (isinstance(value, Mapping) and all(isinstance(key, str) for key in value)):
        raise ValueError(f"{name} must be a dict with names as keys: got {shown(value)}")
    return dict(value)


def exactly_one(names: tuple[str, str], values: tuple[object, object]) -> None:
    """One way of saying the same thing, neither none nor both."""
    if (values[0] is None) == (values[1] is None):
        found = "neither" if values[0] is None else "both"
        raise ValueError(f"exactly one of {names[0]} and {names[1]} must be given: got {found}")


def shown(value: object) -> str:
    """`value` as a user would type it, cut where it is long."""
    text = " ".join(repr(value.item() if isinstance(value, np.generic) else value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
