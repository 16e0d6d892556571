"""Who is in which slot while executors are moved one at a time, with all limits kept.

Unlike ``State`` this starts from what runs now, which may already break a limit, and counts real
slots: a topology may hold more workers on a node than it would need.
"""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.parts.workspace import Workspace
from brain.model import UNPLACED

_SWAPS = 8
"""How many partners are tried for a swap."""


class Occupancy:
    def __init__(self, work: Workspace) -> None:
        assert work.current is not None
        self.work = work
        limits = work.limits
        self.slot: NDArray[np.int32] = work.current.slot.copy()
        self._graph = work.graph.symmetric
        self._cpu = limits.cpu_free.copy()
        self._memory = limits.memory_free.copy()
        self._size: Counter[int] = Counter()
        self._owner: dict[int, int] = {}
        self._workers: Counter[int] = Counter()
        self._spread: Counter[tuple[int, int]] = Counter()
        self._came_from: dict[int, int] = {}
        for e in np.flatnonzero(limits.movable & (self.slot != UNPLACED)):
            self._enter(int(e), int(self.slot[e]))

    def nodes(self) -> NDArray[np.int32]:
        slots = self.work.problem.slots
        if len(slots) == 0:
            return np.full(len(self.slot), UNPLACED, dtype=np.int32)
        return np.where(self.slot == UNPLACED, UNPLACED, slots.node[self.slot]).astype(np.int32)

    def node(self, e: int) -> int:
        s = int(self.slot[e])
        return UNPLACED if s == UNPLACED else int(self.work.problem.slots.node[s])

    def misplaced(self) -> list[int]:
        """Executors that break a limit where they are; of an overfull node the least tied."""
        limits, problem = self.work.limits, self.work.problem
        out: dict[int, None] = {}
        here = self.nodes()
        running = [int(e) for e in np.flatnonzero(limits.movable & (here != UNPLACED))]
        for e in running:
            if not limits.allowed[limits.allowed_class[e], here[e]]:
                out[e] = None
        order = sorted(running, key=lambda e: (self._tied(e, int(here[e])), e))
        cpu, memory = self._cpu.copy(), self._memory.copy()
        spread, size = self._spread.copy(), self._size.copy()
        for e in order:
            n, s = int(here[e]), int(self.slot[e])
            c = int(limits.spread_class[e])
            crowded = c >= 0 and spread[c, n] > limits.spread_limit[c]
            full = size[s] > limits.per_worker[problem.topology_of[e]]
            over = (cpu[n] < 0 and problem.cpu[e] > 0) or (
                memory[n] < 0 and problem.memory_mb[e] > 0
            )
            if e in out or crowded or full or over:
                out[e] = None
                cpu[n] += problem.cpu[e]
                memory[n] += problem.memory_mb[e]
                spread[c, n] -= c >= 0
                size[s] -= 1
        return list(out)

    def place(self, e: int, prefer: int) -> bool:
        """Puts an executor on its preferred node if that works, else on the best other one."""
        here = self.node(e)
        nodes = [n for n in range(len(self.work.problem.nodes)) if n not in (prefer, here)]
        nodes.sort(key=lambda n: (-self._tied(e, n), -self._cpu[n], n))
        order = nodes if prefer in (UNPLACED, here) else [prefer, *nodes]
        return any(self.move(e, n) for n in order)

    def gains(self, e: int, goal: int) -> dict[int, float]:
        """What an executor would gain on the nodes worth a try: its goal and its peers' nodes."""
        here = self.node(e)
        tied: dict[int, float] = {goal: 0.0} if goal != UNPLACED else {}
        for peer, weight in self._peers(e):
            at = self.node(peer)
            tied[at] = tied.get(at, 0.0) + weight
        own = tied.get(here, 0.0)
        return {n: w - own for n, w in tied.items() if n not in (UNPLACED, here)}

    def peers_of(self, e: int) -> list[int]:
        return [peer for peer, _ in self._peers(e)]

    def swap(self, e: int, node: int, single: NDArray[np.bool_]) -> list[int]:
        """Exchanges an executor with one of a full node if both gain and fit; who has moved."""
        here = self.node(e)
        there = [int(f) for f in np.flatnonzero(single & (self.nodes() == node))]
        rated = sorted(((self.gain([f], here), f) for f in there), key=lambda r: (-r[0], r[1]))
        for gain, f in rated[:_SWAPS]:
            between = sum(weight for peer, weight in self._peers(e) if peer == f)
            if gain + self.gain([e], node) - 2.0 * between <= 0:
                continue
            before_e, before_f = int(self.slot[e]), int(self.slot[f])
            self._leave(f)
            if self.move(e, node):
                if self._enter_node(f, here):
                    return [e, f]
                self._leave(e)
                self._enter(e, before_e)
            self._enter(f, before_f)
        return []

    def gain(self, bundle: list[int], node: int) -> float:
        """What less crosses nodes if a bundle (all from one node) goes to a node."""
        inside = set(bundle)
        total = 0.0
        for e in bundle:
            here = self.node(e)
            for peer, weight in self._peers(e):
                if peer not in inside:
                    at = self.node(peer)
                    total += weight * ((at == node) - (at == here))
        return total

    def move(self, e: int, node: int) -> bool:
        """Moves (or places) an executor to a node if all limits allow it there."""
        s = self._slot_for(e, node)
        if s is None:
            return False
        self._came_from[e] = int(self.slot[e])
        self._leave(e)
        self._enter(e, s)
        return True

    def move_back(self, e: int) -> None:
        """Undoes the last move of an executor."""
        self._leave(e)
        self._enter(e, self._came_from[e])

    def _peers(self, e: int) -> list[tuple[int, float]]:
        span = slice(int(self._graph.indptr[e]), int(self._graph.indptr[e + 1]))
        return list(
            zip(self._graph.indices[span].tolist(), self._graph.weight[span].tolist(), strict=True)
        )

    def _tied(self, e: int, node: int) -> float:
        return sum(weight for peer, weight in self._peers(e) if self.node(peer) == node)

    def _slot_for(self, e: int, node: int) -> int | None:
        """The slot an executor would get on a node, None if some limit forbids it."""
        problem, limits = self.work.problem, self.work.limits
        c = int(limits.spread_class[e])
        if (
            not limits.allowed[limits.allowed_class[e], node]
            or problem.cpu[e] > self._cpu[node]
            or problem.memory_mb[e] > self._memory[node]
            or (c >= 0 and self._spread[c, node] >= limits.spread_limit[c])
        ):
            return None
        t = int(problem.topology_of[e])
        ports = [s for s in problem.slots.of_node(node) if limits.slot_free[s]]
        own = [s for s in ports if self._owner.get(s) == t and self._size[s] < limits.per_worker[t]]
        if own:
            talk: dict[int, float] = defaultdict(float)
            for peer, weight in self._peers(e):
                talk[int(self.slot[peer])] += weight
            return max(own, key=lambda s: (talk[s], -s))
        empty = [s for s in ports if not self._size[s]]
        alone = self.slot[e] != UNPLACED and self._size[int(self.slot[e])] == 1
        if empty and self._workers[t] - alone < limits.workers[t]:
            return empty[0]
        return None

    def _enter_node(self, e: int, node: int) -> bool:
        s = self._slot_for(e, node)
        if s is not None:
            self._enter(e, s)
        return s is not None

    def _enter(self, e: int, s: int) -> None:
        self._book(e, s, 1)
        self.slot[e] = s

    def _leave(self, e: int) -> None:
        s = int(self.slot[e])
        if s != UNPLACED:
            self._book(e, s, -1)
            self.slot[e] = UNPLACED

    def _book(self, e: int, s: int, sign: int) -> None:
        problem = self.work.problem
        t, node = int(problem.topology_of[e]), int(problem.slots.node[s])
        self._cpu[node] -= sign * problem.cpu[e]
        self._memory[node] -= sign * problem.memory_mb[e]
        c = int(self.work.limits.spread_class[e])
        if c >= 0:
            self._spread[c, node] += sign
        before = self._size[s]
        self._size[s] += sign
        if before == 0:
            self._owner[s] = t
            self._workers[t] += 1
        elif self._size[s] == 0:
            del self._owner[s]
            self._workers[t] -= 1
