"""What the brain remembers of one topology between snapshots."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from brain.config import TopologySettings
from brain.monitor.snapshot import ClusterView, TopologyView
from brain.monitor.traffic import TopologyTraffic
from brain.plans.plan import StoredPlan
from brain.policy.decision import Decision


class PlanState(StrEnum):
    PENDING = "pending"
    """Written, but no snapshot has shown it in force yet."""
    IN_FORCE = "in force"


@dataclass
class TopologyRecord:
    view: TopologyView
    settings: TopologySettings
    traffic: TopologyTraffic
    seen_ms: int
    changed_ms: int
    """When the assignment was last seen to change."""
    plan: StoredPlan | None = None
    plan_state: PlanState | None = None
    computed_ms: int | None = None
    moved_ms: int | None = None
    busy: bool = False
    """A computation is under way."""
    rejections: int = 0
    last_decision: Decision | None = None

    def observe(self, view: TopologyView, cluster: ClusterView, now_ms: int) -> str | None:
        """Takes the topology's part of a snapshot; says why its plan is retired, if it is."""
        if view.assignment != self.view.assignment:
            self.changed_ms = now_ms
        self.view = view
        if self.plan is None:
            return None
        plan = self.plan.plan
        if plan.executor_hash != view.executor_hash:
            return "the set of executors has changed"
        if view.assignment == plan.executors:
            if self.plan_state is PlanState.PENDING:
                self.plan_state = PlanState.IN_FORCE
                self.moved_ms = now_ms
            self.rejections = 0
            return None
        if self.plan_state is PlanState.IN_FORCE and view.fully_assigned:
            return "Storm has placed it otherwise since (a node was lost, or it was rebalanced)"
        if self.plan_state is PlanState.PENDING and not self.usable(cluster):
            return "a slot of it is gone or taken"
        return None

    def usable(self, cluster: ClusterView) -> bool:
        """Whether the plan could be applied: all slots live, none with another topology."""
        if self.plan is None or self.plan.plan.executor_hash != self.view.executor_hash:
            return False
        users = cluster.slot_users
        return all(
            slot in cluster.live_slots and users.get(slot, self.view.id) == self.view.id
            for slot in self.plan.plan.executors.values()
        )

    def retire_plan(self) -> None:
        self.plan, self.plan_state, self.rejections = None, None, 0
