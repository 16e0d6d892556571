"""What Nimbus tells, as plain immutable values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_ALL_TIME = ":all-time"


@dataclass(frozen=True)
class NimbusView:
    host: str
    port: int
    leader: bool
    uptime_secs: int


@dataclass(frozen=True)
class SupervisorView:
    id: str
    host: str
    slots: int
    used_slots: int
    uptime_secs: int


@dataclass(frozen=True)
class TopologySummary:
    id: str
    name: str
    status: str
    workers: int
    executors: int
    tasks: int
    uptime_secs: int
    scheduler_status: str
    """What the scheduler last said about it (``cluster.setStatus``)."""


@dataclass(frozen=True)
class ClusterView:
    nimbuses: tuple[NimbusView, ...]
    supervisors: tuple[SupervisorView, ...]
    topologies: tuple[TopologySummary, ...]


@dataclass(frozen=True)
class ExecutorView:
    """An executor, the slot it is assigned to, and Storm's (sampled) counters since its start."""

    start_task: int
    end_task: int
    component: str
    host: str
    port: int
    uptime_secs: int
    up: bool
    """Whether its worker has sent a heartbeat for it."""
    emitted: int
    transferred: int
    acked: int
    failed: int
    complete_ms: float | None
    """Mean complete latency; on spouts that ack."""


@dataclass(frozen=True)
class TopologyView:
    id: str
    name: str
    status: str
    uptime_secs: int
    scheduler_status: str
    executors: tuple[ExecutorView, ...]
    errors: Mapping[str, str]
    """Component to its latest error."""

    @property
    def assignment(self) -> dict[tuple[int, int], tuple[str, int]]:
        """(start task, end task) of each executor to (host, port)."""
        return {(e.start_task, e.end_task): (e.host, e.port) for e in self.executors}


def cluster_view(summary: Any) -> ClusterView:
    return ClusterView(
        nimbuses=tuple(
            NimbusView(n.host, n.port, bool(n.isLeader), n.uptime_secs) for n in summary.nimbuses
        ),
        supervisors=tuple(
            SupervisorView(
                s.supervisor_id, s.host, s.num_workers, s.num_used_workers, s.uptime_secs
            )
            for s in sorted(summary.supervisors, key=lambda s: str(s.supervisor_id))
        ),
        topologies=tuple(
            TopologySummary(
                id=t.id,
                name=t.name,
                status=t.status,
                workers=t.num_workers,
                executors=t.num_executors,
                tasks=t.num_tasks,
                uptime_secs=t.uptime_secs,
                scheduler_status=t.sched_status or "",
            )
            for t in sorted(summary.topologies, key=lambda t: str(t.name))
        ),
    )


def topology_view(info: Any) -> TopologyView:
    return TopologyView(
        id=info.id,
        name=info.name,
        status=info.status,
        uptime_secs=info.uptime_secs,
        scheduler_status=info.sched_status or "",
        executors=tuple(
            sorted((_executor_view(e) for e in info.executors), key=lambda e: e.start_task)
        ),
        errors={
            component: max(errors, key=lambda e: int(e.error_time_secs)).error
            for component, errors in info.errors.items()
            if errors
        },
    )


def _executor_view(summary: Any) -> ExecutorView:
    stats = summary.stats
    spout = stats.specific.spout if stats is not None else None
    specific = spout or (stats.specific.bolt if stats is not None else None)
    return ExecutorView(
        start_task=summary.executor_info.task_start,
        end_task=summary.executor_info.task_end,
        component=summary.component_id,
        host=summary.host,
        port=summary.port,
        uptime_secs=summary.uptime_secs,
        up=stats is not None,
        emitted=_total(stats.emitted) if stats is not None else 0,
        transferred=_total(stats.transferred) if stats is not None else 0,
        acked=_total(specific.acked) if specific is not None else 0,
        failed=_total(specific.failed) if specific is not None else 0,
        complete_ms=_mean(spout.complete_ms_avg) if spout is not None else None,
    )


def _total(by_window: Mapping[str, Mapping[Any, int]]) -> int:
    return sum(by_window.get(_ALL_TIME, {}).values())


def _mean(by_window: Mapping[str, Mapping[Any, float]]) -> float | None:
    values = [value for value in by_window.get(_ALL_TIME, {}).values() if value > 0]
    return sum(values) / len(values) if values else None
