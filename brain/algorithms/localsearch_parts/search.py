"""Descent and annealing over moves and swaps (compiled by numba)."""

import math

import numba
import numpy as np

from brain.algorithms.localsearch_parts.moves import (
    NOWHERE,
    SLACK,
    apart,
    edge,
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
        if net.near.shape[0] > 0:
            found = 0
            for other in range(nodes):
                tied[other] = live.ties[u, other]
                if other != a:
                    candidates[found] = other
                    found += 1
        elif net.home[u] != NOWHERE and net.home[u] != a and tied[net.home[u]] == 0.0:
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
    indptr, indices, weight, node = net.indptr, net.indices, net.weight, live.node
    head, after, ties, cpu = live.head, live.after, live.ties, net.cpu
    table = ties.shape[0] > 0
    a = np.int64(node[u])
    here = tie(net, live, u, a)
    best, partner = -noise, np.int64(NOWHERE)
    for n in ranked[:8]:
        room = here - tie(net, live, u, n)
        least, most = cpu[u] - live.cpu_free[n] - SLACK, cpu[u] + live.cpu_free[a] + SLACK
        v = np.int64(head[n])
        while v != NOWHERE:
            if least <= cpu[v] <= most:
                change = room
                if table:
                    change += ties[v, n] - ties[v, a]
                else:
                    for i in range(indptr[v], indptr[v + 1]):
                        where = node[indices[i]]
                        if where == n:
                            change += weight[i]
                        elif where == a:
                            change -= weight[i]
                # Without its own edge a swap cannot gain more than both sides together.
                if change < best:
                    change += apart(net, a, n) * edge(net, u, v)
                    if change < best:
                        best, partner = change, v
            v = np.int64(after[v])
    if partner == NOWHERE:
        return 0.0
    change = try_swap(net, live, u, partner, -noise)
    return change if change < 0.0 else 0.0


@numba.njit(cache=True, nogil=True)
def anneal(net, live, steps, warm, cold):  # type: ignore[no-untyped-def]
    """``steps`` proposals while the temperature falls from ``warm`` to ``cold``.

    A proposal takes a random unit towards a node where it has a neighbour: a move if there is
    room, else a swap with somebody there. Returns the change of cost.

    Nine of ten proposals cost too much or meet a full node. They are seen to here, on plain
    arrays; only the others go through ``try_move`` and ``try_swap``, which know every limit.
    """
    indptr, indices, weight, node = net.indptr, net.indices, net.weight, live.node
    cpu, memory = net.cpu, net.memory
    cpu_free, memory_free = live.cpu_free, live.memory_free
    head, after, ties = live.head, live.after, live.ties
    units, nodes = np.uint64(node.shape[0]), np.uint64(head.shape[0])
    quick = ties.shape[0] > 0 and net.price[0] == 0.0 and net.price[1] == 0.0
    total = 0.0
    cooling = (cold / warm) ** (1.0 / max(steps, 1))
    heat = warm
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    # Any node one time in 64; one in 4 where those near a neighbour are worth a try too.
    seldom = np.uint64(63 if net.near.shape[0] == 0 else 3)
    x = live.rng[0]
    for _ in range(steps):
        heat *= cooling
        x ^= x >> np.uint64(12)
        x ^= x << np.uint64(25)
        x ^= x >> np.uint64(27)
        draw = x * np.uint64(0x2545F4914F6CDD1D)
        u = np.int64(((draw >> half) * units) >> half)
        a = np.int64(node[u])
        first = indptr[u]
        degree = indptr[u + 1] - first
        if a == NOWHERE or degree == 0:
            continue
        i = first + np.int64(((draw & low) * np.uint64(degree)) >> half)
        x ^= x >> np.uint64(12)
        x ^= x << np.uint64(25)
        x ^= x >> np.uint64(27)
        draw = x * np.uint64(0x2545F4914F6CDD1D)
        # The heavier of two neighbours: that is where most of the gain is.
        j = first + np.int64(((draw & low) * np.uint64(degree)) >> half)
        n = np.int64(node[indices[j if weight[j] > weight[i] else i]])
        if (draw >> np.uint64(58)) & seldom == 0:
            n = np.int64(((draw & low) * nodes) >> half)
        if n in (a, NOWHERE):
            continue
        limit = -heat * math.log(1.0 - np.float64(draw >> np.uint64(11)) / 9007199254740992.0)
        gain = 0.0
        change = np.inf
        if quick:
            gain = ties[u, a] - ties[u, n]
        if not quick or (gain <= limit and cpu[u] <= cpu_free[n] and memory[u] <= memory_free[n]):
            change = try_move(net, live, u, n, limit)
        if change == np.inf:
            v = np.int64(head[n])
            if v == NOWHERE:
                continue
            skip = (draw >> np.uint64(3)) & np.uint64(7)
            while skip > 0 and after[v] != NOWHERE:
                v = np.int64(after[v])
                skip -= np.uint64(1)
            # The edge between the two only adds to this.
            if quick and gain + ties[v, n] - ties[v, a] > limit:
                continue
            more = cpu[u] - cpu[v]
            if more - SLACK > cpu_free[n] or -more - SLACK > cpu_free[a]:
                continue
            change = try_swap(net, live, u, v, limit)
        if change != np.inf:
            total += change
    live.rng[0] = x
    return total
