"""Storm's own parts are killed: Nimbus, supervisors, workers, Python processes, ZooKeeper."""

from __future__ import annotations

import signal
import time

import pytest

from brain.errors import StormbrainError
from brain.plans.plan import Executor, SlotId
from tests.chaos.trial import Trial
from tests.chaos.world import ROUND_SECS, World
from tests.harness.zookeeper import eventually

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]


def quiet_placed(world: World) -> dict[Executor, SlotId] | None:
    """Where the executors are, None while no Nimbus can tell."""
    try:
        return world.placed()
    except StormbrainError:
        return None


def test_both_nimbuses_killed(trial: Trial) -> None:
    """kill -9 every Nimbus: workers go on without; a restarted Nimbus keeps the placement."""
    world = trial.world
    trial.begins()
    for name in trial.nimbuses:
        world.cluster.kill_daemon(name)
    world.numbers_arrive()
    trial.saw("tuples flow without Nimbus")
    for name in trial.nimbuses:
        world.cluster.start_daemon(name)
    world.cluster.wait_ready()
    trial.recovered("Nimbus answers")
    trial.plan_holds()
    trial.newcomer_is_scheduled("by the restarted Nimbus")
    trial.nothing_moved()
    trial.nothing_lost()


def test_leading_nimbus_killed(trial: Trial) -> None:
    """kill -9 the leading Nimbus of two: the other leads, schedules newcomers and moves nothing."""
    world = trial.world
    leader = eventually(world.leading_nimbus, 60, "a leading Nimbus")
    trial.begins()
    world.cluster.kill_daemon(leader)
    eventually(lambda: world.heir_of(leader), 120, "the other Nimbus")
    trial.recovered("the other Nimbus leads")
    trial.plan_holds()
    trial.newcomer_is_scheduled("by the other Nimbus")
    trial.nothing_moved()
    trial.nimbus_stayed_up(leader)
    trial.nothing_lost()


def test_worker_killed(trial: Trial) -> None:
    """kill -9 a worker: it comes back where the plan wants it, the others keep running."""
    world = trial.world
    victim = world.workers()[0]
    trial.begins()
    victim.signal(signal.SIGKILL)
    eventually(lambda: len(world.workers()) == len(trial.workers), 120, "the worker to come back")
    world.numbers_arrive()
    trial.recovered("tuples flow at every sink")
    kept = {w.pid for w in world.workers()} & trial.workers
    assert kept == trial.workers - {victim.pid}, "other workers were restarted"
    trial.saw("the other workers kept running")
    trial.nothing_moved(workers_too=False)
    trial.plan_holds()
    trial.nimbus_stayed_up()
    trial.nothing_lost()


def test_python_bolt_killed(trial: Trial) -> None:
    """kill -9 the Python process of a bolt: its worker restarts, nothing else moves."""
    world = trial.world
    victim = next(
        p for p in world.cluster.worker_children() if "CountedSink" in " ".join(p.command_line())
    )
    trial.begins()
    victim.signal(signal.SIGKILL)
    world.numbers_arrive()
    trial.recovered("tuples flow at every sink")
    kept = {w.pid for w in world.workers()} & trial.workers
    assert len(kept) >= len(trial.workers) - 1, "other workers were restarted"
    trial.nothing_moved(workers_too=False)
    trial.plan_holds()
    trial.nimbus_stayed_up()
    trial.nothing_lost()


def test_supervisor_flaps(trial: Trial) -> None:
    """kill -9 a supervisor and start it again, three times within its timeout: nothing moves, no
    worker restarts."""
    world = trial.world
    node = world.cluster.supervisors[0].id
    trial.begins()
    for _ in range(3):
        world.cluster.kill_daemon(node)
        time.sleep(ROUND_SECS)  # a round of Nimbus without it
        world.cluster.start_daemon(node)
        time.sleep(ROUND_SECS)
    world.cluster.wait_ready()
    trial.recovered("registered")
    trial.plan_holds()
    trial.newcomer_is_scheduled("afterwards")
    trial.nothing_moved()
    trial.nimbus_stayed_up()
    trial.nothing_lost()


def test_zookeeper_killed_and_back(trial: Trial) -> None:
    """kill -9 ZooKeeper for 9 s: workers go on; Storm's daemons may end themselves, as they do
    without ZooKeeper, and are started again; a brain leads, newcomers are scheduled, nothing has
    moved."""
    world = trial.world
    trial.begins()
    world.cluster.kill_daemon("zookeeper")
    world.numbers_arrive()
    trial.saw("tuples flow without ZooKeeper")
    time.sleep(max(0.0, 3 * ROUND_SECS - (time.monotonic() - trial.begun)))
    ended = {name for name in world.supervise() if name != "zookeeper"}

    def all_back() -> bool:
        ended.update(world.supervise())
        return world.leader() is not None and bool(quiet_placed(world))

    eventually(all_back, 120, "a leading brain and Nimbus after ZooKeeper's return")
    trial.recovered("a brain leads and Nimbus answers")
    world.cluster.wait_ready()
    if ended:
        trial.saw(f"{', '.join(sorted(ended))} ended as Storm's daemons do and were started again")
    trial.nimbus_stayed_up()
    trial.plan_holds()
    trial.newcomer_is_scheduled("after its return")
    trial.nothing_moved()
    trial.nothing_lost()


def test_node_dies_and_returns(trial: Trial) -> None:
    """kill -9 a supervisor with its workers: its executors are placed elsewhere, the others keep
    their workers; when the node returns nothing is pulled back."""
    world = trial.world
    victim = sorted({slot[0] for slot in trial.placed.values()})[-1]
    doomed = {w.pid for w in world.workers_on(victim)}
    assert doomed
    trial.begins()
    world.cluster.kill_daemon(victim)
    for worker in world.workers_on(victim):
        worker.signal(signal.SIGKILL)

    def left() -> bool:
        placed = quiet_placed(world)
        return (
            bool(placed)
            and len(placed) == len(trial.placed)
            and all(slot[0] != victim for slot in placed.values())
        )

    eventually(left, 180, f"the executors to leave {victim}")
    world.numbers_arrive(180)
    trial.recovered("all executors placed elsewhere and tuples flow")
    kept = {w.pid for w in world.workers()}
    assert trial.workers - doomed <= kept, "workers of other nodes were restarted"
    trial.saw("workers of the other nodes kept running")
    settled = world.placed()
    world.cluster.start_daemon(victim)
    world.cluster.wait_ready()
    trial.newcomer_is_scheduled("after the node's return")
    moved = {e for e, s in world.placed().items() if settled[e] != s}
    stored = world.plan()
    assert not moved or (stored is not None and world.placed() == stored.plan.executors)
    trial.saw(f"{len(moved)} executors moved when the node returned")
    trial.nimbus_stayed_up()
    trial.nothing_lost()
