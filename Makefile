# Every task of the repository. A fresh machine needs Python 3.11 or newer, and cargo: the first
# task makes .tools (a pinned uv) and .venv (the locked packages and the extension).

UV_VERSION := 0.13.8

UV := .tools/bin/uv
PY := .venv/bin/python
TOOLS_STAMP := .tools/uv-$(UV_VERSION).stamp

# Each process starts its own server and takes whole files; TEST_PROCESSES= uses one process. A
# server named by the environment is used by one process, because tests would see each other's
# tables.
ifndef COLONNADE_DSN
TEST_PROCESSES := --numprocesses auto --maxprocesses 4 --dist loadfile --max-worker-restart 3
endif

# Most tests, without those of many combinations, which have the mark `thorough`: a change rarely
# breaks only these, and `make test-all` runs them.
USUAL := -m "not thorough"
# A test that hangs shows where and fails; if a signal does not wake it, its process ends. Soaks and
# counts of leaks, which have targets of their own, may take as long as they like.
HANGS := --timeout 600 --timeout-method signal \
    -o faulthandler_timeout=900 -o faulthandler_exit_on_timeout=true
# These have their own targets.
APART := tests/docs tests/libraries

DEMO_PACKAGES := .venv/demo.packages
PACKAGES := .venv/all.packages
# Which of Cargo's profiles the demo and the tests run; PROFILE=release is what a wheel holds.
PROFILE ?= development
EXTENSION := .venv/$(PROFILE).extension
RELEASE := .venv/release.extension
BUILT := $(PACKAGES) $(EXTENSION)
EXTENSION_INPUTS := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)
# On two processors.
TIME_OF_development := one to three minutes
TIME_OF_release := three to six minutes
# The extension is built by its own rule, and what other groups have installed stays.
SYNC := --frozen --inexact --no-install-project

# One interpreter and one environment, whatever the caller's shell has activated.
export UV_PROJECT_ENVIRONMENT := $(CURDIR)/.venv
export UV_PYTHON := $(CURDIR)/.tools/bin/python
unexport VIRTUAL_ENV
# Without its cache, each of the many programs that tests start would compile every module again.
unexport PYTHONDONTWRITEBYTECODE
# make exports what its command line sets, and the service refuses names that it does not know.
unexport SERVICE_ARGS SERVICE_FAULTS_ARGS

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

.PHONY: help audit coverage demo service service-restarts load service-faults test test-thorough test-all test-long build release check fmt-check lint types pyright tidy drift format sync rust-test drain fuzz \
        libraries site site-check leaks sanitize sanitize-extension miri chaos chaos-hour soak soak-serve soak-serve-hour differential bench bench-serve performance instructions \
        instructions-record docs lock clean ci servers test-servers test-pythons faults \
        release-tools release-cut release-notes sbom workflows wheels wheels-twice wheel-aarch64 newcomer \
        release-check test-bounds house

help: ## List the tasks
	@echo "Colonnade: PostgreSQL in columns. Tasks:"
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' Makefile
	@echo "Arguments: DEMO_ARGS, TEST_ARGS, BENCH_ARGS, for example make test TEST_ARGS='-k numeric'"

demo: $(EXTENSION) ## Start a throw-away PostgreSQL and show what columns do (DEMO_ARGS)
	@.venv/bin/colonnade demo $(DEMO_ARGS)

PAGE := examples/service/page
service: build ## Run the example service, its database and suppliers (SERVICE_ARGS="--seconds 60")
	@[ -d $(PAGE)/node_modules ] || npm install --silent --no-package-lock --prefix $(PAGE) || \
	    echo "npm cannot install flechette: the live page says so, all else works"
	@$(PY) -m examples.service $(SERVICE_ARGS)

service-restarts: release ## Restart the service under load: RESTARTS=100 each, under gunicorn and Granian
	@for server in gunicorn granian; do \
	    $(PY) -m benches.service.restarts --server $$server --restarts $(or $(RESTARTS),100) || exit 1; done

load: release ## Load the service, and the same routes on asyncpg and in Flask (LOAD_ARGS="--parts cached")
	@$(PY) -m benches.service.load $(LOAD_ARGS)

service-faults: build ## Let each part of the service fail under load, and check every answer (SERVICE_FAULTS_ARGS)
	@$(PY) -m benches.service.faults $(SERVICE_FAULTS_ARGS)

