"""The command line. It only parses, calls and reports: what it prints is computed elsewhere.

Exit codes: 0 done, 1 a file or the machine failed, 2 wrong usage, 3 it ran but did not arrive, 130 Ctrl-C.
Everything printed is ASCII: a terminal or the log of a cluster may know nothing else.
"""

import os
import platform
from collections.abc import Iterable
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from . import __version__, _files, _options, _report
from . import _flow as flows
from . import _limit as limits
from . import _sweep as sweeps
from . import _validate as check
from ._console import INTERRUPTED, NOT_ARRIVED, one_line, say
from ._diagonal import DiagonalNetwork
from ._figures import FIGURES
from ._figures.page import Draw, save
from ._options import (
    LogScale,
    LogScales,
    MaxSeconds,
    MaxSteps,
    Method,
    NJobs,
    Out,
    Precision,
    Rtol,
    Scale,
    Scales,
    Shape,
    Shapes,
    StartFile,
    Tol,
    XFile,
    XKey,
    YFile,
    YKey,
)
from ._progress import AVAILABLE
from ._status import Status

MEASURES = "l1_norm,l2_norm,kkt_residual,error_bound,n_iter"

app = typer.Typer(no_args_is_help=True, add_completion=False)
figures = typer.Typer(no_args_is_help=True, help="Draw a published figure again, from exact limits and flows.")
app.add_typer(figures, name="figure")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Where gradient flow ends, and a proof."""


@app.command()
def limit(
    x: XFile,
    y: YFile = None,
    scale: Scale = None,
    log_scale: LogScale = None,
    shape: Shape = "0",
    start: StartFile = None,
    tol: Tol = None,
    bounds: Annotated[bool, typer.Option(help="Whether to prove a bound for every coefficient.")] = True,
    precision: Precision = "double",
    n_jobs: NJobs = None,
    out: Out = None,
    x_key: XKey = "X",
    y_key: YKey = "y",
) -> None:
    """Where the flow ends, t = infinity, with a proven bound for every coefficient. No training."""
    with one_line():
        _files.writable(out, x, y, start)
        X, targets = _files.read_data(x, y, x_key, y_key, precision == "double-double")
        net = _options.start(X.shape[1], scale, log_scale, shape, start, precision)
        end = limits.limit(net, X, targets, tol=tol, bounds=bounds, precision=precision, n_jobs=n_jobs)
        _deliver(_report.limit_lines(end, net, X), _report.limit_results(end, net), out)
    _finish(end.status, end.success)


@app.command()
def flow(
    x: XFile,
    y: YFile = None,
    scale: Scale = None,
    log_scale: LogScale = None,
    shape: Shape = "0",
    start: StartFile = None,
    t: Annotated[str | None, typer.Option(metavar="LIST|FILE", help="Times to report, as 0,1,10 or a file.")] = None,
    t_span: Annotated[
        tuple[float, float] | None, typer.Option(help="First and last time instead, with equal ratios between.")
    ] = None,
    n_times: Annotated[int, typer.Option(help="Number of times in --t-span.", min=2)] = 200,
    time_unit: Annotated[
        str, typer.Option(metavar="flow|log_scale", help="Unit of times; log_scale is ln(1/scale) of the flow's.")
    ] = "flow",
    observable: Annotated[
        list[str] | None,
        typer.Option(help=f"Keep this of every row; as often as wanted, of {', '.join(flows.OBSERVABLES)}."),
    ] = None,
    save_beta: Annotated[bool, typer.Option(help="Keep the coefficients of every row, or of the last alone.")] = True,
    rtol: Rtol = None,
    tol: Tol = None,
    method: Method = None,
    max_steps: MaxSteps = None,
    max_seconds: MaxSeconds = None,
    precision: Precision = "double",
    n_jobs: NJobs = None,
    out: Out = None,
    x_key: XKey = "X",
    y_key: YKey = "y",
) -> None:
    """The whole way there. Without --t and --t-span it runs until the residual is within --tol and reports 200 rows."""
    with one_line():
        _files.writable(out, x, y, start)
        X, targets = _files.read_data(x, y, x_key, y_key, precision == "double-double")
        net = _options.start(X.shape[1], scale, log_scale, shape, start, precision)
        path = flows.gradient_flow(
            net,
            X,
            targets,
            _options.times(t, t_span, n_times),
            rtol=rtol,
            tol=tol,
            precision=precision,
            method=method or "auto",
            max_steps=max_steps,
            max_seconds=max_seconds,
            time_unit=time_unit,
            observables=observable or (),
            save_beta=save_beta,
            progress=AVAILABLE,
            on_interrupt="return",
            n_jobs=n_jobs,
        )
        _deliver(_report.flow_lines(path, net, X), _report.flow_results(path, net), out)
    _finish(path.status, path.success)


@app.command()
def sweep(
    x: XFile,
    y: YFile = None,
    scale: Scales = None,
    log_scale: LogScales = None,
    shape: Shapes = "0",
    measure: Annotated[str, typer.Option(metavar="LIST", help="What to keep of every point.")] = MEASURES,
    solve: Annotated[str, typer.Option(help="limit or flow; of a flow the last row is measured.")] = "limit",
    until: Annotated[float | None, typer.Option(help="Last time of every flow; until it converges by default.")] = None,
    rtol: Rtol = None,
    tol: Tol = None,
    method: Method = None,
    max_steps: MaxSteps = None,
    max_seconds: MaxSeconds = None,
    precision: Precision = "double",
    checkpoint: Annotated[
        Path | None, typer.Option(help="File of finished points, from which a rerun goes on.")
    ] = None,
    n_jobs: NJobs = None,
    out: Out = None,
    x_key: XKey = "X",
    y_key: YKey = "y",
) -> None:
    """Limits or flows from every scale and shape of a grid: one row a point, and a point that fails costs no other."""
    with one_line():
        _files.writable(out, x, y)
        data = _files.read_data(x, y, x_key, y_key)
        arithmetic = check.choice("--precision", precision, check.PRECISIONS)
        of_flows = _options.of_flows(solve, until, rtol, method, max_steps, max_seconds)
        table = sweeps.sweep(
            partial(DiagonalNetwork.from_scale_shape, data[0].shape[1]),
            data,
            _options.grid(scale, log_scale, shape),
            measure.split(","),
            solve=solve,
            solve_options=of_flows
            | ({} if tol is None else {"tol": tol})
            | ({} if arithmetic == "double" else {"precision": arithmetic}),
            n_jobs=n_jobs,
            checkpoint=checkpoint,
            progress=AVAILABLE,
            on_interrupt="return",
        )
        _deliver(_report.sweep_lines(table, data[0], solve), _report.sweep_results(table), out)
    if (table["status"] == Status.INTERRUPTED).any():
        raise typer.Exit(INTERRUPTED)
    if not table["success"].all():
        raise typer.Exit(NOT_ARRIVED)


def _register(name: str, draw: Draw) -> None:
    stem = name.replace("-", "_")

    @figures.command(name, help=draw.__doc__)
    def figure(
        out: Annotated[Path, typer.Option(help=f"Folder for {stem}.png and {stem}.csv.")] = Path("out"),
        n_jobs: NJobs = None,
    ) -> None:
        with one_line():
            if find_spec("matplotlib") is None:
                raise ValueError("the figure needs matplotlib: pip install 'implicit-bias[plot]'")
            drawn = draw(n_jobs=check.jobs(n_jobs))
            written = save(drawn, out, stem)
            say([*drawn.lines, *map(str, written)])


for _name, _draw in FIGURES.items():
    _register(_name, _draw)


@app.command()
def info() -> None:
    """Version, machine, threads and libraries, for reports."""
    say(
        [
            f"implicit-bias {__version__}",
            f"python {platform.python_version()}, " + ", ".join(map(_library, ("numpy", "scipy", "matplotlib"))),
            f"machine {platform.system()} {platform.machine()}",
            f"threads {check.jobs(None)} of {os.cpu_count()} cores",
        ]
    )


def _library(name: str) -> str:
    try:
        return f"{name} {metadata.version(name)}"
    except metadata.PackageNotFoundError:
        return f"no {name}"


def _deliver(lines: Iterable[str], results: _files.Results, out: Path | None) -> None:
    """The file first: a pipe that closes early must not cost the results."""
    if out is not None:
        _files.write(out, results)
    say(lines)
    if out is not None:
        typer.echo(f"  {'written':12} {out}")


def _finish(status: Status, success: bool) -> None:
    if status is Status.INTERRUPTED:
        raise typer.Exit(INTERRUPTED)
    if not success:
        raise typer.Exit(NOT_ARRIVED)
