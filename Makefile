# Every target makes the virtual environment that it needs: a fresh clone and Python 3.11+ suffice.
# Override the interpreter with `make test PYTHON=/path/to/python`.

VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
MINUTES ?= 120
# Tests that start a cluster need a process in which nothing else has run.
ALONE := tests/common/test_cluster.py
DATA ?= $(or $(NETBENEFIT_DATA),../shared/data)

# The first interpreter that runs and is new enough (a name on the PATH may be an empty shell).
NEW_ENOUGH := import sys; raise SystemExit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3 python; do \
	if $$python -c '$(NEW_ENOUGH)' >/dev/null 2>&1; then echo $$python; break; fi; done)

# Stamps of what is installed.  The light one suffices to run the package, the other adds the tools
# and test libraries.  Both are renewed only when pyproject.toml changes.
BASE := $(VENV)/.base-stamp
DEV := $(VENV)/.dev-stamp
# A worker that has nothing left to do takes over tests of the other.
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test test-full lint types format bench soak reproduction clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(BASE) ## Learn a scorecard on data that scikit-learn ships, and print it
	$(BIN)/netbenefit demo

test: $(DEV) ## Lint, types, tests, examples of docstrings, README and docs: 13 minutes on two cores
	@echo "This takes about 13 minutes on two idle cores.  Slow tests: make test-full"
	@$(MAKE) --no-print-directory lint types
	$(PYTEST) tests src reproduction README.md docs
	@if [ -d "$(DATA)" ]; then $(BIN)/netbenefit reproduce --budget quick --out "$$(mktemp -d)/quick"; \
		else echo "no data in $(DATA): the experiments were not tried"; fi

test-full: $(DEV) ## What make test leaves out: slow tests, and many more random cases
	NETBENEFIT_FULL=1 $(PYTEST) --ignore $(ALONE) tests
	NETBENEFIT_FULL=1 $(BIN)/python -m pytest $(ALONE)

lint: $(DEV) ## Check style, formatting and the order of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(DEV) ## Check types
	$(BIN)/mypy

format: $(DEV) ## Format the code and repair what can be repaired
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(BASE) ## Measure speed and search quality, and print tables
	$(BIN)/python -m benchmarks

soak: $(DEV) ## Random cases of every kind against slow, simple references, for MINUTES=120
	NETBENEFIT_DATA="$(DATA)" $(BIN)/python -m tests.soak --minutes $(MINUTES)

reproduction: $(DEV) ## Run the paper's experiments again, in 3 hours at most; goes on where it stopped
	$(BIN)/netbenefit reproduce --budget standard

clean: ## Remove the environment and everything that was generated
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -rf src/*.egg-info netbenefit-demo
	find . -path ./.git -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +

$(BIN)/python:
	@if [ -z "$(PYTHON)" ] || ! "$(PYTHON)" -c '$(NEW_ENOUGH)' >/dev/null 2>&1; then \
		echo "netbenefit needs Python 3.11 or newer, but found: $(or $(PYTHON),none)." >&2; \
		echo "Install one, or name it: make PYTHON=/path/to/python3.11" >&2; \
		exit 1; \
	fi
	"$(PYTHON)" -m venv $(VENV)

$(BASE): pyproject.toml | $(BIN)/python
	$(INSTALL) --editable .
	touch $@

$(DEV): pyproject.toml | $(BIN)/python
	$(INSTALL) --editable ".[dev]"
	touch $@ $(BASE)