test: build ## Test every public method and type against a real server: minutes (TEST_ARGS)
	@$(PY) -m pytest $(TEST_PROCESSES) $(HANGS) $(USUAL) $(addprefix --ignore=,$(APART)) \
	    $(or $(TEST_ARGS),--budget)

test-thorough: build drain ## Run the tests of many combinations: faults, interrupts, broken files, suites
	@$(PY) -m pytest $(TEST_PROCESSES:loadfile=load) $(HANGS) -m thorough $(TEST_ARGS)

test-all: rust-test test test-thorough libraries docs instructions audit ## What CI tests: half an hour

# These tests set a trace function, which removes coverage.py's own for the rest of their process.
TRACING := tests/unit/test_interrupted_blocks.py
# An interrupt within coverage.py leaves it locked, so the test would never end.
INTERRUPTED := $(addprefix tests/unit/test_transport_blocking.py::test_interrupted_, \
    amid_a_stream anywhere)

coverage: build drain ## Count the lines and branches that make test runs (TEST_ARGS, THOROUGH=1)
	@$(PY) -m tools.check.coverage $(TEST_PROCESSES) $(if $(THOROUGH),,$(USUAL)) \
	    $(addprefix --ignore=,$(APART) $(TRACING)) \
	    $(addprefix --deselect=,$(INTERRUPTED)) $(TEST_ARGS)

test-long: soak soak-serve-hour chaos-hour differential faults leaks sanitize sanitize-extension test-servers ## Hours: for a release
	@$(PY) -m pytest $(TEST_PROCESSES) --every-pair $(addprefix --ignore=,$(APART)) tests

check: fmt-check lint types pyright tidy drift ## Formatting, lints, types, tidiness, drift

servers: build ## Download other PostgreSQL versions and PgBouncer, to test against
	@tools/environments/fetch-pgbouncer || echo "A newer PgBouncer cannot be downloaded: its tests will be skipped"
	@$(PY) -m tools.environments.servers --fetch

test-servers: build ## Run the tests against PostgreSQL 13 to 18 (SERVERS_ARGS="13 16 -- -x")
	@PYTEST_ADDOPTS="$(TEST_PROCESSES)" $(PY) -m tools.environments.servers $(SERVERS_ARGS)

libraries: build ## Run other libraries on their usual driver and on Colonnade
	@$(UV) sync --quiet $(SYNC) --group libraries || \
	    echo "The group of libraries cannot be installed: what is missing is skipped"
	@$(PY) -m pytest -rs $(TEST_PROCESSES:loadfile=load) $(HANGS) tests/libraries $(TEST_ARGS)

test-pythons: $(TOOLS_STAMP) drain ## Run make test's tests on 3.12 to 3.15 (PYTHONS="3.14 /a/python3.13", TEST_ARGS)
	@PYTEST_ADDOPTS='$(TEST_PROCESSES) $(USUAL) $(addprefix --ignore=,$(APART))' \
	    TEST_ARGS="$(TEST_ARGS)" tools/environments/test-pythons $(PYTHONS)

bench: release drain ## Measure against the peers and the bare socket (BENCH_ARGS)
	@$(PY) -m benches $(BENCH_ARGS)

performance: release drain ## Measure everything, and write docs/reference/performance.md (PERFORMANCE_SCALE=1)
	@$(PY) -m benches.performance --scale $(or $(PERFORMANCE_SCALE),1) $(PERFORMANCE_ARGS)

instructions: release ## Count instructions per value and query, and compare with the record
	@$(PY) -m benches.instructions

instructions-record: release ## Count them, and rewrite the record
	@$(PY) -m benches.instructions --record

docs: build ## Run every Python snippet of the README and docs
	@$(PY) -m pytest -q tests/docs

site: build ## Build the documentation site in build/site
	@$(UV) sync --quiet $(SYNC) --group site
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --quiet --config-file website/mkdocs.yml

site-check: site ## Check the site: names, links, snippets, and every page in Chromium, if there is one
	@$(PY) -m pytest -q tests/docs/test_site.py
	@$(PY) -m tools.pages.look_at_site build/site

build: $(BUILT) ## Make .venv with all packages, the blocking tests, and the extension for work
	@$(PY) -m tools.generate.unasync --tests

release: $(PACKAGES) $(RELEASE) ## The same with the extension of a release, for figures

format: $(BUILT) ## Format Rust and Python, fix what the linter can fix
	@cargo fmt --all
	@$(PY) -m ruff check --quiet --fix-only .
	@$(PY) -m ruff format --quiet .

