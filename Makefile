# Everything runs in its own environment, .venv, with the versions of constraints.txt.
# Needed beforehand: make, and Python 3.11 or newer (another one: make test PYTHON=python3.12).

PYTHON ?= python3

BIN := .venv/bin
READY := .venv/.ready
# modules are compiled when they are first imported, because most never are; and what is compiled
# must be kept, because tests start many programs
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip --disable-pip-version-check install -qq --no-compile --constraint constraints.txt

# which tests stay in one process is said in tests/conftest.py
ALL_CORES := --numprocesses auto --dist loadgroup

DOCS := rm -rf docs/api && $(BIN)/sphinx-build --fail-on-warning --quiet

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all checks-and-docs check check-docs unit unit-all docs bench bench-quick papers format clean

help: ## Show this list
	@echo "tamis: the two commands to know are 'make demo' and 'make test'."
	@echo
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## (.*)/\1|\2/' | \
	    while IFS='|' read -r name text; do printf '  make %-11s %s\n' "$$name" "$$text"; done

setup: $(READY) ## Make the environment (every other command does it when needed)

demo: $(READY) ## The main job on real flights: plan, release, ask, report, verify
	@$(BIN)/tamis demo

test: checks-and-docs unit ## Style, types, import rules, docs, and the quick tests

test-all: checks-and-docs unit-all ## The same with the slow tests too

checks-and-docs: $(READY) # each is for one core
	@$(MAKE) --no-print-directory -j2 check check-docs

check: $(READY) ## Style, types and import rules only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict
	$(BIN)/lint-imports --no-logo

unit: $(READY) ## The quick tests only
	@sh scripts/install-test-packages.sh
	$(BIN)/pytest -m "not slow" $(ALL_CORES)

unit-all: $(READY)
	@sh scripts/install-test-packages.sh
	$(BIN)/pytest --hypothesis-profile all $(ALL_CORES)

docs: $(READY) ## Build the documentation into docs/_build/html; any warning is an error
	$(DOCS) --doctree-dir docs/_build/doctrees docs docs/_build/html

check-docs: $(READY) # the same without lists of names at the side, which take a third of the time
	$(DOCS) --define toc_object_entries=0 --doctree-dir docs/_build/check/doctrees docs docs/_build/check

bench: $(READY) ## Measure everything, beside other libraries too, and write benchmarks/results.md (an hour)
	$(BIN)/python -m benchmarks.run

bench-quick: $(READY) ## The same with less data, into benchmarks/results-quick.md (ten minutes)
	$(BIN)/python -m benchmarks.run --quick

papers: $(READY) ## Regenerate the figures and tables of the papers
	$(BIN)/python papers/weighted/figures.py
	$(BIN)/python papers/sparse/figures.py
	$(BIN)/python papers/federated/figures.py
	$(BIN)/python papers/importance/figures.py

format: $(READY) ## Put the code in its standard form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## Remove the environment and everything that was built
	rm -rf .venv docs/_build docs/api dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests benchmarks papers docs -type d -name __pycache__ -prune -exec rm -rf {} +

$(READY): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing tamis and its tools into .venv (a minute or two the first time) ..."
	@$(PIP) hatchling editables setuptools
	@$(PIP) --no-build-isolation --editable '.[dev,plots,demo]'
	@touch $@

$(BIN)/python:
	@command -v $(PYTHON) > /dev/null || { \
	    echo "tamis needs Python 3.11 or newer, and '$(PYTHON)' was not found." \
	         "Install Python, or name it: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "tamis needs Python 3.11 or newer, and '$(PYTHON)' is" \
	         "$$($(PYTHON) --version 2>&1). Name a newer one:" \
	         "make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -m venv .venv
