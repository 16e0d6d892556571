"""Local search: honest books, never worse than its start, the cap on moves, repair."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest

from brain.algorithms import localsearch
from brain.algorithms.localsearch_parts.driver import Search
from brain.algorithms.localsearch_parts.soft import THRESHOLDS, anneal_softly
from brain.algorithms.localsearch_parts.swaps import anneal_fast
from brain.algorithms.objective import Prices, order_of_result
from brain.algorithms.parts.partition import partition
from brain.algorithms.parts.verify import check, violations
from brain.algorithms.parts.workspace import Workspace
from brain.model import UNPLACED, Options, Placement, Problem, Status
from brain.problems.clusters import cluster
from brain.problems.fischer import opengov
from brain.problems.randoms import random_problem as storm_problem
from tests.algorithms.clusters import chain, random_problem, topology, union


def search_for(problem: Problem, current: Placement | None = None, **options: object) -> Search:
    work = Workspace(problem, current, Options())
    home = None if current is None else work.units.gather(work.current_node)
    return Search(work.limits, work.units, home=home, **options)  # type: ignore[arg-type]


def assert_books_are_right(search: Search) -> None:
    """All that moves keep up to date equals what a fresh count says."""
    assert_limits_hold(search)
    live, net, node = search.live, search.net, search.live.node
    for n in range(len(live.cpu_free)):
        linked, u = set(), int(live.head[n])
        while u != UNPLACED:
            linked.add(u)
            u = int(live.after[u])
        assert linked == set(np.flatnonzero(node == n).tolist())
    settled = net.home != UNPLACED
    assert live.moved[0] == net.size[settled & (node != net.home)].sum()


def assert_limits_hold(search: Search, *, softly: bool = False) -> None:
    """The part of the books that the fast loops keep; ``softly``: CPU and memory may be over."""
    live, net, node = search.live, search.net, search.live.node
    placed = node != UNPLACED
    nodes = len(live.cpu_free)
    for free, all_free, demand in (
        (live.cpu_free, search.limits.cpu_free, net.cpu),
        (live.memory_free, search.limits.memory_free, net.memory),
    ):
        used = np.bincount(node[placed], demand[placed], nodes)
        np.testing.assert_allclose(free, all_free - used, rtol=1e-9, atol=1e-6)
        # frozen load may exceed it
        assert softly or (free >= np.minimum(all_free, 0.0) - 1e-6).all()
    crowd = np.zeros_like(live.crowd)
    np.add.at(crowd, (net.topology[placed], node[placed]), net.size[placed])
    assert (live.crowd == crowd).all()
    workers = -(-crowd.astype(np.int64) // net.per_worker[:, None])
    assert (live.slots_free == search.limits.slots_free - workers.sum(axis=0)).all()
    assert (live.slots_free >= 0).all()
    assert (live.workers_left == search.limits.workers - workers.sum(axis=1)).all()
    ties = np.zeros_like(live.ties)
    graph = search.units.graph
    to = placed[graph.indices]
    np.add.at(ties, (graph.sources[to], node[graph.indices[to]]), graph.weight[to])
    np.testing.assert_allclose(live.ties, ties, rtol=1e-6, atol=1e-6)
    spread = np.zeros_like(live.spread_count)
    apart = placed & (net.spread_class >= 0)
    np.add.at(spread, (net.spread_class[apart], node[apart]), 1)
    assert (live.spread_count == spread).all()
    assert (spread <= net.spread_limit[:, None]).all()
    assert net.allowed[net.allowed_class[placed], node[placed]].all()


def test_books_stay_right_through_repair_descent_and_annealing() -> None:
    for seed in range(40):
        problem, current = random_problem(seed)
        search = search_for(problem, current, seed=seed, move_cost=1.0, restart_cost=3.0)
        if len(search.units) == 0:
            continue
        rng = np.random.default_rng(seed)
        search.load(rng.integers(-1, len(problem.nodes), len(search.units)).astype(np.int32))
        assert_books_are_right(search)
        before = search.cost()
        search.polish()
        assert search.cost() <= before + 1e-6
        assert_books_are_right(search)
        search.anneal(2000, warm=2.0)
        assert_books_are_right(search)


def test_the_fast_loops_keep_their_books_and_every_limit_but_those_that_are_prices() -> None:
    """Many topologies, few slots, pins, spread, workers of few executors; and all do happen."""
    moved, over = 0, 0
    for seed in range(60):
        problem, _ = random_problem(seed)
        search = search_for(problem, seed=seed)
        if not search.can_soften:
            continue
        rng = np.random.default_rng(seed)
        search.load(rng.integers(-1, len(problem.nodes), len(search.units)).astype(np.int32))
        heat = np.array([2.0, 0.5]) * search.scale
        around, per_demand = search._around, search.per_demand
        moved += anneal_fast(search.net, search.live, around, 0, 3000, heat, THRESHOLDS)
        assert_limits_hold(search)
        moved += anneal_softly(
            search.net, search.live, around, 0, 3000, heat, 0.1 * heat, per_demand, THRESHOLDS
        )
        assert_limits_hold(search, softly=True)
        over += int((search.live.cpu_free < -1.0).any())
        search.load(search.node)
        assert_books_are_right(search)
    assert moved > 3000
    assert over > 5


def test_annealing_does_not_leave_a_better_start() -> None:
    """On a graph that METIS solves, heat alone would end worse within few steps."""
    for seed in range(6):
        problem = storm_problem(60, 6, seed=seed)
        result = localsearch.solve(problem, None, Options(seed=seed, params={"steps": 300}))
        assert result.details["annealed"] <= result.details["polished"]


def test_soft_limits_find_more_than_swaps_within_them_in_as_many_steps() -> None:
    """Why they are there: full nodes of unequal size. In the mean of three problems, by steps."""
    shares = []
    for seed in range(3):
        problem = storm_problem(300, 30, seed=seed)
        costs = []
        for soft in (True, False):
            search = search_for(problem, seed=seed)
            work = Workspace(problem, None, Options())
            search.load(localsearch.metis_start(work, 0))
            if soft:
                localsearch.anneal_twice(search, 2_000_000)
            else:
                search.anneal(2_000_000, warm=1.5, cold=0.1)
            costs.append(search.cut())
        shares.append(costs[0] / costs[1])
    assert np.mean(shares) < 1.0


def test_large_problems_give_the_same_without_the_table_of_ties(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = storm_problem(300, 12, seed=3)
    costs = []
    for most in (10**7, 0):
        monkeypatch.setattr("brain.algorithms.localsearch_parts.state.DENSE_TIES", most)
        search = search_for(problem, seed=1)
        search.load(np.full(len(search.units), UNPLACED, dtype=np.int32))
        search.polish()
        costs.append(search.cut())
    assert costs[0] == pytest.approx(costs[1], rel=0.05)


def test_overfull_parts_of_metis_are_repaired_and_improved() -> None:
    problem = opengov(20)
    search = search_for(problem)
    part = partition(search.units.graph, 20, search.units.cpu)
    load = np.bincount(part, search.units.cpu, 20)
    assert (load > search.limits.cpu_free).any()  # METIS overruns hard capacities here
    assert search.load(part) == 0
    assert_books_are_right(search)
    repaired = search.cut()
    search.polish()
    assert search.cut() < repaired


@pytest.mark.parametrize("max_moves", [None, 0, 3])
def test_keeps_every_promise_on_random_problems(max_moves: int | None) -> None:
    for seed in range(60):
        problem, current = random_problem(seed)
        options = Options(max_moves=max_moves, params={"steps": 2000})
        result = localsearch.solve(problem, current, options)
        assert check(problem, result, current, options) == [], f"seed {seed}"


def test_repeats_itself_for_a_seed_and_a_number_of_steps() -> None:
    problem = storm_problem(120, 10, seed=2)
    options = Options(seed=4, params={"steps": 30_000})
    one, two = (localsearch.solve(problem, None, options) for _ in range(2))
    assert one.placement.slot.tolist() == two.placement.slot.tolist()


def test_a_cap_on_moves_gives_the_best_plan_within_it() -> None:
    """A chain scattered over two nodes; every plan within the cap is tried by brute force."""
    problem = chain(6, cluster("2x5", slots=1))
    slots = problem.slots
    now = np.array([0, 1, 0, 1, 0, 1])
    current = Placement(slots.first[now].astype(np.int32))
    previous = np.inf
    for cap in range(4):
        best = min(
            problem.graph.crossing(np.array(nodes))
            for nodes in itertools.product(range(2), repeat=6)
            if int((np.array(nodes) != now).sum()) <= cap
            and not violations(problem, Placement(slots.first[np.array(nodes)].astype(np.int32)))
        )
        options = Options(
            max_moves=cap, params={"steps": 20_000, "move_cost": 0, "restart_cost": 0}
        )
        result = localsearch.solve(problem, current, options)
        assert check(problem, result, current, options) == []
        assert result.score.inter_node == best, f"cap {cap}"
        assert best <= previous
        previous = best


def test_a_price_on_moves_is_not_paid_for_less_gain() -> None:
    own = topology("t", {"a": 1, "b": 1}, cpu=100.0)
    problem = union(cluster("2x2", slots=1), [own], [[(0, 1, 10.0)]])
    current = Placement(np.array([0, 1], dtype=np.int32))
    cheap = Options(params={"steps": 500, "move_cost": 4.0, "restart_cost": 5.0})
    dear = Options(params={"steps": 500, "move_cost": 6.0, "restart_cost": 5.0})
    assert localsearch.solve(problem, current, cheap).score.inter_node == 0.0
    stayed = localsearch.solve(problem, current, dear)
    assert stayed.score.inter_node == 10.0
    assert stayed.score.moved_executors == 0


def test_what_must_leave_an_excluded_node_leaves_and_nobody_else() -> None:
    nodes = list(cluster("3x4"))
    problem = chain(8, nodes)
    first = localsearch.solve(problem, None, Options(params={"steps": 2000}))
    used = np.unique(first.placement.nodes(problem.slots))
    gone = int(used[0])
    from dataclasses import replace

    nodes[gone] = replace(nodes[gone], excluded=True)
    moved = localsearch.solve(
        replace(problem, nodes=tuple(nodes)), first.placement, Options(params={"steps": 2000})
    )
    assert moved.status is Status.OK
    left = int((first.placement.nodes(problem.slots) == gone).sum())
    assert moved.score.moved_executors == left


def far_apart(seed: int) -> Problem:
    """Executors on twelve nodes at three sites, of which two are near each other."""
    from dataclasses import replace

    problem = storm_problem(90, 12, seed=seed)
    site = np.arange(12) % 3
    latency = np.array([[1.0, 20.0, 90.0], [20.0, 1.0, 80.0], [90.0, 80.0, 1.0]])[site][:, site]
    np.fill_diagonal(latency, 0.0)
    return replace(problem, latency_ms=latency)


def test_nearness_keeps_the_books_and_the_cost_right() -> None:
    for seed in range(3):
        problem = far_apart(seed)
        work = Workspace(problem, None, Options(params={"latency_weight": 0.6}))
        search = localsearch.make_search(work, Prices())
        search.load(np.full(len(search.units), UNPLACED, dtype=np.int32))
        search.anneal(20_000, warm=1.5)
        live, graph, near = search.live, search.units.graph, search.net.near
        ties = np.zeros_like(live.ties)
        np.add.at(ties, graph.sources, graph.weight[:, None] * near[live.node[graph.indices]])
        np.testing.assert_allclose(live.ties, ties, rtol=1e-6, atol=1e-6)
        assert problem.latency_ms is not None
        total, away = 0.0, problem.latency_ms / problem.latency_ms.max()
        for u, v, weight in zip(graph.sources, graph.indices, graph.weight, strict=True):
            a, b = live.node[u], live.node[v]
            total += weight / 2.0 * (0.4 * (a != b) + 0.6 * away[a, b])
        assert search.cost() == pytest.approx(total)


def test_a_search_that_weighs_latency_finds_nearer_places_than_one_that_does_not() -> None:
    for seed in range(3):
        problem = far_apart(seed)
        keys = []
        for weight in (0.6, 0.0):
            options = Options(params={"steps": 60_000, "latency_weight": weight})
            result = localsearch.solve(problem, None, options)
            assert check(problem, result, None, options) == []
            judge = Workspace(problem, None, Options(params={"latency_weight": 0.6}))
            keys.append(order_of_result(judge, Prices(), result))
        assert keys[0] < keys[1]


def test_nothing_is_compiled_or_loaded_any_more_once_warm() -> None:
    """Else the first θ of a service would be spent on that."""
    script = (
        "import numpy as np\n"
        "from brain.algorithms import localsearch\n"
        "from brain.algorithms.localsearch_parts import moves, repair, search, soft, swaps\n"
        "from brain.algorithms.localsearch_parts.warmup import warm_up\n"
        "from brain.model import Options, Placement\n"
        "from brain.problems.randoms import random_problem\n"
        "warm_up()\n"
        "parts = (moves, repair, search, soft, swaps)\n"
        "def known():\n"
        "    found = [getattr(part, name) for part in parts for name in dir(part)]\n"
        "    return {f.__name__: len(f.signatures) for f in found if hasattr(f, 'signatures')}\n"
        "before = known()\n"
        "problem = random_problem(40, 5, 1)\n"
        "options = Options(params={'steps': 100})\n"
        "first = localsearch.solve(problem, None, options)\n"
        "moved = Placement(np.roll(first.placement.slot, 1))\n"
        "localsearch.solve(problem, moved, options)\n"
        "assert known() == before, (before, known())\n"
        "assert before['anneal'] and before['anneal_fast'] and before['anneal_softly']\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
