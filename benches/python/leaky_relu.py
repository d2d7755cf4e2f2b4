"""Two hundred random leaky-ReLU neurons: this package beside SciPy on the raw weights, as a table.

usage: python benches/python/leaky_relu.py [N_PROBLEMS] [N_SCIPY]
"""

import sys
import time

import numpy as np
from scipy.integrate import solve_ivp

import implicit_bias as ib

SLOPE = 0.2
#: A SciPy run that needs more right-hand sides than this chatters: it steps back and forth across a kink.
MOST = 300_000


class ChatteringError(Exception):
    """Too many right-hand sides."""


def problem(seed):
    """N = 4, d = 6, scale 1e-3 to 1, shape 0 to 0.9, either sign of a."""
    rng = np.random.default_rng(seed)
    X, y, u = rng.standard_normal((4, 6)), rng.standard_normal(4), rng.standard_normal(6)
    scale, shape, sign = 10.0 ** rng.uniform(-3, 0), rng.uniform(0.0, 0.9), rng.choice([-1, 1])
    return ib.LeakyReLUNetwork.from_scale_shape(u, scale=scale, shape=shape, slope=SLOPE, sign=int(sign)), X, y


def by_scipy(net, X, y, method, t_end):
    """Right-hand sides that SciPy takes to the same time on the raw weights."""
    count = 0

    def velocity(_, state):
        nonlocal count
        count += 1
        if count > MOST:
            raise ChatteringError
        a, w = state[0], state[1:]
        p = X @ w
        c = np.where(p > 0, 1.0, SLOPE)
        r = y - a * c * p
        return np.concatenate([[(c * p) @ r], a * ((c * r) @ X)]) / y.size

    start = np.concatenate([net.a, net.W[0]])
    state = solve_ivp(velocity, (0.0, t_end), start, method=method, rtol=1e-10, atol=1e-12).y[:, -1]
    return count, state[0] * state[1:]


def row(name, counts, errors, chatter, seconds):
    """One line of the table."""
    middle, most = (f"{np.median(counts):.0f}", f"{np.max(counts):.0f}") if len(counts) else ("-", "-")
    error = f"{np.max(errors):.1e}" if len(errors) else "-"
    return f"| {name} | {middle} | {most} | {chatter} | {error} | {seconds:.2f} |"


def main(n_problems=200, n_scipy=60):
    """Print the table."""
    lines = [
        "| method | right-hand sides, median | most | chatter | largest error at the end | seconds |",
        "|---|---|---|---|---|---|",
    ]
    ends, slides, events = [], 0, 0
    for method in ("auto", "radau", "explicit"):
        counts, errors, clock = [], [], time.perf_counter()
        for seed in range(n_problems):
            net, X, y = problem(seed)
            flow = ib.gradient_flow(net, X, y, rtol=1e-12, method=method)
            exact = ib.limit(net, X, y).beta
            counts.append(flow.stats["rhs"])
            errors.append(np.linalg.norm(flow.beta[-1] - exact) / np.linalg.norm(exact) if flow.success else np.inf)
            if method == "auto":
                ends.append(flow.t[-1])
                slides += any(event.kind == "starts_sliding" for event in flow.events)
                events = max(events, len(flow.events))
        lines.append(row(f"implicit_bias {method}, rtol 1e-12", counts, errors, 0, time.perf_counter() - clock))
    for method in ("DOP853", "LSODA"):
        counts, errors, chatter, clock = [], [], 0, time.perf_counter()
        for seed in range(n_scipy):
            net, X, y = problem(seed)
            exact = ib.limit(net, X, y).beta
            try:
                count, end = by_scipy(net, X, y, method, ends[seed])
            except ChatteringError:
                chatter += 1
                continue
            counts.append(count)
            errors.append(np.linalg.norm(end - exact) / np.linalg.norm(exact))
        name = f"SciPy {method}, rtol 1e-10, first {n_scipy}"
        lines.append(row(name, counts, errors, chatter, time.perf_counter() - clock))
    lines.append(f"\n{n_problems} problems, {slides} of them slide, at most {events} events in one.")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
