"""Everything hard about a problem, compiled to arrays once and shared by all algorithms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brain.model import UNPLACED, Placement, Problem, Topology

UNLIMITED = np.iinfo(np.int64).max // 4
"""Stands for "no limit" in integer limits; small enough to be added to without overflow."""
TOLERANCE = 1e-9
"""Relative slack in comparing sums of demands with capacities: float noise, not a loophole."""


@dataclass(frozen=True)
class Limits:
    """Frozen topologies are taken off: their load, slots and executors are not to be disposed of.

    ``allowed[allowed_class[e]]`` masks the nodes that may hold executor e (pins, excluded nodes).
    Of a spread class at most ``spread_limit[class]`` executors share a node. Loads may reach the
    free amounts, which already contain the float tolerance.
    """

    usable: NDArray[np.bool_]
    movable: NDArray[np.bool_]
    cpu_free: NDArray[np.float64]
    memory_free: NDArray[np.float64]
    slot_free: NDArray[np.bool_]
    slots_free: NDArray[np.int64]
    workers: NDArray[np.int64]
    per_worker: NDArray[np.int64]
    allowed: NDArray[np.bool_]
    allowed_class: NDArray[np.int32]
    spread_class: NDArray[np.int32]
    spread_limit: NDArray[np.int64]

    @classmethod
    def of(cls, problem: Problem, current: Placement | None) -> Limits:
        frozen = np.array([t.frozen for t in problem.topologies], dtype=bool)
        movable = ~frozen[problem.topology_of] if len(problem) else np.zeros(0, dtype=bool)
        usable = np.array([bool(n.slots) and not n.excluded for n in problem.nodes], dtype=bool)
        slot_free, cpu_used, memory_used = _after_frozen(problem, current, movable, usable)
        slots_free = np.bincount(
            problem.slots.node[slot_free], minlength=len(problem.nodes)
        ).astype(np.int64)
        allowed, allowed_class = _pins(problem, usable & (slots_free > 0))
        spread_class, spread_limit = _spreads(problem, allowed, allowed_class)
        return cls(
            usable=usable & (slots_free > 0),
            movable=movable,
            cpu_free=_free(problem.cpu_capacity, cpu_used),
            memory_free=_free(problem.memory_capacity, memory_used),
            slot_free=slot_free,
            slots_free=slots_free,
            workers=_per_topology(problem, "workers"),
            per_worker=_per_topology(problem, "max_executors_per_worker"),
            allowed=allowed,
            allowed_class=allowed_class,
            spread_class=spread_class,
            spread_limit=spread_limit,
        )


def _after_frozen(
    problem: Problem,
    current: Placement | None,
    movable: NDArray[np.bool_],
    usable: NDArray[np.bool_],
) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
    """Slots that may be used, and the load that frozen topologies put on each node."""
    slots, nodes = problem.slots, len(problem.nodes)
    slot_free = np.array([usable[n] for n in slots.node], dtype=bool)
    if current is None:
        return slot_free, np.zeros(nodes), np.zeros(nodes)
    stays = ~movable & current.placed
    slot_free = slot_free.copy()
    slot_free[current.slot[stays]] = False
    where = slots.node[current.slot[stays]] if stays.any() else np.zeros(0, dtype=np.int32)
    cpu = np.bincount(where, problem.cpu[stays], nodes).astype(float)
    memory = np.bincount(where, problem.memory_mb[stays], nodes).astype(float)
    return slot_free, cpu, memory


def _free(capacity: NDArray[np.float64], used: NDArray[np.float64]) -> NDArray[np.float64]:
    """What is left, with the tolerance on top; nothing where frozen load already exceeds it."""
    return np.maximum(capacity - used + TOLERANCE * (1.0 + np.abs(capacity)), -1.0) + 0.0


def _per_topology(problem: Problem, attribute: str) -> NDArray[np.int64]:
    values = [getattr(t, attribute) for t in problem.topologies]
    return np.array([UNLIMITED if v is None else v for v in values], dtype=np.int64)


def _pins(
    problem: Problem, usable: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.int32]]:
    masks = [usable]
    classes = np.zeros(len(problem), dtype=np.int32)
    node_ids = np.array([n.id for n in problem.nodes], dtype=object)
    for t, topology in enumerate(problem.topologies):
        for component, nodes in topology.pin.items():
            members = members_of(problem, t, topology, component)
            if len(members):
                classes[members] = len(masks)
                masks.append(usable & np.isin(node_ids, list(nodes)))
    return np.array(masks, dtype=bool).reshape(len(masks), len(problem.nodes)), classes


def _spreads(
    problem: Problem,
    allowed: NDArray[np.bool_],
    allowed_class: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    classes = np.full(len(problem), -1, dtype=np.int32)
    limits: list[int] = []
    for t, topology in enumerate(problem.topologies):
        if topology.frozen:
            continue
        for component in topology.spread:
            members = members_of(problem, t, topology, component)
            if len(members) == 0:
                continue
            nodes = int(allowed[allowed_class[members[0]]].sum())
            if topology.workers is not None:
                nodes = min(nodes, topology.workers)
            classes[members] = len(limits)
            limits.append(-(-len(members) // max(nodes, 1)))
    return classes, np.array(limits, dtype=np.int64)


def members_of(problem: Problem, t: int, topology: Topology, component: str) -> NDArray[np.int64]:
    """The executors of a component, numbered over the whole problem."""
    if component not in topology.components:
        return np.zeros(0, dtype=np.int64)
    index = topology.components.index(component)
    return np.flatnonzero(topology.component_of == index) + int(problem.offsets[t])


def nodes_of(problem: Problem, placement: Placement | None) -> NDArray[np.int32]:
    """The node of each executor, all UNPLACED without a placement."""
    if placement is None:
        return np.full(len(problem), UNPLACED, dtype=np.int32)
    return placement.nodes(problem.slots)
