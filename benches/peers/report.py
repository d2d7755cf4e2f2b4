"""Work against precision: a table, a picture, and who needs the least time for an error."""

import csv
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import numpy as np
from problems import Array, Problem
from solvers import Run

OURS = ("implicit_bias radau", "implicit_bias explicit")
#: Errors at which times are compared.
LEVELS = (1e-3, 1e-6, 1e-9, 1e-12)
#: Errors of double-double below which a run proves nothing about the reference it is part of.
FLOOR = 1e-30
#: A hundred units of round-off: errors below are not the method's.
ROUNDOFF = {"double": 1.1e-14, "double-double": 4.9e-30}
#: Points that a slope is worth telling of.
MEASURES_A_SLOPE = 3


def error_of(run: Run, problem: Problem, reference: Array) -> float:
    """The error in double-double: states are objects that subtract exactly where that matters."""
    return max(float(problem.error(run.states, reference)), FLOOR)


def write_csv(path: Path, rows: Iterable[tuple[Run, float]]) -> None:
    """One line a run."""
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["problem", "method", "precision", "rtol", "error", "seconds", "rhs", "steps"])
        for run, error in rows:
            numbers = (run.rtol, error, run.seconds, run.rhs, run.steps)
            out.writerow([run.problem, run.method, run.precision, *(f"{v:.6g}" for v in numbers)])


def seconds_for(error: float, runs: list[tuple[Run, float]]) -> float:
    """The time in which a method reaches an error, between its tolerances by a straight line in logarithms."""
    points = sorted((run.seconds, reached) for run, reached in runs)
    best = np.inf
    for (before, from_), (after, to) in pairwise(points):
        if to <= error < from_:
            share = np.log(from_ / error) / np.log(from_ / to)
            best = min(best, float(before * (after / before) ** share))
    return min([best, *(seconds for seconds, reached in points if reached <= error)])


def table(rows: list[tuple[Run, float]], problems: list[Problem]) -> str:
    """Seconds of the best of ours and of the best peer at every error level, in Markdown."""
    lines = ["| problem | error | ours | best peer | peer / ours |", "|---|---|---|---|---|"]
    for problem in problems:
        here = [(run, error) for run, error in rows if run.problem == problem.name and run.precision == "double"]
        by_method: dict[str, list[tuple[Run, float]]] = {}
        for run, error in here:
            by_method.setdefault(run.method, []).append((run, error))
        for level in LEVELS:
            times = {method: seconds_for(level, runs) for method, runs in by_method.items()}
            ours = min(((t, m) for m, t in times.items() if m in OURS), default=(np.inf, ""))
            peer = min(((t, m) for m, t in times.items() if m not in OURS), default=(np.inf, ""))
            ratio = f"{peer[0] / ours[0]:.2g}" if np.isfinite([ours[0], peer[0]]).all() else "–"
            cells = [
                f"{_time(t)} ({m.removeprefix('implicit_bias ')})" if np.isfinite(t) else "–" for t, m in (ours, peer)
            ]
            lines.append(f"| {problem.name} | {level:g} | {cells[0]} | {cells[1]} | {ratio} |")
    return "\n".join(lines) + "\n"


def slopes(rows: list[tuple[Run, float]], problems: list[Problem]) -> str:
    """d ln error / d ln rtol of ours, by least squares over the tolerances whose error is no round-off, in Markdown."""
    columns = [(method, precision) for precision in ROUNDOFF for method in OURS]
    names = [f"{method.removeprefix('implicit_bias ')}, {precision}" for method, precision in columns]
    lines = [f"| problem | {' | '.join(names)} |", "|---" * (1 + len(names)) + "|"]
    for problem in problems:
        cells = []
        for method, precision in columns:
            here = [
                (run.rtol, error)
                for run, error in rows
                if (run.problem, run.method, run.precision) == (problem.name, method, precision)
                and error > ROUNDOFF[precision]
            ]
            few = len(here) < MEASURES_A_SLOPE
            cells.append("–" if few else f"{np.polyfit(*np.log(np.array(here)).T, 1)[0]:.2f}")
        lines.append(f"| {problem.name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _time(seconds: float) -> str:
    return f"{1e3 * seconds:.2g} ms" if seconds < 0.1 else f"{seconds:.2g} s"


def draw(path: Path, rows: list[tuple[Run, float]], problems: list[Problem]) -> None:
    """Error against time and against right-hand sides, a pair of panels for every problem."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    methods = sorted({(run.method, run.precision) for run, _ in rows}, key=lambda m: (not m[0].startswith("impl"), m))
    colours = mpl.colormaps["tab20"].colors
    styles = {m: {"color": colours[i % 20], "marker": "osD^v<>PX*"[i % 10]} for i, m in enumerate(methods)}
    figure = Figure(figsize=(16.0, 3.4 * ((len(problems) + 1) // 2)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots((len(problems) + 1) // 2, 4, squeeze=False)
    for problem, (left, right) in zip(problems, axes.reshape(-1, 2), strict=False):
        for key, style in styles.items():
            here = [(r, e) for r, e in rows if r.problem == problem.name and (r.method, r.precision) == key]
            label = key[0] + (" (double-double)" if key[1] != "double" else "")
            wide = 2.0 if key[0] in OURS else 1.0
            for ax, values in ((left, [r.seconds for r, _ in here]), (right, [r.rhs for r, _ in here])):
                ax.loglog([e for _, e in here], values, label=label, linewidth=wide, markersize=3.5, **style)
        left.set(title=problem.name, ylabel="seconds", xlabel="error")
        right.set(title=problem.name, ylabel="right-hand sides", xlabel="error")
        for ax in (left, right):
            ax.invert_xaxis()
            ax.grid(visible=True, alpha=0.3)
    handles, labels = axes[1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5)
    figure.savefig(path, dpi=110)
