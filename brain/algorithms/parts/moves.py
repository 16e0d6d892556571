"""Re-placement: staying where that is as good, and the best plan within a cap on moves."""

from __future__ import annotations

from brain.algorithms.parts.levels import feasible_nodes, to_slots
from brain.algorithms.parts.score import cost, disturbance, score
from brain.algorithms.parts.verify import violations
from brain.algorithms.parts.workspace import Workspace
from brain.model import Placement

IMBALANCE_SLACK = 1.03
"""Staying may be this much less even than moving; METIS's own tolerance."""


def stay(work: Workspace, placement: Placement) -> Placement:
    """The placement, or what runs now with the least repair where that is not worse.

    A move must pay: ``move_cost`` per executor and ``restart_cost`` per worker (parameters, in
    the unit of the edges; 0 by default) are added to the traffic.
    """
    kept = to_slots(work, feasible_nodes(work, work.current_node), sticky=True)
    if len(violations(work.problem, kept, work.current)) > len(
        violations(work.problem, placement, work.current)
    ):
        return placement
    move_cost = work.number("move_cost", 0.0, 0.0, 1e300)
    restart_cost = work.number("restart_cost", 0.0, 0.0, 1e300)
    old = score(work.problem, kept, work.current)
    new = score(work.problem, placement, work.current)
    worse = cost(old, move_cost, restart_cost) > cost(new, move_cost, restart_cost)
    if worse or old.imbalance > max(new.imbalance, 1.0) * IMBALANCE_SLACK:
        return placement
    return kept


def cap_moves(work: Workspace, placement: Placement) -> Placement:
    """The best placement on the way from what runs now to ``placement`` within ``max_moves``."""
    cap = work.options.max_moves
    if cap is None or disturbance(placement, work.current)[0] <= cap:
        return placement
    assert work.current is not None
    kept = to_slots(work, feasible_nodes(work, work.current_node), sticky=True)
    if disturbance(kept, work.current)[0] <= cap:
        return kept
    return work.current
