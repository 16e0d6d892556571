"""Grow along the traffic: next comes whoever talks most with what is already placed.

Each goes to the node that it talks to most and that still has room. No paper: an example.
"""

from __future__ import annotations

import numpy as np

from brain.algorithms.parts.finish import finish
from brain.algorithms.parts.repair import attraction
from brain.algorithms.parts.state import State
from brain.algorithms.parts.workspace import Workspace
from brain.model import Options, Placement, Problem, Result


def solve(problem: Problem, current: Placement | None, options: Options) -> Result:
    work = Workspace(problem, current, options)
    units = work.units
    state = State(work.limits, units)
    talk = np.bincount(units.graph.sources, units.graph.weight, len(units))
    waiting = set(range(len(units)))
    while waiting:
        met = {u: attraction(state, u) for u in sorted(waiting)}
        unit = max(met, key=lambda u: (met[u].max(initial=0.0), talk[u]))
        waiting.remove(unit)
        room = np.flatnonzero(state.fits(unit))
        if len(room):  # else the repair in finish() finds a place, or says why there is none
            state.put(unit, int(room[met[unit][room].argmax()]))
    return finish(work, "nearest", units.scatter(state.node))
