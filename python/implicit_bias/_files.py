"""Files of the command line: arrays in, results out. What is wrong with a file is one sentence that names it.

Nothing here knows a network or a solver; whether the numbers make sense is checked by the library, as for every caller.
"""

import csv
import io
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from . import _double_double as dd
from . import _validate as check
from ._validate import Array

#: A column of a table: numbers or words.
Column = np.ndarray[Any, np.dtype[Any]] | Sequence[object]

READ = (".npy", ".npz", ".csv")
WRITTEN = (".npz", ".csv", ".json")


class FileError(Exception):
    """A file that cannot be read or written, or does not hold what it should."""


@dataclass(frozen=True)
class Results:
    """What a command computed: everything by name, and the part of it that is a table, column by column."""

    everything: Mapping[str, object]
    table: Mapping[str, Column]


#: What a file holds of numbers: binary64, texts, or both parts of them.
Numbers = Any


def read_data(X: Path, y: Path | None, X_key: str, y_key: str, exactly: bool = False) -> tuple[Array, Numbers]:
    """X and y from a file each, or both from one: an .npz with two arrays, or a .csv with a column of targets.

    With `exactly` the targets keep all digits that are written, in text or in a column or an array ``<y>_low``.
    """
    targets: Numbers
    if y is not None:
        features, targets = read_array(X, X_key), read_vector(y, y_key, exactly)
    elif X.suffix.lower() == ".npz":
        features, targets = read_array(X, X_key), read_vector(X, y_key, exactly)
    elif X.suffix.lower() == ".csv":
        features, targets = _split(X, y_key, exactly)
    else:
        raise FileError(f"{X} holds one array: name the file of the targets after it")
    try:
        if exactly:
            features, *parts = dd.data(features, targets)
            return features, tuple(parts)
        return check.data(features, targets)
    except ValueError as error:
        raise FileError(f"{X}{f' and {y}' if y else ''}: {error}") from error


def read_array(path: Path, key: str) -> np.ndarray[Any, Any]:
    """The array in a file, `key` where it holds several. An .npy is mapped, not loaded: it may be large."""
    kind = path.suffix.lower()
    if kind not in READ:
        raise FileError(f"{path} must end in one of {', '.join(READ)}")
    if kind == ".csv":
        return _read_csv(path).values
    with _loading(path):
        # Pickles stay closed: reading data must not run code.
        if kind == ".npy":
            return np.lib.format.open_memmap(path, mode="r")
        with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
            if key not in found.files:
                raise FileError(f"{path} has no array {key!r}: it has {', '.join(found.files) or 'none'}")
            return np.asarray(found[key])


def read_vector(path: Path, key: str, exactly: bool = False) -> Numbers:
    """An array of one axis; one column or one row of a table is one. With `exactly` texts, or both parts of numbers."""
    if path.suffix.lower() == ".csv":
        table = _read_csv(path)
        if len(table.names) == 2 and low_of(key) in table.names:
            high, low = (table.column(name) for name in sorted(table.names, key=low_of(key).__eq__))
            return (high, low) if exactly else high
        if exactly and 1 in table.values.shape:
            return np.array(table.texts, dtype=object).ravel()
        return table.values.ravel() if 1 in table.values.shape else table.values
    if exactly and path.suffix.lower() == ".npz" and low_of(key) in _names(path):
        return read_vector(path, key), read_vector(path, low_of(key))
    found = read_array(path, key)
    return found.ravel() if found.ndim == 2 and 1 in found.shape else found


def low_of(name: str) -> str:
    """The name of what binary64 leaves out of an array."""
    return f"{name}_low"


def read_columns(
    path: Path, names: Sequence[str], optional: Sequence[str] = (), exactly: bool = False
) -> dict[str, Numbers]:
    """Arrays by name, from an .npz or from a .csv with a header; those in `optional` may be missing.

    With `exactly` those of a .csv are texts, and those with a companion ``<name>_low`` both parts of numbers.
    """
    wanted = (*names, *optional)
    found: dict[str, Numbers]
    if path.suffix.lower() == ".csv":
        table = _read_csv(path)
        here = table.names
        read = table.column if not exactly else table.column_of_texts
        found = {name: read(name) for name in here if name in wanted}
        low: Callable[[str], Array] = table.column
    elif path.suffix.lower() == ".npz":
        here = _names(path)
        found = {name: read_array(path, name) for name in wanted if name in here}
        low = partial(read_array, path)
    else:
        raise FileError(f"{path} must end in .npz or .csv")
    missing = [name for name in names if name not in found]
    if missing:
        raise FileError(f"{path} must hold {', '.join(names)}: {', '.join(missing)} not found")
    for name in found if exactly else ():
        if low_of(name) in here:
            found[name] = (np.asarray(found[name], dtype=np.float64), low(low_of(name)))
    return found


def _names(path: Path) -> list[str]:
    with _loading(path), path.open("rb") as file, np.load(file, allow_pickle=False) as found:
        return list(found.files)


@contextmanager
def _loading(path: Path) -> Iterator[None]:
    """Whatever a damaged file makes NumPy and zipfile raise, a `SyntaxError` among it, is about the file."""
    try:
        yield
    except (FileError, MemoryError):
        raise
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or 'it is cut short'}") from error
    except Exception as error:
        raise FileError(f"{path} is not a NumPy file of numbers, or is damaged or cut short") from error


