"""What `gradient_flow` returns: the path of the predictor, and what follows from it on request."""

from dataclasses import dataclass, field
from typing import Any

from . import _validate as check
from ._double_double import to_mpmath
from ._network import Network
from ._status import Status
from ._validate import Array


@dataclass(frozen=True)
class Event:
    """What the pre-activation of one sample in one neuron does at its kink.

    Attributes
    ----------
    time : float
        In the `time_unit` of the flow; events of one instant have one and the same.
    sample, neuron : int
        Which, from 0.
    kind : {"crosses", "starts_sliding", "stops_sliding_positive", "stops_sliding_negative"}
        What: it goes through, stays at 0, or leaves to that side.
    """

    time: float
    sample: int
    neuron: int
    kind: str


@dataclass(frozen=True, eq=False)
class Flow:
    r"""Trajectory of a gradient flow.

    Attributes
    ----------
    t : ndarray, shape (n_times,)
        Times of the flow of the loss :math:`\sum_n r_n^2 / (2N)`, in `time_unit`; those that were reached.
    beta : ndarray, shape (n_times, n_features)
        :math:`\beta(t)`. With ``save_beta=False`` the last row alone, (1, n_features).
    loss : ndarray, shape (n_times,)
        :math:`\sum_n r_n^2 / (2N)`.
    observables : dict of str to ndarray, shape (n_times,)
        The numbers asked for, by their names.
    multipliers : ndarray, shape (n_times, n_samples), or None
        :math:`\nu(t) = \int_0^t r\,ds / N`, with :math:`\nabla Q(\beta(t)) = X^\top\nu(t)`; of least norm where they
        are not unique. The last row alone with ``save_beta=False``. None for ``method="weights"``, which has no dual,
        and where no theorem gives a Q.
    events : tuple of Event
        Pre-activations reaching and leaving their kinks, by (time, neuron, sample); none in a linear network.
    status : Status
        Why it stopped.
    message : str
        One sentence, with what to do about it.
    success : bool
        Whether the last requested time was reached; without requested times, whether it converged.
    stats : dict
        Counters: accepted, rejected, rhs, jacobians, newton_iterations, newton_systems; and seconds.
    time_unit : str
        As it was asked for: "flow", or "log_scale" for units of :math:`\ln(1/\mathrm{scale})`.
    beta_low, loss_low, multipliers_low : ndarray, or None
        What binary64 leaves out of the array of that name, of the same shape: the value is the sum of the two. None
        with ``precision="double"``.
    observables_low : dict of str to ndarray, or None
        The same of the observables.
    error_bound : ndarray, shape (n_times, n_features), or None
        Proven bound of :math:`|\tilde\beta_i(t) - \beta_i(t)|` for every row of `beta`, where :math:`\beta(t)` is the
        true flow of these data from this start at this time; inf where nothing is proven. None without ``certify``.
    """

    t: Array = field(repr=False)
    beta: Array = field(repr=False)
    loss: Array = field(repr=False)
    observables: dict[str, Array] = field(repr=False)
    multipliers: Array | None = field(repr=False)
    events: tuple[Event, ...] = field(repr=False)
    status: Status
    message: str
    success: bool
    stats: dict[str, int | float]
    time_unit: str
    beta_low: Array | None = field(repr=False)
    loss_low: Array | None = field(repr=False)
    multipliers_low: Array | None = field(repr=False)
    observables_low: dict[str, Array] | None = field(repr=False)
    error_bound: Array | None = field(repr=False)
    _save_beta: bool = field(repr=False)
    _net: Network = field(repr=False)
    # Referenced, not copied: X can be most of the memory of the machine.
    _X: Array = field(repr=False)
    _y: Array = field(repr=False)
    # What was integrated, one state a row; the network knows what it means.
    _path: Array = field(repr=False)
    _method: str = field(repr=False)

    def to_mpmath(self, name: str = "beta") -> Any:
        r"""An array of the result as exact numbers of mpmath.

        .. math:: \mathrm{value} = \mathrm{array} + \mathrm{array}_\mathrm{low}

        Parameters
        ----------
        name : str, default "beta"
            "beta", "loss", "multipliers" or the name of an observable.

        Returns
        -------
        ndarray of mpmath.mpf
            Of the shape of the array; each number is the exact sum of its parts, whatever the working precision.

        Raises
        ------
        ValueError
            If there is no array of that name.
        ImportError
            If mpmath is missing (extra "mpmath").
        """
        arrays = {"beta": self.beta, "loss": self.loss, "multipliers": self.multipliers} | self.observables
        found = arrays.get(check.choice("name", name, [key for key, value in arrays.items() if value is not None]))
        lows = {"beta": self.beta_low, "loss": self.loss_low, "multipliers": self.multipliers_low}
        return to_mpmath(found, (lows | (self.observables_low or {})).get(name))

    @property
    def matrix(self) -> Array:
        r"""The matrices along the flow of a `MatrixFactorization`, a view of `beta`.

        .. math:: M(t) = U(t) V(t)^\top

        Returns
        -------
        ndarray, shape (n_times, n_rows, n_columns)

        Raises
        ------
        ValueError
            If the flow is that of another network.
        """
        return self._net._matrix(self.beta)

    @property
    def parameters(self) -> Any:
        r"""The weights along the flow, computed on every access.

        Returns
        -------
        named tuple
            Of a `DiagonalNetwork`: ``u_plus, v_plus, u_minus, v_minus``, each (n_times, n_features).

        Raises
        ------
        ValueError
            If the rows were not kept, ``save_beta=False``.
        """
        self._needs_rows("parameters")
        return self._net._parameters(self)

    def conserved_quantities(self) -> Any:
        r"""What the flow conserves, recomputed from the weights, and how far it has drifted.

        Returns
        -------
        named tuple
            Of a `DiagonalNetwork`: `ConservedQuantities`. With ``method="weights"`` its ``drift`` is an error of the
            integration; otherwise it is the round-off of the weights.

        Raises
        ------
        ValueError
            If the rows were not kept, ``save_beta=False``.
        """
        self._needs_rows("conserved_quantities()")
        return self._net._conserved(self)

    def distance_bound(self, *, n_jobs: int | None = None) -> Array:
        r"""Proven bound of the distance to the end of the flow, for every coefficient at every time.

        .. math:: |\beta_i(\infty) - \beta_i(t)| \le \mathrm{bound}_i(t)

        Costs one limit, whatever the number of rows. `X` and `y` are those of the call, which must not have been
        changed since.

        Parameters
        ----------
        n_jobs : int, optional
            Number of threads, all cores by default.

        Returns
        -------
        ndarray, shape (n_times, n_features)
            The distance to the certified limit plus the limit's own bound; inf where the limit has none.

        Raises
        ------
        ValueError
            If `n_jobs` is not a positive integer, or the rows were not kept, ``save_beta=False``.
        """
        self._needs_rows("distance_bound()")
        return self._net._distance_bound(self._X, self._y, self.beta, check.jobs(n_jobs))

    def _needs_rows(self, name: str) -> None:
        if not self._save_beta:
            raise ValueError(f"{name} needs every row of beta: call gradient_flow with save_beta=True, got False")


class FlowInterrupted(KeyboardInterrupt):
    """Ctrl-C during a flow, with the rows that it had.

    Parameters
    ----------
    partial : Flow
        The result so far.
    """

    def __init__(self, partial: Flow) -> None:
        super().__init__(f"interrupted after {partial.stats['accepted']} steps: the rows so far are in .partial")
        self.partial = partial

    def __reduce__(self) -> tuple[type["FlowInterrupted"], tuple[Flow]]:
        return type(self), (self.partial,)
