"""A graph for topologies that have no traffic yet: their streams, at unit rates."""

from __future__ import annotations

import numpy as np

from brain.algorithms.parts.limits import members_of
from brain.model import CommGraph, Problem


def planning_graph(problem: Problem) -> CommGraph:
    """The measured traffic; a topology without any gets its streams at unit rates instead.

    Every source executor is taken to emit one tuple a second on each stream: shared evenly by the
    target's executors, whole to each of them under ``all``, whole to the first under ``global``.
    """
    spoken = np.zeros(len(problem.topologies), dtype=bool)
    graph = problem.graph
    spoken[problem.topology_of[graph.sources[graph.weight > 0]]] = True
    source: list[np.ndarray] = []
    target: list[np.ndarray] = []
    rate: list[np.ndarray] = []
    for t, topology in enumerate(problem.topologies):
        if spoken[t]:
            continue
        for from_component, to_component, grouping in topology.streams:
            senders = members_of(problem, t, topology, from_component)
            receivers = members_of(problem, t, topology, to_component)
            if grouping == "global":
                receivers = receivers[:1]
            if len(senders) == 0 or len(receivers) == 0:
                continue
            each = 1.0 if grouping in ("all", "global") else 1.0 / len(receivers)
            source.append(np.repeat(senders, len(receivers)))
            target.append(np.tile(receivers, len(senders)))
            rate.append(np.full(len(senders) * len(receivers), each))
    if not source:
        return graph
    return CommGraph.from_edges(
        len(problem),
        np.concatenate([graph.sources, *source]),
        np.concatenate([graph.indices, *target]),
        np.concatenate([graph.tuples, *rate]),
        np.concatenate([graph.weight, *rate]),
    )
