"""Every program on one problem at one tolerance: states at the times, seconds, right-hand sides.

Compilation is not counted: what is timed is a second run of the same call. A run that takes more than `PATIENCE`
seconds is given up, and with it all tighter tolerances of that method on that problem.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from problems import RTOL, Array, Problem

PATIENCE = 5.0
#: Steps that a compiled loop, which cannot be stopped from outside, may take.
MAX_STEPS = 300_000
REPETITIONS = 3


@dataclass(frozen=True)
class Run:
    """One run of one program."""

    problem: str
    method: str
    rtol: float
    seconds: float
    #: Right-hand sides; of a Taylor method steps times its order; NaN where the program does not say.
    rhs: float
    steps: float
    states: NDArray[np.object_] | Array
    precision: str = "double"


class TooLongError(Exception):
    """The patience is over."""


def runs_of(problem: Problem) -> Iterator[Run]:
    """All peers at all tolerances."""
    for method, make in PEERS.items():
        if problem.implicit or method not in IMPLICIT:
            solve = make(problem)
            for rtol in RTOL if method != "gradient descent" else (1e-1, 1e-2, 1e-3):
                run = timed(problem, method, rtol, solve)
                if run is None:
                    break
                yield run


#: States at the times, right-hand sides, steps.
Solve = Callable[[float], tuple[Array, float, float]]


def timed(problem: Problem, method: str, rtol: float, solve: Solve) -> Run | None:
    """The median of several runs; None where it takes too long or fails."""
    seconds, found = [], None
    with np.errstate(all="ignore"):
        for _ in range(REPETITIONS + 1):
            begin = time.perf_counter()
            try:
                found = solve(rtol)
            except (TooLongError, RuntimeError, ValueError):
                return None
            seconds.append(time.perf_counter() - begin)
            if seconds[-1] > 1.0:
                break
    if found is None or found[0].shape != (len(problem.times), len(problem.start)) or not np.isfinite(found[0]).all():
        return None
    kept = seconds[1:] or seconds
    return Run(problem.name, method, rtol, float(np.median(kept)), found[1], found[2], found[0])


def scipy_solver(name: str) -> Callable[[Problem], Solve]:
    """`scipy.integrate.solve_ivp`."""

    def make(problem: Problem) -> Solve:
        from scipy.integrate import solve_ivp

        rhs = problem.rhs()

        def solve(rtol: float) -> tuple[Array, float, float]:
            end = time.perf_counter() + PATIENCE

            def watched(t: float, y: Array) -> Array:
                if time.perf_counter() > end:
                    raise TooLongError
                return rhs(t, y)

            # SciPy raises a smaller rtol to this, with a warning.
            found = solve_ivp(
                watched, (0.0, problem.times[-1]), problem.start, name, problem.times,
                rtol=max(rtol, 2.3e-14), atol=rtol * problem.atol_unit,
            )  # fmt: skip
            return found.y.T, float(found.nfev), float("nan")

        return solve

    return make


def heyoka_solver(problem: Problem) -> Solve:
    """heyoka's adaptive Taylor method, compiled for the problem."""
    import heyoka as hy

    names = [f"y{i}" for i in range(len(problem.start))]
    y = [hy.make_vars(name) for name in names]
    system = list(zip(y, _symbolic(problem, y, hy), strict=True))

    def make(rtol: float) -> object:
        return hy.taylor_adaptive(system, problem.start.copy(), tol=rtol, compact_mode=True)

    made: dict[float, object] = {}

    def solve(rtol: float) -> tuple[Array, float, float]:
        integrator = made.setdefault(rtol, make(rtol))
        integrator.time = 0.0
        integrator.state[:] = problem.start
        begin, states, steps = time.perf_counter(), [], 0
        for t in problem.times:
            outcome = integrator.propagate_until(float(t), max_steps=MAX_STEPS)
            steps += outcome[3]
            if time.perf_counter() - begin > PATIENCE or "time_limit" not in str(outcome[0]):
                raise TooLongError
            states.append(integrator.state.copy())
        return np.array(states), float(steps * integrator.order), float(steps)

    return solve


