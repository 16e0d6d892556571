"""A cluster with two brains and a topology whose plan is in force, to be broken."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from brain.cluster.local import LocalCluster
from brain.demo.metric_log import LogTail
from brain.plans.election import read_leader
from brain.plans.plan import Executor, SlotId, StoredPlan
from brain.plans.store import PlanStore
from tests.harness.storm import assignment, is_even, kill, submit
from tests.harness.zookeeper import eventually

ROUND_SECS = 3
CONF = {
    "nimbus.monitor.freq.secs": ROUND_SECS,
    "topology.brain.window.secs": 1,
    "topology.brain.first.replacement.secs": 15,
    "topology.brain.observe.secs": 15,
    "topology.brain.algorithm": "metis",
    "topology.brain.algorithm.params": {"objective": "cut"},
    "topology.message.timeout.secs": 20,
}
RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "chaos.json"


@dataclass
class World:
    cluster: LocalCluster
    client: KazooClient
    folder: Path
    brains: list[subprocess.Popen[bytes]] = field(default_factory=list)
    topology_id: str = ""
    number: int = 0

    @property
    def store(self) -> PlanStore:
        return PlanStore(self.client)

    # --- brains

    def start_brain(self) -> subprocess.Popen[bytes]:
        self.number += 1
        name = f"brain-{self.number}"
        command = [sys.executable, "-m", "brain", "serve", "--listen", "127.0.0.1:0", "--id", name,
                   "--zookeeper", self.cluster.zookeeper_address,
                   "--state-dir", str(self.folder / name)]  # fmt: skip
        with (self.folder / f"{name}.log").open("ab") as out:
            brain = subprocess.Popen(
                command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
            )
        self.brains.append(brain)
        return brain

    def leader_id(self) -> str | None:
        leader = read_leader(self.client, "/stormbrain/leader")
        return leader.id if leader else None

    def leading_brain(self) -> subprocess.Popen[bytes]:
        leader = eventually(self.leader_id, 60, "a leader")
        return self.brains[int(leader.rpartition("-")[2]) - 1]

    def stop_brains(self) -> None:
        for brain in self.brains:
            if brain.poll() is None:
                brain.send_signal(signal.SIGCONT)
                brain.kill()
            brain.wait()

    # --- what must hold

    def plan(self) -> StoredPlan | None:
        return self.store.read(self.topology_id)

    def placed(self) -> dict[Executor, SlotId]:
        return assignment(self.cluster, self.topology_id)

    def plan_in_force(self) -> bool:
        stored = self.plan()
        return stored is not None and self.placed() == stored.plan.executors

    def tuples_flow(self, seconds: float = 90) -> None:
        """Every task of the topology handles tuples, in windows that begin from now on."""
        since = int(time.time() * 1000)
        tail = LogTail(self.cluster.metrics_dir / self.topology_id)
        busy: set[int] = set()
        wanted = {start for start, _ in self.placed()}

        def all_busy() -> bool:
            for w in tail.read():
                if w.start_ms >= since:
                    busy.update(t["task"] for t in w.tasks if t["executed"] + t["emitted"] > 0)
            return wanted <= busy

        eventually(all_busy, seconds, "tuples at every task")

    def new_topology_is_scheduled(self) -> None:
        """Within two rounds, by whatever scheduler is there; then it is killed again."""
        topology_id = submit(self.cluster, "newcomer", ("depth=1", "parallelism=1", "rate=1"), 1)
        eventually(
            lambda: len(assignment(self.cluster, topology_id)) > 0,
            2 * ROUND_SECS + 5,
            "two rounds of scheduling",
        )
        kill(self.cluster, self.client, "newcomer", topology_id)

    def nimbus_is_up(self) -> bool:
        return next(d.running for d in self.cluster.daemons() if d.name == "nimbus")


@pytest.fixture(scope="session")
def world(cluster_state_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with LocalCluster.start("chaos", nodes=3, slots=3, storm_conf=CONF) as cluster:
        client = KazooClient(hosts=cluster.zookeeper_address)
        client.start(timeout=15)
        world = World(cluster, client, tmp_path_factory.mktemp("chaos"))
        try:
            world.start_brain()
            eventually(world.leader_id, 60, "a leader")
            world.start_brain()
            world.topology_id = submit(cluster, "lines")
            first = eventually(world.placed, 60, "an assignment")
            assert is_even(first)
            eventually(world.plan_in_force, 240, "a plan in force")
            world.tuples_flow()
            yield world
        finally:
            world.stop_brains()
            client.stop()
            client.close()


@pytest.fixture
def steady(world: World) -> World:
    """The world with two brains, all daemons and the topology at work, before and after."""
    while sum(b.poll() is None for b in world.brains) < 2:
        world.start_brain()
    for daemon in world.cluster.daemons():
        if not daemon.running:
            world.cluster.start_daemon(daemon.name)
    world.cluster.wait_ready()
    eventually(world.leader_id, 60, "a leader")
    world.tuples_flow(120)
    return world


def pytest_sessionfinish(session: pytest.Session) -> None:
    """The matrix of faults and outcomes, for the README."""
    rows = getattr(session.config, "chaos_rows", None)
    if rows:
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text(json.dumps(rows, indent=2) + "\n")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.when == "call" and "chaos" in item.keywords:
        rows = getattr(item.config, "chaos_rows", [])
        promise = (item.obj.__doc__ or item.name).strip()  # type: ignore[attr-defined]
        rows.append({"fault": item.name.removeprefix("test_"), "promise": promise,
                     "outcome": report.outcome, "seconds": round(report.duration, 1),
                     "pid": os.getpid()})  # fmt: skip
        item.config.chaos_rows = rows  # type: ignore[attr-defined]
