"""The brain's state machine, with a clock in the hand and the real algorithms."""

from __future__ import annotations

from typing import Any

import pytest

from brain.algorithms import registry
from brain.config import Settings
from brain.core import EARLY_BYTES, BrainCore
from brain.idl import wire
from brain.monitor.snapshot import read_snapshot
from brain.plans.plan import StoredPlan
from brain.policy.computation import Draft, SolveTask
from brain.policy.decision import Decision, Outcome
from tests.harness.wire import cluster_state, reports_of, supervisor, topology

NODES = ("n1", "n2", "n3")
LINES = {"spout": 3, "bolt": 3}
CROSSED = {t: (NODES[t % 3], 6700) for t in range(1, 4)} | {
    t: (NODES[(t + 1) % 3], 6700) for t in range(4, 7)
}
"""Task t of spout sends to t + 3 of bolt; under this placement every line crosses nodes."""


class World:
    """A cluster with one topology, and a brain that watches it."""

    def __init__(self, slots: dict[int, tuple[str, int]] | None = None, **conf: Any) -> None:
        defaults = {"algorithm": "metis", "first.replacement.secs": 20, "period.secs": 10,
                    "cooldown.secs": 100, "window.secs": 5}  # fmt: skip
        self.conf = {f"topology.brain.{k}": v for k, v in (defaults | conf).items()}
        self.core = BrainCore(Settings({}))
        self.slots = dict(slots or CROSSED)
        self.now = 1_000_000
        self.sequence = 0
        self.rejections: list[Any] = []
        self.nodes = list(NODES)

    def snapshot(self) -> list[str]:
        state = cluster_state(
            [supervisor(n) for n in self.nodes],
            [topology("lines-1-1", LINES, self.slots, conf=self.conf)],
            rejections=self.rejections,
        )
        return self.core.on_snapshot(read_snapshot(state), self.now)

    def live(self, seconds: int, rate: int = 100) -> list[SolveTask]:
        """Time goes by in windows of 5 s with traffic along the lines; returns what is due."""
        tasks: list[SolveTask] = []
        for _ in range(seconds // 5):
            self.now += 5000
            self.snapshot()
            edges = {(t, t + 3): (rate * 5, rate * 500) for t in range(1, 4)}
            loads = dict.fromkeys(range(1, 7), 100.0)
            start = self.now - 5000
            for window in reports_of("lines-1-1", self.sequence, start, edges, loads, self.slots):
                self.core.on_report(window, self.now)
            self.sequence += 1
            tasks += self.core.due(self.now)
            if tasks:
                break
        return tasks

    def solve(self, task: SolveTask) -> tuple[Decision, Draft | None]:
        built = task.built
        result = registry.run(task.algorithm, built.problem, built.current, task.options)
        return self.core.on_result(task, result, self.now)

    def move(self) -> Draft:
        """The first re-placement, written and applied."""
        (task,) = self.live(60)
        decision, draft = self.solve(task)
        assert decision.outcome is Outcome.MOVE, decision.reason
        assert draft is not None
        self.core.on_written(StoredPlan(draft.plan, "digest", 0))
        return draft

    def apply(self, draft: Draft) -> None:
        self.slots = {start: slot for (start, _), slot in draft.plan.executors.items()}


def test_straight_lines_are_brought_together_after_the_first_waiting_time() -> None:
    world = World()
    draft = world.move()
    for spout in range(1, 4):
        placed = draft.plan.executors
        assert placed[spout, spout][0] == placed[spout + 3, spout + 3][0]
    assert draft.plan.after.inter_node == 0
    assert draft.plan.before.inter_node == pytest.approx(3 * 100 * 100)
    assert len({slot[0] for slot in draft.plan.executors.values()}) == 3


def test_nothing_is_computed_before_the_first_waiting_time() -> None:
    world = World(**{"first.replacement.secs": 60})
    assert world.live(50) == []
    assert len(world.live(30)) == 1


def test_a_plan_is_referred_to_until_storm_shows_it_in_force_and_after() -> None:
    world = World()
    draft = world.move()
    world.snapshot()
    assert [r.epoch for r in world.core.references()] == [draft.plan.epoch]
    world.apply(draft)
    world.snapshot()
    assert len(world.core.references()) == 1
    assert "in force" in world.core.notes(world.now)["lines-1-1"]


def test_after_a_move_the_cooldown_is_kept_and_what_is_good_stays() -> None:
    world = World()
    draft = world.move()
    world.apply(draft)
    moved_at = world.now
    (task,) = world.live(300)
    assert world.now - moved_at >= 100_000
    decision, nothing = world.solve(task)
    assert decision.outcome is Outcome.STAY
    assert "already" in decision.reason
    assert nothing is None


def test_a_dry_run_decides_the_same_but_writes_nothing() -> None:
    wet, dry = World(), World(mode="dry-run")
    (wet_task,), (dry_task,) = wet.live(60), dry.live(60)
    wet_decision, wet_draft = wet.solve(wet_task)
    dry_decision, dry_draft = dry.solve(dry_task)
    assert wet_draft is not None
    assert dry_draft is None
    assert dry_decision.moves == wet_decision.moves
    assert dry_decision.restarts == wet_decision.restarts


def test_advice_goes_to_the_proposals_and_is_not_applied() -> None:
    world = World(mode="advise")
    (task,) = world.live(60)
    _, draft = world.solve(task)
    assert draft is not None
    assert draft.area == "proposals"
    assert world.core.references() == []


def test_mode_off_leaves_the_topology_alone() -> None:
    assert World(mode="off").live(300) == []


def test_a_small_gain_moves_nothing_and_says_so() -> None:
    world = World(**{"min.gain.percent": 100})
    (task,) = world.live(60)
    decision, draft = world.solve(task)
    assert draft is None
    assert "not above the 100 %" in decision.reason


def test_a_wrong_setting_of_a_topology_is_told_and_the_default_stays() -> None:
    world = World(mode="automatic")
    world.snapshot()
    record = world.core.records["lines-1-1"]
    assert record.settings["mode"] == "auto"
    assert "must be one of off, dry-run, advise, auto" in world.core.note(record, world.now)


def test_a_plan_is_retired_when_storm_places_the_topology_otherwise() -> None:
    world = World()
    world.apply(world.move())
    world.snapshot()
    world.slots = dict.fromkeys(range(1, 7), (NODES[0], 6701))
    assert world.snapshot() == ["lines-1-1"]
    assert world.core.references() == []


def test_a_node_that_returns_does_not_pull_its_executors_back() -> None:
    world = World()
    world.apply(world.move())
    world.snapshot()
    world.nodes.remove("n3")
    lost = [t for t, slot in world.slots.items() if slot[0] == "n3"]
    for t in lost:
        world.slots[t] = ("n1", 6701)
    world.snapshot()
    world.nodes.append("n3")
    world.snapshot()
    assert world.core.references() == []


def test_a_plan_that_the_shim_keeps_refusing_is_given_up() -> None:
    world = World()
    draft = world.move()
    world.rejections = [
        wire.PlanRejection("lines-1-1", draft.plan.epoch, "dead-slot", "slot n1:6700 is dead")
    ]
    assert world.snapshot() == []
    assert world.snapshot() == []
    assert world.snapshot() == ["lines-1-1"]


def test_a_killed_topology_is_forgotten() -> None:
    world = World()
    world.move()
    state = cluster_state([supervisor(n) for n in NODES], [])
    assert world.core.on_snapshot(read_snapshot(state), world.now) == ["lines-1-1"]
    assert world.core.records == {}


def test_a_new_leader_adopts_what_runs_and_moves_nothing() -> None:
    world = World()
    draft = world.move()
    world.apply(draft)
    successor = World(world.slots)
    successor.snapshot()
    stored = StoredPlan(draft.plan, "digest", 0)
    assert successor.core.adopt([stored], successor.now) == []
    assert len(successor.core.references()) == 1
    stranger = World()
    stranger.snapshot()
    assert stranger.core.adopt([stored], stranger.now) == ["lines-1-1"]
    assert stranger.core.references() == []


def test_a_failed_computation_changes_nothing_and_is_told() -> None:
    world = World()
    (task,) = world.live(60)
    decision = world.core.on_failure(task, "metis did not return", world.now)
    assert decision.outcome is Outcome.FAILED
    assert "metis did not return" in world.core.notes(world.now)["lines-1-1"]
    assert world.core.due(world.now) == []


def test_another_topology_keeps_its_slots() -> None:
    world = World()
    world.snapshot()
    other = topology("other-2-2", {"x": 3}, {t: (n, 6701) for t, n in enumerate(NODES, 1)})
    mine = topology("lines-1-1", LINES, world.slots, conf=world.conf)
    state = cluster_state([supervisor(n) for n in NODES], [mine, other])
    world.core.on_snapshot(read_snapshot(state), world.now)
    for _ in range(6):
        world.now += 5000
        edges = {(t, t + 3): (500, 50_000) for t in range(1, 4)}
        loads = dict.fromkeys(range(1, 7), 100.0)
        start = world.now - 5000
        for window in reports_of("lines-1-1", world.sequence, start, edges, loads, world.slots):
            world.core.on_report(window, world.now)
        world.sequence += 1
    tasks = [t for t in world.core.due(world.now) if t.topology_id == "lines-1-1"]
    _, draft = world.solve(tasks[0])
    assert draft is not None
    assert {slot[1] for slot in draft.plan.executors.values()} == {6700}


def test_reports_of_unknown_topologies_cannot_fill_the_memory() -> None:
    world = World()
    world.snapshot()
    edges = {(source, target): (1, 1) for source in range(60) for target in range(60)}
    for number in range(200):
        (window,) = reports_of(
            f"unknown-{number}-1",
            0,
            world.now,
            edges,
            {1: 1.0},
            dict.fromkeys(range(60), ("n1", 6700)),
        )
        world.core.on_report(window, world.now)
    held = sum(traffic.nbytes for traffic in world.core._early.values())
    assert held < 2 * EARLY_BYTES
    assert world.core.counters.refused_reports > 0
