"""What the solvers at t = infinity return. Frozen, owned by the caller, and they pickle; nothing here computes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from . import _core
from . import _validate as check
from ._double_double import field_to_mpmath
from ._status import Status, message_of_limit
from ._validate import Array

#: What `to_mpmath` hands out.
VALUES = ("beta", "multipliers", "potential_value", "error_bound", "backward_error")


@dataclass(frozen=True, eq=False)
class KKTReport:
    r"""How far a predictor is from the limit of the flow: the optimality conditions of min Q subject to Xβ = y.

    .. math:: \nabla Q(\beta) = X^\top\nu, \qquad X\beta = y

    Attributes
    ----------
    stationarity : float
        :math:`\max|\beta - \beta(X^\top\nu)| / \max|\beta|`: relative distance to a predictor that is stationary
        exactly, for the multipliers reported here.
    feasibility : float
        :math:`\max|y - X\beta| / \max|y|`, with y projected onto the range of X; absolute where that projection is 0.
    duality_gap : float
        :math:`D(\beta, \beta(0))` minus the value of the dual at :math:`\nu`, in the units of Q.
    error_bound : ndarray, shape (n_features,), or None
        Proven bound of :math:`|\beta_i - \beta(\infty)_i|`, round-off included; inf where the proof does not apply,
        None where it was not asked for.
    backward_error : ndarray, shape (n_samples,)
        :math:`y - X\beta(X^\top\nu)`: the stationary predictor is exactly the limit for the targets y minus this.
    multipliers : ndarray, shape (n_samples,), or None
        :math:`\nu`; None where no theorem gives a Q.
    slopes : ndarray, shape (n_samples,), or None
        Of a leaky-ReLU neuron, the slope of its activation at every sample.
    theorem : str or None
        What gives Q. None where no theorem does: `stationarity` is then how far the predictor is from those that the
        flow can reach, and `duality_gap` is None.
    multipliers_low : ndarray, shape (n_samples,), or None
        What `multipliers` leave out of :math:`\nu`; None in precision "double".

    References
    ----------
    Azulay et al., "On the Implicit Bias of Initialization Shape", ICML 2021, Theorem 1.
    """

    stationarity: float
    feasibility: float
    duality_gap: float | None
    error_bound: Array | None = field(repr=False)
    backward_error: Array = field(repr=False)
    multipliers: Array | None = field(repr=False)
    slopes: Array | None = field(default=None, repr=False)
    theorem: str | None = "Azulay et al. 2021, Theorem 1"
    multipliers_low: Array | None = field(default=None, repr=False)

    def satisfied(self, tol: float = 1e-9) -> bool:
        """Whether stationarity and feasibility are both at most `tol`, which makes the gap small as well.

        Parameters
        ----------
        tol : float, default 1e-9
            A relative tolerance, in [1e-31, 0.1].

        Returns
        -------
        bool
            False as well where one of them is NaN.
        """
        bound = check.tol(tol, "double-double")
        # Not the larger of the two: max(x, nan) is x.
        return self.stationarity <= bound and self.feasibility <= bound


@dataclass(frozen=True, eq=False)
class Limit:
    r"""End of a gradient flow, :math:`t = \infty`, with its proof.

    No number is NaN: what overflows, or is not known, is inf. With `success` the coefficients and all errors but
    `error_bound` are finite.

    Attributes
    ----------
    beta : ndarray, shape (n_features,)
        :math:`\beta(\infty)`.
    multipliers : ndarray, shape (n_samples,), or None
        :math:`\nu` with :math:`\nabla Q(\beta) = X^\top\nu`; of least norm where they are not unique, None where no
        theorem gives a Q.
    error_bound : ndarray, shape (n_features,), or None
        Proven bound of the error of every coefficient, round-off included; inf where the proof does not apply, None
        with ``bounds=False``.
    backward_error : ndarray, shape (n_samples,)
        `beta` is exactly the limit for the targets y minus this.
    potential_value : float or None
        :math:`D(\beta, \beta(0))`, what the flow minimised; inf beyond the largest float, None where no theorem gives
        a Q.
    kkt : KKTReport
        The optimality conditions at `beta`.
    n_iter : int
        Number of n_samples × n_samples systems solved.
    status : Status
        Why it stopped.
    message : str
        One sentence, with what to do about it.
    success : bool
        Whether `beta` is the end of the flow to working precision.
    beta_low, multipliers_low : ndarray, or None
        What `beta` and `multipliers` leave out: in precision "double-double" the values are the sums of both, to 31
        digits. None in precision "double".
    potential_value_low : float or None
        The same of `potential_value`.
    """

    beta: Array = field(repr=False)
    multipliers: Array | None = field(repr=False)
    error_bound: Array | None = field(repr=False)
    backward_error: Array = field(repr=False)
    potential_value: float | None
    kkt: KKTReport
    n_iter: int
    status: Status
    message: str
    success: bool
    beta_low: Array | None = field(default=None, repr=False)
    multipliers_low: Array | None = field(default=None, repr=False)
    potential_value_low: float | None = field(default=None, repr=False)

    def to_mpmath(self, name: str = "beta") -> Any:
        """Values as numbers of mpmath, exactly: ``mpf(high) + mpf(low)``, whatever the working precision there.

        Parameters
        ----------
        name : {"beta", "multipliers", "potential_value", "error_bound", "backward_error"}, default "beta"
            Which values.

        Returns
        -------
        ndarray of mpmath.mpf, mpmath.mpf or None
            Of the same shape; None where the limit has none.

        Raises
        ------
        ValueError
            If there are no values of that name.
        ImportError
            If mpmath is not installed.

        Examples
        --------
        >>> import implicit_bias as ib
        >>> net = ib.DiagonalNetwork.from_scale_shape(2, scale=1.0)
        >>> end = ib.limit(net, [[1.0, 1.0]], [1.0], precision="double-double")
        >>> print(end.to_mpmath()[0])
        0.5
        """
        return field_to_mpmath(self, name, VALUES)

    @classmethod
    def _from_core(cls, found: "_core._Limit") -> Self:
        status = Status(found["status"])
        kkt = KKTReport(
            stationarity=found["stationarity"],
            feasibility=found["feasibility"],
            duality_gap=found["duality_gap"],
            error_bound=found["error_bound"],
            backward_error=found["backward_error"],
            multipliers=found["multipliers"],
            multipliers_low=found["multipliers_low"],
        )
        return cls(
            beta=found["beta"],
            multipliers=found["multipliers"],
            error_bound=found["error_bound"],
            backward_error=found["backward_error"],
            potential_value=found["potential_value"],
            kkt=kkt,
            n_iter=found["n_iter"],
            status=status,
            message=message_of_limit(status),
            success=status.at_the_end,
            beta_low=found["beta_low"],
            multipliers_low=found["multipliers_low"],
            potential_value_low=found["potential_value_low"],
        )


@dataclass(frozen=True, eq=False)
class LimitPath:
    """Limits of many starts on one data set, stacked in the order of the starts; ``path[k]`` is one `Limit`.

    Attributes
    ----------
    beta : ndarray, shape (n_starts, n_features)
    multipliers : ndarray, shape (n_starts, n_samples), or None
    error_bound : ndarray, shape (n_starts, n_features), or None
    backward_error : ndarray, shape (n_starts, n_samples)
    stationarity, feasibility : ndarray, shape (n_starts,)
    potential_value, duality_gap : ndarray, shape (n_starts,), or None
    n_iter : ndarray of int, shape (n_starts,)
    status : tuple of Status
    message : tuple of str
    success : ndarray of bool, shape (n_starts,)
    beta_low, multipliers_low, potential_value_low : ndarray, or None
        In precision "double-double", of the same shapes as what they belong to.

    See Also
    --------
    implicit_bias.Limit, implicit_bias.KKTReport : what each of them means.
    """

    beta: Array = field(repr=False)
    multipliers: Array | None = field(repr=False)
    error_bound: Array | None = field(repr=False)
    backward_error: Array = field(repr=False)
    potential_value: Array | None = field(repr=False)
    stationarity: Array = field(repr=False)
    feasibility: Array = field(repr=False)
    duality_gap: Array | None = field(repr=False)
    n_iter: np.ndarray[tuple[int], np.dtype[np.int64]] = field(repr=False)
    status: tuple[Status, ...]
    message: tuple[str, ...]
    beta_low: Array | None = field(default=None, repr=False)
    multipliers_low: Array | None = field(default=None, repr=False)
    potential_value_low: Array | None = field(default=None, repr=False)
    #: None where they were computed together: the rows above are all there is.
    _limits: tuple[Limit, ...] | None = field(default=None, repr=False)

    def to_mpmath(self, name: str = "beta") -> Any:
        """Values of all starts as numbers of mpmath, exactly.

        Parameters
        ----------
        name : {"beta", "multipliers", "potential_value", "error_bound", "backward_error"}, default "beta"
            Which values.

        Returns
        -------
        ndarray of mpmath.mpf, or None
            Of the same shape.

        Raises
        ------
        ValueError
            If there are no values of that name.
        ImportError
            If mpmath is not installed.
        """
        return field_to_mpmath(self, name, VALUES)

    @classmethod
    def _from_core(cls, found: "_core._LimitPath") -> Self:
        status = tuple(map(Status, found["status"]))
        return cls(
            beta=found["beta"],
            multipliers=found["multipliers"],
            error_bound=found["error_bound"],
            backward_error=found["backward_error"],
            potential_value=found["potential_value"],
            stationarity=found["stationarity"],
            feasibility=found["feasibility"],
            duality_gap=found["duality_gap"],
            n_iter=found["n_iter"],
            status=status,
            message=tuple(map(message_of_limit, status)),
            beta_low=found["beta_low"],
            multipliers_low=found["multipliers_low"],
            potential_value_low=found["potential_value_low"],
        )

    @classmethod
    def _stacked(cls, limits: Sequence[Limit]) -> Self:
        """Of limits that were found one by one. A column is None where one of them has no entry."""
        reports = [limit.kkt for limit in limits]
        return cls(
            beta=np.stack([limit.beta for limit in limits]),
            multipliers=_column([limit.multipliers for limit in limits]),
            error_bound=_column([limit.error_bound for limit in limits]),
            backward_error=np.stack([limit.backward_error for limit in limits]),
            potential_value=_column([limit.potential_value for limit in limits]),
            stationarity=np.array([report.stationarity for report in reports]),
            feasibility=np.array([report.feasibility for report in reports]),
            duality_gap=_column([report.duality_gap for report in reports]),
            n_iter=np.array([limit.n_iter for limit in limits]),
            status=tuple(limit.status for limit in limits),
            message=tuple(limit.message for limit in limits),
            beta_low=_column([limit.beta_low for limit in limits]),
            multipliers_low=_column([limit.multipliers_low for limit in limits]),
            potential_value_low=_column([limit.potential_value_low for limit in limits]),
            _limits=tuple(limits),
        )

    @property
    def success(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether each row is the end of its flow to working precision, (n_starts,)."""
        return np.array([status.at_the_end for status in self.status])

    def __len__(self) -> int:
        return len(self.status)

    def __iter__(self) -> Iterator[Limit]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, k: int) -> Limit:
        """Limit of the start number `k`, which owns its arrays; negative numbers count from the end."""
        if not -len(self) <= k < len(self):
            raise IndexError(f"start number {k} of {len(self)}")
        if self._limits is not None:
            return self._limits[k]
        assert self.multipliers is not None
        assert self.potential_value is not None
        assert self.duality_gap is not None
        return Limit._from_core(
            {
                "beta": self.beta[k].copy(),
                "multipliers": self.multipliers[k].copy(),
                "error_bound": None if self.error_bound is None else self.error_bound[k].copy(),
                "backward_error": self.backward_error[k].copy(),
                "potential_value": float(self.potential_value[k]),
                "stationarity": float(self.stationarity[k]),
                "feasibility": float(self.feasibility[k]),
                "duality_gap": float(self.duality_gap[k]),
                "n_iter": int(self.n_iter[k]),
                "status": self.status[k],
                "beta_low": None if self.beta_low is None else self.beta_low[k].copy(),
                "multipliers_low": None if self.multipliers_low is None else self.multipliers_low[k].copy(),
                "potential_value_low": None if self.potential_value_low is None else float(self.potential_value_low[k]),
            }
        )


def _column(values: Sequence[Array | None] | Sequence[float | None]) -> Array | None:
    found = [value for value in values if value is not None]
    return np.stack(found) if len(found) == len(values) else None
