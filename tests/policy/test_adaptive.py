"""What the brain does when things change: overload, alternating load, nodes, resubmission."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from brain.algorithms import registry
from brain.config import Settings
from brain.core import BrainCore
from brain.idl import wire
from brain.monitor.snapshot import read_snapshot
from brain.pipeline.burst_stats import BurstFile, RateHistory, describe
from brain.plans.plan import StoredPlan
from brain.policy.computation import Draft
from brain.policy.decision import Decision, Outcome, Trigger
from brain.policy.profile import Profile
from brain.policy.stability import Stability
from tests.harness.wire import cluster_state, reports_of, supervisor, topology

Edges = dict[tuple[int, int], int]
LINES: Edges = {(t, t + 3): 100 for t in range(1, 4)}
CROSSED: Edges = {(1, 5): 100, (2, 6): 100, (3, 4): 100}
ALIGNED = {t: (f"n{(t - 1) % 3 + 1}", 6700) for t in range(1, 7)}
"""Tasks 1, 4 on n1; 2, 5 on n2; 3, 6 on n3: straight lines are local, crossed ones are not."""


class Simulation:
    """Time, traffic and a Storm that does what plans say; the algorithms are the real ones."""

    def __init__(self, slots: dict[int, tuple[str, int]] | None = None, **conf: Any) -> None:
        defaults = {"algorithm": "metis", "first.replacement.secs": 20, "period.secs": 10,
                    "cooldown.secs": 60, "observe.secs": 30}  # fmt: skip
        self.conf = {f"topology.brain.{k}": v for k, v in (defaults | conf).items()}
        self.core = BrainCore(Settings({}))
        self.slots = dict(slots if slots is not None else ALIGNED)
        self.nodes = {"n1": 400.0, "n2": 400.0, "n3": 400.0}
        self.cpu = dict.fromkeys(range(1, 7), 5.0)
        self.now, self.sequence, self.epoch = 1_000_000, 0, 0
        self.decisions: list[Decision] = []
        self.moves: list[int] = []
        self.name = "lines-1-1"
        self.busy: dict[str, float] = {}
        """CPU points of all processes on a node's machine, where a worker reports that."""
        self.machines: dict[str, str] = {}
        """Machine of a node, if not its own."""
        self.blacklisted: set[str] = set()

    def snapshot(self) -> list[str]:
        state = cluster_state(
            [
                supervisor(n, cpu=c, blacklisted=n in self.blacklisted)
                for n, c in self.nodes.items()
            ],
            [topology(self.name, {"spout": 3, "bolt": 3}, self.slots, conf=self.conf)],
        )
        return self.core.on_snapshot(read_snapshot(state), self.now)

    def run(self, seconds: int, edges: Edges) -> None:
        for _ in range(seconds // 5):
            self.now += 5000
            self.snapshot()
            rates = {e: (n * 5, n * 500) for e, n in edges.items()}
            loads = {t: cpu * 50 for t, cpu in self.cpu.items()}
            start = self.now - 5000
            for window in reports_of(self.name, self.sequence, start, rates, loads, self.slots):
                window.node_load = self.machine_of(window.node)
                self.core.on_report(window, self.now)
            self.sequence += 1
            self.decide()

    def machine_of(self, node: str) -> Any:
        if node not in self.busy:
            return None
        machine = self.machines.get(node, f"boot-{node}")
        return wire.NodeLoad(4, 2500.0, self.busy[node], 8000.0, 4000.0, 0, 0, machine)

    def decide(self) -> None:
        for task in self.core.due(self.now):
            built = task.built
            result = registry.run(task.algorithm, built.problem, built.current, task.options)
            decision, draft = self.core.on_result(task, result, self.now)
            self.decisions.append(decision)
            if draft is not None:
                self.apply(draft)

    def apply(self, draft: Draft) -> None:
        self.epoch += 1
        self.core.on_written(StoredPlan(draft.plan, str(self.epoch), 0))
        self.slots = {start: slot for (start, _), slot in draft.plan.executors.items()}
        self.moves.append(self.now)


def test_a_satisfied_topology_is_never_moved() -> None:
    world = Simulation()
    world.run(600, LINES)
    assert world.moves == []
    assert len(world.decisions) > 10
    assert all(d.outcome is Outcome.STAY for d in world.decisions)


def test_a_lasting_change_of_traffic_moves_once() -> None:
    world = Simulation()
    world.run(100, LINES)
    world.run(600, CROSSED)
    assert len(world.moves) == 1


def test_a_burst_moves_nothing() -> None:
    world = Simulation()
    world.run(100, LINES)
    world.run(5, dict.fromkeys(CROSSED, 50000))
    world.run(300, LINES)
    assert world.moves == []


def history(target: str, rates: list[float]) -> RateHistory:
    return describe("spout", target, False, np.array(rates), 10_000, 0, 100.0)


def test_a_burst_as_long_as_the_pipeline_knows_them_moves_nothing() -> None:
    past = [300.0] * 30 + [9000.0] * 2 + [300.0] * 30 + [9000.0] * 2  # bursts of 20 s
    worlds = [Simulation(**{"observe.secs": 120}) for _ in range(2)]
    worlds[0].core.take_bursts(BurstFile(10_000, {"lines": (history("bolt", past),)}))
    for world in worlds:
        world.run(150, LINES)
        world.run(15, dict.fromkeys(CROSSED, 5000))
        world.run(30, LINES)
    assert worlds[0].moves == []
    assert len(worlds[1].moves) == 1  # what lasts for three windows is believed by who knows less


def test_a_placement_is_computed_for_the_season_to_come() -> None:
    season = [300.0 if i % 12 < 6 else 30.0 for i in range(120)]  # a minute each
    world = Simulation(**{"horizon.secs": 60})
    world.core.take_bursts(BurstFile(10_000, {"lines": (history("bolt", season),)}))
    world.now = 1_200_000  # a busy minute begins
    world.run(55, LINES)
    record = world.core.records[world.name]
    measured = world.core.rates(world.name, world.now)
    expected = record.traffic.expected(measured, world.now, 60_000)
    assert float(expected.tuples.sum()) < 0.5 * float(measured.tuples.sum())
    task = world.core.prepare(world.name, Trigger("gain", ""), world.now)
    assert task is not None
    assert float(task.built.problem.graph.tuples.sum()) < float(measured.tuples.sum())


def test_alternating_load_settles() -> None:
    world = Simulation()
    for _ in range(30):  # each pattern lasts just long enough to be worth a move
        world.run(150, CROSSED)
        world.run(150, LINES)
    half = world.now - 30 * 150 * 1000
    early = [m for m in world.moves if m < half]
    late = [m for m in world.moves if m >= half]
    assert len(early) >= 2
    assert len(late) <= len(early) / 2
    record = world.core.records[world.name]
    assert record.stability.damping > 1
    assert "came and went" in world.core.note(record, world.now) or len(late) == 0


def test_an_overloaded_node_is_relieved_even_at_the_price_of_traffic() -> None:
    everything_on_one = dict.fromkeys(range(1, 7), ("n1", 6700))
    world = Simulation(everything_on_one, **{"overload.secs": 20})
    world.cpu = dict.fromkeys(range(1, 7), 70.0)  # 420 of n1's 400 points
    world.run(200, LINES)
    assert len(world.moves) == 1
    move = next(d for d in world.decisions if d.outcome is Outcome.MOVE)
    assert "n1 burns 420 of 360" in move.reason
    assert len({slot[0] for slot in world.slots.values()}) >= 2
    world.run(300, LINES)
    assert len(world.moves) == 1


def test_a_short_overload_moves_nothing() -> None:
    world = Simulation(**{"overload.secs": 60})
    world.run(60, LINES)
    world.cpu = dict.fromkeys(range(1, 7), 300.0)
    world.run(30, LINES)
    world.cpu = dict.fromkeys(range(1, 7), 5.0)
    world.run(120, LINES)
    assert world.moves == []


def test_load_of_strangers_on_a_machine_drives_executors_away() -> None:
    world = Simulation(**{"overload.secs": 20})
    world.busy = {"n1": 30.0, "n2": 30.0, "n3": 30.0}
    world.run(100, LINES)
    assert world.moves == []
    world.busy["n1"] = 395.0  # 10 of them ours
    world.run(200, LINES)
    assert len(world.moves) == 1
    move = next(d for d in world.decisions if d.outcome is Outcome.MOVE)
    assert "n1's machine burns 395 of 360" in move.reason
    assert "n1" not in {slot[0] for slot in world.slots.values()}


def test_a_short_load_of_strangers_moves_nothing() -> None:
    world = Simulation(**{"overload.secs": 60})
    world.busy = {"n1": 30.0, "n2": 30.0, "n3": 30.0}
    world.run(100, LINES)
    world.busy["n1"] = 395.0
    world.run(20, LINES)
    world.busy["n1"] = 30.0
    world.run(300, LINES)
    assert world.moves == []


def test_where_all_nodes_share_one_machine_its_load_moves_nothing() -> None:
    world = Simulation(**{"overload.secs": 20})
    world.busy = {"n1": 400.0, "n2": 400.0, "n3": 400.0}
    world.machines = dict.fromkeys(world.nodes, "boot-1")
    world.run(300, LINES)
    assert world.moves == []
    (machine,) = world.core.machine_loads(world.now).values()
    assert machine.cpu_points == pytest.approx(400.0)  # counted once, not three times


def test_a_move_that_costs_more_than_it_saves_is_not_made() -> None:
    world = Simulation(**{"horizon.secs": 30, "downtime.secs": 60})
    world.run(300, CROSSED)
    assert world.moves == []
    assert any("would hold up" in d.reason for d in world.decisions)


def test_a_node_that_joins_idle_moves_nobody_who_is_satisfied() -> None:
    world = Simulation()
    world.run(100, LINES)
    seen = len(world.decisions)
    world.nodes["n4"] = 400.0
    world.run(120, LINES)
    assert world.moves == []
    assert any(d.trigger.kind == "node-joined" for d in world.decisions[seen:])


def test_pins_that_are_broken_are_restored() -> None:
    world = Simulation(pin={"spout": ["n3.example"]})
    world.run(100, LINES)
    assert len(world.moves) == 1
    assert {world.slots[t][0] for t in (1, 2, 3)} == {"n3"}


def test_a_resubmitted_topology_starts_where_its_traffic_wants_it() -> None:
    world = Simulation()
    world.run(100, CROSSED)
    gone = cluster_state([supervisor(n, cpu=c) for n, c in world.nodes.items()], [])
    world.core.on_snapshot(read_snapshot(gone), world.now)
    (profile,) = world.core.learnt(world.now)
    assert Profile.from_json(profile.to_json()) == profile
    assert profile.downtime_secs == pytest.approx(0.0)  # here Storm moves at once
    world.name, world.slots, world.moves = "lines-2-2", {}, []
    world.snapshot()
    world.decide()
    assert len(world.moves) == 1
    assert world.decisions[-1].trigger.kind == "submitted"
    assert world.core.records["lines-2-2"].downtime_secs == profile.downtime_secs
    for source, target in CROSSED:
        assert world.slots[source][0] == world.slots[target][0]


def test_a_profile_of_another_shape_is_not_used() -> None:
    world = Simulation()
    world.run(100, CROSSED)
    state = cluster_state(
        [supervisor(n) for n in world.nodes], [topology("lines-2-2", {"spout": 2, "bolt": 3})]
    )
    world.core.on_snapshot(read_snapshot(state), world.now)
    assert world.core.records["lines-2-2"].profile is None


def test_downtime_is_measured_from_moves() -> None:
    world = Simulation()
    world.run(100, LINES)
    world.run(200, CROSSED)
    record = world.core.records[world.name]
    assert len(world.moves) == 1
    assert record.stability.downtime_secs == pytest.approx(0.0)  # here Storm moves at once
    assert record.downtime_secs == record.stability.downtime_secs


def test_damping_grows_with_returns_and_fades_with_calm() -> None:
    a = {(1, 1): ("n1", 1), (2, 2): ("n2", 1)}
    b = {(1, 1): ("n2", 1), (2, 2): ("n1", 1)}
    s = Stability()
    assert not s.moved(a, b, 0)
    assert s.moved(b, a, 1000)
    assert s.moved(a, b, 2000)
    assert s.cooldown_secs(10, 3000) == 40
    assert s.cooldown_secs(10, 2000 + 4 * 40 * 1000) == 20
    assert s.cooldown_secs(10, 10**9) == 10
