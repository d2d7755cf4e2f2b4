r"""Numbers of thirty digits where Python hands them over: an unevaluated sum of two binary64 numbers, high + low.

What a user may write for such a number: anything that has the digits (a decimal string, `decimal.Decimal`,
`fractions.Fraction`, `mpmath.mpf`, an integer, a longer float), or the two parts themselves. Each is rounded once, to
within 2^-106; a binary64 number is what it is, with a low part of 0. mpmath is imported only to hand results out.
"""

import math
import numbers
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from . import _core
from . import _validate as check
from ._validate import Array

#: What a number may be computed in.
PRECISIONS = check.PRECISIONS
#: Where both parts of a number have all their digits, with room for what is multiplied to it.
_COMFORTABLE = (1e-270, 1e270)
_ALLOWED = "a real number, as a float, a decimal string, a Decimal, a Fraction or an mpf"
_ONE_OR_MANY = "a finite number or an array of them"
_OUT_OF_RANGE = "in the range of float64"


class DoubleDouble(NamedTuple):
    """Numbers of 31 digits as pairs of binary64 numbers: their value is the sum of the two."""

    #: The nearest binary64: a float or an array.
    high: Any
    #: What `high` leaves out, of the same shape; at most half a unit of its last place.
    low: Any

    def to_mpmath(self) -> Any:
        """The exact sums: an `mpmath.mpf`, or an object array of them."""
        return to_mpmath(self.high, self.low)


class _Scaled(NamedTuple):
    """``(high + low) 2^twos 10^tens``, for numbers that binary64 cannot hold."""

    high: float
    low: float
    twos: float = 0.0
    tens: float = 0.0


def parts(name: str, value: object, axes: str) -> tuple[Array, Array]:
    """A non-empty, finite array in two parts; `axes` names its axes, as in ``"(n_samples,)"``.

    A pair is a tuple of two arrays that have those axes each; everything else is one array, of any numbers.
    """
    n_axes = len(axes.strip("(,)").split(","))
    if _is_pair(value, n_axes):
        high, low = (check.array(name, part, axes) for part in value)
        if high.shape != low.shape:
            raise ValueError(f"{name} must have parts of one shape: got {high.shape} and {low.shape}")
        return _normalised(name, high, low)
    plain = _plain(value)
    if plain is not None:
        high = check.array(name, plain, axes)
        return high, np.zeros_like(high)
    each = _entries(name, value)
    check.array(name, np.zeros(each.shape), axes)
    flat = [_held(name, entry) for entry in each.ravel()]
    high, low = (np.array([number[k] for number in flat]).reshape(each.shape) for k in range(2))
    return _normalised(name, high, low)


def vector_parts(name: str, value: object, length: int, of: str) -> tuple[Array, Array]:
    """The parts of an array of a length that something else fixes; `of` says what."""
    high, low = parts(name, value, "(n,)")
    check.vector(name, high, length, of)
    return high, low


def data(X: object, y: object, n_features: int | None = None) -> tuple[Array, Array, Array]:
    """As `_validate.data`, with the targets in two parts."""
    X = check.array("X", X, "(n_samples, n_features)")
    high, low = vector_parts("y", y, X.shape[0], "one target for every row of X")
    return *check.data(X, high, n_features), low


def number_parts(name: str, value: object, allowed: str = "a finite number") -> tuple[float, float]:
    """The parts of one finite number, which alone may be a tuple of two floats."""
    if isinstance(value, tuple) and len(value) == 2:
        high, low = (np.array([check.number(name, part)]) for part in value)
    else:
        held = _held(name, value, allowed)
        high, low = np.array([held.high]), np.array([held.low])
    high, low = _normalised(name, high, low)
    return float(high[0]), float(low[0])


def per_coordinate_parts(name: str, value: object, n_features: int | None = None) -> tuple[Array, Array]:
    """The parts of one number, as arrays of length 1 that broadcast, or of one for every feature."""
    if _is_scalar(value):
        high, low = number_parts(name, value, _ONE_OR_MANY)
        return np.array([high]), np.array([low])
    if n_features is None:
        return parts(name, value, "(n_features,)")
    return vector_parts(name, value, n_features, "one for every feature")


def log_parts(name: str, value: object, n_features: int | None = None) -> tuple[Array, Array]:
    r""":math:`\ln` of positive numbers, one or one a feature, which may lie beyond the range of binary64."""
    if _is_pair(value, 1) or not (_is_scalar(value) or _plain(value) is None):
        high, low = per_coordinate_parts(name, value, n_features)
        check.positive_entries(name, high)
        return _core.double_double("log", [(high, low)])
    one = _is_scalar(value)
    each = _entries(name, value).reshape(-1) if one else _entries(name, value)
    check.array(name, np.zeros(each.shape), "(n_features,)")
    if n_features is not None and not one:
        check.vector(name, np.zeros(each.size), n_features, "one for every feature")
    split = [_scaled(name, entry, _ONE_OR_MANY if one else _ALLOWED) for entry in each]
    for number, entry in zip(split, each, strict=True):
        if not 0.0 < number.high < math.inf:
            raise ValueError(f"{name} must be positive: got {check.shown(entry)}")
    high, low, twos, tens = (np.array(column) for column in zip(*split, strict=True))
    high, low = _core.log_scaled(high, low, twos, tens)
    check.logarithms(f"the logarithm of {name}", high)
    return high, low


