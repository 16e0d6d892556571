"""Makes any assignment of units to nodes respect all hard limits, at little cost in traffic.

Partitioners overrun capacities and know nothing of slots, workers, pins or spread. Here whoever
does not fit leaves, and whoever is left over goes where he fits and talks most; if there is no
room, room is made by moving others on. Only what really finds no place stays out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.parts.limits import UNLIMITED, Limits
from brain.algorithms.parts.state import State
from brain.algorithms.parts.units import Units
from brain.model import UNPLACED

_EJECTIONS = 12
"""How many others may move on to make room for one."""
_RESTARTS, _HOPELESS = 24, 2
"""Tries at packing anew; few where not all can fit anyway."""
_RESTART_EFFORT = 6000
"""Units placed in all over the restarts: small problems get many, large ones a single one."""
_EFFORT = 4000
"""Tries at making room in one repair, so that a hopeless problem ends soon."""


def repair(limits: Limits, units: Units, wish: NDArray[np.int32]) -> State:
    """The state after placing units as wished as far as they fit, then the leftovers.

    ``state.node`` is UNPLACED for units that found no place even without their spread.
    """
    best = State(limits, units)
    _admit(best, wish)
    left = broken(best, place_leftovers(best))
    if left == 0:
        return best
    rng = np.random.default_rng(len(units))
    few = limits.workers[units.topology] < UNLIMITED
    restarts = _HOPELESS if _cannot_all_fit(limits, units) else _RESTARTS
    for attempt in range(max(1, min(restarts, _RESTART_EFFORT // max(len(units), 1)))):
        # First by size alone; then topologies with few workers first; then at random.
        shuffle = rng.random(len(units)) * (attempt > 1)
        whole = rng.random(len(limits.workers))[units.topology] * (attempt % 3 == 2)
        first = np.where(few, -1.0, 0.0) * (attempt % 2) + whole
        packed = State(limits, units)
        out = broken(packed, place_leftovers(packed, pack=True, first=first, shuffle=shuffle))
        if out < left:
            best, left = packed, out
        if left == 0:
            break
    return best


def _cannot_all_fit(limits: Limits, units: Units) -> bool:
    """Whether some unit fits nowhere even alone, or all together ask for more than there is."""
    for demand, free in (
        (units.cpu, limits.cpu_free),
        (units.memory_mb, limits.memory_free),
    ):
        if demand.sum() > np.maximum(free[limits.usable], 0.0).sum():
            return True
    alone = State(limits, units)
    if any(not alone.fits(u).any() for u in range(len(units))):
        return True
    size = np.bincount(units.topology, units.size, len(limits.workers))
    needed = np.ceil(size / limits.per_worker)
    return bool((needed > limits.workers).any() or needed.sum() > limits.slots_free.sum())


def broken(state: State, left: list[int]) -> int:
    """How many units are out or, less bad, crowd against their spread."""
    crowds = np.maximum(state.spread_count - state.limits.spread_limit[:, None], 0)
    return len(left) * (len(state.units) + 1) + int(crowds.sum())


def place_leftovers(
    state: State,
    *,
    pack: bool = False,
    first: NDArray[np.float64] | None = None,
    shuffle: NDArray[np.float64] | None = None,
) -> list[int]:
    """Places the units that have no node; returns those that found none.

    With ``pack`` the fit counts before the traffic. Units with a low ``first`` come first, then
    the large ones; ``shuffle`` is taken off their size.
    """
    units = state.units
    waiting = np.flatnonzero(state.node == UNPLACED)
    if len(waiting) == 0:
        return []
    bulk = _bulk(state.limits, units)[waiting]
    choice = units.allowed.sum(axis=1)[units.allowed_class[waiting]]
    traffic = np.diff(np.concatenate(([0.0], np.cumsum(units.graph.weight)))[units.graph.indptr])
    if shuffle is not None:
        bulk = bulk - shuffle[waiting]
    ahead = np.zeros(len(waiting)) if first is None else first[waiting]
    order = np.lexsort((waiting, -traffic[waiting], choice, -np.round(bulk, 9), ahead))
    left: list[int] = []
    effort = _EFFORT
    for unit in waiting[order]:
        u = int(unit)
        node = best_node(state, u, state.fits(u), pack=pack)
        if node == UNPLACED and effort > 0:
            effort -= _make_room(state, u, pack)
            if state.node[u] != UNPLACED:
                continue
        if node == UNPLACED:
            left.append(u)
        else:
            state.put(u, node)
    return [u for u in left if not _without_spread(state, u)]


def best_node(state: State, unit: int, mask: NDArray[np.bool_], *, pack: bool = False) -> int:
    """The node of the mask that a unit talks to most; among equals one where its topology already
    has room in a worker, then the one with the most room (packing: the tightest)."""
    candidates = np.flatnonzero(mask)
    if len(candidates) == 0:
        return UNPLACED
    t = state.units.topology[unit]
    opens = state.new_workers(unit)[candidates] > 0
    room = _room(state, candidates)
    limited = state.limits.workers[t] < UNLIMITED
    gain = attraction(state, unit)[candidates]
    keys: tuple[NDArray[Any], ...]
    if pack:
        # With few workers the largest nodes must come first, else the tightest fit.
        keys = (candidates, -gain, -room if limited else room, opens)
    else:
        keys = (candidates, -room, opens, -gain)
    return int(candidates[np.lexsort(keys)[0]])


def attraction(state: State, unit: int) -> NDArray[np.float64]:
    """The traffic of a unit with what each node holds."""
    graph = state.units.graph
    span = slice(int(graph.indptr[unit]), int(graph.indptr[unit + 1]))
    where = state.node[graph.indices[span]]
    placed = where != UNPLACED
    return np.bincount(
        where[placed], weights=graph.weight[span][placed], minlength=len(state.cpu_free)
    ).astype(float)


def _room(state: State, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Free CPU and memory as comparable numbers; free slots where neither is limited."""
    cpu, memory = state.cpu_free[nodes], state.memory_free[nodes]
    most = max(float(np.max(cpu, where=np.isfinite(cpu), initial=0.0)), 1e-12)
    more = max(float(np.max(memory, where=np.isfinite(memory), initial=0.0)), 1e-12)
    tightest = np.minimum(cpu / most, memory / more)
    load: NDArray[np.float64] = state.count.sum(axis=0)[nodes] / (
        1.0 + state.limits.slots_free[nodes]
    )
    room: NDArray[np.float64] = np.where(np.isfinite(tightest), tightest, 2.0)
    return room - 1e-3 * load / (1.0 + load)


