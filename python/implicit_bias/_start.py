r"""A start of the diagonal network as the core takes it: the logarithms of two positive numbers a coordinate.

.. math:: \beta(G) = \tfrac14 (A e^{2G} - B e^{-2G}), \qquad A = (u_+ + v_+)^2 + (u_- - v_-)^2, \quad
          B = (u_+ - v_+)^2 + (u_- + v_-)^2

Everything the flow does to the predictor depends on the start through ``A`` and ``B`` alone. They are kept as
logarithms in two parts (high + low, 31 digits): at a scale of 10^-100000 the last digit of one binary64 logarithm is
worth 130,000 units in the last place of a coefficient.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from . import _core
from ._validate import Array


class Start(NamedTuple):
    """``ln A`` and ``ln B``, each (n_features,) in two parts; -inf where a coordinate keeps its sign."""

    log_a_high: Array
    log_a_low: Array
    log_b_high: Array
    log_b_low: Array

    def for_features(self, n_features: int) -> "Start":
        """The same start for every feature, where it was given by one number."""
        if self.log_a_high.size == n_features:
            return self
        return Start(*(np.full(n_features, part[0]) for part in self))

    @property
    def log_kappa(self) -> Array:
        r""":math:`\ln\kappa = \tfrac12\ln AB`, (n_features,); -inf where a coordinate keeps its sign."""
        return self.log_kappa_parts[0]

    @property
    def log_kappa_parts(self) -> tuple[Array, Array]:
        """The same in two parts."""
        pairs = [(self.log_a_high, self.log_a_low), (self.log_b_high, self.log_b_low)]
        high, low = _core.double_double("add", pairs)
        return 0.5 * high, 0.5 * low

    @property
    def kappa(self) -> Array:
        r""":math:`\kappa`, (n_features,), to the last digits: the parts are not added before the exponential."""
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(
                np.exp(0.5 * (self.log_a_high + self.log_b_high)) * np.exp(0.5 * (self.log_a_low + self.log_b_low))
            )

    @property
    def beta0(self) -> Array:
        r""":math:`\tfrac14(A - B)`, (n_features,), as exact as the logarithms; over- and underflow give inf and 0."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            gap = (self.log_a_high - self.log_b_high) + (self.log_a_low - self.log_b_low)
            size = np.exp(np.maximum(self.log_a_high, self.log_b_high) - np.log(4.0)) * -np.expm1(-np.abs(gap))
        return np.where(np.isnan(gap) | (gap == 0.0), 0.0, np.copysign(size, gap))


def from_weights(weights: Sequence[tuple[Array, Array]], log_magnitude: tuple[Array, Array]) -> Start:
    """The start of u+, v+, u-, v- in two parts, and the logarithm of their unit."""
    arrays = [tuple(map(np.ascontiguousarray, parts)) for parts in (*weights, log_magnitude)]
    return Start(*_core.log_ab_from_weights([(high, low) for high, low in arrays]))


def from_scale_shape(log_scale: tuple[Array, Array], shape: tuple[Array, Array]) -> Start:
    """The unbiased start of the logarithm of a scale and a shape, in two parts; each of length 1 or one a feature."""
    arrays = [np.ascontiguousarray(part) for part in np.broadcast_arrays(*log_scale, *shape)]
    return Start(*_core.log_ab_from_scale_shape((arrays[0], arrays[1]), (arrays[2], arrays[3])))


def from_kappa(log_kappa: tuple[Array, Array], beta0: tuple[Array, Array]) -> Start:
    """The start of a logarithm of kappa and a predictor at time 0, in two parts; each of length 1 or one a feature."""
    arrays = np.broadcast_arrays(*log_kappa, *beta0)
    return Start(*_core.log_ab_from_kappa(*(np.ascontiguousarray(part) for part in arrays)))


def one_sided(n_features: int) -> Start:
    r"""``A = 4, B = 0``: coordinates that stay positive and have :math:`q = \tfrac12(x\ln x - x)`."""
    zero = np.zeros(n_features)
    return Start(np.full(n_features, np.log(4.0)), zero, np.full(n_features, -np.inf), zero)
