"""Books of executors, slots and workers on bare arrays, for the inner loops (compiled by numba).

``moves`` keeps the same books on ``Live``; there each access inside a loop counts references, which
costs more than the step itself.
"""

import numba
import numpy as np

MANY = 2**40
"""Executors that one worker surely holds: more than there are."""


@numba.njit(cache=True, nogil=True)
def book(crowd, slots_free, workers_left, per_worker, t, n, executors):  # type: ignore[no-untyped-def]
    """So many more (or less) executors of topology t on node n. The caller looks at whether slots
    and workers are still there, and books back if not."""
    before = np.int64(crowd[t, n])
    after = before + executors
    crowd[t, n] = after
    most = per_worker[t]
    if most >= MANY:
        need = np.int64(after > 0) - np.int64(before > 0)
    else:
        need = (after + most - 1) // most - (before + most - 1) // most
    slots_free[n] -= need
    workers_left[t] -= need


@numba.njit(cache=True, nogil=True)
def edge_between(indptr, indices, weight, u, v):  # type: ignore[no-untyped-def]
    """The traffic between two units; neighbours are sorted, so it is found by bisection."""
    if indptr[u + 1] - indptr[u] > indptr[v + 1] - indptr[v]:
        u, v = v, u
    low, high = indptr[u], indptr[u + 1]
    end = high
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < v:
            low = middle + 1
        else:
            high = middle
    return weight[low] if low < end and indices[low] == v else 0.0
