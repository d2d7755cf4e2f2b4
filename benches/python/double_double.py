"""What thirty digits cost: the same flows in binary64 and in double-double, by turns, as a table of times a step.

usage: python benches/python/double_double.py [REPEATS]

A step is a trial step, accepted or not, of a run without requested times; both runs are at their default tolerances.
Ends with an error where a step in double-double takes more than twenty times as long.
"""

import statistics
import sys
import time

import numpy as np

import implicit_bias as ib

#: Network, samples, features, scale.
PROBLEMS = [
    *[("diagonal", *sizes) for sizes in [(5, 20, 1e-3), (5, 20, 1e-100), (20, 200, 1e-12)]],
    *[("diagonal", *sizes) for sizes in [(100, 1000, 1e2), (100, 1000, 1e-12), (200, 5000, 1e-6)]],
    *[("linear, 1 neuron", *sizes) for sizes in [(5, 20, 1e-3), (100, 1000, 1e-6)]],
    *[("linear, 20 neurons", *sizes) for sizes in [(5, 20, 1e-3), (100, 1000, 1e-6)]],
    ("leaky ReLU, 1 neuron", 4, 6, 0.1),
    ("leaky ReLU, 3 neurons", 10, 20, 0.1),
    ("leaky ReLU, 10 neurons", 40, 100, 0.1),
]
MOST = 20.0
#: Long runs say nothing that their first steps do not; both precisions are cut alike.
STEPS = 60


def network(kind, n_features, scale, rng):
    """The start; several neurons at random."""
    if kind == "diagonal":
        return ib.DiagonalNetwork.from_scale_shape(n_features, scale=scale)
    m = int(kind.split(", ")[1].split()[0])
    a, W = rng.standard_normal(m), rng.standard_normal((m, n_features)) / np.sqrt(n_features)
    if kind.startswith("linear"):
        return ib.FullyConnectedNetwork(a, W, log_magnitude=0.5 * np.log(scale))
    return ib.LeakyReLUNetwork(np.sqrt(scale) * a, np.sqrt(scale) * W, slope=0.1)


def seconds_a_step(problem, precision):
    """Processor time of one trial step, and how many there were."""
    kind, n_samples, n_features, scale = problem
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n_samples, n_features)), rng.standard_normal(n_samples)
    net = network(kind, n_features, scale, rng)
    method = "radau" if kind.startswith("linear") else "auto"
    began = time.process_time()
    flow = ib.gradient_flow(net, X, y, precision=precision, method=method, max_steps=STEPS, n_jobs=1, save_beta=False)
    steps = flow.stats["accepted"] + flow.stats["rejected"]
    return (time.process_time() - began) / steps, flow.stats


def main(repeats=5):
    """Print the table."""
    lines = [
        "| network | N | d | scale | double: ms a step, iterations | double-double: ms a step, iterations | ratio |"
    ]
    lines += ["|---|---|---|---|---|---|---|"]
    worst = 0.0
    for problem in PROBLEMS:
        found = {"double": [], "double-double": []}
        for _ in range(repeats):
            for precision, values in found.items():
                values.append(seconds_a_step(problem, precision))
        cells, medians = [], []
        for values in found.values():
            medians.append(statistics.median(seconds for seconds, _ in values))
            stats = values[0][1]
            steps = stats["accepted"] + stats["rejected"]
            cells.append(f"{1e3 * medians[-1]:.3g}, {stats['newton_iterations'] / steps:.1f}")
        ratio = medians[1] / medians[0]
        worst = max(worst, ratio)
        sizes = f"{problem[0]} | {problem[1]} | {problem[2]} | {problem[3]:g}"
        lines.append(f"| {sizes} | {cells[0]} | {cells[1]} | {ratio:.1f} |")
    sys.stdout.write("\n".join(lines) + "\n")
    if worst > MOST:
        sys.exit(f"a step in double-double takes {worst:.1f} times as long as one in binary64: more than {MOST:g}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
