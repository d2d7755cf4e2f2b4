"""Install the wheel where nothing else is, and use it as its users will. Needs nothing but Python.

    python tools/check_wheel.py dist

What is checked are the files that would be uploaded: complete, with every licence, and working without the source.
"""

import csv
import math
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
LICENCES = ("LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-LICENSES")


def only(folder: Path, pattern: str) -> Path:
    """The one file of a pattern."""
    found = list(folder.glob(pattern))
    if len(found) != 1:
        raise SystemExit(f"{folder} must hold one {pattern}: got {[path.name for path in found]}")
    return found[0]


def check_files(wheel: Path, sdist: Path) -> None:
    """Licences in both, byte by byte; the lock file in the source distribution; no source of the core in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        inside = {name: archive.read(name) for name in archive.namelist()}
    info = next(name for name in inside if name.endswith(".dist-info/METADATA")).removesuffix("METADATA")
    for name in LICENCES:
        assert inside[f"{info}licenses/{name}"] == (ROOT / name).read_bytes(), f"{name} in {wheel.name}"
        assert f"License-File: {name}\n" in inside[f"{info}METADATA"].decode(), f"{name} in the metadata"
    strays = [name for name in inside if not name.startswith((info, "implicit_bias/"))]
    assert not strays, f"files beside the package in {wheel.name}: {strays}"
    with tarfile.open(sdist) as archive:
        for name in (*LICENCES, "Cargo.lock", "CITATION.cff", "tests/python/conftest.py"):
            member = archive.extractfile(f"{sdist.name.removesuffix('.tar.gz')}/{name}")
            assert member is not None, f"{name} in {sdist.name}"
            assert member.read() == (ROOT / name).read_bytes(), f"{name} in {sdist.name}"


class Empty:
    """A virtual environment in a folder of its own, from which the source tree cannot be seen."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder / "venv", with_pip=True)
        self.bin = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(self, program: str, *arguments: str, code: int = 0) -> str:
        """What a program of the environment printed; both streams, for a message may be on either."""
        done = subprocess.run(
            [self.bin / program, *arguments],
            cwd=self.folder,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        assert done.returncode == code, f"{program} {arguments}: exit code {done.returncode}, {done.stdout}"
        return done.stdout

    def install(self, what: str) -> None:
        """Install what users install, and let nobody's source be compiled on the way."""
        self.run("python", "-m", "pip", "install", "--quiet", "--only-binary", ":all:", what)


def check_use(wheel: Path, folder: Path) -> None:
    """The package alone, then its extras, then the figure and the numbers behind it."""
    there = Empty(folder)
    there.install(str(wheel))
    where = there.run(
        "python", "-I", "-W", "error", "-c", "import implicit_bias; print(implicit_bias.__file__)"
    ).strip()
    assert Path(where).is_relative_to(folder / "venv"), f"imported from {where}"
    missing = there.run("implicit-bias", "info", code=2)
    assert missing.count("\n") == 1, f"one line for the missing extra: got {missing}"
    assert "implicit-bias[cli]" in missing, f"what to install: got {missing}"
    there.install(f"{wheel}[cli,plot]")
    there.run("implicit-bias", "figure", "shape-and-scale", "--out", "out")
    with (folder / "out" / "shape_and_scale.csv").open(newline="", encoding="utf-8") as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    assert len(rows) == 100, f"a row a limit: got {len(rows)}"
    assert all(math.isfinite(value) for row in rows for value in row.values()), "every number finite"
    # What tests/python/test_cli.py holds the same table to; it compares the values as well.
    worst = max(row["error_bound"] for row in rows)
    assert worst <= 1e-10, f"every limit proven: got {worst}"
    assert (folder / "out" / "shape_and_scale.png").stat().st_size > 10_000, "a picture"
    print(there.run("implicit-bias", "info"), end="")


def main(dist: str) -> None:
    """Check the one wheel and the one source distribution of a folder."""
    wheel, sdist = only(Path(dist).resolve(), "*.whl"), only(Path(dist).resolve(), "*.tar.gz")
    check_files(wheel, sdist)
    with tempfile.TemporaryDirectory() as folder:
        check_use(wheel, Path(folder).resolve())
    print(f"{wheel.name} and {sdist.name}: complete, and the figure was drawn without the source")


if __name__ == "__main__":
    main(*sys.argv[1:])
