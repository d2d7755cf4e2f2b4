r"""The end of the flow of a matrix factorization, and the check of any matrix against it.

Where the observations are symmetric and commute, and the start does with them, the flow falls apart into a number for
every eigenvector q they share: with :math:`A = \|(U+V)^\top q\|^2`, :math:`B = \|(U-V)^\top q\|^2` its eigenvalue is
:math:`\tfrac14(A e^{2G} - B e^{-2G})`, :math:`\dot G` the eigenvalue of the gradient: a diagonal network, whose limit
is known (Woodworth et al. 2020, Theorem 4, for the start of infinite width: A = B = 2 α² k). Elsewhere: by integration.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ._diagonal import DiagonalNetwork
from ._network import FlowOptions, LimitOptions
from ._neuron_potential import _ratio
from ._results import KKTReport, Limit
from ._status import LIMIT_STEPS, Status, message_of_limit
from ._validate import Array

if TYPE_CHECKING:
    from ._matrix_factorization import MatrixFactorization

#: Tolerances of an end that is found by integration.
END_RTOL, END_TOL = 1e-12, 1e-13
#: Entries count as 0 below this many roundings of the largest one, for every row.
ROUND_OFF = 64.0 * np.finfo(float).eps
THEOREM = "Woodworth et al. 2020, Theorem 4"


class Spectrum(NamedTuple):
    """A problem that is one of eigenvalues: their vectors as columns, their observations, and their network."""

    vectors: Array
    X: Array
    net: DiagonalNetwork


def limit(net: "MatrixFactorization", X: Array, y: Array, options: LimitOptions) -> Limit:
    """By the theorem where there is one, by integration elsewhere."""
    if options.get("y_low") is not None:
        raise _unavailable()
    spectrum = _spectrum(net, X)
    if spectrum is None:
        return _by_integration(net, X, y, options)
    found = spectrum.net._limit(spectrum.X, y, LimitOptions(bounds=False, tol=options["tol"], n_jobs=options["n_jobs"]))
    Q = spectrum.vectors
    with np.errstate(over="ignore", invalid="ignore"):
        beta = ((Q * found.beta) @ Q.T).ravel()
    return replace(
        found,
        # A sum of two infinities is not known, and what is not known is infinite.
        beta=np.where(np.isnan(beta), np.inf, beta),
        message=found.message + "; the eigenvalues are those of a diagonal network, for the observations commute",
        kkt=replace(found.kkt, theorem=THEOREM, error_bound=None),
    )


def check_kkt(
    net: "MatrixFactorization", X: Array, y: Array, beta: Array, n_jobs: int, low: tuple[Array, Array] | None
) -> KKTReport:
    """Stationarity by the theorem, of the matrix in the basis that the observations share."""
    if low is not None:
        raise _unavailable()
    spectrum = _spectrum(net, X)
    if spectrum is None:
        raise ValueError(
            "X must be symmetric matrices that commute with each other and with the start, for check_kkt of a "
            "MatrixFactorization: no theorem gives a potential elsewhere"
        )
    rotated = spectrum.vectors.T @ beta.reshape(net.shape) @ spectrum.vectors
    eigenvalues = np.diagonal(rotated).copy()
    report = spectrum.net._check_kkt(spectrum.X, y, eigenvalues, n_jobs)
    # A matrix that is not diagonal in that basis is as far from the reach of the flow as its other entries are large.
    off = _ratio(float(np.abs(rotated - np.diag(eigenvalues)).max()), float(np.abs(rotated).max()))
    return replace(report, stationarity=max(report.stationarity, off), theorem=THEOREM, error_bound=None)


def _unavailable() -> ValueError:
    return ValueError("precision must be 'double' for a MatrixFactorization: got 'double-double'")


def _spectrum(net: "MatrixFactorization", X: Array) -> Spectrum | None:
    """The problem of the eigenvalues, where observations and start are diagonal in one basis."""
    d = net.shape[0]
    if net.shape[1] != d:
        return None
    matrices = X.reshape(-1, d, d)
    if np.abs(matrices - matrices.transpose(0, 2, 1)).max() > 0.0:
        return None
    sizes = np.abs(matrices).max(axis=(1, 2))
    rows = matrices / np.where(sizes > 0.0, sizes, 1.0)[:, None, None]
    # Generic weights: a combination of commuting matrices has their common eigenvectors, and no others, with
    # probability one. The start decides between vectors of one eigenvalue.
    # In units of the largest weight: squares of others may be no floats.
    peak = float(np.abs(net._thin).max()) or 1.0
    Z = net._thin / peak
    U, V = Z[:d], Z[-d:]
    start = [(U + V) @ (U + V).T, (U - V) @ (U - V).T, (U + V) @ (U - V).T] if net.V is not None else [U @ U.T]
    whole = max(float(np.abs(start[0]).max()), float(np.abs(start[-1]).max()), np.finfo(float).tiny)
    start = [part / whole for part in start]
    weights = np.random.default_rng(0).uniform(0.5, 1.5, size=rows.shape[0] + 2)
    mixed = np.tensordot(weights[2:], rows, axes=1) + sum(w * part for w, part in zip(weights, start[:2], strict=False))
    vectors = np.linalg.eigh(mixed)[1]
    tolerance = d * ROUND_OFF
    X_hat = np.ascontiguousarray(np.einsum("pi,npq,qi->ni", vectors, matrices, vectors, optimize=True))
    for part in (*rows, *start):
        rotated = vectors.T @ part @ vectors
        if np.abs(rotated - np.diag(np.diagonal(rotated))).max() > tolerance * np.abs(part).max(initial=1e-300):
            return None
    # √A/2 and √B/2 are the weights of a diagonal network with these A and B; of one factor A = 4 p, and B = 0.
    unit = 0.5 if net.V is not None else 1.0
    plus = unit * peak * np.sqrt(np.square(vectors.T @ (U + V if net.V is not None else U)).sum(axis=1))
    minus = unit * peak * np.sqrt(np.square(vectors.T @ (U - V)).sum(axis=1))
    return Spectrum(vectors, X_hat, DiagonalNetwork(plus, plus, minus, minus, log_magnitude=net.log_magnitude))


def _by_integration(net: "MatrixFactorization", X: Array, y: Array, options: LimitOptions) -> Limit:
    how = FlowOptions(
        times=None,
        time_unit=1.0,
        rtol=END_RTOL,
        tol=END_TOL,
        method="auto",
        max_steps=LIMIT_STEPS,
        max_seconds=None,
        observables=["residual"],
        save_beta=False,
        progress=None,
        n_jobs=options["n_jobs"],
    )
    end = net._integrate(X, y, how, None)
    beta, status = end["beta"][-1], Status(end["status"])
    kkt = _reach(net, X, y, beta, float(end["observables"]["residual"][-1]))
    if status is Status.ROUNDOFF_FLOOR and kkt.feasibility <= options["tol"]:
        status = Status.CONVERGED
    return Limit(
        beta=beta,
        multipliers=None,
        error_bound=None,
        backward_error=kkt.backward_error,
        potential_value=None,
        kkt=kkt,
        n_iter=int(end["stats"]["newton_systems"]),
        status=status,
        message=message_of_limit(status) + "; no theorem gives a potential, the end was found by integrating the flow",
        success=status.at_the_end,
    )


def _reach(net: "MatrixFactorization", X: Array, y: Array, beta: Array, residual: float) -> KKTReport:
    """What holds of every end: it fits the data, and its rank is no larger than the width."""
    sizes = np.linalg.svd(beta.reshape(net.shape), compute_uv=False)
    beyond = sizes[net._thin.shape[1] :]
    return KKTReport(
        stationarity=_ratio(float(beyond.max(initial=0.0)), float(sizes.max())),
        feasibility=_ratio(residual, float(np.abs(y).max())),
        duality_gap=None,
        error_bound=None,
        backward_error=y - X @ beta,
        multipliers=None,
        theorem=None,
    )
