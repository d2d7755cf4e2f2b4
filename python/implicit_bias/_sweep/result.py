"""What `sweep` returns: a long table. Nothing here computes."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _validate as check
from .._status import Status
from .points import Row

Column = NDArray[Any]
#: Columns that every table has, after its axes and measures.
OUTCOME = ("success", "status", "message")


@dataclass(frozen=True, eq=False, repr=False)
class SweepResult(Mapping[str, Column]):
    """A long table: a mapping of equal-length columns, one row for every point of the grid, the last axis fastest.

    The columns are those of the grid, those of the measures (float64), and

    - ``success``: whether the solver reached the end, as in its own result;
    - ``status``: the solver's own, "failed" where an exception came in between, "interrupted" for a point that was not
      computed. Measures of these two are NaN;
    - ``message``: one sentence; for a failed point what failed, and the exception.

    ``pandas.DataFrame(dict(table))`` is a data frame.

    Attributes
    ----------
    axes : dict
        The values of every axis of the grid, as they were given.
    measures : tuple of str
        Names of the columns that were measured.

    Examples
    --------
    >>> import functools, implicit_bias as ib
    >>> make_network = functools.partial(ib.DiagonalNetwork.from_scale_shape, 2)
    >>> table = ib.sweep(make_network, ([[1.0, 2.0]], [2.0]), {"scale": [1e3, 1e-9], "shape": [0.0, 0.5]}, "l1_norm")
    >>> table["l1_norm"].round(3)
    array([1.2, 1.2, 1. , 1. ])
    >>> table.grid("l1_norm").shape
    (2, 2)
    """

    axes: Mapping[str, tuple[Any, ...]]
    measures: tuple[str, ...]
    _columns: dict[str, Column]

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    # A table is one thing, like every other result: a mapping would compare its arrays, which have no truth value.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        axes = ", ".join(f"{name}: {len(values)}" for name, values in self.axes.items())
        status, counts = np.unique(self._columns["status"].astype(str), return_counts=True)
        ends = ", ".join(f"{count} {name}" for name, count in zip(status.tolist(), counts.tolist(), strict=True))
        return f"SweepResult({axes}; {', '.join(self.measures)}; {ends})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of every axis."""
        return tuple(len(values) for values in self.axes.values())

    def grid(self, name: str) -> Column:
        """One column as an array with one axis for every axis of the grid, in its order.

        Parameters
        ----------
        name : str
            A column: a measure, an axis, "success", "status" or "message".

        Returns
        -------
        ndarray
            A view of the column.

        Raises
        ------
        ValueError
            If there is no such column.
        """
        return self._columns[check.choice("name", name, tuple(self._columns))].reshape(self.shape)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table as comma-separated values, floats with all their digits: they read back as themselves.

        Parameters
        ----------
        path : path-like
            The file, overwritten.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        from .._files import as_csv

        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(as_csv(self))


class SweepInterrupted(KeyboardInterrupt):
    """Ctrl-C during a sweep.

    Parameters
    ----------
    partial : SweepResult
        The table so far; points that were not computed have the status "interrupted".
    """

    def __init__(self, partial: SweepResult) -> None:
        done = int((partial["status"] != Status.INTERRUPTED).sum())
        total = partial["status"].size
        super().__init__(f"interrupted after {done} of {total} points: those so far are in .partial")
        self.partial = partial

    def __reduce__(self) -> tuple[type["SweepInterrupted"], tuple[SweepResult]]:
        return type(self), (self.partial,)


class Table:
    """The rows so far of a sweep in progress; every point begins as one that was interrupted."""

    def __init__(self, axes: Mapping[str, tuple[Any, ...]], measures: Iterable[str]) -> None:
        self.axes, self.measures = axes, tuple(measures)
        self.total = int(np.prod([len(values) for values in axes.values()]))
        self.done = 0
        self._values = np.full((self.total, len(self.measures)), np.nan)
        self._success = np.zeros(self.total, bool)
        self._status: Column = np.full(self.total, str(Status.INTERRUPTED), object)
        self._message: Column = np.full(self.total, "interrupted before this point: call again to compute it", object)
        self._texts: dict[str, str] = {}  # 10,000 rows say the same three sentences; other processes send copies

    def add(self, row: Row) -> None:
        """A point is done. The status comes last: a row that a Ctrl-C cuts short counts as not computed."""
        self._values[row.number] = row.values
        self._success[row.number] = row.success
        self._message[row.number] = self._texts.setdefault(row.message, row.message)
        self._status[row.number] = self._texts.setdefault(row.status, row.status)
        self.done += 1

    def todo(self) -> Sequence[int]:
        """The points that are not done yet."""
        return np.flatnonzero(self._status == Status.INTERRUPTED).tolist() if self.done else range(self.total)

    def result(self) -> SweepResult:
        """The table as it is."""
        columns: dict[str, Column] = {}
        repeat, tile = self.total, 1
        for name, values in self.axes.items():
            repeat //= len(values)
            columns[name] = np.tile(np.repeat(_column(values), repeat), tile)
            tile *= len(values)
        computed = self._status != Status.INTERRUPTED
        measured = np.where(computed[:, None], self._values, np.nan)
        columns |= {name: measured[:, k].copy() for k, name in enumerate(self.measures)}
        columns |= {"success": self._success & computed, "status": self._status, "message": self._message}
        return SweepResult(self.axes, self.measures, columns)


def _column(values: tuple[Any, ...]) -> Column:
    """Numbers as numbers and words as words; anything else as the objects that they are."""
    for kind in (bool, int, float, str):
        if all(type(value) is kind or (kind is float and type(value) is int) for value in values):
            try:
                return np.array(values, dtype=kind)
            except OverflowError:
                break  # an integer beyond 64 bits
    column: Column = np.empty(len(values), object)
    for k, value in enumerate(values):  # not at once, which would take arrays apart
        column[k] = value
    return column
