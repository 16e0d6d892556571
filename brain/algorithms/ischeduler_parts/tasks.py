"""GRAPH_PARTITION of I-Scheduler: parts of at most c tasks, full ones first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.parts.shuffle import shuffled_partition
from brain.model import CommGraph

TRIES = 4
"""METIS runs to choose the best from, while they cost next to nothing."""
SMALL = 2000


def partition_tasks(
    symmetric: CommGraph, parts: int, capacity: int, load: NDArray[np.float64], seed: int
) -> NDArray[np.int32]:
    """K-way partitioning into parts of roughly ``capacity`` tasks (line 36).

    All parts but the last aim at a full node; the last gets what is left. METIS keeps sizes only
    roughly, so tasks then leave parts that are too big, each time the one that is missed least. Of
    a few such partitions the one with the smallest cut is taken.
    """
    n = len(symmetric)
    target = np.full(parts, float(capacity))
    target[-1] = max(n - capacity * (parts - 1), 1)
    best, least = np.zeros(n, dtype=np.int32), np.inf
    for attempt in range(TRIES if n <= SMALL else 1):
        part = shuffled_partition(
            symmetric, parts, load, target=target, imbalance=1.001, seed=seed + attempt
        )
        _level(symmetric, part, parts, capacity)
        cut = symmetric.crossing(part)
        if cut < least:
            best, least = part, cut
    return best


def _level(symmetric: CommGraph, part: NDArray[np.int32], parts: int, capacity: int) -> None:
    """Moves tasks out of parts above ``capacity`` tasks; k · capacity ≥ t, so there is room."""
    size = np.bincount(part, minlength=parts)
    while (size > capacity).any():
        full = int(size.argmax())
        room = np.flatnonzero(size < capacity)
        best = (np.inf, -1, -1)
        for task in np.flatnonzero(part == full).tolist():
            span = slice(int(symmetric.indptr[task]), int(symmetric.indptr[task + 1]))
            tied = np.bincount(part[symmetric.indices[span]], symmetric.weight[span], parts)
            to = int(room[tied[room].argmax()])
            best = min(best, (float(tied[full] - tied[to]), task, to))
        _, task, to = best
        part[task] = to
        size[full] -= 1
        size[to] += 1


def heaviest_first(symmetric: CommGraph, part: NDArray[np.int32], parts: int) -> NDArray[np.int64]:
    """The parts in the order in which they are fused: those that keep most traffic inside."""
    inside = part[symmetric.sources] == part[symmetric.indices]
    kept = np.bincount(part[symmetric.sources[inside]], symmetric.weight[inside], parts)
    size = np.bincount(part, minlength=parts)
    return np.lexsort((np.arange(parts), -size, -np.round(kept, 9)))
