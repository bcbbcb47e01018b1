# Two commands on a fresh machine: `make demo` and `make test`. Both make .venv first and install what constraints.txt pins.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TORCH := $(shell grep '^torch==' constraints.txt)

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow bench torture check format docs clean

help:
	@echo "make demo       a tour: check a report, fill gaps with numbers; numerate demo --train trains two small models"
	@echo "make test       run the tests"
	@echo "make test-slow  run the tests that take long"
	@echo "make bench      measure the speed of every stage at three sizes; writes results/bench-cpu.json and .md"
	@echo "make torture    run hostile calls, kills and damaged files; writes docs/reliability.md"
	@echo "make check      lint, formatting, types"
	@echo "make format     format the code"
	@echo "make docs       build the documentation site in build/docs/site"
	@echo "make clean      remove the virtual environment and caches"

$(STAMP): pyproject.toml lab/pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "numerate needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) --version 2>&1);" \
	       "name another one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
# Exactly this torch, and first: left to choose, pip may take another build and gigabytes of GPU libraries with it.
	$(BIN)/python -m pip install --quiet $(TORCH)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev,units]" -e lab
	@touch $@

demo: $(STAMP)
	@$(BIN)/numerate demo

test: $(STAMP)
	$(BIN)/python -m pytest

test-slow: $(STAMP)
	$(BIN)/python -m pytest -m slow

bench: $(STAMP)
	$(BIN)/python benchmarks/suite.py --json results/bench-cpu.json

torture: $(STAMP)
	$(BIN)/python benchmarks/torture.py

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(STAMP)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[docs]"
	$(BIN)/python docs/build_site.py

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis build dist
