"""Write THIRD-PARTY-LICENSES: the licence texts of the crates that end up in the wheel, as their authors ship them.

A committed file and this script instead of cargo-about or cargo-bundle-licenses: those are built from some hundred
crates, minutes on two cores for every run of the checks, where `cargo metadata` already knows all they know. Knows
nothing of the package but its lock file; needs nothing but Python and cargo.

    python tools/licences.py            write the file, after a change of Cargo.lock
    python tools/licences.py --check    fail if it is not what would be written
"""

import json
import re
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
FILE = ROOT / "THIRD-PARTY-LICENSES"

HEAD = """\
Third-party software in the wheels of implicit_bias

implicit_bias itself is licensed under MIT or Apache-2.0 (LICENSE-MIT, LICENSE-APACHE). Its compiled core also contains
code of the Rust standard library and of the crates listed here, on one platform or another, unchanged. Where a crate
may be used under one of several licences, the choice made here is MIT. The sources of every version are on crates.io.
Written by tools/licences.py; do not edit.
"""

# Bundled with every Rust program, and in no dependency graph.
STANDARD_LIBRARY = "Rust standard library"

# The text of the SPDX licence list, for crates that name the licence without a copy of it.
MIT = """\
MIT License

Copyright (c) {holder}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


class Crate(NamedTuple):
    """One version of one crate."""

    name: str
    version: str
    licence: str
    holder: str
    folder: Path

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def cargo(*arguments: str) -> str:
    """What a cargo command printed, for the lock file as it is."""
    return subprocess.run(
        ["cargo", *arguments, "--locked"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def linked() -> list[Crate]:
    """Crates of the wheel: normal dependencies of the feature `python` on every platform, macros included.

    `cargo tree` selects features as the build does, `cargo metadata` does not (it adds those of the tests); but only
    the latter says where a crate lies.
    """
    tree = cargo("tree", "--edges=normal", "--features=python", "--target=all", "--prefix=none", "--format={p}")
    wanted = {tuple(line.split()[:2]) for line in tree.splitlines() if line}
    found = [
        Crate(
            name=package["name"],
            version=package["version"],
            licence=package["license"],
            holder=", ".join(re.sub(r"\s*<.*?>", "", author) for author in package["authors"])
            or f"the authors of {package['name']}, {package['repository']}",
            folder=Path(package["manifest_path"]).parent,
        )
        for package in json.loads(cargo("metadata", "--format-version=1"))["packages"]
        if (package["name"], f"v{package['version']}") in wanted and package["source"] is not None
    ]
    return sorted(found, key=lambda crate: (crate.name, crate.version))


def texts(crate: Crate) -> list[str]:
    """Licence texts to ship for one crate: all it has, less the ones that are not chosen."""
    alternatives = re.split(r"\s+OR\s+|/", crate.licence.split(" AND ")[0].strip("()"))
    files = sorted(path for path in crate.folder.iterdir() if re.match("licen[cs]e|copying|notice", path.name, re.I))
    if "MIT" in alternatives:
        files = [path for path in files if not re.search("apache|zlib|unlicense", path.name, re.I)]
    found = [path.read_text(encoding="utf-8").replace("\r\n", "\n").strip("\n") + "\n" for path in files]
    if "MIT" in alternatives and not any("Permission is hereby granted" in text for text in found):
        found.append(MIT.format(holder=crate.holder))
    if not found:
        raise SystemExit(f"{crate} is under {crate.licence} and comes without a text: add a rule to tools/licences.py")
    return found


def document() -> str:
    """The whole file: a table of crates, then every distinct text once, under the crates that it belongs to."""
    crates = linked()
    table = [(STANDARD_LIBRARY, "MIT OR Apache-2.0"), *((str(crate), crate.licence) for crate in crates)]
    owners = [(text, str(crate)) for crate in crates for text in texts(crate)]
    owners.append((MIT.format(holder="The Rust Project Contributors"), STANDARD_LIBRARY))
    parts = [HEAD, "".join(f"{name:<32}{licence}\n" for name, licence in table)]
    for text, group in groupby(sorted(owners), key=lambda owner: owner[0]):
        parts.append(f"{'=' * 80}\n{', '.join(name for _, name in group)}\n{'=' * 80}\n\n{text}")
    return "\n".join(parts)


def main(*arguments: str) -> None:
    """Write the file, or compare it."""
    text = document()
    if arguments != ("--check",):
        FILE.write_text(text, encoding="utf-8")
    elif not FILE.exists() or FILE.read_text(encoding="utf-8") != text:
        raise SystemExit("THIRD-PARTY-LICENSES is not that of Cargo.lock: run `make licences` and commit it")


if __name__ == "__main__":
    main(*sys.argv[1:])
