"""The matrix of least nuclear norm that fits the data: a semidefinite program, solved by Clarabel, with its proof."""

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from . import _validate as check
from ._observations import Observations
from ._validate import Array

#: Tolerances of the interior-point method, relative to a program of size one.
ACCURACY = 1e-10
SQRT_2 = np.sqrt(2.0)


class NuclearNorm(NamedTuple):
    r"""A matrix that fits the data, and what its nuclear norm is worth.

    Attributes
    ----------
    matrix : ndarray, shape (n_rows, n_columns)
        M, of the least nuclear norm to within `gap`.
    value : float
        :math:`\|M\|_*`.
    multipliers : ndarray, shape (n_samples,)
        :math:`\nu` with :math:`\|\sum_n\nu_n X_n\| \le 1`: :math:`\langle\nu, y\rangle` is a lower bound of the nuclear
        norm of every matrix that fits the data.
    gap : float
        :math:`\|M\|_* - \langle\nu, y\rangle`.
    """

    matrix: Array
    value: float
    multipliers: Array
    gap: float


def solve(X: object, y: object) -> NuclearNorm:
    """What `baselines.min_nuclear_norm` says."""
    matrices = X.matrices() if isinstance(X, Observations) else check.array("X", X, "(n_samples, n_rows, n_columns)")
    y = check.vector("y", y, matrices.shape[0], "one target for every matrix of X")
    rows = matrices.reshape(y.size, -1)
    sizes = np.linalg.norm(rows, axis=1)
    sizes[sizes == 0.0] = 1.0
    rows, target = rows / sizes[:, None], y / sizes
    unit = float(np.abs(target).max())
    if unit == 0.0:
        return NuclearNorm(np.zeros(matrices.shape[1:]), 0.0, np.zeros(y.size), 0.0)
    # In the units of a program of size one, and twice through the pseudoinverse: the program stops at 1e-10.
    beta, nu = _program(rows.reshape(matrices.shape), target / unit)
    inverse = np.linalg.pinv(rows)
    for _ in range(2):
        beta = beta + inverse @ (target / unit - rows @ beta)
    off = float(np.abs(target / unit - rows @ beta).max())
    if not off <= 1e-9:
        raise ValueError(f"y must be in the range of X: no matrix fits the data, the best is off by {off * unit:.1e}")
    matrix = beta.reshape(matrices.shape[1:])
    # Feasible in the dual whatever the solver has made of it; rounding of a norm is a few ulps of it.
    largest = np.linalg.norm(np.tensordot(nu, rows.reshape(matrices.shape), axes=1), 2) * (1.0 + 1e-14)
    nu = nu / max(1.0, float(largest))
    value = unit * float(np.linalg.svd(matrix, compute_uv=False).sum())
    return NuclearNorm(unit * matrix, value, nu / sizes, value - float(nu @ target))


def _program(matrices: Array, y: Array) -> tuple[Array, Array]:
    r"""Min ½ tr S subject to ⟨X_n, S₁₂⟩ = y_n and S ⪰ 0: S₁₂, row by row, and the multipliers (Fazel et al. 2001)."""
    try:
        clarabel: Any = import_module("clarabel")
    except ImportError:
        raise ImportError("min_nuclear_norm needs Clarabel: pip install 'implicit-bias[convex]'") from None
    from scipy import sparse

    n, d1, d2 = matrices.shape
    size = d1 + d2
    # The upper triangle, column by column; entries off the diagonal times √2.
    position = {(i, j): j * (j + 1) // 2 + i for j in range(size) for i in range(j + 1)}
    length = len(position)
    trace = np.zeros(length)
    trace[[position[i, i] for i in range(size)]] = 0.5
    block = np.array([position[i, d1 + j] for i in range(d1) for j in range(d2)])
    fit = sparse.lil_matrix((n, length))
    fit[:, block] = matrices.reshape(n, -1) / SQRT_2
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = ACCURACY
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix((length, length)),
        trace,
        sparse.vstack([fit, -sparse.identity(length)], format="csc"),
        np.concatenate([y, np.zeros(length)]),
        [clarabel.ZeroConeT(n), clarabel.PSDTriangleConeT(size)],
        settings,
    )
    found = solver.solve()
    return np.asarray(found.x)[block] / SQRT_2, -np.asarray(found.z)[:n]
