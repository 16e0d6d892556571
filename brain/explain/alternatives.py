"""What it would cost to have one executor on another node, and which constraint forbids it.

Costs count this one move only: everybody else stays. Constraints are checked by the one verifier
of placements, so an explanation cannot contradict what the algorithms are held to.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.parts.verify import Violation, violations
from brain.explain.talk import slot_name, weights_with
from brain.model import UNPLACED, Placement, Problem

MAX_NODES = 64
"""Nodes that are gone through for one executor: the cheapest ones."""


@dataclass(frozen=True)
class Alternative:
    """``inter_node`` is what this executor would exchange over the network on that node."""

    node: str
    host: str | None
    slot: str | None
    inter_node: float
    change: float
    """Of the whole topology's inter-node traffic, against where it is now."""
    here: bool
    blocked_by: tuple[str, ...] = ()
    """Constraints that this one move would break; none if it is allowed."""

    @property
    def allowed(self) -> bool:
        return not self.blocked_by


def alternatives(problem: Problem, current: Placement, executor: int) -> list[Alternative]:
    """All nodes (the MAX_NODES cheapest, and its own) by what the executor would cost there."""
    cost = costs_by_node(problem, current, executor)
    here = int(current.nodes(problem.slots)[executor])
    order = [int(n) for n in np.argsort(cost, kind="stable")[:MAX_NODES]]
    if here != UNPLACED and here not in order:
        order.append(here)
    base = cost[here] if here != UNPLACED else cost.max(initial=0.0)
    known = {str(v) for v in violations(problem, current, current)}
    found = []
    for n in order:
        slot: int | None = int(current.slot[executor])
        if n != here:
            slot = best_slot(problem, current, executor, n)
        node = problem.nodes[n]
        found.append(
            Alternative(
                node=node.id,
                host=node.host,
                slot=None if slot is None else slot_name(problem, slot),
                inter_node=float(cost[n]),
                change=float(cost[n] - base),
                here=n == here,
                blocked_by=() if n == here else blocked(problem, current, executor, slot, known),
            )
        )
    return found


def costs_by_node(problem: Problem, current: Placement, executor: int) -> NDArray[np.float64]:
    """What the executor would exchange with other nodes, for each node that it could be on."""
    others, weight = weights_with(problem.graph, executor)
    node = current.nodes(problem.slots)[others]
    placed = node != UNPLACED
    local = np.bincount(node[placed], weights=weight[placed], minlength=len(problem.nodes))
    return np.asarray(weight[placed].sum() - local, dtype=np.float64)


def best_slot(problem: Problem, current: Placement, executor: int, node: int) -> int | None:
    """The own worker on a node that the executor talks to most, else a free slot; None if full."""
    own = problem.executors_of(int(problem.topology_of[executor]))
    mine = set(current.slot[own].tolist())
    taken = set(current.slot.tolist())
    slots = problem.slots.of_node(node)
    others, weight = weights_with(problem.graph, executor)
    talk = dict.fromkeys((s for s in slots if s in mine), 0.0)
    for other, w in zip(others.tolist(), weight.tolist(), strict=True):
        s = int(current.slot[other])
        if s in talk:
            talk[s] += w
    if talk:
        return max(talk, key=lambda s: (talk[s], -s))
    return next((s for s in slots if s not in taken), None)


def blocked(
    problem: Problem, current: Placement, executor: int, slot: int | None, known: set[str]
) -> tuple[str, ...]:
    """The constraints that moving one executor to a slot would newly break."""
    if slot is None:
        return ("no free slot there",)
    moved = current.slot.copy()
    moved[executor] = slot
    left = current.slot[executor]
    old = None if left == UNPLACED else problem.nodes[int(problem.slots.node[left])].id
    return tuple(
        str(v)
        for v in violations(problem, Placement(moved), current)
        if str(v) not in known and not _of_the_node_left(v, old)
    )


def _of_the_node_left(violation: Violation, node: str | None) -> bool:
    """An overload that remains where the executor leaves is only told with another number."""
    return violation.kind in ("cpu", "memory") and violation.message.startswith(f"node {node} ")