@dataclass(frozen=True)
class _Table:
    names: list[str]
    values: Array
    #: What the values were read from.
    texts: list[list[str]]

    def column(self, name: str) -> Array:
        return self.values[:, self.names.index(name)]

    def column_of_texts(self, name: str) -> np.ndarray[Any, Any]:
        k = self.names.index(name)
        return np.array([row[k].strip() for row in self.texts], dtype=object)


def _split(path: Path, y_key: str, exactly: bool) -> tuple[Array, Numbers]:
    """Features and targets of one table: the column `y_key` are targets, `<y_key>_low` is what they leave out."""
    table = _read_csv(path)
    if not table.names:
        raise FileError(f"{path} has no header, so no column {y_key!r}: name the file of the targets after it")
    if table.names.count(y_key) != 1:
        shown = check.shown(", ".join(table.names))
        raise FileError(f"{path} must have one column {y_key!r} of targets: it has {shown}")
    low = low_of(y_key)
    features = np.delete(table.values, [k for k, name in enumerate(table.names) if name in (y_key, low)], axis=1)
    if not exactly:
        return features, table.column(y_key)
    return features, (table.column(y_key), table.column(low)) if low in table.names else table.column_of_texts(y_key)


def _read_csv(path: Path) -> _Table:
    """Numbers between commas, with or without a line of names.

    A line of names is one without a number: a first line that is half numbers is a mistake, and taking it for a header
    would lose a sample in silence.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:  # spreadsheets write a byte order mark
            rows = csv.reader(file, skipinitialspace=True)
            lines = ((rows.line_num, row) for row in rows if row)
            number, first = next(lines, (0, []))
            names = [] if any(map(_is_number, first)) else [name.strip() for name in first]
            if _counts(first):
                raise FileError(f"{path}: line {number} counts the columns, is it a header? Give them names or drop it")
            texts = [] if names else [(number, first)]
            texts += lines
            numbers = [_numbers(path, number, row, len(first)) for number, row in texts]
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileError(f"{path} is not a text file of numbers between commas") from error
    if not first or not numbers:
        raise FileError(f"{path} holds no numbers")
    return _Table(names, np.array(numbers), [row for _, row in texts])


def _numbers(path: Path, line: int, row: Sequence[str], width: int) -> Array:
    if len(row) != width:
        raise FileError(f"{path}: line {line} has {len(row)} entries where the first has {width}")
    try:
        return np.array([float(entry) for entry in row])
    except ValueError:
        k = next(k for k, entry in enumerate(row) if not _is_number(entry))
        hint = " (numbers stand between commas)" if any(c in row[k] for c in ";\t ") else ""
        raise FileError(f"{path}: line {line}, column {k + 1} is not a number: {check.shown(row[k])}{hint}") from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _counts(row: Sequence[str]) -> bool:
    """Whether a line is 0, 1, 2, ...: what pandas writes above columns that nobody named, and hardly ever a sample."""
    return len(row) > 2 and [entry.strip() for entry in row] == [str(k) for k in range(len(row))]


def writable(out: Path | None, *inputs: Path | None) -> None:
    """Refuse a place that results cannot or should not be written to before they are computed, not after."""
    if out is None:
        return
    if any(path is not None and path.exists() and out.exists() and out.samefile(path) for path in inputs):
        raise ValueError(f"--out must not be a file that is read: got {str(out)!r}")
    if out.suffix.lower() not in WRITTEN:
        raise ValueError(f"--out must end in one of {', '.join(WRITTEN)}: got {str(out)!r}")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"--out {out} cannot be written: {error.strerror}") from error
    if out.is_dir() or not os.access(out.parent, os.W_OK):
        raise FileError(f"--out {out} cannot be written: {'it is a folder' if out.is_dir() else 'no permission'}")


def write(out: Path, results: Results) -> None:
    """All of it as .npz or .json, or its table as .csv. The file is there whole or not at all."""
    kind = out.suffix.lower()
    part = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        try:
            if kind == ".npz":
                arrays: dict[str, Any] = {name: _array(value) for name, value in _given(results).items()}
                with part.open("wb") as file:
                    np.savez(file, **arrays)
            else:
                text = as_csv(results.table) if kind == ".csv" else as_json(results)
                part.write_text(text, encoding="utf-8")
            part.replace(out)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise FileError(f"--out {out} cannot be written: {error.strerror}") from error


def as_csv(table: Mapping[str, Column]) -> str:
    """A table as text; a number reads back as itself."""
    text = io.StringIO()
    write = csv.writer(text, lineterminator="\n")
    write.writerow(table)
    columns = [column.tolist() if isinstance(column, np.ndarray) else column for column in table.values()]
    write.writerows(zip(*columns, strict=True))
    return text.getvalue()


def as_json(results: Results) -> str:
    """Everything as JSON, which has no infinity and no NaN: they are null."""
    return json.dumps({name: _plain(value) for name, value in _given(results).items()}, allow_nan=False) + "\n"


def _given(results: Results) -> dict[str, object]:
    return {name: value for name, value in results.everything.items() if value is not None}


def _array(value: object) -> np.ndarray[Any, Any]:
    """Words as text: NumPy would pickle them as objects, and nobody should have to open a pickle."""
    found = np.asarray(value)
    return found.astype(str) if found.dtype == object else found


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
