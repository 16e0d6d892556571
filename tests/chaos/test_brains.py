"""Brains that are killed, that hang, that are cut off: Storm and the topologies go on.

A test's docstring is its row in the matrix: the fault, a colon, what is expected.
"""

from __future__ import annotations

import signal
import time

import pytest

from tests.chaos.trial import Trial
from tests.chaos.world import World
from tests.harness.zookeeper import eventually

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]

SESSION_SECS = 6
STOPPED_SECS = 30


def new_leader(world: World, old: str) -> bool:
    leader = world.leader()
    return leader is not None and leader.id != old


def test_all_brains_killed(trial: Trial) -> None:
    """kill -9 every brain: the plan holds and Storm schedules newcomers by itself; a brain that
    is started later takes the plan over and moves nothing."""
    world = trial.world
    trial.begins()
    world.stop_brains()
    trial.newcomer_is_scheduled("without a brain")
    trial.nothing_moved()
    world.two_brains()
    trial.plan_holds()
    trial.recovered("a new brain goes on from the plan")
    trial.nothing_moved()
    trial.nimbus_stayed_up()
    trial.nothing_lost()


def test_leading_brain_killed(trial: Trial) -> None:
    """kill -9 the leading brain of two: the other takes over, adopts the plan, moves nothing."""
    world = trial.world
    leader = eventually(world.leader, 60, "a leader")
    trial.begins()
    world.brains[leader.id].kill()
    eventually(lambda: new_leader(world, leader.id), 60, "a new leader")
    trial.recovered("the other brain leads")
    trial.plan_holds()
    trial.newcomer_is_scheduled("by the new leader's Nimbus round")
    trial.nothing_moved()
    trial.nimbus_stayed_up()
    trial.nothing_lost()


def test_leading_brain_stopped(trial: Trial) -> None:
    """SIGSTOP the leading brain for 30 s: nobody waits for it; when it wakes it leads no longer
    and moves nothing."""
    world = trial.world
    leader = eventually(world.leader, 60, "a leader")
    trial.begins()
    world.brains[leader.id].process.send_signal(signal.SIGSTOP)
    try:
        trial.newcomer_is_scheduled("while the brain hangs")
        eventually(lambda: new_leader(world, leader.id), 60, "a new leader")
        trial.recovered("the other brain leads")
        left = STOPPED_SECS - (time.monotonic() - trial.begun)
        time.sleep(max(0.0, left))  # the length of the stop is the fault itself
    finally:
        world.brains[leader.id].process.send_signal(signal.SIGCONT)
    trial.plan_holds()
    assert new_leader(world, leader.id), "the brain that hung took the lead back"
    trial.nothing_moved()
    trial.nimbus_stayed_up()
    trial.nothing_lost()


def test_only_brain_stopped(trial: Trial) -> None:
    """SIGSTOP both brains for 30 s: newcomers are scheduled all the same, nothing moves, and one
    of them goes on from the plan afterwards."""
    world = trial.world
    brains = [b for b in world.brains.values() if b.alive]
    trial.begins()
    for brain in brains:
        brain.process.send_signal(signal.SIGSTOP)
    try:
        trial.newcomer_is_scheduled("while both brains hang")
        time.sleep(max(0.0, STOPPED_SECS - (time.monotonic() - trial.begun)))
    finally:
        woken = time.monotonic()
        for brain in brains:
            brain.process.send_signal(signal.SIGCONT)
    trial.begun = woken
    trial.plan_holds()
    trial.recovered("a brain goes on from the plan, once woken,")
    trial.nothing_moved()
    trial.nimbus_stayed_up()
    trial.nothing_lost()


def test_session_of_the_leading_brain_expires(trial: Trial) -> None:
    """the leading brain is cut off from ZooKeeper until its session expires: it stops acting, the
    other leads; mended, it stands by and moves nothing."""
    world = trial.world
    leader = eventually(world.leader, 60, "a leader")
    trial.begins()
    world.brains[leader.id].relay.cut()
    try:
        trial.newcomer_is_scheduled("while the leader is cut off")
        eventually(lambda: new_leader(world, leader.id), 60, "a new leader")
        trial.recovered("the other brain leads")
    finally:
        world.brains[leader.id].relay.mend()
    trial.plan_holds()
    assert new_leader(world, leader.id)
    trial.nothing_moved()
    trial.nimbus_stayed_up()
    trial.nothing_lost()


def test_brain_blinks(trial: Trial) -> None:
    """the leading brain loses its connection for less than a session: the same brain leads on in
    the same term."""
    world = trial.world
    leader = eventually(world.leader, 60, "a leader")
    relay = world.brains[leader.id].relay
    trial.begins()
    relay.cut()
    relay.mend()
    trial.plan_holds()
    trial.recovered("it answers")
    assert world.leader() == leader
    trial.nothing_moved()
    trial.nimbus_stayed_up()
    trial.nothing_lost()
