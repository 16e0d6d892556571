"""The graph between some of the vertices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brain.model import CommGraph


def subgraph(graph: CommGraph, members: NDArray[np.int64]) -> CommGraph:
    """Vertex i of the result is ``members[i]``; edges to anybody else are dropped."""
    if len(members) == len(graph) and bool((members == np.arange(len(graph))).all()):
        return graph
    index = np.full(len(graph), -1, dtype=np.int64)
    index[members] = np.arange(len(members))
    begin, length = graph.indptr[members], np.diff(graph.indptr)[members]
    total = int(length.sum())
    # Positions begin[i] … begin[i] + length[i] - 1 for all members, one after the other.
    edges = np.repeat(begin - np.concatenate(([0], np.cumsum(length)[:-1])), length)
    edges += np.arange(total)
    source = np.repeat(np.arange(len(members)), length)
    target = index[graph.indices[edges]]
    inside = target >= 0
    return CommGraph.from_edges(
        len(members),
        source[inside],
        target[inside],
        graph.tuples[edges][inside],
        graph.weight[edges][inside],
    )
