"""Real processes are killed, stopped, flooded with nonsense; what was promised must hold."""

from __future__ import annotations

import dataclasses
import signal
import time

import pytest

from brain.plans.codec import encode
from tests.chaos.conftest import ROUND_SECS, World
from tests.harness.zookeeper import eventually

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]


def rounds(n: int) -> None:
    """Lets Nimbus make n rounds of scheduling: time is what the promise is about here."""
    time.sleep(n * ROUND_SECS)


def test_all_brains_killed(steady: World) -> None:
    """Storm goes on: the plan holds, a new topology is scheduled within two rounds."""
    before = steady.placed()
    for brain in steady.brains:
        if brain.poll() is None:
            brain.kill()
            brain.wait()
    steady.new_topology_is_scheduled()
    assert steady.placed() == before
    assert steady.nimbus_is_up()
    steady.tuples_flow()


def test_leading_brain_killed(steady: World) -> None:
    """The other brain takes over, adopts the plan and moves nothing."""
    before = steady.placed()
    epoch = steady.plan().plan.epoch  # type: ignore[union-attr]
    leader = steady.leading_brain()
    old = steady.leader_id()
    leader.kill()
    leader.wait()
    eventually(lambda: steady.leader_id() not in (None, old), 60, "a new leader")
    rounds(4)
    assert steady.placed() == before
    stored = steady.plan()
    assert stored is not None
    assert stored.plan.epoch == epoch
    steady.new_topology_is_scheduled()


def test_brain_stopped_for_half_a_minute(steady: World) -> None:
    """A brain that hangs holds nobody up; when it wakes, it leads no longer and moves nothing."""
    before = steady.placed()
    leader = steady.leading_brain()
    leader.send_signal(signal.SIGSTOP)
    try:
        steady.new_topology_is_scheduled()
        rounds(10)
        assert steady.nimbus_is_up()
    finally:
        leader.send_signal(signal.SIGCONT)
    rounds(4)
    assert steady.placed() == before


def test_nimbus_killed(steady: World) -> None:
    """Workers go on without Nimbus; a restarted Nimbus keeps the placement."""
    before = steady.placed()
    steady.cluster.kill_daemon("nimbus")
    steady.tuples_flow()
    steady.cluster.start_daemon("nimbus")
    steady.cluster.wait_ready()
    rounds(4)
    assert steady.placed() == before
    steady.new_topology_is_scheduled()


def test_worker_killed(steady: World) -> None:
    """The worker comes back where the plan wants it."""
    before = steady.placed()
    victim = steady.cluster.workers()[0]
    victim.signal(signal.SIGKILL)
    steady.tuples_flow(180)
    assert steady.placed() == before


def test_python_bolt_killed(steady: World) -> None:
    """A dead multilang process restarts its worker, nothing else moves."""
    before = steady.placed()
    steady.cluster.worker_children()[0].signal(signal.SIGKILL)
    steady.tuples_flow(180)
    assert steady.placed() == before


def test_zookeeper_killed_and_back(steady: World) -> None:
    """Workers go on; afterwards a brain leads again and nothing has moved."""
    before = steady.placed()
    steady.cluster.kill_daemon("zookeeper")
    rounds(3)
    steady.cluster.start_daemon("zookeeper")
    eventually(steady.leader_id, 120, "a leader after ZooKeeper's return")
    if not steady.nimbus_is_up():  # Storm's Nimbus gives up when ZooKeeper is away for long
        steady.cluster.start_daemon("nimbus")
    steady.cluster.wait_ready()
    rounds(4)
    assert steady.placed() == before
    steady.tuples_flow(120)
    steady.new_topology_is_scheduled()


@pytest.mark.parametrize("content", ["garbage", "old epoch", "another topology", "oversized"])
def test_plan_znode_overwritten(steady: World, content: str) -> None:
    """What is not the plan that the brain named is not applied; Nimbus stays up."""
    before = steady.placed()
    stored = steady.plan()
    assert stored is not None
    elsewhere = {e: ("node-1", s[1]) for e, s in stored.plan.executors.items()}
    forged = {
        "garbage": b"\xde\xad\xbe\xef" * 10,
        "old epoch": encode(dataclasses.replace(stored.plan, epoch=0, executors=elsewhere)).head,
        "another topology": encode(
            dataclasses.replace(stored.plan, topology_id="stranger-9-9", executors=elsewhere)
        ).head,
        "oversized": b"SBPL\x01\x00" + b"\x00" * 900_000,
    }[content]
    path = f"/stormbrain/plans/{steady.topology_id}"
    original = steady.client.get(path)[0]
    steady.client.set(path, forged)
    try:
        rounds(4)
        assert steady.placed() == before
        assert steady.nimbus_is_up()
        steady.new_topology_is_scheduled()
    finally:
        if steady.client.exists(path):
            steady.client.set(path, original)


def test_supervisor_killed_and_back(steady: World) -> None:
    """Its executors are placed elsewhere; when it returns, nothing is pulled back."""
    victim = sorted({slot[0] for slot in steady.placed().values()})[-1]
    steady.cluster.kill_daemon(victim)
    for worker in steady.cluster.workers():
        if f"/{victim}/" in worker.command_line() or f"={victim}" in worker.command_line():
            worker.signal(signal.SIGKILL)
    eventually(
        lambda: victim not in {s[0] for s in steady.placed().values()}, 180, "to leave the node"
    )
    steady.tuples_flow(180)
    settled = steady.placed()
    steady.cluster.start_daemon(victim)
    steady.cluster.wait_ready()
    rounds(5)
    moved = {e for e, s in steady.placed().items() if settled[e] != s}
    stored = steady.plan()
    assert not moved or (stored is not None and steady.placed() == stored.plan.executors)
    assert steady.nimbus_is_up()


def test_supervisor_that_flaps(steady: World) -> None:
    """A supervisor that goes and comes within its timeout moves nobody."""
    before = steady.placed()
    node = steady.cluster.supervisors[0].id
    for _ in range(3):
        steady.cluster.kill_daemon(node)
        rounds(1)
        steady.cluster.start_daemon(node)
        steady.cluster.wait_ready()
    rounds(3)
    assert steady.placed() == before
    steady.tuples_flow(120)
