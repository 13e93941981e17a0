# Everything a contributor runs; `make` alone lists it, CI runs `make test`.
# All of it lives in .venv, which is made when missing and topped up when pyproject.toml or constraints.txt change.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO_SECONDS ?= 60
FUZZ_SECONDS ?= 300
PYTEST_ARGS ?=
# a file of tests runs in one process, which keeps what its fixtures share
SIDE_BY_SIDE := -n auto --maxprocesses 4 --dist loadfile
# those with processes of their own mostly wait for them, so more run than a small machine has cores
WITH_PROCESSES := -n 3 --dist loadfile
# sets have the same order in each run
REPEATABLE := PYTHONHASHSEED=0 $(BIN)/python -m pytest

# the directories under mypy that have code already
TYPED = $(foreach dir,pasps predictor_service topologies benchmarks deploy,$(if $(shell find $(dir) -name '*.py' 2>/dev/null | head -n 1),$(dir)))
DOCS_TESTS = $(wildcard tests/docs tests/unit/test_docs*.py tests/integration/test_docs*.py)

# the variables hold pip's own build environment to the same pins; older pips read one, newer ones the other
INSTALL = PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt \
	$(BIN)/python -m pip install --quiet -c constraints.txt

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo test unit integration fuzz coverage docs-test java servers lint format types clean clean-all FORCE

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.demo ## tweets at a bursty rate, replicas that follow it, and a report of it: one minute
	@run=$$(mktemp -d) && $(BIN)/pasps run topologies/tweets/tweets.py --duration $(DEMO_SECONDS) --run-dir "$$run" && \
		$(BIN)/pasps explain "$$run" user_class && $(BIN)/pasps report "$$run"

test: lint types pytest ## everything CI runs: lint, types, all tests

.PHONY: pytest
pytest: $(VENV)/.dev java servers
	$(REPEATABLE) $(SIDE_BY_SIDE) tests/unit tests/docs $(PYTEST_ARGS)
	$(REPEATABLE) $(WITH_PROCESSES) tests/integration $(PYTEST_ARGS)

unit: $(VENV)/.dev ## the tests without processes and sockets
	$(REPEATABLE) $(SIDE_BY_SIDE) tests/unit $(PYTEST_ARGS)

integration: $(VENV)/.dev java servers ## the tests with real processes and sockets
	$(REPEATABLE) $(WITH_PROCESSES) tests/integration $(PYTEST_ARGS)

fuzz: $(VENV)/.dev ## draw the examples of the unit tests anew, round by round for FUZZ_SECONDS (300)
	@end=$$(($$(date +%s) + $(FUZZ_SECONDS))); round=0; \
	while [ "$$(date +%s)" -lt "$$end" ]; do \
		round=$$((round + 1)); echo "fuzz: round $$round"; \
		PYTHONHASHSEED=random $(BIN)/python -m pytest -q $(SIDE_BY_SIDE) --timeout 0 -m hypothesis --hypothesis-profile fuzz \
			$$(grep -rl --include='test_*.py' hypothesis tests/unit) $(PYTEST_ARGS) || { \
			echo "fuzz: something was found. Each 'Falsifying example' above goes into its test as an @example(...), which fails now," >&2; \
			echo "in 'make test' too; then mend the code, or the test where that is wrong. 'make fuzz' tries it first until then." >&2; \
			exit 1; }; \
	done; echo "fuzz: nothing found in $$round rounds"

# part of `make test` too, where the jars of a Kafka are there within a minute; here they must be
.PHONY: kafka-test
kafka-test: $(VENV)/.dev java ## the tests with a real Kafka, whatever time its jars take
	PASPS_KAFKA_TEST=1 $(BIN)/python -m pytest --timeout 900 tests/integration/test_kafka_broker.py $(PYTEST_ARGS)

# its .pth file starts it in every process of this Python; those that are killed write nothing down
coverage: $(VENV)/.dev java servers ## which lines the tests run, their processes too; takes twice as long as they
	$(INSTALL) coverage && $(BIN)/python -m coverage erase
	export COVERAGE_PROCESS_START=$(CURDIR)/pyproject.toml COVERAGE_FILE=$(CURDIR)/.coverage; $(MAKE) pytest; \
		unset COVERAGE_PROCESS_START; $(BIN)/python -m coverage combine --quiet && $(BIN)/python -m coverage report

