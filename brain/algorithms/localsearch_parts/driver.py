"""Local search on a workspace: load a placement, repair it, improve it, read it back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.localsearch_parts.repair import admit, place_leftovers
from brain.algorithms.localsearch_parts.search import anneal, descend
from brain.algorithms.localsearch_parts.soft import DEAR, THRESHOLDS, anneal_softly
from brain.algorithms.localsearch_parts.state import DENSE_TIES, Live, make_live, make_net
from brain.algorithms.localsearch_parts.swaps import anneal_fast
from brain.algorithms.parts.limits import Limits
from brain.algorithms.parts.units import Units
from brain.model import UNPLACED

Nodes = NDArray[np.int32]
CHUNK = 20_000
"""Proposals between two looks at the clock: a few milliseconds."""
FAST_CHUNK = 100_000
"""The same where a proposal is fast; a look may cost a tenth of a millisecond."""

MOVES_FIRST = 5000
"""Units above which swaps are tried only once moves gain little."""


class Search:
    """Searches over nodes of units. One object can be loaded again and again."""

    def __init__(
        self,
        limits: Limits,
        units: Units,
        *,
        home: Nodes | None = None,
        move_cost: float = 0.0,
        restart_cost: float = 0.0,
        max_moved: int | None = None,
        seed: int = 0,
        near: NDArray[np.float64] | None = None,
    ) -> None:
        """``near``: see ``Net``; left out of account where there is no table of ties."""
        if len(units) * len(limits.usable) > DENSE_TIES:
            near = None
        self.limits = limits
        self.units = units
        self.net = make_net(limits, units, home, move_cost, restart_cost, near)
        self.max_moved = max_moved
        self.seed = seed
        self.rounds = 0
        graph = units.graph
        self.noise = 1e-9 * float(graph.weight.max(initial=0.0)) + 1e-12
        # The typical price of one wrong edge: the scale of temperatures.
        self.scale = float(graph.weight.mean()) if graph.edges else 1.0
        # The typical demand: the scale of what is over a limit.
        self.per_demand = np.array([_one_over_mean(units.cpu), _one_over_mean(units.memory_mb)])
        self.bulk_first = self._bulk_first()
        self.live = self._fresh()

    def _fresh(self) -> Live:
        self.rounds += 1
        return make_live(
            self.limits, self.units, self.net, self.seed + 7919 * self.rounds, self.max_moved
        )

    @cached_property
    def _around(self) -> Nodes:
        """The neighbours of each unit, those it talks to most first."""
        graph = self.units.graph
        return graph.indices[np.lexsort((-graph.weight, graph.sources))]

    @property
    def can_soften(self) -> bool:
        """Whether ``anneal_softly`` is possible: it needs the table of ties, and traffic that is
        either on one node or not."""
        table, plain = self.live.ties.shape[0] > 0, self.net.near.shape[0] == 0
        return table and plain and self.units.graph.edges > 0

    def _bulk_first(self) -> NDArray[np.int64]:
        """Units by the share of the largest node that they take, the biggest first."""
        usable = self.limits.usable

        def share(demand: NDArray[np.float64], free: NDArray[np.float64]) -> NDArray[np.float64]:
            most = free[usable & np.isfinite(free)].max(initial=0.0)
            return demand / most if most > 0 else np.zeros(len(demand))

        bulk = np.maximum(
            share(self.units.cpu, self.limits.cpu_free),
            share(self.units.memory_mb, self.limits.memory_free),
        )
        return np.lexsort((np.arange(len(bulk)), -np.round(bulk, 9)))

    def load(self, wish: Nodes, *, tight: bool = False) -> int:
        """Starts from ``wish``, repaired to all limits; returns the units that found no node."""
        self.live = self._fresh()
        graph = self.units.graph
        together = (wish[graph.sources] == wish[graph.indices]) & (wish[graph.sources] >= 0)
        tied = np.bincount(graph.sources, graph.weight * together, len(self.units))
        admit(self.net, self.live, np.lexsort((np.arange(len(tied)), -tied)), wish)
        return int(place_leftovers(self.net, self.live, self.bulk_first, tight, 200))

    @property
    def node(self) -> Nodes:
        """The node of each unit now (a copy)."""
        return self.live.node.copy()

    def cut(self) -> float:
        """Traffic between nodes, less what is spared by their being near each other; units
        without a node count as apart from all others."""
        graph, node = self.units.graph, self.live.node
        source, target = node[graph.sources], node[graph.indices]
        if self.net.near.shape[0] > 0:
            nowhere = (source == UNPLACED) | (target == UNPLACED)
            spared = np.where(nowhere, 0.0, self.net.near[source, target])
            return float((graph.weight * (1.0 - spared)).sum()) / 2.0
        apart = (source != target) | (source == UNPLACED)
        return float(graph.weight[apart].sum()) / 2.0

    def disturbance(self) -> float:
        """What the changes against home cost by the prices set."""
        touched = int(((self.live.changes > 0) & (self.live.crowd > 0)).sum())
        return float(self.net.price[0] * self.live.moved[0] + self.net.price[1] * touched)

    def cost(self) -> float:
        return self.cut() + self.disturbance()

    def polish(
        self, expired: Callable[[], bool] = lambda: False, passes: int = 50, swap_passes: int = 50
    ) -> None:
        """Descends to a local optimum of moves and swaps, or until told to stop; ``passes`` and
        ``swap_passes`` limit it without a clock."""
        random = np.random.default_rng(self.seed + self.rounds)
        block = 1024
        # In a large problem moves alone get most of the way, and fast.
        swaps = len(self.units) <= MOVES_FIRST
        for _ in range(passes):
            order = random.permutation(len(self.units))
            gained, before = 0.0, 0.0 if swaps else self.cut()
            for start in range(0, len(order), block):
                gained += descend(
                    self.net, self.live, order[start : start + block], self.noise, swaps
                )
                if expired():
                    return
            if swaps:
                swap_passes -= 1
                if gained >= -self.noise or swap_passes <= 0:
                    return
            swaps = swaps or gained > -0.002 * before

    def anneal_softly(
        self,
        steps: int,
        *,
        warm: float = 2.0,
        cold: float = 0.5,
        deadline: float | None = None,
        expired: Callable[[], bool] = lambda: False,
    ) -> None:
        """Like ``anneal``, but CPU and memory may be exceeded at a price on the way, and neither
        moves nor restarts are priced. Afterwards it is repaired to all limits; not polished."""
        for part in self._cooling(steps, warm, cold, deadline, expired, FAST_CHUNK):
            dear = DEAR * self.scale * np.sqrt(part.heat)
            anneal_softly(
                self.net,
                self.live,
                self._around,
                part.done % len(self.units),
                part.steps,
                part.heat * self.scale,
                dear,
                self.per_demand,
                THRESHOLDS,
            )
        self.load(self.node)

    def anneal(
        self,
        steps: int,
        *,
        deadline: float | None = None,
        warm: float = 1.0,
        cold: float = 0.05,
        expired: Callable[[], bool] = lambda: False,
        swap_passes: int = 50,
    ) -> None:
        """Cools from ``warm`` to ``cold`` (in mean edge weights) over ``steps`` proposals, or
        over the time until ``deadline`` (``time.perf_counter``), then polishes. ``expired`` may
        end it early; until then it changes nothing."""
        fast = self.can_soften and not self.net.price.any() and self.max_moved is None
        chunk = FAST_CHUNK if fast else CHUNK
        for part in self._cooling(steps, warm, cold, deadline, expired, chunk):
            heat = part.heat * self.scale
            if fast:
                first = part.done % len(self.units)
                anneal_fast(self.net, self.live, self._around, first, part.steps, heat, THRESHOLDS)
            else:
                anneal(self.net, self.live, part.steps, heat[0], heat[1])
        if fast:
            self.load(self.node)
        self.polish(
            lambda: expired() or (deadline is not None and time.perf_counter() > deadline + 0.05),
            swap_passes=swap_passes,
        )

    @staticmethod
    def _cooling(
        steps: int,
        warm: float,
        cold: float,
        deadline: float | None,
        expired: Callable[[], bool],
        most: int,
    ) -> Iterator[Part]:
        """The parts of an annealing between which the clock is looked at."""
        done, share, begin = 0, 0.0, time.perf_counter()
        while share < 1.0 and done < steps and not expired():
            if deadline is None:
                chunk = min(most, steps - done)
                following = (done + chunk) / steps
            else:
                chunk = most
                following = (time.perf_counter() - begin) / max(deadline - begin, 1e-6)
                following = min(max(following, share + 1e-3), 1.0)
            shares = np.array([share, min(following, 1.0)])
            yield Part(done, chunk, warm * (cold / warm) ** shares)
            done, share = done + chunk, following


@dataclass(frozen=True)
class Part:
    """Some steps of an annealing: ``done`` before, ``steps`` now, from one temperature to another
    (in mean edge weights)."""

    done: int
    steps: int
    heat: NDArray[np.float64]


def _one_over_mean(demand: NDArray[np.float64]) -> float:
    mean = float(demand.mean()) if len(demand) else 0.0
    return 1.0 / mean if mean > 0 else 0.0
