# Everything runs in .venv, which these targets make (and test-core in .venv-core, without torch). `make demo` and `make test` are the two commands.
# PYTHON picks the interpreter; PIP_ARGS goes to every pip install, for example to choose an index with a small torch:
#   make test PIP_ARGS="--index-url <an index with CPU builds of torch>"
PYTHON   ?= $(firstword $(foreach p,python3.11 python3.12 python3.13 python3,$(shell command -v $(p) 2>/dev/null)))
VENV     ?= .venv
CORE     ?= .venv-core
PIP_ARGS ?=
BIN      := $(VENV)/bin
INSTALL  := -m pip install --quiet --disable-pip-version-check -c constraints.txt $(PIP_ARGS)
PIP      := $(BIN)/python $(INSTALL)
CORE_PIP := $(CORE)/bin/python $(INSTALL)
TOOLS    := build/tools
WITH_TOOLS = PYTHONPATH=$$(echo $(CURDIR)/$(TOOLS)/lib/python*/site-packages)
NATIVE   := $(foreach end,cpp hpp,$(wildcard src/timelike/native/*.$(end) src/timelike/native/*/*.$(end))) src/timelike/native/CMakeLists.txt
SOURCES  := $(shell find src/timelike -name '*.py')
WORKERS  ?= auto
BUDGET   ?= 600

.PHONY: demo test test-core test-benchmarks explore check guard valgrind ci bench pages queue evidence docs browser clean help
.DEFAULT_GOAL := help
# also with -j: both environments compile in build/, and every recipe uses all processors by itself
.NOTPARALLEL:

help:
	@echo "make demo   the main job end to end: writes demo/report.html"
	@echo "make test   the tests of the library; make test-benchmarks those of the programs under benchmarks/"
	@echo "make test-core  the tests of what needs no torch, in an environment without it, on a wheel"
	@echo "make explore  property tests on examples nobody has seen, 20 000 hostile calls, and damaged files of every format"
	@echo "make check  lint, types, import rules"
	@echo "make guard  instruction counts of a dozen kernel calls, compared with the recorded ones"
	@echo "make ci     what continuous integration runs: check, test, test-core, test-benchmarks, guard, docs"
	@echo "make bench  speed against other libraries, one table per program in benchmarks/speed"
	@echo "make pages  write all benchmark pages, their summaries, the scorecard and the numbers that README.md and docs/*.md quote again from rows"
	@echo "make queue  missing rows of all comparisons in the background; BUDGET=minutes (600), DATA=folder"
	@echo "make evidence  a cheap row of every comparison again: do the numbers still hold? DATA=folder"
	@echo "make docs   the documentation into site/"

