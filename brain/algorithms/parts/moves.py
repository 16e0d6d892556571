"""Re-placement: staying where that is as good, and the best plan within a cap on moves."""

from __future__ import annotations

import heapq
from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.parts.levels import feasible_nodes, to_slots
from brain.algorithms.parts.occupancy import Occupancy
from brain.algorithms.parts.score import cost, disturbance, score
from brain.algorithms.parts.verify import violations
from brain.algorithms.parts.workspace import Workspace
from brain.model import UNPLACED, Placement

Bundle = tuple[list[int], int]
"""Executors, and the node they go to together."""
IMBALANCE_SLACK = 1.03
"""Staying may be this much less even than moving; METIS's own tolerance."""


def stay(work: Workspace, placement: Placement) -> Placement:
    """The placement, or what runs now with the least repair where that is not worse.

    A move must pay: ``move_cost`` per executor and ``restart_cost`` per worker (parameters, in
    the unit of the edges; 0 by default) are added to the traffic.
    """
    kept = to_slots(work, feasible_nodes(work, work.current_node), sticky=True)
    broken_kept = len(violations(work.problem, kept, work.current))
    broken = len(violations(work.problem, placement, work.current))
    if broken_kept != broken:
        return placement if broken < broken_kept else kept
    move_cost = work.number("move_cost", 0.0, 0.0, 1e300)
    restart_cost = work.number("restart_cost", 0.0, 0.0, 1e300)
    old = score(work.problem, kept, work.current)
    new = score(work.problem, placement, work.current)
    worse = cost(old, move_cost, restart_cost) > cost(new, move_cost, restart_cost)
    if worse or old.imbalance > max(new.imbalance, 1.0) * IMBALANCE_SLACK:
        return placement
    return kept


def cap_moves(work: Workspace, placement: Placement) -> Placement:
    """A placement within ``max_moves``: the best of several ways towards ``placement``.

    The cap is hard. What must move (off excluded nodes, out of overfull ones) goes first; where
    the cap forbids even that, it stays, and the verifier says so.
    """
    cap = work.options.max_moves
    if cap is None or work.current is None or disturbance(placement, work.current)[0] <= cap:
        return placement
    ways = [_greedy(work, placement, cap, bundles=True), _greedy(work, placement, cap)]
    kept = to_slots(work, feasible_nodes(work, work.current_node), sticky=True)
    if disturbance(kept, work.current)[0] <= cap:
        ways.append(kept)

    def rank(way: Placement) -> tuple[int, float]:
        broken = len(violations(work.problem, way, work.current))
        return broken, cost(score(work.problem, way, work.current))

    return min(ways, key=rank)


def _greedy(work: Workspace, target: Placement, cap: int, *, bundles: bool = False) -> Placement:
    """From what runs now: newcomers in, the misplaced out, then the moves that gain most."""
    goal = target.nodes(work.problem.slots)
    now = Occupancy(work)
    budget = cap
    for new in np.flatnonzero(work.limits.movable & (now.slot == UNPLACED)):
        now.place(int(new), prefer=int(goal[new]))
    for e in now.misplaced():
        if budget > 0 and now.place(e, prefer=int(goal[e])):
            budget -= 1
    if bundles:
        budget = _move_bundles(now, _bundles(work, now, goal), budget)
    _move_singly(work, now, goal, budget)
    return Placement(now.slot)


def _bundles(work: Workspace, now: Occupancy, goal: NDArray[np.int32]) -> list[Bundle]:
    """Groups that go from one node to another together, by descending gain a move."""
    here = now.nodes()
    movers = np.flatnonzero(
        work.limits.movable & (goal != here) & (goal != UNPLACED) & (here != UNPLACED)
    )
    together: dict[tuple[int, int], list[int]] = defaultdict(list)
    for e in movers:
        together[int(here[e]), int(goal[e])].append(int(e))
    rated = [(now.gain(es, to) / len(es), es, to) for (_, to), es in together.items()]
    return [(es, to) for _, es, to in sorted(rated, key=lambda r: (-r[0], r[1]))]


def _move_bundles(now: Occupancy, bundles: list[Bundle], budget: int) -> int:
    """Moves whole bundles while they gain and fit; returns the moves left."""
    for bundle, to in bundles:
        if len(bundle) > budget or now.gain(bundle, to) <= 0:
            continue
        moved: list[int] = []
        for e in bundle:
            if not now.move(e, to):
                break
            moved.append(e)
        if len(moved) == len(bundle):
            budget -= len(bundle)
        else:
            for e in reversed(moved):
                now.move_back(e)
    return budget


def _move_singly(work: Workspace, now: Occupancy, goal: NDArray[np.int32], budget: int) -> None:
    """Executors to where they gain most, one by one; where a node is full, by a swap."""
    units = work.units
    single = work.limits.movable & (now.slot != UNPLACED)
    single[units.members] &= np.repeat(units.size == 1, units.size)
    heap: list[tuple[float, int, int]] = []

    def offer(e: int) -> None:
        if single[e]:
            for node, gain in now.gains(e, int(goal[e])).items():
                if gain > 0:
                    heapq.heappush(heap, (-gain, e, node))

    for index in np.flatnonzero(single):
        offer(int(index))
    while heap and budget > 0:
        said, e, node = heapq.heappop(heap)
        if node == now.node(e):
            continue
        gain = now.gain([e], node)
        if gain < -said - 1e-12:
            if gain > 0:
                heapq.heappush(heap, (-gain, e, node))
            continue
        touched = [e] if now.move(e, node) else []
        if not touched and budget >= 2:
            touched = now.swap(e, node, single)
        budget -= len(touched)
        for mover in touched:
            for peer in now.peers_of(mover):
                offer(peer)
