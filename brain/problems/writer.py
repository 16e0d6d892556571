"""Writes a problem as the document that the reader reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from brain.model import Node, Placement, Problem
from brain.problems.answer import placement_to_dict


def problem_to_dict(problem: Problem, current: Placement | None = None) -> dict[str, Any]:
    """The document of a problem; reading it gives an equal problem.

    Edges carry ``tuples`` alone where their cost is just that, else ``bytes`` too.
    """
    document: dict[str, Any] = {
        "nodes": [_node(n) for n in problem.nodes],
        "topologies": [_topology(problem, t) for t in range(len(problem.topologies))],
    }
    if problem.latency_ms is not None:
        document["latency_ms"] = _latency(problem)
    if current is not None:
        document["current"] = placement_to_dict(problem, current)
    return document


def _node(node: Node) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": node.id}
    if node.rack is not None:
        entry["rack"] = node.rack
    if node.host is not None:
        entry["host"] = node.host
    entry["slots"] = list(node.slots)
    if node.cpu is not None:
        entry["cpu"] = _short(node.cpu)
    if node.memory_mb is not None:
        entry["memory_mb"] = _short(node.memory_mb)
    if node.excluded:
        entry["excluded"] = True
    if node.utilisation:
        entry["utilisation"] = _short(node.utilisation)
    if node.availability != 1.0:
        entry["availability"] = _short(node.availability)
    return entry


def _latency(problem: Problem) -> dict[str, dict[str, int | float]]:
    """Each pair once."""
    assert problem.latency_ms is not None
    ids = [n.id for n in problem.nodes]
    return {
        a: {b: _short(float(problem.latency_ms[i, j])) for j, b in enumerate(ids) if j > i}
        for i, a in enumerate(ids[:-1])
    }


def _topology(problem: Problem, t: int) -> dict[str, Any]:
    topology = problem.topologies[t]
    entry: dict[str, Any] = {"id": topology.id}
    if topology.name:
        entry["name"] = topology.name
    entry["workers"] = topology.workers
    entry["max_executors_per_worker"] = topology.max_executors_per_worker
    ids = [_id(str(e)) for e in topology.executor_ids]
    entry["executors"] = [
        {
            "id": ids[i],
            "component": topology.components[int(topology.component_of[i])],
            "cpu": _short(float(topology.cpu[i])),
            "memory_mb": _short(float(topology.memory_mb[i])),
        }
        for i in range(len(topology))
    ]
    entry["edges"] = _edges(problem, t, ids)
    if topology.streams:
        entry["streams"] = [
            {"from": source, "to": target, "grouping": grouping}
            for source, target, grouping in topology.streams
        ]
    if topology.pin:
        entry["pin"] = {component: list(nodes) for component, nodes in topology.pin.items()}
    if topology.spread:
        entry["spread"] = list(topology.spread)
    if topology.colocate:
        entry["colocate"] = [list(group) for group in topology.colocate]
    if topology.frozen:
        entry["frozen"] = True
    return entry


def _edges(problem: Problem, t: int, ids: list[int | str]) -> list[dict[str, Any]]:
    graph, own = problem.graph, problem.executors_of(t)
    span = np.arange(graph.indptr[own.start], graph.indptr[own.stop])
    edges = []
    for i in span.tolist():
        tuples, cost = float(graph.tuples[i]), float(graph.weight[i])
        edge: dict[str, Any] = {
            "from": ids[int(graph.sources[i]) - own.start],
            "to": ids[int(graph.indices[i]) - own.start],
            "tuples": _short(tuples),
        }
        if cost != tuples:
            edge["bytes"] = _short(cost)
        edges.append(edge)
    return edges


def _id(name: str) -> int | str:
    """Numbers are written as numbers, as in the papers' problems."""
    return int(name) if name.isdecimal() and str(int(name)) == name else name


def _short(number: float) -> int | float:
    return int(number) if number.is_integer() else number
