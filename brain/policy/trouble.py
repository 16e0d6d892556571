"""What must not stay as it is: overloaded nodes (Aniello's L_i >= B_i) and broken constraints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from brain.algorithms.parts.verify import violations
from brain.config import Settings
from brain.monitor.snapshot import ClusterView
from brain.monitor.traffic import Rates
from brain.policy.problem_builder import BuiltProblem, executor_loads

BROKEN_KINDS = frozenset({"excluded", "pin", "spread", "colocate"})
"""Violations that an operator's word is behind; capacities are looked at with real limits."""


@dataclass(frozen=True)
class Overload:
    node: str
    load: float
    limit: float

    def __str__(self) -> str:
        return f"{self.node} burns {self.load:.0f} of {self.limit:.0f} CPU points"


@dataclass
class OverloadWatch:
    """Since when each node has been over its limit, without a pause."""

    since_ms: dict[str, int] = field(default_factory=dict)
    now: dict[str, Overload] = field(default_factory=dict)

    def update(
        self, view: ClusterView, rates: Mapping[str, Rates], settings: Settings, now_ms: int
    ) -> None:
        self.now = {o.node: o for o in overloads(view, rates, settings)}
        self.since_ms = {n: self.since_ms.get(n, now_ms) for n in self.now}

    def lasting(self, nodes: set[str], seconds: int, now_ms: int) -> list[Overload]:
        """Overloads among these nodes that have lasted for so long."""
        return [
            self.now[n]
            for n, since in sorted(self.since_ms.items())
            if n in nodes and now_ms - since >= seconds * 1000
        ]


def node_loads(view: ClusterView, rates: Mapping[str, Rates]) -> dict[str, float]:
    """Measured CPU points per supervisor, of all topologies together."""
    loads = dict.fromkeys(view.supervisors, 0.0)
    for topology in view.topologies.values():
        measured = rates.get(topology.id)
        if measured is None or not len(measured.task):
            continue
        points = executor_loads(topology, measured)
        for executor, load in zip(topology.executors, points, strict=True):
            slot = topology.assignment.get(executor)
            if slot is not None and slot[0] in loads:
                loads[slot[0]] += float(load)
    return loads


def overloads(view: ClusterView, rates: Mapping[str, Rates], settings: Settings) -> list[Overload]:
    """Nodes whose executors burn more than the planned share of their capacity."""
    share = settings["cpu.headroom.percent"] / 100.0
    found = []
    for node, load in node_loads(view, rates).items():
        capacity = view.supervisors[node].cpu
        if capacity and load >= capacity * share:
            found.append(Overload(node, load, capacity * share))
    return found


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
