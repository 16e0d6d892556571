"""The pipeline on what real workers wrote: it speaks for them where they cannot reach the brain,
and a topology that comes back is placed by its logs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from brain.cli.connection import call_brain
from brain.cluster.local import LocalCluster
from brain.demo.run import brain_process
from brain.pipeline.follow import Follower
from brain.pipeline.graph import write_graph
from brain.pipeline.ingest import ingest
from brain.pipeline.profile import Rate, load_profile
from brain.pipeline.publish import Publisher
from brain.pipeline.store import Store
from brain.plans.plan import Executor, SlotId
from brain.plans.store import PlanStore
from brain.service.decision_log import read_decisions
from tests.harness.storm import LIGHT, assignment, is_even, kill, submit
from tests.harness.zookeeper import eventually

pytestmark = [pytest.mark.storm, pytest.mark.timeout(300)]
OUT_OF_REACH = "brain.scheduler.address=127.0.0.1:9"
WINDOWS = 8
"""Whole windows of a second from each of the three workers."""


@pytest.fixture(scope="module")
def zookeeper(storm_cluster: LocalCluster) -> Iterator[KazooClient]:
    assert storm_cluster.plugin_jar is not None, "run `make setup`"
    client = KazooClient(hosts=storm_cluster.zookeeper_address)
    client.start(timeout=15)
    yield client
    client.stop()
    client.close()


@dataclass(frozen=True)
class Run:
    """A run whose workers were out of the brain's reach, and what the brain knew of it then."""

    topology_id: str
    logs: Path
    placed: dict[Executor, SlotId]
    status: Any
    live: dict[str, Any]


@pytest.fixture(scope="module")
def earlier(
    storm_cluster: LocalCluster,
    zookeeper: KazooClient,
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
) -> Run:
    scratch = tmp_path_factory.mktemp("earlier")
    with brain_process(storm_cluster, scratch / "brain.log", "--dashboard", "off"):
        address = listening(scratch / "brain.log")
        settings = (*LIGHT, "topology.brain.window.secs=1", "topology.brain.mode=dry-run")
        topology_id = submit(storm_cluster, "lines", (*settings, OUT_OF_REACH))
        placed = eventually(lambda: assignment(storm_cluster, topology_id), 60, "an assignment")
        logs = storm_cluster.metrics_dir / topology_id
        eventually(lambda: list(logs.glob("*.jsonl")), 60, "a metric log")
        follower = Follower(scratch / "follow", Publisher([address]))
        query = follower.start(spark, str(logs), "200 milliseconds", "earliest")
        try:
            eventually(lambda: followed(query, follower), 120, "windows in the logs")
            status = eventually(lambda: measured(address), 30, "rates in the brain")
        finally:
            query.stop()
    live = json.loads((scratch / "follow" / "live.json").read_text(encoding="utf-8"))
    kill(storm_cluster, zookeeper, "lines", topology_id)
    assert not zookeeper.get_children("/stormbrain/profiles"), "the brain has learnt it by itself"
    return Run(topology_id, logs, placed, status, live)


def listening(log: Path) -> str:
    """The address of a brain that has begun to lead."""

    def told() -> str | None:
        found = re.search(r"listens on ([\d.]+:\d+)", log.read_text(encoding="utf-8"))
        if found is None or not call_brain(found.group(1), "status", "").leading:
            return None
        return found.group(1)

    return str(eventually(told, 30, "a brain that leads"))


def followed(query: StreamingQuery, follower: Follower) -> bool:
    assert query.isActive, query.exception()
    return follower.stats.windows >= 3 * WINDOWS


def measured(address: str) -> Any:
    status = call_brain(address, "status", "")
    return status if all(t.tuples_per_sec for t in status.topologies) else None


def test_the_brain_measures_by_the_logs_what_workers_cannot_tell_it(earlier: Run) -> None:
    (topology,) = earlier.status.topologies
    assert topology.topology_id == earlier.topology_id
    assert earlier.live["undelivered"] == 0
    assert earlier.status.reports_received <= earlier.live["sent"]
    assert earlier.status.reports_refused == 0
    last = [json.loads(p.read_text().splitlines()[-1]) for p in earlier.logs.glob("*.jsonl")]
    assert all(line["dropped_reports"] > 0 for line in last), "the workers reached the brain"
    followed = earlier.live["topologies"][earlier.topology_id]
    own = [e for e in followed["edges"] if not e["system"]]
    assert topology.tuples_per_sec == pytest.approx(sum(e["tuples_per_s"] for e in own), rel=0.4)
    places = {(t["node"], t["port"]) for t in followed["tasks"]}
    assert places == set(earlier.placed.values())


def test_a_topology_that_comes_back_is_placed_by_its_logs(
    earlier: Run,
    storm_cluster: LocalCluster,
    zookeeper: KazooClient,
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    ingest(spark, [str(earlier.logs)], str(tmp_path / "store"))
    graph = str(tmp_path / "graph")
    write_graph(spark, Store(spark, str(tmp_path / "store")), graph, slice_ms=5000)
    rates = [r for r in load_profile(graph, "lines").task_rates if not r.system]
    assert is_even(earlier.placed)
    assert between_nodes(rates, earlier.placed) > 0.5 * sum(r.tuples_per_s for r in rates)

    log = tmp_path / "brain.log"
    with brain_process(storm_cluster, log, "--dashboard", "off", "--profiles", graph):
        listening(log)
        topology_id = submit(storm_cluster, "lines", (*LIGHT, OUT_OF_REACH))
        placed = eventually(lambda: assignment(storm_cluster, topology_id), 60, "an assignment")
        plan = PlanStore(zookeeper).read(topology_id)
        (decision,) = read_decisions(zookeeper, "/stormbrain/decisions", topology_id)
        kill(storm_cluster, zookeeper, "lines", topology_id)
    assert dict(decision["trigger"])["kind"] == "submitted"
    assert plan is not None
    assert placed == plan.plan.executors
    # Task ids are dealt out in the same order, so task i is task i.
    assert between_nodes(rates, placed) <= 0.05 * sum(r.tuples_per_s for r in rates)


def between_nodes(rates: Sequence[Rate], placed: dict[Executor, SlotId]) -> float:
    node = {t: slot[0] for (a, b), slot in placed.items() for t in range(a, b + 1)}
    return sum(r.tuples_per_s for r in rates if node[int(r.source)] != node[int(r.target)])
