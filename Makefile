# `make help` lists what you can do in this repository.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Three stamps: what `make run` needs, what everything else needs on top, and what a release needs on top of that.
RUN := $(VENV)/installed-to-run
STAMP := $(VENV)/installed
RELEASE := $(VENV)/installed-to-release
export CANT_INSTALL := Couldn't install the packages. Check the network and pip's settings, then run make again.
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt

# Modules are compiled once, even if the environment turns off writing bytecode: a test run starts Python dozens of
# times.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help run test coverage unit seen fresh image soak upgrade release-check model validate-blocks bench browser screens check docs reference format lock env-example clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | awk -F '\t' '{ printf "make %-15s %s\n", $$1, $$2 }'

run: $(RUN) ## Try the bridge in the browser, with a built-in Slack, project and Redis for what isn't configured
	@exec $(BIN)/bridge playground

# A worker runs whole files, in the order of tests/conftest.py.
ALL := --numprocesses 5 --dist loadfile --no-loadscope-reorder

# The first time, the tests' modules are compiled beside the browser's download; otherwise each worker would do it.
test: $(STAMP) ## Run all tests
	@{ test -d tests/parts/__pycache__ || $(BIN)/pytest -q --collect-only >/dev/null; } & \
	  $(MAKE) --no-print-directory browser || echo 'Continuing without a browser: the end-to-end tests will be skipped.'; \
	  wait
	@$(BIN)/pytest -q $(ALL)

coverage: $(STAMP) ## Run all tests and list the lines and branches they miss; slower
	@$(BIN)/pytest -q $(ALL) --cov --cov-report=term:skip-covered

unit: $(STAMP) ## Run the fast tests
	@$(BIN)/pytest -q --numprocesses 2 tests/parts

seen: $(STAMP) ## Run the tests of what people see in Slack: behavior and layouts, in a minute
	@$(BIN)/pytest -q --numprocesses 3 tests/features tests/surface/test_layouts.py

# DEBIAN=bookworm uses another release than trixie, MIRROR=http://… another mirror. See tests/fresh.py.
fresh: ## Run the README's commands in a minimal Debian; needs root, debootstrap and ten minutes
	@$(PYTHON) tests/fresh.py

# BASE=python:3.13.9-slim-trixie pulls that base from a registry instead of making one. See tests/image.py.
image: $(STAMP) ## Build the image without Docker and try it; needs root, buildah and debootstrap
	@PYTHONPATH=.:tests $(BIN)/python tests/image.py

# SECONDS=120 makes it shorter, SEED=… repeats its choices; SWEEP=1 kills a bridge at every step instead.
soak: $(STAMP) ## Simulate ten minutes of conversations while parts fail at random, and count the answers
	@PYTHONPATH=.:tests $(BIN)/python -m proof.soak

# The commit of the release before is in tests/proof/upgrade/before.txt.
upgrade: $(STAMP) ## Run the release before and this one on one Redis, one after the other and both at once
	@$(BIN)/pytest -q tests/proof/upgrade/cases.py

# TAG=v1.2.3 also compares the version with that tag. See tests/release.py.
release-check: $(RELEASE) ## Build what a release consists of into dist, and try it in an empty environment
	@PYTHONPATH=.:tests $(BIN)/python tests/release.py

model: $(STAMP) ## Search the models whole, also the scenarios that are too large for each `make test`, in a minute
	@DEEP=1 $(BIN)/pytest -q tests/proof/test_model.py

validate-blocks: $(STAMP) ## Have Slack validate every layout; needs SLACK_BOT_TOKEN, posts nothing
	@PYTHONPATH=.:tests $(BIN)/python -m support.validate_blocks

# ONLY="acks turns" measures some, QUICK=1 a second each, FULL=1 with a million stored threads. See bench/__init__.py.
bench: $(STAMP) ## Measure the bridge against two baselines, in ten minutes (QUICK=1: one)
	@PYTHONPATH=.:tests $(BIN)/python -m bench $(ONLY)

