"""Compare the integrators with SciPy, heyoka, diffrax and gradient descent: `python benches/peers [-o out]`.

References are double-double runs of Radau at the tightest tolerance. Where another method is affordable there, its run
in double-double is the independent check; where it is not (stiff problems), the best peer is, to the digits it has.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from problems import Problem, all_problems
from report import OURS, draw, error_of, slopes, table, write_csv
from solvers import Run, runs_of

ROOT = Path(__file__).parents[2]
MARK = ("<!-- table: begin -->\n", "<!-- table: end -->\n")


def main() -> None:
    """Run, compare, write."""
    options = argparse.ArgumentParser(description="Work against precision, beside other programs.")
    options.add_argument("-o", "--out", type=Path, default=ROOT / "out")
    options.add_argument("--docs", type=Path, default=None, help="write the table into this page, between its marks")
    options.add_argument("--only", default="", help="problems whose name has this in it")
    told = options.parse_args()
    problems = [problem for problem in all_problems() if told.only in problem.name]
    runs = ours(problems)
    references = {problem.name: reference(problem, runs) for problem in problems}
    for problem in problems:
        runs += runs_of(problem)
    known = {problem.name: problem for problem in problems}
    rows = [(run, error_of(run, known[run.problem], references[run.problem][0])) for run in runs]
    told.out.mkdir(parents=True, exist_ok=True)
    write_csv(told.out / "bench_peers.csv", rows)
    draw(told.out / "bench_peers.png", rows, problems)
    whose = {name: method for name, (_, method) in references.items()}
    text = "\n".join([table(rows, problems), slopes(rows, problems), checks(problems, rows, whose)])
    (told.out / "bench_peers.md").write_text(text)
    if told.docs is not None:
        page = told.docs.read_text()
        begin, end = page.index(MARK[0]) + len(MARK[0]), page.index(MARK[1])
        told.docs.write_text(page[:begin] + "\n" + text + "\n" + page[end:])


def ours(problems: list[Problem]) -> list[Run]:
    """The runs of `benches/rust/peers.rs`; states are mpmath numbers in double-double."""
    from mpmath import mp, mpf

    mp.prec = 120
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "problems.json"
        file.write_text(json.dumps([problem.for_rust() for problem in problems]))
        command = ["cargo", "bench", "--quiet", "--no-default-features", "--bench", "peers", "--", str(file)]
        out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    runs = []
    for line in map(json.loads, out.splitlines()):
        if line["success"]:
            states = np.array([[mpf(high) + mpf(low) for high, low in state] for state in line["states"]])
            name = f"implicit_bias {line['method']}"
            counts = float(line["rhs"]), float(line["steps"])
            runs.append(Run(line["problem"], name, line["rtol"], line["seconds"], *counts, states, line["precision"]))
    return runs


def reference(problem: Problem, runs: list[Run]) -> tuple[np.ndarray, str]:
    """The tightest double-double run, and whose it is."""
    low = [run for run in runs if run.problem == problem.name and run.precision != "double"]
    best = min(low, key=lambda run: (run.rtol, run.method != OURS[0]))
    return best.states, best.method


def checks(problems: list[Problem], rows: list[tuple[Run, float]], whose: dict[str, str]) -> str:
    """How far every reference is from the best run of another method."""
    lines = ["| reference of | method | nearest run of another method | difference |", "|---|---|---|---|"]
    for problem in problems:
        others = [(e, r) for r, e in rows if r.problem == problem.name and r.method != whose[problem.name]]
        error, run = min(others, key=lambda pair: pair[0])
        which = f"{run.method}, {run.precision}, rtol {run.rtol:g}"
        lines.append(
            f"| {problem.name} | {whose[problem.name].removeprefix('implicit_bias ')} | {which} | {error:.1e} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
