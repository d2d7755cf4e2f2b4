"""What every figure of the command line shares: the size of the page, and how it is written."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from .._files import FileError, as_csv
from .._validate import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Table = Mapping[str, Array]


def save(picture: "Figure", table: Table, folder: Path, name: str) -> list[Path]:
    """The picture as .png and its numbers as .csv, in a folder that is made where it is missing."""
    paths = [folder / f"{name}.png", folder / f"{name}.csv"]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths[1].write_text(as_csv(table), encoding="utf-8")
        picture.savefig(paths[0])
    except OSError as error:
        raise FileError(f"--out must be a folder that can be written to: {error}") from error
    return paths


def page() -> "Figure":
    """An empty figure that fits a column and a half of a journal; it belongs to nobody, so no window opens."""
    from matplotlib.figure import Figure

    return Figure(figsize=(6.4, 4.4), layout="constrained", dpi=200)
