"""What every figure of the command line shares: the size of the page, and how it is written."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from .._files import FileError, as_csv
from .._validate import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Table = Mapping[str, Array]


@dataclass(frozen=True)
class Drawn:
    """A figure, the numbers in it, and what it shows in a few lines."""

    picture: "Figure"
    table: Table
    lines: list[str]


class Draw(Protocol):
    """Computes and draws a figure; its docstring is the help of the command."""

    def __call__(self, *, n_jobs: int) -> Drawn: ...


def save(drawn: Drawn, folder: Path, name: str) -> list[Path]:
    """The picture as .png and its numbers as .csv, in a folder that is made where it is missing."""
    paths = [folder / f"{name}.png", folder / f"{name}.csv"]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths[1].write_text(as_csv(drawn.table), encoding="utf-8")
        drawn.picture.savefig(paths[0])
    except OSError as error:
        raise FileError(f"--out must be a folder that can be written to: {error}") from error
    return paths


def page(width: float = 6.4, height: float = 4.4) -> "Figure":
    """An empty figure, by default of a column and a half of a journal; it belongs to nobody, so no window opens."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained", dpi=200)
