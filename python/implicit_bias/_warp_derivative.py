"""Directional derivatives of a user's callable, with an estimate of their error; knows nothing of metrics.

Where the callable accepts complex input, the complex step (Squire and Trapp, SIAM Review 40, 1998): no subtraction, so
no step to choose. Elsewhere central differences extrapolated to step 0 (Ridders, Advances in Engineering Software 4,
1982). A callable with `abs`, `norm` or `real` in it takes complex numbers and gives a wrong derivative without a word;
so the complex step is believed only where a difference along one direction confirms it.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.exceptions import ComplexWarning
from numpy.typing import NDArray

from ._validate import Array

#: An evaluation that has only to work near the points that were validated; it may raise anything.
Function = Callable[[NDArray[Any]], NDArray[Any]]

EPS = float(np.finfo(float).eps)
#: Steps of the differences: from a quarter of the point down to 4e-9 of it. Halving them instead costs twice as many
#: evaluations, four times in second derivatives, for a digit.
STEPS = 0.25 * 0.25 ** np.arange(14)
#: Columns of the extrapolation; beyond order 12 rounding decides, not truncation.
COLUMNS = 6
#: The complex step in units of the point: its square is below any rounding even where the callable varies over 1e-15.
COMPLEX_STEP = 2.0**-100


class Derivative(NamedTuple):
    """Derivatives along some directions, the first index of both, and the largest error of an entry of each."""

    value: Array
    error: Array


def along(function: Function, point: Array, directions: Array, *, analytic: bool, noise: float = 0.0) -> Derivative:
    """Derivatives at a point; `noise` is the error of the values of `function`, beyond their own rounding."""
    one = _complex_step if analytic else _richardson
    found = [one(function, point, direction, noise) for direction in directions]
    return Derivative(np.array([value for value, _ in found]), np.array([error for _, error in found]))


def is_analytic(function: Function, point: Array) -> bool:
    """Whether complex steps give derivatives here: they are taken, and agree with differences in one direction."""
    # No direction is special to a metric in which two coordinates are alike: golden-ratio weights, no random numbers.
    direction = _unit(point) * (0.5 + np.modf(np.arange(1, point.size + 1) * 0.6180339887498949)[0])
    if not _confirmed(function, point, direction):
        return False
    # Where the derivative is 0 by symmetry a wrong one agrees with it, as that of a norm does at 0.
    beside = point + direction / 32.0
    try:
        return _attempt(function, beside) is None or _confirmed(function, beside, direction)
    except ValueError:
        return True


def _confirmed(function: Function, point: Array, direction: Array) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ComplexWarning)
            value, error = _complex_step(function, point, direction, 0.0)
    except Exception:  # whatever a user's code does with a number that it does not expect
        return False
    if not np.isfinite(value).all():
        return False
    check, check_error = _richardson(function, point, direction, 0.0)
    return bool(np.abs(value - check).max() <= 10.0 * check_error + error + 1e-7 * np.abs(value).max())


def _unit(point: Array) -> float:
    return float(np.abs(point).max()) or 1.0


def _complex_step(function: Function, point: Array, direction: Array, noise: float) -> tuple[Array, float]:
    size = float(np.abs(direction).max())
    if size == 0.0:
        return np.zeros(np.shape(function(point))), 0.0
    step = COMPLEX_STEP * max(_unit(point), 1e-200)
    shift = 1j * step * (direction / size)
    # What a few roundings of the point do to the answer is about what the roundings inside of the callable do.
    moved_point = point * (1.0 + 4.0 * EPS * (1.0 - 2.0 * (np.arange(point.size) % 2)))
    with np.errstate(all="ignore"):
        value, moved = (np.imag(function(p + shift)) * (size / step) for p in (point, moved_point))
        error = 16.0 * EPS * np.abs(value).max(initial=0.0) + 4.0 * np.abs(value - moved).max(initial=0.0)
    return value, float(error)


def _richardson(function: Function, point: Array, direction: Array, noise: float) -> tuple[Array, float]:
    moving = direction != 0.0
    if not moving.any():
        return np.zeros(np.shape(function(point))), 0.0
    # A coordinate much smaller than the others usually varies over its own size.
    nonzero = moving & (point != 0.0)
    if nonzero.any():
        reach = float(np.abs(point[nonzero] / direction[nonzero]).min())
    else:
        reach = _unit(point) / float(np.abs(direction).max())
    steps, up, down = _samples(function, point, direction, reach)
    shape = up.shape[1:]
    up, down = up.reshape(len(up), -1), down.reshape(len(up), -1)
    difference = up - down
    if not difference.any() and noise == 0.0:
        return np.zeros(shape), 0.0
    floor = (EPS * np.maximum(np.abs(up), np.abs(down)).max(axis=1) + noise) / steps
    value, error = _extrapolated(difference / (2.0 * steps[:, None]), floor)
    return value.reshape(shape), error


def _samples(function: Function, point: Array, direction: Array, largest: float) -> tuple[Array, Array, Array]:
    """Steps, and values on either side, of those steps from which on all values are there and finite."""
    steps: list[float] = []
    up: list[Array] = []
    down: list[Array] = []
    with np.errstate(all="ignore"):
        for step in largest * STEPS:
            pair = [_attempt(function, point + sign * step * direction) for sign in (1.0, -1.0)]
            if pair[0] is None or pair[1] is None:
                steps, up, down = [], [], []
                continue
            steps.append(step)
            up.append(pair[0])
            down.append(pair[1])
    if len(steps) < 3:
        raise ValueError("not defined around the point: too few differences to extrapolate from")
    return np.array(steps), np.array(up), np.array(down)


def _attempt(function: Function, point: Array) -> Array | None:
    try:
        value = np.asarray(function(point))
    except Exception:  # outside of the domain of a user's callable, which may say so in any way
        return None
    return value if np.isfinite(value).all() else None


def _extrapolated(plain: Array, floor: Array) -> tuple[Array, float]:
    """Entry of Neville's table that its neighbours and all finer differences agree with best, (n,), and its error."""
    column, columns, estimates = plain, [], []
    for power in 16.0 ** np.arange(1, min(COLUMNS, len(plain) - 1) + 1):
        better = column[1:] + (column[1:] - column[:-1]) / (power - 1.0)
        apart = np.maximum(np.abs(better - column[1:]).max(axis=1), np.abs(better - column[:-1]).max(axis=1))
        columns.append(better)
        estimates.append(apart + 2.0 * floor[-len(better) :])
        column = better
    values, errors = np.concatenate(columns), np.concatenate(estimates)
    rows = np.concatenate([np.arange(len(plain) - len(c), len(plain)) for c in columns])
    # Steps far beyond the scale on which a callable varies can agree with each other on a wrong value, 0 by symmetry
    # for instance. Finer differences contradict it by more than their own rounding and their own change.
    change = np.append(np.inf, np.abs(np.diff(plain, axis=0)).max(axis=1))
    best, least = values[0], np.inf
    for k in np.argsort(errors):
        if errors[k] >= least:
            break
        finer = slice(rows[k] + 1, None)
        excess = np.abs(plain[finer] - values[k]).max(axis=1) - change[finer] - 2.0 * floor[finer]
        honest = max(float(errors[k]), float(excess.max(initial=0.0)))
        if honest < least:
            best, least = values[k], honest
    return best, least
