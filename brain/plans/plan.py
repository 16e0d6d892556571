"""The plan of one topology as the brain handles it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Executor = tuple[int, int]
"""Start and end task, as Storm names an executor."""
SlotId = tuple[str, int]
"""Supervisor id and port."""


@dataclass(frozen=True)
class Cost:
    inter_node: float
    inter_worker: float


@dataclass(frozen=True)
class Plan:
    """Everything the shim needs to check a plan and an operator to understand it.

    ``epoch`` grows with each plan of a topology id and is never reused; ``term`` is the election
    term of the brain that wrote it.
    """

    topology_id: str
    epoch: int
    executor_hash: str
    algorithm: str
    before: Cost
    after: Cost
    reason: str
    executors: Mapping[Executor, SlotId]
    created_ms: int
    term: int = 0
    brain: str = ""
    decision_id: str = ""
    based_on: str = ""
    """Digest of the assignment that it was made from; the shim applies it over no other."""


@dataclass(frozen=True)
class PlanRef:
    """Names one plan exactly: what schedule() answers with."""

    topology_id: str
    epoch: int
    digest: str


@dataclass(frozen=True)
class StoredPlan:
    plan: Plan
    digest: str
    version: int
    """The znode's version, for compare-and-set."""
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ref(self) -> PlanRef:
        return PlanRef(self.plan.topology_id, self.plan.epoch, self.digest)


def assignment_digest(assignment: Mapping[Executor, SlotId]) -> str:
    """SHA-256 (hex) over ``start-end node:port`` lines by start task, as the shim computes it."""
    lines = (
        f"{start}-{end} {node}:{port}\n"
        for (start, end), (node, port) in sorted(assignment.items())
    )
    return hashlib.sha256("".join(lines).encode()).hexdigest()
