"""Plans in a real ZooKeeper: versioned, fenced, swept."""

from __future__ import annotations

import dataclasses
import uuid

import pytest
from kazoo.client import KazooClient

from brain.plans.codec import UnreadablePlan, encode
from brain.plans.plan import Cost, Plan
from brain.plans.store import PlanConflict, PlanStore
from tests.harness.zookeeper import ZooKeeperServer

PLAN = Plan(
    "t-1-1", 1, "0" * 64, "metis", Cost(9, 1), Cost(3, 1), "less traffic",
    {(1, 1): ("n1", 6700), (2, 3): ("n2", 6701)}, created_ms=5, term=1,
)  # fmt: skip


@pytest.fixture
def root() -> str:
    return f"/test-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def client(zookeeper: ZooKeeperServer) -> KazooClient:
    return zookeeper.client()


@pytest.fixture
def store(client: KazooClient, root: str) -> PlanStore:
    store = PlanStore(client, root)
    store.ensure_layout()
    return store


def test_a_written_plan_is_read_back_with_its_digest(store: PlanStore) -> None:
    written = store.write(PLAN)
    assert store.read("t-1-1") == written
    assert store.ids() == ["t-1-1"]


def test_an_older_or_equal_epoch_never_overwrites(store: PlanStore) -> None:
    store.write(dataclasses.replace(PLAN, epoch=5))
    for epoch in (4, 5):
        with pytest.raises(PlanConflict):
            store.write(dataclasses.replace(PLAN, epoch=epoch))
    assert store.read("t-1-1").plan.epoch == 5  # type: ignore[union-attr]


def test_a_deposed_brain_cannot_write(store: PlanStore, client: KazooClient, root: str) -> None:
    client.create(f"{root}/term", b"1")
    old = client.get(f"{root}/term")[1].version
    new = client.set(f"{root}/term", b"2").version
    with pytest.raises(PlanConflict):
        store.write(PLAN, term_version=old)
    assert store.read("t-1-1") is None
    store.write(PLAN, term_version=new)


def test_epochs_are_never_given_out_twice(store: PlanStore) -> None:
    epochs = [store.next_epoch("t-1-1") for _ in range(5)]
    assert epochs == sorted(set(epochs))


def test_garbage_is_reported_and_then_overwritten(
    store: PlanStore, client: KazooClient, root: str
) -> None:
    client.create(f"{root}/plans/t-1-1", b"\xff garbage")
    with pytest.raises(UnreadablePlan):
        store.read("t-1-1")
    store.write(PLAN)
    assert store.read("t-1-1").plan == PLAN  # type: ignore[union-attr]


def test_chunks_come_and_go_with_their_plan(client: KazooClient, root: str) -> None:
    store = PlanStore(client, root, znode_bytes=2000)
    store.ensure_layout()
    executors = {(t, t): (f"node-{t * 31 % 97}", 6700) for t in range(3000)}
    first = store.write(dataclasses.replace(PLAN, executors=executors))
    assert store.read("t-1-1") == first
    assert client.get_children(f"{root}/chunks") == [first.digest]
    store.write(dataclasses.replace(PLAN, epoch=2))
    assert client.get_children(f"{root}/chunks") == []


def test_what_belongs_to_dead_topologies_is_swept(
    store: PlanStore, client: KazooClient, root: str
) -> None:
    store.write(PLAN)
    store.write(dataclasses.replace(PLAN, topology_id="live-1-1"))
    store.next_epoch("t-1-1")
    client.create(f"{root}/chunks/abandoned/0000", b"x", makepath=True)
    assert store.retain(["live-1-1"]) == ["t-1-1"]
    assert store.ids() == ["live-1-1"]
    assert client.get_children(f"{root}/chunks") == []


@pytest.mark.parametrize("found", ["garbage", "an old epoch", "another topology's plan", "nothing"])
def test_a_plan_that_others_overwrote_is_put_back_as_it_was(
    store: PlanStore, client: KazooClient, root: str, found: str
) -> None:
    client.create(f"{root}/term", b"1")
    ours = store.write(dataclasses.replace(PLAN, epoch=3))
    assert store.unchanged(ours)
    assert store.repair(ours, term_version=0) is None
    path = f"{root}/plans/t-1-1"
    if found == "nothing":
        client.delete(path)
    else:
        forged = {
            "garbage": b"SBPL\x01\x00nonsense",
            "an old epoch": encode(dataclasses.replace(PLAN, epoch=2)).head,
            "another topology's plan": encode(
                dataclasses.replace(PLAN, topology_id="u-2-2", epoch=9)
            ).head,
        }[found]
        client.set(path, forged)
        assert not store.unchanged(ours)
    repaired = store.repair(ours, term_version=0)
    assert repaired is not None
    assert store.read("t-1-1") == repaired
    assert (repaired.plan, repaired.digest) == (ours.plan, ours.digest)


def test_a_deposed_brain_puts_nothing_back_and_a_newer_plan_is_left_alone(
    store: PlanStore, client: KazooClient, root: str
) -> None:
    client.create(f"{root}/term", b"1")
    old = store.write(dataclasses.replace(PLAN, epoch=3))
    newer = store.write(dataclasses.replace(PLAN, epoch=4))
    assert store.repair(old, term_version=0) is None
    client.set(f"{root}/term", b"2")
    client.set(f"{root}/plans/t-1-1", b"garbage")
    with pytest.raises(PlanConflict):
        store.repair(newer, term_version=0)
