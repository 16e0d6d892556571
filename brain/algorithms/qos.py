"""The QoS-aware scheduler with central knowledge (Cardellini et al. 2015; Pietzuch et al. 2006).

The cost space of ``brain/qos`` has two dimensions of latency, one of availability, one of
utilisation; latency weighs twice utilisation. Where the problem has a matrix of latencies, nodes
get their coordinates from it (Vivaldi); without one all nodes are equally far apart, nodes of one
rack half as far. In the order of events:

1. Virtual placement: all streams are springs, pinned executors are fixed, and the rest comes to
   rest between them (``brain/qos/springs.py``).
2. Physical placement: executors in the order in which they talk to what is placed, each to the
   node with room that is nearest: to its virtual place, and to its placed neighbours.
3. Relaxation on the ground: executors, and pools of executors that sit together, move while the
   cost of the whole falls:

       Φ = w_latency · Σ streams rate / mean rate · latency
         + Σ executors (w_utilisation · u² + w_availability · (1 - a))

With a current placement only step 3 is done, from there. How we differ from the agents: all is
known here, at one moment, and moves are made at once; every hard limit holds as in all algorithms.

Parameters: ``w_latency`` 2, ``w_utilisation`` 1, ``w_availability`` 1, ``move_cost``,
``restart_cost``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.parts.finish import conclude, finish
from brain.algorithms.parts.levels import feasible_nodes, to_slots
from brain.algorithms.parts.moves import cap_moves
from brain.algorithms.parts.repair import repair
from brain.algorithms.parts.score import cost, score
from brain.algorithms.parts.state import State
from brain.algorithms.parts.verify import violations
from brain.algorithms.parts.workspace import Workspace
from brain.algorithms.qos_parts.field import Field
from brain.algorithms.qos_parts.ground import Ground
from brain.algorithms.qos_parts.virtual import physical_placement
from brain.model import UNPLACED, Options, Placement, Problem, Result

LEAST_GAIN = 0.02
"""Of the cost of the whole: below this staying is as good, and nobody is moved."""


def solve(problem: Problem, current: Placement | None, options: Options) -> Result:
    """``qos``; see above for its parameters."""
    work = Workspace(problem, current, options)
    if len(work.units) == 0 or not work.limits.usable.any():
        return finish(work, "qos", work.current_node)
    field = Field(work)
    if current is None:
        # By load as well, or by latency alone as far as the limits allow: neither is always better.
        starts = [physical_placement(work, field, by_load=by_load) for by_load in (True, False)]
    else:
        starts = [repair(work.limits, work.units, work.units.gather(work.current_node))]
    for state in starts:
        Ground(field, state).relax()
    state = min(starts, key=lambda s: ((s.node == UNPLACED).sum(), round(field.cost(s.node), 9)))
    return settled(work, "qos", field, state, {"cost": field.cost(state.node)})


def settled(
    work: Workspace, name: str, field: Field, state: State, details: dict[str, float]
) -> Result:
    """Slots for the nodes of units. Where nodes differ in latency none is renamed into another."""
    node = work.units.scatter(state.node)
    if not field.measured:
        return finish(work, name, node, details=details)
    placement = to_slots(work, feasible_nodes(work, node), sticky=work.current is not None)
    if work.current is not None:
        kept = to_slots(work, feasible_nodes(work, work.current_node), sticky=True)
        if _stays(work, field, kept, placement):
            placement = kept
        if work.options.max_moves is not None:
            capped = cap_moves(work, placement)
            worse = _cost(work, field, capped) > _cost(work, field, kept)
            placement = kept if worse and not _broken(work, kept) else capped
    return conclude(work, name, placement, details=details)


def _stays(work: Workspace, field: Field, kept: Placement, placement: Placement) -> bool:
    if _broken(work, kept) != _broken(work, placement):
        return _broken(work, kept) < _broken(work, placement)
    move_cost = work.number("move_cost", 0.0, 0.0, 1e300)
    restart_cost = work.number("restart_cost", 0.0, 0.0, 1e300)
    if move_cost or restart_cost:
        old = score(work.problem, kept, work.current)
        new = score(work.problem, placement, work.current)
        if cost(old, move_cost, restart_cost) <= cost(new, move_cost, restart_cost):
            return True
    now, then = _cost(work, field, kept), _cost(work, field, placement)
    return now - then <= LEAST_GAIN * now


def _broken(work: Workspace, placement: Placement) -> int:
    return len(violations(work.problem, placement, work.current))


def _cost(work: Workspace, field: Field, placement: Placement) -> float:
    node: NDArray[np.int32] = work.units.gather(placement.nodes(work.problem.slots))
    return field.cost(node)
