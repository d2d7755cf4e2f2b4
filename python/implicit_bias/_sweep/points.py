"""What is computed at one point of a sweep, and how it can fail. Knows no executor, no order and no other point.

Everything here is what a worker runs, wherever it is: a thread, a process, another machine.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .. import _validate as check
from .._flow import gradient_flow
from .._limit import limit
from .._network import network
from .._results import Limit
from .._trajectory import Flow
from .measures import Solved, measured

#: A task hands back what it has after this long, so that progress and checkpoints do not wait for a slow task's end.
TASK_SECONDS = 0.1
#: What `seed_sequence` is for the two functions that can ask for it: two children of the seed of the point.
STREAMS = {"data": 0, "make_network": 1}

#: Sweeps of this process, and what stops their tasks.
_RUNNING: dict[str, _core.Cancellation] = {}


class Row(NamedTuple):
    """A point that was computed, or could not be."""

    number: int
    values: tuple[float, ...]
    success: bool
    status: str
    message: str


class Done(NamedTuple):
    """What a task got through: the first of its points, and whether it was told to stop."""

    rows: list[Row]
    interrupted: bool


@dataclass(frozen=True)
class Source:
    """A function of a point, with the axes that it takes."""

    role: str
    function: Callable[..., Any]
    axes: tuple[str, ...]
    seeded: bool

    def at(self, point: Mapping[str, Any]) -> Any:
        """Its value there."""
        arguments = {name: point[name] for name in self.axes}
        if self.seeded:
            arguments["seed_sequence"] = np.random.SeedSequence(point["seed"], spawn_key=(STREAMS[self.role],))
        return self.function(**arguments)


@dataclass(frozen=True)
class Job:
    """A sweep, but for who computes it. It pickles if the functions in it do."""

    key: str
    make_network: Source
    data: Source | tuple[Any, Any]
    axes: Mapping[str, tuple[Any, ...]]
    measures: Mapping[str, str | Callable[[Any], Any]]
    solve: str
    options: Mapping[str, Any]
    n_jobs: int = 1

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of every axis."""
        return tuple(len(values) for values in self.axes.values())

    def point(self, index: int) -> dict[str, Any]:
        """The point of a row: the last axis runs fastest."""
        where = np.unravel_index(index, self.shape)
        return {name: values[k] for (name, values), k in zip(self.axes.items(), where, strict=True)}


def new_key() -> str:
    """A name for a sweep that no other one has, on any machine."""
    from uuid import uuid4

    return uuid4().hex


def announce(key: str) -> None:
    """Tasks of this sweep may come to this process, which can cancel them."""
    _RUNNING[key] = _core.Cancellation()


def cancel(key: str) -> None:
    """Stop the tasks of this sweep, those that begin only now as well: it stays known as cancelled."""
    _RUNNING[key].cancel()


def forget(key: str) -> None:
    """No task of this sweep is left."""
    del _RUNNING[key]


def run(job: Job, indices: Sequence[int]) -> Done:
    """One task: as many of these points as fit into its time, at least one."""
    cancellation = _RUNNING.get(job.key)
    if cancellation is None:  # another process, whose Ctrl-C comes to itself
        return _run(job, indices, None)
    return cancellation.call(_run, job, indices, cancellation)


def _run(job: Job, indices: Sequence[int], cancellation: _core.Cancellation | None) -> Done:
    rows: list[Row] = []
    until = time.monotonic() + TASK_SECONDS
    try:
        for index in indices:
            row = _row(job, index)
            # Asked after the point, not before: a function of the user may have used what a cancelled call returned.
            if cancellation is not None and cancellation.cancelled:
                return Done(rows, interrupted=True)
            rows.append(row)
            if time.monotonic() >= until:
                break
    except KeyboardInterrupt:
        return Done(rows, interrupted=True)
    return Done(rows, interrupted=False)


def _row(job: Job, index: int) -> Row:
    stage, values = "make_network", []
    try:
        point = job.point(index)
        net = network("make_network(...)", job.make_network.at(point))
        stage = "data"
        X, y = job.data if isinstance(job.data, tuple) else check.data(*pair(job.data.at(point)))
        stage = job.solve
        result: Limit | Flow
        if job.solve == "limit":
            result = limit(net, X, y, n_jobs=job.n_jobs, **job.options)
        else:
            result = gradient_flow(net, X, y, n_jobs=job.n_jobs, **job.options)
        solved = Solved(result, net, X, y, job.n_jobs)
        for name, measure in job.measures.items():
            stage = f"measure {name!r}"
            values.append(measured(measure, solved) if isinstance(measure, str) else _number(measure(result)))
        return Row(index, tuple(values), bool(result.success), str(result.status), result.message)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit and a panic of the core as well: none may cost the other points
        return failed(job, index, stage, error)


def failed(job: Job, index: int, stage: str, error: BaseException) -> Row:
    """A point that could not be computed: NaN, and why."""
    why = " ".join(f"{stage}: {type(error).__name__}: {error}".split()).removesuffix(":")
    return Row(index, (math.nan,) * len(job.measures), success=False, status="failed", message=why)


def pair(data: Any) -> tuple[Any, Any]:
    """X and y, from a pair or from what has them as attributes."""
    if hasattr(data, "X") and hasattr(data, "y"):
        return data.X, data.y
    if isinstance(data, tuple | list) and len(data) == 2:
        return data[0], data[1]
    raise ValueError(f"data must be (X, y), or have the attributes X and y: got {check.shown(data)}")


def _number(value: Any) -> float:
    try:
        found = np.asarray(value)
        if found.size == 1 and found.dtype.kind in "biuf":
            return float(found.reshape(()))
    except (TypeError, ValueError):
        pass
    raise ValueError(f"a measure must be one real number: got {check.shown(value)}")
