"""What every algorithm promises, on named clusters; the verifier is the judge."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from brain.algorithms import registry
from brain.algorithms.parts.verify import check, violations
from brain.errors import BadInput
from brain.model import CommGraph, Node, Options, Placement, Problem, Result, Status
from brain.problems.fischer import parallel
from tests.algorithms.clusters import chain, cluster, nodes_of, topology, union

EVERY = registry.names()
CONSTRAINED = tuple(name for name in EVERY if name != "even")
"""Storm's own scheduler knows nothing of CPU, memory, pins, spread or co-location."""
FEW_SECONDS = Options(theta=0.3)


def solved(
    name: str,
    problem: Problem,
    current: Placement | None = None,
    options: Options = FEW_SECONDS,
) -> Result:
    """The answer of an algorithm, after the verifier has found nothing wrong with it."""
    result = registry.run(name, problem, current, options)
    assert check(problem, result, current, options) == []
    return result


@pytest.mark.parametrize("name", EVERY)
def test_the_registry_knows_the_algorithm_by_its_name(name: str) -> None:
    problem = chain(4, cluster("2x4"))
    assert solved(name, problem).algorithm == name


def test_an_unknown_algorithm_is_refused_with_the_names_that_exist() -> None:
    with pytest.raises(BadInput) as e:
        registry.get("best")
    assert e.value.hint is not None
    assert all(name in e.value.hint for name in EVERY)


def test_every_parameter_that_is_looked_up_is_listed() -> None:
    """So that a misspelt one can be refused: the names in the sources are those in the registry."""
    looked_up: set[str] = set()
    for file in Path(registry.__file__).parent.rglob("*.py"):
        looked_up |= set(re.findall(r'\.(?:number|choice)\(\s*"(\w+)"', file.read_text("utf-8")))
        looked_up |= set(re.findall(r'params\.get\("(\w+)"', file.read_text("utf-8")))
    listed = {name for names in registry.PARAMETERS.values() for name in names}
    assert looked_up == {n for n in listed if not n.startswith("w_")}
    assert set(registry.PARAMETERS) == set(EVERY)


@pytest.mark.parametrize("name", EVERY)
def test_a_problem_without_nodes_is_infeasible_with_the_reason(name: str) -> None:
    result = solved(name, chain(3, []))
    assert result.status is Status.INFEASIBLE
    assert any("no nodes" in reason for reason in result.reasons)


@pytest.mark.parametrize("name", EVERY)
def test_nodes_without_slots_are_infeasible_with_the_reason(name: str) -> None:
    result = solved(name, chain(3, [Node("n1", ())]))
    assert result.status is Status.INFEASIBLE
    assert any("no node has a free slot" in reason for reason in result.reasons)


@pytest.mark.parametrize("name", EVERY)
def test_no_executors_are_placed_without_complaint(name: str) -> None:
    problem = union(cluster("2x2"), [topology("t", {})])
    result = solved(name, problem)
    assert result.status is Status.OK
    assert len(result.placement) == 0


@pytest.mark.parametrize("name", EVERY)
def test_no_topologies_are_placed_without_complaint(name: str) -> None:
    problem = Problem(cluster("2x2"), (), CommGraph.empty(0))
    assert solved(name, problem).status is Status.OK


@pytest.mark.parametrize("name", EVERY)
def test_one_node_takes_everything(name: str) -> None:
    result = solved(name, chain(4, cluster("1x4")))
    assert result.status is Status.OK
    assert result.score.inter_node == 0.0


@pytest.mark.parametrize("name", CONSTRAINED)
def test_unequal_nodes_are_never_overfull(name: str) -> None:
    problem = chain(38, cluster("3x6 3x4 4x2"))  # 38 tasks for 38 places
    assert solved(name, problem).status is Status.OK


@pytest.mark.parametrize("name", CONSTRAINED)
def test_a_topology_larger_than_the_cluster_is_placed_as_far_as_it_fits(name: str) -> None:
    problem = chain(10, cluster("2x4"))
    result = solved(name, problem)
    assert result.status is Status.BEST_EFFORT
    assert int(result.placement.placed.sum()) == 8
    left = np.flatnonzero(~result.placement.placed)
    (reason,) = [r for r in result.reasons if "not placed" in r]
    assert reason.endswith(": " + ", ".join(str(e) for e in left))


@pytest.mark.parametrize("name", CONSTRAINED)
def test_nodes_without_capacity_stay_empty(name: str) -> None:
    nodes = [*cluster("2x2"), Node("zero", (6700,), cpu=0.0)]
    result = solved(name, chain(4, nodes))
    assert result.status is Status.OK


@pytest.mark.parametrize("name", CONSTRAINED)
def test_memory_is_as_hard_as_cpu(name: str) -> None:
    nodes = [Node(f"n{i}", (1, 2), cpu=1000.0, memory_mb=300.0) for i in range(4)]
    result = solved(name, chain(12, nodes, cpu=10.0, memory_mb=100.0))
    assert result.status is Status.OK
    assert np.bincount(nodes_of(chain(12, nodes), result.placement)).tolist() == [3, 3, 3, 3]


