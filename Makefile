# make demo   set up, evaluate simple recommenders on real ratings, print the tables, write the results
# make test   set up, run the tests that prove the numbers (about 4 minutes)
# make help   everything else

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Most modules of the tools are never imported; the others are compiled when they are.
PIP := -m pip --disable-pip-version-check --quiet install --no-compile
unexport PYTHONDONTWRITEBYTECODE
FLOOR := .venv-floor
N ?= 20000
# PyTorch and Spark are large: their tests run in CI, and wherever they are installed; those of
# Spark wherever Java is.
SPARK := $(if $(CI)$(shell command -v java),--group spark)
# A process that ends in a test is a failure: pytest-xdist would wait forever for those after it.
PYTEST := python -m pytest -n auto --max-worker-restart=0
GROUPS := --group test-all $(if $(CI),--group frameworks) $(SPARK)

.PHONY: help demo test test-rest test-all test-wheel annexes fuzz test-floor lint types docs llms picture bench bench-quick build conformance cluster sanitize clean
.DEFAULT_GOAL := help

help:
	@sed -n 's/^# make/make/p' Makefile
	@echo "make test-rest    run all other tests: documentation, fuzzers, other libraries, Spark, hostile input"
	@echo "make test-all     run both"
	@echo "make test-wheel   run README and documentation with an installed wheel, outside the checkout"
	@echo "make test-floor   run the tests with the oldest supported dependencies"
	@echo "make fuzz N=1000000 ARGS=readers.csv   run the fuzzers, or some of them, on N inputs each"
	@echo "make annexes      take each annex out of a copy and run the other tests; ARGS=show for one"
	@echo "make lint types   check style; check types"
	@echo "make docs         build the documentation into docs/_build/html"
	@echo "make llms         write docs/llms.txt again, the page for language models, and what type checkers know"
	@echo "make picture      make the pictures of the report in the README again (needs Chromium)"
	@echo "make bench        measure speed next to other tools; rewrite the figures of docs/speed.md"
	@echo "make bench-quick  the same in minutes: small data, and the tools that are installed"
	@echo "make build        build wheel and sdist; install and try the wheel outside the checkout"
	@echo "make conformance  run the other tools again and compare with the recorded outputs"
	@echo "make cluster      kill a worker and starve executors of a standalone cluster of Spark; print JSON"
	@echo "make sanitize     run the tests of compiled code with AddressSanitizer and UBSan"
	@echo "make clean        remove everything that make created"

demo: $(VENV)/.demo
	@$(BIN)/rankmeter demo --output demo

test: $(VENV)/.test
	$(BIN)/$(PYTEST) --quick $(ARGS)

test-rest: $(VENV)/.all
	$(BIN)/$(PYTEST) --rest $(ARGS)

test-all: test test-rest

test-wheel: $(VENV)/.dev
	sh .ci/pages "$(BIN)"

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy
	$(BIN)/mypy tests/laws/client.py
	$(BIN)/pyright --pythonpath $(BIN)/python tests/laws/client.py
	PYTHONPATH=src $(BIN)/pyright --pythonpath $(BIN)/python --ignoreexternal --verifytypes rankmeter

docs: $(VENV)/.docs llms
	$(BIN)/python -m sphinx -n -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

llms: $(VENV)/.demo
	@PYTHONPATH=docs/_ext $(BIN)/python -m rankmeter_docs.llms
	@$(BIN)/python tests/laws/typed.py

picture: $(VENV)/.demo
	$(BIN)/python docs/picture.py

bench: $(VENV)/.all
	PYTHONPATH=benchmarks $(BIN)/python -m speed $(ARGS)

bench-quick: $(VENV)/.all
	PYTHONPATH=benchmarks $(BIN)/python -m speed --quick $(ARGS)

build: $(VENV)/.dev
	sh .ci/build "$(BIN)"

conformance: $(VENV)/.all
	$(BIN)/python tests/conformance/record.py --check $(ARGS)

cluster: $(VENV)/.all
	PYTHONPATH=tests:tests/rankings SPARK_LOCAL_IP=127.0.0.1 $(BIN)/python tests/on_cluster.py --standalone

sanitize: $(VENV)/.all
	sh .ci/sanitize "$(BIN)"

annexes: $(VENV)/.test
	$(BIN)/python tests/annexes.py $(ARGS)

fuzz: $(VENV)/.all
	PYTHONPATH=tests $(BIN)/python -m fuzz --n $(N) $(ARGS)

test-floor: $(FLOOR)/.test
	HYPOTHESIS_PROFILE=few $(FLOOR)/bin/$(PYTEST) -m "not once" tests $(ARGS)

clean:
	rm -rf $(VENV) $(FLOOR) .bench build dist demo fuzz-failures docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis

# What an installation is made of, besides modules of Python.
BUILD := pyproject.toml hatch_build.py src/rankmeter/_native/native.c

# One environment with the packages that the target needs.
$(VENV)/.python:
	@sh .ci/venv "$(PYTHON)" "$(VENV)"
	@touch $@

$(VENV)/.demo: $(VENV)/.python $(BUILD)
	$(BIN)/python $(PIP) --editable '.[report]'
	@$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/.test: $(VENV)/.demo
	$(BIN)/python $(PIP) --group test
	@touch $@

$(VENV)/.docs: $(VENV)/.demo
	$(BIN)/python $(PIP) --group docs
	@touch $@

$(VENV)/.all: $(VENV)/.demo
	$(BIN)/python $(PIP) $(GROUPS)
	@touch $@ $(VENV)/.test $(VENV)/.docs

$(VENV)/.dev: $(VENV)/.all
	$(BIN)/python $(PIP) --group dev
	@touch $@

$(FLOOR)/.test: $(BUILD)
	@sh .ci/venv "$(PYTHON)" "$(FLOOR)"
	$(FLOOR)/bin/python $(PIP) --editable '.[report]' --group test-all $(SPARK) --constraint .ci/floor.txt
	@touch $@