browser: $(STAMP) ## Install Chromium for the end-to-end tests, if it's missing
	@PYTHONPATH=tests $(BIN)/python -m support.browser

# ONLY=faults plays only the tours of tools/screens.txt with this word in their titles.
screens: $(STAMP) browser ## Take a picture of every screen of the playground, into build/screens
	@PYTHONPATH=. $(BIN)/python -m tools.screens

BLOCKS := build/blocks
check: $(STAMP) ## Check formatting, lint (Python and JavaScript), types and import rules, also of the docs' examples
	@$(BIN)/ruff format --check --quiet . || { echo 'The formatting is off. Fix it with: make format'; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/oxlint --quiet --config .oxlintrc.json bridge/playground/page/static/js >$(VENV)/oxlint.txt || { cat $(VENV)/oxlint.txt; exit 1; }
	@$(BIN)/mypy --strict --no-error-summary -p bridge
	@PYTHONPATH=tests $(BIN)/python -m support.docs_site $(BLOCKS)
	@$(BIN)/ruff format --check --quiet $(BLOCKS) && $(BIN)/ruff check --quiet $(BLOCKS)
	@$(BIN)/mypy --strict --no-error-summary $(BLOCKS)
	@$(BIN)/lint-imports --no-logo >$(VENV)/lint-imports.txt || { cat $(VENV)/lint-imports.txt; exit 1; }

format: $(STAMP) ## Format the code and fix what can be fixed automatically
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format --quiet .

docs: $(STAMP) ## Build the documentation into build/docs; warnings are errors
	@$(BIN)/zensical build --clean --strict >$(VENV)/docs.txt 2>&1 || { cat $(VENV)/docs.txt; exit 1; }
	@echo 'Open build/docs/index.html'

reference: $(STAMP) ## Write the generated pages of docs/reference, and ops/ for Prometheus and Grafana
	@PYTHONPATH=.:tests $(BIN)/python -m support.reference

env-example: $(STAMP) ## Write .env.example from the settings
	@$(BIN)/python -m bridge.settings >$(VENV)/env-example && mv $(VENV)/env-example .env.example

# A fresh environment without constraints; its versions are what everyone gets from now on. Run it with the oldest
# supported Python, so that packages only that one needs are listed too.
lock: ## Write constraints.txt from the newest versions that pyproject.toml allows
	@rm -rf build/lock && $(PYTHON) -m venv build/lock
	@build/lock/bin/python -m pip install -qq --disable-pip-version-check --editable '.[dev,release]'
	@{ echo '# What a fresh install gets: `make lock` writes this file from what pyproject.toml allows.'; \
	   build/lock/bin/python -m pip freeze --exclude-editable; } >build/lock/constraints.txt
	@mv build/lock/constraints.txt constraints.txt && rm -rf build/lock

clean: ## Remove everything that was built here
	@rm -rf $(VENV) build dist .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find bridge bench tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

$(RUN): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || \
	  { echo "$(PYTHON) wasn't found. Use Python 3.11 or later, for example: make PYTHON=python3.12 run"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'Python 3.11 or later is required, for example: make PYTHON=python3.12 run'; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo 'Python lacks the venv module. On Debian and Ubuntu: apt install python3-venv'; exit 1; }
	@echo 'Creating a Python environment in $(VENV) …'
	@$(PYTHON) -m venv --clear $(VENV)
	@echo 'Installing the bridge and its playground, about 50 packages. This takes 10 to 30 seconds …'
	@$(PIP) --no-compile --editable '.[playground]' || { echo "$$CANT_INSTALL"; exit 1; }
	@touch $@

$(STAMP): $(RUN)
	@echo 'Installing the tools for tests and checks …'
	@$(PIP) --editable '.[dev]' || { echo "$$CANT_INSTALL"; exit 1; }
	@touch $@

$(RELEASE): $(STAMP)
	@echo 'Installing the tools for a release …'
	@$(PIP) --editable '.[release]' || { echo "$$CANT_INSTALL"; exit 1; }
	@touch $@
