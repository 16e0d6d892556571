"""One phase of Aniello's online scheduler: pairs by descending traffic into bins.

Both phases are the same: executors into workers, then workers into nodes. Compiled, since a
topology of a thousand executors has tens of thousands of pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from brain.model import UNPLACED, CommGraph


@dataclass
class Bins:
    """Items with a load in bins with a capacity (B_i) and room for so many items."""

    load: NDArray[np.float64]
    capacity: NDArray[np.float64]
    room: NDArray[np.int64]
    of: NDArray[np.int64] = field(init=False)
    loaded: NDArray[np.float64] = field(init=False)
    used: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.of = np.full(len(self.load), UNPLACED, dtype=np.int64)
        self.loaded = np.zeros(len(self.capacity))
        self.used = np.zeros(len(self.capacity), dtype=np.int64)

    def put(self, item: int, bin_: int) -> None:
        self.of[item] = bin_
        self.loaded[bin_] += self.load[item]
        self.used[bin_] += 1

    def least_loaded(self, item: int) -> int:
        """The least loaded bin that can take an item, or UNPLACED."""
        return int(
            _least_loaded(self.load[item], 1, self.capacity, self.room, self.loaded, self.used)
        )


def assign_pairs(graph: CommGraph, bins: Bins, registered: NDArray[np.bool_]) -> None:
    """Goes through the pairs of a symmetric graph; items in no pair stay unassigned."""
    keep = (graph.sources < graph.indices) & (graph.weight > 0)
    keep &= registered[graph.sources] & registered[graph.indices]
    source, target, rate = graph.sources[keep], graph.indices[keep], graph.weight[keep]
    order = np.lexsort((target, source, -rate))
    _assign(
        graph.indptr,
        graph.indices,
        graph.weight,
        source[order],
        target[order],
        rate[order],
        bins.load,
        bins.capacity,
        bins.room,
        bins.of,
        bins.loaded,
        bins.used,
    )


_compiled: Any = numba.njit(cache=True)


@_compiled
def _least_loaded(load, items, capacity, room, loaded, used):  # type: ignore[no-untyped-def]
    """w* or n*; bins of equal load, such as those without any, fill by number of items."""
    best = -1
    for b in range(len(capacity)):
        if used[b] + items > room[b] or loaded[b] + load > capacity[b]:
            continue
        if best < 0 or (loaded[b], used[b]) < (loaded[best], used[best]):
            best = b
    return best


@_compiled
def _tied(indptr, indices, weight, of, item, bin_):  # type: ignore[no-untyped-def]
    """The traffic of an item with what a bin holds."""
    total = 0.0
    for i in range(indptr[item], indptr[item + 1]):
        if of[indices[i]] == bin_:
            total += weight[i]
    return total


@_compiled
def _assign(  # type: ignore[no-untyped-def]
    indptr, indices, weight, source, target, rate, load, capacity, room, of, loaded, used
):
    options = np.empty(3, dtype=np.int64)
    ties_j = np.empty(3)
    ties_k = np.empty(3)
    for p in range(len(source)):
        j, k = source[p], target[p]
        old_j, old_k = of[j], of[k]
        for item, old in ((j, old_j), (k, old_k)):
            if old >= 0:
                loaded[old] -= load[item]
                used[old] -= 1
                of[item] = -1
        star = _least_loaded(load[j] + load[k], 2, capacity, room, loaded, used)
        if star < 0:
            star = _least_loaded(load[j], 1, capacity, room, loaded, used)
        new_j, new_k = old_j, old_k
        if old_j < 0 and old_k < 0:
            new_j, new_k = star, star
        else:
            # Π = {bin of j, bin of k, w*}: at most 9 assignments of the two.
            count = 0
            for b in (old_j, old_k, star):
                if (
                    b >= 0
                    and not (count > 0 and options[0] == b)
                    and not (count > 1 and options[1] == b)
                ):
                    options[count] = b
                    ties_j[count] = _tied(indptr, indices, weight, of, j, b)
                    ties_k[count] = _tied(indptr, indices, weight, of, k, b)
                    count += 1
            best = -1.0
            for x in range(count):
                a = options[x]
                if used[a] + 1 > room[a] or loaded[a] + load[j] > capacity[a]:
                    continue
                for y in range(count):
                    b = options[y]
                    items = 2 if a == b else 1
                    more = load[j] + load[k] if a == b else load[k]
                    if used[b] + items > room[b] or loaded[b] + more > capacity[b]:
                        continue
                    # Most traffic kept inside is least between bins; the first of equals stays.
                    kept = ties_j[x] + ties_k[y] + (rate[p] if a == b else 0.0)
                    if kept > best:
                        best = kept
                        new_j, new_k = a, b
        for item, new in ((j, new_j), (k, new_k)):
            if new < 0 or used[new] + 1 > room[new] or loaded[new] + load[item] > capacity[new]:
                new = _least_loaded(load[item], 1, capacity, room, loaded, used)
            if new >= 0:
                loaded[new] += load[item]
                used[new] += 1
                of[item] = new