def _bulk(limits: Limits, units: Units) -> NDArray[np.float64]:
    """How much of the largest node a unit takes: the hard ones come first."""

    def of(demand: NDArray[np.float64], free: NDArray[np.float64]) -> NDArray[np.float64]:
        finite = free[np.isfinite(free) & limits.usable]
        most = float(finite.max(initial=0.0))
        return demand / most if most > 0 else np.zeros(len(demand))

    return np.maximum(of(units.cpu, limits.cpu_free), of(units.memory_mb, limits.memory_free))


def _admit(state: State, wish: NDArray[np.int32]) -> None:
    """Puts units where they are wished, the best tied first, as far as they fit."""
    units = state.units
    state.put_unproblematic(wish)
    wished = np.flatnonzero((wish != UNPLACED) & (state.node == UNPLACED))
    if len(wished) == 0:
        return
    graph = units.graph
    together = (wish[graph.sources] == wish[graph.indices]) & (wish[graph.sources] != UNPLACED)
    tied = np.bincount(graph.sources, weights=graph.weight * together, minlength=len(units))
    crowd = np.zeros((len(state.limits.workers), len(state.cpu_free)), dtype=np.int64)
    np.add.at(crowd, (units.topology[wished], wish[wished]), units.size[wished])
    here = crowd[units.topology[wished], wish[wished]]
    order = np.lexsort((wished, -tied[wished], -here))
    for unit in wished[order]:
        if state.fits_at(int(unit), int(wish[unit])):
            state.put(int(unit), int(wish[unit]))


def _make_room(state: State, unit: int, pack: bool) -> int:
    """Tries to place a unit by moving others on from some node; returns the tries made."""
    units = state.units
    nodes = np.flatnonzero(units.allowed[units.allowed_class[unit]])
    nodes = nodes[
        (units.cpu[unit] <= state.limits.cpu_free[nodes])
        & (units.memory_mb[unit] <= state.limits.memory_free[nodes])
    ]
    nodes = nodes[np.lexsort((nodes, -_room(state, nodes)))][:8]
    for tries, node in enumerate(nodes, start=1):
        if _eject(state, unit, int(node), pack):
            return tries
    return max(len(nodes), 1)


def _eject(state: State, unit: int, node: int, pack: bool) -> bool:
    """Takes others off a node until a unit fits, and places them elsewhere; undone if one fails."""
    units = state.units
    here = np.flatnonzero(state.node == node)
    # The own topology's units share its workers, so those of others free slots sooner.
    bulk = _bulk(state.limits, units)[here]
    order = here[np.lexsort((here, bulk))]
    out: list[int] = []
    for other in order:
        if len(out) >= _EJECTIONS or state.fits_at(unit, node):
            break
        state.take(int(other))
        out.append(int(other))
    placed: list[int] = []
    done = state.fits_at(unit, node)
    if done:
        state.put(unit, node)
        for other in reversed(out):
            mask = state.fits(other)
            to = best_node(state, other, mask, pack=pack)
            if to == UNPLACED:
                done = False
                break
            state.put(other, to)
            placed.append(other)
    if done:
        return True
    for other in placed:
        state.take(other)
    if state.node[unit] != UNPLACED:
        state.take(unit)
    for other in reversed(out):
        state.put(other, node)
    return False


def _without_spread(state: State, unit: int) -> bool:
    """Last resort for a unit to be spread: any node with room; the verifier tells of it."""
    if state.units.spread_class[unit] < 0:
        return False
    node = best_node(state, unit, state.fits(unit, spread=False))
    if node == UNPLACED:
        return False
    state.put(unit, node)
    return True
