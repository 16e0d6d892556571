"""A whole brain on a real ZooKeeper: snapshots and reports in over Thrift, plans out."""

from __future__ import annotations

import gzip
import inspect
import json
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from brain.cli.connection import call_brain
from brain.cli.serve import serve
from brain.config import Settings
from brain.errors import StormbrainError
from brain.plans.store import PlanStore
from brain.policy.replay import replay
from brain.service.decision_log import read_decisions
from brain.service.runtime import BrainRuntime
from tests.harness.wire import cluster_state, reports_of, supervisor, topology
from tests.harness.zookeeper import ZooKeeperServer, eventually

NODES = ("n1", "n2", "n3")
CROSSED = {t: (NODES[t % 3], 6700) for t in range(1, 4)} | {
    t: (NODES[(t + 1) % 3], 6700) for t in range(4, 7)
}
CONF = {
    "topology.brain.algorithm": "metis",
    "topology.brain.window.secs": 1,
    "topology.brain.first.replacement.secs": 0,
}


class Nimbus:
    """Says to the brain what Nimbus and the workers would."""

    def __init__(self, brain: BrainRuntime) -> None:
        self.brain = brain
        self.slots = dict(CROSSED)
        self.sequence = 0
        self.reported_ms = 0

    def schedule(self, **more: Any) -> Any:
        lines = topology("lines-1-1", {"spout": 3, "bolt": 3}, self.slots, conf=CONF)
        state = cluster_state([supervisor(n) for n in NODES], [lines], **more)
        return call_brain(self.brain.address, "schedule", state)

    def report(self) -> None:
        now = int(time.time() * 1000)
        if now - self.reported_ms < 1000:
            return
        self.reported_ms = now
        edges = {(t, t + 3): (100, 10_000) for t in range(1, 4)}
        loads = dict.fromkeys(range(1, 7), 20.0)
        for window in reports_of(
            "lines-1-1", self.sequence, now - 1000, edges, loads, self.slots, length_ms=1000
        ):
            self.brain.report(window)
        self.sequence += 1

    def until_plan(self) -> Any:
        """Rounds of scheduling, as Nimbus makes them, until the brain refers to a plan."""

        def round_() -> Any:
            self.report()
            return self.schedule().plans

        return eventually(round_, 120, "a plan")


@pytest.fixture
def root() -> str:
    return f"/brain-{uuid.uuid4().hex[:8]}"


def make_brain(zookeeper: ZooKeeperServer, root: str, tmp_path: Path, **more: Any) -> BrainRuntime:
    settings = Settings({"brain.scheduler.zookeeper.root": root, **more})
    return BrainRuntime(settings, zookeeper.client(), tmp_path)


@pytest.fixture
def brain(zookeeper: ZooKeeperServer, root: str, tmp_path: Path) -> Iterator[BrainRuntime]:
    brain = make_brain(zookeeper, root, tmp_path)
    brain.start()
    eventually(lambda: brain.election.leadership, what="the brain leads")
    yield brain
    brain.stop()


def test_reports_become_a_plan_in_zookeeper_that_schedule_refers_to(
    brain: BrainRuntime, zookeeper: ZooKeeperServer, root: str, tmp_path: Path
) -> None:
    nimbus = Nimbus(brain)
    (ref,) = nimbus.until_plan()
    client = zookeeper.client()
    stored = PlanStore(client, root).read("lines-1-1")
    assert stored is not None
    assert (stored.plan.epoch, stored.digest) == (ref.epoch, ref.digest)
    assert stored.plan.after.inter_node == 0
    assert stored.plan.term == brain.election.leadership.term  # type: ignore[union-attr]
    (decision,) = read_decisions(client, f"{root}/decisions", "lines-1-1")
    assert decision["outcome"] == "move"
    assert decision["id"] == stored.plan.decision_id
    assert (tmp_path / "decisions.jsonl").read_text().count("\n") == 1
    status = call_brain(brain.address, "status", "")
    assert status.leading
    assert status.topologies[0].plan.epoch == ref.epoch


def test_a_killed_topology_leaves_nothing_in_zookeeper(
    brain: BrainRuntime, zookeeper: ZooKeeperServer, root: str
) -> None:
    Nimbus(brain).until_plan()
    call_brain(brain.address, "schedule", cluster_state([supervisor(n) for n in NODES], []))
    client = zookeeper.client()
    for area in ("plans", "epochs", "decisions"):
        eventually(lambda area=area: not client.get_children(f"{root}/{area}"), what=area)


