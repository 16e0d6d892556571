"""A whole topology's placement, explained: loads, what crosses, who would be better off."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from brain.algorithms.parts.verify import violations
from brain.errors import BadInput
from brain.explain.alternatives import (
    Alternative,
    alternatives,
    best_slot,
    blocked,
    costs_by_node,
)
from brain.explain.talk import component_name, executor_name, partners, slot_name
from brain.model import UNPLACED, Placement, Problem
from brain.units import rate, unit_of

HEAVIEST = 10
CANDIDATES = 40
"""Single moves that are checked against the constraints, the most saving first."""


def find_executors(problem: Problem, topology: int, text: str) -> list[int]:
    """The executors that ``3-3``, ``3`` (a task) or ``splitter`` (a component) names."""
    own = range(int(problem.offsets[topology]), int(problem.offsets[topology + 1]))
    exact = [e for e in own if executor_name(problem, e) == text]
    if exact:
        return exact
    if text.isdecimal():
        for e in own:
            start, _, end = executor_name(problem, e).partition("-")
            if int(start) <= int(text) <= int(end or start):
                return [e]
    members = [e for e in own if component_name(problem, e) == text]
    if members:
        return members
    names = problem.topologies[topology].components
    raise BadInput("executor", f"there is no {text!r}; components are {', '.join(names)}")


def explain_executor(problem: Problem, current: Placement, executor: int) -> dict[str, Any]:
    """Why one executor is here: partners, what every other node would cost, what binds."""
    options = alternatives(problem, current, executor)
    here = next((a for a in options if a.here), None)
    return {
        "executor": executor_name(problem, executor),
        "component": component_name(problem, executor),
        "slot": slot_name(problem, int(current.slot[executor])),
        "node": None if here is None else here.node,
        "host": None if here is None else here.host,
        "cpu": float(problem.cpu[executor]),
        "partners": [asdict(p) for p in partners(problem, current, executor)],
        "alternatives": [{**asdict(a), "allowed": a.allowed} for a in options],
        "verdict": _verdict(here, options, unit_of(problem.graph)),
    }


def _verdict(here: Alternative | None, options: list[Alternative], unit: str) -> str:
    if here is None:
        return "it is not placed"
    better = [a for a in options if a.change < -1e-9]
    allowed = [a for a in better if a.allowed]
    if allowed:
        best = allowed[0]
        return (
            f"moving it alone to {best.host or best.node} would save {rate(-best.change, unit)} of "
            "inter-node traffic"
        )
    if better:
        return (
            f"{better[0].host or better[0].node} would be cheaper by "
            f"{rate(-better[0].change, unit)}, but: "
            f"{better[0].blocked_by[0]}"
        )
    if here.inter_node <= 1e-9:
        return "all that it talks to is on this node"
    return "no other node would be cheaper while the others stay where they are"


def explain_topology(problem: Problem, current: Placement, topology: int) -> dict[str, Any]:
    """Loads per node, the heaviest crossings, single moves that would help, broken constraints."""
    own = problem.executors_of(topology)
    node = current.nodes(problem.slots)
    graph = problem.graph
    crossing = node[graph.sources] != node[graph.indices]
    order = np.argsort(-np.where(crossing, graph.weight, 0.0), kind="stable")[:HEAVIEST]
    return {
        "nodes": _nodes(problem, node, own),
        "inter_node": graph.crossing(node),
        "total": graph.total,
        "heaviest_crossings": [
            {
                "from": executor_name(problem, int(graph.sources[i])),
                "from_component": component_name(problem, int(graph.sources[i])),
                "from_slot": slot_name(problem, int(current.slot[graph.sources[i]])),
                "to": executor_name(problem, int(graph.indices[i])),
                "to_component": component_name(problem, int(graph.indices[i])),
                "to_slot": slot_name(problem, int(current.slot[graph.indices[i]])),
                "cost": float(graph.weight[i]),
            }
            for i in order.tolist()
            if crossing[i]
        ],
        "single_moves": single_moves(problem, current, topology),
        "violations": [str(v) for v in violations(problem, current, current)],
    }


def _nodes(problem: Problem, node: Any, own: slice) -> list[dict[str, Any]]:
    load = np.bincount(
        node[node != UNPLACED],
        weights=problem.cpu[node != UNPLACED],
        minlength=len(problem.nodes),
    )
    count = np.bincount(node[own][node[own] != UNPLACED], minlength=len(problem.nodes))
    return [
        {
            "id": n.id,
            "host": n.host,
            "executors": int(count[i]),
            "cpu": float(load[i]),
            "cpu_limit": n.cpu,
            "excluded": n.excluded,
        }
        for i, n in enumerate(problem.nodes)
    ]


def single_moves(problem: Problem, current: Placement, topology: int) -> list[dict[str, Any]]:
    """Moves of one executor that would lower inter-node traffic, the most saving first.

    Each says which constraint forbids it, if one does.
    """
    own = problem.executors_of(topology)
    node = current.nodes(problem.slots)
    found: list[tuple[float, int, int]] = []
    for e in range(own.start, own.stop):
        if node[e] == UNPLACED:
            continue
        cost = costs_by_node(problem, current, e)
        n = int(np.argmin(cost))
        if cost[n] < cost[node[e]] - 1e-9:
            found.append((float(cost[n] - cost[node[e]]), e, n))
    known = {str(v) for v in violations(problem, current, current)}
    moves = []
    for change, e, n in sorted(found)[:CANDIDATES]:
        slot = best_slot(problem, current, e, n)
        moves.append(
            {
                "executor": executor_name(problem, e),
                "component": component_name(problem, e),
                "from": slot_name(problem, int(current.slot[e])),
                "to": problem.nodes[n].id,
                "change": change,
                "blocked_by": list(blocked(problem, current, e, slot, known)),
            }
        )
    return moves[:HEAVIEST]