def _symbolic(problem: Problem, y: list[object], hy: object) -> list[object]:
    """The right-hand side as heyoka's expressions."""
    data = {k: np.asarray(v) for k, v in problem.data.items()}
    if problem.kind == "logistic":
        return [y[0] * (1.0 - y[0])]
    if problem.kind == "dual":
        X, log, n = data["X"], float(data["log_kappa"]) - np.log(2.0), len(y)
        beta = []
        for i in range(X.shape[1]):
            z = hy.sum([2.0 * X[k, i] * y[k] for k in range(n)])
            beta.append(0.5 * (hy.exp(log + z) - hy.exp(log - z)))
        return [(data["y"][k] - hy.sum([X[k, i] * b for i, b in enumerate(beta)])) / n for k in range(n)]
    if problem.kind == "neuron":
        n = len(data["y"])
        r = [(data["y"][k] - y[0] * y[k + 1]) / n for k in range(n)]
        pull = [hy.sum([data["kernel"][k, m] * r[m] for m in range(n)]) for k in range(n)]
        return [hy.sum([y[k + 1] * r[k] for k in range(n)]), *(y[0] * p for p in pull)]
    if problem.kind == "van der pol":
        return [y[1], ((1.0 - y[0] * y[0]) * y[1] - y[0]) * 1e6]
    if problem.kind == "robertson":
        slow, fast, last = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] * y[1]
        return [fast - slow, slow - fast - last, last]
    if problem.kind == "pleiades":
        pull = [[], []]
        for i in range(7):
            pair = [(y[j] - y[i], y[7 + j] - y[7 + i], j) for j in range(7) if j != i]
            for k in range(2):
                pull[k].append(hy.sum([(j + 1.0) * p[k] * (p[0] ** 2 + p[1] ** 2) ** -1.5 for *p, j in pair]))
        return [*y[14:], *pull[0], *pull[1]]
    moon = 0.012277471
    earth = 1.0 - moon
    left, right = y[0] + moon, y[0] - earth
    d1, d2 = (left**2 + y[1] ** 2) ** -1.5, (right**2 + y[1] ** 2) ** -1.5
    return [
        y[2], y[3], y[0] + 2.0 * y[3] - earth * left * d1 - moon * right * d2,
        y[1] - 2.0 * y[2] - earth * y[1] * d1 - moon * y[1] * d2,
    ]  # fmt: skip


def diffrax_solver(name: str) -> Callable[[Problem], Solve]:
    """diffrax, compiled by JAX for the problem; the tolerance is an argument, so that it is compiled once."""

    def make(problem: Problem) -> Solve:
        import diffrax
        import jax

        jax.config.update("jax_enable_x64", True)
        rhs, times = _traced(problem), jax.numpy.asarray(problem.times)
        start = jax.numpy.asarray(problem.start)

        @jax.jit
        def run(rtol: float) -> object:
            found = diffrax.diffeqsolve(
                diffrax.ODETerm(rhs), getattr(diffrax, name)(), 0.0, times[-1], None, start,
                saveat=diffrax.SaveAt(ts=times), max_steps=MAX_STEPS, throw=False,
                stepsize_controller=diffrax.PIDController(rtol=rtol, atol=rtol * problem.atol_unit),
            )  # fmt: skip
            return found.ys, found.stats["num_steps"], diffrax.is_successful(found.result)

        def solve(rtol: float) -> tuple[Array, float, float]:
            ys, steps, done = run(rtol)
            if not bool(done):
                raise TooLongError
            stages = 13.0 if name == "Dopri8" else float("nan")
            return np.asarray(ys), stages * float(steps), float(steps)

        return solve

    return make


