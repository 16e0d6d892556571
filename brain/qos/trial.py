"""What a placement costs in the cost space, and what moving a group of executors would change.

    Φ = w_latency · Σ streams rate / mean rate · latency(node, node)
      + Σ executors (w_utilisation · u² + w_availability · (1 - a))

u being the utilisation that would result on the executor's node: with the executors' CPU there go
the CPU of a worker that must be opened, and of one that is left empty. Without that an idle node
would look better than it is, and executors would flee from the cost of their own worker. Since both
ends of a stream see the same cost, what one executor gains the whole topology gains: moves that
each lower Φ cannot go in circles.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from copy import copy

from brain.plans.plan import Executor, SlotId
from brain.qos.space import CostSpace
from brain.qos.springs import middle
from brain.qos.stage import Rates, Stage, clean_rates

FULL = 0.95
"""No node is planned fuller than this, unless the executors come from one that is as full."""
NEAREST = 4
"""Nodes nearest to the virtual place that are looked at, besides those of the neighbours."""


class Trial:
    """A placement in the making: begins as what runs, moves change it."""

    def __init__(
        self, stage: Stage, space: CostSpace, rates: Rates, cpu: Mapping[Executor, float]
    ) -> None:
        self.stage = stage
        self.space = space
        self.slot: dict[Executor, SlotId] = dict(stage.assignment)
        self.cpu = {e: min(max(cpu.get(e, 0.0), 0.0), 1e6) for e in stage.executors}
        self.talk: dict[Executor, dict[Executor, float]] = defaultdict(dict)
        clean = clean_rates(rates, stage.executors)
        for (a, b), rate in clean.items():
            self.talk[a][b] = self.talk[a].get(b, 0.0) + rate
            self.talk[b][a] = self.talk[b].get(a, 0.0) + rate
        spoken = len(self.talk)
        self.mean_rate = 2.0 * sum(clean.values()) / spoken if spoken else 1.0
        self.utilisation = {n: q.utilisation for n, q in space.nodes.items()}
        self.count: dict[str, int] = defaultdict(int)
        for node, _ in self.slot.values():
            self.count[node] += 1
        self._home = dict(stage.assignment)

    def copy(self) -> Trial:
        """Another trial in the same state; moving the one leaves the other alone."""
        other = copy(self)
        other.slot, other.utilisation = dict(self.slot), dict(self.utilisation)
        other.count = defaultdict(int, self.count)
        return other

    def node(self, executor: Executor) -> str:
        return self.slot[executor][0]

    @property
    def moved(self) -> dict[Executor, SlotId]:
        """Executors that are not where they run."""
        return {e: s for e, s in self.slot.items() if self._home.get(e) != s}

    def cost(self) -> float:
        """Φ of the placement."""
        talk = sum(
            rate * self.space.latency(self.node(a), self.node(b))
            for a, peers in self.talk.items()
            for b, rate in peers.items()
            if a < b and a in self.slot and b in self.slot
        )
        return self.space.weights.latency * talk / self.mean_rate + sum(
            self._node_cost(n, self.utilisation.get(n, 1.0), k) for n, k in self.count.items()
        )

    def cost_of(self, group: Iterable[Executor]) -> float:
        """The part of Φ that a group has: its streams and its places."""
        members = set(group)
        talk = sum(
            rate * self.space.latency(self.node(e), self.node(peer))
            for e in members
            for peer, rate in self.talk[e].items()
            if (peer not in members or e < peer) and peer in self.slot
        )
        return self.space.weights.latency * talk / self.mean_rate + sum(
            self._node_cost(self.node(e), self.utilisation.get(self.node(e), 1.0), 1)
            for e in members
        )

    def gain(self, group: Iterable[Executor], to: str) -> float:
        """By how much Φ falls if the group goes to a node."""
        members = set(group)
        talk = 0.0
        leaving: dict[str, list[Executor]] = defaultdict(list)
        for e in members:
            here = self.node(e)
            if here != to:
                leaving[here].append(e)
            for peer, rate in self.talk[e].items():
                if peer not in self.slot or (peer in members and peer < e):
                    continue
                there = to if peer in members else self.node(peer)
                saved = self.space.latency(here, self.node(peer)) - self.space.latency(to, there)
                talk += rate * saved
        gain = self.space.weights.latency * talk / self.mean_rate
        arriving = 0.0
        came = 0
        for here, executors in leaving.items():
            points = sum(self.cpu[e] for e in executors)
            arriving, came = arriving + points, came + len(executors)
            if self.count[here] == len(executors):
                points += self.stage.worker_points
            now = self.utilisation.get(here, 1.0)
            then = max(0.0, now - self._share(points, here))
            gain += self._node_cost(here, now, self.count[here])
            gain -= self._node_cost(here, then, self.count[here] - len(executors))
        if came and not self.count[to]:
            arriving += self.stage.worker_points
        now = self.utilisation.get(to, 1.0)
        gain += self._node_cost(to, now, self.count[to])
        gain -= self._node_cost(to, now + self._share(arriving, to), self.count[to] + came)
        return gain

    def room(self, group: Iterable[Executor], to: str) -> int | None:
        """The port of the worker that would take the group on a node; None if it has no room."""
        members = [e for e in group if self.node(e) != to]
        if to not in self.space or to not in self.stage.live_nodes:
            return None
        if not all(self.stage.may_hold(e, to) for e in members):
            return None
        fullest = max((self.utilisation.get(self.node(e), 1.0) for e in members), default=0.0)
        opened = 0.0 if self.count[to] else self.stage.worker_points
        coming = self._share(sum(self.cpu[e] for e in members) + opened, to)
        if self.utilisation[to] + coming > FULL and self.utilisation[to] > fullest:
            return None
        staying = {s for e, s in self.slot.items() if e not in members}
        own = sorted(port for node, port in staying if node == to)
        if own:
            return own[0]
        if len(staying) + 1 > max(self.stage.workers, 1):
            return None
        vacated = [p for n, p in self._home.values() if n == to]
        free = sorted({*self.stage.free_slots.get(to, ()), *vacated})
        return free[0] if free else None

    def move(self, group: Iterable[Executor], to: str) -> bool:
        """Moves a group, if the node has room for it."""
        members = [e for e in group if self.node(e) != to]
        port = self.room(members, to)
        if port is None:
            return False
        for e in members:
            here = self.node(e)
            self.slot[e] = self._worker_for(e, to, port)
            self.count[here] -= 1
            self.count[to] += 1
            closed = 0.0 if self.count[here] else self.stage.worker_points
            opened = self.stage.worker_points if self.count[to] == 1 else 0.0
            here_now = self.utilisation.get(here, 1.0)
            here_then = here_now - self._share(self.cpu[e] + closed, here)
            self.utilisation[here] = max(0.0, here_then)
            self.utilisation[to] += self._share(self.cpu[e] + opened, to)
        return True

    def candidates(self, group: Iterable[Executor]) -> list[str]:
        """Nodes worth a look: nearest to the virtual place, and where the neighbours are."""
        members = set(group)
        pulls = []
        neighbours = []
        for e in members:
            for peer, rate in self.talk[e].items():
                if peer not in members and peer in self.slot:
                    neighbours.append(self.node(peer))
                    point = self.space.point(self.node(peer))
                    if point is not None:
                        pulls.append((point, rate))
        virtual = middle(pulls)
        if virtual is None:  # it talks to nobody: only its own place matters
            own = self.space.point(self.node(next(iter(members))))
            virtual = own or (0.0, 0.0)
        nearest = [n for n in self.space.nearest(virtual) if n in self.stage.live_nodes]
        return list(dict.fromkeys([*nearest[:NEAREST], *neighbours]))

    def best(self, group: Iterable[Executor]) -> tuple[float, str] | None:
        """The move of a group that gains most; None if none gains anything."""
        members = list(group)
        here = {self.node(e) for e in members}
        found: tuple[float, str] | None = None
        for to in self.candidates(members):
            if here == {to} or self.room(members, to) is None:
                continue
            gain = self.gain(members, to)
            if gain > 1e-9 and (found is None or gain > found[0] + 1e-9):
                found = (gain, to)
        return found

    def groups(self, executors: Iterable[Executor]) -> list[tuple[Executor, ...]]:
        """Of executors on one node, those that talk to each other: a pool that moves as one."""
        by_node: dict[str, set[Executor]] = defaultdict(set)
        for e in executors:
            by_node[self.node(e)].add(e)
        groups = []
        for waiting in by_node.values():
            while waiting:
                first = min(waiting)
                waiting.remove(first)
                group, front = [first], [first]
                while front:
                    for peer in sorted(set(self.talk[front.pop()]) & waiting):
                        waiting.remove(peer)
                        group.append(peer)
                        front.append(peer)
                if len(group) > 1:
                    groups.append(tuple(sorted(group)))
        return sorted(groups)

    def _worker_for(self, executor: Executor, to: str, port: int) -> SlotId:
        """Its own worker if it comes home and that still stands, else the one with room."""
        own = {s for e, s in self.slot.items() if s[0] == to and e != executor}
        home = self._home.get(executor)
        if home is not None and home[0] == to and (home in own or not own):
            return home
        return min(own, default=(to, port))

    def _share(self, points: float, node: str) -> float:
        known = self.space.nodes.get(node)
        return points / known.cpu_points if known else 0.0

    def _node_cost(self, node: str, utilisation: float, executors: int) -> float:
        return executors * (self.space.load_cost(utilisation) + self.space.availability_cost(node))
