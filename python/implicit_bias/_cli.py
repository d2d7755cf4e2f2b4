"""The command line. It only parses, calls and reports: what it prints is computed elsewhere."""

import os
import platform
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from . import __version__, _figures, datasets
from . import _validate as check

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Where gradient flow ends, and a proof.")
figures = typer.Typer(no_args_is_help=True, help="Draw a published figure again, from exact limits.")
app.add_typer(figures, name="figure")


@figures.command("shape-and-scale")
def shape_and_scale(
    out: Annotated[Path, typer.Option(help="Folder for shape_and_scale.png and shape_and_scale.csv.")] = Path("out"),
    n_jobs: Annotated[int | None, typer.Option(help="Number of threads; all cores by default.", min=1)] = None,
) -> None:
    """Population error against scale for five shapes: 100 exact limits of gradient flow, every one with its bound."""
    if find_spec("matplotlib") is None:
        typer.echo("the figure needs matplotlib: pip install 'implicit-bias[plot]'", err=True)
        raise typer.Exit(2)
    data = datasets.azulay_sparse_regression()
    table = _figures.shape_and_scale_table(data, n_jobs=n_jobs)
    picture = _figures.shape_and_scale_figure(table, data)
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / "shape_and_scale.csv").write_text(_figures.csv(table), encoding="utf-8")
        picture.savefig(out / "shape_and_scale.png")
    except OSError as error:
        typer.echo(f"--out must be a folder that can be written to: {error}", err=True)
        raise typer.Exit(1) from None
    worst = table["error_bound"].max()
    typer.echo(f"{table['scale'].size} limits, every coefficient proven to {worst:.1e}")
    for name in ("shape_and_scale.png", "shape_and_scale.csv"):
        typer.echo(out / name)


@app.command()
def info() -> None:
    """Version, machine and threads, for reports."""
    typer.echo(f"implicit-bias {__version__}")
    typer.echo(f"python {platform.python_version()}, numpy {np.__version__}")
    typer.echo(f"machine {platform.system()} {platform.machine()}")
    typer.echo(f"threads {check.jobs(None)} of {os.cpu_count()} cores")
