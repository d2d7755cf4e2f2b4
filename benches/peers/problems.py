"""The problems that integrators are compared on: data, equations in NumPy, and what is asked.

The same right-hand sides, in the package's reduced coordinates, are given to every program, so that it is the
integrator that is compared; `benches/rust/peers.rs` has them in Rust, `solvers.py` in the languages of the peers.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: Tolerances in binary64 and beyond.
RTOL = (1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 1e-13)
#: What this package has beyond; SciPy refuses it.
RTOL_OURS = (*RTOL, 1e-14)
RTOL_LOW = (1e-5, 1e-9, 1e-13, 1e-16, 1e-19, 1e-22, 1e-25, 1e-28)
#: Samples and features of the flows.
SAMPLES, FEATURES = 5, 20


@dataclass(frozen=True)
class Problem:
    """An initial value problem, the times at which it is looked at, and how its error is measured."""

    name: str
    kind: str
    start: Array
    times: Array
    atol_unit: float
    #: Each component by its own size, or all by the largest.
    componentwise: bool = False
    #: Whether implicit methods are worth a run.
    implicit: bool = True
    data: dict[str, object] = field(default_factory=dict)

    def for_rust(self) -> dict[str, object]:
        """What `benches/rust/peers.rs` reads."""
        return {
            "name": self.name,
            "kind": self.kind,
            "start": [[v, 0.0] for v in self.start.tolist()],
            "times": [[t, 0.0] for t in self.times.tolist()],
            "atol_unit": self.atol_unit,
            "rtol": RTOL_OURS,
            "rtol_low": RTOL_LOW,
            "methods": ["radau", "explicit"] if self.implicit else ["explicit"],
            "data": {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in self.data.items()},
        }

    def rhs(self) -> Callable[[float, Array], Array]:
        """The right-hand side in NumPy."""
        return RIGHT_HAND_SIDES[self.kind](self.data)

    def error(self, states: Array, reference: Array) -> float:
        """The largest relative error over the times."""
        size = np.abs(reference) if self.componentwise else np.abs(reference).max(axis=1, keepdims=True)
        return float((np.abs(states - reference) / size).max())


def all_problems() -> list[Problem]:
    """The set of the table."""
    flows = [dual(scale, condition) for scale in (1e-3, 1e-12, 1e-100) for condition in (1e1, 1e3, 1e5)]
    return [logistic(1e-12), logistic(1e-100), *flows, neuron(), van_der_pol(), robertson(), pleiades(), arenstorf()]


def logistic(start: float) -> Problem:
    """y' = y(1 - y), from the saddle at 0; times before, in and after the rise."""
    rise = -np.log(start)
    times = np.array([0.5 * rise, rise, rise + 5.0])
    return Problem(f"logistic from {start:g}", "logistic", np.array([start]), times, 0.0)


def dual(scale: float, condition: float) -> Problem:
    """The dual flow of a diagonal network of this scale on data of this condition number."""
    rng = np.random.default_rng(0)
    left = np.linalg.qr(rng.standard_normal((SAMPLES, SAMPLES)))[0]
    right = np.linalg.qr(rng.standard_normal((FEATURES, SAMPLES)))[0]
    X = left * np.geomspace(1.0, 1.0 / condition, SAMPLES) @ right.T * np.sqrt(FEATURES)
    beta = np.zeros(FEATURES)
    beta[:3] = 1.0, -0.7, 0.4
    log_kappa = float(np.log(4.0 * scale))
    # The escape takes a time ∝ ln(1/κ); what follows goes on for the condition number squared.
    unit = SAMPLES / np.abs(X.T @ (X @ beta)).max()
    times = unit * np.array([0.4 * -log_kappa, 1.2 * -log_kappa, 10.0 * -log_kappa, 1e3 * -log_kappa])
    data = {"X": X, "y": X @ beta, "log_kappa": log_kappa}
    return Problem(
        f"dual flow, scale {scale:g}, condition {condition:g}", "dual", np.zeros(SAMPLES), times, 1.0, data=data
    )


