"""Explanations on problems small enough to be checked by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from brain.errors import BadInput
from brain.explain.alternatives import alternatives, costs_by_node
from brain.explain.talk import partners
from brain.explain.topology import (
    explain_executor,
    explain_topology,
    find_executors,
    single_moves,
)
from brain.explain.whatif import Change, changed_view
from brain.model import Placement, Problem
from brain.monitor.snapshot import read_snapshot
from brain.problems.reader import problem_from_dict
from tests.harness.wire import cluster_state, supervisor, topology


def problem(**of_topology: object) -> tuple[Problem, Placement]:
    """a → b → c, 10 and 4 a second; a and c on n1, b alone on n2."""
    document = {
        "nodes": [{"id": n, "slots": [1, 2], "cpu": 100} for n in ("n1", "n2", "n3")],
        "topologies": [
            {
                "id": "t",
                "executors": [{"id": f"{i}-{i}", "component": c, "cpu": 40}
                              for i, c in enumerate("abc")],
                "edges": [{"from": "0-0", "to": "1-1", "tuples": 10},
                          {"from": "1-1", "to": "2-2", "tuples": 4}],
                **of_topology,
            }
        ],
        "current": {"t": {"0-0": ["n1", 1], "1-1": ["n2", 1], "2-2": ["n1", 2]}},
    }  # fmt: skip
    built, current = problem_from_dict(document)
    assert current is not None
    return built, current


def test_partners_are_told_with_direction_and_relation() -> None:
    built, current = problem()
    told = [
        (p.executor, p.relation, p.tuples_out, p.tuples_in) for p in partners(built, current, 1)
    ]
    assert told == [("0-0", "other node", 0.0, 10.0), ("2-2", "other node", 4.0, 0.0)]


def test_the_cost_of_each_node_is_what_the_verifier_would_recompute() -> None:
    built, current = problem()
    for e, n in itertools.product(range(3), range(3)):
        moved = current.slot.copy()
        moved[e] = built.slots.first[n]
        node = Placement(moved).nodes(built.slots)
        own = (built.graph.sources == e) | (built.graph.indices == e)
        crossing = node[built.graph.sources] != node[built.graph.indices]
        expected = built.graph.weight[own & crossing].sum()
        assert costs_by_node(built, current, e)[n] == pytest.approx(expected)


def test_a_cheaper_node_is_named_with_the_constraint_that_binds() -> None:
    built, current = problem()
    (best, *_) = alternatives(built, current, 1)
    assert (best.node, best.change) == ("n1", -14.0)
    assert best.blocked_by == ("node n1 is overfull: 120 of 100 points of CPU",)
    told = explain_executor(built, current, 1)
    assert "n1 would be cheaper by 14" in told["verdict"]
    assert "overfull" in told["verdict"]


def test_a_pin_binds() -> None:
    built, current = problem(pin={"b": ["n2", "n3"]})
    blocked = {a.node: a.blocked_by for a in alternatives(built, current, 1)}
    assert any("pinned to n2, n3" in reason for reason in blocked["n1"])
    assert blocked["n3"] == ()


def test_without_anything_better_it_says_so() -> None:
    built, _ = problem()
    together = Placement(np.array([0, 0, 2], dtype=np.int32))
    assert explain_executor(built, together, 0)["verdict"] == (
        "all that it talks to is on this node"
    )
    assert "no other node would be cheaper" in explain_executor(built, together, 1)["verdict"]


def test_single_moves_are_ordered_by_what_they_save() -> None:
    built, current = problem()
    moves = single_moves(built, current, 0)
    assert [m["executor"] for m in moves] == ["1-1", "0-0", "2-2"]
    assert [m["change"] for m in moves] == [-14.0, -10.0, -4.0]


def test_the_whole_topology_adds_up() -> None:
    built, current = problem()
    told = explain_topology(built, current, 0)
    assert told["inter_node"] == told["total"] == 14.0
    assert [n["executors"] for n in told["nodes"]] == [2, 1, 0]
    assert [n["cpu"] for n in told["nodes"]] == [80.0, 40.0, 0.0]
    assert told["violations"] == []


@pytest.mark.parametrize(("text", "found"), [("1-1", [1]), ("1", [1]), ("c", [2])])
def test_executors_are_found_by_range_task_or_component(text: str, found: list[int]) -> None:
    built, _ = problem()
    assert find_executors(built, 0, text) == found


def test_an_unknown_executor_is_refused_with_the_components() -> None:
    built, _ = problem()
    with pytest.raises(BadInput, match="a, b, c"):
        find_executors(built, 0, "7")


def test_a_removed_node_leaves_its_executors_without_a_home() -> None:
    own = topology("t-1-1", {"a": 2}, {1: ("n1", 6700), 2: ("n2", 6700)})
    view = read_snapshot(cluster_state([supervisor("n1"), supervisor("n2")], [own]))
    then = changed_view(view, Change(add_nodes=1, remove=("n1.example",)))
    assert sorted(then.supervisors) == ["n2", "new-1"]
    assert then.topologies["t-1-1"].assignment == {(2, 2): ("n2", 6700)}
    assert view.topologies["t-1-1"].assignment[(1, 1)] == ("n1", 6700)


@pytest.mark.parametrize("change", [{"add_nodes": -1}, {"rate": 0}, {"rate": 1e9}])
def test_changes_that_cannot_be_meant_are_refused(change: dict[str, float]) -> None:
    with pytest.raises(BadInput):
        Change(**change)  # type: ignore[arg-type]


def test_removing_every_node_is_refused() -> None:
    view = read_snapshot(cluster_state([supervisor("n1")], []))
    with pytest.raises(BadInput, match="no node would be left"):
        changed_view(view, Change(remove=("n1",)))
