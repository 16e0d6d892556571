"""I-Scheduler: Eskandari, Mair, Huang, Eyers, "I-Scheduler: Iterative scheduling for distributed
stream processing systems", Future Generation Computer Systems (2020), Algorithm 1.

    θ > 0: φ ← FIND_THRESHOLD(θ), else the heuristic alone             lines 1–8
    FIRST_LEVEL: partition, fuse, update until t + f ≤ φ               lines 22–47
    SOLVE_MODEL on the reduced graph, or DIRECT_MAPPING                lines 48–53
    SECOND_LEVEL: ⌈t / T⌉ workers on each node by k-way                lines 55–62

Names: θ ``options.theta``, φ the parameter ``phi``, T ``max_executors_per_worker``, N the usable
nodes by their capacity in tasks. See ``ischeduler_parts.first_level`` for how α, β and k go.

How we differ: capacities are CPU and memory, turned into tasks by the mean demand, so the result
is repaired where demands differ much. Several topologies are scheduled one after the other, those
with most traffic first. Pins, spread and workers are respected by the model and by the repair.
SOLVE_MODEL is our exact solver in place of CPLEX; if it does not finish within θ its best answer
competes with the direct mapping.

Parameters: ``phi`` (measured on this machine by default, see ``brain.calibration``), ``nodes``
(branch-and-bound nodes of the model instead of θ, for repeatable runs).
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.exact_parts.classes import node_types, twin_classes
from brain.algorithms.exact_parts.fast import solve_fast
from brain.algorithms.exact_parts.highs import Budget
from brain.algorithms.exact_parts.home import keep_home
from brain.algorithms.exact_parts.items import Items
from brain.algorithms.exact_parts.room import TooMany
from brain.algorithms.ischeduler_parts.first_level import Fusion, NodeGroup, reduce_graph
from brain.algorithms.ischeduler_parts.fuse import fused_units
from brain.algorithms.parts.finish import finish
from brain.algorithms.parts.limits import UNLIMITED, Limits
from brain.algorithms.parts.relabel import relabel
from brain.algorithms.parts.units import Units
from brain.algorithms.parts.workspace import Workspace
from brain.calibration import find_threshold
from brain.model import UNPLACED, Options, Placement, Problem, Result

SOLVER_SHARE = 0.6
"""Of θ for SOLVE_MODEL, the same alone as within ``auto``."""
MOST_COLUMNS = 8000
"""Limits on the model's size; beyond it the direct mapping is used."""


def solve(problem: Problem, current: Placement | None, options: Options) -> Result:
    """``ischeduler``; ``details["trace"]`` has k, β, α, t and f of each iteration."""
    begin = time.perf_counter()
    work = Workspace(problem, current, options)
    units, limits = work.units, work.limits
    node = np.full(len(units), UNPLACED, dtype=np.int32)
    trace: list[dict[str, object]] = []
    for t in _busiest_first(work):
        group = np.full(len(units), -1, dtype=np.int64)
        mine = np.flatnonzero(units.topology == t)
        group[mine] = np.arange(len(mine))
        own = fused_units(units, group)
        deadline = begin + SOLVER_SHARE * options.theta
        chosen, steps = _first_level(work, own, limits, deadline)
        node[mine] = chosen
        trace.append({"topology": problem.topologies[t].id, **steps})
        limits = _after(limits, own, chosen)
    return finish(work, "ischeduler", units.scatter(node), details={"trace": trace})


def _busiest_first(work: Workspace) -> list[int]:
    units = work.units
    traffic = np.bincount(
        units.topology[units.graph.sources], units.graph.weight, len(work.limits.workers)
    )
    present = np.unique(units.topology).tolist()
    return sorted(present, key=lambda t: (-float(traffic[t]), t))


def _first_level(
    work: Workspace, units: Units, limits: Limits, deadline: float
) -> tuple[NDArray[np.int32], dict[str, object]]:
    """A node for each unit of one topology, and the numbers on the way."""
    groups = node_groups(units, limits)
    if not groups:
        return np.full(len(units), UNPLACED, dtype=np.int32), {"phi": 0, "iterations": []}
    phi = _threshold(work, units, limits)
    fusion = reduce_graph(units, groups, phi, work.options.seed)
    node, proven, mapping = None, False, "direct"
    if fusion.use_solver:
        node, proven = _solve_model(work, units, fusion, limits, deadline)
        mapping = "model"
    if node is None or not proven:
        # No time for an optimum: the heuristic of lines 40 and 51 may do better.
        plain = reduce_graph(units, groups, 0, work.options.seed) if fusion.use_solver else fusion
        direct = _direct_mapping(work, units, plain, groups, limits)
        if node is None or _cost(units, limits, direct) < _cost(units, limits, node):
            node, fusion, mapping = direct, plain, "direct"
    steps: dict[str, object] = {
        "phi": phi,
        "mapping": mapping,
        "tasks_in_model": int(fusion.whole_group().max()) + 1,
        "iterations": fusion.explain(),
    }
    return node, steps


