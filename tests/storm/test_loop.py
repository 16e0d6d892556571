"""The whole loop on real Storm: even first, measured, planned, moved; then faults, in short.

All of it with what docs/security.md offers switched on: token, mutual TLS between brain, Nimbus and
workers, and znodes that only the brain may write.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient

from brain.cli.connection import call_brain
from brain.cluster.local import LocalCluster
from brain.cluster.processes import ProcessRef
from brain.config import Settings
from brain.demo.measure import measure
from brain.demo.metric_log import LogTail, Window
from brain.demo.run import applied_ms, brain_process
from brain.errors import StormbrainError
from brain.plans.election import read_leader
from brain.plans.plan import Plan
from brain.plans.store import PlanStore
from brain.service.tls import TlsFiles
from tests.harness.certificates import Authority
from tests.harness.storm import assignment, is_even, kill, submit
from tests.harness.zookeeper import eventually

ROUND_SECS = 5
CONF = {
    "nimbus.monitor.freq.secs": ROUND_SECS,
    "topology.brain.window.secs": 1,
    "topology.brain.first.replacement.secs": 15,
    "topology.brain.observe.secs": 15,
}
TOKEN = "a-secret-that-no-log-may-show"
ZOOKEEPER_AUTH = "brain:another-secret"
GARBAGE = b"\xde\xad\xbe\xef"
pytestmark = [pytest.mark.storm, pytest.mark.timeout(600)]


@dataclass(frozen=True)
class Secrets:
    tls: TlsFiles
    storm: dict[str, Any]
    """For storm.yaml; the brain's file has the key to its znodes as well."""
    brain: Path


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Secrets:
    folder = tmp_path_factory.mktemp("secrets")
    storm = {**Authority(folder, "ca").issue("all").settings(), "brain.scheduler.token": TOKEN}
    brain = folder / "brain.yaml"
    brain.write_text(json.dumps({**storm, "brain.scheduler.zookeeper.auth": ZOOKEEPER_AUTH}))
    tls = TlsFiles.from_settings(Settings(storm))
    assert tls is not None
    return Secrets(tls, storm, brain)


@pytest.fixture(scope="module")
def cluster(cluster_state_root: Path, secrets: Secrets) -> Iterator[LocalCluster]:
    conf = {**CONF, **secrets.storm}
    with LocalCluster.start("loop-test", nodes=3, slots=2, storm_conf=conf) as cluster:
        assert cluster.plugin_jar is not None, "run `make setup`"
        yield cluster


@pytest.fixture(scope="module")
def zookeeper(cluster: LocalCluster) -> Iterator[KazooClient]:
    auth = [("digest", ZOOKEEPER_AUTH)]
    client = KazooClient(hosts=cluster.zookeeper_address, auth_data=auth)
    client.start(timeout=15)
    yield client
    client.stop()
    client.close()


def test_the_loop_moves_executors_and_what_it_placed_survives_faults(
    cluster: LocalCluster, zookeeper: KazooClient, secrets: Secrets, tmp_path: Path
) -> None:
    store = PlanStore(zookeeper)
    serve = ("--config", str(secrets.brain))
    with brain_process(cluster, tmp_path / "brain.log", *serve) as brain:
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

        # From here on the short form of `make chaos`: whatever breaks, the placement holds.
        path = f"/stormbrain/plans/{topology_id}"
        zookeeper.set(path, GARBAGE)
        eventually(lambda: zookeeper.get(path)[0] != GARBAGE, 60, "the brain to put its plan back")
        mended = store.read(topology_id)
        assert mended is not None
        assert mended.plan.executors == plan.executors

        running = workers(cluster, topology_id)
        victim = next(iter(running))
        running[victim].signal(signal.SIGKILL)
        others = running.keys() - {victim}

        def one_is_new() -> bool:
            now = workers(cluster, topology_id).keys()
            return victim not in now and len(now) == len(running)

        eventually(one_is_new, 90, "the worker to come back")
        kept = workers(cluster, topology_id).keys()
        assert kept >= others, "other workers were restarted"

        brain.send_signal(signal.SIGKILL)
        brain.wait()
        orphan = submit(cluster, "orphan")
        eventually(
            lambda: is_even(assignment(cluster, orphan)),
            2 * ROUND_SECS + 5,
            "two rounds of scheduling without a brain",
        )
        kill(cluster, zookeeper, "orphan", orphan)

    with brain_process(cluster, tmp_path / "heir.log", *serve) as heir:
        eventually(
            lambda: took_over(zookeeper, secrets.tls, topology_id), 60, "a new brain with the plan"
        )
        assert heir.poll() is None
        assert assignment(cluster, topology_id) == plan.executors
        assert workers(cluster, topology_id).keys() == kept, "workers were restarted"
        kill(cluster, zookeeper, "lines", topology_id)
        eventually(lambda: not store.ids(), 60, "the brain to sweep the plan")

    for log in (*cluster.logs_dir.rglob("*.log*"), *tmp_path.glob("*.log")):
        words = log.read_text(errors="replace")
        assert not [s for s in (TOKEN, ZOOKEEPER_AUTH) if s in words], f"{log} tells a secret"


def workers(cluster: LocalCluster, topology_id: str) -> dict[int, ProcessRef]:
    """The topology's workers by pid."""
    return {w.pid: w for w in cluster.workers() if topology_id in w.command_line()}


def took_over(zookeeper: KazooClient, tls: TlsFiles, topology_id: str) -> bool:
    """A brain leads, Nimbus asks it, and it goes on from the plan that it found."""
    leader = read_leader(zookeeper, "/stormbrain/leader")
    if leader is None:
        return False
    try:
        status = call_brain(leader.address, "status", TOKEN, timeout=3, tls=tls)
    except StormbrainError:  # the dead one's znode stands until its session is over
        return False
    mine = [t for t in status.topologies if t.topology_id == topology_id]
    return bool(mine) and mine[0].plan is not None
