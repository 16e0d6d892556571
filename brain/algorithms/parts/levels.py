"""The two levels: executors to nodes within all limits, then executors of a node to slots."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.parts.repair import place_leftovers, repair
from brain.algorithms.parts.state import State
from brain.algorithms.parts.units import Units
from brain.algorithms.parts.workers import assign_slots
from brain.algorithms.parts.workspace import Workspace
from brain.model import UNPLACED, Placement


def feasible_nodes(work: Workspace, node: NDArray[np.int32]) -> NDArray[np.int32]:
    """The nearest assignment of executors to nodes within all hard limits.

    Executors that find no place are UNPLACED. Frozen ones too: their slots are not in question.
    """
    units = work.units
    state = repair(work.limits, units, units.gather(node))
    repaired = units.scatter(state.node)
    if (state.node == UNPLACED).any() and len(units) < int(work.limits.movable.sum()):
        # Some group finds no place whole: co-location gives way before executors stay out.
        single = Units.of(work.problem, work.limits, work.graph, colocate=False)
        loose = State(work.limits, single)
        for u, n in enumerate(single.gather(repaired)):
            if n != UNPLACED:
                loose.put(u, int(n))
        place_leftovers(loose)
        repaired = single.scatter(loose.node)
    return repaired


def to_slots(work: Workspace, node: NDArray[np.int32], *, sticky: bool = False) -> Placement:
    """Slots for executors whose nodes are within the limits; see ``assign_slots``."""
    return assign_slots(
        work.problem,
        work.limits,
        work.graph,
        node,
        work.current,
        sticky=sticky,
        seed=work.options.seed,
    )
