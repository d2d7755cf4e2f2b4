"""What travels with the package: commands, licences, citation, pages; `make check-wheel` tries the wheel."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.main import get_command
from typer.testing import CliRunner

import implicit_bias as ib
from implicit_bias._cli import app

ROOT = Path(__file__).parents[2]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
PYTHON_BLOCK = re.compile(r"```python\n(.*?)```", flags=re.DOTALL)


def bibtex():
    """Fields of every entry of the citation, spaces and the braces around single words taken off."""
    entries = {}
    for key, body in re.findall(r"@\w+\{(\w+),\n(.*?)\n\}", ib.citation(), flags=re.DOTALL):
        fields = re.findall(r"(\w+)\s*=\s*\{(.*?)\},(?=\n|$)", body, flags=re.DOTALL)
        entries[key] = {name: " ".join(re.sub(r"[{}\\]", "", value).split()) for name, value in fields}
    return entries


def test_importing_warns_of_nothing():
    subprocess.run([sys.executable, "-I", "-W", "error", "-c", "import implicit_bias"], check=True)


def commands(command, path=()):
    """Every command of the command line, groups included."""
    yield path
    for name, child in getattr(command, "commands", {}).items():
        yield from commands(child, (*path, name))


@pytest.mark.parametrize("command", list(commands(get_command(app))), ids=" ".join)
def test_every_command_shows_its_help(command):
    """With typer 0.15 and a later click this broke and nothing else did: it is where the lower bound comes from."""
    result = CliRunner().invoke(app, [*command, "--help"])
    assert result.exit_code == 0, result.output
    assert "Usage" in result.output


# Citation


def test_the_package_is_cited_in_its_own_version():
    entry = bibtex()["implicit_bias"]
    assert entry["version"] == ib.__version__ == CITATION["version"]
    assert entry["title"] == CITATION["title"]
    assert entry["author"] == CITATION["authors"][0]["name"]
    assert entry["year"] in (ROOT / "LICENSE-MIT").read_text(encoding="utf-8")


@pytest.mark.parametrize(("key", "index"), [("azulay2021implicit", 0), ("woodworth2020kernel", 1)])
def test_bibtex_and_the_citation_file_say_the_same_of_a_paper(key, index):
    entry, reference = bibtex()[key], CITATION["references"][index]
    assert entry["title"] == reference["title"]
    assert entry["author"] == " and ".join(f"{a['family-names']}, {a['given-names']}" for a in reference["authors"])
    assert entry["booktitle"] == reference["conference"]["name"]
    assert entry["series"] == reference["collection-title"]
    assert entry["pages"] == f"{reference['start']}--{reference['end']}"
    assert (entry["volume"], entry["year"]) == (str(reference["volume"]), str(reference["year"]))


def test_nothing_is_cited_in_one_place_only():
    assert len(bibtex()) == 1 + len(CITATION["references"]) == 3


# Licences


def cargo_tree():
    """Name and version of every crate that is compiled into a wheel, on whatever platform."""
    arguments = ["--locked", "--features=python", "--edges=normal", "--target=all", "--prefix=none", "--format={p}"]
    lines = subprocess.check_output(["cargo", "tree", *arguments], cwd=ROOT, text=True).splitlines()
    return {" ".join(line.split()[:2]).replace(" v", " ") for line in lines} - {f"implicit_bias {ib.__version__}", ""}


def test_the_licences_shipped_are_those_of_the_crates_in_the_wheel():
    head, *texts = re.split(r"={80}\n(.*?)\n={80}\n", (ROOT / "THIRD-PARTY-LICENSES").read_text(encoding="utf-8"))
    listed = set(re.findall(r"^(\S+ \d\S*) {2,}\S", head, flags=re.MULTILINE))
    crates = cargo_tree()
    assert len(crates) > 20
    assert listed == crates
    # and every one of them has a text, long enough to be one
    licensed = [
        name
        for owners, text in zip(texts[::2], texts[1::2], strict=True)
        if len(text) > 300
        for name in owners.split(", ")
    ]
    assert set(licensed) == crates | {"Rust standard library"}


# Pages


PAGES = sorted(page for page in (ROOT / "docs").rglob("*.md") if PYTHON_BLOCK.search(page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    """All of one page in one namespace, from top to bottom, as a reader would type them; what they assert holds."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    names = {}
    for block in PYTHON_BLOCK.findall(page.read_text(encoding="utf-8")):
        exec(block, names)


def test_there_are_pages_with_examples():
    assert [page.stem for page in PAGES]
