"""The table of speeds: the package and the programs it is measured against, on the same data, in one run.

usage: python report.py [--repeats 7] [--weights-seconds 60]     prints Markdown

Competitors take turns (first all of them once, then all of them again), so that a busy moment of the machine hits each
alike; a ratio is one of medians. NumPy and SciPy programs take their turns with one BLAS thread and with all of them,
and the faster setting counts: on a machine that does anything else besides, BLAS threads wait for each other, and its
default can be five times slower than one thread.
"""

import argparse
import math
import os
import platform
import tempfile
from functools import partial
from pathlib import Path

# Settings of this kind make OpenBLAS several times slower on some machines: a baseline must not be handicapped.
for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(name, None)

import baselines  # noqa: E402
import neurons  # noqa: E402
import numpy as np  # noqa: E402
from measure import duration, interleaved, private_memory, timed  # noqa: E402
from scipy.linalg import cho_factor  # noqa: E402

import implicit_bias as ib  # noqa: E402

SHAPES, SCALES = (0.0, 0.5, 0.7, 0.9, 0.99), np.logspace(-5, -0.6, 20)
SCALE = 1e-12


def cells():
    """(scale, shape, ln kappa) of the hundred cells of the paper's figure."""
    return [
        (float(scale), shape, math.log(4 * scale * (1 + shape**2) / (1 - shape**2)))
        for shape in SHAPES
        for scale in SCALES
    ]


def limit_rows(data, repeats):
    grid = cells()
    nets = [ib.DiagonalNetwork.from_scale_shape(1000, scale=scale, shape=shape) for scale, shape, _ in grid]
    log_kappas = [k for _, _, k in grid]
    X, y = data.X, data.y
    seconds, found = interleaved(
        repeats,
        {
            "one_by_one": lambda: [ib.limit(net, X, y) for net in nets],
            "no_bounds": lambda: [ib.limit(net, X, y, bounds=False) for net in nets],
            "path": lambda: ib.limit_path(nets, X, y),
            "path_no_bounds": lambda: ib.limit_path(nets, X, y, bounds=False),
        },
        {
            "numpy": lambda: [baselines.dual_newton(X, y, k) for k in log_kappas],
            "numpy_path": lambda: baselines.newton_path(X, y, log_kappas),
        },
    )
    for ours, theirs in zip(found["path"].beta, found["numpy"], strict=True):
        assert np.abs(ours - theirs.beta).max() < 1e-9  # the same problem was solved
    systems = {
        "numpy": sum(r.systems for r in found["numpy"]),
        "numpy_path": sum(r.systems for r in found["numpy_path"]),
        "one_by_one": sum(r.n_iter for r in found["one_by_one"]),
        "no_bounds": sum(r.n_iter for r in found["no_bounds"]),
        "path": int(found["path"].n_iter.sum()),
        "path_no_bounds": int(found["path_no_bounds"].n_iter.sum()),
    }
    for name, what, reach in (
        ("one_by_one", "100 limits one at a time, with bounds", "2.5"),
        ("no_bounds", "100 limits one at a time, without bounds", ""),
        ("path", "100 limits by `limit_path`, with bounds", "4"),
        ("path_no_bounds", "100 limits by `limit_path`, without bounds", "6"),
    ):
        for base, title in (("numpy", "NumPy dual Newton from 0"), ("numpy_path", "the same along the path")):
            yield (what, duration(seconds[name]), f"{systems[name]} systems", title, duration(seconds[base]),
                   f"{systems[base]} systems", seconds[base] / seconds[name], reach)  # fmt: skip


def deep_rows(data, repeats):
    deep, shallow = (
        ib.DiagonalNetwork.from_scale_shape(1000, log_scale=k) for k in (-100000 * math.log(10), math.log(SCALE))
    )
    seconds, found = interleaved(
        5 * repeats,
        {"deep": lambda: ib.limit(deep, data.X, data.y), "shallow": lambda: ib.limit(shallow, data.X, data.y)},
        {"system": lambda: cho_factor((data.X * np.abs(data.X[0])) @ data.X.T)},
    )
    yield ("limit at scale 1e-12", duration(seconds["shallow"]), f"{found['shallow'].n_iter} systems",
           "limit at scale 10^-100000", duration(seconds["deep"]), f"{found['deep'].n_iter} systems",
           seconds["deep"] / seconds["shallow"], "below 2.5")  # fmt: skip
    each = seconds["shallow"] / found["shallow"].n_iter
    yield ("one `X diag(s) Xᵀ` + Cholesky by BLAS", duration(seconds["system"]), "1 system",
           "one iteration of `limit` (all of it, by systems)", duration(each), "1 system",
           each / seconds["system"], "below 2")  # fmt: skip


