"""The score once more, edge by edge in plain Python, to check the numpy one."""

from __future__ import annotations

from collections import defaultdict

from brain.model import UNPLACED, Placement, Problem, Score


def plain_score(problem: Problem, placement: Placement, current: Placement | None) -> Score:
    slot = [int(s) for s in placement.slot]
    slot_node = [int(n) for n in problem.slots.node]
    inter_node = inter_worker = 0.0
    graph = problem.graph
    indptr, indices, weight = graph.indptr.tolist(), graph.indices.tolist(), graph.weight.tolist()
    for source in range(len(slot)):
        for i in range(indptr[source], indptr[source + 1]):
            a, b = slot[source], slot[indices[i]]
            if a == UNPLACED or b == UNPLACED or slot_node[a] != slot_node[b]:
                inter_node += weight[i]
            elif a != b:
                inter_worker += weight[i]
    moved = restarted = 0
    if current is not None:
        old = [int(s) for s in current.slot]
        moved = sum(1 for a, b in zip(old, slot, strict=True) if a not in (UNPLACED, b))
        before, after = _workers(old), _workers(slot)
        restarted = sum(1 for s, executors in after.items() if before.get(s) != executors)
    uneven = _imbalance(problem, slot, slot_node)
    away = _latency_ms(problem, slot, slot_node)
    return Score(inter_node, inter_worker, uneven, moved, restarted, away)


def _latency_ms(problem: Problem, slot: list[int], slot_node: list[int]) -> float | None:
    if problem.latency_ms is None:
        return None
    matrix = problem.latency_ms.tolist()
    furthest = max((ms for row in matrix for ms in row), default=0.0)
    graph = problem.graph
    spent = total = 0.0
    for source, target, tuples in zip(
        graph.sources.tolist(), graph.indices.tolist(), graph.tuples.tolist(), strict=True
    ):
        a, b = slot[source], slot[target]
        lost = a == UNPLACED or b == UNPLACED
        spent += tuples * (furthest if lost else matrix[slot_node[a]][slot_node[b]])
        total += tuples
    return spent / total if total > 0 else 0.0


def _workers(slot: list[int]) -> dict[int, frozenset[int]]:
    """The executors of each worker; an executor's number tells its topology too."""
    members: dict[int, set[int]] = defaultdict(set)
    for executor, s in enumerate(slot):
        if s != UNPLACED:
            members[s].add(executor)
    return {s: frozenset(executors) for s, executors in members.items()}


def _imbalance(problem: Problem, slot: list[int], slot_node: list[int]) -> float:
    demand = [float(c) for t in problem.topologies for c in t.cpu]
    if sum(demand) <= 0:
        demand = [1.0] * len(slot)
    load: dict[int, float] = defaultdict(float)
    for executor, s in enumerate(slot):
        if s != UNPLACED:
            load[slot_node[s]] += demand[executor]
    usable = [n for n, node in enumerate(problem.nodes) if node.slots and not node.excluded]
    total = sum(load.values())
    if total <= 0 or not usable:
        return 1.0
    limits = [problem.nodes[n].cpu for n in usable]
    known = [c for c in limits if c is not None]
    capacity = dict(zip(usable, limits, strict=True)) if len(known) == len(limits) else {}
    everything = sum(known) if capacity else 0.0

    def share(node: int) -> float:
        own = capacity.get(node) or 0.0
        return own / everything if own > 0 and everything > 0 else 1.0 / len(usable)

    return max(amount / total / share(node) for node, amount in load.items())
