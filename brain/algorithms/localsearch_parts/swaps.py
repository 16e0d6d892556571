"""Annealing within all limits by moves and swaps, where nothing is priced (compiled by numba).

The same steps as ``search.anneal``, several times as many a second: units take turns, a node's
units are in a table, so any of them is found at once, and nothing is looked up through a tuple
inside the loop.
"""

import numba
import numpy as np

from brain.algorithms.localsearch_parts.books import book, edge_between
from brain.algorithms.localsearch_parts.moves import NOWHERE
from brain.algorithms.localsearch_parts.soft import BLOCK, DRAWS


@numba.njit(cache=True, nogil=True)
def anneal_fast(net, live, around, first, steps, heat, thresholds):  # type: ignore[no-untyped-def]
    """``steps`` proposals from unit ``first`` on, in turn; returns how many were accepted.

    A proposal takes a unit to the node of a neighbour (or, seldom, any node): a move if there is
    room, else a swap with somebody there. Arguments, and what is not kept, as ``anneal_softly``.
    """
    indptr, indices, weight = net.indptr, net.indices, net.weight
    node, ties, cpu, memory = live.node, live.ties, net.cpu, net.memory
    cpu_free, memory_free = live.cpu_free, live.memory_free
    topology, size, per_worker = net.topology, net.size, net.per_worker
    crowd, slots_free, workers_left = live.crowd, live.slots_free, live.workers_left
    allowed, allowed_class = net.allowed, net.allowed_class
    spread_class, spread_limit, spread_count = net.spread_class, net.spread_limit, live.spread_count
    units, nodes = np.int64(node.shape[0]), cpu_free.shape[0]
    # The units of each node: ``there[n, place[u]] == u``.
    held = np.zeros(nodes, dtype=np.int64)
    for n in node:
        if n != NOWHERE:
            held[n] += 1
    width = min(units, 2 * held.max() + 32)
    there = np.empty((nodes, width), dtype=np.int32)
    place = np.zeros(units, dtype=np.int32)
    held[:] = 0
    for unit in range(units):
        n = node[unit]
        if n != NOWHERE:
            place[unit] = held[n]
            there[n, held[n]] = unit
            held[n] += 1
    blocks = (steps + BLOCK - 1) // BLOCK
    cooling = (heat[1] / heat[0]) ** (1.0 / blocks)
    now = heat[0]
    accepted = 0
    u = np.int64(first)
    x = live.rng[0]
    for _ in range(blocks):
        now *= cooling
        for _ in range(BLOCK):
            u = u + 1 if u + 1 < units else np.int64(0)
            begin, end = indptr[u], indptr[u + 1]
            a = np.int64(node[u])
            if begin == end or a == NOWHERE:
                continue
            x ^= x >> np.uint64(12)
            x ^= x << np.uint64(25)
            x ^= x >> np.uint64(27)
            draw = x * np.uint64(0x2545F4914F6CDD1D)
            degree = np.uint64(end - begin)
            i = ((draw >> np.uint64(38)) * degree) >> np.uint64(26)
            j = (((draw >> np.uint64(12)) & np.uint64(0x3FFFFFF)) * degree) >> np.uint64(26)
            n = np.int64(node[around[begin + np.int64(min(i, j))]])
            if (draw >> np.uint64(12)) & np.uint64(63) == 0:
                n = np.int64(((draw >> np.uint64(38)) * np.uint64(nodes)) >> np.uint64(26))
            if n in (a, NOWHERE):
                continue
            limit = now * thresholds[np.int64(draw & np.uint64(DRAWS - 1))]
            change = ties[u, a] - ties[u, n]
            t = np.int64(topology[u])
            s = spread_class[u]
            if change <= limit and cpu[u] <= cpu_free[n] and memory[u] <= memory_free[n]:
                if (
                    not allowed[allowed_class[u], n]
                    or (s >= 0 and spread_count[s, n] >= spread_limit[s])
                    or held[n] >= width
                ):
                    continue
                book(crowd, slots_free, workers_left, per_worker, t, a, -size[u])
                book(crowd, slots_free, workers_left, per_worker, t, n, size[u])
                if slots_free[n] < 0 or workers_left[t] < 0:
                    book(crowd, slots_free, workers_left, per_worker, t, n, -size[u])
                    book(crowd, slots_free, workers_left, per_worker, t, a, size[u])
                    continue
                held[a] -= 1
                last = there[a, held[a]]
                there[a, place[u]] = last
                place[last] = place[u]
                there[n, held[n]] = u
                place[u] = held[n]
                held[n] += 1
                cpu_free[a] += cpu[u]
                cpu_free[n] -= cpu[u]
                memory_free[a] += memory[u]
                memory_free[n] -= memory[u]
                if s >= 0:
                    spread_count[s, a] -= 1
                    spread_count[s, n] += 1
                node[u] = n
                for k in range(begin, end):
                    other = indices[k]
                    ties[other, a] -= weight[k]
                    ties[other, n] += weight[k]
                accepted += 1
                continue
            if held[n] == 0:
                continue
            pick = ((draw >> np.uint64(20)) & np.uint64(0xFFFFF)) * np.uint64(held[n])
            v = np.int64(there[n, np.int64(pick >> np.uint64(20))])
            change += ties[v, n] - ties[v, a]
            if change > limit:
                continue  # the edge between the two would only add to it
            more, heavier = cpu[u] - cpu[v], memory[u] - memory[v]
            if more > cpu_free[n] or -more > cpu_free[a]:
                continue
            if heavier > memory_free[n] or -heavier > memory_free[a]:
                continue
            change += 2.0 * edge_between(indptr, indices, weight, u, v)
            if change > limit:
                continue
            z = spread_class[v]
            if (
                not allowed[allowed_class[u], n]
                or not allowed[allowed_class[v], a]
                or (s != z and s >= 0 and spread_count[s, n] >= spread_limit[s])
                or (s != z and z >= 0 and spread_count[z, a] >= spread_limit[z])
            ):
                continue
            tv = np.int64(topology[v])
            if t != tv or (size[u] != size[v]):
                book(crowd, slots_free, workers_left, per_worker, t, a, -size[u])
                book(crowd, slots_free, workers_left, per_worker, tv, n, -size[v])
                book(crowd, slots_free, workers_left, per_worker, t, n, size[u])
                book(crowd, slots_free, workers_left, per_worker, tv, a, size[v])
                if min(slots_free[n], slots_free[a], workers_left[t], workers_left[tv]) < 0:
                    book(crowd, slots_free, workers_left, per_worker, tv, a, -size[v])
                    book(crowd, slots_free, workers_left, per_worker, t, n, -size[u])
                    book(crowd, slots_free, workers_left, per_worker, tv, n, size[v])
                    book(crowd, slots_free, workers_left, per_worker, t, a, size[u])
                    continue
            there[a, place[u]] = v
            there[n, place[v]] = u
            place[u], place[v] = place[v], place[u]
            cpu_free[a] += more
            cpu_free[n] -= more
            memory_free[a] += heavier
            memory_free[n] -= heavier
            if s != z:
                if s >= 0:
                    spread_count[s, a] -= 1
                    spread_count[s, n] += 1
                if z >= 0:
                    spread_count[z, n] -= 1
                    spread_count[z, a] += 1
            node[u], node[v] = n, a
            for k in range(begin, end):
                other = indices[k]
                ties[other, a] -= weight[k]
                ties[other, n] += weight[k]
            for k in range(indptr[v], indptr[v + 1]):
                other = indices[k]
                ties[other, n] -= weight[k]
                ties[other, a] += weight[k]
            accepted += 1
    live.rng[0] = x
    return accepted
