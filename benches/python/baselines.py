"""What a good researcher would write in NumPy and SciPy: the programs the package is measured against.

The mathematics is the package's own where that is known (dual coordinates, symmetric Jacobian), so that a ratio
compares implementations and not ideas, and every program is at least as fast as the plain version: one exponential
instead of two, Cholesky instead of LU, and products that let BLAS use both cores. They count what they do.
"""

import functools
import time
from typing import NamedTuple

import mpmath
import numpy as np
from scipy.integrate import DOP853, LSODA
from scipy.linalg import cho_factor, cho_solve


class NewtonRun(NamedTuple):
    """A limit: coefficients, multipliers and the number of N x N systems."""

    beta: np.ndarray
    nu: np.ndarray
    systems: int


def dual_newton(X, y, log_kappa, tol=1e-12, nu=None) -> NewtonRun:
    """Damped Newton on the dual of an unbiased start, from nu = 0 or along a path."""
    half, target = log_kappa - np.log(2), tol * np.abs(y).max()
    nu = np.zeros(len(y)) if nu is None else nu
    for systems in range(3000):
        grown = np.exp(half + 2 * (nu @ X))
        decayed = np.exp(2 * half) / grown  # the product of the sides is constant: one exponential serves both
        beta, S = (grown - decayed) / 2, grown + decayed
        r = y - X @ beta
        if np.abs(r).max() < target:
            return NewtonRun(beta, nu, systems)
        step = cho_solve(cho_factor((X * S) @ X.T, overwrite_a=True, check_finite=False), r, check_finite=False)
        m = 2 * np.abs(step @ X).max()
        nu = nu + np.log1p(m) / m * step
    raise RuntimeError("no convergence in 3000 iterations")


def newton_path(X, y, log_kappas) -> list[NewtonRun]:
    """The same along a path: largest kappa first, each from the multipliers of its neighbour."""
    runs, nu = {}, None
    for k in sorted(set(log_kappas), reverse=True):
        runs[k] = dual_newton(X, y, k, nu=nu)
        nu = runs[k].nu
    return [runs[k] for k in log_kappas]


# ----------------------------------------------------------------------------------------------------------- Radau


class FlowRun(NamedTuple):
    """A flow to the end: coefficients, the time, accepted steps, right-hand sides, and whether it got there."""

    beta: np.ndarray
    t: float
    accepted: int
    rhs: int
    finished: bool


class Tableau(NamedTuple):
    """Radau IIA: nodes, A^-1 with its eigendecomposition, error weights, and the real eigenvalue to filter with."""

    c: np.ndarray
    inverse: np.ndarray
    eigenvalues: np.ndarray
    vectors: np.ndarray
    vectors_inverse: np.ndarray
    error: np.ndarray
    shift: float
    vandermonde: np.ndarray


@functools.cache
def radau_tableau(s) -> Tableau:
    """s stages, order 2s - 1, from the node polynomial (x^{s-1} (x - 1)^s)^{(s-1)} (Hairer & Wanner II, IV.5)."""
    with mpmath.workdps(60):
        coefficients = [mpmath.mpf(0)] * (2 * s)
        for k in range(s + 1):
            coefficients[s - 1 + k] += mpmath.binomial(s, k) * (-1) ** (s - k)
        for _ in range(s - 1):
            coefficients = [coefficients[i] * i for i in range(1, len(coefficients))]
        c = sorted(mpmath.re(root) for root in mpmath.polyroots(coefficients[::-1], maxsteps=500, extraprec=400))
        powers, integrals, moments = (mpmath.matrix(s, s) for _ in range(3))
        for i in range(s):
            for j in range(s):
                powers[i, j] = c[i] ** j
                integrals[i, j] = c[i] ** (j + 1) / (j + 1)
                moments[i, j] = c[j] ** i / (i + 1)
        right = mpmath.matrix(s, 1)
        right[0], right[1] = -s * s, mpmath.mpf(-1) / 2
        error = np.array([float(v) for v in mpmath.lu_solve(moments, right)])
        inverse = np.array(((integrals * powers**-1) ** -1).tolist(), dtype=float)
        nodes = np.array([float(v) for v in c])
    eigenvalues, vectors = np.linalg.eig(inverse)
    shift = float(eigenvalues[np.argmin(np.abs(eigenvalues.imag))].real)
    vandermonde = np.vander(np.concatenate([[0], nodes]), increasing=True)
    return Tableau(nodes, inverse, eigenvalues, vectors, np.linalg.inv(vectors), error, shift, vandermonde)