sync: $(BUILT) ## Generate error classes, the blocking API, tables of types, notices
	@$(PY) -m tools.generate.sqlstates
	@$(PY) -m tools.generate.unasync
	@$(PY) -m tools.generate.homes
	@$(PY) -m tools.generate.type_table
	@$(PY) -m tools.generate.accepted_differences
	@$(PY) -m tools.generate.notices
	@$(PY) -m tools.generate.index_page

rust-test: | need-cargo ## Run the Rust tests
	@cargo test --quiet --workspace

drain: | need-cargo ## Build the program that reads a socket and discards the bytes
	@cargo build --quiet --release -p colonnade-drain

fuzz: | need-cargo ## Fuzz the code that reads a server's bytes: FUZZ_SECONDS=60 each, FUZZ_TARGETS
	@tools/check/fuzz $(or $(FUZZ_SECONDS),60) $(FUZZ_TARGETS)

soak: build ## Cancel, kill, interrupt and restart for a long time: SOAK_OPERATIONS=100000 each, SOAK_SEED
	@SOAK_EVERY_STRIKE=1 $(PY) -m pytest -q tests/soak/test_every_await.py
	@$(PY) -W error -m tests.soak $(SOAK_ARGS)

chaos: build ## Disturb queues of jobs: CHAOS_JOBS=1000000 CHAOS_SEED CHAOS_LAYOUT=rows|segments CHAOS_MODE
	@$(PY) -W error -m tests.jobs.chaos

chaos-hour: build ## Disturb queues of jobs for an hour, in all modes and layouts (CHAOS_MINUTES)
	@CHAOS_MINUTES=$(or $(CHAOS_MINUTES),60) $(PY) -W error -m tests.jobs.chaos

soak-serve: build ## Cut, reset and stall tables over HTTP: SOAK_ARGS="--tries 10000 --seed 1"
	@$(PY) -W error -m tests.serve.soak $(SOAK_ARGS)

soak-serve-hour: build ## The same for an hour (SOAK_MINUTES)
	@$(PY) -W error -m tests.serve.soak --minutes $(or $(SOAK_MINUTES),60)

differential: build ## Send 100,000 values in and out by every way: DIFFERENTIAL_ARGS="--triples 1000 --seed 1"
	@$(PY) -m tests.differential $(DIFFERENTIAL_ARGS)

bench-serve: release ## Measure exports over HTTP, and pings beside them (BENCH_ARGS)
	@$(PY) -m benches.serve $(BENCH_ARGS)

faults: build ## Run every exchange through every fault at every message (FAULTS_ARGS)
	@$(PY) -m tests.faults $(FAULTS_ARGS)

# The tools for a release, and the environment's programs on PATH.
release-tools: build
	@$(UV) sync --quiet $(SYNC) --group release

wheels: release-tools ## Build the wheels and the sdist into dist (WHEELS_ARGS="--pythons 3.14 --targets ...")
	@PATH="$(CURDIR)/.venv/bin:$$PATH" $(PY) -m tools.release.wheels $(WHEELS_ARGS)

wheels-twice: release-tools ## Build a wheel in two clones, and compare the bytes
	@PATH="$(CURDIR)/.venv/bin:$$PATH" $(PY) -m tools.release.wheels --twice $(WHEELS_ARGS)

newcomer: $(TOOLS_STAMP) ## Install a wheel of dist in an empty environment; run README, tutorial, notebook, examples
	@.tools/bin/python -m tools.release.newcomer $(NEWCOMER_ARGS)

wheel-aarch64: build ## Run the wheel for ARM of dist under emulation, against a real server
	@$(PY) -m tools.release.aarch64

sbom: build ## Write the bill of materials of the wheels in dist, to build/release
	@$(PY) -m tools.release.sbom

workflows: build ## Check the workflow of hosted CI, with actionlint where it is installed
	@$(PY) -m pytest -q tests/release/test_workflow.py

release-cut: build ## Move the unreleased changes to the project's version, in CHANGELOG.md
	@$(PY) -m tools.release.changelog cut

release-notes: build ## Print the text of the release: its section of CHANGELOG.md
	@$(PY) -m tools.release.changelog show

# Builds a wheel itself if dist has none.
release-check: release-tools audit ## Check what dist holds, versions, licences, metadata (RELEASE_ARGS=--trial)
	@$(PY) -m pytest -q tests/release
	@$(PY) -m tools.release.check $(RELEASE_ARGS)

