"""Hands the points of a sweep to whoever computes them, and listens. Knows no network and no solver.

A task is a few points. It is handed back early when it takes long (`points.TASK_SECONDS`), and what is left of it is
handed out again: a point of 0.3 ms does not pay for a queue, and one of ten seconds does not hold up the next.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

from . import points
from .points import Job, Row

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

#: Most points of a task.
TASK_POINTS = 32
#: Workers to expect of an executor, which cannot be asked how many it has: tasks are cut for as many.
PROCESSES = 32
#: How often an idle wait looks up: on Windows Ctrl-C does not end a wait.
LISTEN_SECONDS = 0.1
#: How long an interrupted sweep waits for tasks that were told to stop to hand in what they have.
GRACE_SECONDS = 0.1


@contextmanager
def own_threads(n_workers: int) -> Iterator["ThreadPoolExecutor"]:
    """Threads of this process. They compute at the same time, for the core holds no GIL while it does."""
    from concurrent.futures import ThreadPoolExecutor

    threads = ThreadPoolExecutor(n_workers, thread_name_prefix="implicit_bias.sweep")
    try:
        yield threads
    except BaseException:
        threads.shutdown(wait=False, cancel_futures=True)  # a function of the user may take its time
        raise
    threads.shutdown()


class Executor(Protocol):
    """As much of `concurrent.futures.Executor` as is used; those of other libraries have it too."""

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Any: ...


def of_processes(executor: Executor | None) -> bool:
    """Whether it sends what it is given to other processes by plain pickle."""
    if executor is None:
        return False
    from concurrent.futures import ProcessPoolExecutor

    return isinstance(executor, ProcessPoolExecutor)


def tasks(indices: Sequence[int], n_workers: int) -> Iterator[Sequence[int]]:
    """The points, cut so that every one of the workers comes to eight tasks or more."""
    size = max(1, min(TASK_POINTS, len(indices) // (8 * n_workers)))
    return (indices[k : k + size] for k in range(0, len(indices), size))


def drive(job: Job, cut: Iterator[Sequence[int]], executor: Executor, take: Callable[[list[Row]], None]) -> None:
    """Compute the points of all tasks. Rows are taken in the thread that calls, as they come.

    Whatever ends it early (Ctrl-C, an exception of `take`), no task is left waiting, and those that run were told.
    """
    desk = _Desk(job, executor)
    points.announce(job.key)
    try:
        for task in cut:
            take(desk.hand_out(task))
        while desk.waiting:
            take(desk.next(LISTEN_SECONDS))
    except BaseException as stop:
        points.cancel(job.key)
        desk.close()
        if isinstance(stop, KeyboardInterrupt):
            until = time.monotonic() + GRACE_SECONDS
            while desk.waiting and (left := until - time.monotonic()) > 0.0:
                take(desk.next(left))
        raise
    points.forget(job.key)


class _Desk:
    """Where tasks are handed out and handed in."""

    def __init__(self, job: Job, executor: Executor) -> None:
        self.waiting: dict[int, tuple[Any, Sequence[int]]] = {}
        self._job, self._executor, self._open = job, executor, True
        self._tickets, self._done = count(), SimpleQueue[int]()

    def hand_out(self, task: Sequence[int]) -> list[Row]:
        """Submit a task. An executor that broke down takes none: there are rows at once then, which say so."""
        from concurrent.futures import BrokenExecutor

        try:
            future = self._executor.submit(points.run, self._job, task)
        except BrokenExecutor as error:
            return self._failed(task, error)
        ticket = next(self._tickets)
        self.waiting[ticket] = future, task
        future.add_done_callback(lambda _: self._done.put(ticket))
        return []

    def next(self, seconds: float) -> list[Row]:
        """The rows of the next task that is handed in; what is left of it is handed out again. None after a while."""
        from concurrent.futures import CancelledError

        try:
            future, task = self.waiting.pop(self._done.get(timeout=seconds))
        except (Empty, KeyError):  # nothing yet, or a task that was withdrawn
            return []
        try:
            rows, interrupted = future.result()
        except (CancelledError, KeyboardInterrupt):  # the latter of a worker process, before it came to its task
            return []
        except Exception as error:
            return self._failed(task, error)
        left = task[len(rows) :]
        if left and self._open and not interrupted:
            return [*rows, *self.hand_out(left)]
        return list(rows)

    def close(self) -> None:
        """Withdraw what nobody has begun, and hand out nothing more."""
        self._open = False
        for ticket, (future, _) in list(self.waiting.items()):
            if future.cancel():
                del self.waiting[ticket]

    def _failed(self, task: Sequence[int], error: BaseException) -> list[Row]:
        return [points.failed(self._job, index, "executor", error) for index in task]
