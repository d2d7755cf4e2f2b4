"""Rows of the table of speeds for networks of neurons, against SciPy on the raw weights."""

import math

import baselines
import numpy as np
from measure import duration, interleaved, private_memory, timed

import implicit_bias as ib

RTOL = 1e-10
WIDTHS = (1, 2, 10, 100, 1000, 100_000)


def data(n_samples, n_features, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_samples, n_features))
    return X, random.standard_normal(n_samples)


def single_rows(repeats):
    """One neuron, N = 100, d = 1000, to a residual of 1e-10, at an ordinary scale and at a vanishing one."""
    X, y = data(100, 1000)
    orientation = np.random.default_rng(1).standard_normal(1000)
    for scale, reach in ((1e-6, "8"), (1e-100, "30")):
        net = ib.FullyConnectedNetwork.from_scale_shape(orientation, scale=scale)
        seconds, found = interleaved(
            repeats,
            {"ours": lambda net=net: ib.gradient_flow(net, X, y, tol=1e-10, rtol=RTOL)},
            {"scipy": lambda net=net: baselines.neuron_flow(X, y, net.a, net.W, tol=1e-10, rtol=RTOL)},
        )
        ours, theirs = found["ours"], found["scipy"]
        assert ours.success
        assert np.abs(ours.beta[-1] - theirs.beta).max() < 1e-7 * np.abs(theirs.beta).max()
        yield (f"one neuron, N = 100, d = 1000, to 1e-10, scale {scale:g}", duration(seconds["ours"]),
               f"{ours.stats['accepted']} steps, {ours.stats['rhs']} rhs", "SciPy DOP853 on the raw weights",
               duration(seconds["scipy"]), f"{theirs.accepted} steps, {theirs.rhs} rhs",
               seconds["scipy"] / seconds["ours"], reach)  # fmt: skip


def width_rows(repeats):
    """Width drops out: beyond four products W Xᵀ the time is that of 100 neurons."""
    X, y = data(50, 1000)
    nets = {}
    for m in WIDTHS:
        random = np.random.default_rng(m)
        unit = math.sqrt(1e-2 / m)
        nets[m] = ib.FullyConnectedNetwork(unit * random.standard_normal(m), unit * random.standard_normal((m, 1000)))
    turns = {m: lambda net=net: ib.gradient_flow(net, X, y) for m, net in nets.items()}
    products = {f"product_{m}": lambda net=net: net.W @ X.T for m, net in nets.items()}
    seconds, found = interleaved(max(3, repeats // 2), turns, products)
    for m in WIDTHS:
        assert found[m].success
        with private_memory() as memory:
            ib.gradient_flow(nets[m], X, y)
        product = seconds[f"product_{m}"]
        beyond = seconds[m] - 4.0 * product
        yield (f"{m:,} neurons, N = 50, d = 1000", duration(seconds[m]),
               f"{found[m].stats['accepted']} steps, private memory {memory.peak / 2**20:.0f} MiB",
               "100 neurons, without 4 products W Xᵀ", duration(seconds[100]), f"{duration(product)} a product",
               beyond / (seconds[100] - 4.0 * seconds["product_100"]), "below 3" if m > 100 else "")  # fmt: skip


def long_rows():
    """d = 1,000,000 in span coordinates."""
    X, y = data(100, 1_000_000)
    net = ib.FullyConnectedNetwork.from_scale_shape(np.ones(1_000_000), scale=1e-6)
    read = min(timed(lambda: [row.sum() for row in X])[0] for _ in range(3))
    took, flow = timed(lambda: ib.gradient_flow(net, X, y, save_beta=False))
    assert flow.success
    yield ("one neuron, N = 100, d = 1,000,000", duration(took), f"{flow.stats['accepted']} steps", "a plain read of X",
           duration(read), f"{took / read:.0f} of them", read / took, "")  # fmt: skip


def rate_rows():
    """Right-hand sides a second in the singular vectors of X: data so ill conditioned that a run is nothing else."""
    X, y = data(100, 1000)
    u, sizes, v = np.linalg.svd(X, full_matrices=False)
    X = (u * sizes * np.logspace(0.0, -2.0, 100)) @ v
    net = ib.FullyConnectedNetwork.from_scale_shape(np.random.default_rng(1).standard_normal(1000), scale=1e-6)
    took, flow = timed(lambda: ib.gradient_flow(net, X, y, [1e3], method="explicit", n_jobs=1))
    rhs = flow.stats["rhs"]
    yield ("right-hand sides, one neuron, N = 100, explicit, all of it", duration(took), f"{rhs} rhs",
           "a million a second", "", "", rhs / took / 1e6, "1")  # fmt: skip


def segment_rows():
    """What looking for events costs: the last segment of a flow, and the same from its start as a flow of its own."""
    random = np.random.default_rng(5)
    X, y = random.standard_normal((20, 100)), random.standard_normal(20)
    net = ib.LeakyReLUNetwork.from_scale_shape(random.standard_normal(100), scale=0.1, shape=0.5, slope=0.2)
    last = ib.gradient_flow(net, X, y).events[-1].time
    whole, before = (ib.gradient_flow(net, X, y, [t], rtol=1e-10) for t in (20.0 * last, last * (1.0 + 1e-9)))
    a, W = (rows[-1] for rows in before.parameters)
    alone = ib.gradient_flow(ib.LeakyReLUNetwork(a, W, slope=0.2), X, y, [19.0 * last], rtol=1e-10)
    assert not alone.events
    segment = whole.stats["rhs"] - before.stats["rhs"]
    work = f"leaky neuron, N = 20, d = 100, after the last of {len(whole.events)} events"
    yield (work, "", f"{segment} rhs", "the same segment alone", "", f"{alone.stats['rhs']} rhs",
           segment / alone.stats["rhs"], "below 2")  # fmt: skip
