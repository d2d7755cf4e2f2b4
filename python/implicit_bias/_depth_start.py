r"""The start of a tied network of any depth as the core takes it: :math:`\ln(\alpha w_i)` in two parts.

Depth 2 is the untied network of :math:`\kappa_i = 4(\alpha w_i)^2` and is answered by it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core, _start
from . import _double_double as dd
from . import _validate as check
from ._start import Start
from ._validate import Array

#: Deeper networks than this differ from it in no digit, and D itself is kept in 32 bits.
LARGEST_DEPTH = 10**6


class DepthStart(NamedTuple):
    r"""Depth, and :math:`\ln(\alpha w)`, of length 1 or one a feature, in two parts."""

    depth: int
    high: Array
    low: Array

    def for_features(self, n_features: int) -> "DepthStart":
        """The same for every feature, where it was given by one number."""
        if self.high.size == n_features:
            return self
        return DepthStart(self.depth, np.full(n_features, self.high[0]), np.full(n_features, self.low[0]))

    @property
    def parts(self) -> tuple[Array, Array]:
        r""":math:`\ln(\alpha w)`."""
        return self.high, self.low

    @property
    def untied(self) -> Start:
        r"""At depth 2: the start of :math:`\kappa = 4(\alpha w)^2`."""
        ln4 = _core.double_double("log", [(np.array([4.0]), np.zeros(1))])
        twice = (2.0 * self.high, 2.0 * self.low)
        zero = np.zeros_like(self.high)
        fours = tuple(np.full_like(self.high, part[0]) for part in ln4)
        return _start.from_kappa(_core.double_double("add", [twice, (fours[0], fours[1])]), (zero, zero))


def read(
    depth: int, scale: ArrayLike | None, weights: ArrayLike, log_scale: ArrayLike | None, n_features: int | None
) -> DepthStart:
    """Checked arguments, as every public constructor has them."""
    depth = depth_of(depth)
    check.exactly_one(("scale", "log_scale"), (scale, log_scale))
    logs = dd.log_parts("weights", weights, n_features)
    if scale is not None:
        of_scale = dd.log_parts("scale", scale)
        if of_scale[0].size != 1:
            raise ValueError(f"scale must be one number, weights are one a feature: got {of_scale[0].size} of them")
    else:
        number = dd.number_parts("log_scale", log_scale)
        of_scale = np.array([number[0]]), np.array([number[1]])
        check.logarithms("log_scale", of_scale[0])
    arrays = [np.ascontiguousarray(part) for part in np.broadcast_arrays(*of_scale, *logs)]
    high, low = _core.double_double("add", [(arrays[0], arrays[1]), (arrays[2], arrays[3])])
    return DepthStart(depth, high, low)


def depth_of(value: object) -> int:
    """A depth."""
    depth = check.integer("depth", value, 2)
    if depth > LARGEST_DEPTH:
        raise ValueError(f"depth must be at most {LARGEST_DEPTH}: got {depth}")
    return depth


def depths_of(value: object) -> NDArray[np.uint32]:
    """Depths, of any shape."""
    found = check.any_shape("depth", value)
    bad = (found < 2) | (found > LARGEST_DEPTH) | (found != np.floor(found))
    if bad.any():
        raise ValueError(f"depth must be whole and in [2, {LARGEST_DEPTH}]: got {check.shown(found[bad].flat[0])}")
    return found.astype(np.uint32)
