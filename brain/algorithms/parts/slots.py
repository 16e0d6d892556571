"""Workers that an algorithm formed itself, to slots of nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.parts.workspace import Workspace
from brain.model import UNPLACED, Placement


def free_ports(work: Workspace) -> list[list[int]]:
    """The free slots of each node, in order."""
    slots = work.problem.slots
    return [
        [s for s in slots.of_node(n) if work.limits.slot_free[s]]
        for n in range(len(work.problem.nodes))
    ]


def round_robin_slots(work: Workspace, worker_of: NDArray[np.int64], workers: int) -> Placement:
    """Workers to the nodes in turn, each taking its node's next free slot; the rest find none."""
    ports = free_ports(work)
    longest = max((len(row) for row in ports), default=0)
    turns = [row[i] for i in range(longest) for row in ports if i < len(row)]
    return fill(work, worker_of, np.array((turns + [UNPLACED] * workers)[:workers], dtype=np.int32))


def slots_on_nodes(
    work: Workspace, worker_of: NDArray[np.int64], node_of_worker: list[int]
) -> Placement:
    """Each worker takes the next free slot of its node (UNPLACED where it has no node or slot)."""
    ports = free_ports(work)
    chosen = np.full(len(node_of_worker), UNPLACED, dtype=np.int32)
    for worker, node in enumerate(node_of_worker):
        if node != UNPLACED and ports[node]:
            chosen[worker] = ports[node].pop(0)
    return fill(work, worker_of, chosen)


def fill(
    work: Workspace, worker_of: NDArray[np.int64], slot_of_worker: NDArray[np.int32]
) -> Placement:
    """The placement from executor → worker → slot; frozen executors keep their slots."""
    slot = np.full(len(work.problem), UNPLACED, dtype=np.int32)
    known = worker_of != UNPLACED
    slot[known] = slot_of_worker[worker_of[known]]
    if work.current is not None:
        fixed = ~work.limits.movable
        slot[fixed] = work.current.slot[fixed]
    return Placement(slot)
