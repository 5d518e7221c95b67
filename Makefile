# Everything a fresh machine needs is made here: the virtual environment, the packages, and for tests the real clients.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEV_STAMP := $(VENV)/.installed-dev
CLIENTS := .tools/npm
CLIENTS_STAMP := $(CLIENTS)/.installed

.PHONY: serve test check docs bench clean

serve: $(STAMP)
	$(BIN)/holdfast serve

test: $(DEV_STAMP) $(CLIENTS_STAMP) check
	$(BIN)/python -m pytest -n 2 -q

check: $(DEV_STAMP)
	$(BIN)/ruff check src tests
	$(BIN)/ruff format --check src tests
	$(BIN)/mypy

# The pages that are made from the source: docs/operations.md, docs/settings.md, docs/errors.md.
docs: $(DEV_STAMP)
	$(BIN)/python docs/generate.py

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("Holdfast needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(STAMP): pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet -e .
	touch $@

$(DEV_STAMP): pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet -e '.[dev]'
	touch $@ $(STAMP)

# The real agentmemory clients that tests/clients drives.
$(CLIENTS_STAMP): tests/clients/package.json tests/clients/package-lock.json tests/clients/install.sh | $(VENV)/bin/python
	PYTHON=$(BIN)/python sh tests/clients/install.sh $(CLIENTS)
	touch $@

clean:
	rm -rf $(VENV) build dist src/*.egg-info
