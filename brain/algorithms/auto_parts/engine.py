"""Improves placements of units: many METIS starts, local search from each, annealing, and
combining good placements with each other."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.ischeduler_parts.fuse import fused_units
from brain.algorithms.localsearch import anneal_twice, halves, make_search, metis_start
from brain.algorithms.localsearch_parts.driver import Search
from brain.algorithms.objective import Prices
from brain.algorithms.parts.units import Units
from brain.algorithms.parts.workspace import Workspace
from brain.model import UNPLACED

Nodes = NDArray[np.int32]
Expired = Callable[[], bool]
POPULATION = 8
FOUNDERS = 2
"""Placements annealed from METIS before combining begins."""
SECONDS_A_FOUNDER = 2.4e-4
"""For each unit: some 10,000 proposals; longer pays less than another founder."""
FOUNDERS_SHARE = 0.04
"""Of all the time, for each founder where there is much of it."""
COMBINED = 10
"""Combinations between two founders; more gain little, as all come to be alike."""
A_COMBINATION = 0.25
"""Time for one, in founders."""
ALIKE = 1.25
"""Placements are alike if together they divide the units into so few more pieces than one does."""
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
        """Enters what the search has found into the population.

        What is alike competes for one place: of two placements with much the same units together
        the better stays, and a full population gives up the one most like the newcomer among those
        that are no better. So combining keeps finding parents that differ.
        """
        node = self.search.node
        rank = (int((node == UNPLACED).sum()), self.search.cost())
        pieces = [_pieces(node, known) for _, known in self.population]
        alike = ALIKE * _pieces(node, node)
        same = [i for i, count in enumerate(pieces) if count <= alike]
        worse = same or [i for i, (other, _) in enumerate(self.population) if other >= rank]
        if same or len(self.population) >= POPULATION:
            gone = min(worse, key=lambda i: pieces[i], default=None)
            if gone is not None and self.population[gone][0] > rank:
                self.population[gone] = (rank, node)
        else:
            self.population.append((rank, node))
        self.population.sort(key=lambda entry: entry[0])
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

    def found(self, *, steps: int = 0, deadline: float | None = None) -> None:
        """A placement of its own for the population: METIS, annealed softly, then within limits."""
        number = self._next_seed
        self._next_seed += 1
        seed = self.work.options.seed + number
        self.search.load(metis_start(self.work, seed, "cut", self._slack()))
        anneal_twice(self.search, steps, deadline=deadline)
        self._keep()

    def anneal(self, number: int, *, steps: int = 0, deadline: float | None = None) -> None:
        """One annealing from the best or another good placement, warmer every other time."""
        if not self.population:
            return
        pick = 0 if number % 2 == 0 else (number // 2) % len(self.population)
        self.search.load(self.population[pick][1])
        warm = (0.4, 0.8)[(number // 2) % 2]
        most = steps if deadline is None else 10**15
        self.search.anneal(most, deadline=deadline, warm=warm, cold=0.08)
        self._keep()

    def combine(self, number: int, *, steps: int = 0, deadline: float | None = None) -> bool:
        """Two good placements agree on much: what they agree on moves as one, for a while.

        The units that share a node in both parents are fused; a short annealing of these larger
        pieces makes steps that no single move or swap could. False if no two parents differ.
        """
        parents = self._parents(number)
        if parents is None:
            return False
        one, two = parents
        group = agreement(self.work.units, one, two)
        fused = fused_units(self.work.units, group)
        search = make_search(self.work, self.prices, units=fused, seed=number)
        search.scale, search.per_demand = self.search.scale, self.search.per_demand
        first = np.zeros(len(fused), dtype=np.int64)
        first[group[::-1]] = np.arange(len(group))[::-1]
        search.load(one[first])
        (soft, hard), halfway = halves(steps, 0.5, deadline)
        if self._soft(search):
            search.anneal_softly(soft, deadline=halfway, warm=0.7, cold=0.3)
        else:
            search.anneal(soft, deadline=halfway, warm=0.7, cold=0.1)
        self.search.load(search.node[group])
        self.search.anneal(hard, deadline=deadline, warm=0.4, cold=0.2)
        self._keep()
        return True

    def _parents(self, number: int) -> tuple[Nodes, Nodes] | None:
        """Two of the best: first and second, first and third, second and third, …"""
        found = [
            (one, two)
            for two in range(1, len(self.population))
            for one in range(two)
            if one + two <= 4
        ]
        if not found:
            return None
        one, two = found[number % len(found)]
        return self.population[one][1], self.population[two][1]

    def _soft(self, search: Search) -> bool:
        """Whether annealing with priced limits is possible, and moves need not be priced."""
        return search.can_soften and self.work.current is None

    @property
    def soft(self) -> bool:
        """Whether founders can be made: fresh placements whose table of ties is not too big."""
        return self._soft(self.search)

    def improve_until(self, deadline: float, pause: Expired, founders: int = FOUNDERS) -> None:
        """Betters the population; ``pause`` is asked in between and may end it.

        Where founders can be made: so many, then combining, and another one now and then. Else
        annealing in growing slices, with combining in between.
        """
        number, soft = 0, self.soft
        whole = deadline - time.perf_counter()
        a_founder = max(SECONDS_A_FOUNDER * len(self.work.units), 0.02, FOUNDERS_SHARE * whole)
        while True:
            now = time.perf_counter()
            left = deadline - now
            if left < 0.01 or pause():
                return
            if soft:
                due = number < founders or number % COMBINED == COMBINED - 1
                if due and left > 1.2 * a_founder:
                    self.found(deadline=now + min(a_founder, 0.75 * left))
                elif not self.combine(number, deadline=now + min(A_COMBINATION * a_founder, left)):
                    self.anneal(number, deadline=now + min(a_founder, left))
            else:
                # Combining pays at once; annealing is the better the longer it cools.
                combining = number % 2 == 0 and not self.capped
                slice_end = now + max((0.15 if combining else 0.5) * left, min(left, 0.05))
                if not combining or not self.combine(number // 2, deadline=slice_end):
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


def _pieces(one: Nodes, two: Nodes) -> int:
    """Into how many groups two placements together divide the units; few if they are alike."""
    return len(np.unique(one.astype(np.int64) * (int(two.max(initial=0)) + 2) + two))