@pytest.mark.parametrize("name", EVERY)
def test_several_topologies_share_nodes_but_no_slot(name: str) -> None:
    own = [topology(f"t{i}", {"a": 2, "b": 2}, cpu=50.0, workers=2) for i in range(3)]
    talk = [[(0, 2, 5.0), (1, 3, 5.0)]] * 3
    result = solved(name, union(cluster("3x4"), own, talk))
    assert result.status is Status.OK


@pytest.mark.parametrize("name", EVERY)
def test_slots_run_out_before_topologies_do(name: str) -> None:
    own = [topology(f"t{i}", {"a": 1}, workers=1) for i in range(5)]
    nodes = [Node("n1", (1, 2)), Node("n2", (1,))]
    result = solved(name, union(nodes, own))
    assert result.status is Status.BEST_EFFORT
    assert int(result.placement.placed.sum()) == 3


@pytest.mark.parametrize("name", EVERY)
def test_no_more_workers_are_used_than_requested(name: str) -> None:
    problem = chain(12, cluster("6x6"), workers=3)
    result = solved(name, problem)
    assert result.status is Status.OK
    assert len(np.unique(result.placement.slot)) <= 3


@pytest.mark.parametrize("name", EVERY)
def test_more_workers_than_slots_are_asked_for_in_vain(name: str) -> None:
    problem = chain(6, [Node("n1", (1,)), Node("n2", (1,))], workers=50)
    assert solved(name, problem).status is Status.OK


@pytest.mark.parametrize("name", CONSTRAINED)
def test_no_worker_holds_more_than_t_executors(name: str) -> None:
    problem = chain(12, cluster("2x6"), max_executors_per_worker=2)
    result = solved(name, problem)
    assert result.status is Status.OK
    assert np.bincount(result.placement.slot).max() <= 2


@pytest.mark.parametrize("name", CONSTRAINED)
def test_pinned_components_are_on_their_nodes(name: str) -> None:
    problem = chain(6, cluster("3x4"), pin={"c0": ("n3",), "c5": ("n1", "n2")})
    result = solved(name, problem)
    assert result.status is Status.OK
    assert nodes_of(problem, result.placement)[0] == 2


@pytest.mark.parametrize("name", CONSTRAINED)
def test_a_pin_to_a_full_node_leaves_the_executor_out(name: str) -> None:
    nodes = [Node("n1", (1,), cpu=50.0), Node("n2", (1,), cpu=500.0)]
    result = solved(name, chain(3, nodes, pin={"c0": ("n1",)}))
    assert result.status is Status.BEST_EFFORT
    assert not result.placement.placed[0]


@pytest.mark.parametrize("name", CONSTRAINED)
def test_spread_executors_share_no_node_while_there_are_nodes(name: str) -> None:
    own = topology("t", {"a": 4, "b": 4}, cpu=10.0, spread=("b",))
    talk = [(i, j, 1.0) for i in range(4) for j in range(4, 8)]
    problem = union(cluster("5x8"), [own], [talk])
    result = solved(name, problem)
    assert result.status is Status.OK
    assert len(set(nodes_of(problem, result.placement)[4:])) == 4


@pytest.mark.parametrize("name", CONSTRAINED)
def test_spread_over_fewer_nodes_is_even(name: str) -> None:
    own = topology("t", {"a": 6}, cpu=10.0, spread=("a",))
    problem = union(cluster("3x8"), [own])
    result = solved(name, problem)
    assert result.status is Status.OK
    assert np.bincount(nodes_of(problem, result.placement)).tolist() == [2, 2, 2]


@pytest.mark.parametrize("name", CONSTRAINED)
def test_colocated_components_share_one_node(name: str) -> None:
    problem = chain(8, cluster("4x3"), colocate=(("c0", "c7"), ("c7", "c3")))
    result = solved(name, problem)
    assert result.status is Status.OK
    where = nodes_of(problem, result.placement)
    assert where[0] == where[7] == where[3]


@pytest.mark.parametrize("name", CONSTRAINED)
def test_colocation_that_fits_nowhere_gives_way_with_a_reason(name: str) -> None:
    own = topology("t", {"a": 3, "b": 3}, cpu=100.0, colocate=(("a", "b"),))
    result = solved(name, union(cluster("3x2"), [own]))
    assert result.status is Status.BEST_EFFORT
    assert result.placement.placed.all()
    assert any("are to share a node" in reason for reason in result.reasons)


@pytest.mark.parametrize("name", EVERY)
def test_excluded_nodes_get_nothing_and_lose_what_they_have(name: str) -> None:
    nodes = list(cluster("3x4"))
    nodes[1] = replace(nodes[1], excluded=True)
    problem = chain(6, nodes, workers=2)
    current = Placement(np.full(6, problem.slots.index("n2", 6700), dtype=np.int32))
    for known in (None, current):
        result = solved(name, problem, known)
        assert 1 not in nodes_of(problem, result.placement)


