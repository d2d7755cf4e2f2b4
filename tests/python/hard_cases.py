"""58 kinds of data that are hard for the limit, and 16 scales to try each at.

Each kind defeated some version of some solver: correlated columns, matrices of almost low rank, discrete matrices with
exactly sparse targets (fewer active coordinates than samples), duplicate columns (l1 minimiser not unique), rows and
columns whose sizes spread over twelve decades, targets of size 1e-100 to 1e100, one sample, as many samples as features.

One generator is drawn from in the order of the families below, so that a seed names the same 58 problems for ever.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

# From the kernel regime down to scale 10^-434294.
LOG_KAPPAS = (10.0, 3.0, -3.0, -10.0, -20.0, -27.0, -40.0, -60.0, -110.0, -230.0, -690.0, -2000.0, -5000.0, -30000.0,
              -230258.0, -1e6)  # fmt: skip
N, D = 30, 120


class HardCase(NamedTuple):
    name: str
    X: np.ndarray
    y: np.ndarray


def hard_cases(seed: int) -> list[HardCase]:
    """All 58 problems of a seed."""
    rng = np.random.default_rng(seed)
    families: tuple[Callable, ...] = (_gaussian, _correlated, _low_rank, _discrete, _sparse_matrix, _duplicates,
                                      _scaled, _sizes, _one_sample, _square, _non_unique, _vandermonde, _parallel,
                                      _positive, _cosine, _targets, _larger)  # fmt: skip
    cases = [case for family in families for case in family(rng)]
    return [HardCase(name, np.ascontiguousarray(X, float), np.asarray(y, float)) for name, X, y in cases]


Cases = Iterator[tuple[str, np.ndarray, np.ndarray]]


def _normal(rng) -> np.ndarray:
    return rng.standard_normal((N, D))


def _gaussian(rng) -> Cases:
    X = _normal(rng)
    yield "gaussian, sparse with noise", X, X[:, :5].sum(1) + 0.1 * rng.standard_normal(N)
    X = _normal(rng)
    yield "gaussian, 5-sparse", X, X[:, :5] @ np.array([1, -1, 2, 0.5, -0.3])
    X = _normal(rng)
    yield "gaussian, 1-sparse", X, 2 * X[:, 3]
    X = _normal(rng)
    yield "gaussian, N-sparse", X, X[:, :N] @ rng.standard_normal(N)
    X = _normal(rng)
    yield "gaussian, random targets", X, rng.standard_normal(N)


def _correlated(rng) -> Cases:
    position = np.arange(D)
    for rho in (0.9, 0.99):
        L = np.linalg.cholesky(rho ** np.abs(position[:, None] - position[None]))
        X = _normal(rng) @ L.T
        yield f"columns correlated {rho}, noise", X, X[:, [5, 50, 90]] @ [1, -2, 1.0] + 0.1 * rng.standard_normal(N)
        X = _normal(rng) @ L.T
        yield f"columns correlated {rho}, sparse", X, X[:, [5, 50, 90]] @ [1, -2, 1.0]


def _low_rank(rng) -> Cases:
    for rest, consistent in ((1e-3, False), (1e-6, False), (1e-6, True), (1e-9, True)):
        X = rng.standard_normal((N, 5)) @ rng.standard_normal((5, D)) + rest * _normal(rng)
        name = f"rank 5 and {rest:g} of noise"
        yield (f"{name}, sparse", X, X[:, :3].sum(1)) if consistent else (name, X, rng.standard_normal(N))


def _discrete(rng) -> Cases:
    X = rng.integers(0, 2, (N, D))
    yield "zeros and ones, random targets", X, rng.standard_normal(N)
    X = rng.integers(0, 2, (N, D))
    yield "zeros and ones, sparse", X, X[:, :4] @ [1, 2, -1, 1]
    X = 2 * rng.integers(0, 2, (N, D)) - 1
    yield "signs, sparse", X, X[:, :4] @ [1, 2, -1, 1]
    X = 2 * rng.integers(0, 2, (N, D)) - 1
    yield "signs, random targets", X, rng.standard_normal(N)


def _sparse_matrix(rng) -> Cases:
    for consistent in (False, True):
        X = _normal(rng) * (rng.random((N, D)) < 0.1)
        X[np.arange(N), np.arange(N)] += 1
        if consistent:
            yield "tenth of the entries, sparse", X, X[:, :4].sum(1)
        else:
            yield "tenth of the entries, random targets", X, rng.standard_normal(N)


def _duplicates(rng) -> Cases:
    X = _normal(rng)
    X[:, D // 2 :] = X[:, : D // 2]
    yield "every column twice, sparse", X, X[:, :5].sum(1)
    yield "every column twice, random targets", X, rng.standard_normal(N)
    X = _normal(rng)
    X[:, D // 2 :] = -X[:, : D // 2]
    yield "every column and its negative", X, rng.standard_normal(N)


def _scaled(rng) -> Cases:
    for decades in (3, 6):
        X = _normal(rng) * 10.0 ** rng.uniform(-decades, decades, D)
        yield f"columns over 1e+-{decades}", X, rng.standard_normal(N)
    X = _normal(rng) * 10.0 ** rng.uniform(-3, 3, D)
    yield "columns over 1e+-3, sparse", X, X[:, :4].sum(1)
    rows = 10.0 ** rng.uniform(-3, 3, N)
    X = _normal(rng)
    yield "rows over 1e+-3", X * rows[:, None], rng.standard_normal(N) * rows
    yield "rows over 1e+-3, sparse", X * rows[:, None], X[:, :4].sum(1) * rows
    rows = 10.0 ** rng.uniform(-6, 6, N)
    X = _normal(rng)
    yield "rows over 1e+-6", X * rows[:, None], rng.standard_normal(N) * rows


def _sizes(rng) -> Cases:
    X, y = _normal(rng), rng.standard_normal(N)
    for size in (1e-100, 1e-8, 1e8, 1e100):
        yield f"targets of size {size:g}", X, y * size
    yield "features of size 1e100", X * 1e100, y
    yield "features of size 1e-100", X * 1e-100, y
    yield "one large target", X, np.concatenate([[1e8], rng.standard_normal(N - 1)])


def _one_sample(rng) -> Cases:
    yield "one sample", rng.standard_normal((1, D)), np.array([1.0])
    yield "one sample, two features", np.array([[1.0, 2.0]]), np.array([3.0])
    yield "one sample, one feature", np.array([[2.0]]), np.array([3.0])
    yield "one sample, equal features", np.ones((1, 10)), np.array([1.0])


def _square(rng) -> Cases:
    X = rng.standard_normal((N, N + 1))
    yield "one feature more than samples", X, rng.standard_normal(N)
    X = rng.standard_normal((N, N))
    yield "as many features as samples", X, rng.standard_normal(N)
    X = rng.standard_normal((N, N + 3))
    yield "three features more than samples, sparse", X, X[:, :3].sum(1)


def _non_unique(_rng) -> Cases:
    yield "l1 minimiser not unique, 2 x 3", np.array([[1.0, 1, 1], [3, 0, 1]]), np.array([3.0, 3])
    yield "l1 minimiser not unique, 2 x 4", np.array([[1.0, 1, 0, 0], [0, 0, 1, 1]]), np.array([1.0, 2])
    X = np.hstack([np.eye(10), np.eye(10)])
    yield "the identity twice", X, np.arange(1, 11.0)
    yield "the identity twice, one target", X, np.eye(10)[0]


def _vandermonde(_rng) -> Cases:
    X = np.vander(np.linspace(0, 1, 60), 8).T
    yield "Vandermonde, 1-sparse", X, X @ np.eye(60)[20]
    yield "Vandermonde, equal targets", X, np.ones(8)


def _parallel(rng) -> Cases:
    for distance, consistent in ((1e-7, True), (1e-4, False)):
        X = _normal(rng)
        X[1] = X[0] + distance * rng.standard_normal(D)
        if consistent:
            yield f"rows parallel to {distance:g}, sparse", X, X[:, :3].sum(1)
        else:
            yield f"rows parallel to {distance:g}, random targets", X, rng.standard_normal(N)


def _positive(rng) -> Cases:
    X = np.abs(_normal(rng))
    yield "positive, sparse", X, X[:, :5].sum(1)
    yield "positive, random targets", X, rng.standard_normal(N)


def _cosine(rng) -> Cases:
    X = np.cos(np.pi * np.outer(np.arange(N) + 0.5, np.arange(D)) / D)
    yield "cosines, sparse", X, X[:, [3, 40, 41]] @ [1, -1, 1.0]
    yield "cosines, random targets", X, rng.standard_normal(N)


def _targets(rng) -> Cases:
    X = _normal(rng)
    yield "one target", X, np.eye(N)[0]
    yield "targets of size 1 and 1e-14", X, np.where(np.arange(N) < 3, 1.0, 1e-14)


def _larger(rng) -> Cases:
    X = rng.standard_normal((100, 300))
    yield "100 x 300, sparse", X, X[:, :5].sum(1)
    yield "100 x 300, random targets", X, rng.standard_normal(100)
