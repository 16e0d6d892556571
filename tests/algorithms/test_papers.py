"""What the papers say, algorithm by algorithm."""

from __future__ import annotations

import numpy as np
import pytest

from brain.algorithms import even, metis, offline, online, registry, rstorm
from brain.algorithms.online_phase import Bins, assign_pairs
from brain.algorithms.parts.verify import check
from brain.algorithms.parts.workspace import Workspace
from brain.model import CommGraph, Node, Options, Placement, Problem, Status
from brain.problems.fischer import opengov, parallel, payload, reference
from brain.problems.micro import micro
from tests.algorithms.clusters import chain, cluster, nodes_of, topology, union


class TestEven:
    """EvenScheduler.java; the real one is asked in test_even_peer.py."""

    def test_slots_are_sorted_as_in_the_comment_of_the_source(self) -> None:
        ports = {"supervisor1": (6700, 6701), "supervisor2": (6700, 6701, 6702)}
        ports["supervisor3"] = (6700, 6703, 6702, 6701)
        nodes = [Node(name, slots) for name, slots in ports.items()]
        problem = union(nodes, [topology("t", {"a": 9}, workers=9)])
        result = even.solve(problem, None, Options())
        order = [
            (nodes[int(problem.slots.node[s])].id[-1], int(problem.slots.port[s]))
            for s in result.placement.slot
        ]
        assert order == [
            ("3", 6700), ("2", 6700), ("1", 6700),
            ("3", 6701), ("2", 6701), ("1", 6701),
            ("3", 6702), ("2", 6702),
            ("3", 6703),
        ]  # fmt: skip

    def test_executors_go_round_the_slots(self) -> None:
        problem = chain(7, cluster("3x4"), cpu=0.0, workers=3)
        result = even.solve(problem, None, Options())
        assert nodes_of(problem, result.placement) == [0, 1, 2, 0, 1, 2, 0]

    def test_what_runs_is_left_alone(self) -> None:
        problem = chain(4, cluster("2x4"), cpu=0.0, workers=2)
        current = Placement(np.array([0, 0, -1, -1], dtype=np.int32))
        result = even.solve(problem, current, Options())
        assert result.placement.slot[:2].tolist() == [0, 0]
        assert len(set(result.placement.slot[2:].tolist())) == 1

    def test_the_default_scheduler_frees_uneven_slots_first(self) -> None:
        problem = chain(4, cluster("2x4"), cpu=0.0, workers=2)
        current = Placement(np.zeros(4, dtype=np.int32))
        kept = even.solve(problem, current, Options())
        assert kept.placement.slot.tolist() == [0, 0, 0, 0]
        freed = even.solve(problem, current, Options(params={"variant": "default"}))
        assert np.bincount(freed.placement.slot).max() == 2

    def test_overfull_nodes_are_named(self) -> None:
        problem = chain(4, cluster("1x4 1x1"), workers=2)
        result = even.solve(problem, None, Options())
        assert result.status is Status.BEST_EFFORT
        assert result.reasons == ("node n2 is overfull: 200 of 100 points of CPU",)


class TestOffline:
    @pytest.mark.parametrize(
        ("alpha", "most"), [(0.0, 4), (0.05, 5), (0.1, 6), (0.15, 7), (0.2, 8), (1.0, 23)]
    )
    def test_m_of_alpha_is_between_an_even_share_and_all_but_one_each(
        self, alpha: float, most: int
    ) -> None:
        """30 executors in 8 slots, as in figures 8 and 9: from 4 to 8, and 30 - 8 + 1 at most."""
        assert offline.most_per_slot(30, 8, alpha) == most

    def test_components_come_after_those_that_emit_to_them(self) -> None:
        names = ("sink", "bolt", "spout", "side")
        order = offline.linearise(names, {(2, 1), (1, 0), (2, 3), (3, 0)})
        assert order.index(2) < order.index(1) < order.index(0)
        assert order.index(2) < order.index(3) < order.index(0)

    def test_a_cycle_is_linearised_as_one(self) -> None:
        order = offline.linearise(("spout", "a", "b", "sink"), {(0, 1), (1, 2), (2, 1), (2, 3)})
        assert order == [0, 1, 2, 3]
        assert offline.linearise(("a", "b"), {(0, 1), (1, 0)}) == [0, 1]

    def test_executors_join_the_slots_of_their_upstream(self) -> None:
        """β = 1: empty slots are never forced, so a chain of one each follows its spout."""
        problem = chain(4, cluster("2x4"), cpu=0.0, workers=2)
        result = offline.solve(problem, None, Options(params={"beta": 1.0}))
        assert nodes_of(problem, result.placement) == [0, 0, 1, 1]  # M(0) = 2 a slot

    def test_beta_forces_empty_slots_into_use(self) -> None:
        streams = tuple((f"c{i}", f"c{i + 1}", "shuffle") for i in range(3))
        problem = chain(4, cluster("2x4"), cpu=0.0, workers=2, streams=streams)
        late = Options(params={"alpha": 1.0, "beta": 0.5})
        assert nodes_of(problem, offline.solve(problem, None, late).placement) == [0, 0, 1, 1]
        early = Options(params={"alpha": 1.0, "beta": 0.25})
        assert nodes_of(problem, offline.solve(problem, None, early).placement) == [0, 1, 1, 1]

    def test_slots_go_to_the_nodes_in_turn(self) -> None:
        problem = chain(6, cluster("3x4"), cpu=0.0, workers=6)
        result = offline.solve(problem, None, Options())
        assert np.bincount(nodes_of(problem, result.placement)).tolist() == [2, 2, 2]


