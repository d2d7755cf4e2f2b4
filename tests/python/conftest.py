"""What the tests share: golden files, parsed without rounding anything."""

import json
from decimal import Decimal
from pathlib import Path

import hypothesis
import pytest

# The same examples on every machine and every day: a new one that fails is looked for by `make soak`, not by whoever
# changes something else.
hypothesis.settings.register_profile("reproducible", derandomize=True)
hypothesis.settings.load_profile("reproducible")

GOLDEN = Path(__file__).parent.parent / "golden"


def _inputs(value):
    """Strings and numbers of a golden input as binary64, which they are exactly."""
    if isinstance(value, dict):
        return {k: _inputs(v) for k, v in value.items()}
    return [_inputs(v) for v in value] if isinstance(value, list) else float(value)


def _outputs(value):
    """Strings of a golden result as all their digits."""
    if isinstance(value, dict):
        return {k: _outputs(v) for k, v in value.items()}
    return [_outputs(v) for v in value] if isinstance(value, list) else Decimal(value)


_RESULTS = {"beta", "nu", "Q_bregman", "loss", "q", "dq", "d2q"}


@pytest.fixture(scope="session")
def golden():
    """golden(name): the cases of a file, inputs as floats and results as Decimals."""

    def parse(case):
        parsed = {}
        for key, value in case.items():
            if key == "kind":
                parsed[key] = value
            elif key == "points":
                parsed[key] = [parse(point) for point in value]
            else:
                parsed[key] = (_outputs if key in _RESULTS else _inputs)(value)
        return parsed

    return lambda name: [parse(c) for c in json.loads((GOLDEN / f"{name}.json").read_text())["cases"]]


@pytest.fixture(scope="session")
def published():
    """Experiments of published papers, numbers as written (decimal strings where the digits matter)."""
    return json.loads((GOLDEN / "published.json").read_text(), parse_float=Decimal)
