"""One brain leads; when it goes, another takes over; the deposed cannot write."""

from __future__ import annotations

import uuid

from kazoo.client import KazooClient

from brain.plans.election import Election, Leadership, read_leader
from tests.harness.zookeeper import ZooKeeperServer, eventually


def candidate(client: KazooClient, root: str, name: str) -> tuple[Election, list[bool]]:
    changes: list[bool] = []

    def note(leadership: Leadership | None) -> None:
        changes.append(leadership is not None)

    election = Election(client, root, lambda: {"id": name, "address": f"{name}:1"}, note)
    election.start()
    return election, changes


def test_a_second_brain_takes_over_when_the_first_resigns(zookeeper: ZooKeeperServer) -> None:
    root = f"/election-{uuid.uuid4().hex[:8]}"
    one, _ = candidate(zookeeper.client(), root, "one")
    eventually(lambda: one.leadership, what="the first leads")
    two, _ = candidate(zookeeper.client(), root, "two")
    eventually(lambda: two.known_leader == "one:1", what="the second knows the first")
    assert two.leadership is None
    first_term = one.leadership.term  # type: ignore[union-attr]
    one.stop()
    eventually(lambda: two.leadership, what="the second leads")
    assert two.leadership.term == first_term + 1  # type: ignore[union-attr]
    leader = read_leader(zookeeper.client(), f"{root}/leader")
    assert leader is not None
    assert leader.id == "two"
    two.stop()


def test_an_expired_session_ends_leadership_and_a_new_term_begins(
    zookeeper: ZooKeeperServer,
) -> None:
    root = f"/election-{uuid.uuid4().hex[:8]}"
    client = zookeeper.client()
    election, changes = candidate(client, root, "one")
    eventually(lambda: election.leadership, what="it leads")
    before = election.leadership.term  # type: ignore[union-attr]
    # Connecting with the same session id and closing it is how ZooKeeper's own tests expire one.
    thief = KazooClient(hosts=zookeeper.hosts, client_id=client.client_id)
    thief.start(timeout=10)
    thief.stop()
    thief.close()
    eventually(lambda: election.leadership and election.leadership.term > before, what="a new term")
    assert False in changes
    election.stop()


def test_a_leader_whose_znode_was_overwritten_says_again_where_it_is(
    zookeeper: ZooKeeperServer,
) -> None:
    root = f"/election-{uuid.uuid4().hex[:8]}"
    election, changes = candidate(zookeeper.client(), root, "one")
    eventually(lambda: election.leadership, what="it leads")
    stranger = zookeeper.client()
    before = read_leader(stranger, f"{root}/leader")
    stranger.set(f"{root}/leader", b"garbage")
    eventually(lambda: read_leader(stranger, f"{root}/leader") == before, what="the address again")
    assert changes == [True]
    election.stop()
