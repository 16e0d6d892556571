"""Nimbus's view of the cluster as immutable values, checked on the way in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brain.errors import BadInput
from brain.model import executor_set_hash
from brain.plans.plan import Executor, SlotId

MAX_PORT = 65_535


@dataclass(frozen=True)
class Supervisor:
    id: str
    host: str
    ports: tuple[int, ...]
    rack: str | None = None
    cpu: float | None = None
    memory_mb: float | None = None
    blacklisted: bool = False


@dataclass(frozen=True)
class Component:
    id: str
    kind: str
    parallelism: int
    inputs: tuple[tuple[str, str, str], ...] = ()
    """(source component, stream, grouping)."""
    cpu: float | None = None
    memory_mb: float | None = None


@dataclass(frozen=True)
class TopologyView:
    id: str
    name: str
    workers: int
    components: Mapping[str, Component]
    executors: Mapping[Executor, str]
    """Executor → component, in order of the start task."""
    assignment: Mapping[Executor, SlotId]
    """Executors that run now; the others are unassigned."""
    conf: Mapping[str, str]
    uptime_secs: int = 0

    @cached_property
    def executor_hash(self) -> str:
        return executor_set_hash((s, e, c) for (s, e), c in self.executors.items())

    @cached_property
    def task_rows(self) -> NDArray[np.int64]:
        """Task id → row of its executor in ``executors``, -1 for ids that are not in it."""
        last = max((end for _, end in self.executors), default=-1)
        rows = np.full(last + 1, -1, dtype=np.int64)
        for row, (start, end) in enumerate(self.executors):
            rows[start : end + 1] = row
        return rows

    @property
    def fully_assigned(self) -> bool:
        return len(self.assignment) == len(self.executors)


@dataclass(frozen=True)
class Rejection:
    topology_id: str
    epoch: int
    code: str
    message: str


@dataclass(frozen=True)
class ClusterView:
    time_ms: int
    supervisors: Mapping[str, Supervisor]
    topologies: Mapping[str, TopologyView]
    rejections: tuple[Rejection, ...] = ()
    plugin_version: str = ""
    storm_version: str = ""
    nimbus: str = ""

    @cached_property
    def blacklisted(self) -> frozenset[str]:
        """Supervisors that live, but that Storm gives nothing new to."""
        return frozenset(s.id for s in self.supervisors.values() if s.blacklisted)

    @cached_property
    def live_slots(self) -> frozenset[SlotId]:
        return frozenset(
            (s.id, port) for s in self.supervisors.values() if not s.blacklisted for port in s.ports
        )

    @cached_property
    def slot_users(self) -> Mapping[SlotId, str]:
        """Which topology runs in a slot."""
        return {slot: t.id for t in self.topologies.values() for slot in t.assignment.values()}


def read_snapshot(state: Any) -> ClusterView:
    """From Thrift; BadInput names the field that cannot be meant."""
    supervisors: dict[str, Supervisor] = {}
    for i, s in enumerate(state.supervisors):
        where = f"supervisors[{i}]"
        if s.id in supervisors:
            raise BadInput(f"{where}.id", f"supervisor {s.id} occurs twice")
        for port in s.ports:
            if not 0 < port <= MAX_PORT:
                raise BadInput(f"{where}.ports", f"{port} is not a port")
        supervisors[s.id] = Supervisor(
            s.id,
            s.host,
            tuple(sorted(set(s.ports))),
            s.rack,
            _capacity(s.cpu_capacity, f"{where}.cpu_capacity"),
            _capacity(s.memory_capacity_mb, f"{where}.memory_capacity_mb"),
            bool(s.blacklisted),
        )
    topologies: dict[str, TopologyView] = {}
    for i, t in enumerate(state.topologies):
        if t.id in topologies:
            raise BadInput(f"topologies[{i}].id", f"topology {t.id} occurs twice")
        topologies[t.id] = _topology(t, f"topologies[{i}]")
    return ClusterView(
        state.time_ms,
        supervisors,
        topologies,
        tuple(Rejection(r.topology_id, r.epoch, r.code, r.message) for r in state.rejections or ()),
        state.plugin_version or "",
        state.storm_version or "",
        state.nimbus or "",
    )


def _topology(t: Any, where: str) -> TopologyView:
    if not t.id or "/" in t.id:
        raise BadInput(f"{where}.id", f"not a topology id: {t.id!r}")
    components = {
        c.id: Component(
            c.id,
            c.kind,
            c.parallelism,
            tuple((x.source_component, x.stream, x.grouping) for x in c.inputs or ()),
            _capacity(c.cpu_percent, f"{where}.components"),
            _capacity(c.memory_mb, f"{where}.components"),
        )
        for c in t.components
    }
    executors: dict[Executor, str] = {}
    assignment: dict[Executor, SlotId] = {}
    for i, e in enumerate(sorted(t.executors, key=lambda e: e.range.start_task)):
        key = (e.range.start_task, e.range.end_task)
        if key[1] < key[0] or key in executors:
            raise BadInput(f"{where}.executors[{i}]", f"bad or repeated task range {key}")
        executors[key] = e.component
        if e.slot is not None:
            assignment[key] = (e.slot.node, e.slot.port)
    return TopologyView(
        t.id,
        t.name,
        max(0, t.workers),
        components,
        executors,
        assignment,
        dict(t.conf or {}),
        t.uptime_secs or 0,
    )


def _capacity(value: float | None, where: str) -> float | None:
    """Absent or negative means unknown (Storm sends -1 where nothing is configured)."""
    if value is None or value < 0:
        return None
    if value != value or value == float("inf"):
        raise BadInput(where, f"{value} is not a capacity")
    return float(value)
