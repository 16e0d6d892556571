"""A placement as names and plain numbers, for the verifier."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from brain.model import UNPLACED, Placement, Problem


@dataclass(frozen=True, slots=True)
class Violation:
    """``kind`` is one of unplaced, no-slot, shared-slot, excluded, cpu, memory, workers,
    per-worker, pin, spread, colocate, frozen; ``message`` names topology, node and executors."""

    kind: str
    message: str

    def __str__(self) -> str:
        return self.message


class View:
    """The placement as dictionaries of names."""

    def __init__(self, problem: Problem, placement: Placement, current: Placement | None) -> None:
        self.problem = problem
        self.slot = [int(s) for s in placement.slot]
        self.current = None if current is None else [int(s) for s in current.slot]
        self.slot_node = [int(n) for n in problem.slots.node]
        self.slot_port = [int(p) for p in problem.slots.port]
        self.first = [int(o) for o in problem.offsets]
        self.no_slot: list[Violation] = []
        if len(self.slot) != len(problem):
            self.no_slot.append(
                Violation("no-slot", f"placement of {len(self.slot)} executors for {len(problem)}")
            )
        for e, s in enumerate(self.slot):
            if s != UNPLACED and not 0 <= s < len(self.slot_node):
                self.no_slot.append(Violation("no-slot", f"executor {e}: slot {s} does not exist"))

    def executors(self, t: int) -> range:
        return range(self.first[t], self.first[t + 1])

    def name(self, t: int, e: int) -> str:
        return str(self.problem.topologies[t].executor_ids[e - self.first[t]])

    def names(self, t: int, executors: list[int]) -> str:
        return ", ".join(self.name(t, e) for e in executors)

    def node(self, e: int) -> int | None:
        return None if self.slot[e] == UNPLACED else self.slot_node[self.slot[e]]

    def slot_name(self, s: int) -> str:
        return f"{self.problem.nodes[self.slot_node[s]].id}:{self.slot_port[s]}"

    def by_component(self, t: int) -> dict[str, list[int]]:
        topology = self.problem.topologies[t]
        members: dict[str, list[int]] = defaultdict(list)
        for e, c in zip(self.executors(t), topology.component_of.tolist(), strict=True):
            members[topology.components[c]].append(e)
        return members

    def frozen_slots(self) -> set[int]:
        if self.current is None:
            return set()
        return {
            self.current[e]
            for t, topology in enumerate(self.problem.topologies)
            if topology.frozen
            for e in self.executors(t)
        }
