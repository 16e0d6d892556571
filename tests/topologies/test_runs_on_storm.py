"""Finite runs on real Storm give the batch computation's results: undisturbed under Storm's even
scheduling, and when a plan of the brain moves the topology in mid-run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from brain.cli.asking import BrainAt
from brain.cluster.local import LocalCluster
from brain.demo.run import brain_process
from brain.errors import StormbrainError
from brain.submit.loading import load_topology_file
from brain.submit.submission import Submitter, wait_until_gone, wait_until_up
from tests.harness.storm import assignment
from tests.harness.zookeeper import eventually
from tests.topologies.recording import Recording
from tests.topologies.runs import (
    RUNS,
    SEED,
    Run,
    check_opengov,
    check_srbench,
    run_names,
    shared_redis,
)
from topologies.common.results import finished_sources, read_counters, read_latency
from topologies.data.dataset import write_dataset
from topologies.data.opengov import Contracts, Ticker
from topologies.data.srbench import SRBench

TOPOLOGIES = Path(__file__).parents[2] / "topologies"
UNDISTURBED, MOVED = "word_count", "smart_homes"
"""Those that run in ``make test``; the others in ``make test-topologies``."""
RATES = {
    "word_count": 8,
    "tag_and_count": 10,
    "srbench_q3": 25,
    "opengov": 50,
    "soccer": 50,
    "smart_homes": 25,
    "taxi": 10,
    "log_processing": 40,
    "linear": 8,
    "parallel": 5,
    "payload": 8,
    "diamond": 5,
    "star": 5,
    "reference": 5,
}
"""Events a second of a source task, so that a run outlasts the time it takes to move it."""

CONF = {
    "topology.brain.window.secs": 1,
    "topology.brain.mode": "advise",
    "topology.brain.balance.factor": 0,
}
"""The brain moves nothing by itself; asked for a plan, it may pack a topology onto few nodes, so
that there is always something to gain by a move."""

PATIENCE_SECS = 400
"""How long a run may take on a machine that has a lot else to do."""

LOST_AFTER_SECS = 12
"""When a tuple that a move has lost is replayed: longer than a worker takes to come up again."""

pytestmark = pytest.mark.timeout(1200)


def _all_runs(representative: str) -> list[Any]:
    marks = {True: pytest.mark.storm, False: pytest.mark.storm_full}
    return [
        pytest.param(*p.values, marks=[*p.marks, marks[p.values[0] == representative]])
        for p in run_names()
    ]


@pytest.fixture(scope="module")
def cluster(cluster_state_root: Path) -> Iterator[LocalCluster]:
    with LocalCluster.start("topologies", nodes=3, slots=2, storm_conf=CONF) as cluster:
        assert cluster.plugin_jar is not None, "run `make setup`"
        yield cluster


@pytest.fixture(scope="module")
def with_brain(
    cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalCluster]:
    """The same cluster with a brain; without one it is Storm's even scheduler that places."""
    with brain_process(cluster, tmp_path_factory.mktemp("brain") / "brain.log"):
        yield cluster


@pytest.fixture(scope="module")
def recording() -> Iterator[Recording]:
    kept = Recording({(name, under) for name in RUNS for under in ("even", "plan")})
    yield kept
    kept.write()


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    with shared_redis() as url:
        yield url


@dataclass
class Running:
    """A submitted run and what it has written so far."""

    cluster: LocalCluster
    name: str
    topology_id: str
    results: Path
    sources: int

    def finished(self) -> bool:
        return len(finished_sources(self.results)) == self.sources

    def progress(self) -> int:
        """Events of which Storm has acked all that came of them."""
        return sum(c.get("acked", 0) for c in read_counters(self.results).values())

    def restored(self) -> int:
        return sum(c.get("restored", 0) for c in read_counters(self.results).values())


@contextmanager
def submitted(
    cluster: LocalCluster, file: Path, options: dict[str, Any], tmp_path: Path
) -> Iterator[Running]:
    results = tmp_path / "results"
    settings = {
        "timeout_seconds": 60,
        **options,
        "seed": SEED,
        "results_dir": results,
        "state_dir": tmp_path / "state",
        "max_pending": 50,
        "watermark_every": 100,
    }
    name = f"run-{file.stem.replace('_', '-')}"
    texts = {key: str(value) for key, value in settings.items()}
    specs = load_topology_file(file).build(texts).specs
    sources = sum(spec.par for spec in specs if not spec.inputs)
    with cluster.nimbus() as nimbus:
        topology_id = Submitter(nimbus).submit(
            file, name=name, workers=2, settings=[f"{k}={v}" for k, v in texts.items()]
        )
        try:
            wait_until_up(nimbus, topology_id, PATIENCE_SECS)
            yield Running(cluster, name, topology_id, results, sources)
        finally:
            nimbus.kill(name, wait_secs=0)
            wait_until_gone(nimbus, name)


