"""Renames nodes and slots of a placement so that most executors stay where they run now.

Algorithms number their parts as they come; which of two alike nodes gets which part is all one for
the traffic, but not for what has to move.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.parts.relabel import relabel
from brain.algorithms.parts.workers import choose_slots
from brain.algorithms.parts.workspace import Workspace
from brain.model import UNPLACED, Placement

_MOST_NODES = 4000
"""Matching is cubic: above this nodes keep their names, and only slots are renamed."""


def keep_in_place(work: Workspace, placement: Placement) -> Placement:
    """The same placement under other names of nodes and slots; no limit is broken anew."""
    if work.current is None or not work.limits.usable.any():
        return placement
    node = placement.nodes(work.problem.slots)
    movable = work.limits.movable & (node != UNPLACED)
    if not movable.any():
        return placement
    part = np.where(movable, node, UNPLACED).astype(np.int32)
    nodes = len(work.problem.nodes)
    chosen = np.arange(nodes, dtype=np.int32)
    if nodes <= _MOST_NODES:
        fits = _fits(work, part, placement.slot)
        chosen = relabel(part, nodes, work.current_node, nodes, fits=fits, home=chosen)
        if not fits[np.arange(nodes), chosen].all():
            chosen = np.arange(nodes, dtype=np.int32)
    renamed = np.where(part == UNPLACED, UNPLACED, chosen[part]).astype(np.int32)
    return choose_slots(work.problem, work.limits, renamed, placement.slot, work.current)


def _fits(work: Workspace, part: NDArray[np.int32], slot: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which node can hold what another one holds now; each its own, even if that breaks a limit."""
    limits, nodes = work.limits, len(work.problem.nodes)
    on = part != UNPLACED
    cpu = np.bincount(part[on], work.problem.cpu[on], nodes)
    memory = np.bincount(part[on], work.problem.memory_mb[on], nodes)
    workers = np.bincount(work.problem.slots.node[np.unique(slot[on])], minlength=nodes)
    fits = (
        (cpu[:, None] <= limits.cpu_free)
        & (memory[:, None] <= limits.memory_free)
        & (workers[:, None] <= limits.slots_free)
    )
    pairs = np.unique(np.stack((part[on], limits.allowed_class[on])), axis=1)
    for p, allowed_class in pairs.T:
        fits[p] &= limits.allowed[allowed_class]
    fits[np.bincount(part[on], minlength=nodes) == 0] = True
    np.fill_diagonal(fits, True)
    return fits
