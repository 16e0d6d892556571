"""Snapshot and measured rates → the placement problem of one topology.

Only that topology may move; the others are in the problem as frozen, so that their load and their
slots count. Loads are measured CPU where there is any, else tuples handled (Fischer's weights),
else what the topology requested.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from brain.config import Settings, TopologySettings
from brain.model import CommGraph, Node, Placement, Problem, Topology
from brain.monitor.machines import MachineLoad
from brain.monitor.snapshot import ClusterView, TopologyView
from brain.monitor.traffic import Rates
from brain.plans.plan import Executor, SlotId
from brain.policy.quality import latencies, with_quality
from brain.qos.space import NodeQos

POINTS_PER_TUPLE = 0.001
"""CPU points assumed per tuple a second where no CPU was measured; only proportions matter."""


class LoadRates(Protocol):
    """What loads are worked out from: Rates, or only the tasks' part of them."""

    @property
    def task(self) -> NDArray[np.int32]: ...
    @property
    def cpu_points(self) -> NDArray[np.float64]: ...
    @property
    def executed(self) -> NDArray[np.float64]: ...
    @property
    def emitted(self) -> NDArray[np.float64]: ...


@dataclass(frozen=True)
class BuiltProblem:
    """The problem, where things run now, and how to read a placement of it."""

    problem: Problem
    current: Placement
    topology: int
    """Index of the topology that may move."""
    executors: tuple[Executor, ...]

    def slots_of(self, placement: Placement) -> dict[Executor, SlotId]:
        """Executor → slot of the movable topology; unplaced executors are left out."""
        part = placement.slot[self.problem.executors_of(self.topology)]
        table, nodes = self.problem.slots, self.problem.nodes
        return {
            executor: (nodes[int(table.node[s])].id, int(table.port[s]))
            for executor, s in zip(self.executors, part, strict=True)
            if s >= 0
        }


def build_problem(
    view: ClusterView,
    topology_id: str,
    rates: Mapping[str, LoadRates],
    settings: Settings,
    topology_settings: TopologySettings,
    machines: Mapping[str, MachineLoad] | None = None,
    quality: Mapping[str, NodeQos] | None = None,
) -> BuiltProblem:
    """``rates`` are by topology id; a topology without any counts with its requests.

    Those of the topology itself are Rates, with its edges. ``machines`` say what else runs there,
    ``quality`` is what agents say of their nodes: with it the problem has latencies.
    """
    topologies = sorted(view.topologies.values(), key=lambda t: t.id != topology_id)
    loads = [executor_loads(t, rates.get(t.id)) for t in topologies]
    room = _room(view, machines or {}, topologies, loads, settings)
    nodes = _nodes(view, settings, topology_settings, topologies, loads, room)
    host_ids = _host_ids(view)
    models = tuple(
        _topology(t, load, settings, topology_settings if t.id == topology_id else None, host_ids)
        for t, load in zip(topologies, loads, strict=True)
    )
    own = rates.get(topology_id)
    measured = own if isinstance(own, Rates) else None
    graph = _graph(topologies[0], measured, sum(len(m) for m in models))
    latency = None
    if quality and topology_settings["algorithm"].startswith(("qos", "auto")):
        nodes = with_quality(nodes, quality, _load_of_nodes(topologies, loads))
        latency = latencies(nodes, quality)
    problem = Problem(nodes, models, graph, latency)
    current = np.full(len(problem), -1, dtype=np.int32)
    row = 0
    for t in topologies:
        for executor in t.executors:
            slot = t.assignment.get(executor)
            index = problem.slots.index(*slot) if slot else None
            current[row] = -1 if index is None else index
            row += 1
    return BuiltProblem(problem, Placement(current), 0, tuple(topologies[0].executors))


def _nodes(
    view: ClusterView,
    settings: Settings,
    own: TopologySettings,
    topologies: list[TopologyView],
    loads: list[NDArray[np.float64]],
    room: Mapping[str, float],
) -> tuple[Node, ...]:
    """Nodes with the CPU that may be planned: headroom, and no far from the fair share."""
    supervisors = sorted(view.supervisors.values(), key=lambda s: s.id)
    usable = [s for s in supervisors if not s.blacklisted]
    total = sum(float(load.sum()) for load in loads)
    known = [s.cpu for s in usable if s.cpu]
    typical = sum(known) / len(known) if known else 100.0
    capacity = {s.id: s.cpu if s.cpu is not None else typical for s in supervisors}
    all_capacity = sum(capacity[s.id] for s in usable) or 1.0
    factor = own["balance.factor"]
    largest = float(loads[0].max()) if len(loads[0]) else 0.0
    others = _load_of_nodes(topologies[1:], loads[1:])
    headroom = settings["cpu.headroom.percent"] / 100.0
    nodes = []
    for s in supervisors:
        limit = capacity[s.id] * headroom if s.cpu is not None else np.inf
        if factor > 0:
            fair = total * capacity[s.id] / all_capacity
            # One executor above the fair share can always be reached; both slacks together would
            # let a node have half as much again for the sake of a few acks.
            limit = min(limit, max(factor * fair, fair + largest))
        limit = min(limit, room.get(s.id, np.inf))
        # What the others burn already cannot be planned away; the limit must not be below it.
        limit = max(limit, others.get(s.id, 0.0))
        nodes.append(
            Node(
                id=s.id,
                slots=s.ports,
                rack=s.rack,
                cpu=None if np.isinf(limit) else float(limit),
                memory_mb=s.memory_mb if settings["honour.memory"] else None,
                host=s.host,
                excluded=s.blacklisted,
            )
        )
    return tuple(nodes)


