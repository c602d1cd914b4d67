# Everything a developer types. Needs Python 3.11+ and make; nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
# Half of them wait: for Java, for a deadline, for a disk.
WORKERS ?= 4

# Or each of the processes that tests start would compile all of its modules.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: serve test test-long lint types format bench docs clean

serve: $(VENV)/.installed
	$(BIN)/odradek serve $(ARGS)

test: $(VENV)/.installed-test
	$(PYTEST) -m "not long" -n $(WORKERS) $(ARGS)

test-long: $(VENV)/.installed-test
	ODRADEK_LONG=1 $(PYTEST) --timeout 14400 -n $(WORKERS) $(ARGS)

lint: $(VENV)/.installed-lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: $(VENV)/.installed-lint
	$(BIN)/mypy

format: $(VENV)/.installed-lint
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.installed-test
	$(BIN)/python bench/run.py $(ARGS)

docs: $(VENV)/.installed
	$(BIN)/python docs/generate.py

clean:
	rm -rf $(VENV) build dist *.egg-info protocol/*.so broker/*/*.so

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml setup.py $(wildcard protocol/*.[ch] broker/*/*.c) | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check --config-settings editable_mode=compat --editable .
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check --config-settings editable_mode=compat --editable '.[test]'
	touch $@

$(VENV)/.installed-lint: $(VENV)/.installed-test
	$(BIN)/pip install --quiet --disable-pip-version-check --config-settings editable_mode=compat --editable '.[lint]'
	touch $@
