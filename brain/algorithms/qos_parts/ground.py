"""Moves of units, and of pools of units that sit together, while the cost of the whole falls."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.parts.state import State
from brain.algorithms.qos_parts.field import Field
from brain.model import UNPLACED

PASSES = 8
MOST_UNITS = 3000
"""Units up to which passes are made until nothing gains; beyond, one pass."""
MOST_POOLED = 400
LEAST = 1e-6


class Ground:
    """Changes ``state`` in place; every limit that holds before a move holds after it."""

    def __init__(self, field: Field, state: State) -> None:
        self.field = field
        self.state = state
        units = field.units
        on = state.node != UNPLACED
        nodes = len(field.load)
        self.executors = np.bincount(state.node[on], units.size[on], nodes).astype(float)
        self.points = np.bincount(state.node[on], units.cpu[on], nodes).astype(float)

    def cost(self) -> float:
        return self.field.cost(self.state.node)

    def relax(self) -> None:
        """Passes over all units until none gains."""
        count = len(self.field.units)
        for _ in range(PASSES if count <= MOST_UNITS else 1):
            gained = sum(self._improve(u) for u in range(count))
            if count <= MOST_POOLED:
                gained += sum(self._improve_pool(pool) for pool in self._pools())
            if gained <= LEAST:
                return

    def _improve(self, unit: int) -> float:
        here = int(self.state.node[unit])
        if here == UNPLACED:
            return 0.0
        price = self.field.pull(unit, self.state.node)
        self._take(unit)
        price = price + self._more(float(self.field.units.size[unit]), self.field.units.cpu[unit])
        fits = self.state.fits(unit)
        fits[here] = True  # where it was it may stay
        best = int(np.where(fits, np.round(price, 9), np.inf).argmin())
        gain = float(price[here] - price[best])
        if gain <= LEAST:
            best, gain = here, 0.0
        self._put(unit, best)
        return gain

    def _improve_pool(self, pool: list[int]) -> float:
        """The whole pool to the node that its neighbours outside pull it to."""
        here = int(self.state.node[pool[0]])
        if any(self.state.node[u] != here for u in pool):
            return 0.0  # an earlier move has taken it apart
        before = self.cost()
        for u in pool:
            self._take(u)
        pull = np.sum([self.field.pull(u, self.state.node) for u in pool], axis=0)
        units = self.field.units
        price = pull + self._more(float(units.size[pool].sum()), float(units.cpu[pool].sum()))
        for to in np.argsort(np.round(price, 9), kind="stable")[:3].tolist():
            if to == here:
                break
            if self._put_all(pool, to):
                gain = before - self.cost()
                if gain > LEAST:
                    return gain
                for u in pool:
                    self._take(u)
        for u in pool:
            self._put(u, here)
        return 0.0

    def _put_all(self, pool: list[int], to: int) -> bool:
        done: list[int] = []
        for u in pool:
            if not self.state.fits_at(u, to):
                for other in done:
                    self._take(other)
                return False
            self._put(u, to)
            done.append(u)
        return True

    def _pools(self) -> list[list[int]]:
        """Units of one topology on one node that talk to each other, pinned ones apart."""
        units, node = self.field.units, self.state.node
        free = units.allowed.sum(axis=1)[units.allowed_class] > 1
        waiting = set(np.flatnonzero((node != UNPLACED) & free).tolist())
        pools = []
        while waiting:
            first = min(waiting)
            waiting.remove(first)
            pool, front = [first], [first]
            while front:
                for peer in self.field.peers(front.pop())[0].tolist():
                    if peer in waiting and node[peer] == node[first]:
                        waiting.remove(peer)
                        pool.append(peer)
                        front.append(peer)
            if len(pool) > 1:
                pools.append(sorted(pool))
        return pools

    def _more(self, size: float, cpu: float) -> NDArray[np.float64]:
        """What so many executors more would cost on each node."""
        then = self.field.node_cost(self.executors + size, self.points + cpu)
        return then - self.field.node_cost(self.executors, self.points)

    def _take(self, unit: int) -> None:
        node = self.state.take(unit)
        self.executors[node] -= self.field.units.size[unit]
        self.points[node] -= self.field.units.cpu[unit]

    def _put(self, unit: int, node: int) -> None:
        self.state.put(unit, node)
        self.executors[node] += self.field.units.size[unit]
        self.points[node] += self.field.units.cpu[unit]
