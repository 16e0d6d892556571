"""N agents over the pure state machines: a deterministic world to see whether they settle.

The world knows the true round-trip times and loads; agents know what their probes and gossip tell
them. Every round each live agent probes some peers, gossips with one (its own information only),
and runs its MAPE loop. Coordinated agents take the topology's lock in turn; uncoordinated ones
decide all at once from what they saw at the beginning of the round, as independent loops do, and
all their moves happen.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from brain.plans.plan import Executor, SlotId
from brain.qos.mape import AdaptiveScheduler, MapeSettings, Wish
from brain.qos.space import CostSpace, NodeQos, Weights, believable
from brain.qos.stage import Rates, Stage
from brain.qos.trial import Trial
from brain.qos.vivaldi import Coordinate, Vivaldi

PROBES_A_ROUND = 6
"""One each 5 s in a round of 30 s."""
STALE_ROUNDS = 20
"""Gossip older than this is not believed."""


@dataclass
class SimulatedAgent:
    node: str
    scheduler: AdaptiveScheduler
    vivaldi: Vivaldi
    known: dict[str, tuple[NodeQos, int]] = field(default_factory=dict)
    """What peers told of themselves, and when."""
    alive: bool = True
    lie: Callable[[NodeQos], NodeQos] | None = None
    reachable: frozenset[str] | None = None
    """The peers that it can reach; None for all."""


@dataclass
class World:
    """Delays and background loads are the truth; ``stage`` is what runs."""

    rtt_ms: Mapping[tuple[str, str], float]
    stage: Stage
    rates: Rates
    cpu: Mapping[Executor, float]
    background: dict[str, float]
    settings: MapeSettings = field(default_factory=MapeSettings)
    cpu_points: float = 100.0
    jitter_ms: float = 2.0
    load_noise: float = 0.03
    seed: int = 0
    probes: int = PROBES_A_ROUND
    round: int = 0
    moves: int = 0
    decisions: list[tuple[int, int]] = field(default_factory=list)
    """(round, executors moved) of each decision."""
    agents: dict[str, SimulatedAgent] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        for i, node in enumerate(sorted(self.background)):
            self.join(node, i)

    def join(self, node: str, seed: int = 99) -> None:
        """An agent comes up, knowing nothing."""
        self.agents[node] = SimulatedAgent(
            node, AdaptiveScheduler(node, self.settings), Vivaldi(self.seed * 1000 + seed)
        )

    def true_rtt(self, a: str, b: str) -> float:
        return self.rtt_ms.get((a, b), self.rtt_ms.get((b, a), 0.0))

    def utilisation(self, node: str) -> float:
        """Background and executors, as a share of the node, never above one."""
        points = sum(
            self.cpu.get(e, 0.0) for e, slot in self.stage.assignment.items() if slot[0] == node
        )
        return min(1.0, self.background.get(node, 0.0) + points / self.cpu_points)

    def true_space(self) -> CostSpace:
        """The cost space by the truth, for judging placements."""
        nodes = [
            NodeQos(n, Coordinate(), self.utilisation(n), 1.0, self.cpu_points) for n in self.agents
        ]
        return CostSpace(nodes, Weights(), self.rtt_ms)

    def true_cost(self) -> float:
        return Trial(self.stage, self.true_space(), self.rates, self.cpu).cost()

    def path_ms(self, path: list[Executor]) -> float:
        """One-way latency along a path of executors, by the true delays."""
        nodes = [self.stage.assignment[e][0] for e in path]
        return sum(self.true_rtt(a, b) / 2.0 for a, b in itertools.pairwise(nodes) if a != b)

    # ------------------------------------------------------------ one round

    def step(self) -> int:
        """One round of everybody; the executors that moved in it."""
        self.round += 1
        live = [a for a in self.agents.values() if a.alive]
        for agent in live:
            self._measure(agent)
        for agent in live:
            agent.scheduler.next_round()
            agent.scheduler.observe(self.stage)
        moved = self._coordinated(live) if self.settings.coordinated else self._alone(live)
        if moved:
            self.moves += moved
            self.decisions.append((self.round, moved))
        return moved

    def run(self, rounds: int) -> None:
        for _ in range(rounds):
            self.step()

    def settled_round(self) -> int:
        """The round of the last move; 0 if nothing ever moved."""
        return self.decisions[-1][0] if self.decisions else 0

    def own_info(self, agent: SimulatedAgent) -> NodeQos:
        """What an agent says of itself, true or not."""
        load = self.utilisation(agent.node) + self._random.gauss(0.0, self.load_noise)
        info = NodeQos(
            agent.node,
            agent.vivaldi.coordinate,
            min(1.0, max(0.0, load)),
            1.0,
            self.cpu_points,
        )
        return agent.lie(info) if agent.lie else info

    def space_of(self, agent: SimulatedAgent) -> CostSpace:
        """The cost space as an agent believes it to be."""
        own = agent.vivaldi.coordinate
        fresh = [
            info
            for info, at in agent.known.values()
            if self.round - at <= STALE_ROUNDS
            and believable(own, info, agent.vivaldi.rtt_ms(info.id))
        ]
        measured = {
            (agent.node, peer): rtt
            for peer in agent.known
            if (rtt := agent.vivaldi.rtt_ms(peer)) is not None
        }
        return CostSpace([*fresh, self.own_info(agent)], latency=measured)

    def _measure(self, agent: SimulatedAgent) -> None:
        peers = sorted(
            p.node
            for p in self.agents.values()
            if p.alive
            and p is not agent
            and (agent.reachable is None or p.node in agent.reachable)
            and (p.reachable is None or agent.node in p.reachable)
        )
        if not peers:
            return
        for _ in range(self.probes):
            peer = self.agents[self._random.choice(peers)]
            rtt = self.true_rtt(agent.node, peer.node) + self._random.gauss(0.0, self.jitter_ms)
            agent.vivaldi.observe(peer.node, self.own_info(peer).coordinate, rtt)
        peer = self.agents[self._random.choice(peers)]
        agent.known[peer.node] = (self.own_info(peer), self.round)
        peer.known[agent.node] = (self.own_info(agent), self.round)

    def _alone(self, live: list[SimulatedAgent]) -> int:
        seen = self.stage
        merged: dict[Executor, SlotId] = dict(seen.assignment)
        moved = 0
        for agent in live:
            decision = agent.scheduler.decide_alone(
                seen, self.space_of(agent), self.rates, self.cpu
            )
            for e in decision.moved if decision else ():
                merged[e] = decision.placement[e]  # type: ignore[union-attr]
                moved += 1
        self._apply(merged)
        return moved

    def _coordinated(self, live: list[SimulatedAgent]) -> int:
        wishes: list[Wish] = []
        for agent in live:
            wishes += agent.scheduler.wishes(self.stage, self.space_of(agent), self.rates, self.cpu)
        holder = self._random.choice(live) if live else None
        if holder is None:
            return 0
        decision = holder.scheduler.compose(
            self.stage, self.space_of(holder), self.rates, self.cpu, wishes
        )
        if decision is None or decision.base != self.stage.base:
            return 0
        self._apply(dict(decision.placement))
        return len(decision.moved)

    def _apply(self, assignment: dict[Executor, SlotId]) -> None:
        used = set(assignment.values())
        before = set(self.stage.assignment.values())
        free = {
            node: tuple(
                sorted(
                    {*self.stage.free_slots.get(node, ()), *(p for n, p in before if n == node)}
                    - {p for n, p in used if n == node}
                )
            )
            for node in self.stage.live_nodes
        }
        self.stage = replace(self.stage, assignment=assignment, free_slots=free)