def neuron() -> Problem:
    """One linear neuron in the span of its samples: (a, p), p = Xw."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((SAMPLES, FEATURES))
    y = X[:, 0] - 0.5 * X[:, 1]
    start = np.concatenate([[1e-3], X @ rng.standard_normal(FEATURES) * 1e-4])
    return Problem(
        "one linear neuron", "neuron", start, np.array([0.5, 2.0, 10.0, 100.0]), 1e-3, data={"kernel": X @ X.T, "y": y}
    )


def van_der_pol() -> Problem:
    """Hairer & Wanner II, IV.10, (10.1): mu² = 10^6 in scaled time."""
    return Problem(
        "Van der Pol, 1e6", "van der pol", np.array([2.0, 0.0]), np.array([1.0, 2.0]), 1.0, componentwise=True
    )


def robertson() -> Problem:
    """Hairer & Wanner II, IV.10, (10.2)."""
    times = np.array([0.4, 4e3, 4e7, 1e11])
    return Problem("Robertson", "robertson", np.array([1.0, 0.0, 0.0]), times, 1e-6, componentwise=True)


def pleiades() -> Problem:
    """Hairer, Nørsett & Wanner I, II.10, (10.3)."""
    x = [3.0, 3.0, -1.0, -3.0, 2.0, -2.0, 2.0, 3.0, -3.0, 2.0, 0.0, 0.0, -4.0, 4.0]
    v = [0.0, 0.0, 0.0, 0.0, 0.0, 1.75, -1.5, 0.0, 0.0, 0.0, -1.25, 1.0, 0.0, 0.0]
    return Problem("Pleiades", "pleiades", np.array(x + v), np.array([1.0, 3.0]), 1.0, implicit=False)


def arenstorf() -> Problem:
    """Hairer, Nørsett & Wanner I, II.0, (0.1): one period."""
    start = np.array([0.994, 0.0, 0.0, -2.00158510637908252240537862224])
    period = np.array([17.0652165601579625588917206249])
    return Problem("Arenstorf", "arenstorf", start, period, 1.0, implicit=False)


def _logistic(_: dict[str, object]) -> Callable[[float, Array], Array]:
    return lambda _t, y: y * (1.0 - y)


def _dual(data: dict[str, object]) -> Callable[[float, Array], Array]:
    X, y, log = np.asarray(data["X"]), np.asarray(data["y"]), float(str(data["log_kappa"])) - np.log(2.0)
    twice, share = 2.0 * X.T.copy(), 0.5 * X / len(y)

    def rhs(_t: float, nu: Array) -> Array:
        z = twice @ nu
        return np.asarray(y / len(y) - share @ (np.exp(log + z) - np.exp(log - z)))

    return rhs


def _neuron(data: dict[str, object]) -> Callable[[float, Array], Array]:
    kernel, y = np.asarray(data["kernel"]), np.asarray(data["y"])

    def rhs(_t: float, state: Array) -> Array:
        a, p = state[0], state[1:]
        r = (y - a * p) / len(y)
        return np.concatenate([[p @ r], a * (kernel @ r)])

    return rhs


def _van_der_pol(_: dict[str, object]) -> Callable[[float, Array], Array]:
    return lambda _t, y: np.array([y[1], ((1.0 - y[0] * y[0]) * y[1] - y[0]) * 1e6])


def _robertson(_: dict[str, object]) -> Callable[[float, Array], Array]:
    def rhs(_t: float, y: Array) -> Array:
        slow, fast, last = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] * y[1]
        return np.array([fast - slow, slow - fast - last, last])

    return rhs


def _pleiades(_: dict[str, object]) -> Callable[[float, Array], Array]:
    masses = np.arange(1.0, 8.0)

    def rhs(_t: float, y: Array) -> Array:
        x, z = y[:7], y[7:14]
        dx, dz = x[None, :] - x[:, None], z[None, :] - z[:, None]
        square = dx * dx + dz * dz
        np.fill_diagonal(square, 1.0)
        pull = masses / (square * np.sqrt(square))
        return np.concatenate([y[14:], (pull * dx).sum(axis=1), (pull * dz).sum(axis=1)])

    return rhs


def _arenstorf(_: dict[str, object]) -> Callable[[float, Array], Array]:
    moon = 0.012277471
    earth = 1.0 - moon

    def rhs(_t: float, y: Array) -> Array:
        left, right = y[0] + moon, y[0] - earth
        d1, d2 = (left * left + y[1] * y[1]) ** 1.5, (right * right + y[1] * y[1]) ** 1.5
        x = y[0] + 2.0 * y[3] - earth * left / d1 - moon * right / d2
        z = y[1] - 2.0 * y[2] - earth * y[1] / d1 - moon * y[1] / d2
        return np.array([y[2], y[3], x, z])

    return rhs


RIGHT_HAND_SIDES = {
    "logistic": _logistic,
    "dual": _dual,
    "neuron": _neuron,
    "van der pol": _van_der_pol,
    "robertson": _robertson,
    "pleiades": _pleiades,
    "arenstorf": _arenstorf,
}
