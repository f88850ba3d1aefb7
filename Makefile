# make demo   run the sample tasks on a small real model and on a random one, and compare them
# make test   tests, linter, type checker
# make bench  how fast it is, one table; no figure passes or fails
# Each makes the environment that it needs; no hub and no other set-up is asked for.

PYTHON ?= python3
VENV := .venv
LOWEST := .venv-lowest
BENCH := .venv-bench
BIN := $(VENV)/bin
PIP_INSTALL := install --quiet --disable-pip-version-check

# What the demo runs: `make demo MODEL=EleutherAI/pythia-160m TASKS=enantiosemy_sample` runs another model or task.
MODEL ?=
TASKS ?= mera_ru_sample_prefill
FEWSHOT ?= 1
LIMIT ?= 12
RESULTS ?= results
BASELINE := random-gpt-neox

# Which benchmarks `make bench` runs, by the names of their files; all if none.
NAMES ?=

.DEFAULT_GOAL := help
.PHONY: help demo test lint types unit lowest chromium bench clean

# The lines at the head of this file.
help:
	@sed -n '/^$$/q; s/^# //p' Makefile

# Every command that is run is printed. The report gets a free name: an earlier one may be worth keeping.
demo: $(VENV)/demo
	@run() { echo "Running: $(BIN)/$$*"; $(BIN)/"$$@" || exit 1; echo; }; \
	evaluate() { run lm_eval --model hf --model_args "pretrained=$$1" --tasks $(TASKS) --num_fewshot $(FEWSHOT) \
	    --limit $(LIMIT) --batch_size 4 --log_samples --output_path $(RESULTS); }; \
	folder() { $(BIN)/python examples/demo_models.py "$$1"; }; \
	baseline="$$(folder $(BASELINE))" || exit 1; \
	model="$(MODEL)"; \
	if [ -z "$$model" ]; then model="$$(folder gemma-3-270m)" || exit 1; fi; \
	report=report.html; number=2; \
	while [ -e "$$report" ]; do report="report-$$number.html"; number=$$((number + 1)); done; \
	echo; echo "1 of 3: the baseline, a GPT-NeoX with random weights. It knows nothing."; \
	(export HF_HUB_OFFLINE=1; evaluate "$$baseline") || exit 1; \
	echo "2 of 3: the model."; \
	([ -n "$(MODEL)" ] || export HF_HUB_OFFLINE=1; evaluate "$$model") || exit 1; \
	echo "3 of 3: the two compared. The table above is the model's; its rows are explained in docs/quickstart.md."; \
	run mera-ru compare $(RESULTS) --baseline $(BASELINE) -o "$$report"; \
	echo "Open $$report in a browser: it shows every prompt and response. lm-eval's logs are in $(RESULTS)/."; \
	echo "Next: \`make demo LIMIT=1000\` runs all documents, \`make demo MODEL=…\` another model, \`mera-ru --help\` tells more."

test: lint types unit lowest

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev
	$(BIN)/mypy

unit: $(VENV)/dev chromium
	$(BIN)/pytest --numprocesses 2

# On the lowest versions that pyproject.toml allows: all tests but those of the reading, the documents and the sample data,
# which no library's version can change.
lowest: $(LOWEST)/dev
	$(LOWEST)/bin/pytest --numprocesses 2 --ignore tests/scoring --ignore tests/docs \
	    --ignore tests/data/test_sample_data.py

# For the tests of the report in a real browser, which are skipped where there is none.
chromium:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then { apt-get update -qq && apt-get install -y -qq chromium; } >/dev/null || echo "No Chromium could be installed."; \
	else echo "No Chromium: the report's browser tests are skipped. Install it to run them."; fi

# An environment of its own: what is compared with has requirements of its own.
bench: $(BENCH)/bench
	$(BENCH)/bin/python -m benchmarks $(NAMES)

$(BENCH)/bench: pyproject.toml constraints.txt | $(BENCH)/pyvenv.cfg
	@echo "Installing what the benchmarks need into $(BENCH); the first time takes a few minutes."
	$(BENCH)/bin/pip $(PIP_INSTALL) --constraint constraints.txt --editable '.[bench]'
	@touch $@

$(VENV)/demo $(VENV)/dev: $(VENV)/%: pyproject.toml constraints.txt | $(VENV)/pyvenv.cfg
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
	rm -rf $(VENV) $(LOWEST) $(BENCH) build dist
