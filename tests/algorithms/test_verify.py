"""The verifier finds each kind of violation, and holds results to their word."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from brain.algorithms.parts.score import score
from brain.algorithms.parts.verify import check, violations
from brain.algorithms.parts.verify_score import plain_score
from brain.model import Node, Options, Placement, Problem, Result, Status
from tests.algorithms.clusters import chain, cluster, random_problem, topology, union


def placed(problem: Problem, *slots: int) -> Placement:
    return Placement(np.array(slots, dtype=np.int32))


def kinds(problem: Problem, placement: Placement, current: Placement | None = None) -> list[str]:
    return [v.kind for v in violations(problem, placement, current)]


TWO = (Node("n1", (1, 2), cpu=200.0), Node("n2", (1, 2), cpu=200.0))
"""Slots 0 and 1 are on n1, slots 2 and 3 on n2."""


def test_a_good_placement_has_no_violation() -> None:
    problem = chain(4, TWO)
    assert kinds(problem, placed(problem, 0, 0, 2, 2)) == []


def test_unplaced_executors_are_named() -> None:
    problem = chain(3, TWO)
    (found,) = violations(problem, placed(problem, 0, -1, -1))
    assert found.kind == "unplaced"
    assert found.message.endswith("not placed: 1, 2")


def test_slots_must_exist() -> None:
    problem = chain(2, TWO)
    assert kinds(problem, placed(problem, 0, 4)) == ["no-slot"]
    assert kinds(problem, placed(problem, 0)) == ["no-slot"]


def test_a_slot_belongs_to_one_topology() -> None:
    problem = union(TWO, [topology("a", {"x": 1}), topology("b", {"x": 1})])
    (found,) = violations(problem, placed(problem, 1, 1))
    assert found.kind == "shared-slot"
    assert "n1:2" in found.message


def test_cpu_and_memory_are_summed_over_topologies() -> None:
    nodes = [Node("n1", (1, 2), cpu=100.0, memory_mb=100.0)]
    own = [topology(name, {"x": 1}, cpu=60.0, memory_mb=60.0) for name in "ab"]
    problem = union(nodes, own)
    assert kinds(problem, placed(problem, 0, 1)) == ["cpu", "memory"]


def test_excluded_nodes_must_be_left() -> None:
    problem = chain(2, (TWO[0], replace(TWO[1], excluded=True)))
    assert kinds(problem, placed(problem, 0, 2)) == ["excluded"]


def test_workers_and_executors_per_worker_are_counted() -> None:
    problem = chain(4, TWO, cpu=0.0, workers=2, max_executors_per_worker=2)
    assert kinds(problem, placed(problem, 0, 0, 1, 2)) == ["workers"]
    assert kinds(problem, placed(problem, 0, 0, 0, 2)) == ["per-worker"]


def test_pin_spread_and_colocate_are_checked() -> None:
    problem = chain(4, TWO, cpu=0.0, pin={"c0": ("n2",)}, colocate=(("c1", "c2"),))
    assert kinds(problem, placed(problem, 0, 0, 2, 2)) == ["pin", "colocate"]
    own = topology("t", {"a": 2, "b": 3}, spread=("a", "b"))
    spread = union(TWO, [own])
    assert kinds(spread, placed(spread, 0, 2, 0, 0, 2)) == []  # three on two nodes: two and one
    assert kinds(spread, placed(spread, 0, 1, 0, 0, 0)) == ["spread", "spread"]


def test_frozen_topologies_must_be_where_they_were() -> None:
    problem = union(TWO, [topology("t", {"a": 2}, cpu=500.0, frozen=True)])
    current = placed(problem, 0, 2)
    assert kinds(problem, current, current) == []  # overfull, but nobody's doing
    assert kinds(problem, placed(problem, 0, 0), current) == ["frozen"]


def result_for(problem: Problem, placement: Placement, **fields: object) -> Result:
    whole = Result(Status.OK, "test", placement, score(problem, placement))
    return replace(whole, **fields)  # type: ignore[arg-type]


def test_ok_with_a_violation_is_a_fault() -> None:
    problem = chain(4, TWO)
    assert check(problem, result_for(problem, placed(problem, 0, 0, 2, 2))) == []
    (fault,) = check(problem, result_for(problem, placed(problem, 0, 0, 0, 2)))
    assert "status ok" in fault


def test_best_effort_must_give_the_reason() -> None:
    problem = chain(4, TWO)
    overfull = placed(problem, 0, 0, 0, 2)
    silent = result_for(problem, overfull, status=Status.BEST_EFFORT)
    assert len(check(problem, silent)) == 2
    reasons = tuple(v.message for v in violations(problem, overfull))
    honest = replace(silent, reasons=reasons)
    assert check(problem, honest) == []


@pytest.mark.parametrize("name", ["inter_node", "inter_worker", "imbalance"])
def test_a_wrong_score_is_a_fault(name: str) -> None:
    problem = chain(4, TWO)
    good = result_for(problem, placed(problem, 0, 1, 2, 3))
    wrong = replace(good, score=replace(good.score, **{name: getattr(good.score, name) + 1.0}))
    assert len(check(problem, wrong)) == 1


def test_a_bound_above_the_cost_is_a_fault() -> None:
    problem = chain(4, TWO)
    assert check(problem, result_for(problem, placed(problem, 0, 0, 2, 2), lower_bound=11.0))
    assert not check(problem, result_for(problem, placed(problem, 0, 0, 2, 2), lower_bound=10.0))


def test_more_moves_than_allowed_are_a_fault() -> None:
    problem = chain(4, TWO)
    current = placed(problem, 0, 0, 2, 2)
    new = placed(problem, 2, 2, 0, 0)
    result = Result(Status.OK, "test", new, score(problem, new, current))
    assert check(problem, result, current, Options(max_moves=4)) == []
    assert check(problem, result, current, Options(max_moves=3)) != []


def test_the_score_counts_what_crosses_nodes_and_workers() -> None:
    problem = chain(5, TWO, cpu=0.0)  # 10 a second from each to the next
    got = score(problem, placed(problem, 0, 0, 1, 2, -1))
    assert got.inter_worker == 10.0
    assert got.inter_node == 20.0  # 2 → 3 crosses, and 3 → 4 goes to nobody yet
    assert got.imbalance == pytest.approx(1.5)  # three of the four placed on half the capacity


def test_moves_and_restarts_follow_storms_rules() -> None:
    problem = chain(5, TWO, cpu=0.0)
    current = placed(problem, 0, 0, 2, 2, -1)
    new = placed(problem, 0, 1, 2, 2, 3)
    got = score(problem, new, current)
    assert got.moved_executors == 1  # the newcomer has not moved
    assert got.restarted_workers == 3  # slot 0 lost one, 1 and 3 are new; 2 runs on
    assert score(problem, new).restarted_workers == 0


@pytest.mark.parametrize("seed", range(40))
def test_numpy_and_plain_python_agree_on_the_score(seed: int) -> None:
    problem, current = random_problem(seed)
    rng = np.random.default_rng(seed)
    slots = rng.integers(-1, max(len(problem.slots), 1), size=len(problem))
    placement = Placement(np.minimum(slots, len(problem.slots) - 1).astype(np.int32))
    fast, plain = score(problem, placement, current), plain_score(problem, placement, current)
    assert fast.inter_node == pytest.approx(plain.inter_node)
    assert fast.inter_worker == pytest.approx(plain.inter_worker)
    assert fast.imbalance == pytest.approx(plain.imbalance)
    assert (fast.moved_executors, fast.restarted_workers) == (
        plain.moved_executors,
        plain.restarted_workers,
    )


def test_clusters_are_built_in_one_line() -> None:
    capacities = [n.cpu for n in cluster("3x6 3x4 4x2")]
    assert capacities == [600.0] * 3 + [400.0] * 3 + [200.0] * 4
