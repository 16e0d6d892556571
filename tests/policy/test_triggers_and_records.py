"""Every trigger shows in the decisions, every setting is checked, every decision can be remade."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain.algorithms import registry
from brain.config import KEYS, Scope, Settings
from brain.errors import BadInput
from brain.monitor.snapshot import read_snapshot
from brain.policy.decision import Outcome, Trigger
from brain.policy.replay import replay, to_document
from tests.harness.wire import cluster_state, supervisor, topology
from tests.policy.test_adaptive import ALIGNED, CROSSED, LINES, Simulation


def kinds(world: Simulation) -> list[str]:
    return [d.trigger.kind for d in world.decisions]


def test_a_topology_that_is_killed_lets_the_others_look_again() -> None:
    world = Simulation(**{"period.secs": 3600})
    world.run(60, LINES)
    other = topology("other-2-2", {"x": 1}, {1: ("n1", 6701)})
    mine = topology(world.name, {"spout": 3, "bolt": 3}, world.slots, conf=world.conf)
    nodes = [supervisor(n, cpu=c) for n, c in world.nodes.items()]
    world.core.on_snapshot(read_snapshot(cluster_state(nodes, [mine, other])), world.now)
    world.run(60, LINES)  # the next snapshot no longer has it
    assert kinds(world) == ["first", "topology-killed"]
    assert "other-2-2" in world.decisions[-1].trigger.detail


def test_losing_and_joining_at_once_are_both_told() -> None:
    world = Simulation(**{"period.secs": 3600})
    world.nodes["n4"] = 400.0
    world.run(60, LINES)
    del world.nodes["n4"]
    world.nodes["n5"] = 400.0
    world.run(60, LINES)
    last = world.decisions[-1].trigger
    assert last.kind == "node-lost"
    assert "n4" in last.detail
    assert "node-joined: n5" in last.detail


def test_a_rebalance_is_followed_by_a_look() -> None:
    world = Simulation(**{"period.secs": 3600})
    world.run(60, LINES)
    world.slots = {}
    world.now += 5000
    world.snapshot()
    world.slots = dict(ALIGNED)
    world.run(60, LINES)
    assert kinds(world) == ["first", "rebalance"]


def test_settings_that_a_rebalance_changes_are_in_force_at_once() -> None:
    world = Simulation()
    world.run(60, LINES)
    world.conf["topology.brain.mode"] = "off"
    world.conf["topology.brain.observe.secs"] = 90
    world.run(10, LINES)
    seen = len(world.decisions)
    world.run(200, CROSSED)
    assert len(world.decisions) == seen
    assert world.core.records[world.name].settings["observe.secs"] == 90
    world.conf["topology.brain.mode"] = "auto"
    world.run(200, CROSSED)
    assert len(world.moves) == 1


def test_a_broken_constraint_is_named_as_the_trigger() -> None:
    world = Simulation(pin={"spout": ["n3.example"]}, mode="dry-run")
    world.run(100, LINES)
    assert "constraint-broken" in kinds(world)
    assert world.moves == []  # a dry run decides the same, and moves nothing
    assert world.decisions[-1].outcome is Outcome.MOVE


def test_a_node_that_joins_is_used_by_who_needs_it() -> None:
    everything_on_one = dict.fromkeys(range(1, 7), ("n1", 6700))
    world = Simulation(everything_on_one, **{"overload.secs": 20})
    world.nodes = {"n1": 400.0}
    world.cpu = dict.fromkeys(range(1, 7), 70.0)
    world.run(120, LINES)
    assert world.moves == []
    world.nodes["n2"] = 400.0
    world.run(120, LINES)
    assert len(world.moves) == 1
    assert {slot[0] for slot in world.slots.values()} == {"n1", "n2"}


def test_who_runs_on_a_blacklisted_node_stays_until_it_is_let_back() -> None:
    world = Simulation()
    world.run(100, LINES)
    world.run(100, CROSSED)
    assert len(world.moves) == 1
    world.blacklisted = {"n1"}
    world.run(200, LINES)  # another placement would be better, but not for who must stay
    assert len(world.moves) == 1
    record = world.core.records[world.name]
    assert "n1 blacklisted by Storm" in world.core.note(record, world.now)
    assert record.plan is not None
    assert world.core.references() == [record.plan.ref]  # what runs there is not cast out either
    world.blacklisted = set()
    world.run(100, LINES)
    assert len(world.moves) == 2


def test_a_blacklisted_node_that_is_overloaded_is_left() -> None:
    everything_on_one = dict.fromkeys(range(1, 7), ("n1", 6700))
    world = Simulation(everything_on_one, **{"overload.secs": 20})
    world.cpu = dict.fromkeys(range(1, 7), 70.0)
    world.blacklisted = {"n1"}
    world.run(120, LINES)
    assert len(world.moves) == 1
    assert "n1" not in {slot[0] for slot in world.slots.values()}


def test_components_that_there_are_not_are_told() -> None:
    world = Simulation(pin={"spuot": ["n1"]}, spread=["blot"], colocate=[["bolt", "nobody"]])
    world.run(10, LINES)
    note = world.core.note(world.core.records[world.name], world.now)
    for name in ("spuot", "blot", "nobody"):
        assert f"there is no component '{name}'" in note


def test_an_algorithm_that_there_is_not_is_told_and_the_clusters_is_used() -> None:
    world = Simulation(algorithm="metsi")
    world.run(100, CROSSED)
    note = world.core.note(world.core.records[world.name], world.now)
    assert "topology.brain.algorithm: must be one of" in note
    assert all(d.outcome is not Outcome.FAILED for d in world.decisions)


garbage = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([k for k, v in KEYS.items() if v.scope is Scope.TOPOLOGY]), garbage)
def test_no_value_of_a_topology_breaks_the_brain(name: str, value: Any) -> None:
    own = Settings().for_topology("t", {name: json.dumps(value)})
    if own.errors:
        assert name in own.errors[0]
        assert own.values[name] == KEYS[name].default
    else:
        KEYS[name].validate(own.values[name], "again")


@pytest.mark.parametrize("text", ["{", "nonsense", "[" * 5000])
def test_what_is_not_json_is_told(text: str) -> None:
    own = Settings().for_topology("t", {"topology.brain.seed": text})
    assert "topology.brain.seed" in own.errors[0]
    assert own["seed"] == 0


def test_a_wrong_value_in_the_clusters_file_leaves_the_default_and_is_told() -> None:
    values = {
        "brain.scheduler.max.connections": "many",
        "topology.brain.cooldown.secs": 77,
        "topology.brain.cooldwon.secs": 1,
    }
    read, wrong = Settings.read_file(values, "storm.yaml")
    assert read["max.connections"] == KEYS["brain.scheduler.max.connections"].default
    assert read.for_topology("t", {})["cooldown.secs"] == 77
    assert "storm.yaml: brain.scheduler.max.connections" in wrong[0]
    assert "did you mean topology.brain.cooldown.secs?" in wrong[1]
    with pytest.raises(BadInput, match="token"):  # a default would open the door
        Settings.read_file({"brain.scheduler.token": 5}, "storm.yaml")


def documents(world: Simulation) -> list[dict[str, Any]]:
    """What the runtime would have written for the decisions of now, under several triggers."""
    found = []
    for kind in ("gain", "node-joined"):
        task = world.core.prepare(world.name, Trigger(kind, ""), world.now)
        assert task is not None
        built = task.built
        result = registry.run(task.algorithm, built.problem, built.current, task.options)
        decision, _ = world.core.assess(task, result, world.now)
        decision, document = to_document(task, result, decision)
        assert document["decision"]["inputs_digest"] == decision.inputs_digest
        found.append(json.loads(json.dumps(document, default=str)))
    return found


@pytest.mark.parametrize(("edges", "outcome"), [(LINES, "stay"), (CROSSED, "move")])
def test_a_recorded_decision_comes_out_the_same(edges: Any, outcome: str) -> None:
    world = Simulation(**{"first.replacement.secs": 3600})
    world.run(60, edges)
    for document in documents(world):
        again = replay(document, solve=True)
        assert again.recorded[0] == outcome
        assert again.same
        assert again.inputs_intact
        assert again.same_placement


def test_inputs_that_were_changed_afterwards_are_noticed() -> None:
    world = Simulation(**{"first.replacement.secs": 3600})
    world.run(60, CROSSED)
    document = documents(world)[0]
    document["situation"]["tuples"] += 1
    assert not replay(document).same
