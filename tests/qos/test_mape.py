"""One agent's decisions: what it may move, where to, and what it must not do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from brain.plans.plan import Executor, SlotId
from brain.qos.mape import AdaptiveScheduler, MapeSettings, QosDecision, Wish
from brain.qos.space import CostSpace, NodeQos
from brain.qos.stage import Stage
from brain.qos.trial import Trial
from brain.qos.vivaldi import Coordinate
from tests.qos.worlds import chain_path, tag_and_count, world

A, B, C, D = (1, 1), (2, 2), (3, 3), (4, 4)


def line(assignment: Mapping[Executor, SlotId], **fields: object) -> Stage:
    names = ["source", "one", "two", "sink"]
    executors = {e: names[e[0] - 1] for e in assignment}
    nodes = ("n1", "n2", "n3", "n4")
    used = set(assignment.values())
    given: dict[str, object] = {
        "workers": 4,
        "pins": {"source": frozenset({"n1"}), "sink": frozenset({"n4"})},
        "free_slots": {n: tuple(p for p in (1, 2) if (n, p) not in used) for n in nodes},
        "live_nodes": frozenset(nodes),
    }
    given.update(fields)
    return Stage("t-1", executors, dict(assignment), "h", **given)  # type: ignore[arg-type]


RATES = {(A, B): 10.0, (B, C): 10.0, (C, D): 10.0}


def space(utilisation: Mapping[str, float] | None = None) -> CostSpace:
    """Four nodes on a line of 30 ms steps."""
    return CostSpace(
        [
            NodeQos(
                f"n{i}", Coordinate(30.0 * i, 0.0, 5.0, 0.1), (utilisation or {}).get(f"n{i}", 0.1)
            )
            for i in (1, 2, 3, 4)
        ]
    )


def ready(node: str, stage: Stage, **settings: object) -> AdaptiveScheduler:
    """A scheduler that has watched the stage through its cooldown."""
    scheduler = AdaptiveScheduler(node, MapeSettings(**settings))  # type: ignore[arg-type]
    scheduler.observe(stage)
    for _ in range(5):
        scheduler.next_round()
        scheduler.observe(stage)
    return scheduler


SPREAD = {A: ("n1", 1), B: ("n3", 1), C: ("n2", 1), D: ("n4", 1)}


def test_nothing_moves_before_k_rounds_have_passed() -> None:
    stage = line(SPREAD)
    scheduler = AdaptiveScheduler("n3")
    scheduler.observe(stage)
    for _ in range(5):
        assert scheduler.waiting(stage)
        assert scheduler.wishes(stage, space(), RATES, {}) == []
        scheduler.next_round()
        scheduler.observe(stage)
    assert scheduler.waiting(stage) is None
    assert scheduler.wishes(stage, space(), RATES, {})


def test_a_change_by_anybody_begins_the_cooldown_anew() -> None:
    stage = line(SPREAD)
    scheduler = ready("n3", stage)
    moved = line({**SPREAD, C: ("n4", 1)})
    scheduler.observe(moved)
    assert scheduler.waiting(moved)


def test_only_local_executors_that_are_not_pinned_are_wished_elsewhere() -> None:
    stage = line(SPREAD)
    assert ready("n1", stage).wishes(stage, space(), RATES, {}) == []
    wished = ready("n3", stage).wishes(stage, space(), RATES, {})
    assert {e for w in wished for e in w.executors} == {B}


def test_an_executor_next_to_one_being_moved_waits() -> None:
    stage = line(SPREAD)
    assert ready("n3", stage).wishes(stage, space(), RATES, {}, moving=[C]) == []


def test_a_topology_that_does_not_run_whole_is_left_to_nimbus() -> None:
    stage = line({A: ("n1", 1), B: ("n3", 1)})
    partial = replace(stage, executors={**stage.executors, C: "two"})
    scheduler = AdaptiveScheduler("n3")
    scheduler.observe(partial)
    assert "nowhere" in (scheduler.waiting(partial) or "")


def test_an_executor_outside_its_pin_goes_there_first() -> None:
    stage = line({A: ("n2", 1), B: ("n2", 1), C: ("n2", 1), D: ("n4", 1)})
    scheduler = ready("n2", stage)
    decision = scheduler.compose(
        stage, space(), RATES, {}, scheduler.wishes(stage, space(), RATES, {})
    )
    assert decision is not None
    assert decision.placement[A][0] == "n1"
    assert "pinned" in decision.reason


def test_a_node_without_a_free_slot_takes_nobody() -> None:
    full = line(SPREAD, free_slots={}, pins={})
    for wish in ready("n3", full).wishes(full, space(), RATES, {}):
        assert wish.to in {slot[0] for slot in full.assignment.values()}


def test_no_more_workers_are_used_than_the_topology_asked_for() -> None:
    stage = line({A: ("n1", 1), B: ("n1", 1), C: ("n4", 1), D: ("n4", 1)}, workers=2)
    trial = Trial(stage, space(), RATES, {})
    assert trial.room([B], "n2") is None
    assert trial.room([B], "n4") == 1


def test_a_loaded_node_is_left() -> None:
    stage = line({A: ("n1", 1), B: ("n2", 1), C: ("n2", 1), D: ("n4", 1)})
    loaded = space({"n2": 1.0})
    scheduler = ready("n2", stage)
    decision = scheduler.compose(
        stage, loaded, RATES, {}, scheduler.wishes(stage, loaded, RATES, {})
    )
    assert decision is not None
    assert "n2" not in {slot[0] for slot in decision.placement.values()}


def test_nobody_flees_from_the_cost_of_the_own_worker() -> None:
    """A worker loads its node by itself; it would do the same on the idle node next door."""
    at_home = {A: ("n1", 1), B: ("n1", 1), C: ("n1", 1), D: ("n4", 1)}
    loaded = space({"n1": 0.8, "n2": 0.0, "n4": 0.8})
    known, unknown = line(at_home, worker_points=75.0), line(at_home)
    assert ready("n1", unknown).wishes(unknown, loaded, RATES, {}) != []
    assert ready("n1", known).wishes(known, loaded, RATES, {}) == []


@pytest.mark.parametrize("points", [0.0, 20.0])
@pytest.mark.parametrize("group", [(B,), (C,), (B, C)])
@pytest.mark.parametrize("to", ["n1", "n2", "n3", "n4"])
def test_what_a_move_is_said_to_gain_is_what_the_cost_falls_by(
    points: float, group: tuple[Executor, ...], to: str
) -> None:
    trial = Trial(
        line(SPREAD, worker_points=points),
        space({"n1": 0.3, "n2": 0.4, "n3": 0.5}),
        RATES,
        {B: 10.0, C: 5.0},
    )
    before, said = trial.cost(), trial.gain(group, to)
    assert trial.move(group, to)
    assert before - trial.cost() == pytest.approx(said)


def test_nothing_moves_to_a_node_that_it_would_fill() -> None:
    stage = line(SPREAD)
    trial = Trial(stage, space({"n2": 0.9}), RATES, {B: 40.0})
    assert trial.room([B], "n2") is None


def test_when_all_nodes_are_loaded_alike_load_moves_nobody() -> None:
    stage = line({A: ("n1", 1), B: ("n1", 1), C: ("n1", 1), D: ("n4", 1)})
    full = space(dict.fromkeys(("n1", "n2", "n3", "n4"), 1.0))
    assert ready("n1", stage).wishes(stage, full, RATES, {}) == []


def test_a_lying_node_is_no_place_to_go() -> None:
    honest = [NodeQos(f"n{i}", Coordinate(30.0 * i, 0.0, 5.0, 0.1), 0.1) for i in (1, 3, 4)]
    for liar in (
        NodeQos("n2", Coordinate(float("nan"), 0.0, 1.0, 0.1)),
        NodeQos("n2", Coordinate(0.0, 0.0, 1.0, 0.1), utilisation=-3.0),
        NodeQos("n2", Coordinate(0.0, 0.0, 1.0, 0.1), availability=float("inf")),
        NodeQos("n2", Coordinate(1e9, 0.0, 1.0, 0.1)),
    ):
        believed = CostSpace([*honest, liar])
        assert "n2" not in believed
        stage = line(SPREAD)
        for wish in ready("n3", stage).wishes(stage, believed, RATES, {}):
            assert wish.to != "n2"


def test_two_that_seek_each_other_would_swap_for_ever_without_look_ahead() -> None:
    """B and C each want to be where the other is. Without look-ahead both go, and again."""
    stage = line({B: ("n2", 1), C: ("n3", 1)}, pins={})
    rates = {(B, C): 10.0}

    def both_go(look_ahead: bool) -> list[dict[Executor, SlotId]]:
        now, seen = stage, []
        agents = {n: ready(n, now, look_ahead=look_ahead, coordinated=False) for n in ("n2", "n3")}
        for _ in range(12):
            merged = dict(now.assignment)
            for agent in agents.values():
                agent.next_round()
                agent.observe(now)
                decision = agent.decide_alone(now, space(), rates, {})
                for e in decision.moved if decision else ():
                    merged[e] = decision.placement[e]  # type: ignore[union-attr]
            seen.append(merged)
            now = line(merged, pins={})
        return seen

    swapping = both_go(look_ahead=False)
    assert swapping[0] == {B: ("n3", 1), C: ("n2", 1)}
    assert all(s[B][0] != s[C][0] for s in swapping)
    settled = both_go(look_ahead=True)
    assert settled[-1][B][0] == settled[-1][C][0]
    assert settled[-1] == settled[0]


def test_coming_back_needs_twice_the_gain_each_time() -> None:
    near = line({A: ("n1", 1), B: ("n1", 1), C: ("n4", 1), D: ("n4", 1)})
    far = line({A: ("n1", 1), B: ("n4", 1), C: ("n4", 1), D: ("n4", 1)})
    scheduler = AdaptiveScheduler("n1")
    needs = []
    for stage in (near, far, near, far, near):
        scheduler.observe(stage)
        scheduler.next_round()
        trial = Trial(stage, space(), RATES, {})
        to = "n4" if stage is near else "n1"
        needs.append(scheduler._threshold(trial, (B,), to) / max(0.1 * trial.cost_of((B,)), 0.02))
    assert needs[0] == pytest.approx(1.0)
    assert needs[1] == pytest.approx(2.0)
    assert needs[-1] >= 4.0


def check_decision(decision: QosDecision, stage: Stage) -> None:
    assert set(decision.placement) == set(stage.executors)
    assert decision.after < decision.before
    for e, (node, _) in decision.placement.items():
        assert stage.may_hold(e, node)
        assert node in stage.live_nodes
    assert len(set(decision.placement.values())) <= stage.workers


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_composed_decision_places_everybody_lowers_the_cost_and_keeps_pins(replicas: int) -> None:
    w = world(replicas=replicas)
    before = w.stage
    for _ in range(8):
        base = w.stage
        if w.step() and base is before:
            break
    assert w.stage.assignment != before.assignment
    check_decision(QosDecision("t", before.base, w.stage.assignment, (), 2.0, 1.0, ""), before)


def test_the_budget_of_moves_is_kept() -> None:
    w = world(replicas=2, move_budget=3)
    w.run(40)
    assert w.decisions
    assert max(moved for _, moved in w.decisions) <= 3


def test_wishes_for_executors_that_do_not_exist_are_not_heard() -> None:
    stage, rates = tag_and_count()
    scheduler = ready("n2", stage)
    nodes = [
        NodeQos(n, Coordinate(10.0 * i, 0.0, 5.0, 0.1), 0.1)
        for i, n in enumerate(sorted(stage.live_nodes))
    ]
    wish = Wish(((99, 99),), "n2", 5.0)
    assert scheduler.compose(stage, CostSpace(nodes), rates, {}, [wish]) is None
    assert len(chain_path(stage)) == 7
