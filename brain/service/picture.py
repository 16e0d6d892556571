"""The whole live state as one document: what the dashboard draws and `stormbrain explain` starts
from. Made under the core's lock, so it computes no placement and is bounded in size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brain import __version__
from brain.core import BrainCore
from brain.policy.decision import Decision
from brain.policy.record import TopologyRecord
from brain.service.flows import cpu_by_executor, executor_edges, flow_of
from brain.service.timeline import Line, Timeline, points_to_json, recent_rates

MAX_EDGES = 3000
MAX_POINTS = 300
MAX_DECISIONS = 20
MAX_MOVES = 200

History = Mapping[str, Sequence[Mapping[str, Any]]]
"""Topology id → its latest decisions as documents, oldest first."""


def picture(
    core: BrainCore,
    timeline: Timeline,
    history: History,
    now_ms: int,
    away_after_ms: int,
    topology: str | None = None,
) -> dict[str, Any]:
    """``topology`` (id) gets its edges, timeline and decisions; None gives them to all."""
    cpu = {t: cpu_by_executor(r.view, recent_rates(r, now_ms)) for t, r in core.records.items()}
    return {
        "now_ms": now_ms,
        "storm": _storm(core, timeline, now_ms, away_after_ms),
        "nodes": _nodes(core, cpu),
        "topologies": [
            _topology(
                core,
                record,
                timeline.lines.get(topology_id) or Line(),
                history.get(topology_id, ()),
                now_ms,
                cpu[topology_id],
                whole=topology in (None, topology_id),
            )
            for topology_id, record in sorted(core.records.items())
        ],
        "counters": {
            "snapshots": core.counters.snapshots,
            "reports": core.counters.reports,
            "refused_reports": core.counters.refused_reports,
            "decisions": core.counters.decisions,
        },
    }


def brain_to_json(
    brain_id: str,
    leading: bool,
    leader: str | None,
    term: int,
    now_ms: int,
    dashboard: str | None,
) -> dict[str, Any]:
    return {
        "id": brain_id,
        "version": __version__,
        "leading": leading,
        "leader": leader,
        "term": term,
        "now_ms": now_ms,
        "dashboard": dashboard,
    }


def _storm(core: BrainCore, timeline: Timeline, now_ms: int, away_after_ms: int) -> dict[str, Any]:
    view, seen = core.view, core.counters.last_snapshot_ms
    if view is None or not seen:
        return {"state": "never", "seen_ms": None, "age_ms": None, "away_after_ms": away_after_ms}
    every = timeline.snapshot_every_ms or 0
    limit = max(away_after_ms, 3 * every)
    return {
        "state": "away" if now_ms - seen > limit else "live",
        "seen_ms": seen,
        "age_ms": now_ms - seen,
        "every_ms": every or None,
        "away_after_ms": limit,
        "nimbus": view.nimbus,
        "storm_version": view.storm_version,
        "plugin_version": view.plugin_version,
        "clock_offset_ms": seen - view.time_ms if view.time_ms else None,
    }


def _nodes(core: BrainCore, cpu: Mapping[str, Any]) -> list[dict[str, Any]]:
    if core.view is None:
        return []
    burnt: dict[str, float] = {}
    for topology_id, record in core.records.items():
        for executor, points in zip(record.view.executors, cpu[topology_id], strict=True):
            slot = record.view.assignment.get(executor)
            if slot is not None:
                burnt[slot[0]] = burnt.get(slot[0], 0.0) + float(points)
    return [
        {
            "id": s.id,
            "host": s.host,
            "rack": s.rack,
            "ports": list(s.ports),
            "cpu_capacity": s.cpu,
            "memory_mb": s.memory_mb,
            "blacklisted": s.blacklisted,
            "cpu": burnt.get(s.id, 0.0),
        }
        for s in sorted(core.view.supervisors.values(), key=lambda s: (s.host, s.id))
    ]


def _topology(
    core: BrainCore,
    record: TopologyRecord,
    line: Line,
    decisions: Sequence[Mapping[str, Any]],
    now_ms: int,
    cpu: Any,
    whole: bool,
) -> dict[str, Any]:
    view, plan = record.view, record.plan
    rates = recent_rates(record, now_ms)
    document: dict[str, Any] = {
        "id": view.id,
        "name": view.name,
        "mode": record.settings["mode"],
        "algorithm": record.settings["algorithm"],
        "workers": view.workers,
        "uptime_secs": view.uptime_secs,
        "last_report_ms": record.traffic.last_report_ms,
        "losses": {**vars(record.traffic.losses), "edges": record.traffic.edges_over_limit},
        "moved_ms": record.moved_ms,
        "executors": [
            {
                "id": f"{e[0]}-{e[1]}",
                "component": component,
                "slot": list(view.assignment[e]) if e in view.assignment else None,
                "cpu": float(points),
            }
            for (e, component), points in zip(view.executors.items(), cpu, strict=True)
        ],
        "flow": flow_of(view, rates) if rates.seconds > 0 else None,
        "plan": None
        if plan is None
        else {
            "epoch": plan.plan.epoch,
            "digest": plan.digest,
            "state": str(record.plan_state),
            "algorithm": plan.plan.algorithm,
            "reason": plan.plan.reason,
            "created_ms": plan.plan.created_ms,
        },
        "waiting": core.waiting(record, now_ms),
        "errors": list(record.settings.errors),
        "last_decision": None
        if record.last_decision is None
        else _brief(record.last_decision.to_json()),
    }
    if whole:
        edges = executor_edges(view, rates, MAX_EDGES)
        document["edges"] = {
            "source": edges.source,
            "target": edges.target,
            "tuples": edges.tuples,
            "bytes": edges.bytes,
            "system": edges.system,
            "left_out": edges.left_out,
        }
        document["timeline"] = points_to_json(line, MAX_POINTS)
        document["moves"] = list(line.moves)
        document["decisions"] = [_brief(d) for d in list(decisions)[-MAX_DECISIONS:]]
    return document


def _brief(decision: Mapping[str, Any]) -> dict[str, Any]:
    moves = list(decision.get("moves") or ())
    return {**decision, "moves": moves[:MAX_MOVES], "moved": len(moves)}


def decision_document(decision: Decision) -> dict[str, Any]:
    return _brief(decision.to_json())
