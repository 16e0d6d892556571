"""The offline, topology-based scheduler (Aniello, Baldoni & Querzoni 2013, section 3.1).

For each topology with E executors, C components and W workers:

    M(α) = ⌈E/W⌉ + α·(E - W + 1 - ⌈E/W⌉)      most executors in a slot
    φ    = a linearisation of the components: c_i before c_j if c_i emits to c_j
    for the i-th component of φ: put its executors in slots that already hold executors of the
        components that emit to it; if i > ⌊β·C⌋, empty slots are forced into use
    finally the slots go to the nodes in turn

How we differ: a topology with cycles, which the paper leaves out, is linearised by its strongly
connected components (networkx condensation); within one, components come in the order listed. Where
all upstream slots are full, the fullest other slot with room is taken, then an empty one. Neither
load nor traffic count, as in the paper; hard limits that the outcome breaks are repaired
afterwards. Where no streams are declared, the structure is read off the measured edges.
"""

from __future__ import annotations

import math
from collections import defaultdict

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from brain.algorithms.parts.finish import finish
from brain.algorithms.parts.slots import round_robin_slots
from brain.algorithms.parts.workspace import Workspace
from brain.model import UNPLACED, Options, Placement, Problem, Result

ALPHA, BETA = 0.0, 0.5
"""The paper's own setting (section 4.1)."""


def solve(problem: Problem, current: Placement | None, options: Options) -> Result:
    """Parameters: ``alpha`` and ``beta``, both in [0, 1]."""
    work = Workspace(problem, current, options)
    alpha = work.number("alpha", ALPHA, 0.0, 1.0)
    beta = work.number("beta", BETA, 0.0, 1.0)
    worker_of = np.full(len(problem), UNPLACED, dtype=np.int64)
    workers: list[int] = []
    for t in range(len(problem.topologies)):
        if problem.topologies[t].frozen or len(problem.topologies[t]) == 0:
            continue
        own = problem.executors_of(t)
        groups = _workers_of(work, t, alpha, beta)
        worker_of[own] = groups + len(workers)
        workers += [t] * (int(groups.max()) + 1)
    slots = round_robin_slots(work, worker_of, len(workers))
    return finish(work, "offline", slots.nodes(problem.slots), slots=slots)


def most_per_slot(executors: int, workers: int, alpha: float) -> int:
    """M(α), rounded up: between an even share and all but one for every other slot.

    The paper's 30 executors in 8 slots get from 4 to 8 a slot as α goes from 0 to 0.2 (4.1).
    """
    even = math.ceil(executors / workers)
    return math.ceil(even + alpha * (executors - workers + 1 - even) - 1e-9)


def linearise(components: tuple[str, ...], streams: set[tuple[int, int]]) -> list[int]:
    """φ: every component after those that emit to it; a cycle stays together, in listed order."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(components)))
    graph.add_edges_from((a, b) for a, b in streams if a != b)
    condensed = nx.condensation(graph)
    members = condensed.nodes(data="members")
    first = {node: min(group) for node, group in members}
    order = nx.lexicographical_topological_sort(condensed, key=lambda node: first[node])
    return [c for node in order for c in sorted(condensed.nodes[node]["members"])]


def component_streams(work: Workspace, t: int) -> set[tuple[int, int]]:
    """(source, target) components: as declared, else as seen in the traffic."""
    topology = work.problem.topologies[t]
    index = {name: i for i, name in enumerate(topology.components)}
    if topology.streams:
        return {(index[a], index[b]) for a, b, _ in topology.streams if a in index and b in index}
    own, graph = work.problem.executors_of(t), work.problem.graph
    span = slice(int(graph.indptr[own.start]), int(graph.indptr[own.stop]))
    source = topology.component_of[graph.sources[span] - own.start]
    target = topology.component_of[graph.indices[span] - own.start]
    return {(int(a), int(b)) for a, b in set(zip(source.tolist(), target.tolist(), strict=True))}


def worker_count(work: Workspace, t: int) -> int:
    """min(W, E): the workers asked for, else one a usable node; never more than slots."""
    slots = int(work.limits.slots_free.sum())
    wanted = work.problem.topologies[t].workers
    if wanted is None:
        wanted = int(work.limits.usable.sum())
    return max(1, min(wanted, len(work.problem.topologies[t]), slots))


def _workers_of(work: Workspace, t: int, alpha: float, beta: float) -> NDArray[np.int64]:
    """The worker (0 …) of each executor of a topology."""
    topology = work.problem.topologies[t]
    streams = component_streams(work, t)
    upstream: dict[int, set[int]] = defaultdict(set)
    for a, b in streams:
        if a != b:
            upstream[b].add(a)
    workers = worker_count(work, t)
    most = most_per_slot(len(topology), workers, alpha)
    limit = topology.max_executors_per_worker
    most = most if limit is None else max(min(most, limit), math.ceil(len(topology) / workers))
    held = np.zeros(workers, dtype=np.int64)
    holds: dict[int, set[int]] = defaultdict(set)
    worker_of = np.zeros(len(topology), dtype=np.int64)
    forced_from = math.floor(beta * len(topology.components))
    for position, component in enumerate(linearise(topology.components, streams), start=1):
        near = np.array(sorted({w for c in upstream[component] for w in holds[c]}), dtype=np.int64)
        for e in np.flatnonzero(topology.component_of == component):
            w = _choose(held, near, most, force_empty=position > forced_from)
            held[w] += 1
            holds[component].add(w)
            worker_of[e] = w
    return _dense(worker_of)


def _choose(
    held: NDArray[np.int64], near: NDArray[np.int64], most: int, *, force_empty: bool
) -> int:
    """An empty slot if forced and there is one, else the emptiest upstream slot with room, else
    the fullest other slot in use with room, else the emptiest."""
    emptiest = int(held.argmin())
    if force_empty and held[emptiest] == 0:
        return emptiest
    beside = near[held[near] < most]
    if len(beside):
        return int(beside[held[beside].argmin()])
    fullest = int(np.where(held < most, held, 0).argmax())
    return fullest if 0 < held[fullest] < most else emptiest


def _dense(worker_of: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.unique(worker_of, return_inverse=True)[1].astype(np.int64)
