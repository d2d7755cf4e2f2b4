"""Sweeps: the same question at every point of a grid."""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from .. import _validate as check
from . import arguments
from .driver import PROCESSES, Executor, drive, of_processes, own_threads, tasks
from .points import Row
from .progress import reporting
from .result import SweepInterrupted, SweepResult, Table

__all__ = ["SweepInterrupted", "SweepResult", "sweep"]


def sweep(
    make_network: Callable[..., Any],
    data: Any,
    grid: Mapping[str, Any],
    measures: str | Callable[[Any], Any] | Iterable[str | Callable[[Any], Any]] | Mapping[str, Any],
    *,
    solve: str = "limit",
    solve_options: Mapping[str, Any] | None = None,
    executor: Executor | None = None,
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool | Callable[[int, int], object] | None = None,
    on_interrupt: str = "raise",
) -> SweepResult:
    r"""Limits or flows at every point of a grid of scales, shapes, data sets, seeds or anything else.

    .. math:: \text{row}(p) = \text{measures}(\text{solve}(\text{make\_network}(p), \text{data}(p))),
              \qquad p \in \text{grid}_1 \times \text{grid}_2 \times \dots

    Each point is computed by itself, bit by bit as one call of the solver would: neither the order, nor the executor,
    nor `n_jobs` changes a number. A point that fails keeps its exception as its message and costs no other point.

    Parameters
    ----------
    make_network : callable
        ``make_network(**point) -> net``. It is passed the axes that it has parameters for, all of them if it takes
        ``**``.
    data : (X, y), object with attributes X and y, or callable
        The data of all points, or ``data(**point)`` that returns them, called in the same way.
    grid : dict of sequences
        Values of every axis. Each axis must be a parameter of `make_network` or `data`. Values are passed as given;
        ``"seed"`` may also be a number of seeds, 0, 1, ...
    measures : str, callable, list of them, or dict of them by name
        What to keep. A callable is given the result, a `Limit` or a `Flow`, and returns one real number. Names are, of
        the limit or of the last row of the flow: "loss", "residual" (:math:`\max|y - X\beta|`), "l1_norm", "l2_norm",
        "max_norm", "potential_value", "kkt_residual" (the larger of stationarity and feasibility), "error_bound" (the
        largest of all coefficients; of a flow that of the distance to its end), "n_iter" (accepted steps of a flow),
        "time" (of the last row).
    solve : {"limit", "flow"}, default "limit"
        `limit` or `gradient_flow`.
    solve_options : dict, optional
        Options of that function, such as ``{"tol": 1e-9}`` or ``{"t": [0.0, 1.0]}``.
    executor : concurrent.futures.Executor, optional
        Who computes the points: anything with a method ``submit`` that returns futures (threads, processes, loky,
        dask). Threads of this process by default, which compute without the GIL. For processes, `make_network`, `data`
        and `measures` must pickle. It is not shut down.
    n_jobs : int, optional
        Number of threads, all cores (or ``IMPLICIT_BIAS_NUM_THREADS``) by default. With an executor, the number of
        threads of every point, 1 by default.
    checkpoint : path-like, optional
        A file that points are written to as they come in. A rerun of the same sweep takes them from there and computes
        the rest, failed points again. Functions are recognised by their names alone: delete the file when you change
        what they do.
    progress : callable or bool, optional
        ``progress(done, total)`` is called now and then in the calling thread; True shows a bar of tqdm (extra "cli"),
        nothing where standard error is not a terminal.
    on_interrupt : {"raise", "return"}, default "raise"
        What Ctrl-C does: raise `SweepInterrupted`, a `KeyboardInterrupt` with the table so far as its attribute
        ``partial``, or return that table.

    Returns
    -------
    SweepResult
        A mapping of columns, one row a point, "status" and "message" among them.

    Raises
    ------
    ValueError
        If an argument cannot be what it has to be, or `checkpoint` is a file of another sweep.
    OSError
        If `checkpoint` cannot be read or written.
    ImportError
        If ``progress=True`` and tqdm is missing.
    KeyboardInterrupt
        On Ctrl-C, unless ``on_interrupt="return"``.

    See Also
    --------
    limit_path : many starts on one data set, which help each other.

    Notes
    -----
    A function that needs a parameter ``seed_sequence`` is given a `numpy.random.SeedSequence` made from the axis "seed"
    alone: of ``SeedSequence(seed).spawn(2)`` the first for `data`, the second for `make_network`. Points that share a
    seed share their draw, whatever their scale, and data and weights of one seed are independent of each other, which
    two generators made from the same integer are not.

    Examples
    --------
    >>> from functools import partial
    >>> import implicit_bias as ib
    >>> table = ib.sweep(
    ...     partial(ib.DiagonalNetwork.from_scale_shape, 50),
    ...     partial(ib.datasets.sparse_regression, n_samples=10, n_features=50, n_nonzero=2, noise_std=0.0),
    ...     {"scale": [1e2, 1e-2, 1e-12], "seed": 4},
    ...     ["l1_norm", "error_bound"],
    ... )
    >>> table.grid("l1_norm").mean(axis=1).round(2), bool(table["error_bound"].max() < 1e-9)
    (array([2.62, 2.1 , 1.42]), True)
    """
    if executor is not None and (isinstance(executor, type) or not callable(getattr(executor, "submit", None))):
        raise ValueError(f"executor must be a concurrent.futures.Executor or like one: got {check.shown(executor)}")
    threads = 1 if executor is not None and n_jobs is None else check.jobs(n_jobs)
    on_interrupt = check.choice("on_interrupt", on_interrupt, ("raise", "return"))
    job = arguments.job(make_network, data, grid, measures, solve, solve_options)
    if of_processes(executor):
        arguments.pickles(job)
    table = Table(job.axes, job.measures)
    with ExitStack() as stack:
        report = stack.enter_context(reporting(progress))
        saved = None
        if checkpoint is not None:
            # Hashes and JSON, of which a plain sweep has no use.
            from .checkpoint import Checkpoint

            saved = stack.enter_context(Checkpoint(checkpoint, job))
        for row in saved.rows if saved else ():
            table.add(row)
        report(table.done, table.total)

        def take(rows: list[Row]) -> None:
            if not rows:
                return
            if saved:
                saved.add(rows)
            for row in rows:
                table.add(row)
            report(table.done, table.total)

        todo = table.todo()
        try:
            if executor is not None:
                drive(replace(job, n_jobs=threads), tasks(todo, PROCESSES), executor, take)
            elif todo:
                workers = min(threads, len(todo))
                with own_threads(workers) as here:
                    drive(replace(job, n_jobs=threads // workers), tasks(todo, workers), here, take)
        except KeyboardInterrupt:
            if on_interrupt == "raise":
                raise SweepInterrupted(table.result()) from None
    return table.result()