def flow_rows(data, repeats, weights_seconds):
    X, y = data.X, data.y
    net, log_kappa = ib.DiagonalNetwork.from_scale_shape(1000, scale=SCALE), math.log(4 * SCALE)
    baselines.radau_tableau(7)  # not part of a run
    seconds, found = interleaved(
        repeats,
        {"ours": lambda: ib.gradient_flow(net, X, y)},
        {
            "radau": lambda: baselines.radau_flow(X, y, log_kappa),
            "lsoda_jacobian": lambda: baselines.lsoda_flow(X, y, log_kappa, jacobian=True),
        },
    )
    ours = found["ours"]
    more, found_more = interleaved(
        1,
        {},
        {
            "lsoda": lambda: baselines.lsoda_flow(X, y, log_kappa),
            "weights": lambda: baselines.weights_flow(X, y, math.sqrt(SCALE), ours.t[-1], seconds=weights_seconds),
        },
    )
    seconds, found = seconds | more, found | found_more
    assert np.abs(ours.beta[-1] - found["radau"].beta).max() < 1e-8
    counts = f"{ours.stats['accepted']} steps, {ours.stats['newton_systems']} systems, {ours.stats['rhs']} rhs"
    for name, title, reach in (
        ("radau", "NumPy Radau-13", "2"),
        ("lsoda", "SciPy LSODA on the dual", "40"),
        ("lsoda_jacobian", "the same with its Jacobian", ""),
        ("weights", "SciPy DOP853 on the raw weights", "100"),
    ):
        run = found[name]
        unfinished = "" if run.finished else f", stopped at t = {run.t:.2g} of {ours.t[-1]:.2g}: a lower bound"
        yield ("flow to 1e-12, scale 1e-12, rtol 1e-10", duration(seconds["ours"]), counts, title,
               duration(seconds[name]), f"{run.accepted} steps, {run.rhs} rhs{unfinished}",
               seconds[name] / seconds["ours"], reach)  # fmt: skip


def wide_data(n_features, folder=None):
    """N = 200; on disk where a folder is given."""
    random = np.random.default_rng(3)
    if folder is None:
        X = random.standard_normal((200, n_features))
    else:
        X = np.lib.format.open_memmap(Path(folder) / "X.npy", "w+", dtype=float, shape=(200, n_features))
        for row in X:
            row[:] = random.standard_normal(n_features)
    return X, X[:, :5] @ np.full(5, 5**-0.5) + 0.1 * random.standard_normal(200)


