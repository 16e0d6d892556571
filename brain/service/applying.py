"""`apply`: puts exactly one plan in force that an operator has seen, or says why not."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from brain.idl import wire
from brain.plans.codec import UnreadablePlan
from brain.plans.plan import Executor, Plan, SlotId
from brain.plans.store import PlanConflict
from brain.policy.decision import Decision, Outcome, Trigger, moves_between
from brain.policy.record import PlanState, TopologyRecord
from brain.policy.replay import to_document
from brain.service.arguments import Arguments
from brain.service.drafts import Drafted, Drafts
from brain.service.inside import Inside


class Applier:
    def __init__(self, inside: Inside, drafts: Drafts) -> None:
        self._inside = inside
        self._drafts = drafts

    def apply(self, arguments: Arguments) -> dict[str, Any]:
        """Writes a drafted plan or a stored proposal, if all that it was based on still holds."""
        name = arguments.required_text("topology")
        digest = arguments.required_text("digest").lower()
        arguments.done()
        leadership = self._inside.leadership()
        with self._inside.lock:
            topology_id = self._inside.record(name).view.id
        drafted = self._drafts.find(topology_id, digest) or self._proposal(topology_id, digest)
        with self._inside.lock:
            record = self._inside.record(topology_id)
            self._check(record, drafted)
            record.busy = True  # so that the planner does not decide at the same time
        try:
            plan = dataclasses.replace(
                drafted.plan,
                epoch=self._inside.store.next_epoch(topology_id),
                created_ms=self._inside.clock.now_ms(),
                term=leadership.term,
                brain=self._inside.brain_id,
            )
            stored = self._inside.store.write(plan, leadership.term_version)
            with self._inside.lock:
                self._inside.core.on_written(stored)
        except PlanConflict as e:
            raise _refused(e.message) from None
        finally:
            with self._inside.lock:
                record.busy = False
        self._inside.store.delete(topology_id, "proposals")
        decision = dataclasses.replace(
            drafted.decision,
            time_ms=plan.created_ms,
            trigger=Trigger("operator", f"applied by digest {drafted.digest[:12]}"),
            outcome=Outcome.MOVE,
        )
        with self._inside.lock:
            record.last_decision = decision
        self._inside.decisions.append(decision)
        if (
            drafted.inputs is not None
        ):  # with the brain's own verdict, which an operator may overrule
            _, document = to_document(*drafted.inputs, drafted.decision)
            self._inside.decisions.keep_inputs(decision, document)
        return {
            "topology_id": topology_id,
            "epoch": plan.epoch,
            "digest": drafted.digest,
            "plan_digest": stored.digest,
            "moves": decision.moves,
            "restarts": decision.restarts,
            "reason": plan.reason,
        }

    def _check(self, record: TopologyRecord, drafted: Drafted) -> None:
        """Refuses a plan that no longer fits; called under the lock."""
        view, cluster = record.view, self._inside.core.view
        plan = drafted.plan
        again = "look at a new one with `stormbrain plan`"
        if record.settings["mode"] == "off":
            raise _refused("topology.brain.mode is off: it is left to Storm")
        if record.busy:
            raise _refused("a computation is under way; try again in a moment")
        if record.plan_state is PlanState.PENDING:
            raise _refused("another plan is just being applied; try again when it is in force")
        if plan.executor_hash != view.executor_hash:
            raise _refused(f"the executors of {view.name} have changed since: {again}")
        if dict(view.assignment) != dict(drafted.base):
            raise _refused(f"{view.name} has been placed otherwise since: {again}")
        for slot in sorted(set(plan.executors.values())):
            if cluster is None or slot not in cluster.live_slots:
                raise _refused(f"slot {slot[0]}:{slot[1]} is gone: {again}")
            if cluster.slot_users.get(slot, view.id) != view.id:
                raise _refused(
                    f"slot {slot[0]}:{slot[1]} is now used by {cluster.slot_users[slot]}: {again}"
                )

    def _proposal(self, topology_id: str, digest: str) -> Drafted:
        """A plan of mode advise, with the placement that its decision was about."""
        unknown = _refused(
            f"no plan {digest[:12]} of {topology_id} is known: drafts are kept for an hour and "
            "only by the brain that made them; look at a new one with `stormbrain plan`"
        )
        if len(digest) < 8:
            raise wire.BadRequest("digest", "give at least 8 characters of the digest")
        try:
            stored = self._inside.store.read(topology_id, "proposals")
        except UnreadablePlan as e:
            raise _refused(f"the stored proposal is unreadable: {e.message}") from None
        if stored is None or not stored.digest.startswith(digest):
            raise unknown
        document = next(
            (
                d
                for d in self._inside.decisions.recent(topology_id)
                if d.get("id") == stored.plan.decision_id
            ),
            None,
        )
        if document is None or document.get("moves_left_out"):
            raise unknown
        base = _base(stored.plan, document)
        with self._inside.lock:
            components = self._inside.record(topology_id).view.executors
        if set(components) != set(stored.plan.executors):
            raise _refused("the executors have changed since; wait for a new proposal")
        moves, restarts = moves_between(base, stored.plan.executors, components)
        decision = Decision(
            id=stored.plan.decision_id,
            time_ms=stored.plan.created_ms,
            topology_id=topology_id,
            topology_name=str(document.get("topology_name")),
            trigger=Trigger("operator", ""),
            mode=str(document.get("mode")),
            algorithm=stored.plan.algorithm,
            outcome=Outcome.MOVE,
            reason=stored.plan.reason,
            moves=moves,
            restarts=restarts,
        )
        return Drafted(stored.digest, stored.plan, decision, base, 0.0)


def _base(plan: Plan, document: Mapping[str, Any]) -> dict[Executor, SlotId]:
    """The placement before a plan: the plan with the moves of its decision taken back."""
    base = dict(plan.executors)
    for move in document.get("moves") or ():
        start, _, end = str(move["executor"]).partition("-")
        executor = (int(start), int(end or start))
        if move.get("from_slot") is None:
            base.pop(executor, None)
            continue
        node, _, port = str(move["from_slot"]).rpartition(":")
        base[executor] = (node, int(port))
    return base


def _refused(message: str) -> Exception:
    error: Exception = wire.BadRequest("digest", f"not applied: {message}")
    return error
