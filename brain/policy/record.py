"""What the brain remembers of one topology between snapshots."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from brain.config import TopologySettings
from brain.config.keys import BY_AGENTS
from brain.monitor.snapshot import ClusterView, TopologyView
from brain.monitor.traffic import TopologyTraffic
from brain.plans.plan import StoredPlan
from brain.policy.decision import Decision, Trigger
from brain.policy.profile import Profile
from brain.policy.stability import Stability

BOOTSTRAP = "qos-bootstrap"
"""What the brain places topologies of agents by: first, and after failures."""


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
    profile: Profile | None = None
    """What was learnt under this name before, if it fits."""
    plan: StoredPlan | None = None
    plan_state: PlanState | None = None
    computed_ms: int | None = None
    moved_ms: int | None = None
    busy: bool = False
    """A computation is under way."""
    event: Trigger | None = None
    """Something happened that is worth a look before the period is over."""
    rejections: int = 0
    last_decision: Decision | None = None
    stability: Stability = field(default_factory=Stability)
    complete_ms: int | None = None
    """Since when every executor has been heard from its place; None while some are missing."""
    awaiting_since_ms: int | None = None
    """A plan came into force then, and its tasks have not all been heard of yet."""
    learnt_ms: int = 0

    def observe(self, view: TopologyView, cluster: ClusterView, now_ms: int) -> str | None:
        """Takes the topology's part of a snapshot; says why its plan is retired, if it is."""
        old, self.view = self.view, view
        if view.assignment != old.assignment:
            self.changed_ms, self.complete_ms = now_ms, None
        if view.executor_hash != old.executor_hash:
            self.event = Trigger("rebalance", "storm rebalance has changed its executors")
        elif old.assignment and not view.assignment:
            self.event = Trigger("rebalance", "storm rebalance was asked: all was unassigned")
        if self.plan is None:
            return None
        plan = self.plan.plan
        if plan.executor_hash != view.executor_hash:
            return "the set of executors has changed"
        if view.assignment == plan.executors:
            if self.plan_state is PlanState.PENDING:
                self._came_into_force(old, now_ms)
            self.rejections = 0
            return None
        if self.plan_state is PlanState.IN_FORCE and view.fully_assigned:
            self.event = Trigger("placed-otherwise", "Storm changed the assignment")
            return "Storm has placed it otherwise since (a node was lost, or it was rebalanced)"
        if self.plan_state is PlanState.PENDING and not self.usable(cluster):
            return "a slot of it is gone or taken"
        return None

    @property
    def of_agents(self) -> bool:
        """Whether agents beside the supervisors own this topology's plan once it runs whole."""
        return bool(self.settings["algorithm"] == BY_AGENTS)

    @property
    def to_bootstrap(self) -> bool:
        """Whether executors of agents' topology have no place, and none was looked for since."""
        return (
            self.of_agents
            and not self.view.fully_assigned
            and (self.computed_ms is None or self.computed_ms < self.changed_ms)
        )

    def _came_into_force(self, old: TopologyView, now_ms: int) -> None:
        assert self.plan is not None
        self.plan_state = PlanState.IN_FORCE
        if old.assignment:  # else it was a first placement, and nothing moved
            self.moved_ms = now_ms
            self.awaiting_since_ms = now_ms
            self.stability.moved(old.assignment, self.plan.plan.executors, now_ms)

    def heard(self, now_ms: int) -> None:
        """After a report: have all executors been heard from where they run by now?"""
        if self.complete_ms is not None or not self.view.fully_assigned or self.silent():
            return
        self.complete_ms = now_ms
        if self.awaiting_since_ms is not None:
            self.stability.measured_downtime((now_ms - self.awaiting_since_ms) / 1000.0)
            self.awaiting_since_ms = None

    def silent(self) -> list[str]:
        """Executors that have not reported from where Storm runs them."""
        return [
            f"{start}-{end}"
            for (start, end), slot in self.view.assignment.items()
            if self.traffic.locations.get(start) != slot
        ]

    @property
    def downtime_secs(self) -> float:
        measured = self.stability.downtime_secs
        return float(self.settings["downtime.secs"] if measured is None else measured)

    def usable(self, cluster: ClusterView) -> bool:
        """Whether the plan could be applied: all slots live, none with another topology.

        A blacklisted node takes nobody in, but who runs there stays, as with Storm itself.
        """
        if self.plan is None or self.plan.plan.executor_hash != self.view.executor_hash:
            return False
        users = cluster.slot_users
        stays = {e for e, s in self.view.assignment.items() if s[0] in cluster.blacklisted}
        return all(
            users.get(slot, self.view.id) == self.view.id
            and (
                slot in cluster.live_slots
                or (executor in stays and self.view.assignment[executor] == slot)
            )
            for executor, slot in self.plan.plan.executors.items()
        )

    def retire_plan(self) -> None:
        self.plan, self.plan_state, self.rejections = None, None, 0
        self.awaiting_since_ms = None
