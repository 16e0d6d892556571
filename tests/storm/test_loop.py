"""The whole loop on real Storm: even first, measured, planned, moved; and without the brain."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from brain.cluster.local import LocalCluster
from brain.demo.measure import measure
from brain.demo.metric_log import LogTail, Window
from brain.demo.run import applied_ms, brain_process
from brain.plans.plan import Plan
from brain.plans.store import PlanStore
from tests.harness.storm import assignment, is_even, kill, submit
from tests.harness.zookeeper import eventually

ROUND_SECS = 5
CONF = {
    "nimbus.monitor.freq.secs": ROUND_SECS,
    "topology.brain.window.secs": 1,
    "topology.brain.first.replacement.secs": 15,
    "topology.brain.observe.secs": 15,
}
pytestmark = [pytest.mark.storm, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def cluster(cluster_state_root: Path) -> Iterator[LocalCluster]:
    with LocalCluster.start("loop-test", nodes=3, slots=2, storm_conf=CONF) as cluster:
        assert cluster.plugin_jar is not None, "run `make setup`"
        yield cluster


@pytest.fixture(scope="module")
def zookeeper(cluster: LocalCluster) -> Iterator[KazooClient]:
    client = KazooClient(hosts=cluster.zookeeper_address)
    client.start(timeout=15)
    yield client
    client.stop()
    client.close()


def test_the_loop_moves_executors_and_storm_goes_on_without_the_brain(
    cluster: LocalCluster, zookeeper: KazooClient, tmp_path: Path
) -> None:
    store = PlanStore(zookeeper)
    with brain_process(cluster, tmp_path / "brain.log") as brain:
        topology_id = submit(cluster, "lines")
        first = eventually(lambda: assignment(cluster, topology_id), 60, "an assignment")
        assert is_even(first), first

        windows: list[Window] = []
        tail = LogTail(cluster.metrics_dir / topology_id)

        def stored_plan() -> Plan | None:
            windows.extend(tail.read())
            stored = store.read(topology_id)
            return stored.plan if stored else None

        plan = eventually(stored_plan, 180, "the plan's znode")
        eventually(
            lambda: assignment(cluster, topology_id) == plan.executors, 60, "the executors to move"
        )
        assert first != plan.executors

        def works_in_place() -> int | None:
            windows.extend(tail.read())
            return applied_ms(windows, plan)

        since = eventually(works_in_place, 120, "every task to work where it was planned") + 5_000

        def measured_long_enough() -> bool:
            windows.extend(tail.read())
            return max(w.end_ms for w in windows) >= since + 8_000

        eventually(measured_long_enough, 60, "eight more seconds of windows")
        before = measure(windows, plan.created_ms - 10_000, plan.created_ms, "spout")
        after = measure(windows, since, since + 8_000, "spout")
        assert before.inter_node_tuples > 0
        assert after.inter_node_tuples <= 0.1 * before.inter_node_tuples
        assert after.spout_tuples > 0

        kill(cluster, zookeeper, "lines", topology_id)
        eventually(lambda: not store.ids(), 60, "the brain to sweep the plan")

        brain.send_signal(signal.SIGKILL)
        brain.wait()
        orphan = submit(cluster, "orphan")
        eventually(
            lambda: is_even(assignment(cluster, orphan)),
            2 * ROUND_SECS + 5,
            "two rounds of scheduling without a brain",
        )
        kill(cluster, zookeeper, "orphan", orphan)
