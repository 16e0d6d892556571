"""Units of placement: a co-located group of executors, or a single executor.

Algorithms that decide on nodes work on units, so that co-location holds by construction. A group
that no node could hold whole is dissolved into its executors; the verifier then names the broken
constraint.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.parts.limits import Limits, members_of
from brain.model import UNPLACED, CommGraph, Problem

Group = NDArray[np.int64]


@dataclass(frozen=True)
class Units:
    """Unit u is the executors ``members[first[u] : first[u + 1]]``; frozen ones are in no unit.

    ``allowed[allowed_class[u]]`` masks the nodes for unit u; ``spread_class`` is -1 where spread
    is no matter.
    """

    unit_of: NDArray[np.int32]
    first: NDArray[np.int64]
    members: NDArray[np.int64]
    topology: NDArray[np.int32]
    size: NDArray[np.int64]
    cpu: NDArray[np.float64]
    memory_mb: NDArray[np.float64]
    allowed: NDArray[np.bool_]
    allowed_class: NDArray[np.int32]
    spread_class: NDArray[np.int32]
    executor_graph: CommGraph

    @classmethod
    def of(
        cls, problem: Problem, limits: Limits, graph: CommGraph, *, colocate: bool = True
    ) -> Units:
        """Units of a problem; ``graph`` is the traffic (or structure) over its executors."""
        groups = colocated_groups(problem) if colocate else []
        allowed = list(limits.allowed)
        allowed_class = limits.allowed_class.copy()
        kept: list[Group] = []
        for group in groups:
            mask = np.logical_and.reduce(limits.allowed[limits.allowed_class[group]])
            if _holdable(problem, limits, group, mask):
                allowed_class[group] = len(allowed)
                allowed.append(mask)
                kept.append(group)
        leader = np.arange(len(problem), dtype=np.int64)
        for group in kept:
            leader[group] = group[0]
        movable = np.flatnonzero(limits.movable)
        leaders, unit = np.unique(leader[movable], return_inverse=True)
        unit_of = np.full(len(problem), UNPLACED, dtype=np.int32)
        unit_of[movable] = unit
        order = np.argsort(unit, kind="stable")
        size = np.bincount(unit, minlength=len(leaders)).astype(np.int64)
        spread = np.where(size == 1, limits.spread_class[leaders], -1).astype(np.int32)
        return cls(
            unit_of=unit_of,
            first=np.concatenate(([0], np.cumsum(size))).astype(np.int64),
            members=movable[order],
            topology=problem.topology_of[leaders],
            size=size,
            cpu=np.bincount(unit, problem.cpu[movable], len(leaders)).astype(float),
            memory_mb=np.bincount(unit, problem.memory_mb[movable], len(leaders)).astype(float),
            allowed=np.array(allowed, dtype=bool).reshape(len(allowed), len(problem.nodes)),
            allowed_class=allowed_class[leaders],
            spread_class=spread,
            executor_graph=graph,
        )

    def __len__(self) -> int:
        return len(self.size)

    def members_of(self, unit: int) -> NDArray[np.int64]:
        return self.members[int(self.first[unit]) : int(self.first[unit + 1])]

    @cached_property
    def graph(self) -> CommGraph:
        """The traffic between units, the same both ways."""
        symmetric = self.executor_graph.symmetric
        if len(self) == len(symmetric):
            return symmetric  # every executor is its own unit, in order
        source, target = self.unit_of[symmetric.sources], self.unit_of[symmetric.indices]
        inside = (source != UNPLACED) & (target != UNPLACED)
        return CommGraph.from_edges(
            len(self),
            source[inside],
            target[inside],
            symmetric.tuples[inside],
            symmetric.weight[inside],
        )

    def gather(self, executor_node: NDArray[np.int32]) -> NDArray[np.int32]:
        """The node of each unit: where most of its executors are, or UNPLACED."""
        if len(self) == 0:
            return np.zeros(0, dtype=np.int32)
        node = executor_node[self.members[self.first[:-1]]].astype(np.int32)
        for u in np.flatnonzero(self.size > 1):
            where = executor_node[self.members_of(int(u))]
            where = where[where != UNPLACED]
            node[u] = np.bincount(where).argmax() if len(where) else UNPLACED
        return node

    def scatter(self, unit_node: NDArray[np.int32]) -> NDArray[np.int32]:
        """The node of each executor from the nodes of the units."""
        node = np.full(len(self.unit_of), UNPLACED, dtype=np.int32)
        inside = self.unit_of != UNPLACED
        node[inside] = unit_node[self.unit_of[inside]]
        return node


def colocated_groups(problem: Problem) -> list[Group]:
    """The executors that must share a node; groups that overlap are one."""
    groups: list[Group] = []
    for t, topology in enumerate(problem.topologies):
        if topology.frozen:
            continue
        merged: list[set[str]] = []
        for names in topology.colocate:
            joined = set(names)
            apart = []
            for other in merged:
                if other & joined:
                    joined |= other
                else:
                    apart.append(other)
            merged = [*apart, joined]
        for names_of_group in merged:
            members = [members_of(problem, t, topology, c) for c in sorted(names_of_group)]
            group = np.sort(np.concatenate(members))
            if len(group) > 1:
                groups.append(group)
    return groups


def _holdable(problem: Problem, limits: Limits, group: Group, mask: NDArray[np.bool_]) -> bool:
    """Whether some allowed node could hold the whole group if it were otherwise empty."""
    t = int(problem.topology_of[group[0]])
    workers = -(-len(group) // int(limits.per_worker[t]))
    if workers > limits.workers[t]:
        return False
    classes, counts = np.unique(limits.spread_class[group], return_counts=True)
    for spread_class, count in zip(classes, counts, strict=True):
        if spread_class >= 0 and count > limits.spread_limit[spread_class]:
            return False
    room = (
        mask
        & (problem.cpu[group].sum() <= limits.cpu_free)
        & (problem.memory_mb[group].sum() <= limits.memory_free)
        & (limits.slots_free >= workers)
    )
    return bool(room.any())
