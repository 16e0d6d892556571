"""What is still free on each node while units are being placed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.parts.limits import Limits
from brain.algorithms.parts.units import Units
from brain.model import UNPLACED


class State:
    """A partial placement of units on nodes with all hard limits kept up to date.

    On each node a topology needs one worker for every T executors begun; workers take slots of
    the node and count against the workers that the topology may have.
    """

    def __init__(self, limits: Limits, units: Units) -> None:
        self.limits = limits
        self.units = units
        nodes = len(limits.usable)
        topologies = len(limits.workers)
        self.node: NDArray[np.int32] = np.full(len(units), UNPLACED, dtype=np.int32)
        self.cpu_free = limits.cpu_free.copy()
        self.memory_free = limits.memory_free.copy()
        self.slots_free = limits.slots_free.copy()
        self.workers_left = limits.workers.copy()
        self.count: NDArray[np.int64] = np.zeros((topologies, nodes), dtype=np.int64)
        self.spread_count: NDArray[np.int64] = np.zeros(
            (len(limits.spread_limit), nodes), dtype=np.int64
        )

    def new_workers(self, unit: int) -> NDArray[np.int64]:
        """How many more workers each node would need for a unit."""
        t = self.units.topology[unit]
        per_worker = self.limits.per_worker[t]
        count = self.count[t]
        before: NDArray[np.int64] = -(-count // per_worker)
        after: NDArray[np.int64] = -(-(count + self.units.size[unit]) // per_worker)
        return after - before

    def fits(self, unit: int, *, spread: bool = True) -> NDArray[np.bool_]:
        """The nodes that can take a unit now."""
        units = self.units
        need = self.new_workers(unit)
        mask: NDArray[np.bool_] = (
            units.allowed[units.allowed_class[unit]]
            & (units.cpu[unit] <= self.cpu_free)
            & (units.memory_mb[unit] <= self.memory_free)
            & (need <= self.slots_free)
            & (need <= self.workers_left[units.topology[unit]])
        )
        spread_class = units.spread_class[unit]
        if spread and spread_class >= 0:
            mask &= self.spread_count[spread_class] < self.limits.spread_limit[spread_class]
        return mask

    def fits_at(self, unit: int, node: int, *, spread: bool = True) -> bool:
        """Whether one node can take a unit now."""
        units = self.units
        if units.cpu[unit] > self.cpu_free[node] or units.memory_mb[unit] > self.memory_free[node]:
            return False
        if not units.allowed[units.allowed_class[unit], node]:
            return False
        spread_class = units.spread_class[unit]
        if (
            spread
            and spread_class >= 0
            and self.spread_count[spread_class, node] >= self.limits.spread_limit[spread_class]
        ):
            return False
        need = self._need_at(unit, node)
        return bool(need <= self.slots_free[node]) and bool(
            need <= self.workers_left[units.topology[unit]]
        )

    def put(self, unit: int, node: int) -> None:
        """Places a unit; the caller has asked ``fits`` before."""
        need = self._need_at(unit, node)
        self._book(unit, node, 1)
        self.slots_free[node] -= need
        self.workers_left[self.units.topology[unit]] -= need
        self.node[unit] = node

    def put_unproblematic(self, wish: NDArray[np.int32]) -> None:
        """Places at once all units that are wished to nodes and by topologies where all fit.

        Only for an empty state. The others, on nodes or in topologies where some limit would
        break, are left to the caller.
        """
        units, limits = self.units, self.limits
        wished = np.flatnonzero(wish != UNPLACED)
        nodes = len(self.cpu_free)
        where = wish[wished]
        cpu = np.bincount(where, units.cpu[wished], nodes)
        memory = np.bincount(where, units.memory_mb[wished], nodes)
        count = np.zeros_like(self.count)
        np.add.at(count, (units.topology[wished], where), units.size[wished])
        workers = -(-count // limits.per_worker[:, None])
        spread = np.zeros_like(self.spread_count)
        spreads = wished[units.spread_class[wished] >= 0]
        np.add.at(spread, (units.spread_class[spreads], wish[spreads]), 1)
        fine = (cpu <= self.cpu_free) & (memory <= self.memory_free)
        fine &= workers.sum(axis=0) <= self.slots_free
        fine &= (spread <= limits.spread_limit[:, None]).all(axis=0)
        fine[where[~units.allowed[units.allowed_class[wished], where]]] = False
        few = workers.sum(axis=1) <= self.workers_left
        chosen = wished[fine[where] & few[units.topology[wished]]]
        where = wish[chosen]
        self.node[chosen] = where
        self.cpu_free -= np.bincount(where, units.cpu[chosen], nodes)
        self.memory_free -= np.bincount(where, units.memory_mb[chosen], nodes)
        np.add.at(self.count, (units.topology[chosen], where), units.size[chosen])
        workers = -(-self.count // limits.per_worker[:, None])
        self.slots_free -= workers.sum(axis=0)
        self.workers_left -= workers.sum(axis=1)
        spreads = chosen[units.spread_class[chosen] >= 0]
        np.add.at(self.spread_count, (units.spread_class[spreads], wish[spreads]), 1)

    def take(self, unit: int) -> int:
        """Removes a unit from its node, which is returned."""
        node = int(self.node[unit])
        self._book(unit, node, -1)
        need = self._need_at(unit, node)
        self.slots_free[node] += need
        self.workers_left[self.units.topology[unit]] += need
        self.node[unit] = UNPLACED
        return node

    def _need_at(self, unit: int, node: int) -> int:
        t = self.units.topology[unit]
        per_worker = int(self.limits.per_worker[t])
        count = int(self.count[t, node])
        return -(-(count + int(self.units.size[unit])) // per_worker) + (-count // per_worker)

    def _book(self, unit: int, node: int, sign: int) -> None:
        units = self.units
        self.cpu_free[node] -= sign * units.cpu[unit]
        self.memory_free[node] -= sign * units.memory_mb[unit]
        self.count[units.topology[unit], node] += sign * units.size[unit]
        if units.spread_class[unit] >= 0:
            self.spread_count[units.spread_class[unit], node] += sign
