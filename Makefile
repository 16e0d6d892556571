# Two commands matter: `make demo` and `make test`. Both set everything up by themselves;
# all they need is Python >= 3.11, a JDK 17 and Maven (see deploy/check-prerequisites).

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
MVN    ?= mvn
PLUGIN := storm-plugin/target/storm-plugin-0.1.0.jar

.PHONY: setup demo test test-python test-java test-storm lint clean help \
        bench bench-all bench-quick bench-algorithms bench-pipeline bench-qos bench-hook bench-brain bench-simulation bench-calibration bench-report test-topologies docs chaos fuzz bench-moves \
        test-storm-versions test-compose test-agents

help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 20

setup: $(VENV)/.ready $(PLUGIN)

$(VENV)/.ready: pyproject.toml
	@PYTHON="$(PYTHON)" MVN="$(MVN)" deploy/check-prerequisites
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing Python packages into $(VENV)"
	@$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test]'
	@touch $@

$(PLUGIN): storm-plugin/pom.xml brain/idl/stormbrain.thrift $(shell find storm-plugin/src -name '*.java' 2>/dev/null)
	@PYTHON="$(PYTHON)" MVN="$(MVN)" deploy/check-prerequisites
	@echo "building the Storm plugin"
	@$(MVN) --batch-mode --quiet --file storm-plugin/pom.xml -DskipTests package
	@touch $@

demo: setup ## a real local Storm cluster, before -> after, with a plot
	@$(BIN)/stormbrain demo

test: setup lint test-java test-python ## everything, on a real cluster too (< 20 min)

test-java: setup ## JUnit, with Storm's real classes
	$(MVN) --batch-mode --quiet --file storm-plugin/pom.xml verify

test-python: setup ## unit, property, contract and real-cluster tests
	$(BIN)/pytest -m "not slow and not storm_full and not chaos"

chaos: setup ## breaks a real cluster in every way we know -> benchmarks/results/chaos.json
	$(BIN)/pytest -m chaos tests/chaos

fuzz: setup ## 100,000 hostile inputs to a brain's Thrift door -> benchmarks/results/fuzz.json
	$(BIN)/pytest tests/fuzz

test-storm: setup ## only the tests on a real Storm cluster
	$(BIN)/pytest -m storm

test-storm-versions: setup ## the plugin against Storm 2.4 … 2.8 -> docs/compatibility.md
	MVN="$(MVN)" deploy/test-storm-versions

test-compose: setup ## builds and runs docker-compose.yml, where there is an engine
	deploy/test-compose

test-topologies: setup ## every benchmark on a real cluster (long) -> benchmarks/results/topologies.json
	$(BIN)/pytest -m "storm or storm_full" --durations=0 --durations-min=1 tests/topologies

test-agents: setup ## agents, shim and Storm together on a testbed with delays (root; 5 min)
	$(BIN)/pytest -m storm_full --durations=0 --durations-min=1 tests/agent

bench-algorithms: setup ## the papers' problems, all algorithms -> docs/algorithms-benchmark.md
	$(BIN)/python -m benchmarks.algorithms

bench-pipeline: setup ## Spark against DuckDB -> docs/pipeline-benchmark.md
	$(BIN)/python -m benchmarks.pipeline

bench-brain: setup ## CPU and memory of a brain with 100,000 edges reporting -> docs/brain-load.md
	$(BIN)/python -m benchmarks.brain_load

bench-qos: setup ## wide-area experiments with agents, on the testbed (root; ~40 min) -> docs/qos.md
	$(BIN)/python -m benchmarks.qos

bench-hook: setup ## throughput with the hook on and off, in turns -> docs/hook-benchmark.md
	$(BIN)/python -m benchmarks.hook

bench-calibration: setup ## what a tuple costs, for the simulation -> brain/simulate/costs.json
	$(BIN)/python -m benchmarks.calibration

bench-simulation: setup ## the papers' clusters and 10,000 machines -> benchmarks/results/simulation.json
	$(BIN)/python -m benchmarks.simulation

bench-report: setup ## all results on record -> docs/benchmark-report.md and .html, README's table
	$(BIN)/stormbrain bench report --readme

BENCH_TABLE := payload payload-sizes smart-homes soccer java

bench: setup ## the README's experiments on a testbed of real Storm (about 60 min, resumable)
	$(BIN)/stormbrain bench run $(BENCH_TABLE)

bench-all: setup ## every experiment of benchmarks/experiments (hours, resumable)
	$(BIN)/stormbrain bench run all

bench-quick: setup ## one short run of the most important ones, to see that they work (10 min)
	$(BIN)/stormbrain bench run payload payload-sizes smart-homes soccer java --quick --fresh

bench-moves: setup ## downtime of our moves and of storm rebalance -> docs/moves.md
	$(BIN)/python -m benchmarks.moves

lint: setup ## ruff and mypy
	$(BIN)/ruff check brain topologies tests benchmarks
	$(BIN)/ruff format --check --quiet brain topologies tests benchmarks
	$(BIN)/mypy
	@deploy/lint-compose

docs: setup ## pages that are made from the code
	$(BIN)/stormbrain config --markdown > docs/configuration.md
	$(BIN)/python docs/examples/worked.py

clean: ## removes what make built (not the caches outside of this folder)
	rm -rf $(VENV) storm-plugin/target out .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
