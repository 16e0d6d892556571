"""R-Storm, the resource-aware peer (Peng et al., Middleware 2015; as described in Eskandari 2020).

Task selection: components in breadth-first order from the spouts; then, round by round, one task of
each component that has any left, so that neighbours in the topology are taken one after another.
Node selection: the first node ("ref node") is the one with the most resources in the rack with the
most resources; then each task goes to the node with the least distance

    d² = w_mem·(mem_task - mem_node)² + w_cpu·(cpu_task - cpu_node)² + w_net·netdist(ref, node)²

among those with memory enough. Memory is a hard constraint, CPU and bandwidth are soft; the network
distance is 0 on the ref node, 0.5 within its rack and 1 between racks. Resources are measured
relative to the largest node, so that points and megabytes compare.

How we differ: CPU is a hard limit in our problems, so nodes without enough of it come last and the
outcome is repaired; ``cpu=soft`` leaves it as in the paper, and the result then says which nodes
are overfull. Traffic plays no part, as in the paper.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.offline import component_streams, linearise
from brain.algorithms.parts.finish import conclude, finish
from brain.algorithms.parts.levels import to_slots
from brain.algorithms.parts.state import State
from brain.algorithms.parts.workspace import Workspace
from brain.model import Options, Placement, Problem, Result

SAME_RACK, OTHER_RACK = 0.5, 1.0


def solve(problem: Problem, current: Placement | None, options: Options) -> Result:
    """Parameters: ``cpu`` (hard, soft), weights ``w_cpu``, ``w_memory``, ``w_network`` (1 each)."""
    work = Workspace(problem, current, options)
    soft = work.choice("cpu", "hard", ("hard", "soft")) == "soft"
    state = State(work.limits, work.units)
    if soft:
        state.cpu_free[:] = np.inf
    for t, topology in enumerate(problem.topologies):
        if not topology.frozen and len(topology) and work.limits.usable.any():
            _place(work, state, t)
    node = work.units.scatter(state.node)
    if soft:
        return conclude(work, "rstorm", to_slots(work, node))
    return finish(work, "rstorm", node)


def task_order(work: Workspace, t: int) -> list[int]:
    """Units of a topology: round by round one of each component, components breadth-first."""
    topology, first = work.problem.topologies[t], int(work.problem.offsets[t])
    queues = [
        deque(first + int(e) for e in np.flatnonzero(topology.component_of == c))
        for c in breadth_first(work, t)
    ]
    order: dict[int, None] = {}
    while any(queues):
        for queue in queues:
            if queue:
                order.setdefault(int(work.units.unit_of[queue.popleft()]))
    return list(order)


def breadth_first(work: Workspace, t: int) -> list[int]:
    """Components by breadth-first search from those that nobody emits to; then any not reached."""
    topology = work.problem.topologies[t]
    streams = component_streams(work, t)
    downstream: dict[int, list[int]] = {c: [] for c in range(len(topology.components))}
    for a, b in sorted(streams):
        downstream[a].append(b)
    fed = {b for a, b in streams if a != b}
    # In a cycle without a spout the linearisation's first component serves as one.
    starts = [c for c in downstream if c not in fed] or linearise(topology.components, streams)[:1]
    seen = dict.fromkeys(starts)
    queue = deque(starts)
    while queue:
        for c in downstream[queue.popleft()]:
            if c not in seen:
                seen[c] = None
                queue.append(c)
    return [*seen, *(c for c in downstream if c not in seen)]


def _place(work: Workspace, state: State, t: int) -> None:
    units = work.units
    most_cpu = _largest(work.limits.cpu_free, work.limits.usable)
    most_memory = _largest(work.limits.memory_free, work.limits.usable)
    weights = [work.number(f"w_{name}", 1.0, 0.0, 1e9) for name in ("cpu", "memory", "network")]
    ref = _ref_node(work, state, most_cpu, most_memory)
    network = _network_distance(work, ref)
    for u in task_order(work, t):
        fits = state.fits(u)
        if not fits.any():
            continue  # the repair finds room, or says that there is none
        cpu = _relative(state.cpu_free, most_cpu) - units.cpu[u] / most_cpu
        memory = _relative(state.memory_free, most_memory) - units.memory_mb[u] / most_memory
        distance = weights[0] * cpu**2 + weights[1] * memory**2 + weights[2] * network**2
        opens = state.new_workers(u)
        candidates = np.flatnonzero(fits)
        order = np.lexsort((candidates, opens[candidates], distance[candidates]))
        state.put(u, int(candidates[order[0]]))


def _largest(free: NDArray[np.float64], usable: NDArray[np.bool_]) -> float:
    finite = free[usable & np.isfinite(free)]
    return max(float(finite.max(initial=0.0)), 1e-9)


def _relative(free: NDArray[np.float64], most: float) -> NDArray[np.float64]:
    """Free resources as a share of the largest node; unlimited nodes count like that one."""
    return np.where(np.isfinite(free), free / most, 1.0)


def _ref_node(work: Workspace, state: State, most_cpu: float, most_memory: float) -> int:
    """The node with the most resources in the rack with the most resources."""
    rich = _relative(state.cpu_free, most_cpu) + _relative(state.memory_free, most_memory)
    rich = np.where(work.limits.usable & (state.slots_free > 0), rich, -1.0)
    racks = [n.rack for n in work.problem.nodes]
    wealth: dict[str | None, float] = {}
    for rack, amount in zip(racks, rich, strict=True):
        wealth[rack] = wealth.get(rack, 0.0) + max(float(amount), 0.0)
    best = max(wealth, key=lambda rack: wealth[rack])
    inside = np.array([rack == best for rack in racks])
    return int(np.where(inside, rich, -2.0).argmax())


def _network_distance(work: Workspace, ref: int) -> NDArray[np.float64]:
    racks = [n.rack for n in work.problem.nodes]
    distance = np.array([SAME_RACK if rack == racks[ref] else OTHER_RACK for rack in racks])
    distance[ref] = 0.0
    return distance
