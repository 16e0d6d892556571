"""METIS from many starting points: its own seed changes little, a shuffled graph much.

With few vertices per part METIS hardly coarsens, and ``seed`` then has no effect at all (and 0 and
1 are the same seed in the C library). Renumbering the vertices gives a different answer each time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.parts.partition import Objective, partition
from brain.model import CommGraph


def shuffled_partition(
    symmetric: CommGraph,
    parts: int,
    vertex_weight: NDArray[np.float64],
    *,
    target: NDArray[np.float64] | None = None,
    objective: Objective = "cut",
    imbalance: float = 1.03,
    seed: int = 0,
    recursive: bool = False,
) -> NDArray[np.int32]:
    """``partition`` on a renumbered graph; seed 0 leaves it as it is."""
    if seed == 0:
        return partition(
            symmetric,
            parts,
            vertex_weight,
            target=target,
            objective=objective,
            imbalance=imbalance,
            recursive=recursive,
        )
    order = np.random.default_rng(seed).permutation(len(symmetric))
    part = partition(
        renumbered(symmetric, order),
        parts,
        vertex_weight[order],
        target=target,
        objective=objective,
        imbalance=imbalance,
        seed=seed,
        recursive=recursive,
    )
    result = np.empty_like(part)
    result[order] = part
    return result


def renumbered(graph: CommGraph, order: NDArray[np.int64]) -> CommGraph:
    """Vertex i of the result is vertex ``order[i]`` of the graph."""
    length = np.diff(graph.indptr)[order]
    indptr = np.concatenate(([0], np.cumsum(length)))
    edges = np.repeat(graph.indptr[order] - indptr[:-1], length) + np.arange(int(indptr[-1]))
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return CommGraph(
        indptr=indptr.astype(np.int64),
        indices=place[graph.indices[edges]],
        tuples=graph.tuples[edges],
        weight=graph.weight[edges],
    )
