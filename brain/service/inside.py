"""What questions are answered from: the runtime's parts, handed over one by one."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from brain.config import Settings
from brain.core import BrainCore
from brain.idl import wire
from brain.plans.election import Election, Leadership
from brain.plans.store import PlanStore
from brain.policy.record import TopologyRecord
from brain.service.clock import Clock
from brain.service.decision_log import DecisionLog


@dataclass(frozen=True)
class Inside:
    """``core`` is touched under ``lock`` only; the rest is safe from any thread."""

    core: BrainCore
    lock: threading.Lock
    clock: Clock
    store: PlanStore
    election: Election
    decisions: DecisionLog
    settings: Settings
    brain_id: str
    address: str

    def leadership(self) -> Leadership:
        """Raises NotLeader, with the leader's address, if this brain does not lead."""
        leadership = self.election.leadership
        if leadership is None:
            raise wire.NotLeader(self.election.known_leader, f"brain {self.brain_id} does not lead")
        return leadership

    def record(self, name: str) -> TopologyRecord:
        """Of a topology by id or name; under the lock. BadRequest lists what there is."""
        records = self.core.records
        if name in records:
            return records[name]
        named = [r for r in records.values() if r.view.name == name]
        if len(named) == 1:
            return named[0]
        known = ", ".join(sorted(r.view.name for r in records.values()))
        raise wire.BadRequest(
            "topology",
            f"no topology {name!r} is known to the brain; it knows {known or 'none yet'}",
        )
