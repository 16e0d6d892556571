"""The parts that the algorithms share."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from brain.algorithms.parts.keep import keep_in_place
from brain.algorithms.parts.levels import feasible_nodes, to_slots
from brain.algorithms.parts.limits import Limits
from brain.algorithms.parts.moves import cap_moves
from brain.algorithms.parts.partition import partition
from brain.algorithms.parts.relabel import relabel
from brain.algorithms.parts.score import score
from brain.algorithms.parts.split import split
from brain.algorithms.parts.structure import planning_graph
from brain.algorithms.parts.subgraph import subgraph
from brain.algorithms.parts.workspace import Workspace
from brain.errors import BadInput
from brain.model import CommGraph, Node, Options, Placement
from tests.algorithms.clusters import chain, cluster, nodes_of, topology, union


def pairs_graph(n: int, heavy: float = 100.0) -> CommGraph:
    """0-1, 2-3, … talk much; 1-2, 3-4, … little."""
    line = list(pairwise(range(n)))
    weight = [heavy if a % 2 == 0 else 1.0 for a, _ in line]
    return CommGraph.from_edges(n, [a for a, _ in line], [b for _, b in line], weight)


def test_relabelling_keeps_the_most_where_it_is() -> None:
    part = np.array([0, 0, 0, 1, 1, 2], dtype=np.int32)
    now = np.array([2, 2, 1, 0, 0, 1], dtype=np.int32)
    assert relabel(part, 3, now, 3).tolist() == [2, 0, 1]


def test_relabelling_prefers_nodes_that_can_hold_the_part() -> None:
    part = np.array([0, 0, 1], dtype=np.int32)
    now = np.array([1, 1, 0], dtype=np.int32)
    fits = np.array([[True, False], [True, True]])
    assert relabel(part, 2, now, 2, fits=fits).tolist() == [0, 1]


def test_relabelling_falls_back_on_the_node_a_part_was_cut_for() -> None:
    part = np.array([0, 1, 2], dtype=np.int32)
    nowhere = np.full(3, -1, dtype=np.int32)
    home = np.array([2, 0, 1], dtype=np.int32)
    assert relabel(part, 3, nowhere, 3, home=home).tolist() == [2, 0, 1]


def test_a_node_is_split_into_workers_along_its_traffic() -> None:
    graph = pairs_graph(8).symmetric
    workers = split(graph, np.arange(8), 4)
    assert sorted(w.tolist() for w in workers) == [[0, 1], [2, 3], [4, 5], [6, 7]]


@pytest.mark.parametrize("n", [5, 9, 30, 100])
@pytest.mark.parametrize("workers", [2, 3, 4])
def test_no_worker_gets_more_than_its_share(n: int, workers: int) -> None:
    rng = np.random.default_rng(n * workers)
    graph = CommGraph.from_edges(
        n, rng.integers(0, n, 3 * n), rng.integers(0, n, 3 * n), rng.random(3 * n) * 1e6
    )
    parts = split(graph.symmetric, np.arange(n), workers)
    assert max(len(p) for p in parts) <= -(-n // workers)
    assert sorted(np.concatenate(parts).tolist()) == list(range(n))


@pytest.mark.parametrize("weight", [1e-9, 1.0, 1e15])
def test_partitions_do_not_depend_on_the_unit_of_the_weights(weight: float) -> None:
    graph = pairs_graph(40)
    scaled = CommGraph.from_edges(40, graph.sources, graph.indices, graph.weight * weight)
    part = partition(scaled.symmetric, 4, np.full(40, weight))
    assert graph.crossing(part) <= 10.0  # METIS finds cuts between the pairs
    assert np.bincount(part, minlength=4).max() <= 12


def test_partition_handles_what_metis_cannot() -> None:
    empty = CommGraph.empty(5).symmetric
    assert partition(CommGraph.empty(0), 3, np.zeros(0)).tolist() == []
    assert sorted(partition(empty, 8, np.ones(5)).tolist()) == sorted(
        set(partition(empty, 8, np.ones(5)).tolist())
    )
    nothing = partition(empty, 2, np.zeros(5))
    assert set(nothing.tolist()) == {0, 1}
    only = partition(pairs_graph(20).symmetric, 4, np.ones(20), target=np.array([0.0, 1, 0, 0]))
    assert set(only.tolist()) == {1}


def test_target_shares_are_met() -> None:
    part = partition(pairs_graph(120).symmetric, 3, np.ones(120), target=np.array([6.0, 4.0, 2.0]))
    sizes = np.bincount(part, minlength=3)
    assert np.abs(sizes - np.array([60, 40, 20])).max() <= 6


def test_subgraphs_keep_the_edges_between_their_members() -> None:
    graph = pairs_graph(6).symmetric
    small = subgraph(graph, np.array([1, 2, 5]))
    assert (small.sources.tolist(), small.indices.tolist()) == ([0, 1], [1, 0])
    assert small.weight.tolist() == [1.0, 1.0]


def test_structure_stands_in_for_traffic_that_is_not_there_yet() -> None:
    streams = (("a", "b", "shuffle"), ("b", "c", "all"), ("c", "d", "global"))
    quiet = topology("quiet", {"a": 2, "b": 4, "c": 2, "d": 3}, streams=streams)
    loud = topology("loud", {"a": 1, "b": 1}, streams=(("a", "b", "shuffle"),))
    graph = planning_graph(union(cluster("2x9"), [quiet, loud], [[], [(0, 1, 7.0)]]))
    rate = {
        (int(a), int(b)): float(w)
        for a, b, w in zip(graph.sources, graph.indices, graph.weight, strict=True)
    }
    assert rate[0, 2] == 0.25  # shared by the four of b
    assert rate[2, 6] == rate[2, 7] == 1.0  # whole to all of c
    assert rate[6, 8] == rate[7, 8] == 1.0  # whole to the first of d
    assert (6, 9) not in rate
    assert rate[11, 12] == 7.0  # measured stays measured


def test_limits_take_frozen_topologies_off() -> None:
    own = [topology("old", {"a": 2}, cpu=100.0, frozen=True), topology("new", {"a": 1})]
    problem = union(cluster("2x4"), own)
    limits = Limits.of(problem, Placement(np.array([0, 1, -1], dtype=np.int32)))
    assert limits.slots_free.tolist() == [2, 4]
    assert limits.cpu_free.round().tolist() == [200.0, 400.0]
    assert limits.movable.tolist() == [False, False, True]


def test_repair_keeps_what_fits_and_moves_the_rest() -> None:
    problem = chain(6, cluster("1x4 2x2"))
    work = Workspace(problem, None, Options())
    node = feasible_nodes(work, np.zeros(6, dtype=np.int32))
    assert np.bincount(node, minlength=3).tolist()[0] == 4
    assert (node >= 0).all()


def test_repair_makes_room_by_moving_others() -> None:
    """The large one fits only n1, where small ones are who could be elsewhere."""
    nodes = [Node("n1", (1,), cpu=300.0), Node("n2", (1,), cpu=200.0)]
    own = topology("t", {"small": 2, "large": 1}, cpu=[100.0, 100.0, 300.0])
    work = Workspace(union(nodes, [own]), None, Options())
    node = feasible_nodes(work, np.array([0, 0, -1], dtype=np.int32))
    assert node.tolist() == [1, 1, 0]


def test_workers_that_need_not_change_keep_their_slots() -> None:
    problem = chain(6, cluster("2x6"), cpu=0.0)
    current = Placement(np.array([1, 1, 2, 7, 7, 7], dtype=np.int32))
    work = Workspace(problem, current, Options())
    same = to_slots(work, work.current_node)
    assert same.slot.tolist() == current.slot.tolist()
    moved = to_slots(work, np.array([0, 0, 0, 1, 1, 0], dtype=np.int32), sticky=True)
    assert moved.slot.tolist()[:5] == [1, 1, 2, 7, 7]
    assert moved.slot[5] in (1, 2)


def test_names_of_equal_nodes_are_chosen_so_that_nobody_moves() -> None:
    problem = chain(8, cluster("4x2"))
    current = Placement(np.repeat([6, 4, 2, 0], 2).astype(np.int32))
    work = Workspace(problem, current, Options())
    turned = Placement(np.repeat([1, 3, 5, 7], 2).astype(np.int32))
    assert keep_in_place(work, turned).slot.tolist() == current.slot.tolist()


def test_the_best_moves_come_first_under_a_cap() -> None:
    """Each node holds one of every pair; with a cap of 1 the heaviest pair comes together."""
    own = topology("t", {"a": 6}, cpu=100.0)
    talk = [(0, 3, 10.0), (1, 4, 50.0), (2, 5, 20.0)]
    problem = union(cluster("2x4"), [own], [talk])
    current = Placement(np.array([0, 0, 0, 4, 4, 4], dtype=np.int32))
    target = Placement(np.array([0, 4, 4, 0, 4, 4], dtype=np.int32))
    costs = []
    for cap in range(4):
        work = Workspace(problem, current, Options(max_moves=cap))
        costs.append(score(problem, cap_moves(work, target), current).inter_node)
    assert costs == [80.0, 30.0, 10.0, 0.0]


def test_full_nodes_swap_under_a_cap() -> None:
    own = topology("t", {"a": 4}, cpu=100.0)
    problem = union(cluster("2x2"), [own], [[(0, 2, 10.0), (1, 3, 10.0)]])
    current = Placement(np.array([0, 0, 2, 2], dtype=np.int32))
    target = Placement(np.array([0, 2, 0, 2], dtype=np.int32))
    work = Workspace(problem, current, Options(max_moves=2))
    capped = cap_moves(work, target)
    assert score(problem, capped, current).inter_node == 0.0
    less = cap_moves(Workspace(problem, current, Options(max_moves=1)), target)
    assert nodes_of(problem, less) == [0, 0, 1, 1]


def test_wrong_parameters_are_refused_by_name() -> None:
    work = Workspace(chain(2, cluster("1x2")), None, Options(params={"alpha": 3, "cpu": "maybe"}))
    with pytest.raises(BadInput, match=r"params\.alpha"):
        work.number("alpha", 0.0, 0.0, 1.0)
    with pytest.raises(BadInput, match=r"params\.cpu"):
        work.choice("cpu", "hard", ("hard", "soft"))
