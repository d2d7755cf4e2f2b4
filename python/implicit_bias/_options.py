"""Options of the command line: what they are called, and how their text becomes numbers, starts and times."""

import math
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from . import _files
from . import _validate as check
from ._diagonal import DiagonalNetwork
from ._flow import METHODS
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
Scales = Annotated[
    str | None, typer.Option("--scale", metavar="LIST|LOW:HIGH:N", help="Scales: 1e-5,1e-3 or 1e-5:1e-1:20.")
]
LogScales = Annotated[
    str | None, typer.Option("--log-scale", metavar="LIST|LOW:HIGH:N", help="Their natural logarithms instead.")
]
Shapes = Annotated[str, typer.Option("--shape", metavar="LIST|LOW:HIGH:N", help="Shapes: 0,0.5,0.9 or 0:0.9:10.")]
Tol = Annotated[float | None, typer.Option(help="Residual, relative to the largest target, that is success [1e-12].")]
Rtol = Annotated[float | None, typer.Option(help="Relative tolerance of a step of a flow [1e-10].")]
Method = Annotated[str | None, typer.Option(help=f"How a flow is integrated: one of {', '.join(METHODS)} [auto].")]
MaxSteps = Annotated[int | None, typer.Option(help="Most steps of a flow.", min=1)]
MaxSeconds = Annotated[float | None, typer.Option(help="Most seconds of a flow.")]
Precision = Annotated[
    str,
    typer.Option(
        metavar="double|double-double", help="Arithmetic, of 16 or 31 digits, and of the numbers that are read."
    ),
]
NJobs = Annotated[int | None, typer.Option(help="Number of threads; all cores by default.", min=1)]
Out = Annotated[Path | None, typer.Option(help="Where the results go: .npz, .json (everything) or .csv (a table).")]


def start(
    n_features: int,
    scale: str | None,
    log_scale: str | None,
    shape: str,
    weights: Path | None,
    precision: str = "double",
) -> DiagonalNetwork:
    """The network of the options: by scale and shape, or by its weights; of all digits that are written there."""
    exactly = check.choice("--precision", precision, check.PRECISIONS) == "double-double"
    if weights is None:
        if scale is None and log_scale is None:
            raise ValueError("one of --scale, --log-scale and --start must be given")
        return DiagonalNetwork.from_scale_shape(
            n_features,
            scale=None if scale is None else number_or_file("--scale", scale, exactly),
            log_scale=None if log_scale is None else number_or_file("--log-scale", log_scale, exactly),
            shape=number_or_file("--shape", shape, exactly),
        )
    if scale is not None or log_scale is not None:
        raise ValueError("--start holds the weights: --scale and --log-scale cannot be given as well")
    columns = _files.read_columns(weights, WEIGHTS, ("log_magnitude",), exactly=exactly)
    magnitude = columns.pop("log_magnitude", np.zeros(()))
    if not isinstance(magnitude, tuple) and magnitude.ndim == 0:
        magnitude = float(magnitude)
    try:
        net = DiagonalNetwork(**columns, log_magnitude=magnitude)
    except (TypeError, ValueError) as error:
        raise _files.FileError(f"{weights}: {error}") from error
    if net.n_features != n_features:
        raise _files.FileError(f"{weights} has {net.n_features} features where X has {n_features}")
    return net


def number_or_file(name: str, text: str, exactly: bool = False) -> Any:
    """A number, or one for every feature from a file; with `exactly` of all digits that are written there."""
    try:
        number = float(text)
    except ValueError:
        path = Path(text)
        if path.suffix.lower() not in _files.READ:
            raise ValueError(f"{name} must be a number or a file {', '.join(_files.READ)}: got {text!r}") from None
        return _files.read_vector(path, name.strip("-").replace("-", "_"), exactly)
    return text if exactly else number


def numbers(name: str, text: str) -> Array:
    """Numbers between commas."""
    try:
        return np.array([float(entry) for entry in text.split(",")])
    except ValueError:
        raise ValueError(f"{name} must be numbers between commas: got {text!r}") from None


def of_flows(
    solve: str,
    until: float | None,
    rtol: float | None,
    method: str | None,
    max_steps: int | None,
    max_seconds: float | None,
) -> dict[str, Any]:
    """The options that a sweep of flows hands on, by the names of the arguments of `gradient_flow`."""
    given = {"rtol": rtol, "method": method, "max_steps": max_steps, "max_seconds": max_seconds}
    found: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    found |= {} if until is None else {"t": [until]}
    if found and solve == "limit":
        name = next(iter(found)).replace("_", "-")
        raise ValueError(f"--{'until' if name == 't' else name} is an option of flows: add --solve flow")
    return found


def grid(scale: str | None, log_scale: str | None, shape: str) -> dict[str, list[float]]:
    """The axes of a sweep, by the names of the arguments of `DiagonalNetwork.from_scale_shape`."""
    if (scale is None) == (log_scale is None):
        raise ValueError(f"exactly one of --scale and --log-scale must be given: got {'both' if scale else 'neither'}")
    if scale is not None:
        scales = {"scale": axis("--scale", scale, ratios=True)}
    else:
        scales = {"log_scale": axis("--log-scale", log_scale or "", ratios=False)}
    return {
        name: values.tolist() for name, values in (scales | {"shape": axis("--shape", shape, ratios=False)}).items()
    }


def axis(name: str, text: str, *, ratios: bool) -> Array:
    """Values of an axis of a grid: numbers between commas, or LOW:HIGH:N with equal ratios or equal steps."""
    if ":" not in text:
        return numbers(name, text)
    try:
        low, high, n = (kind(part) for kind, part in zip((float, float, int), text.split(":"), strict=True))
    except ValueError:
        raise ValueError(f"{name} must be numbers between commas, or LOW:HIGH:N: got {text!r}") from None
    if n < 2:
        raise ValueError(f"{name} must have at least 2 values in LOW:HIGH:N: got {n}")
    return spaced(name, low, high, n) if ratios else np.linspace(low, high, n)


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
