"""Small random problems for the diagonal network that are hard in the ways data are hard, each with its exact truth.

Small (N <= 6, d <= 14), so that the 30-digit limit of `reference` costs ten milliseconds; hard in the data (correlated,
badly scaled, nearly parallel rows, one sample, as many samples as features, exactly sparse targets) and in the start
(ln kappa from 12 to -230258, one kappa a coordinate, biased, one-sided). A seed is a problem: it never changes.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import implicit_bias as ib
import reference

DATA = ("gaussian", "correlated", "scaled rows", "scaled columns", "parallel rows", "one sample", "square", "sparse")
STARTS = ("shared", "per coordinate", "biased", "one-sided")


@dataclass(frozen=True)
class RandomProblem:
    """Data and a start, for the package (`network`) and for the reference (`start`, `truth`)."""

    data: str
    kind: str
    X: np.ndarray
    y: np.ndarray
    arguments: dict  # of DiagonalNetwork(...), or with "scale" of DiagonalNetwork.from_scale_shape(...)

    def network(self):
        if "log_scale" in self.arguments:
            return ib.DiagonalNetwork.from_scale_shape(self.X.shape[1], **self.arguments)
        return ib.DiagonalNetwork(**self.arguments)

    @cached_property
    def start(self) -> reference.Start:
        if "log_scale" in self.arguments:
            return reference.start_from_scale_shape(self.X.shape[1], **self.arguments)
        return reference.start_from_weights(**self.arguments)

    @cached_property
    def truth(self) -> reference.Limit:
        return reference.limit(self.X, self.y, self.start)

    @property
    def is_degenerate(self) -> bool:
        """Fewer active coordinates than samples in the limit: the dual Hessian is singular for all practical purposes.

        A coordinate is active if its slope S is above 1e-10 of the N-th part of the largest: below that the bound
        2 tau lambda < 1 needs a residual beyond binary64, and `inf` is the honest answer.
        """
        sizes = np.sort([abs(float(b)) for b in self.truth.beta])[::-1]
        return bool(sizes[len(self.y) - 1] < 1e-10 * sizes[0])


def random_problem(seed: int) -> RandomProblem:
    rng = np.random.default_rng([20210501, seed])
    data, kind = DATA[seed % len(DATA)], STARTS[(seed // len(DATA)) % len(STARTS)]
    X, n_samples = _matrix(rng, data)
    d = X.shape[1]
    log_scale = float(
        rng.choice(
            [rng.uniform(-3, 12), rng.uniform(-30, 0), rng.uniform(-700, -30), -5000.0, -230258.5],
            p=[0.3, 0.3, 0.3, 0.05, 0.05],
        )
    )
    if data == "sparse":  # the kernel's condition is about 1/kappa there, so the truth needs that many digits
        log_scale = max(log_scale, -100.0)
    arguments, allowed = _start(rng, kind, d, log_scale)
    beta = rng.uniform(0.2, 1.5, d) * np.where(allowed == 0, rng.choice([-1.0, 1.0], d), allowed)
    if data == "sparse" and kind != "one-sided":  # a one-sided zero would leave y at the edge of what can be reached
        beta[max(1, n_samples // 2) :] = 0.0
    y = X @ beta
    if data != "sparse" and kind != "one-sided":
        y = y + 0.1 * np.abs(X).max(axis=1) * rng.standard_normal(n_samples)
    return RandomProblem(data, kind, X, y, arguments)


def _matrix(rng, data):
    n_samples = 1 if data == "one sample" else int(rng.integers(2, 7))
    d = n_samples if data == "square" else int(rng.integers(n_samples + 1, 15))
    X = rng.standard_normal((n_samples, d))
    if data == "correlated":
        position = np.arange(d)
        X = X @ np.linalg.cholesky(0.99 ** np.abs(position[:, None] - position)).T
    elif data == "scaled rows":
        X *= 10.0 ** rng.uniform(-6, 6, n_samples)[:, None]
    elif data == "scaled columns":
        X *= 10.0 ** rng.uniform(-2, 2, d)
    elif data == "parallel rows":
        X[1] = X[0] + 10.0 ** rng.uniform(-7, -2) * X[1]
    return X, n_samples


def _start(rng, kind, d, log_scale):
    """Arguments of the network, and the sign each coordinate is confined to (0: none)."""
    free = np.zeros(d)
    if kind == "shared":
        return {"log_scale": log_scale, "shape": float(rng.uniform(-0.95, 0.95))}, free
    if kind == "per coordinate":
        return {"log_scale": log_scale * rng.uniform(0.6, 1.4, d), "shape": rng.uniform(-0.95, 0.95, d)}, free
    weights = {name: rng.uniform(0.2, 2.0, d) for name in ("u_plus", "v_plus", "u_minus", "v_minus")}
    if kind == "biased":
        weights["v_minus"] *= rng.choice([-1.0, 1.0], d)
    else:
        # u+ = v+ and u- = -v-: B = 0 and beta_i > 0; u+ = -v+ and u- = v-: A = 0 and beta_i < 0
        sign = np.where(rng.random(d) < 0.5, 0.0, rng.choice([-1.0, 1.0], d))
        weights["v_plus"] = np.where(sign == 0, weights["v_plus"], sign * weights["u_plus"])
        weights["v_minus"] = np.where(sign == 0, weights["v_minus"], -sign * weights["u_minus"])
        free = sign
    # The reachable start is |beta(0)| ~ magnitude^2: logarithms of magnitudes above a few would only make a far start.
    return {**weights, "log_magnitude": min(log_scale / 2, math.log(10.0))}, free
