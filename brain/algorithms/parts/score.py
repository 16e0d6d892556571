"""The score of a placement, in numpy. The verifier recomputes it without this file."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brain.model import UNPLACED, Placement, Problem, Score


def score(problem: Problem, placement: Placement, current: Placement | None = None) -> Score:
    """Costs of a placement, and what it disturbs when ``current`` is what runs now.

    What an unplaced executor says or hears counts as crossing nodes, so that leaving an executor
    out never looks like a gain.
    """
    slot = placement.slot
    node = placement.nodes(problem.slots)
    graph = problem.graph
    source, target = graph.sources, graph.indices
    apart = (node[source] != node[target]) | (node[source] == UNPLACED)
    inter_node = float(graph.weight[apart].sum())
    inter_worker = float(graph.weight[~apart & (slot[source] != slot[target])].sum())
    moved, restarted = disturbance(placement, current)
    return Score(
        inter_node,
        inter_worker,
        imbalance(problem, node),
        moved,
        restarted,
        _latency_ms(problem, node),
    )


def _latency_ms(problem: Problem, node: NDArray[np.int32]) -> float | None:
    """Over all tuples, those that stay on their node too; to nowhere is as far as it gets."""
    if problem.latency_ms is None:
        return None
    graph = problem.graph
    total = float(graph.tuples.sum())
    if total <= 0:
        return 0.0
    source, target = node[graph.sources], node[graph.indices]
    away = np.full(len(source), float(problem.latency_ms.max(initial=0.0)))
    known = (source != UNPLACED) & (target != UNPLACED)
    away[known] = problem.latency_ms[source[known], target[known]]
    return float((graph.tuples * away).sum()) / total


WORKER_WEIGHT = 0.1
"""What crosses workers of one node is serialised, but sees no network: a tenth of the cost."""


def cost(score: Score, move_cost: float = 0.0, restart_cost: float = 0.0) -> float:
    """One number to compare placements by; moves and restarts at their price in bytes a second."""
    return (
        score.inter_node
        + WORKER_WEIGHT * score.inter_worker
        + move_cost * score.moved_executors
        + restart_cost * score.restarted_workers
    )


def disturbance(placement: Placement, current: Placement | None) -> tuple[int, int]:
    """Executors that change their slot, and workers that start with a new set of executors."""
    if current is None:
        return 0, 0
    new, old = placement.slot, current.slot
    changed = new != old
    moved = int(np.count_nonzero(changed & (old != UNPLACED)))
    # A worker's set changes exactly when somebody arrives or leaves.
    touched = np.union1d(new[changed], old[changed])
    restarted = np.intersect1d(touched, new[new != UNPLACED])
    return moved, len(restarted)


def imbalance(problem: Problem, node: NDArray[np.int32]) -> float:
    """The fullest node's share of the load over its share of the capacity.

    The load is CPU where any is asked for, else the number of executors. Nodes weigh by their CPU
    capacity if all of the usable ones have a limit, else alike; so does a node without capacity.
    """
    placed = node != UNPLACED
    demand = problem.cpu if problem.cpu.sum() > 0 else np.ones(len(problem))
    load = np.bincount(node[placed], weights=demand[placed], minlength=len(problem.nodes))
    usable = np.array([bool(n.slots) and not n.excluded for n in problem.nodes], dtype=bool)
    total = float(load.sum())
    if total <= 0 or not usable.any():
        return 1.0
    even = 1.0 / int(usable.sum())
    share = np.full(len(problem.nodes), even)
    capacity = np.where(usable, problem.cpu_capacity, 0.0)
    if np.isfinite(capacity).all() and capacity.sum() > 0:
        share = np.where(capacity > 0, capacity / capacity.sum(), even)
    return float((load / total / share).max())
