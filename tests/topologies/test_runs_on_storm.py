"""Finite runs on real Storm give the batch computation's results: undisturbed under Storm's even
scheduling, and when the topology is placed anew in mid-run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from brain.cluster.local import LocalCluster
from brain.submit.loading import load_topology_file
from brain.submit.submission import Submitter, wait_until_gone, wait_until_up
from tests.harness.zookeeper import eventually
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
    "payload": 8,
    "diamond": 5,
    "star": 5,
    "reference": 5,
}
"""Events a second of a source task, so that a run outlasts the time Storm takes to move it."""

PATIENCE_SECS = 400
"""How long a run may take on a machine that has a lot else to do."""

pytestmark = pytest.mark.timeout(1200)


def _all_runs(representative: str) -> list[Any]:
    marks = {True: pytest.mark.storm, False: pytest.mark.storm_full}
    return [
        pytest.param(*p.values, marks=[*p.marks, marks[p.values[0] == representative]])
        for p in run_names()
    ]


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    with shared_redis() as url:
        yield url


@dataclass
class Running:
    """A submitted run and what it has written so far."""

    cluster: LocalCluster
    name: str
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
            yield Running(cluster, name, results, sources)
        finally:
            nimbus.kill(name, wait_secs=0)
            wait_until_gone(nimbus, name)


def replace_in_mid_run(run: Running) -> None:
    """Has Storm place the topology on three workers in place of two, while tuples flow."""
    eventually(lambda: run.progress() > 50, PATIENCE_SECS, "the first acks")
    assert not run.finished(), "the run was over too early to be disturbed"
    with run.cluster.nimbus() as nimbus:
        nimbus.rebalance(run.name, 0, 3, {})


def storm_options(run: Run, redis_url: str) -> dict[str, Any]:
    options = {**run.options, "acking": True, "rate": RATES[run.path]}
    return {**options, "redis_url": redis_url} if run.needs_redis else options


@pytest.mark.parametrize("name", _all_runs(UNDISTURBED))
def test_results_under_even(
    name: str, storm_cluster: LocalCluster, tmp_path: Path, redis_url: str
) -> None:
    case = RUNS[name]
    options = {**storm_options(case, redis_url), "rate": 0}
    with submitted(storm_cluster, TOPOLOGIES / f"{name}.py", options, tmp_path) as run:
        eventually(run.finished, PATIENCE_SECS, f"{name} to be processed to its end")
        case.check(run.results)
        assert read_latency(run.results).count > 0


@pytest.mark.parametrize("name", _all_runs(MOVED))
def test_results_under_a_replacement_in_mid_run(
    name: str, storm_cluster: LocalCluster, tmp_path: Path, redis_url: str
) -> None:
    case = RUNS[name]
    options = {**storm_options(case, redis_url), "timeout_seconds": 20}
    with submitted(storm_cluster, TOPOLOGIES / f"{name}.py", options, tmp_path) as run:
        replace_in_mid_run(run)
        eventually(run.finished, PATIENCE_SECS, f"{name} to be processed to its end")
        case.check(run.results)
        assert run.restored() > 0, "no stateful task was restarted: nothing was moved"


@pytest.mark.storm
def test_opengov_in_xml_under_a_replacement_in_mid_run(
    storm_cluster: LocalCluster, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    write_dataset(Ticker(companies=24), data / "ticker", SEED, 1, 2400)
    write_dataset(Contracts(companies=24), data / "contracts", SEED, 1, 96, zipped=True)
    options = {"tasks": 2, "ticker_tasks": 1, "contracts_tasks": 1, "rate": 60, "data_dir": data,
               "timeout_seconds": 20}  # fmt: skip
    file = TOPOLOGIES / "queries" / "opengov.xml"
    with submitted(storm_cluster, file, options, tmp_path) as run:
        replace_in_mid_run(run)
        eventually(run.finished, PATIENCE_SECS, "the query to be processed to its end")
        check_opengov(run.results)
        assert run.restored() > 0


@pytest.mark.storm_full
def test_srbench_in_xml(storm_cluster: LocalCluster, tmp_path: Path) -> None:
    write_dataset(SRBench(stations=10), tmp_path / "data", SEED, 2, 2000)
    options = {"tasks": 2, "reader_tasks": 2, "data_dir": tmp_path / "data"}
    file = TOPOLOGIES / "queries" / "srbench-q3.xml"
    with submitted(storm_cluster, file, options, tmp_path) as run:
        eventually(run.finished, PATIENCE_SECS, "the query to be processed to its end")
        check_srbench(run.results)
