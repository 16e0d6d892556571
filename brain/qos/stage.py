"""One topology as agents see it: where its executors run, and what may be done with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from brain.plans.plan import Executor, SlotId, assignment_digest

Rates = Mapping[tuple[Executor, Executor], float]
"""What executors say to each other a second: bytes where measured, else tuples."""


@dataclass(frozen=True)
class Stage:
    """``free_slots`` are ports that no topology uses, on nodes that may be used."""

    topology_id: str
    executors: Mapping[Executor, str]
    assignment: Mapping[Executor, SlotId]
    executor_hash: str
    workers: int = 1
    pins: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Component → ids of the nodes that may hold it."""
    free_slots: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    live_nodes: frozenset[str] = frozenset()
    worker_points: float = 0.0
    """CPU that a worker burns besides its executors: it comes and goes with the worker."""

    @cached_property
    def base(self) -> str:
        """Names the assignment exactly: a plan made from it holds for no other."""
        return assignment_digest(self.assignment)

    @property
    def whole(self) -> bool:
        """Whether every executor runs somewhere."""
        return len(self.assignment) == len(self.executors) > 0

    def pinned_to(self, executor: Executor) -> frozenset[str] | None:
        """The nodes that may hold an executor; None for any."""
        return self.pins.get(self.executors[executor])

    def may_hold(self, executor: Executor, node: str) -> bool:
        allowed = self.pinned_to(executor)
        return allowed is None or node in allowed

    def misplaced(self) -> list[Executor]:
        """Executors outside of their pins that have a live node to go to."""
        return sorted(
            e
            for e, slot in self.assignment.items()
            if not self.may_hold(e, slot[0])
            and (self.pinned_to(e) or frozenset()) & self.live_nodes
        )

    def on(self, nodes: Iterable[str]) -> list[Executor]:
        """Executors that run on the given nodes."""
        chosen = set(nodes)
        return sorted(e for e, slot in self.assignment.items() if slot[0] in chosen)


def clean_rates(
    rates: Rates, executors: Mapping[Executor, str]
) -> dict[tuple[Executor, Executor], float]:
    """Rates that can be: between different executors of the topology, positive and finite."""
    return {
        (a, b): float(r)
        for (a, b), r in rates.items()
        if a in executors and b in executors and a != b and 0.0 < r < 1e15
    }
