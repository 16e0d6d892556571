"""Measures how long the exact solver takes on this machine, smallest problems first."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from brain.algorithms import exact
from brain.calibration.table import Family, Row, Table
from brain.model import CommGraph, Options, Problem
from brain.problems.clusters import cluster
from brain.problems.micro import LAYOUTS, micro

SIZES: dict[Family, tuple[int, ...]] = {
    "alike": (10, 16, 24, 32, 48, 64, 80),
    "measured": (10, 12, 14, 16, 18, 20, 24),
}


def measure(most_seconds: float = 2.0) -> Table:
    """Solves micro-benchmarks of growing size; a family ends where one takes ``most_seconds``."""
    return Table(alike=_rows("alike", most_seconds), measured=_rows("measured", most_seconds))


def _rows(family: Family, most_seconds: float) -> tuple[Row, ...]:
    rows: list[Row] = []
    for tasks in SIZES[family]:
        slowest = max(_seconds(layout, tasks, family, most_seconds) for layout in LAYOUTS)
        if slowest >= most_seconds:
            break
        rows.append((tasks, round(slowest, 4)))
    return tuple(rows)


def _seconds(layout: str, tasks: int, family: Family, most_seconds: float) -> float:
    """Seconds to a proven optimum; infinite where there was none in time."""
    problem = micro(layout, tasks, cluster(_nodes_for(tasks)))
    if family == "measured":
        problem = _with_own_rates(problem)
    begin = time.perf_counter()
    result = exact.solve(problem, None, Options(theta=most_seconds))
    return time.perf_counter() - begin if result.proven_optimal else float("inf")


def _nodes_for(tasks: int) -> str:
    """The paper's heterogeneous cluster, grown with the tasks (32 tasks: 3x6 3x4 4x2)."""
    three, four = -(-3 * tasks // 32), -(-4 * tasks // 32)
    return f"{three}x6 {three}x4 {four}x2"


def _with_own_rates(problem: Problem) -> Problem:
    graph = problem.graph
    rates = np.random.default_rng(0).uniform(0.5, 1.5, graph.edges)
    return replace(
        problem, graph=CommGraph.from_edges(len(problem), graph.sources, graph.indices, rates)
    )