class DualFlow:
    """nu' = (y - X beta(X^T nu))/N of an unbiased start; right-hand sides are counted."""

    def __init__(self, X, y, log_kappa):
        self.X, self.y, self.quarter, self.rhs = X, y, log_kappa - np.log(4), 0

    def sides(self, nu):
        """The growing and the decaying part. Two exponentials: kappa^2 underflows where one could serve both."""
        z = 2 * (nu @ self.X)
        return np.exp(self.quarter + z), np.exp(self.quarter - z)

    def beta(self, nu):
        grown, decayed = self.sides(nu)
        return grown - decayed

    def __call__(self, nu):
        self.rhs += 1
        return (self.y - self.X @ self.beta(nu)) / len(self.y)

    def stages(self, nus):
        """Right-hand sides of several states in one product with X."""
        self.rhs += len(nus)
        return (self.y - self.beta(nus) @ self.X.T) / len(self.y)

    def jacobian(self, nu):
        grown, decayed = self.sides(nu)
        return (self.X * (-2 / len(self.y) * (grown + decayed))) @ self.X.T

    def residual(self, nu):
        return np.abs(self.y - self.X @ self.beta(nu)).max()


def radau_flow(X, y, log_kappa, stages=7, rtol=1e-10, tol=1e-12) -> FlowRun:
    """Radau IIA; the symmetric Jacobian is diagonalised once a step, which serves every stage system."""
    flow, tableau = DualFlow(X, y, log_kappa), radau_tableau(stages)
    target, n = tol * np.abs(y).max(), len(y)
    # error estimate of order s with a step of order 2s - 1: the usual exchange of tolerances
    inner = 0.1 * rtol ** ((stages + 1) / (2 * stages))
    newton_tol = max(10 * np.finfo(float).eps / inner, min(0.03, inner**0.5))
    nu, t, h, accepted, rejected, last = np.zeros(n), 0.0, 1e-3, 0, 0, None
    with np.errstate(over="ignore", invalid="ignore"):
        while accepted + rejected < 20_000:
            slope, (lam, Q), scale = flow(nu), np.linalg.eigh(flow.jacobian(nu)), inner + inner * np.abs(nu)
            Z = _radau_stages(flow, tableau, nu, h, lam, Q, scale, last, newton_tol)
            if Z is None:
                h, rejected = h / 2, rejected + 1
                continue
            filtered = ((slope + tableau.error @ Z / h) @ Q / (tableau.shift / h - lam)) @ Q.T
            error = max(np.sqrt(np.mean((filtered / scale) ** 2)), 1e-10)
            if error < 1:
                t, nu, accepted, last = t + h, nu + Z[-1], accepted + 1, (Z, h)
                if flow.residual(nu) < target:
                    return FlowRun(flow.beta(nu), t, accepted, flow.rhs, True)
            else:
                rejected += 1
            h *= min(8, max(0.2, 0.9 * error ** (-1 / (stages + 1))))
    return FlowRun(flow.beta(nu), t, accepted, flow.rhs, False)


def _radau_stages(flow, tableau, nu, h, lam, Q, scale, last, newton_tol):
    """Increments of the stages by simplified Newton in the eigenbasis, or None where it does not converge."""
    s = len(tableau.c)
    if last is None:
        Z = np.zeros((s, len(nu)))
    else:
        coefficients = np.linalg.solve(tableau.vandermonde, np.vstack([np.zeros(len(nu)), last[0]]))
        Z = np.vander(1 + tableau.c * h / last[1], s + 1, increasing=True) @ coefficients - last[0][-1]
    denominator, before = tableau.eigenvalues[:, None] / h - lam, None
    for iteration in range(10):
        F = flow.stages(nu + Z)
        if not np.isfinite(F).all():
            return None
        W = tableau.vectors_inverse @ ((F - tableau.inverse @ Z / h) @ Q) / denominator
        change = (tableau.vectors @ W).real @ Q.T
        Z = Z + change
        size = np.sqrt(np.mean((change / scale) ** 2))
        rate = size / before if before else 0.5
        if not np.isfinite(size) or (before and rate >= 1 and size > newton_tol):
            return None
        if size == 0 or (rate < 1 and iteration > 0 and rate / (1 - rate) * size < newton_tol):
            return Z
        before = size
    return None


