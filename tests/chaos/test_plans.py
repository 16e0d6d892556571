"""Plans that are not what they should be, and brains that should not be believed."""

from __future__ import annotations

import dataclasses

import pytest

from brain.plans.codec import encode
from tests.chaos.liar import LIES, Liar
from tests.chaos.trial import Trial
from tests.harness.zookeeper import eventually

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]


@pytest.mark.parametrize(
    "content", ["garbage", "an old epoch", "another topology's plan", "900 kB of zeros"]
)
def test_plan_znode_overwritten(trial: Trial, content: str) -> None:
    """the plan's znode holds {content}, and Nimbus starts anew: it is not applied, the placement
    holds, and the brain puts its plan back."""
    world = trial.world
    assert trial.plan is not None
    plan = trial.plan.plan
    elsewhere = dict(zip(plan.executors, reversed(plan.executors.values()), strict=True))
    forged = {
        "garbage": b"\xde\xad\xbe\xef" * 10,
        "an old epoch": encode(dataclasses.replace(plan, epoch=0, executors=elsewhere)).head,
        "another topology's plan": encode(
            dataclasses.replace(plan, topology_id="stranger-9-9", executors=elsewhere)
        ).head,
        "900 kB of zeros": b"SBPL\x01\x00" + b"\x00" * 900_000,
    }[content]
    path = f"/stormbrain/plans/{world.topology_id}"
    leader = eventually(world.leading_nimbus, 60, "a leading Nimbus")
    trial.begins()
    world.client.set(path, forged)
    # A Nimbus that has read the plan before would not look again; its heir must.
    world.cluster.kill_daemon(leader)
    eventually(lambda: world.heir_of(leader), 120, "the other Nimbus")
    trial.newcomer_is_scheduled("by the Nimbus that found it")

    def mended() -> bool:
        head = world.client.get(path)[0]
        return head != forged and world.plan_in_force()

    eventually(mended, 60, "the brain to put its plan back")
    trial.recovered("the plan is whole again")
    stored = world.plan()
    assert stored is not None
    assert stored.plan.executors == plan.executors
    trial.nothing_moved()
    trial.nimbus_stayed_up(leader)
    trial.nothing_lost()


def test_leader_znode_overwritten(trial: Trial) -> None:
    """the leader's znode holds garbage: the leading brain puts its address back."""
    world = trial.world
    leader = eventually(world.leader, 60, "a leader")
    trial.begins()
    world.client.set("/stormbrain/leader", b"\xff{]")
    eventually(lambda: world.leader() == leader, 60, "the address to be put back")
    trial.recovered("the same leader's address is back")
    trial.plan_holds()
    trial.nothing_moved()
    trial.nimbus_stayed_up()


def test_brain_returns_infeasible_plans(trial: Trial) -> None:
    """a brain that leads names infeasible plans: none is applied, newcomers are scheduled, nothing
    moves; the real brains go on from the last valid plan."""
    world = trial.world
    world.stop_brains()
    trial.begins()
    with Liar(world.cluster.zookeeper_address, trial.plan) as liar:  # type: ignore[arg-type]
        eventually(lambda: liar.election.leadership, 60, "the liar to lead")
        eventually(lambda: set(liar.rejected) >= set(LIES), 180, "every lie to be told and refused")
        trial.saw(f"{len(LIES)} kinds of lies refused: {', '.join(sorted(LIES))}")
        trial.newcomer_is_scheduled("while the liar leads")
        trial.nothing_moved()
        liar.put_back()
    trial.begins()
    world.two_brains()
    trial.plan_holds()
    trial.recovered("the liar gone, a new brain goes on from the plan")
    trial.nothing_moved()
    trial.nimbus_stayed_up()
    trial.nothing_lost()


def test_two_brains_both_sure_that_they_lead(trial: Trial) -> None:
    """a deposed brain that Nimbus still asks goes on naming plans: it cannot write them and none
    is applied; the true leader's plan holds."""
    world = trial.world
    world.stop_brains()
    trial.begins()
    with Liar(world.cluster.zookeeper_address, trial.plan, sure=True) as liar:  # type: ignore[arg-type]
        eventually(lambda: liar.asked > 0, 60, "Nimbus to ask the first brain")
        liar.expire_session()
        world.two_brains()
        eventually(world.leader, 60, "the second leader")
        before = liar.conflicts
        eventually(lambda: liar.conflicts >= before + 3, 120, "the first to try to write")
        assert liar.written == 0
        trial.saw(f"{liar.conflicts} plans of the deposed brain refused by ZooKeeper")
        trial.newcomer_is_scheduled("while both lead")
        trial.nothing_moved()
    trial.begins()
    trial.plan_holds()
    trial.recovered("the deposed brain gone, Nimbus asks the true leader")
    trial.nothing_moved()
    trial.nimbus_stayed_up()
    trial.nothing_lost()
