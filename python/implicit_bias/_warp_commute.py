"""Lie brackets of the gradient fields of a parametrization (Li, Wang, Lee and Arora, NeurIPS 2022).

They are measured in combinations of the components whose gradients are orthonormal at the point, J = LQ: brackets are
bilinear in constant combinations, so that sizes do not depend on the units of the coefficients.
"""

import numpy as np

from ._validate import Array
from ._warp_derivative import EPS
from ._warp_frame import ratio
from ._warp_metric import Pullback, positive_definite


def brackets(model: Pullback, point: Array, where: str) -> tuple[Array, float, float, float, float]:
    """The brackets, their size with its error, and that of their part outside of the kernel."""
    J = model.jacobian(point, where)
    positive_definite("J Jᵀ", J.value @ J.value.T, where)
    found = J.along(J.value, where)
    inverse = np.linalg.inv(np.linalg.cholesky(J.value @ J.value.T))
    rows, size = inverse @ J.value, np.abs(inverse)
    bends = np.einsum("ai,bj,ijp->abp", inverse, inverse, found.value)
    error = found.error + 4.0 * J.value.size * EPS * np.abs(found.value)
    error = np.einsum("ai,bj,ijp->abp", size, size, error)
    all_of_it = bends - bends.transpose(1, 0, 2)
    bound = 2.0 * float(np.linalg.norm(error))
    whole, parts = 2.0 * float(np.linalg.norm(bends)), (all_of_it, all_of_it @ rows.T)
    sizes = [ratio(np.linalg.norm(part), bound, whole, bound) for part in parts]
    return found.value - found.value.transpose(1, 0, 2), *sizes[0], *sizes[1]