def wide_rows(repeats, log_kappa=-27.0):
    d = 50_000
    X, y = wide_data(d)
    net = ib.DiagonalNetwork.from_scale_shape(d, log_scale=log_kappa - math.log(4))
    seconds, found = interleaved(
        max(3, repeats // 2),
        {"bounds": lambda: ib.limit(net, X, y), "none": lambda: ib.limit(net, X, y, bounds=False)},
        {"numpy": lambda: baselines.dual_newton(X, y, log_kappa)},
    )
    assert np.abs(found["bounds"].beta - found["numpy"].beta).max() < 1e-9
    for name, what, reach in (("bounds", "with", "3"), ("none", "without", "")):
        yield (f"limit, d = 50,000, N = 200, ln κ = −27, {what} bounds", duration(seconds[name]),
               f"{found[name].n_iter} systems", "NumPy dual Newton from 0", duration(seconds["numpy"]),
               f"{found['numpy'].systems} systems", seconds["numpy"] / seconds[name], reach)  # fmt: skip


def huge_rows(log_kappa=-27.0):
    """Memory and passes at d = 1,000,000, X on disk: how often X could have been read in the time, plainly."""
    d = 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        X, y = wide_data(d, folder)
        net = ib.DiagonalNetwork.from_scale_shape(d, log_scale=log_kappa - math.log(4))
        read = min(timed(lambda: [row.sum() for row in X])[0] for _ in range(3))
        for bounds in (True, False):
            with private_memory() as memory:
                took, end = timed(partial(ib.limit, net, X, y, bounds=bounds))
            assert end.success
            yield (f"limit, d = 1,000,000, N = 200, {'with' if bounds else 'without'} bounds", duration(took),
                   f"{end.n_iter} systems, private memory {memory.peak / X.nbytes:.2f} of X", "a plain read of X",
                   duration(read), f"{took / read:.0f} of them", read / took, "memory below 0.5")  # fmt: skip


def overhead_rows(repeats):
    """What a sweep costs beyond its limits: the same points, and the same numbers of them, in a plain loop."""
    data = ib.datasets.sparse_regression(n_samples=20, n_features=200, n_nonzero=3, seed=0)
    make_network = partial(ib.DiagonalNetwork.from_scale_shape, 200)
    grid = {"scale": np.logspace(-9, 1, 100), "shape": np.linspace(-0.9, 0.9, 100)}
    names = ["l1_norm", "error_bound", "n_iter"]

    def loop():
        rows = []
        for scale in grid["scale"]:
            for shape in grid["shape"]:
                end = ib.limit(make_network(scale=scale, shape=shape), data.X, data.y, n_jobs=1)
                rows.append((np.abs(end.beta).sum(), end.error_bound.max(), end.n_iter))
        return np.array(rows)

    turns = {f"sweep_{n}": lambda n=n: ib.sweep(make_network, data, grid, names, n_jobs=n) for n in (1, 2)}
    seconds, found = interleaved(max(1, repeats // 3), {"loop": loop, **turns}, {})
    for n in (1, 2):
        table = found[f"sweep_{n}"]
        assert (np.column_stack([table[name] for name in names]) == found["loop"]).all()
        more = 1e6 * (seconds[f"sweep_{n}"] - seconds["loop"]) / len(found["loop"])
        yield (f"sweep of 10,000 limits (d = 200, N = 20), {n} thread{'s'[: n - 1]}", duration(seconds[f"sweep_{n}"]),
               f"{more:+.0f} µs a point", "a loop of `limit`", duration(seconds["loop"]), "",
               seconds["loop"] / seconds[f"sweep_{n}"], "below +1000 µs" if n == 1 else "")  # fmt: skip


def flow_sweep_rows(data, repeats):
    make_network = partial(ib.DiagonalNetwork.from_scale_shape, 1000)
    grid = {"scale": [SCALE], "shape": np.linspace(-0.9, 0.9, 200)}
    turns = {n: lambda n=n: ib.sweep(make_network, data, grid, "loss", solve="flow", n_jobs=n) for n in (1, 2)}
    seconds, found = interleaved(max(1, repeats // 3), turns, {})
    assert found[1]["success"].all()
    assert found[1]["loss"].tobytes() == found[2]["loss"].tobytes()
    yield ("sweep of 200 flows, scale 1e-12, 2 threads", duration(seconds[2]), "", "1 thread", duration(seconds[1]), "",
           seconds[1] / seconds[2], "1.7")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--weights-seconds", type=float, default=60.0)
    options = parser.parse_args()
    data = ib.datasets.azulay_sparse_regression()
    busy = f"load before the run {os.getloadavg()[0]:.2g}" if hasattr(os, "getloadavg") else "load unknown"
    print(f"N = 100, d = 1000, {platform.machine()}, {os.cpu_count()} cores, {busy}, medians of {options.repeats}\n")
    print("| work | time | counted | against | time | counted | ratio | to reach |\n|---|---|---|---|---|---|---|---|")
    for rows in (
        limit_rows(data, options.repeats),
        deep_rows(data, options.repeats),
        flow_rows(data, options.repeats, options.weights_seconds),
        wide_rows(options.repeats),
        huge_rows(),
        overhead_rows(options.repeats),
        flow_sweep_rows(data, options.repeats),
        neurons.single_rows(options.repeats),
        neurons.width_rows(options.repeats),
        neurons.long_rows(),
        neurons.rate_rows(),
        neurons.segment_rows(),
    ):
        for work, time_, counted, against, other, other_counted, ratio, reach in rows:
            print(f"| {work} | {time_} | {counted} | {against} | {other} | {other_counted} | {ratio:.3g} | {reach} |")


if __name__ == "__main__":
    main()
