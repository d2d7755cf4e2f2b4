# Everything keeps its environment in .venv and its results in out/, dist/ and target/.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-oldest lint bench bench-peers soak docs wheel check-wheel licences clean tools

PYTHON ?= python3
BIN := .venv/bin
CORE := --no-default-features
RUST := Cargo.toml Cargo.lock $(shell find rust -name '*.rs')
# All that a source distribution holds.
SOURCES := $(wildcard .ci/run Cargo.* *.toml *.md *.cff *LICENSE*) \
	$(shell find rust python tests benches docs examples tools -type f ! -name '*.so' ! -name '*.pyc')

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

demo: .venv/built ## Draw the paper's figure from 100 exact limits: out/shape_and_scale.png and .csv
	$(BIN)/implicit-bias figure shape-and-scale --out out

# Random cases are the same every time, here and in tests/python/conftest.py; `make soak` draws new ones.
test: .venv/built ## Run every test: the Rust core without Python, then the package with its documented examples
	PROPTEST_RNG_SEED=1 cargo test $(CORE)
	$(BIN)/pytest

# What only the core computes is as old as the core: files that ask other packages for nothing but arrays are left out.
CORE_ONLY := properties long_runs certify certificate limit_double_double leaky_relu_double_double fully_connected_double_double

# Old packages deprecate what new ones under them have replaced since; that we warn of nothing ourselves is what `make
# test` proves. uv and not pip: pip knows no lowest version that this Python has a binary of.
test-oldest: dist/.built ## Run the tests of the package as a wheel, with the oldest versions of NumPy and others that it promises
	$(PYTHON) -m venv --clear .venv/oldest
	$(BIN)/uv pip compile --quiet --python .venv/oldest/bin/python --resolution lowest-direct --only-binary :all: \
		--extra test --no-header --no-annotate --output-file .venv/oldest/requirements.txt pyproject.toml
	.venv/oldest/bin/python -m pip install --quiet --only-binary :all: --requirement .venv/oldest/requirements.txt
	.venv/oldest/bin/python -m pip install --quiet --no-deps --no-index dist/*.whl
	.venv/oldest/bin/python -m pip check
	.venv/oldest/bin/python -P -m pytest -W default::DeprecationWarning --pyargs implicit_bias tests/python \
		$(CORE_ONLY:%=--ignore=tests/python/test_%.py)

lint: .venv/built ## Check formatting, lints, types and documentation; warnings are errors
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings
	cargo clippy --all-targets $(CORE) -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps $(CORE)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/stubtest implicit_bias._core
	$(BIN)/python tools/docstrings.py
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.citation-file-format CITATION.cff
	$(PYTHON) tools/licences.py --check

# A pinned OpenBLAS kernel would slow the NumPy programs that the package is compared with.
bench: .venv/built ## Measure speed against NumPy and SciPy programs in the same run, then the kernels alone
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE $(BIN)/pytest benches/python -o python_files='*.py'
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE $(BIN)/python benches/python/report.py
	$(BIN)/python benches/python/leaky_relu.py
	$(BIN)/python benches/python/double_double.py
	cargo bench $(CORE)

# In an environment of its own: the peers bring their own NumPy and JAX.
bench-peers: .venv/peers ## Compare the integrators with SciPy, heyoka, diffrax and gradient descent: out/bench_peers.* and docs/peers.md
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE .venv/peers/bin/python benches/peers --docs docs/peers.md

.venv/peers: .venv/made
	$(PYTHON) -m venv .venv/peers
	.venv/peers/bin/python -m pip install --quiet --only-binary :all: heyoka diffrax scipy matplotlib mpmath

soak: .venv/built ## Test the proven bounds on 10,000 random problems, and every law on 100 times its examples
	$(BIN)/pytest -m soak
	PROPTEST_CASES=10000 cargo test $(CORE)

docs: .venv/built ## Build the reference of the package and of the core: out/docs and target/doc
	$(BIN)/pdoc --docformat numpy --math --output-directory out/docs implicit_bias
	cargo doc --no-deps $(CORE)

wheel: dist/.built ## Build the source distribution, and from it the wheel (one for all CPython from 3.11 on): dist/

check-wheel: dist/.built ## Install the wheel in an empty environment, far from the source, and draw the figure there
	$(PYTHON) tools/check_wheel.py dist

licences: tools ## Write THIRD-PARTY-LICENSES again, after a change of Cargo.lock
	$(PYTHON) tools/licences.py

clean: ## Remove everything that was built, .venv included
	rm -rf .venv out dist target .benchmarks .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find python tests benches -name __pycache__ -prune -exec rm -rf {} +
	rm -f python/implicit_bias/_core*.so

# The package in place of itself: Python files are used where they lie, the core is compiled again when it changed.
.venv/built: .venv/made pyproject.toml $(RUST) | tools
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install --quiet --no-build-isolation --editable '.[plot,cli,test,lint,bench,docs]'
	@touch $@

# maturin unpacks the source distribution in a temporary folder and compiles it there, with the lock file inside. What is
# compiled of the dependencies is used again, of this package nothing: files of a source distribution are dated long ago,
# and cargo would take whatever it compiled last for up to date.
dist/.built: export CARGO_TARGET_DIR := $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)
dist/.built: .venv/made $(SOURCES)
	rm -rf dist
	cargo clean --quiet --release --package implicit_bias
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/maturin build --release --locked --sdist --out dist
	@touch $@

.venv/made: | tools
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip 'maturin>=1.13,<2' 'uv>=0.5'
	@touch $@

tools:
	@command -v $(PYTHON) >/dev/null || { echo "missing: $(PYTHON). Install Python 3.11 or later, or say where it is: make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "missing: Python 3.11 or later; $(PYTHON) is $$($(PYTHON) -V). Say where a later one is: make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "missing: the venv module of $(PYTHON). On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@command -v cargo >/dev/null || { echo "missing: a Rust toolchain (cargo, 1.89 or later). See https://rustup.rs" >&2; exit 1; }
