"""What the command line says about a result, and what it writes of it."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ._diagonal import DiagonalNetwork
from ._files import Column, Results
from ._results import Limit
from ._sweep import SweepResult
from ._trajectory import Flow
from ._validate import Array


def limit_lines(end: Limit, net: DiagonalNetwork, X: Array) -> Iterator[str]:
    """A short summary."""
    yield _headline("limit", net, X)
    yield _line("status", f"{end.status}: {end.message}")
    yield _line("residual", f"{end.kkt.feasibility:.1e} of the largest target, after {end.n_iter} systems")
    if end.error_bound is not None:
        worst = end.error_bound.max()
        proven = f"every coefficient proven to {worst:.1e}" if np.isfinite(worst) else "none for some coefficients"
        yield _line("bound", proven)
    size = np.abs(end.beta)
    yield _line("norms", f"l1 {size.sum():.6g}, l2 {np.linalg.norm(end.beta):.6g}, potential {end.potential_value:.6g}")
    yield _line("largest", ", ".join(f"[{i}] {end.beta[i]:.6g}" for i in np.argsort(-size, kind="stable")[:5]))


def limit_results(end: Limit, net: DiagonalNetwork) -> Results:
    """Everything a limit holds; the table has one row a feature."""
    table: dict[str, Column] = {"feature": np.arange(end.beta.size), "beta": end.beta}
    if end.beta_low is not None:
        table["beta_low"] = end.beta_low
    if end.error_bound is not None:
        table["error_bound"] = end.error_bound
    everything = {
        "beta": end.beta,
        "error_bound": end.error_bound,
        "multipliers": end.multipliers,
        "backward_error": end.backward_error,
        "potential_value": end.potential_value,
        "stationarity": end.kkt.stationarity,
        "feasibility": end.kkt.feasibility,
        "duality_gap": end.kkt.duality_gap,
        "n_iter": end.n_iter,
        **{name: getattr(end, name) for name in ("beta_low", "multipliers_low", "potential_value_low")},
        **_ending(end),
        **_given(net),
    }
    return Results(everything, table)


def flow_lines(flow: Flow, net: DiagonalNetwork, X: Array) -> Iterator[str]:
    """A short summary."""
    yield _headline("flow", net, X)
    yield _line("status", f"{flow.status}: {flow.message.replace('t=None', 'no --t')}")
    steps = f"{flow.stats['accepted']} steps, {flow.stats['seconds']:.2g} s"
    if flow.t.size:
        yield _line("rows", f"{flow.t.size}, from t = {flow.t[0]:g} to t = {flow.t[-1]:g}; {steps}")
        yield _line("loss", f"{flow.loss[0]:.3g} in the first row, {flow.loss[-1]:.3g} in the last")
    else:
        yield _line("rows", f"none; {steps}")


def flow_results(flow: Flow, net: DiagonalNetwork) -> Results:
    """Everything a flow holds; the table has one row a time."""
    kept = {name: values for name, values in flow.observables.items() if name != "loss"}
    low = {f"{name}_low": values for name, values in (flow.observables_low or {}).items() if name != "loss"}
    if flow.loss_low is not None:
        low = {"loss_low": flow.loss_low, **low}
    table: dict[str, Column] = {"t": flow.t, "loss": flow.loss, **kept, **low}
    if flow.beta.shape[0] == flow.t.size:
        table |= {f"beta_{i}": column for i, column in enumerate(flow.beta.T)}
        if flow.beta_low is not None:
            table |= {f"beta_{i}_low": column for i, column in enumerate(flow.beta_low.T)}
    everything = {
        "t": flow.t,
        "beta": flow.beta,
        "loss": flow.loss,
        "multipliers": flow.multipliers,
        **kept,
        "beta_low": flow.beta_low,
        "multipliers_low": flow.multipliers_low,
        **low,
        **flow.stats,
        **_ending(flow),
        **_given(net),
    }
    return Results(everything, table)


def sweep_lines(table: SweepResult, X: Array, solve: str) -> Iterator[str]:
    """A short summary."""
    axes = " x ".join(_count(len(values), name) for name, values in table.axes.items())
    yield f"sweep of {_size(X)}: {solve}s from {axes}"
    counts = dict(zip(*np.unique(table["status"].astype(str), return_counts=True), strict=True))
    yield _line("points", ", ".join(f"{count} {status}" for status, count in counts.items()))
    for name in table.measures:
        values = table[name][np.isfinite(table[name])]
        yield _line(name, f"{values.min():.6g} to {values.max():.6g}" if values.size else "nowhere finite")
    wrong = np.flatnonzero(~table["success"])
    if wrong.size:
        point = ", ".join(f"{name} {table[name][wrong[0]]:g}" for name in table.axes)
        yield _line("first not", f"{point}: {table['message'][wrong[0]]}")


def sweep_results(table: SweepResult) -> Results:
    """The table, which is everything."""
    return Results(dict(table), dict(table))


def _headline(what: str, net: DiagonalNetwork, X: Array) -> str:
    given = ", ".join(f"{name} {value}" for name, value in _given(net).items() if isinstance(value, float | str))
    return f"{what} of {_size(X)}{': ' if given else ''}{given}"


def _size(X: Array) -> str:
    return f"{_count(X.shape[0], 'sample')}, {_count(X.shape[1], 'feature')}"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _line(name: str, text: str) -> str:
    return f"  {name:12} {text}"


def _ending(result: Limit | Flow) -> dict[str, Any]:
    return {"status": str(result.status), "message": result.message, "success": result.success}


def _given(net: DiagonalNetwork) -> dict[str, object]:
    names = ("scale", "log_scale", "shape")
    return {name: getattr(net, name) for name in names if getattr(net, name) is not None}