def to_mpmath(high: object, low: object = None) -> Any:
    """`high` + `low` exactly: an `mpmath.mpf`, or an object array of them of the same shape.

    The sum of two binary64 numbers has up to 2,100 bits; it is not rounded to the caller's working precision, which
    stays what it was. NaN and infinities stay what they are.
    """
    try:
        mpmath = import_module("mpmath")
    except ImportError:
        raise ImportError("to_mpmath needs mpmath: pip install 'implicit-bias[mpmath]'") from None
    leading = np.asarray(high, dtype=np.float64)
    rest = np.zeros_like(leading) if low is None else np.asarray(low, dtype=np.float64)
    found = np.empty(leading.shape, dtype=object)
    for index in np.ndindex(leading.shape):
        found[index] = mpmath.fadd(float(leading[index]), float(rest[index]), exact=True)
    return found[()]


def field_to_mpmath(result: object, name: object, names: Sequence[str]) -> Any:
    """One array of a result with its ``<name>_low``, where it has one, as `to_mpmath` gives it."""
    if name not in names:
        raise ValueError(f"name must be one of {', '.join(map(repr, names))}: got {check.shown(name)}")
    value = getattr(result, str(name))
    return None if value is None else to_mpmath(value, getattr(result, f"{name}_low", None))


def _normalised(name: str, high: Array, low: Array) -> tuple[Array, Array]:
    """`high` the binary64 number nearest to the sum, and `low` what it leaves out."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = high + low
        part = total - high
        error = (high - (total - part)) + (low - part)
    if not np.isfinite(total).all():
        raise ValueError(f"{name} must be {_OUT_OF_RANGE}: got {check.shown(high[~np.isfinite(total)][0])}")
    return total, error


def _is_pair(value: object, n_axes: int) -> TypeGuard[tuple[object, object]]:
    if not (isinstance(value, tuple) and len(value) == 2):
        return False
    return all(not isinstance(part, str) and _n_axes(part) == n_axes for part in value)


def _n_axes(value: object) -> int | None:
    """None for what is no array, as rows of unequal length."""
    try:
        return np.ndim(value)  # type: ignore[arg-type]
    except ValueError:
        return None


def _is_scalar(value: object) -> bool:
    return isinstance(value, str) or not hasattr(value, "__len__")


def _plain(value: object) -> NDArray[np.number] | None:
    """As an array where it holds nothing that binary64 does not: the usual case, and no loop over its entries."""
    try:
        found = np.asarray(value)
    except (TypeError, ValueError):
        return None
    exact = found.dtype.kind == "b" or (found.dtype.kind == "f" and found.dtype.itemsize <= 8)
    if found.dtype.kind in "iu":
        exact = bool((np.abs(found.astype(np.float64)) <= 2.0**53).all())
    return found if exact else None


def _entries(name: str, value: object) -> NDArray[np.object_]:
    """Entry for entry as it was given: NumPy would write a float beside a decimal string as text."""
    try:
        return np.array(value, dtype=object)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of real numbers: {error}") from error


def _held(name: str, value: object, allowed: str = _ALLOWED) -> _Scaled:
    """A finite number in two parts, which binary64 must have the range for."""
    number = _read(name, value, allowed)
    if not math.isfinite(number.high) or (number.high == 0.0 and not _is_zero(value)):
        raise ValueError(f"{name} must be {_OUT_OF_RANGE}: got {check.shown(value)}")
    return number


def _is_zero(value: Any) -> bool:
    if isinstance(value, str):
        return not any(digit in "123456789" for digit in value.lower().partition("e")[0])
    return bool(value == 0)


def _read(name: str, value: Any, allowed: str = _ALLOWED) -> _Scaled:
    """The two parts of one number; ±inf and 0 where it is beyond binary64."""
    if isinstance(value, (str, Decimal)):
        try:
            high, low = _core.read_double_double([str(value).strip()])
        except ValueError:
            raise ValueError(f"{name} must be {_ALLOWED}: got {check.shown(value)}") from None
        return _Scaled(float(high[0]), float(low[0]))
    if hasattr(value, "_mpf_"):
        exact = value.context if hasattr(value, "context") else import_module("mpmath").mp
        return _rounded(value, lambda whole, high: exact.fsub(whole, high, exact=True))
    if isinstance(value, numbers.Rational) and not isinstance(value, bool):
        return _rounded(Fraction(value), lambda whole, high: whole - Fraction(high))
    nearest = check.number(name, value, allowed)
    return _Scaled(nearest, float(value - type(value)(nearest)))


def _rounded(value: Any, without: Callable[[Any, float], Any]) -> _Scaled:
    """The nearest binary64, and that of what it leaves."""
    try:
        high = float(value)
    except OverflowError:
        return _Scaled(math.inf if value > 0 else -math.inf, 0.0)
    return _Scaled(high, float(without(value, high)) if math.isfinite(high) else 0.0)


def _scaled(name: str, value: Any, allowed: str) -> _Scaled:
    """One number with its powers of two and ten split off, where it is far from 1."""
    number = _read(name, value, allowed)
    if _COMFORTABLE[0] < abs(number.high) < _COMFORTABLE[1] or math.isnan(number.high) or _is_zero(value):
        return number
    if isinstance(value, (str, Decimal)):
        exact = Decimal(str(value).strip())
        if not exact.is_finite():
            return number
        digits = "".join(map(str, exact.as_tuple().digits)).lstrip("0")
        mantissa = _read(name, f"{'-' * exact.is_signed()}{digits[0]}.{digits[1:]}")
        return mantissa._replace(tens=float(exact.adjusted()))
    if hasattr(value, "_mpf_"):
        _, man, exponent, bits = value._mpf_
        if not man:
            return number
        twos = int(exponent + bits)
        return _read(name, value.context.ldexp(value, -twos))._replace(twos=float(twos))
    if isinstance(value, numbers.Rational):
        exact_ratio = Fraction(value)
        twos = exact_ratio.numerator.bit_length() - exact_ratio.denominator.bit_length()
        return _read(name, exact_ratio / Fraction(2) ** twos)._replace(twos=float(twos))
    return number