class TestOnline:
    def test_pairs_by_descending_rate_go_to_the_least_loaded_worker(self) -> None:
        """The heaviest pairs stay together: 0-1, then 2-3; the light 1-2 is what crosses."""
        graph = CommGraph.from_edges(4, [0, 1, 2], [1, 2, 3], [100.0, 1.0, 90.0]).symmetric
        bins = Bins(np.ones(4), np.full(2, np.inf), np.full(2, 2))
        assign_pairs(graph, bins, np.ones(4, dtype=bool))
        assert bins.of[0] == bins.of[1] != bins.of[2] == bins.of[3]

    def test_an_assigned_executor_moves_when_that_lowers_the_traffic(self) -> None:
        """1 joins 0 first; 2-3 weigh a bit less; 1 says more to both 2 and 3 together."""
        graph = CommGraph.from_edges(
            4, [0, 2, 1, 1], [1, 3, 2, 3], [100.0, 90.0, 80.0, 80.0]
        ).symmetric
        bins = Bins(np.ones(4), np.full(2, np.inf), np.full(2, 3))
        assign_pairs(graph, bins, np.ones(4, dtype=bool))
        assert bins.of[1] == bins.of[2] == bins.of[3] != bins.of[0]

    def test_capacity_and_room_are_never_overrun(self) -> None:
        rng = np.random.default_rng(3)
        graph = CommGraph.from_edges(
            60, rng.integers(0, 60, 400), rng.integers(0, 60, 400), rng.random(400)
        ).symmetric
        load = rng.uniform(1, 10, 60)
        bins = Bins(load, np.full(8, 50.0), np.full(8, 9))
        assign_pairs(graph, bins, np.ones(60, dtype=bool))
        on = bins.of >= 0
        assert np.bincount(bins.of[on], load[on], 8).max() <= 50.0
        assert np.bincount(bins.of[on], minlength=8).max() <= 9

    def test_m_of_alpha_limits_the_executors_of_a_worker(self) -> None:
        problem = chain(12, cluster("4x9"), cpu=10.0, workers=4)
        result = online.solve(problem, None, Options(params={"alpha": 0.0}))
        assert np.bincount(result.placement.slot).max() == 3

    def test_storms_own_executors_are_dealt_evenly(self) -> None:
        own = topology("t", {"a": 2, "b": 2, "__acker": 4}, cpu=10.0, workers=4)
        talk = [(0, 2, 9.0), (1, 3, 9.0), *[(0, e, 1e6) for e in range(4, 8)]]
        problem = union(cluster("4x9"), [own], [talk])
        dealt = online.solve(problem, None, Options())
        assert np.bincount(dealt.placement.slot)[np.unique(dealt.placement.slot)].max() == 2
        assert dealt.placement.slot[0] == dealt.placement.slot[2]
        acker_slots = dealt.placement.slot[4:].tolist()
        assert len(set(acker_slots)) == 2  # the two slots that the pairs left empty

    @pytest.mark.parametrize(("layout", "optimum"), [("diamond", 146.0), ("star", 86.0)])
    def test_it_is_close_to_the_optimum_on_i_schedulers_graphs(
        self, layout: str, optimum: float
    ) -> None:
        problem = micro(layout, 30, cluster("heterogeneous"))
        result = online.solve(problem, None, Options())
        assert optimum <= result.score.inter_node <= 1.1 * optimum