# a new environment; dependency groups need pip 25.1
%/made:
	@test -n "$(PYTHON)" || { echo "timelike needs Python 3.11 or newer: none found; set PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "timelike needs Python 3.11 or newer: $(PYTHON) is older"; exit 1; }
	$(PYTHON) -m venv $*
	$*/bin/python $(INSTALL) --upgrade "pip>=25.1"
	@touch $@
.PRECIOUS: %/made

# what compiles the kernels, in one place for both environments: in pip's temporary ones everything is compiled each time
$(TOOLS)/installed: $(TOOLS)/made pyproject.toml constraints.txt
	$(TOOLS)/bin/python $(INSTALL) scikit-build-core nanobind cmake ninja
	@touch $@

# the library itself, in place: edits to Python files count at once, edits to the kernels rebuild
$(VENV)/library: $(VENV)/made $(TOOLS)/installed pyproject.toml constraints.txt tools/build_backend.py $(NATIVE)
	@echo "installing timelike into $(VENV) (some minutes the first time: torch is large)"
	$(PIP) torch  # first: where there is no compiler, the build looks for it
	$(WITH_TOOLS) $(PIP) --no-build-isolation --no-deps -e .
	$(PIP) "timelike[learn,transport]"
	@touch $@

# what `pip install timelike` brings, from a wheel as a user gets it
$(CORE)/library: $(CORE)/made $(TOOLS)/installed pyproject.toml constraints.txt tools/build_backend.py $(NATIVE) $(SOURCES)
	rm -rf build/wheel
	$(WITH_TOOLS) $(CORE)/bin/python -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir build/wheel .
	$(CORE_PIP) --force-reinstall --no-deps build/wheel/*.whl
	$(CORE_PIP) build/wheel/*.whl
	@touch $@

$(CORE)/tests: $(CORE)/library
	$(CORE_PIP) --group test-core
	$(CORE_PIP) --no-deps aeon
	@touch $@

# real data files for the demo and the tests; aeon's code is never imported
$(VENV)/data: $(VENV)/library
	$(PIP) --no-deps aeon
	@touch $@

# a dependency group of pyproject.toml
$(VENV)/group-%: $(VENV)/library
	$(PIP) --group $*
	@touch $@

demo: $(VENV)/data
	$(BIN)/timelike demo

test: $(VENV)/group-test $(VENV)/data
	$(BIN)/python -m pytest -q -n $(WORKERS) --ignore=tests/benchmarks

# of the wheel, not of src/; what needs torch is left out (tests/missing_extras.py)
test-core: $(CORE)/tests
	$(CORE)/bin/python -m pytest -q -n $(WORKERS) --ignore=tests/benchmarks tests README.md docs --pyargs timelike

# of the programs under benchmarks/, which a user of the library does not run
test-benchmarks: $(VENV)/group-test $(VENV)/data
	$(BIN)/python -m pytest -q -n $(WORKERS) tests/benchmarks

# the tests draw the same examples every time; here they are new ones, and what fails is printed with how to repeat it
explore: $(VENV)/group-test $(VENV)/data
	HYPOTHESIS_PROFILE=explore $(BIN)/python -m pytest -q -n $(WORKERS) -m hypothesis
	TIMELIKE_EXPLORE=20000 TIMELIKE_SEED=$$(date +%j) $(BIN)/python -m pytest -q -n $(WORKERS) tests/contract/test_hostile.py
	TIMELIKE_EXPLORE=100 $(BIN)/python -m pytest -q -n $(WORKERS) tests/contract/test_edited.py
	$(BIN)/python -m benchmarks.faults.mutated_files --seed $$(date +%j) --budget 1800

# the tests' own tools too: a program under benchmarks/ stands on pytest
check: $(VENV)/group-dev $(VENV)/group-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

browser:
	@command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 || \
	  { command -v apt-get >/dev/null 2>&1 && test "$$(id -u)" = 0 && \
	    apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null; } || \
	  echo "no browser can be installed here: the page's test will be skipped"

valgrind:
	@command -v valgrind >/dev/null 2>&1 || \
	  { command -v apt-get >/dev/null 2>&1 && test "$$(id -u)" = 0 && \
	    apt-get update -qq && apt-get install -y -qq --no-install-recommends valgrind >/dev/null; } || \
	  echo "valgrind cannot be installed here: instruction counts will not be checked"

# instructions, unlike seconds, are the same on a busy machine
guard: valgrind $(VENV)/library
	$(BIN)/python -m benchmarks.speed.guard

ci: check browser test test-core test-benchmarks guard docs

bench: $(VENV)/group-bench
	@for program in $$(grep -rl __main__ --include=*.py benchmarks/speed | sed 's/\.py$$//; s/\/__main__$$//; s/\//./g' | sort); \
		do echo "== $$program"; $(BIN)/python -m $$program || exit 1; done

# nothing is worked out: a change of the library makes rows stale, and their pages say so
pages: $(VENV)/library
	@for program in $$(grep -l __main__ benchmarks/papers/*/*.py benchmarks/accuracy/backtest_intervals.py benchmarks/accuracy/defaults.py benchmarks/accuracy/forecast.py benchmarks/accuracy/image_vectors.py benchmarks/accuracy/open_classes.py benchmarks/accuracy/rocket_peers.py benchmarks/accuracy/two_sample.py benchmarks/accuracy/verification_coverage.py | sed 's/\.py$$//; s/\//./g' | sort); \
		do echo "== $$program"; $(BIN)/python -m $$program --budget 0 $(if $(DATA),--data $(DATA)) || exit 1; done
	$(BIN)/python -m benchmarks.quoted_numbers
	$(BIN)/python -m benchmarks.summaries
	$(BIN)/python -m benchmarks.scorecard

# from a clone of HEAD, at the lowest priority: `python -m benchmarks.queue status`, `stop` and `merge` do the rest
queue: $(VENV)/library
	$(BIN)/python -m benchmarks.queue --background --budget $(BUDGET) $(if $(DATA),--data $(DATA))

evidence: $(VENV)/library
	$(BIN)/python -m benchmarks.evidence $(if $(DATA),--data $(DATA))

docs: $(VENV)/group-docs $(VENV)/data
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) $(CORE) build site demo
