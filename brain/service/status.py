"""The brain's answer to «how are you»: who leads, what is measured, what was decided last."""

from __future__ import annotations

from typing import Any

from brain import __version__
from brain.core import BrainCore
from brain.idl import PROTOCOL_VERSION, wire
from brain.plans.election import Leadership


def status_of(
    core: BrainCore, brain_id: str, leadership: Leadership | None, leader: str | None, now_ms: int
) -> Any:
    """A BrainStatus; called under the core's lock, so it computes no placement."""
    topologies = []
    for topology_id, record in sorted(core.records.items()):
        plan = record.plan
        decision = record.last_decision
        rates = core.rates_lately(topology_id, now_ms)
        topologies.append(
            wire.TopologyStatus(
                topology_id=topology_id,
                name=record.view.name,
                mode=record.settings["mode"],
                algorithm=record.settings["algorithm"],
                plan=wire.PlanRef(topology_id, plan.plan.epoch, plan.digest) if plan else None,
                cost_now=_cost(decision.before) if decision and decision.before else None,
                cost_planned=_cost(decision.after) if decision and decision.after else None,
                last_decision=core.note(record, now_ms),
                last_decision_ms=decision.time_ms if decision else None,
                edges=len(rates.source),
                tuples_per_sec=float(rates.tuples[~rates.system].sum()),
            )
        )
    return wire.BrainStatus(
        protocol_version=PROTOCOL_VERSION,
        brain=brain_id,
        version=__version__,
        leading=leadership is not None,
        leader=leader,
        term=leadership.term if leadership else 0,
        topologies=topologies,
        reports_received=core.counters.reports,
        reports_refused=core.counters.refused_reports,
        snapshots_received=core.counters.snapshots,
        last_snapshot_ms=core.counters.last_snapshot_ms or None,
        details={},
    )


def _cost(score: Any) -> Any:
    return wire.PlanCost(score.inter_node, score.inter_worker)
