# Everything a developer types. The virtual environment is made on first use.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= 2
# For tests that mostly wait for processes to be missed, or for leases and deadlines.
WAITING_WORKERS ?= 3

.PHONY: demo test test-all soak lint lock bench peers proto compiled

demo: $(VENV)/.run
	$(BIN)/pit demo

# Unit, rules, property, contract and integration tests on a real Valkey; under 3 minutes.
test: $(VENV)/.test
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m "not all and not soak"

# What CI runs besides: larger counts, kill loops, Debian's redis. Under 10 minutes with `test`.
test-all: $(VENV)/.test test
	$(BIN)/pytest -n $(WAITING_WORKERS) --dist worksteal -m "all and not soak"

soak: $(VENV)/.test
	$(BIN)/pytest -m soak --timeout 0

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry .
	cd proto && ../$(BIN)/buf lint
	sh deploy/audit.sh $(BIN)/pip-audit

# What production runs, locked anew: every package at the newest version that pyproject.toml allows.
lock: $(VENV)/.lint
	head -n 2 deploy/requirements.txt > deploy/requirements.new
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	    --no-annotate --no-header pyproject.toml >> deploy/requirements.new
	mv deploy/requirements.new deploy/requirements.txt

bench: $(VENV)/.lint
	$(BIN)/python -m loadtest.bench

# What `make bench` compares with besides, in a folder of its own; needs npm.
peers:
	cd loadtest/peers/colyseus && npm ci --no-audit --no-fund

# The same package with its hot modules compiled by mypyc, in .venv-compiled. Needs a C compiler.
compiled: $(VENV)/.lint
	rm -rf build dist
	COMPILE_HOT=1 $(BIN)/pip wheel --quiet --disable-pip-version-check \
	    --no-deps --no-build-isolation --wheel-dir dist .
	$(PYTHON) -m venv $(VENV)-compiled
	$(VENV)-compiled/bin/pip install --quiet --disable-pip-version-check \
	    --force-reinstall dist/pit_exchange-*.whl

# Regenerates the committed code beside the schema; tests/proto compares the two.
proto: $(VENV)/.lint
	cd proto && PATH=$(abspath $(BIN)):$$PATH python -m grpc_tools.protoc -I. \
	    --python_out=. --mypy_out=. --grpc_python_out=. --mypy_grpc_out=. pit/v1/*.proto

$(VENV)/.run: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.test: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test,proto]'
	touch $@ $(VENV)/.run

$(VENV)/.lint: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test,proto,lint,bench]'
	touch $@ $(VENV)/.run $(VENV)/.test