class TestMetis:
    @pytest.mark.parametrize("objective", ["vol", "cut"])
    @pytest.mark.parametrize("machines", [10, 20, 40, 80])
    def test_parallel_is_cut_nowhere(self, objective: str, machines: int) -> None:
        problem = parallel(7, machines)
        result = metis.solve(problem, None, Options(params={"objective": objective}))
        assert result.status is Status.OK
        assert result.score.inter_node == 0.0
        assert result.score.imbalance <= 1.03

    @pytest.mark.parametrize(
        "problem", [reference(7, 20), opengov(20)], ids=["reference", "opengov"]
    )
    def test_capacities_that_metis_overruns_are_repaired(self, problem: Problem) -> None:
        for seed in range(5):
            result = metis.solve(problem, None, Options(seed=seed, params={"objective": "cut"}))
            assert result.status is Status.OK
            assert check(problem, result) == []

    def test_unequal_nodes_get_unequal_parts(self) -> None:
        problem = chain(120, cluster("1x90 1x60 1x30"))
        result = metis.solve(problem, None, Options(params={"objective": "cut"}))
        sizes = np.bincount(nodes_of(problem, result.placement))
        assert np.abs(sizes - np.array([60, 40, 20])).max() <= 6

    @pytest.mark.parametrize("kind", ["cpu", "tuples", "none"])
    def test_vertices_weigh_what_is_asked_for(self, kind: str) -> None:
        problem = payload(3, 8)
        result = metis.solve(problem, None, Options(params={"vertex_weights": kind}))
        assert result.status is Status.OK
        assert check(problem, result) == []

    def test_tuple_counts_balance_the_tuples(self) -> None:
        """Without CPU figures nodes share the tuples: two loud chains on two nodes."""
        own = topology("t", {"a": 8})
        talk = [(0, 1, 100.0), (2, 3, 100.0), (4, 5, 1.0), (6, 7, 1.0)]
        problem = union([Node("n1", (1,)), Node("n2", (1,))], [own], [talk])
        result = metis.solve(problem, None, Options(params={"objective": "cut"}))
        where = nodes_of(problem, result.placement)
        assert where[0] == where[1] != where[2] == where[3]
        assert result.score.inter_node == 0.0

    @pytest.mark.parametrize(("kind", "together"), [("bytes", (0, 1)), ("tuples", (1, 2))])
    def test_edges_weigh_bytes_or_tuples(self, kind: str, together: tuple[int, int]) -> None:
        """A ring: many small tuples on one pair of sides, few large ones on the other."""
        own = topology("t", {"a": 4}, cpu=100.0)
        problem = union(cluster("2x2"), [own])
        sides, turned = [0, 1, 2, 3], [1, 2, 3, 0]
        graph = CommGraph.from_edges(4, sides, turned, [1, 90, 1, 90], [9000, 90, 9000, 90])
        problem = Problem(problem.nodes, problem.topologies, graph)
        params = {"objective": "cut", "edge_weights": kind}
        result = metis.solve(problem, None, Options(params=params))
        where = nodes_of(problem, result.placement)
        assert where[together[0]] == where[together[1]]
        assert len(set(where)) == 2
        assert check(problem, result) == []

    def test_parts_are_relabelled_to_the_nodes_they_run_on(self) -> None:
        problem = parallel(3, 6)
        first = metis.solve(problem, None, Options())
        turned = Placement((first.placement.slot + 4) % len(problem.slots))
        again = metis.solve(problem, turned, Options(seed=5))
        assert again.score.moved_executors == 0


class TestRStorm:
    def test_tasks_are_taken_breadth_first_round_by_round(self) -> None:
        streams = (("s", "x", "shuffle"), ("s", "y", "shuffle"), ("x", "z", "shuffle"))
        own = topology("t", {"z": 1, "y": 2, "x": 2, "s": 1}, streams=streams)
        work = Workspace(union(cluster("2x9"), [own]), None, Options())
        names = [own.components[c] for c in rstorm.breadth_first(work, 0)]
        assert names == ["s", "y", "x", "z"]
        assert rstorm.task_order(work, 0) == [5, 1, 3, 0, 2, 4]

    def test_a_topology_stays_near_the_reference_node(self) -> None:
        nodes = [Node(f"n{i}", (1, 2), rack=f"r{i % 2}", cpu=400.0) for i in range(6)]
        problem = chain(8, nodes)
        result = rstorm.solve(problem, None, Options())
        racks = {nodes[n].rack for n in nodes_of(problem, result.placement)}
        assert len(racks) == 1

    def test_cpu_may_be_soft_as_in_the_paper_but_then_it_is_told(self) -> None:
        nodes = [Node("n1", (1,), cpu=100.0, memory_mb=1000.0)]
        problem = chain(3, nodes, memory_mb=100.0)
        hard = rstorm.solve(problem, None, Options())
        assert int(hard.placement.placed.sum()) == 1
        soft = rstorm.solve(problem, None, Options(params={"cpu": "soft"}))
        assert soft.placement.placed.all()
        assert soft.status is Status.BEST_EFFORT
        assert soft.reasons == ("node n1 is overfull: 300 of 100 points of CPU",)

    def test_memory_stays_hard_when_cpu_is_soft(self) -> None:
        problem = chain(3, [Node("n1", (1,), cpu=100.0, memory_mb=250.0)], memory_mb=100.0)
        soft = rstorm.solve(problem, None, Options(params={"cpu": "soft"}))
        assert int(soft.placement.placed.sum()) == 2


class TestTStorm:
    def test_gamma_caps_the_executors_of_a_node(self) -> None:
        problem = chain(12, cluster("4x12"))
        tight = registry.run("tstorm", problem, None, Options(params={"gamma": 1.0}))
        assert np.bincount(nodes_of(problem, tight.placement)).max() == 3
        loose = registry.run("tstorm", problem, None, Options(params={"gamma": 100.0}))
        assert loose.score.inter_node < tight.score.inter_node

    def test_a_topology_has_one_worker_a_node(self) -> None:
        problem = parallel(7, 10)
        result = registry.run("tstorm", problem, None, Options())
        slots = np.unique(result.placement.slot)
        assert len(np.unique(problem.slots.node[slots])) == len(slots)
        assert result.score.inter_worker == 0.0
