"""Descent and annealing over moves and swaps (compiled by numba)."""

import math

import numba
import numpy as np

from brain.algorithms.localsearch_parts.moves import (
    NOWHERE,
    random_below,
    random_unit,
    swap_change,
    tie,
    try_move,
    try_swap,
)

EPSILON = 1e-9
"""A gain below this share of the heaviest edge is float noise."""


@numba.njit(cache=True, nogil=True)
def descend(net, live, order, noise, swaps):  # type: ignore[no-untyped-def]
    """One pass: each unit in ``order`` takes its best improving move, else its best swap.

    Returns the change of cost; a pass that returns 0 has found a local optimum.
    """
    total = 0.0
    nodes = live.head.shape[0]
    tied = np.zeros(nodes)
    candidates = np.empty(nodes, dtype=np.int64)
    for u in order:
        a = np.int64(live.node[u])
        if a == NOWHERE:
            continue
        found = 0
        for i in range(net.indptr[u], net.indptr[u + 1]):
            n = np.int64(live.node[net.indices[i]])
            if n == NOWHERE:
                continue
            if tied[n] == 0.0 and n != a:
                candidates[found] = n
                found += 1
            tied[n] += net.weight[i]
        if net.home[u] != NOWHERE and net.home[u] != a and tied[net.home[u]] == 0.0:
            candidates[found] = np.int64(net.home[u])
            found += 1
        best_first = candidates[:found]
        # The best nodes first: the first feasible improvement is then the best move.
        ranked = best_first[np.argsort(-tied[best_first])]
        done = 0.0
        for n in ranked:
            if tied[n] <= tied[a] and net.price[0] == 0.0 and net.price[1] == 0.0:
                break
            change = try_move(net, live, u, n, -noise)
            if change < 0.0:
                done = change
                break
        if done == 0.0 and swaps:
            done = _best_swap(net, live, u, ranked, noise)
        total += done
        for i in range(net.indptr[u], net.indptr[u + 1]):
            n = np.int64(live.node[net.indices[i]])
            if n != NOWHERE:
                tied[n] = 0.0
        for n in candidates[:found]:
            tied[n] = 0.0
        tied[a] = 0.0
    return total


@numba.njit(cache=True, nogil=True)
def _best_swap(net, live, u, ranked, noise):  # type: ignore[no-untyped-def]
    """Swaps u with the unit that gains most among those on the nodes it talks to most."""
    a = np.int64(live.node[u])
    here = tie(net, live, u, a)
    best, partner = -noise, np.int64(NOWHERE)
    for n in ranked[:8]:
        room = here - tie(net, live, u, n)
        v = np.int64(live.head[n])
        while v != NOWHERE:
            # Without its own edge a swap cannot gain more than both sides together.
            if room + tie(net, live, v, n) - tie(net, live, v, a) < best:
                change = swap_change(net, live, u, v)
                if change < best:
                    best, partner = change, v
            v = np.int64(live.after[v])
    if partner == NOWHERE:
        return 0.0
    change = try_swap(net, live, u, partner, -noise)
    return change if change < 0.0 else 0.0


@numba.njit(cache=True, nogil=True)
def anneal(net, live, steps, warm, cold):  # type: ignore[no-untyped-def]
    """``steps`` proposals while the temperature falls from ``warm`` to ``cold``.

    A proposal takes a random unit towards a node where it has a neighbour: a move if there is
    room, else a swap with somebody there. Returns the change of cost.
    """
    units = live.node.shape[0]
    nodes = live.head.shape[0]
    total = 0.0
    cooling = (cold / warm) ** (1.0 / max(steps, 1))
    heat = warm
    for _ in range(steps):
        heat *= cooling
        u = random_below(live, units)
        a = np.int64(live.node[u])
        degree = net.indptr[u + 1] - net.indptr[u]
        if a == NOWHERE or degree == 0:
            continue
        n = np.int64(live.node[net.indices[net.indptr[u] + random_below(live, degree)]])
        if random_below(live, 64) == 0:
            n = random_below(live, nodes)
        if n in (a, NOWHERE):
            continue
        limit = -heat * math.log(1.0 - random_unit(live))
        change = try_move(net, live, u, n, limit)
        if change == np.inf:
            v = np.int64(live.head[n])
            if v == NOWHERE:
                continue
            skip = random_below(live, 8)
            while skip > 0 and live.after[v] != NOWHERE:
                v = np.int64(live.after[v])
                skip -= 1
            change = try_swap(net, live, u, v, limit)
        if change != np.inf:
            total += change
    return total
