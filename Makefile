# make demo     run two small models on the sample tasks and compare them
# make check    linter, types and the quick tests: before each commit
# make test     everything that must pass, on the current and the lowest supported versions
# make nightly  long simulations, searches for new test cases, and other Python versions
# make docs     build the documentation into build/site
# make bench    measure speed and memory; nothing passes or fails
# Each target makes the environment it needs. No hub access or other setup is required.

PYTHON ?= python3
VENV := .venv
LOWEST := .venv-lowest
BENCH := .venv-bench
BIN := $(VENV)/bin
PIP_INSTALL := install --quiet --disable-pip-version-check

# The demo: `make demo MODEL=EleutherAI/pythia-160m TASKS=enantiosemy_sample` runs a different model or task.
MODEL ?=
# RANKED names tasks whose options are ranked by log-likelihood, without examples in the prompt.
TASKS ?= mera_ru_sample_prefill
RANKED ?= riddles_sample_rank
FEWSHOT ?= 1
LIMIT ?= 12
RESULTS ?= results
BASELINE := random-gpt-neox

# The benchmarks that `make bench` runs, by file name. By default, all are run.
NAMES ?=

# Additional versions of Python with which `make nightly` runs the quick tests if they are installed.
INTERPRETERS ?= 3.10 3.12 3.13 3.14
VERSION ?= 3.13

.DEFAULT_GOAL := help
.PHONY: help demo check test nightly lint types quick unit lowest slow docs reference package interpreter chromium bench clean

# Print the lines at the start of this file.
help:
	@sed -n '/^$$/q; s/^# //p' Makefile

# Print every command. The report gets an unused name, so that earlier reports are kept.
demo: $(VENV)/demo
	@run() { echo "Running: $(BIN)/$$*"; $(BIN)/"$$@" || exit 1; echo; }; \
	lm() { run mera-ru run --model hf --model_args "pretrained=$$@" \
	    --limit $(LIMIT) --batch_size 4 --log_samples --output_path $(RESULTS); }; \
	evaluate() { lm "$$1" --tasks $(TASKS) --num_fewshot $(FEWSHOT); \
	    [ -z "$(RANKED)" ] || lm "$$1" --tasks $(RANKED); }; \
	folder() { $(BIN)/python examples/demo_models.py "$$1"; }; \
	baseline="$$(folder $(BASELINE))" || exit 1; \
	model="$(MODEL)"; \
	if [ -z "$$model" ]; then model="$$(folder gemma-3-270m)" || exit 1; fi; \
	report=report.html; number=2; \
	while [ -e "$$report" ]; do report="report-$$number.html"; number=$$((number + 1)); done; \
	echo; echo "1 of 3: the baseline, a GPT-NeoX with random weights. It knows nothing:"; \
	echo "scores of 0 and warnings that no response contains an answer are expected here."; \
	(export HF_HUB_OFFLINE=1; evaluate "$$baseline") || exit 1; \
	echo "2 of 3: the model."; \
	([ -n "$(MODEL)" ] || export HF_HUB_OFFLINE=1; evaluate "$$model") || exit 1; \
	echo "3 of 3: the two compared. The table above is the model's; its rows are explained in docs/quickstart.md."; \
	run mera-ru compare $(RESULTS) --baseline $(BASELINE) -o "$$report"; \
	echo "Open $$report in a browser: it shows every prompt and response. lm-eval's logs are in $(RESULTS)/."; \
	echo "Next: \`make demo LIMIT=1000\` runs all documents, \`make demo MODEL=…\` another model. For \`mera-ru --help\`, first run \`source $(BIN)/activate\`."

check: lint types quick

test: lint types unit lowest package

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev
	$(BIN)/mypy

# These tests also build the documentation.
unit: $(VENV)/dev chromium
	$(BIN)/pytest --numprocesses 2

quick: $(VENV)/dev
	$(BIN)/pytest --numprocesses 2 -m "not slow and not nightly"

# The tests that `make check` leaves out, and those that `make test` leaves out.
slow: $(VENV)/dev
	@$(BIN)/pytest --collect-only -q -m slow
	@$(BIN)/pytest --collect-only -q -m nightly || [ $$? = 5 ]

