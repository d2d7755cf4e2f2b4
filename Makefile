# Everything keeps its environment in .venv and its results in out/, dist/ and target/.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test lint bench soak docs wheel clean tools

PYTHON ?= python3
BIN := .venv/bin
CORE := --no-default-features
RUST := Cargo.toml Cargo.lock $(shell find rust -name '*.rs')

help: ## Show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16

demo: .venv/built ## Draw the paper's figure from 100 exact limits: out/shape_and_scale.png and .csv
	$(BIN)/implicit-bias figure shape-and-scale --out out

test: .venv/built ## Run every test: the Rust core without Python, then the package with its documented examples
	cargo test $(CORE)
	$(BIN)/pytest

lint: .venv/built ## Check formatting, lints, types and documentation; warnings are errors
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings
	cargo clippy --all-targets $(CORE) -- -D warnings
	cargo check $(CORE)
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps $(CORE)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/stubtest implicit_bias._core

# A pinned OpenBLAS kernel would slow the NumPy programs that the package is compared with.
bench: .venv/built ## Measure speed against NumPy and SciPy programs in the same run, then the kernels alone
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE $(BIN)/pytest benches/python -o python_files='*.py'
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE $(BIN)/python benches/python/report.py
	cargo bench $(CORE)

soak: .venv/built ## Test the proven bounds on 10,000 random problems against 30 digits
	$(BIN)/pytest -m soak

docs: .venv/built ## Build the reference of the package and of the core: out/docs and target/doc
	$(BIN)/pdoc --docformat numpy --math --output-directory out/docs implicit_bias
	cargo doc --no-deps $(CORE)

wheel: .venv/built ## Build the wheel (one for all CPython from 3.11 on) and the source distribution: dist/
	$(BIN)/maturin build --release --sdist --out dist

clean: ## Remove everything that was built, .venv included
	rm -rf .venv out dist target .benchmarks .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find python tests benches -name __pycache__ -prune -exec rm -rf {} +
	rm -f python/implicit_bias/_core*.so

# The package in place of itself: Python files are used where they lie, the core is compiled again when it changed.
.venv/built: .venv/made pyproject.toml $(RUST) | tools
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install --quiet --no-build-isolation --editable '.[plot,cli,test,lint,bench,docs]'
	@touch $@

.venv/made: | tools
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip 'maturin>=1.9.4,<2'
	@touch $@

tools:
	@command -v $(PYTHON) >/dev/null || { echo "missing: $(PYTHON). Install Python 3.11 or later, or say where it is: make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "missing: Python 3.11 or later; $(PYTHON) is $$($(PYTHON) -V). Say where a later one is: make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "missing: the venv module of $(PYTHON). On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@command -v cargo >/dev/null || { echo "missing: a Rust toolchain (cargo, 1.89 or later). See https://rustup.rs" >&2; exit 1; }
