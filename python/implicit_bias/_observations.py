"""Observed entries of a matrix: linear measurements of which each has a single 1."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _validate as check
from ._validate import Array


@dataclass(frozen=True, eq=False)
class Observations:
    r"""Entries of a matrix that are observed, as `X` of a `MatrixFactorization`: matrix completion.

    .. math:: \langle X_n, M\rangle = M_{i_n j_n}, \qquad X_n = e_{i_n} e_{j_n}^\top

    Parameters
    ----------
    rows, cols : array_like of int, shape (n_samples,)
        Where the entries are, from 0. An entry may be observed more than once. Copied.
    shape : (int, int)
        That of the matrix.

    Raises
    ------
    ValueError
        If there is no entry, one is outside of the matrix, or the two are not of the same length.

    See Also
    --------
    implicit_bias.MatrixFactorization : what is fitted to them.

    References
    ----------
    Woodworth et al., "Kernel and Rich Regimes in Overparametrized Models", COLT 2020, Section 6.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> seen = ib.Observations([0, 1, 1], [0, 0, 1], (2, 2))
    >>> seen.of([[1.0, 2.0], [3.0, 4.0]])
    array([1., 3., 4.])
    """

    rows: NDArray[np.intp]
    cols: NDArray[np.intp]
    shape: tuple[int, int]

    def __post_init__(self) -> None:
        shape = matrix_shape("shape", self.shape)
        object.__setattr__(self, "shape", shape)
        for name, most in zip(("rows", "cols"), shape, strict=True):
            object.__setattr__(self, name, _indices(name, getattr(self, name), most))
        if self.rows.size != self.cols.size:
            raise ValueError(f"cols must have length {self.rows.size}, one for every row: got {self.cols.size}")

    def __len__(self) -> int:
        return int(self.rows.size)

    def of(self, M: ArrayLike) -> Array:
        r"""The observed entries of a matrix.

        .. math:: y_n = M_{i_n j_n}

        Parameters
        ----------
        M : array_like, shape `shape`
            The matrix.

        Returns
        -------
        ndarray, shape (n_samples,)
            Targets that it fits.

        Raises
        ------
        ValueError
            If the matrix is of another shape.
        """
        matrix = check.array("M", M, "(n_rows, n_columns)")
        if matrix.shape != self.shape:
            raise ValueError(f"M must be of shape {self.shape}: got {matrix.shape}")
        return np.asarray(matrix[self.rows, self.cols])

    def matrices(self) -> Array:
        r"""The observations as matrices :math:`X_n`.

        .. math:: X_n = e_{i_n} e_{j_n}^\top

        Returns
        -------
        ndarray, shape (n_samples, n_rows, n_columns)
            One 1 in each.
        """
        X = np.zeros((len(self), *self.shape))
        X[np.arange(len(self)), self.rows, self.cols] = 1.0
        return X


def matrix_shape(name: str, value: object) -> tuple[int, int]:
    """Two positive integers."""
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise ValueError(f"{name} must be two positive integers: got {check.shown(value)}")
    return check.integer(f"{name}[0]", value[0]), check.integer(f"{name}[1]", value[1])


def _indices(name: str, value: object, most: int) -> NDArray[np.intp]:
    found = check.array(name, value, "(n_samples,)")
    whole = found.astype(np.intp)
    bad = np.flatnonzero((whole != found) | (found < 0) | (found >= most))
    if bad.size:
        raise ValueError(f"{name} must be integers in [0, {most}): got {check.shown(found[bad[0]])}")
    whole.flags.writeable = False
    return whole
