"""Cuts the executors of a node into workers of limited size, keeping talkers together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.parts.partition import partition
from brain.algorithms.parts.subgraph import subgraph
from brain.model import CommGraph


def split(
    symmetric: CommGraph, members: NDArray[np.int64], workers: int, seed: int = 0
) -> list[NDArray[np.int64]]:
    """Cuts into at most ``workers`` workers of at most ⌈members / workers⌉ executors each.

    I-Scheduler's second level (Eskandari 2020, Algorithm 1, lines 55-62): k-way partitioning of
    the node's sub-graph; parts that METIS makes too large give up whom they miss least.
    """
    if workers <= 1:
        return [members]
    room = -(-len(members) // workers)
    local = subgraph(symmetric, members)
    part = partition(local, workers, np.ones(len(members)), seed=seed, recursive=True)
    _level(local, part, workers, room)
    return [members[part == p] for p in range(workers) if (part == p).any()]


def _level(local: CommGraph, part: NDArray[np.int32], parts: int, room: int) -> None:
    """Moves executors out of parts above ``room``, each time the one whose move costs least."""
    size = np.bincount(part, minlength=parts)
    while (size > room).any():
        full = int(size.argmax())
        open_parts = np.flatnonzero(size < room)
        best: tuple[float, int, int] | None = None
        for e in (int(x) for x in np.flatnonzero(part == full)):
            span = slice(int(local.indptr[e]), int(local.indptr[e + 1]))
            tied = np.bincount(part[local.indices[span]], local.weight[span], parts)
            to = int(open_parts[tied[open_parts].argmax()])
            loss = float(tied[full] - tied[to])
            if best is None or loss < best[0]:
                best = (loss, e, to)
        assert best is not None  # room * parts >= executors, so some part is open
        _, e, to = best
        part[e] = to
        size[full] -= 1
        size[to] += 1
