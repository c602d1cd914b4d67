# Everything a developer types. Needs Python 3.11+ and make; nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
# Most of the time they wait: for Java, for a deadline, for a disk.
WORKERS ?= 6

# Or each of the processes that tests start would compile all of its modules.
unexport PYTHONDONTWRITEBYTECODE

# The layers below the sockets, a tenth of the examples of each property, and nothing
# that damages every byte, crashes at every step or compares with another client.
QUICK := tests/protocol tests/storage tests/terminal tests/broker/config \
	tests/broker/coordinator tests/broker/metadata tests/broker/replica \
	tests/broker/requests
SWEEPS := tests/terminal/test_ending.py tests/storage/cleaner/test_cleaner_model.py \
	tests/storage/dump/test_dump_file.py tests/storage/fsck/test_directory_check.py \
	tests/storage/log/test_segment_replacement.py \
	tests/storage/opening/test_loader.py tests/storage/opening/test_segment_split.py \
	tests/storage/segment/test_index_agreement.py \
	tests/storage/segment/test_scrubber.py tests/storage/segment/test_tail.py \
	tests/storage/test_log_against_map.py tests/storage/test_log_loader_damage.py \
	tests/storage/test_reading_past_damage.py tests/storage/test_wrong_offsets.py \
	tests/protocol/test_compression.py tests/protocol/messages/test_oracle.py \
	tests/broker/coordinator/group/state/test_loading.py \
	tests/broker/coordinator/transaction/test_transaction_model.py \
	tests/broker/metadata/catalog/test_checksums.py

.PHONY: serve install test test-quick test-long lint types format bench docs site dist clean

serve: $(VENV)/.installed
	@echo "In another terminal: $(BIN)/odradek topic list" >&2
	@echo "(without $(BIN)/ after 'make install', which puts odradek on your PATH)" >&2
	$(BIN)/odradek serve $(ARGS)

install:
	@if command -v uv >/dev/null; then uv tool install --reinstall .; \
	elif command -v pipx >/dev/null; then pipx install --force .; \
	else \
		echo "make install wants uv or pipx, and neither is here. Without them:" >&2; \
		echo "  $(PYTHON) -m venv ~/.local/share/odradek" >&2; \
		echo "  ~/.local/share/odradek/bin/pip install ." >&2; \
		echo "  mkdir -p ~/.local/bin" >&2; \
		echo "  ln -s ~/.local/share/odradek/bin/odradek ~/.local/bin/" >&2; \
		exit 1; \
	fi

# Three tenths of the examples of each property; others each time, but under CI=true.
test: $(VENV)/.compiled-tests
	ODRADEK_EXAMPLES=$${ODRADEK_EXAMPLES:-0.3} $(PYTEST) -m "not long" -n $(WORKERS) $(ARGS)

# While one works: about a minute on two cores.
test-quick: $(VENV)/.installed-test
	ODRADEK_EXAMPLES=0.1 $(PYTEST) -m "not long" -n 2 $(QUICK) $(SWEEPS:%=--ignore=%) $(ARGS)

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

# What a release is made of, for this machine: docs/releasing.md.
dist: $(VENV)/.installed-dist
	rm -rf build dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/twine check --strict dist/*

site: $(VENV)/.installed-docs
	$(BIN)/mkdocs build --strict --quiet
	@echo open build/site/index.html

clean:
	rm -rf $(VENV) build dist *.egg-info protocol/*.so broker/*/*.so

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "odradek needs Python 3.11 or newer; say which: make PYTHON=python3.12" >&2; \
		exit 1; }
	@echo "Making $(VENV): about half a minute, once ..." >&2
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

PIP_INSTALL = $(BIN)/pip install --quiet --disable-pip-version-check \
	--config-settings editable_mode=compat --editable

$(VENV)/.installed: pyproject.toml setup.py odradek/__init__.py $(wildcard protocol/*.[ch] broker/*/*.c) | $(BIN)/python
	@echo "Installing odradek into $(VENV), and the packages that it needs ..." >&2
	@$(PIP_INSTALL) .
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	@echo "Installing what the tests need: Spark is large ..." >&2
	@$(PIP_INSTALL) '.[test]'
	@touch $@

# Once, by two processes; not by each worker for itself. What is wrong, the tests tell.
$(VENV)/.compiled-tests: | $(VENV)/.installed-test
	@for half in tests/broker "tests --ignore=tests/broker"; do \
		$(PYTEST) --collect-only -qq $$half >/dev/null 2>&1 & \
	done; wait
	@touch $@

$(VENV)/.installed-lint: $(VENV)/.installed-test
	@echo "Installing linters ..." >&2
	@$(PIP_INSTALL) '.[lint]'
	@touch $@

$(VENV)/.installed-dist: $(VENV)/.installed
	@$(PIP_INSTALL) '.[dist]'
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	@$(PIP_INSTALL) '.[docs]'
	@touch $@
