"""The short way round: agents on loopback, a plan in ZooKeeper, the shim, and Storm applies it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from brain.cluster.local import LocalCluster
from brain.plans.plan import Plan
from brain.plans.store import PlanStore
from tests.harness.storm import assignment, kill, submit
from tests.harness.zookeeper import eventually

pytestmark = [pytest.mark.storm_full, pytest.mark.timeout(300)]
SETTINGS = (
    "depth=2",
    "parallelism=1",
    "rate=30",
    "acking=false",
    "topology.brain.algorithm=qos-distributed",
    "topology.brain.window.secs=1",
)


@contextmanager
def agents(cluster: LocalCluster, folder: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    idle = folder / "idle-group"  # all nodes are this machine: as nodes they are idle
    idle.mkdir()
    (idle / "cpuacct.usage").write_text("0")
    with ExitStack() as stack:
        started = []
        for node in cluster.supervisors:
            command = [
                sys.executable, "-m", "brain.agent", "--node", node.id,
                "--zookeeper", cluster.zookeeper_address, "--listen", f"{node.host}:0",
                "--metrics", str(cluster.metrics_dir), "--observe-secs", "10",
                "--round-secs", "1", "--gossip-secs", "0.3", "--probe-secs", "0.1",
                "--cooldown-rounds", "3", "--cgroup", str(idle), "--cpu-points", "100",
            ]  # fmt: skip
            log = stack.enter_context((folder / f"{node.id}.log").open("wb"))
            process = subprocess.Popen(command, stdout=log, stderr=log)
            stack.callback(process.wait, 15)
            stack.callback(process.terminate)
            started.append(process)
        yield started


def test_agents_bring_a_running_topology_together_without_a_brain(
    storm_cluster: LocalCluster, tmp_path: Path
) -> None:
    assert storm_cluster.plugin_jar is not None, "run `make setup`"
    client = KazooClient(hosts=storm_cluster.zookeeper_address)
    client.start(timeout=15)
    topology_id = submit(storm_cluster, "by-agents", SETTINGS)
    try:
        before = eventually(lambda: assignment(storm_cluster, topology_id), 60, "an assignment")
        assert len({slot[0] for slot in before.values()}) == 3
        store = PlanStore(client)

        def in_force() -> Plan | None:
            stored = store.read(topology_id)
            placed = assignment(storm_cluster, topology_id)
            return stored.plan if stored and dict(stored.plan.executors) == placed else None

        with agents(storm_cluster, tmp_path) as processes:
            plan = eventually(in_force, 90, "a plan of agents in force")
            assert all(process.poll() is None for process in processes)
        assert plan.algorithm == "qos-distributed"
        assert set(plan.executors) == set(before)
        assert len({slot[0] for slot in plan.executors.values()}) < 3
        assert plan.after.inter_node < plan.before.inter_node
    finally:
        kill(storm_cluster, client, "by-agents", topology_id)
        client.stop()
        client.close()
