# make demo   run the sample tasks on a small real model
# make test   tests, linter, type checker
# make bench  how fast it is, one table; no figure passes or fails
# Each makes the environment that it needs; no hub and no other set-up is asked for.

PYTHON ?= python3
VENV := .venv
LOWEST := .venv-lowest
BIN := $(VENV)/bin
PIP_INSTALL := install --quiet --disable-pip-version-check

# What the demo runs: `make demo MODEL=EleutherAI/pythia-160m TASKS=enantiosemy_sample` runs another model or task.
MODEL ?=
TASKS ?= mera_ru_sample_prefill
FEWSHOT ?= 1
LIMIT ?= 12
RESULTS ?= results

.PHONY: demo test lint types unit lowest bench clean

demo: $(VENV)/demo
	@model="$(MODEL)"; \
	if [ -z "$$model" ]; then export HF_HUB_OFFLINE=1; model="$$($(BIN)/python -m mera_ru_tasks.demo_model)" || exit 1; fi; \
	set -- lm_eval --model hf --model_args "pretrained=$$model" --tasks $(TASKS) --num_fewshot $(FEWSHOT) \
	    --limit $(LIMIT) --batch_size 4 --log_samples --output_path $(RESULTS); \
	echo "Running: $(BIN)/$$*"; \
	$(BIN)/"$$@" || exit 1; \
	echo; \
	echo "The table's rows are explained in README.md, \"First run\". The logs are in $(RESULTS)/."; \
	echo "Next: all $(TASKS) documents with LIMIT=1000, another model with MODEL=…, or the command above with your own changes."

test: lint types unit lowest

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev
	$(BIN)/mypy

unit: $(VENV)/dev
	$(BIN)/pytest --numprocesses 2

# The same tests on the lowest versions that pyproject.toml allows.
lowest: $(LOWEST)/dev
	$(LOWEST)/bin/pytest --numprocesses 2

bench: $(VENV)/bench
	$(BIN)/python -m benchmarks $(NAMES)

$(VENV)/demo $(VENV)/dev $(VENV)/bench: $(VENV)/%: pyproject.toml constraints.txt | $(VENV)/pyvenv.cfg
	@echo "Installing the extra '$*' into $(VENV); the first time takes a few minutes."
	$(BIN)/pip $(PIP_INSTALL) --constraint constraints.txt --editable '.[$*]'
	@touch $@

$(LOWEST)/dev: pyproject.toml constraints-lowest.txt | $(LOWEST)/pyvenv.cfg
	@echo "Installing the lowest supported versions into $(LOWEST); the first time takes a few minutes."
	$(LOWEST)/bin/pip $(PIP_INSTALL) --constraint constraints-lowest.txt --editable '.[dev]'
	@touch $@

%/pyvenv.cfg:
	$(PYTHON) -m venv $*

clean:
	rm -rf $(VENV) $(LOWEST) build dist
