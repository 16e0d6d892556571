"""Annealing in which CPU and memory are prices, not walls (compiled by numba).

On full nodes hardly a unit can move unless another leaves at the same time, so annealing within the
limits is mostly refused swaps. Here a unit may enter a full node; what is over the limit costs

    dear · (o + bend · o²)

with o the excess in units of mean demand, for CPU and memory each. A fixed price for excess alone
would let everything gather on one node once the gain of gathering exceeds it; the square stops
that. ``dear`` falls as the root of the temperature does, so the excess shrinks as it cools; what is
left is repaired, and annealed within the limits for a while. All other limits (pins, spread,
slots, workers) hold in every step.

Measured on 1,000 executors and 100 nodes: as good as annealing within the limits in a quarter of
the time. Units take turns, which reads memory in order and saves half the random numbers.
"""

import numba
import numpy as np

from brain.algorithms.localsearch_parts.books import book
from brain.algorithms.localsearch_parts.moves import NOWHERE

DEAR = 2.0
"""``dear`` in mean edge weights is this times the root of the temperature in mean edge weights."""
BEND = 0.275

BLOCK = 64
"""Steps at one temperature."""
DRAWS = 4096
THRESHOLDS = -np.log((np.arange(DRAWS) + 0.5) / DRAWS)
"""By how many temperatures a step may cost more, in equally likely draws."""


@numba.njit(cache=True, nogil=True, inline="always")
def _price(excess):  # type: ignore[no-untyped-def]
    return excess + BEND * excess * excess if excess > 0.0 else 0.0


@numba.njit(cache=True, nogil=True)
def anneal_softly(net, live, around, first, steps, heat, dear, per_demand, thresholds):  # type: ignore[no-untyped-def]
    """``steps`` proposals from unit ``first`` on, in turn; returns how many were accepted.

    A proposal moves a unit to the node of one of its neighbours. ``around`` has the neighbours of
    each unit by falling weight, so the lower of two random positions is the heavier edge. ``heat``
    and ``dear`` are (from, to); ``per_demand`` is one over the mean demand of CPU and of memory.

    The lists of units on nodes and the count of changes are not kept: load the nodes anew after
    this. All arrays are taken out of their tuples first, since each access inside the loop would
    count references.
    """
    indptr, indices, weight = net.indptr, net.indices, net.weight
    node, ties, cpu, memory = live.node, live.ties, net.cpu, net.memory
    cpu_free, memory_free = live.cpu_free, live.memory_free
    topology, size, per_worker = net.topology, net.size, net.per_worker
    crowd, slots_free, workers_left = live.crowd, live.slots_free, live.workers_left
    allowed, allowed_class = net.allowed, net.allowed_class
    spread_class, spread_limit, spread_count = net.spread_class, net.spread_limit, live.spread_count
    per_cpu, per_memory = per_demand[0], per_demand[1]
    price = np.empty(cpu_free.shape[0])
    for full in range(price.shape[0]):
        price[full] = _price(-cpu_free[full] * per_cpu)
        price[full] += _price(-memory_free[full] * per_memory)
    units = np.int64(node.shape[0])
    blocks = (steps + BLOCK - 1) // BLOCK
    cooling = (heat[1] / heat[0]) ** (1.0 / blocks)
    cheaper = (dear[1] / dear[0]) ** (1.0 / blocks)
    now, rate = heat[0], dear[0]
    accepted = 0
    u = np.int64(first)
    x = live.rng[0]
    for _ in range(blocks):
        now *= cooling
        rate *= cheaper
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
            if n in (a, NOWHERE):
                continue
            limit = now * thresholds[np.int64(draw & np.uint64(DRAWS - 1))]
            change = ties[u, a] - ties[u, n] - rate * price[a]
            if change > limit:
                continue  # even if all excess of its node went away with it
            there = _price((cpu[u] - cpu_free[n]) * per_cpu)
            there += _price((memory[u] - memory_free[n]) * per_memory)
            left = _price((-cpu[u] - cpu_free[a]) * per_cpu)
            left += _price((-memory[u] - memory_free[a]) * per_memory)
            if change + rate * (there - price[n] + left) > limit:
                continue
            s = spread_class[u]
            if not allowed[allowed_class[u], n] or (
                s >= 0 and spread_count[s, n] >= spread_limit[s]
            ):
                continue
            t = np.int64(topology[u])
            book(crowd, slots_free, workers_left, per_worker, t, a, -size[u])
            book(crowd, slots_free, workers_left, per_worker, t, n, size[u])
            if slots_free[n] < 0 or workers_left[t] < 0:
                book(crowd, slots_free, workers_left, per_worker, t, n, -size[u])
                book(crowd, slots_free, workers_left, per_worker, t, a, size[u])
                continue
            cpu_free[a] += cpu[u]
            cpu_free[n] -= cpu[u]
            memory_free[a] += memory[u]
            memory_free[n] -= memory[u]
            if s >= 0:
                spread_count[s, a] -= 1
                spread_count[s, n] += 1
            node[u] = n
            for k in range(begin, end):
                v = indices[k]
                ties[v, a] -= weight[k]
                ties[v, n] += weight[k]
            price[a], price[n] = left, there
            accepted += 1
    live.rng[0] = x
    return accepted
