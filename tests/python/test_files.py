"""Files of the command line: numbers survive the trip, and no bytes whatever are more than one kind of error."""

import io
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from implicit_bias import _files
from implicit_bias._files import FileError, Results

# The folder of a test is shared by its examples, each of which writes its file anew.
SHARED = settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
ROWS = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=width, max_size=width),
        min_size=1,
        max_size=5,
    )
)


@SHARED
@given(ROWS)
def test_a_table_reads_back_bit_by_bit(tmp_path, rows):
    path, values = tmp_path / "a.csv", np.array(rows)
    path.write_text(_files.as_csv({f"column {k}": column for k, column in enumerate(values.T)}), encoding="utf-8")
    assert _files.read_array(path, "X").tobytes() == values.tobytes()


@SHARED
@given(ROWS)
def test_results_read_back_bit_by_bit(tmp_path, rows):
    values = np.array(rows)
    results = Results({"beta": values, "number": values[0, 0], "word": "a, b", "nothing": None}, {"beta": values[:, 0]})
    for kind in ("npz", "json", "csv"):
        _files.write(tmp_path / f"a.{kind}", results)
    with np.load(tmp_path / "a.npz") as found:
        assert sorted(found.files) == ["beta", "number", "word"]
        assert found["beta"].tobytes() == values.tobytes()
    found = json.loads((tmp_path / "a.json").read_text())
    assert np.array(found["beta"]).tobytes() == values.tobytes()
    assert (found["number"], found["word"]) == (values[0, 0], "a, b")
    assert _files.read_array(tmp_path / "a.csv", "X").ravel().tobytes() == values[:, 0].tobytes()


def test_words_with_commas_quotes_and_lines_stay_one_entry(tmp_path):
    import csv

    words = ["plain", "a, b", 'say "a"', "two\nlines", ""]
    (tmp_path / "a.csv").write_text(_files.as_csv({"word": words, "none": [None] * 5}), newline="")
    with (tmp_path / "a.csv").open(newline="") as file:
        assert [row["word"] for row in csv.DictReader(file)] == words


def saved(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays) if len(arrays) > 1 else np.save(file, *arrays.values())
    return file.getvalue()


WHOLE = {"npy": saved(X=np.arange(6.0).reshape(2, 3)), "npz": saved(X=np.arange(6.0).reshape(2, 3), y=np.ones(2))}
WHOLE["csv"] = b"a,b,y\n1,2,3\n4,5,6\n"


@SHARED
@given(st.sampled_from(sorted(WHOLE)), st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tmp_path, kind, content):
    (tmp_path / f"a.{kind}").write_bytes(content)
    read_or_refused(tmp_path / f"a.{kind}")


@SHARED
@given(st.sampled_from(sorted(WHOLE)), st.data())
def test_a_damaged_file_is_read_or_refused(tmp_path, kind, data):
    content = bytearray(WHOLE[kind])
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / f"a.{kind}"
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    read_or_refused(path)


def read_or_refused(path):
    """Nothing but numbers, or a `FileError` of one line that names the file."""
    try:
        X, y = _files.read_data(path, None if path.suffix != ".npy" else path, "X", "y")
    except FileError as error:
        line = str(error)
    else:
        line = str(path)
        assert X.dtype == y.dtype == np.float64
        assert np.isfinite(X).all()
        assert np.isfinite(y).all()
    assert str(path) in line
    assert len(line.splitlines()) == 1


def test_an_array_on_disk_is_mapped_not_loaded(tmp_path):
    np.save(tmp_path / "X.npy", np.ones((3, 2)))
    assert isinstance(_files.read_array(tmp_path / "X.npy", "X"), np.memmap)


def test_a_half_written_file_never_has_the_name_of_a_whole_one(tmp_path):
    class Unwritable:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("in the middle of it")

    with pytest.raises(RuntimeError):
        _files.write(tmp_path / "a.npz", Results({"first": np.ones(3), "second": Unwritable()}, {}))
    assert not list(tmp_path.iterdir())
