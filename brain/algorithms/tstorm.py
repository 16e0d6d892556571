"""T-Storm (Xu, Chen, Tang & Su, ICDCS 2014, Algorithm 1; see also Eskandari 2020, section 2).

Executors by descending total (incoming and outgoing) traffic; each goes to the slot with the least
incremental inter-node traffic among the slots k of nodes where

    the node's load stays below its capacity (λ),
    the topology has no other worker on the node (at most one worker a node and topology),
    the topology's executors on the node stay below γ · N_e / N, the consolidation cap.

A larger γ consolidates on fewer nodes. How we differ: the cap is γ·⌈N_e/K⌉ with K the nodes that
the topology may use, rounded up, and executors that find no slot under it are placed by the repair;
all other hard limits (memory, slots, workers, pins) count as well. Ties, which the paper leaves
open, go to the node with the fewest executors.
"""

from __future__ import annotations

import math

import numpy as np

from brain.algorithms.parts.finish import finish
from brain.algorithms.parts.repair import attraction
from brain.algorithms.parts.state import State
from brain.algorithms.parts.workspace import Workspace
from brain.model import Options, Placement, Problem, Result

GAMMA = 1.1


def solve(problem: Problem, current: Placement | None, options: Options) -> Result:
    """Parameter: ``gamma`` ≥ 1, how far executors may crowd on a node beyond an even share."""
    work = Workspace(problem, current, options)
    gamma = work.number("gamma", GAMMA, 1.0, 1e9)
    units = work.units
    state = State(work.limits, units)
    graph = units.graph
    traffic = np.bincount(graph.sources, graph.weight, len(units))
    caps = [_cap(work, t, gamma) for t in range(len(problem.topologies))]
    for unit in np.lexsort((np.arange(len(units)), -traffic)):
        u = int(unit)
        t = int(units.topology[u])
        crowd = state.count[t]
        fits = state.fits(u) & (crowd + units.size[u] <= caps[t])
        candidates = np.flatnonzero(fits)
        if len(candidates) == 0:
            continue  # the repair places it without the cap
        # The most traffic met on a node is the least added between nodes.
        met = attraction(state, u)[candidates]
        load = state.count.sum(axis=0)[candidates]
        order = np.lexsort((candidates, load, -met))
        state.put(u, int(candidates[order[0]]))
    return finish(work, "tstorm", units.scatter(state.node))


def _cap(work: Workspace, t: int, gamma: float) -> int:
    """γ times an even share of the topology's executors, at least a whole unit."""
    units = work.units
    own = units.topology == t
    nodes = max(1, min(int(work.limits.usable.sum()), int(work.limits.workers[t])))
    even = math.ceil(int(units.size[own].sum()) / nodes)
    largest = int(units.size[own].max(initial=1))
    return max(math.ceil(gamma * even), largest)