def test_a_second_brain_takes_over_and_keeps_the_plan_in_force(
    zookeeper: ZooKeeperServer, root: str, tmp_path: Path
) -> None:
    first = make_brain(zookeeper, root, tmp_path)
    first.start()
    second = make_brain(zookeeper, root, tmp_path)
    try:
        eventually(lambda: first.election.leadership, what="the first leads")
        second.start()
        nimbus = Nimbus(first)
        (ref,) = nimbus.until_plan()
        stored = first.store.read("lines-1-1")
        assert stored is not None
        nimbus.slots = {start: slot for (start, _), slot in stored.plan.executors.items()}
        nimbus.schedule()
        eventually(lambda: second.election.known_leader == first.address, what="it knows")
        with pytest.raises(StormbrainError, match="does not lead"):
            Nimbus(second).schedule()
        first.stop()
        eventually(lambda: second.election.leadership, what="the second leads")
        heir = Nimbus(second)
        heir.slots = nimbus.slots
        plans = eventually(lambda: heir.schedule().plans, what="the plan is adopted")
        assert [(p.epoch, p.digest) for p in plans] == [(ref.epoch, ref.digest)]
    finally:
        first.stop()
        second.stop()


def test_an_older_shim_gets_a_clear_refusal(brain: BrainRuntime) -> None:
    with pytest.raises(StormbrainError, match=r"protocol 1, the plugin 0\.0\.9 speaks 0"):
        Nimbus(brain).schedule(protocol_version=0, plugin_version="0.0.9")


def test_without_the_token_nothing_is_told_and_nothing_taken(
    zookeeper: ZooKeeperServer, root: str, tmp_path: Path
) -> None:
    brain = make_brain(zookeeper, root, tmp_path, **{"brain.scheduler.token": "hush"})
    brain.start()
    try:
        eventually(lambda: brain.election.leadership, what="the brain leads")
        with pytest.raises(StormbrainError, match="token"):
            Nimbus(brain).schedule()
        with pytest.raises(StormbrainError):
            call_brain(brain.address, "status", "wrong")
        assert Nimbus(brain).schedule(token="hush").plans == []
        assert brain.core.counters.snapshots == 1
    finally:
        brain.stop()


def test_an_impossible_snapshot_is_refused_with_the_field(brain: BrainRuntime) -> None:
    state = cluster_state([supervisor("n1"), supervisor("n1")], [])
    with pytest.raises(StormbrainError, match=r"supervisors\[1\]\.id"):
        call_brain(brain.address, "schedule", state)


def test_a_topology_known_from_before_is_placed_by_the_brain_at_once(
    brain: BrainRuntime, zookeeper: ZooKeeperServer, root: str
) -> None:
    nimbus = Nimbus(brain)
    nimbus.until_plan()
    empty = cluster_state([supervisor(n) for n in NODES], [])
    call_brain(brain.address, "schedule", empty)
    client = zookeeper.client()
    eventually(lambda: client.exists(f"{root}/profiles/lines"), what="the profile")
    eventually(lambda: not client.get_children(f"{root}/plans"), what="the old plan to go")
    again = topology("lines-2-2", {"spout": 3, "bolt": 3}, {}, conf=CONF)
    state = cluster_state([supervisor(n) for n in NODES], [again])

    # One call suffices unless the machine is so loaded that the brain's short wait runs out.
    (ref,) = eventually(
        lambda: call_brain(brain.address, "schedule", state).plans, what="a first placement"
    )
    plan = brain.store.read("lines-2-2")
    assert plan is not None
    assert plan.plan.epoch == ref.epoch
    for spout in range(1, 4):
        placed = plan.plan.executors
        assert placed[spout, spout][0] == placed[spout + 3, spout + 3][0]


def test_every_decision_can_be_replayed(brain: BrainRuntime, tmp_path: Path) -> None:
    Nimbus(brain).until_plan()
    (file,) = eventually(lambda: list((tmp_path / "decisions").glob("*.json.gz")), what="a file")
    found = replay(json.loads(gzip.decompress(file.read_bytes())), solve=True)
    assert found.recorded[0] == "move"
    assert found.same
    assert found.same_placement


def test_by_default_the_doors_are_open_to_this_machine_only() -> None:
    defaults = {name: p.default for name, p in inspect.signature(serve).parameters.items()}
    assert defaults["listen"].startswith("127.0.0.1:")
    assert defaults["dashboard"].startswith("127.0.0.1:")
    assert inspect.signature(BrainRuntime).parameters["host"].default == "127.0.0.1"


@pytest.mark.parametrize(
    ("host", "more", "warned"),
    [
        ("0.0.0.0", {}, True),
        ("0.0.0.0", {"brain.scheduler.token": "hush"}, False),
        ("127.0.0.1", {}, False),
    ],
)
def test_an_open_door_without_a_lock_is_warned_of_and_no_secret_is_logged(
    zookeeper: ZooKeeperServer, root: str, tmp_path: Path, caplog: pytest.LogCaptureFixture,
    host: str, more: dict[str, str], warned: bool,
) -> None:  # fmt: skip
    settings = Settings({"brain.scheduler.zookeeper.root": root, **more})
    brain = BrainRuntime(settings, zookeeper.client(), tmp_path, host=host)
    with caplog.at_level("DEBUG"):
        brain.start()
        brain.stop()
    assert ("anybody who reaches" in caplog.text) is warned
    assert "hush" not in caplog.text
