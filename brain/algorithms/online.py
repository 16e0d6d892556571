"""The online, traffic-based scheduler (Aniello, Baldoni & Querzoni 2013, section 3.2, Algorithm 1).

First phase, for each topology t_i: executor pairs by descending rate R_{i,j,k}. If neither is
assigned, both go to the least loaded worker w*; else the best of at most 9 assignments of the two
to Π = {workers of either, w*} by inter-worker traffic. Second phase: the same with pairs of workers
by descending traffic γ, the least loaded node n*, and Ξ = {nodes of either, n*} by inter-node
traffic.

Loads L_{i,j} are CPU points, 100 a core, in place of Hz: points × clock / 100 are the paper's Hz,
and a node's B_i is its CPU capacity; with a conf of Hz on both sides nothing changes.
The corner cases that the paper leaves open:
  - A slot takes at most M(α) executors (section 3), a node its B_i and its slots; an assignment
    that overruns one of these is no candidate. If w* is full, the least loaded worker with room is
    taken.
  - Executors in no pair, and Storm's own (``__acker`` and the like, which the authors' code did not
    register), are dealt evenly over the workers, as Fischer & Bernstein did (2015, IV.B.2).
  - Among equal assignments the first wins, and those that keep what is come first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.offline import most_per_slot, worker_count
from brain.algorithms.online_phase import Bins, assign_pairs
from brain.algorithms.parts.finish import finish
from brain.algorithms.parts.slots import slots_on_nodes
from brain.algorithms.parts.subgraph import subgraph
from brain.algorithms.parts.workspace import Workspace
from brain.model import UNPLACED, CommGraph, Options, Placement, Problem, Result

ALPHA = 0.0


def solve(problem: Problem, current: Placement | None, options: Options) -> Result:
    """Parameters: ``alpha`` in [0, 1]; ``system`` (even, traffic): how Storm's own executors go."""
    work = Workspace(problem, current, options)
    alpha = work.number("alpha", ALPHA, 0.0, 1.0)
    worker_of = np.full(len(problem), UNPLACED, dtype=np.int64)
    topology_of_worker: list[int] = []
    for t, topology in enumerate(problem.topologies):
        if topology.frozen or len(topology) == 0:
            continue
        own = _first_phase(work, t, alpha)
        used, dense = np.unique(own, return_inverse=True)
        worker_of[problem.executors_of(t)] = dense + len(topology_of_worker)
        topology_of_worker += [t] * len(used)
    node_of_worker = _second_phase(work, worker_of, len(topology_of_worker))
    slots = slots_on_nodes(work, worker_of, node_of_worker)
    return finish(work, "online", slots.nodes(problem.slots), slots=slots)


def _first_phase(work: Workspace, t: int, alpha: float) -> NDArray[np.int64]:
    """A₁: executors of a topology to its workers."""
    topology, own = work.problem.topologies[t], work.problem.executors_of(t)
    executors = np.arange(own.start, own.stop)
    workers = worker_count(work, t)
    most = most_per_slot(len(topology), workers, alpha)
    if topology.max_executors_per_worker is not None:
        most = min(most, max(topology.max_executors_per_worker, -(-len(topology) // workers)))
    graph = subgraph(work.graph.symmetric, executors)
    # Storm's own executors are not registered for measurement unless one asks for it.
    registered = np.ones(len(topology), dtype=bool)
    if work.choice("system", "even", ("even", "traffic")) == "even":
        registered = ~topology.system
    bins = Bins(
        load=topology.cpu if topology.cpu.sum() > 0 else np.ones(len(topology)),
        capacity=np.full(workers, np.inf),
        room=np.full(workers, most, dtype=np.int64),
    )
    assign_pairs(graph, bins, registered)
    for e in np.flatnonzero(bins.of == UNPLACED):
        # Even means by number: the slot with the fewest executors, whatever their load.
        bins.put(int(e), int(np.lexsort((np.arange(workers), bins.used))[0]))
    return bins.of


def _second_phase(work: Workspace, worker_of: NDArray[np.int64], workers: int) -> list[int]:
    """A₂: workers of all topologies to nodes, each worker taking one slot."""
    problem, limits = work.problem, work.limits
    placed = worker_of != UNPLACED
    graph = _worker_graph(work, worker_of, workers)
    load = np.bincount(worker_of[placed], problem.cpu[placed], workers).astype(float)
    if load.sum() <= 0:
        load = np.bincount(worker_of[placed], minlength=workers).astype(float)
    bins = Bins(
        load=load,
        capacity=np.where(limits.usable, limits.cpu_free, 0.0)
        if problem.cpu.sum() > 0
        else np.full(len(limits.usable), np.inf),
        room=np.where(limits.usable, limits.slots_free, 0),
    )
    if not limits.usable.any():
        return [UNPLACED] * workers
    assign_pairs(graph, bins, np.ones(workers, dtype=bool))
    for w in np.argsort(-load, kind="stable"):
        if bins.of[w] == UNPLACED:
            n = bins.least_loaded(int(w))
            if n != UNPLACED:
                bins.put(int(w), n)
    return [int(n) for n in bins.of]


def _worker_graph(work: Workspace, worker_of: NDArray[np.int64], workers: int) -> CommGraph:
    """γ: the traffic between workers, the same both ways."""
    graph = work.graph.symmetric
    source, target = worker_of[graph.sources], worker_of[graph.indices]
    inside = (source != UNPLACED) & (target != UNPLACED)
    return CommGraph.from_edges(
        workers, source[inside], target[inside], graph.tuples[inside], graph.weight[inside]
    )
