"""What must not stay as it is: overloaded nodes (Aniello's L_i >= B_i) and broken constraints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from brain.algorithms.parts.verify import violations
from brain.config import Settings
from brain.monitor.machines import MachineLoad
from brain.monitor.snapshot import ClusterView
from brain.policy.problem_builder import BuiltProblem, LoadRates, executor_loads

BROKEN_KINDS = frozenset({"excluded", "pin", "spread", "colocate"})
"""Violations that an operator's word is behind; capacities are looked at with real limits."""


@dataclass(frozen=True)
class Overload:
    node: str
    load: float
    limit: float
    whole_machine: bool = False
    """The load is that of all processes on its machine, not only of our executors."""

    def __str__(self) -> str:
        whose = "'s machine" if self.whole_machine else ""
        return f"{self.node}{whose} burns {self.load:.0f} of {self.limit:.0f} CPU points"


@dataclass
class OverloadWatch:
    """Since when each node has been over its limit, without a pause."""

    since_ms: dict[str, int] = field(default_factory=dict)
    now: dict[str, Overload] = field(default_factory=dict)

    def update(self, found: Iterable[Overload], now_ms: int) -> None:
        self.now = {o.node: o for o in found}
        self.since_ms = {n: self.since_ms.get(n, now_ms) for n in self.now}

    def lasting(self, nodes: set[str], seconds: int, now_ms: int) -> list[Overload]:
        """Overloads among these nodes that have lasted for so long."""
        return [
            self.now[n]
            for n, since in sorted(self.since_ms.items())
            if n in nodes and now_ms - since >= seconds * 1000
        ]


def node_loads(view: ClusterView, rates: Mapping[str, LoadRates]) -> dict[str, float]:
    """Measured CPU points per supervisor, of all topologies together."""
    loads = dict.fromkeys(view.supervisors, 0.0)
    for topology in view.topologies.values():
        measured = rates.get(topology.id)
        if measured is None or not len(measured.task):
            continue
        points = executor_loads(topology, measured).tolist()
        for executor, load in zip(topology.executors, points, strict=True):
            slot = topology.assignment.get(executor)
            if slot is not None and slot[0] in loads:
                loads[slot[0]] += load
    return loads


def overloads(
    view: ClusterView,
    loads: Mapping[str, float],
    machines: Mapping[str, MachineLoad],
    settings: Settings,
) -> list[Overload]:
    """Nodes that carry more than the planned share of their capacity (L_i >= B_i).

    L_i is what the node's executors burn, or what all processes burn on its machine. The latter
    counts only if there is a machine with room: where all share one, no move can help.
    """
    share = settings["cpu.headroom.percent"] / 100.0
    found = {}
    for node, load in loads.items():
        capacity = view.supervisors[node].cpu
        if capacity and load >= capacity * share:
            found[node] = Overload(node, load, capacity * share)
    full = [m for m in machines.values() if m.cpu_points >= m.capacity_points * share]
    if len(full) < len(machines):
        for m in full:
            for node in m.nodes:
                limit = m.capacity_points * share
                found.setdefault(node, Overload(node, m.cpu_points, limit, whole_machine=True))
    return list(found.values())


def broken_constraints(built: BuiltProblem) -> list[str]:
    """Constraints of the movable topology that its running placement breaks."""
    placed = built.current.slot[built.problem.executors_of(built.topology)]
    if np.any(placed < 0):
        return []
    return [
        v.message
        for v in violations(built.problem, built.current, built.current)
        if v.kind in BROKEN_KINDS
    ]
