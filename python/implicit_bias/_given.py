r"""Initial weights, scales and shapes as they are given: to thirty digits, and beyond the range of binary64.

A weight that no binary64 number can hold is kept by its magnitude: a power of ten, the same for all weights that meet
in one sum, goes into the logarithm of their unit. A scale is kept by its logarithm. Nothing here knows a network.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core
from . import _double_double as dd
from . import _validate as check
from ._validate import Array

Parts = tuple[Array, Array]
Pair = tuple[float, float]

#: Magnitudes between 10 to minus this and 10 to this need no unit.
_ORDINARY = 270
#: Beyond 10 to this a fraction is no longer written out to be rounded; a decimal string may be.
_MOST_TENS = 1_000_000


#: Decades of 0: far below all others.
_NEVER = np.iinfo(np.int64).min // 4


class Scale(NamedTuple):
    r"""A positive number or one a feature: as it is shown, its logarithm, and itself where binary64 can hold it."""

    kept: Any
    log: Parts
    value: Parts | None


class _Entries(NamedTuple):
    """``(high + low) 10^tens``, entry for entry."""

    high: Array
    low: Array
    tens: NDArray[np.int64]


def vectors(given: Mapping[str, object], of: str) -> tuple[dict[str, Parts], NDArray[np.int64]]:
    """Vectors of one length by their names, in parts, and the power of ten taken out of each entry of all."""
    split = {name: _entries(name, value, "(n_features,)") for name, value in given.items()}
    length = next(iter(split.values())).high.size
    for name, entries in split.items():
        check.vector(name, entries.high, length, of)
    if not any(entries.tens.any() for entries in split.values()):
        return {name: (entries.high, entries.low) for name, entries in split.items()}, np.zeros(1, dtype=np.int64)
    tens = _tens(np.max([_decades(entries) for entries in split.values()], axis=0))
    return {name: _in_unit(name, entries, tens) for name, entries in split.items()}, tens


def layers(a: object, W: object) -> tuple[Parts, Parts, NDArray[np.int64]]:
    """The weights of neurons in parts, and the one power of ten that was taken out of all of them."""
    outer, hidden = _entries("a", a, "(n_neurons,)"), _entries("W", W, "(n_neurons, n_features)")
    if not (outer.tens.any() or hidden.tens.any()):
        return (outer.high, outer.low), (hidden.high, hidden.low), np.zeros(1, dtype=np.int64)
    tens = _tens(np.array([max(int(_decades(entries).max()) for entries in (outer, hidden))]))
    return _in_unit("a", outer, tens), _in_unit("W", hidden, tens), tens


def magnitude(given: Parts, tens: NDArray[np.int64]) -> Parts:
    """The logarithm of a unit with powers of ten that weights are measured in."""
    if not tens.any():
        return given
    zero, size = np.zeros(tens.size), max(tens.size, given[0].size)
    of_tens = _core.log_scaled(np.ones(tens.size), zero, zero, tens.astype(np.float64))
    same = [tuple(np.full(size, part) if part.size == 1 else part for part in parts) for parts in (given, of_tens)]
    found = _core.double_double("add", [(same[0][0], same[0][1]), (same[1][0], same[1][1])])
    check.logarithms("log_magnitude", found[0])
    return found


def shape(value: object, n_features: int | None = None) -> Parts:
    """Numbers in (-1, 1): one, of length 1, or one a feature; of one neuron without `n_features`."""
    if n_features is None:
        high, low = (np.array([part]) for part in dd.number_parts("shape", value))
    else:
        high, low = dd.per_coordinate_parts("shape", value, n_features)
    # 0.99999999999999999999 is the binary64 number 1, and a little less.
    outside = (np.abs(high) > 1.0) | ((np.abs(high) == 1.0) & (high * low >= 0.0))
    if outside.any():
        raise ValueError(f"shape must be in (-1, 1): got {check.shown(high[outside][0] if _many(value) else value)}")
    return high, low


def scale(value: object, n_features: int) -> Scale:
    """A positive scale, or one a feature."""
    log = dd.log_parts("scale", value, n_features)
    held = bool((np.abs(log[0]) < _ORDINARY * math.log(10.0)).all()) or dd._plain(value) is not None
    parts = dd.per_coordinate_parts("scale", value, n_features) if held else None
    return Scale(kept(value, log[0] if parts is None else parts[0]), log, parts)


def log_scale(value: object, n_features: int | None = None) -> Scale:
    """The logarithm of one, one or one a feature; of one neuron without `n_features`."""
    if n_features is None:
        high, low = (np.array([part]) for part in dd.number_parts("log_scale", value))
    else:
        high, low = dd.per_coordinate_parts("log_scale", value, n_features)
    check.logarithms("log_scale", high)
    return Scale(kept(value, high), (high, low), None)


def number_scale(value: object) -> Scale:
    """A positive scale of one neuron."""
    if isinstance(value, tuple) and len(value) == 2:
        high, low = dd.number_parts("scale", value)
        check.positive("scale", high)
        pair = (np.array([high]), np.array([low]))
        return Scale(value, _core.double_double("log", [pair]), pair)
    if dd._plain(value) is not None or not dd._is_scalar(value):
        pair = (np.array([check.positive("scale", value)]), np.zeros(1))
        return Scale(float(pair[0][0]), _core.double_double("log", [pair]), pair)
    return scale(value, 1)


def kept(value: object, high: Array) -> Any:
    """What a network shows of a number or an array: floats as floats, anything with more digits as it was given."""
    if dd._plain(value) is not None:
        return float(high[0]) if high.size == 1 else _frozen(high)
    if not _many(value):
        return value
    if dd._is_pair(value, 1):
        return tuple(_frozen(np.asarray(part, dtype=np.float64)) for part in value)
    return _frozen(np.array(value, dtype=object))


def one_minus(parts: Parts) -> Array:
    """1 - s, of an s next to 1 too."""
    return np.asarray((1.0 - parts[0]) - parts[1])


def low_or_none(low: Array) -> Array | None:
    """A low part that nothing can be written to; None where there is nothing in it."""
    return _frozen(low) if low.any() else None


def _frozen(values: NDArray[Any]) -> NDArray[Any]:
    copy = np.array(values, order="C")
    copy.flags.writeable = False
    return copy


def _many(value: object) -> bool:
    return not dd._is_scalar(value) and np.ndim(value) > 0  # type: ignore[arg-type]


def _entries(name: str, value: object, axes: str) -> _Entries:
    n_axes = len(axes.strip("(,)").split(","))
    if dd._is_pair(value, n_axes) or dd._plain(value) is not None:
        high, low = dd.parts(name, value, axes)
        return _Entries(high, low, np.zeros(high.shape, dtype=np.int64))
    each = dd._entries(name, value)
    check.array(name, np.zeros(each.shape), axes)
    if any(isinstance(entry, complex) for entry in each.flat):
        check.array(name, value, axes)  # says what is wrong with it
    found = [_entry(name, entry) for entry in each.ravel()]
    high, low, tens = (np.array(column).reshape(each.shape) for column in zip(*found, strict=True))
    return _Entries(*dd._normalised(name, high, low), tens)


def _entry(name: str, value: Any) -> tuple[float, float, int]:
    """One number, with its power of ten split off where it is far from 1."""
    number = dd._scaled(name, value, dd._ALLOWED)
    if number.tens or not number.twos:
        held = number if number.tens else dd._held(name, value)
        return held.high, held.low, int(held.tens)
    tens = math.floor(math.log10(abs(number.high)) + number.twos * math.log10(2.0))
    if abs(tens) > _MOST_TENS:
        raise ValueError(f"{name} must be within 10^±{_MOST_TENS}, or have its unit in log_magnitude: got 10^{tens}")
    exact = _mpf(value) if hasattr(value, "_mpf_") else Fraction(value)
    mantissa = dd._read(name, exact / Fraction(10) ** tens)
    return mantissa.high, mantissa.low, tens


def _mpf(value: Any) -> Fraction:
    sign, man, exponent, _ = value._mpf_
    return Fraction(-int(man) if sign else int(man)) * Fraction(2) ** int(exponent)


def _decades(entries: _Entries) -> NDArray[np.int64]:
    """Powers of ten of the entries; far below all others for 0."""
    size = np.where(entries.high == 0.0, 1.0, np.abs(entries.high))
    return np.where(entries.high == 0.0, _NEVER, np.floor(np.log10(size)).astype(np.int64) + entries.tens)


def _tens(decades: NDArray[np.int64]) -> NDArray[np.int64]:
    """The powers of ten to take out: none of ordinary numbers, and none of zeros."""
    return np.where((np.abs(decades) <= _ORDINARY) | (decades == _NEVER), 0, decades)


def _in_unit(name: str, entries: _Entries, tens: NDArray[np.int64]) -> Parts:
    """The entries in units of 10^tens; what the largest of them makes invisible is refused, not lost."""
    by = np.where(entries.high == 0.0, 0, entries.tens - tens)
    if not by.any():
        return entries.high, entries.low
    if np.abs(by).max() > _ORDINARY:
        k = np.unravel_index(np.abs(by).argmax(), by.shape)
        found = f"10^{_decades(entries)[k]}"
        raise ValueError(f"{name} must be in the range of float64 beside the other weights: got a weight of {found}")
    power = _core.read_double_double([f"1e{k}" for k in by.ravel()])
    flat = (entries.high.ravel(), entries.low.ravel())
    high, low = _core.double_double("mul", [flat, power])
    return high.reshape(by.shape), low.reshape(by.shape)
