# `make help` lists what there is. The environment is made where it is needed, and again when a lock changed.

PYTHON ?= python3
PORT ?= 3000
WEB_PORT ?= 8000
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help install run test soak bench up down lint format

help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "  PYTHON=python3.12 chooses the Python that .venv is made from (3.11 or newer), PORT=3100 and"
	@echo "  WEB_PORT=8100 the ports of make up."

install: $(VENV)/installed ## Make .venv with the orbit command in it

run: install ## Import the sample history, build its memory, print what it holds
	@$(BIN)/orbit demo

up: install ## Run the web pages, the Dagster UI and daemon in the foreground; Ctrl-C stops everything
	@exec $(BIN)/orbit up --port $(PORT) --web-port $(WEB_PORT)

down: install ## Stop a running `make up` and the embedded PostgreSQL
	@$(BIN)/orbit down

test: lint ## Check everything: lint, types, import contracts, tests
	$(BIN)/pytest --numprocesses auto

soak: $(VENV)/installed-dev ## Check what takes hours: thousands of steps, every moment of a build (nightly)
	$(BIN)/pytest --numprocesses auto -m "soak and not browser"

bench: install ## Measure builds of 2,000 and 20,000 pairs beside the floor under them; minutes
	@$(BIN)/orbit bench

lint: $(VENV)/installed-dev ## Check style, types and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/installed-dev ## Format the code, and fix what can be fixed
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	    echo "$(PYTHON) is $$($(PYTHON) --version 2>&1 || true), and Python 3.11 or newer is needed."; \
	    echo "Install one, and name it: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; } >&2
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	    echo "$(PYTHON) can't make a virtual environment. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }

# pip compiles what it installs, and compileall the project: uncompiled, the imports alone take half a minute, and with
# PYTHONDONTWRITEBYTECODE set they would never be compiled.
$(VENV)/installed: requirements.lock pyproject.toml | $(BIN)/python
	$(PIP) install --compile --require-hashes -r requirements.lock
	$(PIP) install --quiet --no-index --no-deps --no-build-isolation --editable .
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m compileall -q orbit_pipelines assets resources checks
	@touch $@

$(VENV)/installed-dev: requirements-dev.lock $(VENV)/installed
	$(PIP) install --compile --require-hashes -r requirements-dev.lock
	@touch $@
