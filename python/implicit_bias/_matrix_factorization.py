"""The factorization of a matrix: its factors at time 0, and what the core and theory are asked about them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from . import _core, _matrix_factorization_limit
from . import _validate as check
from ._network import FlowOptions, LimitOptions, Network
from ._observations import Observations, matrix_shape
from ._results import KKTReport, Limit
from ._validate import Array

if TYPE_CHECKING:
    from ._trajectory import Flow


class Factors(NamedTuple):
    """The factors along a flow; over- and underflow give inf and 0.

    Attributes
    ----------
    U : ndarray, shape (n_times, n_rows, width)
    V : ndarray, shape (n_times, n_columns, width)
        The same array as `U` where the factorization is symmetric.
    """

    U: Array
    V: Array


class FactorBalance(NamedTuple):
    r"""What gradient flow conserves in a factorization, recomputed from the factors at every time.

    .. math:: \Delta = U^\top U - V^\top V

    Attributes
    ----------
    delta : ndarray, shape (n_times, n_columns_kept, n_columns_kept)
        :math:`\Delta` in the columns that are integrated: those of the factors, or a rotation of them into
        n_rows + n_columns where they have more.
    drift : ndarray, shape (n_times,)
        Frobenius norm of its change since the start, relative to :math:`\|U\|^2 + \|V\|^2`.
    """

    delta: Array
    drift: Array


@dataclass(frozen=True, eq=False, repr=False)
class MatrixFactorization(Network):
    r"""Factorization of a matrix, of any width, given by its factors at time 0.

    .. math:: f_n = \langle X_n, M\rangle, \qquad M = U V^\top \quad\text{or}\quad M = U U^\top

    Gradient flow of the factors moves :math:`P = Z Z^\top`, :math:`Z = [U; V]`, by an equation in P alone [1]_. It is
    integrated in factors of at most n_rows + n_columns columns, and a width of 500,000 costs what a width of 10 costs.
    `Flow.beta` is M row by row, and `Flow.matrix` M itself.

    Parameters
    ----------
    U : array_like, shape (n_rows, width)
        Left factor at time 0, in units of ``exp(log_magnitude)``. Copied.
    V : array_like, shape (n_columns, width), optional
        Right factor. None is the symmetric factorization :math:`U U^\top`, of one factor, as `symmetric` makes it.
    log_magnitude : float, default 0.0
        Logarithm of the common factor of all weights. The flow needs factors of 1e-150 and more, in the units of y per
        unit of X.

    Attributes
    ----------
    width : int
        Columns of the factors; of a start drawn by `gaussian` the width it was drawn for.

    Raises
    ------
    ValueError
        If the factors are empty, hold NaN or infinities, are not real numbers or do not fit together.

    See Also
    --------
    MatrixFactorization.gaussian : random factors of any width.
    implicit_bias.Observations : observed entries as X.

    References
    ----------
    .. [1] Woodworth et al., "Kernel and Rich Regimes in Overparametrized Models", COLT 2020, Section 6.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> net = ib.MatrixFactorization.gaussian((2, 2), width=500_000, std=1e-4, seed=0)
    >>> seen = ib.Observations([0, 0, 1], [0, 1, 0], (2, 2))
    >>> flow = ib.gradient_flow(net, seen, [1.0, 2.0, 2.0])
    >>> flow.matrix[-1].round(2)
    array([[1.  , 2.  ],
           [2.  , 1.79]])
    """

    U: Array
    V: Array | None = None
    log_magnitude: float = 0.0
    width: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        factors = {"U": check.array("U", self.U, "(n_rows, width)")}
        if self.V is not None:
            factors["V"] = check.array("V", self.V, "(n_columns, width)")
            if factors["V"].shape[1] != factors["U"].shape[1]:
                raise ValueError(f"V must have {factors['U'].shape[1]} columns, as U has: got {factors['V'].shape[1]}")
        for name, factor in factors.items():
            copy = np.array(factor, order="C")
            copy.flags.writeable = False
            object.__setattr__(self, name, copy)
        magnitude = check.logarithms("log_magnitude", np.array([check.number("log_magnitude", self.log_magnitude)]))
        object.__setattr__(self, "log_magnitude", float(magnitude[0]))
        object.__setattr__(self, "width", self.U.shape[1])

    @classmethod
    def symmetric(cls, W: ArrayLike, log_magnitude: float = 0.0) -> Self:
        r"""The symmetric factorization, of one factor.

        .. math:: M = W W^\top, \qquad \dot W = (G + G^\top) W, \quad G = \frac1N\sum_n r_n X_n

        Parameters
        ----------
        W : array_like, shape (n_rows, width)
            The factor at time 0.
        log_magnitude : float, default 0.0
            Logarithm of its unit.

        Returns
        -------
        MatrixFactorization
            With `U` this factor, and no `V`.

        Raises
        ------
        ValueError
            If the factor is empty or not finite.

        Examples
        --------
        >>> import implicit_bias as ib
        >>> ib.MatrixFactorization.symmetric([[1.0], [2.0]]).beta0
        array([1., 2., 2., 4.])
        """
        return cls(U=check.array("W", W, "(n_rows, width)"), log_magnitude=log_magnitude)

    @classmethod
    def gaussian(
        cls, shape: tuple[int, int], width: int, std: float, seed: int | None = None, *, symmetric: bool = False
    ) -> Self:
        r"""Random factors of independent normal entries, of any width.

        .. math:: U_{ij}, V_{ij} \sim \mathcal N(0, \alpha^2)

        For a width of n_rows + n_columns and more what is drawn is the start of the closed equation,
        :math:`P(0) = [U; V][U; V]^\top`, one Wishart matrix by its Cholesky factor (Bartlett's decomposition): that
        factor, of n_rows + n_columns columns, is the start of the very same flow [1]_.

        Parameters
        ----------
        shape : (int, int)
            That of the matrix.
        width : int
            Columns of the factors, at least 1.
        std : float
            :math:`\alpha > 0`.
        seed : int, optional
            Seed of the draw; None for another one each time.
        symmetric : bool, default False
            Whether to draw the one factor of :math:`M = W W^\top`; the shape must be square.

        Returns
        -------
        MatrixFactorization
            It keeps `width`.

        Raises
        ------
        ValueError
            If an argument is outside of its interval.

        References
        ----------
        .. [1] M. S. Bartlett, "On the theory of statistical regression", Proc. R. Soc. Edinb. 53 (1934) 260-283.

        Examples
        --------
        >>> import implicit_bias as ib
        >>> net = ib.MatrixFactorization.gaussian((10, 10), width=500_000, std=1e-4, seed=1)
        >>> net.width, net.U.shape, net.V.shape
        (500000, (10, 20), (10, 20))
        """
        n_rows, n_columns = matrix_shape("shape", shape)
        width, std = check.integer("width", width), check.positive("std", std)
        if check.flag("symmetric", symmetric) and n_rows != n_columns:
            raise ValueError(f"shape must be square for a symmetric factorization: got {(n_rows, n_columns)}")
        random = np.random.default_rng(None if seed is None else check.integer("seed", seed, least=0))
        height = n_rows if symmetric else n_rows + n_columns
        Z = std * (_bartlett(height, width, random) if width >= height else random.standard_normal((height, width)))
        net = cls(U=Z) if symmetric else cls(U=Z[:n_rows], V=Z[n_rows:])
        object.__setattr__(net, "width", width)
        return net

    def __repr__(self) -> str:
        kind = "" if self.V is not None else ", symmetric"
        unit = f", log_magnitude={check.shown(self.log_magnitude)}" if self.log_magnitude else ""
        return f"{type(self).__name__}(shape={self.shape}, width={self.width}{kind}{unit})"

    @property
    def shape(self) -> tuple[int, int]:
        """That of the matrix."""
        return self.U.shape[0], (self.U if self.V is None else self.V).shape[0]

    @property
    def n_features(self) -> int:
        """Number of entries of the matrix."""
        return math.prod(self.shape)

    @property
    def beta0(self) -> Array:
        r"""The matrix at time 0, row by row; over- and underflow give inf and 0."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            half = np.exp(self.log_magnitude)
            found = (half * self.U) @ (half * (self.U if self.V is None else self.V)).T
        return np.asarray(np.where(np.isnan(found), 0.0, found)).ravel()

    def potential(self, *, precision: str = "double") -> Any:
        r"""No theorem gives a potential for a start alone: it takes observations that commute.

        Parameters
        ----------
        precision : {"double", "double-double"}, default "double"
            Of no effect.

        Raises
        ------
        ValueError
            Always. `limit` uses the potential of the eigenvalues where the observations commute.
        """
        raise ValueError(
            "net must not be a MatrixFactorization for a potential: no theorem gives one without the observations; "
            "limit uses that of the eigenvalues where they are symmetric and commute"
        )

    @cached_property
    def _stacked(self) -> Array:
        """Z = [U; V], or W."""
        return self.U if self.V is None else np.vstack([self.U, self.V])

    @cached_property
    def _thin(self) -> Array:
        """A factor of Z Zᵀ with no more columns than rows."""
        Z = self._stacked
        if Z.shape[1] <= Z.shape[0]:
            return Z
        return np.ascontiguousarray(np.asarray(np.linalg.qr(Z.T, mode="r")).T)

    def _log_scale(self) -> float:
        r"""That of M: 2 ln of the root mean square of the entries of the factors, and of their unit."""
        peak = float(np.abs(self._stacked).max())
        if peak == 0.0:
            raise ValueError("time_unit 'log_scale' needs factors that are not 0; allowed here is 'flow'")
        mean = float(np.mean(np.square(self._stacked / peak)))
        return math.log(mean) + 2.0 * (math.log(peak) + self.log_magnitude)

    def _observed(self, X: object) -> object:
        if isinstance(X, Observations):
            if X.shape != self.shape:
                raise ValueError(f"X must be observations of a matrix of shape {self.shape}: got {X.shape}")
            return X.matrices().reshape(len(X), -1)
        found = check.any_shape("X", X)
        if found.ndim == 3:
            if found.shape[1:] != self.shape:
                raise ValueError(f"X must be of shape (n_samples, {self.shape[0]}, {self.shape[1]}): got {found.shape}")
            return found.reshape(found.shape[0], -1)
        return X

    def _check_method(self, method: str) -> None:
        """The core says it."""

    def _integrate(self, X: Array, y: Array, options: FlowOptions, max_events: int | None) -> "_core._Flow":
        if "potential" in options["observables"]:
            self.potential()
        end = None
        if "distance" in options["observables"]:
            asked = LimitOptions(bounds=False, tol=options["tol"], n_jobs=options["n_jobs"])
            end = self._limit(X, y, asked).beta
        Z = self._stacked if options["method"] == "weights" else self._thin
        start = (Z, self.shape, self.V is None, self.log_magnitude)
        found = _core.matrix_factorization_flow(X, y, start, end=end, **options)
        found["path"] = found["path"].reshape(-1, *Z.shape)
        return found

    def _matrix(self, beta: Array) -> Array:
        return beta.reshape(-1, *self.shape)

    def _parameters(self, flow: "Flow") -> Factors:
        Z, columns = flow._path, self._stacked.shape[1]
        if Z.shape[2] != columns:
            # Zᵀ = Q R, and the flow commutes with Q.
            Z = Z @ np.linalg.qr(self._stacked.T)[0].T
        if self.V is None:
            return Factors(Z, Z)
        n_rows = self.shape[0]
        return Factors(Z[:, :n_rows].copy(), Z[:, n_rows:].copy())

    def _conserved(self, flow: "Flow") -> FactorBalance:
        if self.V is None:
            raise ValueError("conserved_quantities() needs two factors, U and V: a symmetric factorization has one")
        Z, signs = flow._path, np.repeat([1.0, -1.0], self.shape)
        unit = np.abs(Z).max(axis=(1, 2), keepdims=True)
        first = np.maximum(np.abs(self._path_start(flow)).max(), unit)
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            delta = np.einsum("tpi,p,tpj->tij", Z, signs, Z)
            now, start = Z / first, self._path_start(flow) / first
            change = np.einsum("tpi,p,tpj->tij", now, signs, now) - np.einsum("tpi,p,tpj->tij", start, signs, start)
            drift = np.linalg.norm(change, axis=(1, 2)) / np.square(now).sum(axis=(1, 2))
        return FactorBalance(delta, np.where(np.isnan(drift), 0.0, drift))

    def _path_start(self, flow: "Flow") -> Array:
        """The first state, in the columns of the flow."""
        Z = self._stacked if flow._method == "weights" else self._thin
        with np.errstate(under="ignore"):
            return np.asarray(Z * np.exp(self.log_magnitude))

    def _start_weights(self) -> tuple[Factors, float]:
        return Factors(self.U, self.U if self.V is None else self.V), self.log_magnitude

    def _tangent_features(self, X: Array, weights: Sequence[Array]) -> tuple[Array, Callable[[Array], Array]]:
        # The gradients X_n V and X_nᵀ U, in columns that a rotation leaves: features turn, their products do not.
        U, V = self._few(weights)
        matrices = X.reshape(-1, *self.shape)
        (n_rows, n_columns), width = self.shape, U.shape[1]
        if self.V is None:
            both = matrices + matrices.transpose(0, 2, 1)
            return (both @ U).reshape(len(X), -1), lambda step: _symmetric_step(step.reshape(n_rows, width), U)
        left, right = matrices @ V, matrices.transpose(0, 2, 1) @ U
        features = np.hstack([left.reshape(len(X), -1), right.reshape(len(X), -1)])

        def along(step: Array) -> Array:
            cut = n_rows * width
            return (step[:cut].reshape(n_rows, width) @ V.T + U @ step[cut:].reshape(n_columns, width).T).ravel()

        return features, along

    def _few(self, weights: Sequence[Array]) -> tuple[Array, Array]:
        """The factors in no more columns than they have rows together."""
        U, V = weights
        Z = U if self.V is None else np.vstack([U, V])
        if Z.shape[1] > Z.shape[0]:
            Z = np.asarray(np.linalg.qr(Z.T, mode="r")).T
        return (Z, Z) if self.V is None else (Z[: self.shape[0]], Z[self.shape[0] :])

    def _tangent_kernel(self, X: Array, Z: Array, weights: Sequence[Array]) -> Array:
        return np.asarray(self._tangent_features(X, weights)[0] @ self._tangent_features(Z, weights)[0].T)

    def _outputs(self, X: Array, weights: Sequence[Array], log_unit: float) -> Array:
        return np.asarray(X @ self.beta0)

    def _distance_bound(self, X: Array, y: Array, beta: Array, n_jobs: int) -> Array:
        # Nothing is proven of a factorization on its way.
        return np.full_like(beta, math.inf)

    def _limit(self, X: Array, y: Array, options: LimitOptions) -> Limit:
        return _matrix_factorization_limit.limit(self, X, y, options)

    def _check_kkt(
        self, X: Array, y: Array, beta: Array, n_jobs: int, low: tuple[Array, Array] | None = None
    ) -> KKTReport:
        return _matrix_factorization_limit.check_kkt(self, X, y, beta, n_jobs, low)


def _bartlett(height: int, width: int, random: np.random.Generator) -> Array:
    """A lower triangular L with L Lᵀ distributed as G Gᵀ, G height × width of standard normal entries."""
    L = np.tril(random.standard_normal((height, height)), -1)
    L[np.diag_indices(height)] = np.sqrt(random.chisquare(width - np.arange(height)))
    return L


def _symmetric_step(step: Array, W: Array) -> Array:
    """The change of W Wᵀ for a step of W, row by row."""
    half = step @ W.T
    return np.asarray(half + half.T).ravel()