def replace_in_mid_run(run: Running) -> dict[str, Any]:
    """Has the brain plan from what it measured, puts that plan in force while tuples flow, and
    waits until Storm has taken it over."""
    eventually(lambda: run.progress() > 30, PATIENCE_SECS, "the first acks")

    refusals = []

    def plan() -> dict[str, Any] | None:
        try:
            drafted = _ask_brain(run, "plan", {"topology": run.name, "theta": 0.5})
        except StormbrainError as nothing_measured_yet:
            refusals.append(str(nothing_measured_yet))
            return None
        refusals.append(drafted["why_not_applicable"])
        return drafted if drafted["digest"] else None

    try:
        drafted = eventually(plan, 60, "a plan that moves something")
    except AssertionError as e:
        raise AssertionError(f"{e}; the brain said: {refusals[-1]}") from None
    assert drafted["after"]["inter_node"] < drafted["before"]["inter_node"]
    assert not run.finished(), "the run was over too early to be disturbed"
    before = assignment(run.cluster, run.topology_id)
    _ask_brain(run, "apply", {"topology": run.name, "digest": drafted["digest"]})
    planned = {
        tuple(int(task) for task in executor.split("-")): tuple(slot)
        for executor, slot in drafted["placement"].items()
    }
    assert planned != before
    eventually(
        lambda: assignment(run.cluster, run.topology_id) == planned, 60, "the plan to be in force"
    )
    assert not run.finished(), "the run was over too early to be disturbed"
    return {
        "moved_executors": len(drafted["moves"]),
        "restarted_workers": len(drafted["restarts"]),
        "inter_node_before": drafted["before"]["inter_node"],
        "inter_node_planned": drafted["after"]["inter_node"],
    }


def _ask_brain(run: Running, question: str, arguments: dict[str, Any]) -> Any:
    return BrainAt(zookeeper=run.cluster.zookeeper_address).ask(question, **arguments)


def storm_options(run: Run, redis_url: str) -> dict[str, Any]:
    options = {**run.options, "acking": True, "rate": RATES[run.path]}
    return {**options, "redis_url": redis_url} if run.needs_redis else options


@pytest.mark.parametrize("name", _all_runs(UNDISTURBED))
def test_results_under_even(
    name: str, cluster: LocalCluster, tmp_path: Path, redis_url: str, recording: Recording
) -> None:
    case, began = RUNS[name], time.monotonic()
    options = {**storm_options(case, redis_url), "rate": 0}
    with submitted(cluster, TOPOLOGIES / f"{name}.py", options, tmp_path) as run:
        eventually(run.finished, PATIENCE_SECS, f"{name} to be processed to its end")
        case.check(run.results)
        assert read_latency(run.results).count > 0
        recording.add(name, "even", run.results, time.monotonic() - began)


@pytest.mark.parametrize("name", _all_runs(MOVED))
def test_results_under_a_replacement_in_mid_run(
    name: str, with_brain: LocalCluster, tmp_path: Path, redis_url: str, recording: Recording
) -> None:
    case, began = RUNS[name], time.monotonic()
    options = {**storm_options(case, redis_url), "timeout_seconds": LOST_AFTER_SECS}
    with submitted(with_brain, TOPOLOGIES / f"{name}.py", options, tmp_path) as run:
        moved = replace_in_mid_run(run)
        eventually(run.finished, PATIENCE_SECS, f"{name} to be processed to its end")
        case.check(run.results)
        assert run.restored() > 0, "no stateful task was restarted: nothing was moved"
        recording.add(name, "plan", run.results, time.monotonic() - began, **moved)


@pytest.mark.storm
def test_opengov_in_xml_under_a_replacement_in_mid_run(
    with_brain: LocalCluster, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    write_dataset(Ticker(companies=24), data / "ticker", SEED, 1, 2400)
    write_dataset(Contracts(companies=24), data / "contracts", SEED, 1, 96, zipped=True)
    options = {"tasks": 2, "ticker_tasks": 1, "contracts_tasks": 1, "rate": 60, "data_dir": data,
               "timeout_seconds": LOST_AFTER_SECS}  # fmt: skip
    file = TOPOLOGIES / "queries" / "opengov.xml"
    with submitted(with_brain, file, options, tmp_path) as run:
        replace_in_mid_run(run)
        eventually(run.finished, PATIENCE_SECS, "the query to be processed to its end")
        check_opengov(run.results)
        assert run.restored() > 0


@pytest.mark.storm_full
def test_srbench_in_xml(cluster: LocalCluster, tmp_path: Path) -> None:
    write_dataset(SRBench(stations=10), tmp_path / "data", SEED, 2, 2000)
    options = {"tasks": 2, "reader_tasks": 2, "data_dir": tmp_path / "data"}
    file = TOPOLOGIES / "queries" / "srbench-q3.xml"
    with submitted(cluster, file, options, tmp_path) as run:
        eventually(run.finished, PATIENCE_SECS, "the query to be processed to its end")
        check_srbench(run.results)
