"""Measured rates laid over a placement: what flows, and how much of it crosses nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brain.monitor.snapshot import TopologyView
from brain.monitor.traffic import Rates

NOWHERE = -1


@dataclass(frozen=True)
class Flow:
    """Sums a second of a topology. ``latency_ms`` is NaN where spouts measured none."""

    seconds: float
    bytes: float
    inter_node_bytes: float
    tuples: float
    inter_node_tuples: float
    acked: float
    failed: float
    latency_ms: float
    cpu_points: float


@dataclass(frozen=True)
class ExecutorEdges:
    """Edges between executors (by their order in the view), the heaviest first."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    tuples: NDArray[np.float64]
    bytes: NDArray[np.float64]
    system: NDArray[np.bool_]
    left_out: int


def flow_of(view: TopologyView, rates: Rates) -> Flow:
    """``tuples`` are the topology's own; bytes are of all streams, since all of them cost."""
    executor = view.task_rows
    node = _nodes(view)
    source, target = _rows(executor, rates.source), _rows(executor, rates.target)
    known = (source != NOWHERE) & (target != NOWHERE)
    crossing = np.zeros(len(source), dtype=bool)
    crossing[known] = node[source[known]] != node[target[known]]
    own = ~rates.system
    timed = ~np.isnan(rates.complete_ms) & (rates.acked > 0)
    latency = float("nan")
    if timed.any():
        latency = float(np.average(rates.complete_ms[timed], weights=rates.acked[timed]))
    return Flow(
        seconds=rates.seconds,
        bytes=float(rates.bytes.sum()),
        inter_node_bytes=float(rates.bytes[crossing].sum()),
        tuples=float(rates.tuples[own].sum()),
        inter_node_tuples=float(rates.tuples[own & crossing].sum()),
        acked=float(rates.acked[~np.isnan(rates.complete_ms)].sum()),
        failed=float(rates.failed.sum()),
        latency_ms=latency,
        cpu_points=float(rates.cpu_points.sum()),
    )


def executor_edges(view: TopologyView, rates: Rates, limit: int) -> ExecutorEdges:
    executor = view.task_rows
    source, target = _rows(executor, rates.source), _rows(executor, rates.target)
    known = (source != NOWHERE) & (target != NOWHERE) & (source != target)
    n = len(view.executors)
    key = ((source[known] * n) + target[known]) * 2 + rates.system[known]
    unique, at = np.unique(key, return_inverse=True)
    tuples = np.bincount(at, weights=rates.tuples[known], minlength=len(unique))
    size = np.bincount(at, weights=rates.bytes[known], minlength=len(unique))
    weight = size if size.any() else tuples
    order = np.argsort(-weight, kind="stable")[:limit]
    pair = unique[order] // 2
    return ExecutorEdges(
        source=pair // max(n, 1),
        target=pair % max(n, 1),
        tuples=tuples[order].astype(np.float64),
        bytes=size[order].astype(np.float64),
        system=(unique[order] % 2).astype(bool),
        left_out=len(unique) - len(order),
    )


def cpu_by_executor(view: TopologyView, rates: Rates) -> NDArray[np.float64]:
    """Measured CPU points of each executor, in the view's order."""
    rows = _rows(view.task_rows, rates.task)
    known = rows != NOWHERE
    return np.bincount(
        rows[known], weights=rates.cpu_points[known], minlength=len(view.executors)
    ).astype(np.float64)


def _nodes(view: TopologyView) -> NDArray[np.int64]:
    """A number for the node of each executor; unassigned ones are each apart."""
    numbers: dict[str, int] = {}
    nodes = []
    for row, executor in enumerate(view.executors):
        slot = view.assignment.get(executor)
        known = len(numbers)
        nodes.append(-2 - row if slot is None else numbers.setdefault(slot[0], known))
    return np.array(nodes, dtype=np.int64)


def _rows(executor: NDArray[np.int64], tasks: NDArray[np.int32]) -> NDArray[np.int64]:
    inside = (tasks >= 0) & (tasks < len(executor))
    rows = np.full(len(tasks), NOWHERE, dtype=np.int64)
    rows[inside] = executor[tasks[inside]]
    return rows
