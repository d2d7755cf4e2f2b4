r"""The points of a sweep that are done, in a file that a later run of the same sweep goes on from.

One line of JSON for the sweep, then one for every point that was computed. A line is written as a whole when its point
comes in: a kill costs the points that were being computed, and at most leaves half a line, which the next run drops.
Failed points are not written: the next run tries them again. JSON numbers are as Python writes them, the shortest that
reads back as the same float, and NaN and Infinity.
"""

import hashlib
import inspect
import json
import os
import pickle
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from .. import _validate as check
from .points import Job, Row

FORMAT = "implicit_bias sweep 1"


class Checkpoint:
    """An open file of one sweep."""

    def __init__(self, path: str | os.PathLike[str], job: Job) -> None:
        if not isinstance(path, str | os.PathLike):
            raise ValueError(f"checkpoint must be a path: got {check.shown(path)}")
        self._path, self._sweep, self._width = Path(path), _identity(job), len(job.measures)
        self._total = int(np.prod(job.shape))
        text = self._path.read_bytes() if self._path.exists() else b""
        header = self._line({"format": FORMAT, **self._sweep})
        whole = text[: text.rfind(b"\n") + 1]
        if not whole and not header.startswith(text):
            raise self._damaged(1)
        self.rows = self._read(whole.decode("utf-8", errors="replace").splitlines())
        # From here on it is known to be ours: what is dropped is half a line of a run that was killed.
        self._file = open(self._path, "r+b" if text else "wb")  # noqa: SIM115
        self._file.truncate(len(whole))
        self._file.seek(len(whole))
        if not whole:
            self._write(header)

    def add(self, rows: Iterable[Row]) -> None:
        """Write points that came in, before anything else happens to them."""
        self._write(b"".join(self._line(row._asdict()) for row in rows if row.status != "failed"))

    @staticmethod
    def _line(content: dict[str, Any]) -> bytes:
        return json.dumps(content).encode() + b"\n"

    def _write(self, lines: bytes) -> None:
        self._file.write(lines)
        self._file.flush()

    def _read(self, lines: list[str]) -> list[Row]:
        if not lines:
            return []
        head = self._parsed(1, lines[0])
        if not isinstance(head, dict) or head.get("format") != FORMAT:
            raise ValueError(f"checkpoint must be a file of a sweep, or a new one: got '{self._path}'")
        for name, mine in self._sweep.items():
            if head.get(name) != mine:
                raise ValueError(
                    f"checkpoint must be a file of this sweep: '{self._path}' is of one with other {name}; "
                    "delete it, or name another file"
                )
        rows = {}
        for number, line in enumerate(lines[1:], start=2):
            row = self._row(number, line)
            rows[row.number] = row
        return list(rows.values())

    def _row(self, number: int, line: str) -> Row:
        try:
            row = Row(**self._parsed(number, line))
            kinds = [type(part) for part in row]
            if kinds == [int, list, bool, str, str] and 0 <= row.number < self._total:
                values = tuple(float(value) for value in row.values)
                if len(values) == self._width:
                    return row._replace(values=values)
        except (TypeError, ValueError):
            pass
        raise self._damaged(number)

    def _parsed(self, number: int, line: str) -> Any:
        try:
            return json.loads(line)
        except json.JSONDecodeError:
            raise self._damaged(number) from None

    def _damaged(self, number: int) -> ValueError:
        return ValueError(
            f"checkpoint must be a file of a sweep: line {number} of '{self._path}' is not one of its lines"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def _identity(job: Job) -> dict[str, str]:
    """What makes two sweeps the same: values and arrays by what they hold, functions by their name."""
    parts = {
        "grid": {name: list(values) for name, values in job.axes.items()},
        "measures": dict(job.measures),
        "solver": [job.solve, dict(job.options)],
        "make_network": job.make_network,
        "data": job.data,
    }
    found = {}
    for name, part in parts.items():
        digest = hashlib.sha256()
        _feed(digest, part)
        found[name] = digest.hexdigest()
    return found


def _feed(digest: Any, thing: Any) -> None:
    """Add `thing` to a digest: what kind it is, how much of it there is, and all of it."""
    parts: list[Any] | None = None
    if is_dataclass(thing) and not isinstance(thing, type):
        parts = [type(thing), *(getattr(thing, part.name) for part in fields(thing))]
    elif isinstance(thing, partial):
        parts = [thing.func, thing.args, thing.keywords]
    elif isinstance(thing, Mapping):
        parts = [list(item) for item in thing.items()]
    elif isinstance(thing, list | tuple) or (isinstance(thing, np.ndarray) and thing.dtype == object):
        parts = list(thing)
    if parts is not None:
        digest.update(f"{len(parts)} parts ".encode())
        for part in parts:
            _feed(digest, part)
    elif isinstance(thing, np.ndarray):
        digest.update(f"array {thing.dtype.str} {thing.shape} ".encode())
        digest.update(np.ascontiguousarray(thing))
    elif thing is None or isinstance(thing, bool | int | float | complex | str | bytes):
        digest.update(f"{type(thing).__qualname__} {thing!r} ".encode())
    elif inspect.ismethod(thing):
        _feed(digest, [thing.__func__, thing.__self__])
    elif isinstance(thing, type) or inspect.isroutine(thing):
        digest.update(f"function {thing.__module__}.{thing.__qualname__} ".encode())
    else:
        digest.update(f"object {len(held := _held(thing))} ".encode() + held)


def _held(thing: Any) -> bytes:
    """What an object of some class holds. Its `repr` may leave that out, or be its address."""
    try:
        return pickle.dumps(thing, protocol=4)
    except Exception as error:
        raise ValueError(f"checkpoint must be None with values that cannot be written down: {error}") from error
