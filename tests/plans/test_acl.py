"""With brain.scheduler.zookeeper.auth our znodes are ours: others read, and that is all."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError

from brain.agent.board import AgentBoard
from brain.config import Settings
from brain.errors import BadInput
from brain.plans.election import read_leader
from brain.plans.ownership import zookeeper_credentials
from brain.plans.store import PlanStore
from brain.qos.space import NodeQos
from brain.qos.vivaldi import Coordinate
from brain.service.runtime import BrainRuntime
from tests.harness.zookeeper import ZooKeeperServer, eventually
from tests.plans.test_store import PLAN


def as_user(zookeeper: ZooKeeperServer, auth: str | None) -> KazooClient:
    client = KazooClient(hosts=zookeeper.hosts, timeout=4.0, **zookeeper_credentials(auth))
    client.start(timeout=15)
    return client


@pytest.fixture
def root() -> str:
    return f"/acl-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def brain(zookeeper: ZooKeeperServer, root: str, tmp_path: Path) -> Iterator[BrainRuntime]:
    # Left behind by a brain without credentials: it must not stay open to everybody.
    zookeeper.client().ensure_path(f"{root}/plans")
    client = as_user(zookeeper, "brain:secret")
    brain = BrainRuntime(Settings({"brain.scheduler.zookeeper.root": root}), client, tmp_path)
    brain.start()
    eventually(lambda: brain.election.leadership, what="the brain leads")
    leadership = brain.election.leadership
    assert leadership is not None
    brain.store.next_epoch("t-1-1")
    brain.store.write(dataclasses.replace(PLAN, epoch=2), leadership.term_version)
    big = {(n, n): (f"node-with-a-long-name-{n}", 6700) for n in range(1, 4000)}
    PlanStore(client, root, znode_bytes=4_000).write(
        dataclasses.replace(PLAN, topology_id="big-1-1", executors=big), leadership.term_version
    )
    yield brain
    brain.stop()
    client.stop()
    client.close()


@pytest.mark.parametrize("auth", [None, "stranger:secret", "brain:guessed"])
def test_another_user_reads_everything_and_writes_nothing(
    brain: BrainRuntime, zookeeper: ZooKeeperServer, root: str, auth: str | None
) -> None:
    other = as_user(zookeeper, auth)
    try:
        stored = PlanStore(other, root).read("t-1-1")
        assert stored is not None
        assert PlanStore(other, root).read("big-1-1") is not None
        assert read_leader(other, f"{root}/leader") is not None
        digest = PlanStore(other, root).ids("chunks")[0]
        for path in ("plans/t-1-1", "leader", "term", "epochs/t-1-1", f"chunks/{digest}/0000"):
            attempts: list[Callable[[], object]] = [
                lambda path=path: other.set(f"{root}/{path}", b"mine"),
                lambda path=path: other.delete(f"{root}/{path}"),
                lambda path=path: other.create(f"{root}/{path}/x", b""),
            ]
            for attempt in attempts:
                with pytest.raises(NoAuthError):
                    attempt()
        for area in ("plans", "proposals", "chunks", "epochs", "decisions", "profiles"):
            with pytest.raises(NoAuthError):
                other.create(f"{root}/{area}/forged-1-1", b"mine", makepath=True)
        assert PlanStore(other, root).read("t-1-1") == stored
    finally:
        other.stop()
        other.close()


def test_a_second_brain_with_the_credentials_takes_over(
    brain: BrainRuntime, zookeeper: ZooKeeperServer, root: str, tmp_path: Path
) -> None:
    client = as_user(zookeeper, "brain:secret")
    settings = Settings({"brain.scheduler.zookeeper.root": root})
    heir = BrainRuntime(settings, client, tmp_path / "heir")
    heir.start()
    try:
        brain.stop()
        eventually(lambda: heir.election.leadership, what="the second leads")
        leadership = heir.election.leadership
        assert leadership is not None
        heir.store.write(dataclasses.replace(PLAN, epoch=3), leadership.term_version)
    finally:
        heir.stop()
        client.stop()
        client.close()


@pytest.mark.parametrize("auth", ["secret", ":secret", "brain:"])
def test_credentials_that_cannot_be_meant_are_refused_without_being_shown(auth: str) -> None:
    with pytest.raises(BadInput, match="must be user:password") as told:
        zookeeper_credentials(auth)
    assert "secret" not in str(told.value)


def test_agents_with_the_credentials_place_and_without_them_are_told_why(
    brain: BrainRuntime, zookeeper: ZooKeeperServer, root: str, tmp_path: Path
) -> None:
    """The agents' board on znodes that a brain owns; what they tell belongs to the same user."""
    client, stranger = as_user(zookeeper, "brain:secret"), as_user(zookeeper, None)
    try:
        board = AgentBoard(client, root, "n1")
        board.ensure_layout()
        board.announce("127.0.0.1:6791", NodeQos("n1", Coordinate()))
        board.tell_wishes("t-1-1", "base", [])
        epoch = board.plans.next_epoch("t-2-1")
        board.plans.write(dataclasses.replace(PLAN, topology_id="t-2-1", epoch=epoch))
        board.keep_decision("t-1-1", {"id": "x"})
        with board.locked("t-1-1") as mine:
            assert mine
        other = AgentBoard(stranger, root, "n2")
        assert list(other.agents()) == ["n1"]
        for attempt in (
            lambda: other.announce("127.0.0.1:6792", NodeQos("n2", Coordinate())),
            lambda: other.tell_wishes("t-1-1", "base", []),
            lambda: other.plans.next_epoch("t-1-1"),
            lambda: stranger.set(f"{root}/agents/live/n1", b"{}"),
        ):
            with pytest.raises(NoAuthError):
                attempt()
    finally:
        for c in (client, stranger):
            c.stop()
            c.close()
