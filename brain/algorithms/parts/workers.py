"""The second level: executors of a node to workers, and workers to slots.

A topology takes as few workers on a node as T allows (one, where T is free): what is said within
a worker costs nothing. What runs and need not change keeps its slots.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from brain.algorithms.parts.limits import Limits
from brain.algorithms.parts.split import split
from brain.model import UNPLACED, CommGraph, Placement, Problem


@dataclass
class _Group:
    """The executors that one topology has on one node, and their workers once decided."""

    topology: int
    node: int
    members: NDArray[np.int64]
    workers: list[NDArray[np.int64]]
    fixed: list[int]
    """Slots of the leading workers where they keep them; the rest are free to choose."""


def assign_slots(
    problem: Problem,
    limits: Limits,
    graph: CommGraph,
    node: NDArray[np.int32],
    current: Placement | None = None,
    *,
    sticky: bool = False,
    seed: int = 0,
) -> Placement:
    """A slot for each executor that has a node; frozen executors keep theirs.

    ``graph`` is the (directed) traffic that workers should keep inside. With ``sticky`` an
    executor that stays on its node also stays in its slot, so that only those who change their
    node move; else the workers of a node are cut anew unless its executors are the same as now.
    """
    slot = np.full(len(problem), UNPLACED, dtype=np.int32)
    if current is not None:
        slot[~limits.movable] = current.slot[~limits.movable]
    groups = _groups(problem, limits, node)
    if not groups:
        return Placement(slot)
    spare = _Spare(limits, groups)
    symmetric = graph.symmetric
    running = _running(problem, current)
    for group in groups:
        kept = None
        if current is not None:
            crowd = running.get((group.topology, group.node), 0)
            same = None if sticky else crowd
            kept = _keep(problem, limits, symmetric, group, current, spare, same)
        if kept is None:
            kept = split(symmetric, group.members, spare.needs(group), seed), []
        group.workers, group.fixed = kept
    _choose_on_each_node(problem, limits, groups, current, slot)
    return Placement(slot)


def choose_slots(
    problem: Problem,
    limits: Limits,
    node: NDArray[np.int32],
    worker: NDArray[np.int32],
    current: Placement,
) -> Placement:
    """Slots on given nodes for given workers (executors with the same number), as near as possible
    to the current ones; frozen executors keep theirs."""
    slot = np.where(limits.movable, UNPLACED, current.slot).astype(np.int32)
    groups = _groups(problem, limits, node)
    for group in groups:
        numbers = worker[group.members]
        group.workers = [group.members[numbers == w] for w in np.unique(numbers)]
    _choose_on_each_node(problem, limits, groups, current, slot)
    return Placement(slot)


def _choose_on_each_node(
    problem: Problem,
    limits: Limits,
    groups: list[_Group],
    current: Placement | None,
    slot: NDArray[np.int32],
) -> None:
    by_node: dict[int, list[_Group]] = defaultdict(list)
    for group in groups:
        by_node[group.node].append(group)
    for n, here in by_node.items():
        _choose_slots(problem, limits, n, here, current, slot)


def _running(problem: Problem, current: Placement | None) -> dict[tuple[int, int], int]:
    """How many executors each topology has on each node now."""
    if current is None:
        return {}
    node = current.nodes(problem.slots)
    on = node != UNPLACED
    pairs, counts = np.unique(
        np.stack((problem.topology_of[on], node[on])), axis=1, return_counts=True
    )
    return {(int(t), int(n)): int(c) for t, n, c in zip(*pairs, counts, strict=True)}


def _groups(problem: Problem, limits: Limits, node: NDArray[np.int32]) -> list[_Group]:
    executors = np.flatnonzero(limits.movable & (node != UNPLACED))
    if len(executors) == 0:
        return []
    key = problem.topology_of[executors].astype(np.int64) * len(problem.nodes) + node[executors]
    order = np.argsort(key, kind="stable")
    executors, key = executors[order], key[order]
    cuts = np.flatnonzero(np.diff(key)) + 1
    return [
        _Group(int(problem.topology_of[m[0]]), int(node[m[0]]), m, [], [])
        for m in np.split(executors, cuts)
    ]


class _Spare:
    """Workers and slots left over when each group takes the fewest it can."""

    def __init__(self, limits: Limits, groups: list[_Group]) -> None:
        self._per_worker = limits.per_worker
        self._slots = limits.slots_free.copy()
        self._workers = limits.workers.copy()
        for group in groups:
            self._slots[group.node] -= self.needs(group)
            self._workers[group.topology] -= self.needs(group)

    def needs(self, group: _Group) -> int:
        return -(-len(group.members) // int(self._per_worker[group.topology]))

    def take(self, group: _Group, workers: int) -> bool:
        """Whether a group may have that many workers in all; if so they are booked."""
        more = workers - self.needs(group)
        if more > self._slots[group.node] or more > self._workers[group.topology]:
            return False
        self._slots[group.node] -= more
        self._workers[group.topology] -= more
        return True


def _keep(
    problem: Problem,
    limits: Limits,
    symmetric: CommGraph,
    group: _Group,
    current: Placement,
    spare: _Spare,
    same: int | None,
) -> tuple[list[NDArray[np.int64]], list[int]] | None:
    """The workers that run on the node now, with newcomers added; None if they cannot stay.

    With ``same``, the number of executors that the topology has on the node now, only if nobody
    comes or goes.
    """
    now = current.slot[group.members]
    slots = problem.slots
    stays = (now != UNPLACED) & limits.slot_free[now] if len(slots) else np.zeros(len(now), bool)
    stays = stays & (slots.node[now] == group.node)
    if not stays.any() or (same is not None and not len(now) == stays.sum() == same):
        return None
    limit = int(limits.per_worker[group.topology])
    fixed = [int(s) for s in np.unique(now[stays])]
    workers = [list(group.members[stays & (now == s)]) for s in fixed]
    if max(len(w) for w in workers) > limit:
        return None
    for e in group.members[~stays]:
        _join(symmetric, int(e), workers, limit)
    if not spare.take(group, len(workers)):
        return None
    return [np.array(w, dtype=np.int64) for w in workers], fixed


def _join(symmetric: CommGraph, e: int, workers: list[list[int]], limit: int) -> None:
    """Adds a newcomer to the worker it talks to most among those with room, else to a new one."""
    peers = symmetric.indices[symmetric.indptr[e] : symmetric.indptr[e + 1]]
    weight = symmetric.weight[symmetric.indptr[e] : symmetric.indptr[e + 1]]
    best, best_gain = None, -1.0
    for worker in workers:
        if len(worker) < limit:
            gain = float(weight[np.isin(peers, worker)].sum())
            if gain > best_gain:
                best, best_gain = worker, gain
    if best is None:
        workers.append([e])
    else:
        best.append(e)


def _choose_slots(
    problem: Problem,
    limits: Limits,
    node: int,
    groups: list[_Group],
    current: Placement | None,
    slot: NDArray[np.int32],
) -> None:
    """Ports for the workers of a node: their own again where most of their executors are."""
    taken: set[int] = set()
    floating: list[tuple[int, NDArray[np.int64]]] = []
    for group in groups:
        for i, worker in enumerate(group.workers):
            if i < len(group.fixed):
                slot[worker] = group.fixed[i]
                taken.add(group.fixed[i])
            else:
                floating.append((group.topology, worker))
    free = [s for s in problem.slots.of_node(node) if limits.slot_free[s] and s not in taken]
    if current is None:
        for s, (_, worker) in zip(free, floating, strict=False):
            slot[worker] = s
        return
    overlap = np.zeros((len(floating), len(free)))
    column = {s: i for i, s in enumerate(free)}
    for row, (_, worker) in enumerate(floating):
        for s in current.slot[worker]:
            if int(s) in column:
                overlap[row, column[int(s)]] += 1
    for row, chosen in zip(*linear_sum_assignment(overlap, maximize=True), strict=True):
        slot[floating[row][1]] = free[chosen]
