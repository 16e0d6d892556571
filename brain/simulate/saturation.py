"""How far the rates can grow before something is full, and what that is.

Everything a topology does grows in proportion to what its spouts emit, so each topology has one
factor on its rates. All factors rise together; when a resource is full, the topologies that use it
stop and the others go on (max-min fairness), as back-pressure holds each topology's spouts for
itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brain.simulate.arrays import Floats, tally
from brain.simulate.flows import Flows
from brain.simulate.network import Network

UNUSED = 1e-15


@dataclass(frozen=True)
class Bottleneck:
    """``kind`` is cpu, nic-out or nic-in (of a node), executor, or receiver (of a slot)."""

    kind: str
    where: str

    def __str__(self) -> str:
        return f"{self.kind} of {self.where}"


@dataclass(frozen=True)
class Saturation:
    """By topology: the factor on its rates, and what is full then (None: nothing ever is)."""

    factor: Floats
    bottleneck: tuple[Bottleneck | None, ...]


def saturation(flows: Flows, network: Network, host_cores: float | None = None) -> Saturation:
    """``host_cores``: all nodes share so many cores, as those of a testbed on one machine do."""
    problem = flows.problem
    count = len(problem.topologies)
    kinds, shared, capacity = _shared(flows, network)
    if host_cores is not None:
        shared = np.vstack((shared, shared[: len(problem.nodes)].sum(axis=0)))
        capacity = np.append(capacity, host_cores)
    own, own_names = _own_limits(flows)
    factor = np.full(count, np.inf)
    names: list[Bottleneck | None] = [None] * count
    active = np.ones(count, dtype=bool)
    while active.any():
        used = shared[:, ~active] @ factor[~active] if (~active).any() else np.zeros(len(shared))
        growing = shared[:, active].sum(axis=1)
        room = np.maximum(capacity - used, 0.0)
        level = np.divide(room, growing, out=np.full(len(room), np.inf), where=growing > UNUSED)
        first = int(level.argmin()) if len(level) else -1
        common = float(level[first]) if first >= 0 else np.inf
        lowest = float(own[active].min())
        if not np.isfinite(min(common, lowest)):
            break
        if lowest <= common:
            stop = active & (own <= lowest)
            for t in np.flatnonzero(stop).tolist():
                names[t] = own_names[t]
        else:
            stop = active & (shared[first] > UNUSED)
            kind, where = divmod(first, len(problem.nodes))
            place = problem.nodes[where].id if kind < len(kinds) else "the host"
            for t in np.flatnonzero(stop).tolist():
                names[t] = Bottleneck(kinds[kind % len(kinds)], place)
        factor[stop] = min(common, lowest)
        active &= ~stop
    return Saturation(factor, tuple(names))


def _shared(flows: Flows, network: Network) -> tuple[tuple[str, ...], Floats, Floats]:
    """Loads of what topologies share (rows: three for each node) by topology, and capacities."""
    problem, graph = flows.problem, flows.problem.graph
    nodes, count = len(problem.nodes), len(problem.topologies)
    of = problem.topology_of.astype(np.int64)

    def table(place: NDArray[np.int64], topology: NDArray[np.int64], amount: Floats) -> Floats:
        cells = tally(place * count + topology, amount, nodes * count)
        return cells.reshape(nodes, count)

    cpu = table(flows.node.astype(np.int64), of, flows.thread_cpu)
    at = flows.remote
    target = graph.indices[at]
    cpu += table(flows.node[target].astype(np.int64), of[target], flows.end_cpu[at])
    at = flows.crossing
    ends = graph.sources[at], graph.indices[at]
    out, into = (
        table(flows.node[end].astype(np.int64), of[end], flows.wire_bytes[at]) for end in ends
    )
    cores = np.array([np.inf if n.cpu is None else n.cpu / 100.0 for n in problem.nodes])
    capacity = np.concatenate((cores, network.bandwidth, network.bandwidth))
    return ("cpu", "nic-out", "nic-in"), np.concatenate((cpu, out, into)), capacity


def _own_limits(flows: Flows) -> tuple[Floats, list[Bottleneck | None]]:
    """What a topology shares with none: its executors' threads and its workers' receivers."""
    problem = flows.problem
    # A multilang executor was measured with its subprocess, so it may well use more than a core.
    limit = np.maximum(1.0, flows.own_cpu)
    busy = flows.thread_cpu
    room = np.divide(limit, busy, out=np.full(len(busy), np.inf), where=busy > UNUSED)
    receive = flows.receive_cpu
    free = np.divide(1.0, receive, out=np.full(len(receive), np.inf), where=receive > UNUSED)
    factors: list[float] = []
    names: list[Bottleneck | None] = []
    for t, topology in enumerate(problem.topologies):
        own = problem.executors_of(t)
        if own.start == own.stop:
            factors.append(np.inf)
            names.append(None)
            continue
        e = own.start + int(room[own].argmin())
        slots = np.unique(flows.placement.slot[own])
        s = int(slots[free[slots].argmin()])
        if room[e] <= free[s]:
            component = topology.components[int(topology.component_of[e - own.start])]
            where = f"{component} [{topology.executor_ids[e - own.start]}]"
            names.append(Bottleneck("executor", where))
        else:
            node = problem.nodes[int(problem.slots.node[s])].id
            names.append(Bottleneck("receiver", f"{node}:{int(problem.slots.port[s])}"))
        factors.append(float(min(room[e], free[s])))
    return np.array(factors), names
