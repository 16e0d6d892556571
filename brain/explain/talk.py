"""Who talks to whom: the traffic of one executor, and where its partners are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brain.model import UNPLACED, CommGraph, Placement, Problem


@dataclass(frozen=True)
class Partner:
    """``cost`` is both directions together, in the graph's unit (bytes or tuples a second)."""

    executor: str
    component: str
    slot: str | None
    relation: str
    """same worker, same node, other node, or not placed"""
    tuples_out: float
    tuples_in: float
    cost: float


def executor_name(problem: Problem, executor: int) -> str:
    topology = int(problem.topology_of[executor])
    own = executor - int(problem.offsets[topology])
    return str(problem.topologies[topology].executor_ids[own])


def component_name(problem: Problem, executor: int) -> str:
    t = int(problem.topology_of[executor])
    topology = problem.topologies[t]
    return topology.components[int(topology.component_of[executor - int(problem.offsets[t])])]


def slot_name(problem: Problem, slot: int) -> str | None:
    if slot == UNPLACED:
        return None
    table = problem.slots
    return f"{problem.nodes[int(table.node[slot])].id}:{int(table.port[slot])}"


def weights_with(graph: CommGraph, executor: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Partners of an executor and what it exchanges with each, both directions together."""
    both = graph.symmetric
    span = slice(int(both.indptr[executor]), int(both.indptr[executor + 1]))
    return both.indices[span], both.weight[span]


def partners(problem: Problem, placement: Placement, executor: int) -> list[Partner]:
    """Everyone that an executor exchanges tuples with, the costliest first."""
    graph = problem.graph
    others, cost = weights_with(graph, executor)
    sent, got = _tuples(graph, executor)
    node = placement.nodes(problem.slots)
    found = []
    for other, weight in zip(others.tolist(), cost.tolist(), strict=True):
        found.append(
            Partner(
                executor=executor_name(problem, other),
                component=component_name(problem, other),
                slot=slot_name(problem, int(placement.slot[other])),
                relation=_relation(placement, node, executor, other),
                tuples_out=sent.get(other, 0.0),
                tuples_in=got.get(other, 0.0),
                cost=weight,
            )
        )
    return sorted(found, key=lambda p: -p.cost)


def _tuples(graph: CommGraph, executor: int) -> tuple[dict[int, float], dict[int, float]]:
    out = slice(int(graph.indptr[executor]), int(graph.indptr[executor + 1]))
    sent = dict(zip(graph.indices[out].tolist(), graph.tuples[out].tolist(), strict=True))
    to_it = graph.indices == executor
    got = dict(zip(graph.sources[to_it].tolist(), graph.tuples[to_it].tolist(), strict=True))
    return sent, got


def _relation(placement: Placement, node: NDArray[np.int32], one: int, other: int) -> str:
    if UNPLACED in (int(node[one]), int(node[other])):
        return "not placed"
    if placement.slot[one] == placement.slot[other]:
        return "same worker"
    return "same node" if node[one] == node[other] else "other node"
