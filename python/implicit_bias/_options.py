"""Options of the command line: what they are called, and how their text becomes numbers, starts and times."""

import math
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from . import _files
from ._networks import DiagonalNetwork
from ._validate import Array

WEIGHTS = ("u_plus", "v_plus", "u_minus", "v_minus")

XFile = Annotated[
    Path,
    typer.Argument(
        metavar="X", help="X, one sample a row: .npy, .npz or .csv; or a .npz or .csv with a header that holds y too."
    ),
]
YFile = Annotated[Path | None, typer.Argument(metavar="Y", help="y, one target a sample: .npy, .npz or .csv.")]
XKey = Annotated[str, typer.Option("--x-key", help="Name of X in an .npz.")]
YKey = Annotated[str, typer.Option("--y-key", help="Name of y in an .npz, or of its column in a .csv that holds both.")]
Scale = Annotated[
    str | None, typer.Option(metavar="NUMBER|FILE", help="Scale u*v of the start; a file has one number a feature.")
]
LogScale = Annotated[
    str | None, typer.Option(metavar="NUMBER|FILE", help="Its natural logarithm instead: -230258.5 is 10^-100000.")
]
Shape = Annotated[
    str, typer.Option(metavar="NUMBER|FILE", help="Shape (v-u)/(v+u) of the start, above -1 and below 1.")
]
StartFile = Annotated[
    Path | None,
    typer.Option(
        help="Weights instead: .npz or .csv with u_plus, v_plus, u_minus, v_minus and, if wanted, log_magnitude."
    ),
]
Tol = Annotated[float | None, typer.Option(help="Residual, relative to the largest target, that is success [1e-12].")]
NJobs = Annotated[int | None, typer.Option(help="Number of threads; all cores by default.", min=1)]
Out = Annotated[Path | None, typer.Option(help="Where the results go: .npz, .json (everything) or .csv (a table).")]


def start(
    n_features: int, scale: str | None, log_scale: str | None, shape: str, weights: Path | None
) -> DiagonalNetwork:
    """The network of the options: by scale and shape, or by its weights."""
    if weights is None:
        if scale is None and log_scale is None:
            raise ValueError("one of --scale, --log-scale and --start must be given")
        return DiagonalNetwork.from_scale_shape(
            n_features,
            scale=None if scale is None else number_or_file("--scale", scale),
            log_scale=None if log_scale is None else number_or_file("--log-scale", log_scale),
            shape=number_or_file("--shape", shape),
        )
    if scale is not None or log_scale is not None:
        raise ValueError("--start holds the weights: --scale and --log-scale cannot be given as well")
    columns = _files.read_columns(weights, WEIGHTS, ("log_magnitude",))
    magnitude = columns.pop("log_magnitude", np.zeros(()))
    try:
        net = DiagonalNetwork(**columns, log_magnitude=float(magnitude) if magnitude.ndim == 0 else magnitude)
    except (TypeError, ValueError) as error:
        raise _files.FileError(f"{weights}: {error}") from error
    if net.n_features != n_features:
        raise _files.FileError(f"{weights} has {net.n_features} features where X has {n_features}")
    return net


def number_or_file(name: str, text: str) -> float | np.ndarray[Any, Any]:
    """A number, or one for every feature from a file."""
    try:
        return float(text)
    except ValueError:
        path = Path(text)
        if path.suffix.lower() not in _files.READ:
            raise ValueError(f"{name} must be a number or a file {', '.join(_files.READ)}: got {text!r}") from None
        return _files.read_vector(path, name.strip("-").replace("-", "_"))


def numbers(name: str, text: str) -> Array:
    """Numbers between commas."""
    try:
        return np.array([float(entry) for entry in text.split(",")])
    except ValueError:
        raise ValueError(f"{name} must be numbers between commas: got {text!r}") from None


def times(listed: str | None, span: tuple[float, float] | None, n_times: int) -> np.ndarray[Any, Any] | None:
    """Times from a list, a file or a logarithmic span; None leaves them to the flow."""
    if listed is not None and span is not None:
        raise ValueError("--t and --t-span must not both be given")
    if span is not None:
        return spaced("--t-span", *span, n_times)
    if listed is None:
        return None
    return (
        _files.read_vector(Path(listed), "t") if Path(listed).suffix.lower() in _files.READ else numbers("--t", listed)
    )


def spaced(name: str, low: float, high: float, n: int) -> Array:
    """`n` numbers with equal ratios, the ends exactly as given."""
    if not 0.0 < low < high < math.inf:
        raise ValueError(f"{name} must be two positive numbers, the smaller first: got {low:g} {high:g}")
    return np.geomspace(low, high, n)
