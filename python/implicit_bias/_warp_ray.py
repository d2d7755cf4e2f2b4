"""Integrals along a ray: the warp, the gradient of the potential and the potential; knows nothing of derivatives."""

from typing import Any, NamedTuple

import numpy as np

from ._validate import Array
from ._warp_frame import Local
from ._warp_metric import Metric, Pullback

#: Evaluations of a metric along one ray: a smooth one takes hundreds, at the tightest tolerance a few thousand.
MOST_EVALUATIONS = 20_000
#: The second integration, the one that is returned, is so much tighter than the first, which measures it.
TIGHTER = 1e-2
#: Loose runs at most, each with the sizes that the one before has found.
REFINEMENTS = 5
#: Relative tolerance below which the method only sees rounding.
FLOOR = 3e-14


class Ray(NamedTuple):
    """What `implicit_bias.warp.warped_potential` puts into its result, one row for every requested length."""

    log_warp: Array
    gradient: Array
    value: Array
    log_warp_error: Array
    gradient_error: Array
    value_error: Array


def integrate(model: Metric | Pullback, base: Array, ray: Array, lengths: Array, rtol: float) -> Ray:
    """Two runs; their difference and the integrated error of the derivatives are the error."""
    start = model.at(base, "s = 0")
    # Steps cannot resolve a right-hand side below its own noise.
    noise = _slope_of_log_warp(start, ray)[1] / (np.abs(_slope_of_log_warp(start, ray)[0]) + 1.0 / lengths[-1])
    rtol = max(rtol, 10.0 * noise / TIGHTER)
    loose, tight, ends = _both(model, base, ray, lengths, rtol, start.analytic)
    # What was found at the base need not hold for all of the ray.
    if start.analytic and not all(model.at(end, "the end of the ray").analytic for end in ends):
        loose, tight, _ = _both(model, base, ray, lengths, rtol, False)
    # Where both are at the level of rounding their difference says nothing; the tolerance does.
    least = max(TIGHTER * rtol, FLOOR)
    errors = [np.abs(a - b) + e + least * np.abs(b) for a, b, e in zip(loose[:3], tight[:3], tight[3:], strict=True)]
    return Ray(tight[0], tight[1], tight[2], *errors)


def _both(
    model: Metric | Pullback, base: Array, ray: Array, lengths: Array, rtol: float, analytic: bool
) -> tuple[list[Array], list[Array], Array]:
    """The loose run, the tight one, and the point of its middle and last length."""
    size = None
    for _ in range(REFINEMENTS):
        loose, _ = _run(model, base, ray, lengths, max(rtol, FLOOR), analytic, size)
        before, size = size, (float(np.abs(loose[1]).max()), float(np.abs(loose[2]).max()))
        if before is not None and min(now / max(was, 1e-300) for now, was in zip(size, before, strict=True)) > 0.1:
            break
    tight, points = _run(model, base, ray, lengths, max(TIGHTER * rtol, FLOOR), analytic, size)
    return loose, tight, points[[len(points) // 2, -1]]


def _slope_of_log_warp(local: Local, ray: Array) -> tuple[float, float]:
    gradient, error = local.whitened().log_warp_gradient()
    return float(gradient @ ray), float(error @ np.abs(ray))


def _run(
    model: Metric | Pullback,
    base: Array,
    ray: Array,
    lengths: Array,
    rtol: float,
    analytic: bool,
    size: tuple[float, float] | None,
) -> tuple[list[Array], Array]:
    """Log warp, gradient and value, then the errors of the three that derivatives account for; points on the way."""
    from scipy.integrate import solve_ivp

    d, n, left = ray.size, base.size, MOST_EVALUATIONS

    def rhs(s: float, state: Array) -> Array:
        nonlocal left
        left -= 1
        if left < 0:
            raise ValueError(f"H must be smooth along the ray: {MOST_EVALUATIONS} evaluations came to s = {s:.6g} only")
        warp, gradient = state[n], state[n + 1 : n + 1 + d]
        warp_error, gradient_error = state[-2 - d], state[-1 - d : -1]
        local = model.at(state[:n], f"s = {s:.6g}", analytic)
        slope, slope_error = _slope_of_log_warp(local, ray)
        force = np.exp(warp) * (local.metric @ ray)
        return np.concatenate(
            [
                ray @ local.lift,
                [slope],
                force,
                [gradient @ ray, slope_error],
                np.abs(force) * np.expm1(min(warp_error, 1.0)),
                [gradient_error @ np.abs(ray)],
            ]
        )

    state = np.concatenate([base, np.zeros(2 * d + 4)])
    # Starts of 0 need an absolute tolerance, and that the sizes of gradient and value at the end. Before they are known
    # the metric at the base stands in, which is 1e12 where the gradient becomes the logarithm of that.
    with np.errstate(all="ignore"):
        first = np.abs(rhs(0.0, state)) * lengths[-1]
    if size is None:
        force = float(first[n + 1 : n + 1 + d].max())
        size = force, force * float(np.abs(ray).max()) * float(lengths[-1])
    moved = max(float(np.abs(base).max()), float(first[:n].max()))
    sizes = np.concatenate([np.full(n, moved), [1.0], np.full(d, size[0]), [size[1]]])
    # Estimates of errors jump with every step; they come along and steer nothing.
    atol = np.append(1e-2 * rtol * sizes, np.full(d + 2, 1e300))
    options: dict[str, Any] = {"method": "DOP853", "rtol": rtol, "atol": np.maximum(atol, 1e-300)}
    rows, at = np.empty((lengths.size, state.size)), 0.0
    # One run from each length to the next: the dense output is of order 7, and the difference of two runs hides it.
    for k, end in enumerate(lengths):
        if end > at:
            with np.errstate(all="ignore"):
                found = solve_ivp(rhs, (at, end), state, **options)
            if not found.success:
                raise ValueError(f"H must be smooth along the ray: no step is small enough at s = {found.t[-1]:.6g}")
            state, at = found.y[:, -1], float(end)
            steps = np.diff(found.t)
            following = lengths[min(k + 1, lengths.size - 1)] - end
            options["first_step"] = min(float(steps.max()), float(following)) or None
        rows[k] = state
    if not np.isfinite(rows).all():
        raise ValueError("H must stay finite along the ray: the potential overflows")
    cuts = np.split(rows[:, n:], np.cumsum([1, d, 1, 1, d]), axis=1)
    return [part if k in (1, 4) else part[:, 0] for k, part in enumerate(cuts)], rows[:, :n]