@pytest.mark.parametrize("name", EVERY)
def test_frozen_topologies_stay_and_count(name: str) -> None:
    own = [
        topology("old", {"a": 3}, cpu=100.0, frozen=True),
        topology("new", {"a": 4}, cpu=100.0, workers=2),
    ]
    problem = union(cluster("2x4", slots=2), own)
    slot = problem.slots.index("n1", 6700)
    current = Placement(np.array([slot] * 3 + [-1] * 4, dtype=np.int32))
    result = solved(name, problem, current)
    assert result.placement.slot[:3].tolist() == [slot] * 3
    assert slot not in result.placement.slot[3:]
    if name != "even":
        assert result.status is Status.OK  # one beside the frozen ones, three on the other node


@pytest.mark.parametrize("name", EVERY)
def test_ackers_and_system_executors_are_placed_too(name: str) -> None:
    own = topology("t", {"a": 2, "__acker": 2, "__metrics": 1}, cpu=10.0, workers=2)
    result = solved(name, union(cluster("2x4"), [own], [[(0, 2, 3.0), (1, 3, 3.0)]]))
    assert result.placement.placed.all()


@pytest.mark.parametrize("name", EVERY)
def test_without_traffic_everything_is_placed_all_the_same(name: str) -> None:
    own = topology("t", {"a": 4, "b": 4}, cpu=100.0)
    assert solved(name, union(cluster("4x3"), [own])).status is Status.OK


@pytest.mark.parametrize(
    "name", [n for n in CONSTRAINED if n not in ("rstorm", "tstorm", "offline")]
)
def test_without_traffic_the_streams_tell_who_belongs_together(name: str) -> None:
    """Two lines a → b and c → d of the same size on two nodes: each line fits one node."""
    own = topology(
        "t",
        {"a": 2, "b": 2, "c": 2, "d": 2},
        cpu=100.0,
        streams=(("a", "b", "shuffle"), ("c", "d", "shuffle")),
    )
    problem = union(cluster("2x4"), [own])
    result = solved(name, problem)
    where = nodes_of(problem, result.placement)
    assert where[0] == where[1] == where[2] == where[3]
    assert where[4] == where[5] == where[6] == where[7] != where[0]


@pytest.mark.parametrize("name", EVERY)
def test_the_same_seed_gives_the_same_placement(name: str) -> None:
    problem = parallel(3, 6)
    options = Options(theta=5.0, seed=7, params={"steps": 2000})
    first = registry.run(name, problem, None, options)
    second = registry.run(name, problem, None, options)
    assert first.placement.slot.tolist() == second.placement.slot.tolist()


@pytest.mark.parametrize("name", EVERY)
def test_solving_again_from_the_answer_moves_nobody(name: str) -> None:
    problem = chain(16, cluster("3x6 3x4 4x2"))
    current = (
        solved("even", problem).placement if name == "even" else solved(name, problem).placement
    )
    again = solved(name, problem, current)
    assert again.score.moved_executors == 0
    assert again.score.restarted_workers == 0


@pytest.mark.parametrize("name", CONSTRAINED)
@pytest.mark.parametrize("cap", [0, 1, 4])
def test_the_cap_on_moves_is_hard_and_never_makes_it_worse(name: str, cap: int) -> None:
    problem = chain(16, cluster("4x6"), cpu=100.0)
    current = Placement(
        np.array([problem.slots.index(f"n{i % 4 + 1}", 6700) for i in range(16)], dtype=np.int32)
    )
    before = problem.graph.crossing(current.nodes(problem.slots))
    result = solved(name, problem, current, replace(FEW_SECONDS, max_moves=cap))
    assert result.status is Status.OK
    assert result.score.moved_executors <= cap
    assert result.score.inter_node <= before
    if cap == 4:
        assert result.score.inter_node < before


@pytest.mark.parametrize("name", CONSTRAINED)
def test_moving_must_pay_its_price(name: str) -> None:
    problem = chain(8, cluster("2x6"))
    slots = [problem.slots.index(f"n{i % 2 + 1}", 6700) for i in range(8)]
    current = Placement(np.array(slots, dtype=np.int32))
    free = solved(name, problem, current)
    dear = solved(name, problem, current, replace(FEW_SECONDS, params={"move_cost": 1e9}))
    assert free.score.inter_node <= dear.score.inter_node
    assert dear.score.moved_executors == 0


@pytest.mark.parametrize("name", EVERY)
def test_the_problem_is_left_as_it_was(name: str) -> None:
    problem = chain(6, cluster("3x4"))
    current = Placement(np.zeros(6, dtype=np.int32))
    weight, slot = problem.graph.weight.copy(), current.slot.copy()
    solved(name, problem, current)
    assert (problem.graph.weight == weight).all()
    assert (current.slot == slot).all()
    assert violations(problem, current, current) != []  # six tasks on a node for four