def _room(
    view: ClusterView,
    machines: Mapping[str, MachineLoad],
    topologies: list[TopologyView],
    loads: list[NDArray[np.float64]],
    settings: Settings,
) -> dict[str, float]:
    """CPU that executors may have on a node beside the other processes of its machine.

    What a machine has left is split among its nodes by their capacities. Only said where there are
    machines to choose between.
    """
    if len(machines) < 2:
        return {}
    own = _load_of_nodes(topologies, loads)
    share = settings["cpu.headroom.percent"] / 100.0
    room = {}
    for m in machines.values():
        foreign = max(0.0, m.cpu_points - sum(own.get(n, 0.0) for n in m.nodes))
        left = max(0.0, m.capacity_points * share - foreign)
        weight = {n: view.supervisors[n].cpu or 1.0 for n in m.nodes if n in view.supervisors}
        for node, w in weight.items():
            room[node] = left * w / sum(weight.values())
    return room


def _load_of_nodes(
    topologies: list[TopologyView], loads: list[NDArray[np.float64]]
) -> dict[str, float]:
    burnt: dict[str, float] = {}
    for t, load in zip(topologies, loads, strict=True):
        for executor, points in zip(t.executors, load, strict=True):
            if executor in t.assignment:
                node = t.assignment[executor][0]
                burnt[node] = burnt.get(node, 0.0) + float(points)
    return burnt


def executor_loads(t: TopologyView, rates: LoadRates | None) -> NDArray[np.float64]:
    """CPU points per executor."""
    if rates is not None and len(rates.task):
        points = rates.cpu_points
        if not points.any():
            points = (rates.executed + rates.emitted) * POINTS_PER_TUPLE
        rows = _rows(t.task_rows, rates.task)
        known = rows >= 0
        if points[known].any():
            return np.bincount(rows[known], points[known], len(t.executors)).astype(np.float64)
    requested = {c.id: c.cpu for c in t.components.values()}
    return np.array([requested.get(c) or 0.0 for c in t.executors.values()])


def _topology(
    t: TopologyView,
    load: NDArray[np.float64],
    settings: Settings,
    own: TopologySettings | None,
    host_ids: Mapping[str, tuple[str, ...]],
) -> Topology:
    names = tuple(dict.fromkeys(t.executors.values()))
    number = {c: i for i, c in enumerate(names)}
    memory = {c.id: c.memory_mb or 0.0 for c in t.components.values()}
    pins: dict[str, tuple[str, ...]] = {}
    if own is not None:
        for component, hosts in own["pin"].items():
            if component in number:
                pins[component] = tuple(n for h in hosts for n in host_ids.get(h, (h,)))
    return Topology(
        id=t.id,
        name=t.name,
        components=names,
        component_of=np.array([number[c] for c in t.executors.values()], dtype=np.int32),
        cpu=load,
        memory_mb=np.array(
            [memory.get(c, 0.0) if settings["honour.memory"] else 0.0 for c in t.executors.values()]
        ),
        executor_ids=tuple(f"{start}-{end}" for start, end in t.executors),
        workers=t.workers or None,
        max_executors_per_worker=own["max.executors.per.worker"] if own else None,
        pin=pins,
        spread=tuple(c for c in own["spread"] if c in number) if own else (),
        colocate=tuple(
            tuple(c for c in group if c in number) for group in (own["colocate"] if own else ())
        ),
        frozen=own is None,
        # What others say does not change, so only the own streams are of use.
        streams=()
        if own is None
        else tuple(
            (source, c.id, grouping.replace("-", "_"))
            for c in t.components.values()
            for source, _, grouping in c.inputs
            if source in number and c.id in number
        ),
    )


def _host_ids(view: ClusterView) -> dict[str, tuple[str, ...]]:
    """A host name stands for all supervisors on it."""
    ids: dict[str, tuple[str, ...]] = {}
    for s in view.supervisors.values():
        ids[s.host] = (*ids.get(s.host, ()), s.id)
    return ids


def _graph(t: TopologyView, measured: Rates | None, executors: int) -> CommGraph:
    """Traffic of the movable topology only: what the others say does not change."""
    if measured is None or not len(measured.source):
        return CommGraph.empty(executors)
    row_of = t.task_rows
    source, target = _rows(row_of, measured.source), _rows(row_of, measured.target)
    known = (source >= 0) & (target >= 0)
    tuples, size = measured.tuples[known], measured.bytes[known]
    sampled = size > 0
    if sampled.any():  # an edge too thin to be sampled is as heavy per tuple as the others
        mean = size[sampled].sum() / max(tuples[sampled].sum(), 1e-9)
        size = np.where(sampled, size, tuples * mean)
    return CommGraph.from_edges(
        executors, source[known], target[known], tuples, size if sampled.any() else None
    )


def _rows(row_of: NDArray[np.int64], tasks: NDArray[np.int32]) -> NDArray[np.int64]:
    inside = (tasks >= 0) & (tasks < len(row_of))
    rows = np.full(len(tasks), -1, dtype=np.int64)
    rows[inside] = row_of[tasks[inside]]
    return rows
