"""The cost space over the nodes of a problem, as arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.parts.workspace import Workspace
from brain.model import UNPLACED
from brain.qos.vivaldi import Coordinate, embed

SAME_RACK = 0.5
MOST_EMBEDDED = 300
"""Nodes up to which coordinates are computed; beyond, virtual places are not used."""
FULLEST = 2.0


class Field:
    """``latency`` is n × n and relative to the largest; ``load`` the utilisation without ours."""

    def __init__(self, work: Workspace) -> None:
        problem = work.problem
        self.work = work
        self.units = work.units
        self.measured = problem.latency_ms is not None
        self.latency = _relative_latency(work)
        # Where nothing is pinned, a node with others near it is the better one to begin with.
        nearest = np.sort(self.latency, axis=1)[:, 1:3]
        self.remote = nearest.mean(axis=1) if nearest.shape[1] else np.zeros(len(nearest))
        self.w_latency, self.w_load, self.w_available = (
            work.number(f"w_{name}", default, 0.0, 1e9)
            for name, default in (("latency", 2.0), ("utilisation", 1.0), ("availability", 1.0))
        )
        capacity = problem.cpu_capacity
        self.capacity = np.where(np.isfinite(capacity) & (capacity > 0), capacity, np.inf)
        background = np.array([n.utilisation for n in problem.nodes], dtype=float)
        frozen = ~work.limits.movable & (work.current_node != UNPLACED)
        others = np.bincount(
            work.current_node[frozen], problem.cpu[frozen], len(problem.nodes)
        ).astype(float)
        self.load = background + others / self.capacity
        self.unavailable = 1.0 - np.array([n.availability for n in problem.nodes], dtype=float)
        graph = self.units.graph
        spoken = int((np.diff(graph.indptr) > 0).sum())
        self.mean_rate = float(graph.weight.sum()) / spoken if spoken else 1.0
        self.rate = graph.weight / max(self.mean_rate, 1e-300)
        self.share = self.units.cpu

    def peers(self, unit: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Who a unit talks to, and how much in units of the mean."""
        graph = self.units.graph
        span = slice(int(graph.indptr[unit]), int(graph.indptr[unit + 1]))
        return graph.indices[span], self.rate[span]

    def pull(self, unit: int, node: NDArray[np.int32]) -> NDArray[np.float64]:
        """The latency cost of a unit on each node, by where its placed neighbours are."""
        peers, rate = self.peers(unit)
        where = node[peers]
        placed = where != UNPLACED
        if not placed.any():
            return np.zeros(len(self.load))
        return np.asarray(self.w_latency * self.latency[:, where[placed]] @ rate[placed])

    def node_cost(
        self, executors: NDArray[np.float64], points: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """What executors pay for their nodes: for how full these are, and how flaky."""
        full = np.clip(self.load + points / self.capacity, 0.0, FULLEST)
        return executors * (self.w_load * full**2 + self.w_available * self.unavailable)

    def cost(self, node: NDArray[np.int32]) -> float:
        """Φ of a placement of units; what is not placed is as far as anything."""
        graph = self.units.graph
        a, b = node[graph.sources], node[graph.indices]
        known = (a != UNPLACED) & (b != UNPLACED)
        apart = np.ones(len(a))
        apart[known] = self.latency[a[known], b[known]]
        placed = node != UNPLACED
        nodes = len(self.load)
        executors = np.bincount(node[placed], self.units.size[placed], nodes).astype(float)
        points = np.bincount(node[placed], self.share[placed], nodes).astype(float)
        talk = 0.5 * self.w_latency * float((self.rate * apart).sum())
        return talk + float(self.node_cost(executors, points).sum())

    def coordinates(self) -> list[Coordinate] | None:
        """The nodes' places, in shares of the largest latency; None where that is too dear."""
        if len(self.load) > MOST_EMBEDDED:
            return None
        return embed((self.latency * 100.0).tolist(), seed=self.work.options.seed)


def _relative_latency(work: Workspace) -> NDArray[np.float64]:
    problem = work.problem
    count = len(problem.nodes)
    if problem.latency_ms is not None:
        matrix = np.array(problem.latency_ms, dtype=float)
    else:
        racks = [n.rack for n in problem.nodes]
        matrix = np.ones((count, count))
        for i, rack in enumerate(racks):
            if rack is not None:
                matrix[i, [j for j, other in enumerate(racks) if other == rack]] = SAME_RACK
    np.fill_diagonal(matrix, 0.0)
    matrix = (matrix + matrix.T) / 2.0
    largest = float(matrix.max(initial=0.0))
    return np.asarray(matrix / largest if largest > 0 else matrix)
