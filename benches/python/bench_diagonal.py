"""The same work as `report.py`, one piece at a time, for pytest-benchmark: to compare one revision with another."""

import math
from functools import partial

import pytest

import implicit_bias as ib

DATA = ib.datasets.azulay_sparse_regression()


def network(log10_scale, shape=0.0):
    return ib.DiagonalNetwork.from_scale_shape(1000, log_scale=log10_scale * math.log(10), shape=shape)


@pytest.mark.parametrize("log10_scale", [2, -1, -5, -12, -100, -300, -100000])
def bench_limit(benchmark, log10_scale):
    net = network(log10_scale)
    limit = benchmark(lambda: ib.limit(net, DATA.X, DATA.y))
    benchmark.extra_info["systems"] = limit.n_iter
    assert limit.success


@pytest.mark.parametrize("bounds", [True, False])
def bench_limit_path(benchmark, bounds):
    nets = [network(-5 + 4.4 * k / 19, shape) for shape in (0.0, 0.5, 0.7, 0.9, 0.99) for k in range(20)]
    path = benchmark(lambda: ib.limit_path(nets, DATA.X, DATA.y, bounds=bounds))
    benchmark.extra_info["systems"] = int(path.n_iter.sum())
    assert path.success.all()


def bench_sweep(benchmark):
    make_network = partial(ib.DiagonalNetwork.from_scale_shape, 200)
    data = ib.datasets.sparse_regression(n_samples=20, n_features=200, n_nonzero=3, seed=0)
    grid = {"scale": [1e-9, 1e-5, 1e-1, 1e3], "shape": [-0.9 + 1.8 * k / 99 for k in range(100)]}
    table = benchmark(lambda: ib.sweep(make_network, data, grid, ["l1_norm", "error_bound"]))
    assert table["success"].all()


def bench_check_kkt(benchmark):
    net = network(-5)
    beta = ib.limit(net, DATA.X, DATA.y).beta
    assert benchmark(lambda: ib.check_kkt(net, DATA.X, DATA.y, beta)).satisfied(1e-9)


@pytest.mark.parametrize("log10_scale", [0, -12, -300])
def bench_flow(benchmark, log10_scale):
    net = network(log10_scale)
    flow = benchmark(lambda: ib.gradient_flow(net, DATA.X, DATA.y))
    benchmark.extra_info.update(flow.stats)
    assert flow.success
