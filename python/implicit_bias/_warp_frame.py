r"""A metric and its derivatives at one point, in coordinates in which a warp can be read off; knows no callable.

With :math:`H = LL^\top` every index of :math:`\partial_k H_{ij}` is multiplied by :math:`L^{-1}`. In these coordinates
H is the identity, all sizes are independent of the units of the coefficients, and the equations for a warp [A, Section
5],

.. math:: \varphi_c \delta_{ab} - \varphi_b \delta_{ac} = -C_{abc},
          \qquad C_{abc} = \partial_c H_{ab} - \partial_b H_{ac}

are orthogonal: each :math:`\varphi_c` stands alone in the d - 1 equations a = b, and the least-squares solution is the
trace :math:`\varphi_c = -\sum_b C_{bbc} / (d - 1)`. A QR of the d²(d-1)/2 equations would give the same.

[A]: Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._validate import Array
from ._warp_derivative import EPS


@dataclass(frozen=True)
class Local:
    """A metric at one point; the first index of `slopes` and of `lift` is the direction of the derivative."""

    metric: Array
    slopes: Array
    slopes_error: Array
    #: Directions in the space of points along which the predictor moves by unit vectors.
    lift: Array
    analytic: bool

    def whitened(self) -> "Whitened":
        """In the coordinates in which the metric is the identity."""
        root = np.asarray(np.linalg.cholesky(self.metric), np.float64)
        inverse = np.asarray(np.linalg.inv(root), np.float64)
        size = np.abs(inverse)
        slopes = _every_index(inverse, self.slopes)
        error = _every_index(size, self.slopes_error + 4.0 * len(root) * EPS * np.abs(self.slopes))
        return Whitened(root, inverse, slopes, error)


@dataclass(frozen=True)
class Whitened:
    """Derivatives of a metric that is the identity here, with a bound on the error of every entry."""

    root: Array
    inverse: Array
    slopes: Array
    error: Array

    def torsion(self) -> tuple[Array, Array]:
        """C, zero for the Hessian of a function, and its error."""
        s, e = self.slopes, self.error
        return s.transpose(1, 2, 0) - s.transpose(1, 0, 2), e.transpose(1, 2, 0) + e.transpose(1, 0, 2)

    def log_warp(self) -> tuple[Array, Array]:
        """The least-squares gradient of ln g, in these coordinates, and its error; 0 for one feature."""
        torsion, error = self.torsion()
        equations = max(len(self.root) - 1, 1)
        return -np.einsum("bbc->c", torsion) / equations, np.einsum("bbc->c", error) / equations

    def log_warp_gradient(self) -> tuple[Array, Array]:
        """The same in the coefficients of the predictor."""
        value, error = self.log_warp()
        return self.root @ value, np.abs(self.root) @ (error + len(value) * EPS * np.abs(value))

    def hessian_residual(self) -> tuple[float, float]:
        """Size of the torsion, in [0, 1], and its error."""
        return self._relative(self.torsion()[0])

    def remaining_residual(self) -> tuple[float, float]:
        """What the best warp leaves of it, a projection: no larger, and no less exact."""
        warp, unit = self.log_warp()[0], np.eye(len(self.root))
        added = np.multiply.outer(unit, warp)
        return self._relative(self.torsion()[0] + added - added.transpose(0, 2, 1))

    def squared_slopes(self) -> tuple[float, float]:
        """The size of the squared slopes, which second derivatives of ln H are measured by, and its error."""
        size, error = float(np.linalg.norm(self.slopes)), float(np.linalg.norm(self.error))
        return size**2, error * (2.0 * size + error)

    def _relative(self, torsion: Array) -> tuple[float, float]:
        whole, whole_error = (2.0 * float(np.linalg.norm(part)) for part in (self.slopes, self.error))
        return ratio(np.linalg.norm(torsion), float(np.linalg.norm(self.torsion()[1])), whole, whole_error)


def ratio(part: float | np.floating[Any], part_error: float, whole: float, whole_error: float) -> tuple[float, float]:
    """A residual in [0, 1] and its error; a whole that is nothing but error says nothing."""
    if whole <= whole_error:
        return (float(part) / whole if whole > 0.0 else 0.0), (1.0 if whole_error > 0.0 else 0.0)
    value = float(part) / whole
    return min(value, 1.0), min((part_error + value * whole_error) / (whole - whole_error), 1.0)


def _every_index(matrix: Array, tensor: Array) -> Array:
    return np.asarray(np.einsum("ck,kij->cij", matrix, matrix @ tensor @ matrix.T))
