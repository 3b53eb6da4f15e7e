# `make up` runs Gapscope for this machine; `make test` runs every test. Nothing else is needed to begin.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
DATA ?= data
STAMP = $(VENV)/.installed

.PHONY: up test lint types unit page browser bench soak clean

up: $(VENV)/.server
	$(BIN)/gapscope up --data $(DATA) $(UP)

test: lint types unit page browser

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Gapscope needs Python 3.10 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.server: $(BIN)/python pyproject.toml frontend/hatch_build.py frontend/page_build.py $(shell find frontend/src frontend/public frontend/*.json frontend/*.html frontend/*.ts -type f 2>/dev/null)
	$(BIN)/python -m pip install --quiet --editable '.[server]'
	touch $@

$(VENV)/.dev: $(VENV)/.server
	$(BIN)/python -m pip install --quiet --editable '.[dev]' $$($(BIN)/python frontend/page_build.py require)
	touch $@

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: $(VENV)/.dev
	$(BIN)/mypy

unit: $(VENV)/.dev
	$(BIN)/pytest -m 'not browser and not alone and not soak' -n 2 --dist loadfile --ignore tests/bench/test_store.py
	$(BIN)/pytest -m alone

page: $(VENV)/.dev
	test -d frontend/node_modules || $(BIN)/python frontend/page_build.py npm ci --ignore-scripts --no-audit --no-fund
	$(BIN)/python frontend/page_build.py npm test

browser: $(VENV)/.dev
	$(BIN)/python tests/browser/chromium.py
	$(BIN)/pytest -m browser tests/browser -n 2 --dist loadfile

bench: $(VENV)/.dev
	$(BIN)/python -m pytest tests/bench -q -s

soak: $(VENV)/.dev
	$(BIN)/pytest -m soak
	$(BIN)/python -m tests.store.kills --kills 100
	$(BIN)/python -m tests.delivery.kills --kills 100
	$(BIN)/python tests/browser/chromium.py
	$(BIN)/python -m tests.bench.page --seconds 600 --soak

clean:
	rm -rf $(VENV) frontend/node_modules frontend/gapscope_frontend/static
