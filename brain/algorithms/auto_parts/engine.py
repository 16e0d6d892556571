"""Improves placements of units: many METIS starts, local search from each, annealing, and
combining good placements with each other."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.ischeduler_parts.fuse import fused_units
from brain.algorithms.localsearch import make_search, metis_start
from brain.algorithms.objective import Prices
from brain.algorithms.parts.units import Units
from brain.algorithms.parts.workspace import Workspace
from brain.model import UNPLACED

Nodes = NDArray[np.int32]
Expired = Callable[[], bool]
POPULATION = 8
GREEDY = 3_000_000
"""Units × nodes up to which a greedy placement is tried; it looks at every node for each unit."""


class Engine:
    """Works on the nodes of units; ``best`` is what has come out so far."""

    def __init__(self, work: Workspace, prices: Prices, first_seed: int = 0) -> None:
        """METIS starts are numbered from ``first_seed``; 0 is what ``localsearch`` starts from."""
        self.work = work
        self.prices = prices
        self.search = make_search(work, prices, seed=work.options.seed + first_seed)
        self.best: Nodes | None = None
        self.best_rank: tuple[int, float] = (len(work.units) + 1, np.inf)
        self.population: list[tuple[tuple[int, float], Nodes]] = []
        self.capped = work.current is not None and work.options.max_moves is not None
        self._next_seed = first_seed if first_seed or work.current is not None else 1

    def offer(self, wish: Nodes, expired: Expired, *, tight: bool = False) -> bool:
        """Repairs and polishes a placement of units; True if it is the best so far."""
        self.search.load(wish, tight=tight)
        self.search.polish(expired)
        return self._keep()

    def adopt(self, node: Nodes) -> bool:
        """Takes in a placement of units as it is, repaired only where it breaks a limit."""
        self.search.load(node)
        return self._keep()

    def _keep(self) -> bool:
        node = self.search.node
        left = int((node == UNPLACED).sum())
        rank = (left, self.search.cost())
        if all(not np.array_equal(node, known) for _, known in self.population):
            self.population.append((rank, node))
            self.population.sort(key=lambda entry: entry[0])
            del self.population[POPULATION:]
        if rank < self.best_rank:
            self.best, self.best_rank = node, rank
            return True
        return False

    def start(self, expired: Expired) -> None:
        """The first placements: what runs now, and a greedy one from nothing."""
        units = self.work.units
        if self.work.current is not None:
            self.offer(units.gather(self.work.current_node), expired)
        greedy = len(units) * len(self.work.limits.usable) <= GREEDY or self.capped
        if greedy and (self.best is None or self.best_rank[0] > 0):
            nothing = np.full(len(units), UNPLACED, dtype=np.int32)
            self.offer(nothing, expired)
            if self.best_rank[0] > 0 and not expired():
                self.offer(nothing, expired, tight=True)

    def next_seed(self, expired: Expired) -> None:
        """One more METIS start; every fourth with the paper's objective, others with more slack."""
        number = self._next_seed
        self._next_seed += 1
        objective = "vol" if number % 4 == 3 else "cut"
        imbalance = (1.03, self._slack(), 1.01)[number % 3]
        seed = self.work.options.seed + number
        self.offer(metis_start(self.work, seed, objective, imbalance), expired)

    def seeds_until(self, end: float, expired: Expired, most: int = 24) -> None:
        """METIS starts until a time (``time.perf_counter``), at most so many."""
        if self.capped:
            return
        for _ in range(most):
            if expired() or time.perf_counter() > end:
                return
            self.next_seed(expired)

    def _slack(self) -> float:
        """How uneven parts may be: what the nodes have free over what is asked for."""
        limits, units = self.work.limits, self.work.units
        free = limits.cpu_free[limits.usable]
        asked = float(units.cpu.sum())
        if asked <= 0 or not np.isfinite(free).all():
            return 1.1
        return float(min(max(np.maximum(free, 0.0).sum() / asked, 1.005), 1.2))

    def anneal(self, number: int, *, steps: int = 0, deadline: float | None = None) -> None:
        """One annealing from the best or another good placement, warmer every other time."""
        if not self.population:
            return
        pick = 0 if number % 2 == 0 else (number // 2) % len(self.population)
        self.search.load(self.population[pick][1])
        warm = (0.4, 0.8)[(number // 2) % 2]
        if deadline is None:
            self.search.anneal(steps, warm=warm, cold=0.08)
        else:
            self.search.anneal(10**15, deadline=deadline, warm=warm, cold=0.08)
        self._keep()

    def combine(self, number: int, *, steps: int = 0, deadline: float | None = None) -> None:
        """Two good placements agree on much: what they agree on moves as one, for a while.

        The units that share a node in both parents are fused; a short annealing of these larger
        pieces makes steps that no single move or swap could.
        """
        if len(self.population) < 2:
            return
        other = 1 + number % (len(self.population) - 1)
        one, two = self.population[0][1], self.population[other][1]
        group = agreement(self.work.units, one, two)
        if int(group.max()) + 1 >= len(group):
            return
        fused = fused_units(self.work.units, group)
        search = make_search(self.work, self.prices, units=fused, seed=number)
        first = np.zeros(len(fused), dtype=np.int64)
        first[group[::-1]] = np.arange(len(group))[::-1]
        search.load((one, two)[number % 2][first])
        if deadline is None:
            search.anneal(steps, warm=1.0, cold=0.1)
        else:
            search.anneal(10**15, deadline=deadline, warm=1.0, cold=0.1)
        self.search.load(search.node[group])
        self.search.polish(lambda: deadline is not None and time.perf_counter() > deadline)
        self._keep()

    def improve_until(self, deadline: float, pause: Callable[[], bool]) -> None:
        """Annealing in growing slices; ``pause`` is asked in between and may end it."""
        number = 0
        while True:
            left = deadline - time.perf_counter()
            if left < 0.01 or pause():
                return
            combining = number % 2 == 0
            # Combining pays at once; annealing is the better the longer it cools.
            share = 0.15 if combining else 0.5
            slice_end = time.perf_counter() + max(share * left, min(left, 0.05))
            if combining and not self.capped and len(self.population) > 1:
                self.combine(number // 2, deadline=slice_end)
            else:
                self.anneal(number // 2, deadline=slice_end)
            number += 1


def agreement(units: Units, one: Nodes, two: Nodes) -> NDArray[np.int64]:
    """Groups of units of one topology that share a node in both placements.

    Units to be spread, and units without a node, are groups of their own.
    """
    alone = (units.spread_class >= 0) | (one == UNPLACED) | (two == UNPLACED)
    own = np.where(alone, np.arange(len(units)), -1)
    keys = np.stack([one, two, units.topology, own])
    _, group = np.unique(keys, axis=1, return_inverse=True)
    return np.asarray(group, dtype=np.int64).reshape(-1)