# ------------------------------------------------------------------------------------------------------ SciPy's own


def lsoda_flow(X, y, log_kappa, rtol=1e-10, tol=1e-12, jacobian=False, seconds=120.0) -> FlowRun:
    """SciPy's LSODA on the dual, stepped until the residual is small; as most would call it without a Jacobian."""
    flow, target = DualFlow(X, y, log_kappa), tol * np.abs(y).max()
    extra = {"jac": lambda _t, nu: flow.jacobian(nu)} if jacobian else {}
    solver = LSODA(lambda _t, nu: flow(nu), 0.0, np.zeros(len(y)), 1e9, rtol=rtol, atol=1e-10 * rtol, **extra)
    accepted, finished = _step(solver, lambda _t, nu: flow.residual(nu) < target, seconds)
    return FlowRun(flow.beta(solver.y), solver.t, accepted, flow.rhs, finished)


def weights_flow(X, y, weight, t_end, rtol=1e-10, seconds=60.0) -> FlowRun:
    """SciPy's DOP853 on the raw weights, shape 0: what one writes without knowing that the flow has N coordinates.

    It runs to a given time: at rtol 1e-10 its steps are limited by stability, and the residual hovers above 1e-12.
    """
    d, n, count = X.shape[1], len(y), 0

    def beta(theta):
        u_plus, v_plus, u_minus, v_minus = theta.reshape(4, d)
        return u_plus * v_plus - u_minus * v_minus

    def rhs(_t, theta):
        nonlocal count
        count += 1
        u_plus, v_plus, u_minus, v_minus = theta.reshape(4, d)
        g = (y - X @ (u_plus * v_plus - u_minus * v_minus)) @ X / n
        return np.concatenate([v_plus * g, u_plus * g, -v_minus * g, -u_minus * g])

    # an absolute tolerance far below the start: the default would swallow weights of 1e-6
    solver = DOP853(rhs, 0.0, np.full(4 * d, weight), t_end, rtol=rtol, atol=rtol * weight * 1e-3)
    accepted, _ = _step(solver, lambda _t, _theta: False, seconds)
    return FlowRun(beta(solver.y), solver.t, accepted, count, solver.status == "finished")


def _step(solver, done, seconds) -> tuple[int, bool]:
    """Accepted steps until `done` (looked at every tenth step), the end, or the budget."""
    accepted, began = 0, time.perf_counter()
    while solver.status == "running" and time.perf_counter() - began < seconds:
        solver.step()
        accepted += 1
        if accepted % 10 == 0 and done(solver.t, solver.y):
            return accepted, True
    return accepted, False


# ------------------------------------------------------------------------------------------------ neurons, raw weights


def neuron_flow(X, y, a, W, tol=1e-10, rtol=1e-10, seconds=60.0) -> FlowRun:
    """SciPy's DOP853 on the weights of a fully connected linear network, stepped until the residual is small."""
    n, m, d, count = len(y), len(a), X.shape[1], 0

    def split(theta):
        return theta[:m], theta[m:].reshape(m, d)

    def rhs(_t, theta):
        nonlocal count
        count += 1
        a, W = split(theta)
        g = (y - X @ (a @ W)) @ X / n
        return np.concatenate([W @ g, np.outer(a, g).ravel()])

    start = np.concatenate([a, W.ravel()])
    # an absolute tolerance far below the start: the default would swallow it
    solver = DOP853(rhs, 0.0, start, 1e9, rtol=rtol, atol=rtol * np.abs(start).max() * 1e-3)
    target = tol * np.abs(y).max()

    def done(_t, theta):
        a, W = split(theta)
        return np.abs(y - X @ (a @ W)).max() < target

    accepted, finished = _step(solver, done, seconds)
    a, W = split(solver.y)
    return FlowRun(a @ W, solver.t, accepted, count, finished)
