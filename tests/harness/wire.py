"""Builds snapshots and reports the way the plugin sends them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from brain.idl import PROTOCOL_VERSION, wire


def supervisor(node: str, ports: tuple[int, ...] = (6700, 6701), **more: Any) -> Any:
    return wire.SupervisorState(
        id=node, host=more.pop("host", f"{node}.example"), ports=list(ports),
        cpu_capacity=more.pop("cpu", 400.0), **more,
    )  # fmt: skip


def topology(
    topology_id: str,
    components: Mapping[str, int],
    slots: Mapping[int, tuple[str, int]] | None = None,
    workers: int = 3,
    conf: Mapping[str, Any] | None = None,
) -> Any:
    """Components in order, one task an executor, tasks numbered from 1. ``slots`` is by task."""
    executors, task = [], 1
    for component, parallelism in components.items():
        for _ in range(parallelism):
            slot = (slots or {}).get(task)
            executors.append(
                wire.ExecutorState(
                    wire.ExecutorRange(task, task), component, wire.Slot(*slot) if slot else None
                )
            )
            task += 1
    return wire.TopologyState(
        id=topology_id,
        name=topology_id.rsplit("-", 2)[0],
        workers=workers,
        components=[wire.ComponentState(c, "bolt", p) for c, p in components.items()],
        executors=executors,
        conf={k: json.dumps(v) for k, v in (conf or {}).items()},
        uptime_secs=100,
    )


def cluster_state(supervisors: list[Any], topologies: list[Any], **more: Any) -> Any:
    more.setdefault("protocol_version", PROTOCOL_VERSION)
    return wire.ClusterState(time_ms=0, supervisors=supervisors, topologies=topologies, **more)


def report(
    topology_id: str,
    sequence: int,
    start_ms: int,
    edges: Mapping[tuple[int, int], tuple[int, int]],
    tasks: Mapping[int, float],
    worker: str = "w1",
    node: str = "n1",
    port: int = 6700,
    length_ms: int = 5000,
    **more: Any,
) -> Any:
    """``edges`` maps (source, target) to (tuples, bytes); ``tasks`` maps a task to its CPU ms."""
    return wire.WindowReport(
        protocol_version=PROTOCOL_VERSION,
        topology_id=topology_id,
        worker_id=worker,
        node=node,
        host=f"{node}.example",
        port=port,
        sequence=sequence,
        start_ms=start_ms,
        end_ms=start_ms + length_ms,
        edges=[wire.EdgeCount(s, t, n, b) for (s, t), (n, b) in edges.items()],
        tasks=[wire.TaskLoad(t, "c", cpu, executed=10, emitted=10) for t, cpu in tasks.items()],
        **more,
    )


def reports_of(
    topology_id: str,
    sequence: int,
    start_ms: int,
    edges: Mapping[tuple[int, int], tuple[int, int]],
    tasks: Mapping[int, float],
    slots: Mapping[int, tuple[str, int]],
    length_ms: int = 5000,
) -> list[Any]:
    """One window of each worker, each about the tasks that run in its slot."""
    windows = []
    for node, port in sorted(set(slots.values())):
        here = {t for t, slot in slots.items() if slot == (node, port)}
        windows.append(
            report(
                topology_id,
                sequence,
                start_ms,
                {edge: counts for edge, counts in edges.items() if edge[1] in here},
                {t: cpu for t, cpu in tasks.items() if t in here},
                worker=f"{node}-{port}",
                node=node,
                port=port,
                length_ms=length_ms,
            )
        )
    return windows