def _traced(problem: Problem) -> Callable[[float, object, object], object]:
    """The right-hand side for JAX."""
    import jax.numpy as jnp

    data = {k: jnp.asarray(np.asarray(v)) for k, v in problem.data.items()}
    n = len(problem.start)

    def pleiades(y: object) -> object:
        x, z = y[:7], y[7:14]
        dx, dz = x[None, :] - x[:, None], z[None, :] - z[:, None]
        square = dx * dx + dz * dz + jnp.eye(7)
        pull = jnp.arange(1.0, 8.0) / (square * jnp.sqrt(square))
        return jnp.concatenate([y[14:], (pull * dx).sum(axis=1), (pull * dz).sum(axis=1)])

    def arenstorf(y: object) -> object:
        moon = 0.012277471
        left, right = y[0] + moon, y[0] - (1.0 - moon)
        d1, d2 = (left**2 + y[1] ** 2) ** 1.5, (right**2 + y[1] ** 2) ** 1.5
        x = y[0] + 2.0 * y[3] - (1.0 - moon) * left / d1 - moon * right / d2
        return jnp.stack([y[2], y[3], x, y[1] - 2.0 * y[2] - ((1.0 - moon) / d1 + moon / d2) * y[1]])

    def dual(y: object) -> object:
        z, log = 2.0 * (data["X"].T @ y), data["log_kappa"] - np.log(2.0)
        return (data["y"] - data["X"] @ (0.5 * (jnp.exp(log + z) - jnp.exp(log - z)))) / n

    def neuron(y: object) -> object:
        r = (data["y"] - y[0] * y[1:]) / len(data["y"])
        return jnp.concatenate([jnp.atleast_1d(y[1:] @ r), y[0] * (data["kernel"] @ r)])

    def robertson(y: object) -> object:
        slow, fast, last = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
        return jnp.stack([fast - slow, slow - fast - last, last])

    kinds = {
        "logistic": lambda y: y * (1.0 - y),
        "dual": dual,
        "neuron": neuron,
        "van der pol": lambda y: jnp.stack([y[1], ((1.0 - y[0] ** 2) * y[1] - y[0]) * 1e6]),
        "robertson": robertson,
        "pleiades": pleiades,
        "arenstorf": arenstorf,
    }
    right = kinds[problem.kind]
    return lambda _t, y, _args: right(y)


def gradient_descent(problem: Problem) -> Solve:
    """Fixed steps on the weights, as the papers run it: u = v at the start, Euler's method for the flow.

    The "tolerance" is the step, in units of N / ||X||², beyond which it diverges where coefficients are about 1.
    """
    if problem.kind != "dual":
        return lambda _: (np.empty((0, 0)), 0.0, 0.0)
    X, y = np.asarray(problem.data["X"]), np.asarray(problem.data["y"])
    root = np.exp(0.5 * (float(str(problem.data["log_kappa"])) - np.log(4.0)))
    gram_inverse = np.linalg.inv(X @ X.T) @ X

    def solve(share: float) -> tuple[Array, float, float]:
        step = share * len(y) / np.linalg.norm(X, 2) ** 2
        plus, minus = np.full((2, X.shape[1]), root), np.full((2, X.shape[1]), root)
        states, done, end = [], 0, time.perf_counter() + PATIENCE
        for t in problem.times:
            while done * step < t:
                g = step / len(y) * (X.T @ (y - X @ (plus[0] * plus[1] - minus[0] * minus[1])))
                plus, minus = plus + g * plus[::-1], minus - g * minus[::-1]
                done += 1
                if done % 1000 == 0 and time.perf_counter() > end:
                    raise TooLongError
            # nu of least squares: G = Xᵀnu is half the logarithm of what the weights have grown by.
            G = np.log((plus[0] + plus[1]) / (2.0 * root))
            states.append(gram_inverse @ G)
        return np.array(states), float(done), float(done)

    return solve


IMPLICIT = {"SciPy Radau", "SciPy BDF", "diffrax Kvaerno5", "gradient descent"}
PEERS: dict[str, Callable[[Problem], Solve]] = {
    "SciPy DOP853": scipy_solver("DOP853"),
    "SciPy Radau": scipy_solver("Radau"),
    "SciPy BDF": scipy_solver("BDF"),
    "SciPy LSODA": scipy_solver("LSODA"),
    "heyoka": heyoka_solver,
    "diffrax Dopri8": diffrax_solver("Dopri8"),
    "diffrax Kvaerno5": diffrax_solver("Kvaerno5"),
    "gradient descent": gradient_descent,
}
