"""Trajectories of diagonal networks to any number of digits, by the Taylor series of the quadratic form of the flow.

With P = A e^{2G} and M = B e^{-2G}: P' = 2 P g, M' = -2 M g, g = X^T (y - X (P - M)/4) / N. Coefficients are Cauchy products
(Moore, *Interval Analysis*, 1966, ch. 11). It shares no coordinate, no exponential and no arithmetic with the package.
"""

from collections.abc import Sequence
from typing import Any

import mpmath
import numpy as np


def trajectory(
    X: Any, y: Any, log_a: Sequence[Any], log_b: Sequence[Any], times: Sequence[float], digits: int = 40
) -> np.ndarray[Any, Any]:
    """Predictors at the times, objects of mpmath, from ln A and ln B (-inf where they are 0)."""
    with mpmath.workdps(digits + 15):
        # Trees of one order gain one digit a term at a tenth of the radius of convergence.
        order = int(1.2 * digits) + 10
        rows = np.array([[mpmath.mpf(float(x)) for x in row] for row in X], dtype=object)
        targets = np.array([mpmath.mpf(float(v)) for v in y], dtype=object)
        kernel, force = rows.T @ rows / len(targets), rows.T @ targets / len(targets)
        p = np.array([mpmath.exp(a) for a in log_a], dtype=object)
        m = np.array([mpmath.exp(b) for b in log_b], dtype=object)
        now, out = mpmath.mpf(0), []
        for time in times:
            end = mpmath.mpf(float(time))
            while now < end:
                ps, ms = _series(p, m, kernel, force, order)
                h = min(end - now, _radius(ps, ms, order, digits))
                p, m = _horner(ps, h), _horner(ms, h)
                now += h
            out.append((p - m) / 4)
        return np.array(out, dtype=object)


def _series(p: Any, m: Any, kernel: Any, force: Any, order: int) -> tuple[Any, Any]:
    ps, ms = np.empty((order + 1, len(p)), dtype=object), np.empty((order + 1, len(p)), dtype=object)
    gs = np.empty((order + 1, len(p)), dtype=object)
    ps[0], ms[0] = p, m
    for k in range(order):
        gs[k] = -(kernel @ ((ps[k] - ms[k]) / 4))
        if k == 0:
            gs[k] = gs[k] + force
        ps[k + 1] = 2 * (ps[: k + 1] * gs[k::-1]).sum(axis=0) / (k + 1)
        ms[k + 1] = -2 * (ms[: k + 1] * gs[k::-1]).sum(axis=0) / (k + 1)
    return ps, ms


def _radius(ps: Any, ms: Any, order: int, digits: int) -> Any:
    """The step at which the last two terms are below the digits asked for, of each coordinate's own start."""
    least = mpmath.mpf(10) ** (-digits)
    h = mpmath.inf
    for series in (ps, ms):
        for first, column in zip(series[0], series[order - 1 :].T, strict=True):
            for k, term in zip((order - 1, order), column, strict=True):
                if term != 0 and first != 0:
                    h = min(h, (least * abs(first) / abs(term)) ** (mpmath.mpf(1) / k))
    return h


def _horner(series: Any, h: Any) -> Any:
    value = series[-1]
    for term in series[-2::-1]:
        value = value * h + term
    return value