# Use the lowest versions that pyproject.toml allows. Leave out tests that do not depend on the versions of libraries.
lowest: $(LOWEST)/dev
	$(LOWEST)/bin/pytest --numprocesses 2 --ignore tests/scoring --ignore tests/docs \
	    --ignore tests/data/test_sample_data.py

# Run tests marked `nightly`, search for new counterexamples, and run the quick tests with other interpreters.
nightly: $(VENV)/dev chromium
	$(BIN)/pytest -m nightly || [ $$? = 5 ]
	$(BIN)/pytest --numprocesses 2 -m hypothesis --hypothesis-profile=search
	@for version in $(INTERPRETERS); do \
	    found=; \
	    for python in "python$$version" "$$HOME"/.pyenv/versions/"$$version".*/bin/python; do \
	        if "$$python" -c "" 2>/dev/null; then found="$$python"; break; fi; \
	    done; \
	    if [ -z "$$found" ]; then echo "Python $$version is not installed: skipped."; continue; fi; \
	    $(MAKE) interpreter VERSION="$$version" PYTHON="$$found" || exit 1; \
	done

interpreter: $(VENV)-$(VERSION)/dev
	$(VENV)-$(VERSION)/bin/pytest --numprocesses 2 -m "not slow and not nightly" --ignore tests/docs

# Build both languages without network access. Warnings are errors.
docs: $(VENV)/dev
	rm -rf build/site
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/site
	$(BIN)/python -m sphinx -W --keep-going -q -b html -c docs -D language=ru docs/ru build/site/ru
	@echo "Open build/site/index.html."

# Generate the pages of the documentation that come from the code.
reference: $(VENV)/dev
	$(BIN)/python docs/generate.py

# Build the wheel and the source distribution, install each in a new environment, and test it.
package: $(VENV)/dev
	rm -rf dist
	$(BIN)/python -m hatchling build
	$(BIN)/python tests/support/try_package.py dist

# Install Chromium for the browser tests of the report, which are otherwise skipped.
chromium:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then { apt-get update -qq && apt-get install -y -qq chromium; } >/dev/null || echo "No Chromium could be installed."; \
	else echo "No Chromium: the report's browser tests are skipped. Install it to run them."; fi

# A separate environment, because the compared programs have other requirements.
bench: $(BENCH)/bench
	$(BENCH)/bin/python -m benchmarks $(NAMES)

$(BENCH)/bench: pyproject.toml constraints.txt | $(BENCH)/pyvenv.cfg
	@echo "Installing what the benchmarks need into $(BENCH); the first time takes a few minutes."
	$(BENCH)/bin/pip $(PIP_INSTALL) --constraint constraints.txt --editable '.[bench]'
	@touch $@

$(VENV)-3.%/dev: pyproject.toml constraints.txt | $(VENV)-3.%/pyvenv.cfg
	$(VENV)-3.$*/bin/pip $(PIP_INSTALL) --constraint constraints.txt --editable '.[dev]'
	@touch $@

$(VENV)/demo $(VENV)/dev: $(VENV)/%: pyproject.toml constraints.txt | $(VENV)/pyvenv.cfg
	@echo "Installing the extra '$*' into $(VENV). The first time, this takes about 10 minutes; pip prints nothing meanwhile."
	$(BIN)/pip $(PIP_INSTALL) --constraint constraints.txt --editable '.[$*]'
	@touch $@

$(LOWEST)/dev: pyproject.toml constraints-lowest.txt | $(LOWEST)/pyvenv.cfg
	@echo "Installing the lowest supported versions into $(LOWEST); the first time takes a few minutes."
	$(LOWEST)/bin/pip $(PIP_INSTALL) --constraint constraints-lowest.txt --editable '.[test]'
	@touch $@

.PRECIOUS: %/pyvenv.cfg
%/pyvenv.cfg:
	$(PYTHON) -m venv $*

clean:
	rm -rf $(VENV) $(VENV)-3.* $(LOWEST) $(BENCH) build dist