test-bounds: build ## Test the oldest and newest libraries that we allow (BOUNDS_ARGS="/path/to/python3.13")
	@PYTEST_ADDOPTS='$(TEST_PROCESSES) $(USUAL)' $(PY) -m tools.environments.bounds $(BOUNDS_ARGS)

audit: $(TOOLS_STAMP) ## Check licences and known vulnerabilities of dependencies
	@tools/check/audit

leaks: build ## Let everything fail 10,000 times, and look for leaks (LEAK_FAILURES)
	@LEAK_FAILURES=$${LEAK_FAILURES:-10000} $(PY) -m pytest -q tests/leaks

sanitize: | need-cargo ## Run the Rust tests under the address sanitizer
	@tools/check/sanitize

sanitize-extension: build ## Run Python tests on an extension with the address sanitizer (TEST_ARGS)
	@tools/check/sanitize-extension $(TEST_ARGS)

miri: | need-cargo ## Run the tests of unsafe code under Miri, from nightly Rust
	@tools/check/miri

lock: $(TOOLS_STAMP) ## Update uv.lock and Cargo.lock to the newest versions
	@$(UV) lock --upgrade
	@cargo update

clean: ## Remove environments, builds and caches (not build/, dist/ and the generated tests)
	@rm -rf .venv .tools target fuzz/target fuzz/corpus .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@rm -f colonnade/_core*.so
	@find colonnade tools tests benches examples -name __pycache__ -type d -prune -exec rm -rf {} +

ci: ## Run what continuous integration runs
	@.ci/run

# The parts of check, each one a stage of .ci/run.
fmt-check: $(BUILT)
	@cargo fmt --all --check
	@$(PY) -m ruff format --quiet --diff .

lint: $(BUILT)
	@cargo clippy --quiet --workspace --all-targets -- -D warnings
	@$(PY) -m ruff check --quiet .

types: build
	@$(PY) -m mypy --no-error-summary
	@$(PY) -m mypy.stubtest --allowlist tools/check/stubtest-allowlist.txt --ignore-unused-allowlist colonnade._core

pyright: $(BUILT)
	@$(PY) -m pyright --pythonpath $(PY)

house: $(BUILT) ## Count the package's rooms, floors, arrows and circles, and lines by language
	@$(PY) -m tools.check.house

tidy: $(BUILT)
	@$(PY) -m pytest -q tests/tidy

drift: $(BUILT)
	@$(UV) lock --quiet --check
	@$(PY) -m tools.generate.sqlstates --check
	@$(PY) -m tools.generate.unasync --check
	@$(PY) -m tools.generate.homes --check
	@$(PY) -m tools.generate.type_table --check
	@$(PY) -m tools.generate.accepted_differences --check
	@$(PY) -m tools.generate.notices --check
	@$(PY) -m tools.generate.index_page --check

# What each stamp stands for: the packages of the demo, those of every other task, and the extension
# of a profile. The package holds one extension at a time, so each removes the other's stamp.
$(DEMO_PACKAGES): pyproject.toml uv.lock $(TOOLS_STAMP)
	@echo "Installing the packages of the demo into .venv"
	@$(UV) sync $(SYNC) --no-default-groups --group demo
	@touch $@

$(PACKAGES): $(DEMO_PACKAGES)
	@echo "Installing the packages of tests, checks and benchmarks into .venv"
	@$(UV) sync $(SYNC)
	@touch $@

.venv/%.extension: $(EXTENSION_INPUTS) $(DEMO_PACKAGES) | need-cargo
	@echo "Building the extension, profile $* (the first time: $(TIME_OF_$*))"
	@rm -f .venv/*.extension
	@MATURIN_NO_MISSING_BUILD_BACKEND_WARNING=1 COLONNADE_PROFILE=$* VIRTUAL_ENV="$(CURDIR)/.venv" PATH="$(CURDIR)/.tools/bin:$$PATH" \
	    .venv/bin/maturin develop --uv --group build --profile $*
	@touch $@

$(TOOLS_STAMP):
	@python=$$(tools/environments/find-python) && rm -rf .tools && "$$python" -m venv .tools
	@.tools/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@touch $@

.PHONY: need-cargo
need-cargo:
	@python=$$(tools/environments/find-python) && "$$python" tools/environments/build_backend.py
