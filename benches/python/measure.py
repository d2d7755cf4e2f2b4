"""How speeds and memory are measured: by turns, as medians, in the private memory of the process."""

import contextlib
import math
import os
import re
import statistics
import threading
import time
import types
from pathlib import Path

from threadpoolctl import threadpool_limits


def interleaved(repeats, ours, theirs):
    """Median seconds and last result of every competitor, which take turns; `theirs` use BLAS."""
    turns = [(name, None, run) for name, run in ours.items()]
    turns += [(name, threads, run) for name, run in theirs.items() for threads in (1, os.cpu_count())]
    seconds, results = {turn[:2]: [] for turn in turns}, {}
    for _ in range(repeats):
        for name, threads, run in turns:
            with threadpool_limits(threads, user_api="blas"):
                began = time.perf_counter()
                results[name] = run()
                seconds[name, threads].append(time.perf_counter() - began)
    medians = {}
    for (name, _), values in seconds.items():
        medians[name] = min(medians.get(name, math.inf), statistics.median(values))
    return medians, results


def duration(seconds):
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def timed(run):
    began = time.perf_counter()
    result = run()
    return time.perf_counter() - began, result


@contextlib.contextmanager
def private_memory():
    """Peak of this process's private memory over what it had, in bytes, sampled; NaN where the system does not say."""
    result, done = types.SimpleNamespace(peak=math.nan), threading.Event()
    if not Path("/proc/self/status").exists():
        yield result
        return

    def now():
        return 1024 * int(re.search(r"RssAnon:\s+(\d+)", Path("/proc/self/status").read_text())[1])

    def watch():
        while not done.wait(0.01):
            result.peak = max(result.peak, now() - before)

    before, result.peak = now(), 0
    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield result
    finally:
        done.set()
        thread.join()
