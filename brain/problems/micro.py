"""I-Scheduler's micro-benchmarks: linear, diamond and star (Eskandari et al. 2020, section 5).

Every task loads its node by 1 (100 CPU points), every two tasks of connected operators exchange
1 unit a second. The paper runs 10, 12, … 32 tasks on the clusters of ``clusters.NAMED``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from brain.errors import BadInput
from brain.model import Node, Problem
from brain.problems.build import TopologyBuilder
from brain.problems.clusters import TASK_CPU

LAYOUTS = ("linear", "diamond", "star")
PAPER_TASKS = tuple(range(10, 33, 2))
_SMALLEST = {"linear": 4, "diamond": 10, "star": 8}
_MOST_TASKS = 100_000


def micro(layout: str, tasks: int, nodes: Sequence[Node]) -> Problem:
    """A micro-benchmark of so many tasks on given nodes."""
    if layout not in LAYOUTS:
        raise BadInput("layout", f"must be one of {', '.join(LAYOUTS)}, not {layout!r}")
    if tasks < _SMALLEST[layout] or tasks % 2 or tasks > _MOST_TASKS:
        raise BadInput("tasks", f"{layout} needs an even number from {_SMALLEST[layout]} up")
    build = TopologyBuilder(f"{layout}-{tasks}")
    {"linear": _linear, "diamond": _diamond, "star": _star}[layout](build, tasks)
    return build.problem(nodes, np.full(tasks, TASK_CPU))


def _connect(build: TopologyBuilder, source: str, target: str) -> None:
    shape = len(build.executors(source)), len(build.executors(target))
    build.stream(source, target, "shuffle", np.ones(shape))


def _linear(build: TopologyBuilder, tasks: int) -> None:
    """Operators in sequence, two tasks each."""
    operators = tasks // 2
    names = [f"op{i}" for i in range(1, operators - 1)]
    chain = [build.component(name, 2) for name in ("source", *names, "sink")]
    for source, target in pairwise(chain):
        _connect(build, source, target)


def _diamond(build: TopologyBuilder, tasks: int) -> None:
    """One source and one sink of four tasks, operators of two tasks in between."""
    source = build.component("source", 4)
    middle = [build.component(f"op{i + 1}", 2) for i in range((tasks - 8) // 2)]
    sink = build.component("sink", 4)
    for operator in middle:
        _connect(build, source, operator)
        _connect(build, operator, sink)


def _star(build: TopologyBuilder, tasks: int) -> None:
    """Sources and sinks of two tasks, added in turn, around one operator of four tasks."""
    outer = (tasks - 4) // 2
    sources = [build.component(f"source{i + 1}", 2) for i in range((outer + 1) // 2)]
    centre = build.component("centre", 4)
    sinks = [build.component(f"sink{i + 1}", 2) for i in range(outer // 2)]
    for source in sources:
        _connect(build, source, centre)
    for sink in sinks:
        _connect(build, centre, sink)