def _cost(units: Units, limits: Limits, node: NDArray[np.int32]) -> float:
    """Traffic between nodes; infinite where somebody has no node or a node has too much."""
    if (node == UNPLACED).any():
        return np.inf
    count = len(limits.usable)
    for demand, free in ((units.cpu, limits.cpu_free), (units.memory_mb, limits.memory_free)):
        if (np.bincount(node, demand, count) > free).any():
            return np.inf
    return units.graph.crossing(node) / 2.0


def _threshold(work: Workspace, units: Units, limits: Limits) -> int:
    """φ for θ (lines 2–8)."""
    if "phi" in work.options.params:
        return int(work.number("phi", 0, 0, 1e6))
    if work.options.theta <= 0:
        return 0
    few = len(units) <= 400
    alike = few and 2 * len(twin_classes(Items.of(units, limits))) <= len(units)
    return find_threshold(work.options.theta, "alike" if alike else "measured")


def node_groups(units: Units, limits: Limits) -> list[NodeGroup]:
    """N: usable nodes by the number of tasks they can host, the largest first (line 12).

    A task is a unit of mean demand. Where a topology may have only so many workers, the largest
    nodes are all there is.
    """
    if len(units) == 0:
        return []
    t = int(units.topology[0])
    tasks = np.full(len(limits.usable), len(units), dtype=np.int64)
    for demand, free in ((units.cpu, limits.cpu_free), (units.memory_mb, limits.memory_free)):
        mean = float(demand.mean())
        if mean > 0:
            hosts = np.floor(np.minimum(free / mean, len(units)) + 1e-6)
            tasks = np.minimum(tasks, hosts.astype(np.int64))
    if limits.per_worker[t] < UNLIMITED:
        executors = float(units.size.mean())
        hosts = np.floor(limits.slots_free * limits.per_worker[t] / executors)
        tasks = np.minimum(tasks, hosts.astype(np.int64))
    may = units.allowed[np.unique(units.allowed_class)].any(axis=0) & limits.usable
    usable = np.flatnonzero(may & (tasks >= 1))
    usable = usable[np.lexsort((usable, -tasks[usable]))]
    if limits.workers[t] < UNLIMITED:
        usable = usable[: int(limits.workers[t])]
    capacities = sorted({int(c) for c in tasks[usable]}, reverse=True)
    return [NodeGroup(c, tuple(int(u) for u in usable if tasks[u] == c)) for c in capacities]


def _solve_model(
    work: Workspace, units: Units, fusion: Fusion, limits: Limits, deadline: float
) -> tuple[NDArray[np.int32] | None, bool]:
    """SOLVE_MODEL (line 49) on the reduced graph: nodes of units or None, and whether proven."""
    group = fusion.whole_group()
    reduced = fused_units(units, group)
    items = Items.of(reduced, limits)
    budget = Budget(max(deadline, time.perf_counter() + 0.05), work.options.seed)
    if "nodes" in work.options.params:
        steps = int(work.number("nodes", 0, 0, 2**31 - 1))
        budget = Budget(math.inf, work.options.seed, steps)
    try:
        outcome = solve_fast(items, budget, MOST_COLUMNS)
    except TooMany:
        return None, False
    if outcome.node is None:
        return None, False
    node = outcome.node
    if work.current is not None:
        home = reduced.gather(work.current_node)
        node = keep_home(node, home, reduced.size, twin_classes(items), node_types(items))
    return node.astype(np.int32)[group], outcome.proven


def _direct_mapping(
    work: Workspace, units: Units, fusion: Fusion, groups: list[NodeGroup], limits: Limits
) -> NDArray[np.int32]:
    """DIRECT_MAPPING (line 51): fused tasks to nodes of the capacity they were sized for.

    Tasks that no node was left for stay UNPLACED; the repair finds them a place.
    """
    group = fusion.whole_group()
    fused = fused_units(units, group)
    node = np.full(len(fused), UNPLACED, dtype=np.int32)
    home = fused.gather(work.current_node)
    for i, nodes_alike in enumerate(groups):
        made = np.flatnonzero(np.array(fusion.made_for, dtype=np.int64) == i)
        mine = made[: nodes_alike.quantity]
        if len(mine) == 0:
            continue
        nodes = np.array(nodes_alike.nodes, dtype=np.int32)
        column = np.full(len(limits.usable), UNPLACED, dtype=np.int32)
        column[nodes] = np.arange(len(nodes), dtype=np.int32)
        now = np.where(home[mine] == UNPLACED, UNPLACED, column[home[mine]]).astype(np.int32)
        part = np.arange(len(mine), dtype=np.int32)
        chosen = relabel(part, len(mine), now, len(nodes), home=part)
        node[mine] = nodes[chosen]
    return node[group]


def _after(limits: Limits, units: Units, node: NDArray[np.int32]) -> Limits:
    """What a scheduled topology leaves for the next."""
    placed = node != UNPLACED
    count = len(limits.usable)
    t = int(units.topology[0])
    executors = np.bincount(node[placed], units.size[placed], count).astype(np.int64)
    workers = -(-executors // limits.per_worker[t])
    slots = np.maximum(limits.slots_free - workers, 0)
    return replace(
        limits,
        cpu_free=limits.cpu_free - np.bincount(node[placed], units.cpu[placed], count),
        memory_free=limits.memory_free - np.bincount(node[placed], units.memory_mb[placed], count),
        slots_free=slots,
        usable=limits.usable & (slots > 0),
    )
