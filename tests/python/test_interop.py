"""What comes in from other libraries, and where results can go: every road gives the same bits."""

import copy
import hashlib
import multiprocessing
import pickle
import sys
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest

import implicit_bias as ib
from bitwise import same

DATA = ib.datasets.sparse_regression(n_samples=4, n_features=9, n_nonzero=2, seed=0)
# Small integers: every type holds them exactly, so that every road must lead to the same answer bit by bit.
# Adding 0 makes 0 of -0, which integers do not have.
X, Y = np.rint(3.0 * DATA.X) + 0.0, np.rint(10.0 * DATA.y) + 0.0
NET = ib.DiagonalNetwork.from_scale_shape(9, scale=1e-3, shape=0.5)
TIMES = np.array([0.0, 0.5, 5.0])


class Convertible:
    """Not an array, but it converts to one: all that NumPy asks of a foreign type."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


class Subclass(np.ndarray):
    """An array that is more than an array."""


def unaligned(a):
    shifted = np.frombuffer(b"\0" + a.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(a.shape)
    assert not shifted.flags.aligned
    return shifted


def read_only(a):
    copied = a.copy()
    copied.flags.writeable = False
    return copied


def strided(a):
    wide = np.zeros(tuple(2 * n for n in a.shape))
    every_other = wide[tuple(slice(1, None, 2) for _ in a.shape)]
    every_other[...] = a
    return every_other


def reversed_strides(a):
    flip = (slice(None, None, -1),) * a.ndim
    backwards = a[flip].copy()[flip]
    assert all(stride < 0 for stride in backwards.strides)
    return backwards


def broadcast_back(a):
    """A view with a stride of 0 along an axis of length 1 that was dropped again."""
    return np.broadcast_to(a, (3, *a.shape))[1]


def mapped(a, folder):
    np.save(folder / "mapped.npy", a)
    return np.load(folder / "mapped.npy", mmap_mode="r")


WAYS = {
    "float16": lambda a: a.astype(np.float16),
    "float32": lambda a: a.astype(np.float32),
    "long double": lambda a: a.astype(np.longdouble),
    "int8": lambda a: a.astype(np.int8),
    "int64": lambda a: a.astype(np.int64),
    "unsigned": lambda a: np.abs(a).astype(np.uint16),
    "bool": lambda a: a > 0.0,
    "pandas of bools": lambda a: (pd.DataFrame if a.ndim == 2 else pd.Series)(a > 0.0),
    "polars of bools": lambda a: pl.DataFrame(a > 0.0) if a.ndim == 2 else pl.Series(a > 0.0),
    "column-major": np.asfortranarray,
    "read-only": read_only,
    "strided": strided,
    "negative strides": reversed_strides,
    "broadcast": broadcast_back,
    "unaligned": unaligned,
    "big-endian": lambda a: a.astype(">f8"),
    "big-endian int": lambda a: a.astype(">i4"),
    "list of lists": lambda a: a.tolist(),
    "list of ints": lambda a: a.astype(int).tolist(),
    "tuple": lambda a: tuple(map(tuple, a.tolist())) if a.ndim == 2 else tuple(a.tolist()),
    "list of arrays": list,
    "subclass": lambda a: a.view(Subclass),
    "__array__": Convertible,
    "pandas": lambda a: pd.DataFrame(a) if a.ndim == 2 else pd.Series(a),
    "pandas with labels": lambda a: (
        pd.DataFrame(a, columns=[f"x{i}" for i in range(a.shape[1])]) if a.ndim == 2 else pd.Series(a, name="y")
    ),
    "pandas of ints": lambda a: (pd.DataFrame if a.ndim == 2 else pd.Series)(a.astype(int)),
    "polars": lambda a: pl.DataFrame(a) if a.ndim == 2 else pl.Series(a),
    "memoryview": lambda a: memoryview(np.ascontiguousarray(a)),
}


def digest(thing):
    """What the memory of an input says, wherever it lies; lists by their text."""
    raw = np.asarray(thing)
    return hashlib.sha256(raw.tobytes() + repr((raw.dtype, raw.shape, raw.strides)).encode()).hexdigest()


def answers(X, y):
    """One of everything that takes data."""
    flow = ib.gradient_flow(NET, X, y, TIMES)
    end = ib.limit(NET, X, y)
    return [
        end,
        ib.limit_path([NET, NET], X, y),
        flow,
        flow.distance_bound(),
        ib.check_kkt(NET, X, y, np.linspace(0.0, 1.0, 9)),
        NET.potential().interpolate(X, y),
        ib.baselines.min_l2_norm(X, y),
        ib.baselines.basis_pursuit(X, y),
    ]


def without_clock(thing):
    """A flow counts its seconds, which nothing repeats."""
    if isinstance(thing, ib.Flow):
        thing.stats.pop("seconds", None)
    return thing


def alike(found, expected):
    return all(same(without_clock(a), without_clock(b)) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("way", WAYS)
def test_every_road_in_gives_the_same_bits_and_nothing_is_written_to(way):
    held = np.abs if way == "unsigned" else (lambda a: (a > 0.0).astype(float)) if "bool" in way else np.array
    plain_X, plain_y = held(X), held(Y)
    given_X, given_y = WAYS[way](X), WAYS[way](Y)
    before = digest(given_X), digest(given_y)
    assert alike(answers(given_X, given_y), answers(plain_X, plain_y))
    assert (digest(given_X), digest(given_y)) == before


def test_a_matrix_on_disk_is_read_where_it_lies(tmp_path):
    given = mapped(X, tmp_path)
    assert isinstance(given, np.memmap)
    assert alike(answers(given, Y), answers(X, Y))
    assert np.load(tmp_path / "mapped.npy").tobytes() == X.tobytes()


def test_weights_times_and_points_come_from_anywhere_too():
    weights = np.rint(4.0 * np.random.default_rng(0).standard_normal((4, 9)))
    net = ib.DiagonalNetwork(*weights)
    flow, Q = ib.gradient_flow(net, X, Y, [0, 1, 5]), net.potential()
    point = np.arange(9.0)
    for way in (
        "float32",
        "strided",
        "negative strides",
        "big-endian",
        "list of lists",
        "__array__",
        "pandas",
        "polars",
    ):
        given = ib.DiagonalNetwork(*(WAYS[way](row) for row in weights))
        assert same(given.start, net.start)
        t = WAYS[way](np.array([0.0, 1.0, 5.0]))
        assert same(ib.gradient_flow(given, X, Y, t).beta, flow.beta)
        assert same(Q.gradient(WAYS[way](point)), Q.gradient(point))
        assert same(ib.special.q_diagonal(WAYS[way](point), 0.0), ib.special.q_diagonal(point, 0.0))


REFUSED = {
    "complex": (lambda a: a.astype(complex), "got dtype complex128"),
    "words": (lambda a: a.astype(str), "got dtype <U"),
    "dates": (lambda a: a.astype("datetime64[s]"), "got dtype datetime64"),
    "objects": (lambda a: a.astype(object), "got dtype object"),
    "a frame with words": (lambda a: pd.DataFrame(a).assign(name="a"), "got dtype"),
    "a frame with holes": (lambda a: pd.DataFrame(a).mask(a > 0.0), "entries are NaN or infinite"),
    "polars with holes": (lambda a: pl.DataFrame(a).with_columns(pl.lit(None).alias("x")), "X must be"),
    "ragged": (lambda a: [[1.0, 2.0], [3.0]], "X must be an array of real numbers"),
    "None": (lambda a: None, "X must be an array of real numbers"),
}


@pytest.mark.parametrize("way", REFUSED)
def test_what_is_not_a_matrix_of_numbers_is_refused_by_name(way):
    make, says = REFUSED[way]
    with pytest.raises(ValueError, match="X must be") as caught:
        ib.limit(NET, make(X), Y)
    assert says in str(caught.value)


# Copies


def results():
    flow = ib.gradient_flow(NET, X, Y, TIMES)
    end = ib.limit(NET, X, Y)
    table = ib.sweep(partial(ib.DiagonalNetwork.from_scale_shape, 9), (X, Y), {"scale": [1.0, 1e-9]}, "l1_norm")
    return {
        "network": NET,
        "limit": end,
        "kkt": end.kkt,
        "path": ib.limit_path([NET, NET], X, Y),
        "flow": flow,
        "raw weights": ib.gradient_flow(NET, X, Y, TIMES, method="weights"),
        "without times": ib.gradient_flow(NET, X, Y),
        "parameters": flow.parameters,
        "conserved": flow.conserved_quantities(),
        "interrupt": ib.FlowInterrupted(flow),
        "potential": NET.potential(),
        "neuron potential": ib.NeuronPotential(0.5, [1.0, -1.0]),
        "data": DATA,
        "test data": ib.datasets.azulay_sparse_regression(),
        "status": end.status,
        "sweep": table,
        "interrupted sweep": ib.SweepInterrupted(table),
    }


KINDS = list(results())
COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{
        f"pickle {protocol}": lambda thing, protocol=protocol: pickle.loads(pickle.dumps(thing, protocol))
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)
    },
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("kind", KINDS)
def test_results_are_copied_bit_by_bit(kind, way):
    thing = results()[kind]
    assert same(COPIES[way](thing), thing)


def test_a_copied_flow_and_network_still_compute():
    flow = ib.gradient_flow(NET, X, Y, TIMES)
    for make in COPIES.values():
        again = make(flow)
        assert same(again.parameters, flow.parameters)
        assert same(again.distance_bound(), flow.distance_bound())
        assert same(ib.limit(make(NET), X, Y), ib.limit(NET, X, Y))


def test_results_own_their_arrays():
    given = X.copy()
    end, flow = ib.limit(NET, given, Y), ib.gradient_flow(NET, given, Y, TIMES)
    kept = end.beta.copy(), flow.beta.copy()
    given[...] = 0.0
    assert same(end.beta, kept[0])
    assert same(flow.beta, kept[1])
    for thing in (end.beta, end.multipliers, end.error_bound, flow.t, flow.beta, flow.loss, flow.multipliers):
        assert not np.shares_memory(thing, given)
        assert thing.flags.c_contiguous
        assert thing.flags.writeable


# Threads and processes


def work(log_scale):
    """One problem, with the threads of the core inside it; module level, so that every kind of worker finds it."""
    net = ib.DiagonalNetwork.from_scale_shape(9, log_scale=log_scale)
    return ib.limit(net, X, Y), ib.gradient_flow(net, X, Y, TIMES)


LOG_SCALES = [-2000.0, -30.0, -7.0, 0.0, 3.0, -100.0]


def test_threads_of_python_do_not_disturb_each_other():
    expected = [work(log_scale) for log_scale in LOG_SCALES]
    barrier = threading.Barrier(4)

    def together(log_scales):
        barrier.wait(timeout=60)  # all at once
        return [work(log_scale) for log_scale in log_scales]

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(together, [LOG_SCALES] * 4):
            for one, alone in zip(found, expected, strict=True):
                assert alike(one, alone)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib_gives_the_same_bits(backend):
    expected = [work(log_scale) for log_scale in LOG_SCALES]
    found = joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(work)(log_scale) for log_scale in LOG_SCALES)
    for one, alone in zip(found, expected, strict=True):
        assert alike(one, alone)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_give_the_same_bits_however_they_start(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"{sys.platform} does not {method}")
    # The threads of the core are running when it forks, and a child has none of them.
    expected = [work(log_scale) for log_scale in LOG_SCALES]
    context = multiprocessing.get_context(method)
    with warnings.catch_warnings():
        # Python warns of forks with threads about; that they are harmless here is what is tested.
        warnings.simplefilter("ignore", DeprecationWarning)
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            found = list(pool.map(work, LOG_SCALES, timeout=120))
    for one, alone in zip(found, expected, strict=True):
        assert alike(one, alone)


def test_joblib_hands_large_data_to_its_workers_as_maps_of_read_only_memory():
    found = joblib.Parallel(n_jobs=2, max_nbytes=0)(joblib.delayed(ib.limit)(NET, X, Y) for _ in range(2))
    for one in found:
        assert same(one, ib.limit(NET, X, Y))
