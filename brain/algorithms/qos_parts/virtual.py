"""Virtual placement by springs, then physical placement: the first placement of ``qos``."""

from __future__ import annotations

import heapq
import math
from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.parts.state import State
from brain.algorithms.parts.workspace import Workspace
from brain.algorithms.qos_parts.field import Field
from brain.qos.space import Point
from brain.qos.springs import relax

MOST_RELAXED = 2000
"""Units up to which springs are relaxed; beyond, only placed neighbours pull."""


def physical_placement(work: Workspace, field: Field, *, by_load: bool = True) -> State:
    """Units on nodes with room, nearest in the cost space, from the pinned ones outwards."""
    units = work.units
    state = State(work.limits, units)
    virtual = virtual_distances(work, field)
    talk = np.bincount(units.graph.sources, units.graph.weight, len(units)).astype(float)
    fixed = _few_places(work)
    executors = np.zeros(len(field.load))
    points = np.zeros(len(field.load))
    for unit in _outwards(field, fixed, talk):
        room = np.flatnonzero(state.fits(unit))
        if not len(room):
            continue  # the repair in finish() finds a place, or says that there is none
        size, cpu = float(units.size[unit]), float(units.cpu[unit])
        more = field.node_cost(executors + size, points + cpu)
        more = more - field.node_cost(executors, points)
        if not by_load:
            more = 0.01 * more  # to tell equals apart
        price = field.pull(unit, state.node) + more + 0.05 * field.remote
        if virtual is not None:
            price = price + 0.1 * virtual[unit]
        to = int(room[np.lexsort((room, np.round(price[room], 9)))[0]])
        state.put(unit, to)
        executors[to] += size
        points[to] += cpu
    return state


def _few_places(work: Workspace) -> NDArray[np.int64]:
    """Units that may be on some nodes only: they are placed first, and pull the others."""
    units = work.units
    choices = units.allowed.sum(axis=1)[units.allowed_class]
    return np.flatnonzero(choices < int(work.limits.usable.sum()))


def _outwards(field: Field, fixed: NDArray[np.int64], talk: NDArray[np.float64]) -> list[int]:
    """The pinned units, then always the one that talks most with those before it."""
    waiting = np.ones(len(talk), dtype=bool)
    met = np.zeros(len(talk))
    heap: list[tuple[float, float, int]] = []
    order: list[int] = []

    def take(unit: int) -> None:
        waiting[unit] = False
        order.append(unit)
        peers, rate = field.peers(unit)
        for peer, r in zip(peers.tolist(), rate.tolist(), strict=True):
            if waiting[peer]:
                met[peer] += r
                heapq.heappush(heap, (-met[peer], -talk[peer], peer))

    for unit in sorted(fixed.tolist(), key=lambda u: (-talk[u], u)):
        take(unit)
    rest = np.lexsort((np.arange(len(talk)), -talk)).tolist()
    for start in rest:
        if waiting[start]:
            heapq.heappush(heap, (0.0, -talk[start], start))
        while heap:
            said, _, unit = heapq.heappop(heap)
            if waiting[unit] and -said >= met[unit]:
                take(unit)
    return order


def virtual_distances(work: Workspace, field: Field) -> NDArray[np.float64] | None:
    """From the virtual place of each unit to each node; None where no node is special."""
    units = work.units
    if not field.measured or len(units) > MOST_RELAXED:
        return None
    places = field.coordinates()
    if places is None:
        return None
    anchored: dict[Hashable, Point] = {}
    for unit in _few_places(work).tolist():
        allowed = np.flatnonzero(units.allowed[units.allowed_class[unit]])
        if len(allowed):
            anchored[unit] = (
                float(np.mean([places[n].x for n in allowed])),
                float(np.mean([places[n].y for n in allowed])),
            )
    if not anchored:
        return None
    graph = units.graph
    once = graph.sources < graph.indices
    springs = zip(
        graph.sources[once].tolist(),
        graph.indices[once].tolist(),
        graph.weight[once].tolist(),
        strict=True,
    )
    middle = np.mean(list(anchored.values()), axis=0)
    start = (float(middle[0]), float(middle[1]))
    rest: dict[Hashable, Point] = {u: start for u in range(len(units)) if u not in anchored}
    found = {**relax(anchored, rest, springs, rounds=100), **anchored}
    return np.array(
        [
            [
                math.hypot(p.x - found[u][0], p.y - found[u][1]) / 100.0 + p.height / 100.0
                for p in places
            ]
            for u in range(len(units))
        ]
    )
