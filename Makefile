# `make help` lists what there is. Everything runs from a virtual environment that the first call sets up.

VENV ?= .venv
PYTHON ?=
TORCH_INDEX ?=
ARGS ?=

export VENV PYTHON TORCH_INDEX
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

# Only for recipes after setup, which must find the system's Python first: rules and tests call `tare` by name.
BIN := $(abspath $(VENV))/bin
ACTIVE := PATH="$(BIN):$$PATH"

# Apptainer's environments are measured where its program is, as Snakemake's own flag asks.
DEPLOYMENT := $(if $(shell command -v apptainer || command -v singularity),--sdm apptainer)
# there is no summary where nothing was measured
NO_RUN := $(filter -n -np --dry-run --dryrun --dag --rulegraph --filegraph --lint --report -h --help,$(ARGS))

.PHONY: help
help: ## list what there is
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1 :\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F ' :' '{printf "%-18s%s\n", $$1, $$2}'
	@echo
	@echo "  VENV=folder       the virtual environment (.venv)"
	@echo "  PYTHON=program    the Python 3.11, 3.12 or 3.13 to make it with (the first that serves)"
	@echo "  TORCH_INDEX=url   where to take torch from: pip's own index may give the CUDA build, several GB"
	@echo "  ARGS='...'        more options, for run: snakemake's, for test: pytest's, for lock: --upgrade"

.PHONY: run
run: setup ## measure the quick study, or another: make run ARGS='--config study=NAME'
	@$(ACTIVE) snakemake --cores all --quiet rules host progress $(DEPLOYMENT) $(ARGS)
	$(if $(NO_RUN),,@$(ACTIVE) tare summary --last)

# `redo`, since what it answered an hour ago says nothing of this machine now; `tare self-check` shows the last one.
.PHONY: self-check
self-check: setup ## measure known answers (5 minutes), exit with 1 where one is not met
	@$(ACTIVE) snakemake --cores all --quiet rules host progress --config study=self-check redo=true
	@$(ACTIVE) tare self-check

# Only what needs no engine, no Snakemake and no CPU for itself runs side by side.
.PHONY: test
test: setup-dev ## run the tests
ifeq ($(ARGS),)
	@$(ACTIVE) pytest -n auto -m "not slow and not alone" tests/unit
	@$(ACTIVE) pytest -m "not slow and alone" tests/unit
	@$(ACTIVE) pytest --ignore tests/unit tests
else
	@$(ACTIVE) pytest tests $(ARGS)
endif

.PHONY: test-full
test-full: setup-dev ## run the tests, the slow ones too
	@$(ACTIVE) pytest tests -m "" $(ARGS)

.PHONY: lint
lint: setup-dev ## check style, types, layers and the workflow
	@$(ACTIVE) ruff check
	@$(ACTIVE) ruff format --check
	@$(ACTIVE) mypy
	@$(ACTIVE) lint-imports --no-cache
	@$(ACTIVE) snakefmt --check Snakefile workflow
	@$(ACTIVE) snakemake --lint

.PHONY: format
format: setup-dev ## put the sources into the style that lint checks
	@$(ACTIVE) ruff check --fix
	@$(ACTIVE) ruff format
	@$(ACTIVE) snakefmt Snakefile workflow

.PHONY: doctor
doctor: setup ## tell what this machine can measure, and how to get the rest
	@$(ACTIVE) tare doctor

.PHONY: engines
engines: ## install and start the engines that tests need (root, Debian 12 or 13)
	@tools/engines up

.PHONY: setup setup-dev
setup: ## make the virtual environment, or bring it up to date
	@tools/setup
setup-dev: ## the same, with what testing and linting need
	@tools/setup --dev

.PHONY: lock
lock: ## pin the versions of pyproject.toml's dependencies anew
	@tools/lock $(ARGS)

.PHONY: clean
clean: ## remove the virtual environment and caches; what was measured stays in results/
	@tools/setup --remove
	@rm -rf build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find src tests workflow -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