docs-test: $(VENV)/.dev ## run the examples in docs/ (part of `make test`)
	$(if $(DOCS_TESTS),$(BIN)/python -m pytest $(DOCS_TESTS) $(PYTEST_ARGS),@echo "no tests of docs/ yet")

# the tests with a real ZooKeeper and a real Spark need it; nothing else does
java: $(VENV)/.dev ## install a Java runtime with apt-get when there is none
	@$(BIN)/python -c 'from pasps.cluster.launch.java import find_java; find_java()' 2>/dev/null || { \
		if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
			echo "installing a Java runtime"; \
			export DEBIAN_FRONTEND=noninteractive; apt-get update -qq && for jre in openjdk-17-jre-headless default-jre-headless; do \
				apt-get install -qq -y --no-install-recommends $$jre >/dev/null 2>&1 && exit 0; \
			done; echo "no Java runtime could be installed; install Java 17 or newer by hand" >&2; exit 1; \
		else \
			echo "the tests of the cluster need Java 17 or newer; install it, on Debian: sudo apt-get install openjdk-17-jre-headless" >&2; exit 1; \
		fi; \
	}

# the tests of connectors and stores start their own, on loopback; RUNLEVEL=1 keeps Debian from starting services beside them
servers: ## install PostgreSQL and Redis with apt-get when they are missing, for the tests alone
	@missing=; { command -v postgres || ls /usr/lib/postgresql/*/bin/postgres; } >/dev/null 2>&1 || missing="postgresql"; \
	command -v redis-server >/dev/null || missing="$$missing redis-server"; [ -z "$$missing" ] || \
	if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		echo "installing $$missing"; export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1; \
		apt-get update -qq && apt-get install -qq -y --no-install-recommends $$missing >/dev/null; \
	else \
		echo "the tests of stores and connectors need $$missing; install it, on Debian: sudo apt-get install $$missing" >&2; exit 1; \
	fi

lint: $(VENV)/.dev ## ruff: rules and format
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .

format: $(VENV)/.dev ## rewrite files to ruff's format and apply its safe fixes
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .

types: $(VENV)/.dev ## mypy --strict
	$(BIN)/python -m mypy --strict $(TYPED)

clean: ## remove caches and builds
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist

clean-all: clean ## the same, and .venv
	rm -rf $(VENV)

# Stamps. `.made`: the Python and the place it was made for; `.demo`, `.dev`: what was installed after it.
# A venv that somebody made by hand has none of them: it is kept if its Python fits, and topped up.

$(VENV)/.demo: $(VENV)/.made pyproject.toml constraints.txt
	$(INSTALL) -e '.[predictor,report]'
	@touch $@

# without compiling ten thousand files, of which the tests import a third
$(VENV)/.dev: $(VENV)/.made pyproject.toml constraints.txt
	$(INSTALL) --no-compile -e '.[dev]'
	@touch $(VENV)/.demo $@

# Runs each time but touches .made only when it changes, so nothing that depends on it is done twice.
$(VENV)/.made: FORCE
	@version=$$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2]); sys.exit(sys.version_info < (3, 11))' 2>/dev/null) || { \
		echo "pasps needs Python 3.11 or newer, but '$(PYTHON)' is $${version:-missing}; name another: make PYTHON=python3.12" >&2; exit 1; }; \
	want="$$version $(CURDIR)"; \
	has=$$($(BIN)/python -c 'import sys, pip; print("%d.%d" % sys.version_info[:2])' 2>/dev/null); \
	if [ "$$has" = "$$version" ] && { [ ! -e $@ ] || [ "$$(cat $@)" = "$$want" ]; }; then \
		[ -e $@ ] || echo "$$want" >$@; exit 0; \
	fi; \
	base=$$($(PYTHON) -c 'import sys; print(sys._base_executable)'); \
	"$$base" -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "Python $$version on this machine cannot make virtual environments; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }; \
	echo "making $(VENV) with Python $$version"; \
	"$$base" -m venv --clear $(VENV) && echo "$$want" >$@
