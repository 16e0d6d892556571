"""Single steps: may a unit enter a node, what does a move or a swap change, do it.

All functions are compiled by numba and cached on disk. Units and nodes are passed as int64
everywhere: one width means one compilation, which takes seconds where it is not cached yet.
"""

import numba
import numpy as np

NOWHERE = -1
SLACK = 1e-6
"""Quick checks leave so much to the exact ones, whose sums are rounded in another order."""


@numba.njit(cache=True, nogil=True)
def tie(net, live, u, n):  # type: ignore[no-untyped-def]
    """The traffic of unit u with node n."""
    if live.ties.shape[0] > 0:
        return live.ties[u, n]
    total = 0.0
    for i in range(net.indptr[u], net.indptr[u + 1]):
        if live.node[net.indices[i]] == n:
            total += net.weight[i]
    return total


@numba.njit(cache=True, nogil=True)
def _workers(net, t, executors):  # type: ignore[no-untyped-def]
    return (executors + net.per_worker[t] - 1) // net.per_worker[t]


@numba.njit(cache=True, nogil=True)
def fits(net, live, u, n):  # type: ignore[no-untyped-def]
    """Whether node n can take unit u, which is nowhere now."""
    if net.cpu[u] > live.cpu_free[n] or net.memory[u] > live.memory_free[n]:
        return False
    if not net.allowed[net.allowed_class[u], n]:
        return False
    s = net.spread_class[u]
    if s >= 0 and live.spread_count[s, n] >= net.spread_limit[s]:
        return False
    t = np.int64(net.topology[u])
    have = np.int64(live.crowd[t, n])
    need = _workers(net, t, have + net.size[u]) - _workers(net, t, have)
    return need <= live.slots_free[n] and need <= live.workers_left[t]


@numba.njit(cache=True, nogil=True)
def _note_change(net, live, u, n, sign):  # type: ignore[no-untyped-def]
    """Unit u came to (1) or left (-1) node n: what is there differs more or less from now."""
    t = np.int64(net.topology[u])
    if net.home[u] == n:
        live.changes[t, n] -= sign
        live.moved[0] -= sign * net.size[u]
    else:
        live.changes[t, n] += sign


@numba.njit(cache=True, nogil=True)
def put(net, live, u, n):  # type: ignore[no-untyped-def]
    """Books unit u on node n, all but the ties of its neighbours."""
    t = np.int64(net.topology[u])
    have = np.int64(live.crowd[t, n])
    need = _workers(net, t, have + net.size[u]) - _workers(net, t, have)
    live.slots_free[n] -= need
    live.workers_left[t] -= need
    live.crowd[t, n] += net.size[u]
    live.cpu_free[n] -= net.cpu[u]
    live.memory_free[n] -= net.memory[u]
    if net.spread_class[u] >= 0:
        live.spread_count[net.spread_class[u], n] += 1
    first = np.int64(live.head[n])
    live.after[u] = first
    live.before[u] = NOWHERE
    if first != NOWHERE:
        live.before[first] = u
    live.head[n] = u
    live.node[u] = n
    _note_change(net, live, u, n, 1)


@numba.njit(cache=True, nogil=True)
def take(net, live, u):  # type: ignore[no-untyped-def]
    """Undoes ``put``."""
    n = np.int64(live.node[u])
    t = np.int64(net.topology[u])
    have = np.int64(live.crowd[t, n])
    need = _workers(net, t, have) - _workers(net, t, have - net.size[u])
    live.slots_free[n] += need
    live.workers_left[t] += need
    live.crowd[t, n] -= net.size[u]
    live.cpu_free[n] += net.cpu[u]
    live.memory_free[n] += net.memory[u]
    if net.spread_class[u] >= 0:
        live.spread_count[net.spread_class[u], n] -= 1
    if live.before[u] == NOWHERE:
        live.head[n] = live.after[u]
    else:
        live.after[live.before[u]] = live.after[u]
    if live.after[u] != NOWHERE:
        live.before[live.after[u]] = live.before[u]
    live.node[u] = NOWHERE
    _note_change(net, live, u, n, -1)


@numba.njit(cache=True, nogil=True)
def shift_ties(net, live, u, old, new):  # type: ignore[no-untyped-def]
    """Tells the neighbours of u that it went from node ``old`` to ``new`` (NOWHERE allowed)."""
    if live.ties.shape[0] == 0:
        return
    near = net.near
    for i in range(net.indptr[u], net.indptr[u + 1]):
        x = net.indices[i]
        if near.shape[0] > 0:
            row, share = live.ties[x], net.weight[i]
            for n in range(near.shape[0]):
                if old != NOWHERE:
                    row[n] -= share * near[old, n]
                if new != NOWHERE:
                    row[n] += share * near[new, n]
            continue
        if old != NOWHERE:
            live.ties[x, old] -= net.weight[i]
        if new != NOWHERE:
            live.ties[x, new] += net.weight[i]


@numba.njit(cache=True, nogil=True)
def edge(net, u, v):  # type: ignore[no-untyped-def]
    """The traffic between two units; neighbours are sorted, so it is found by bisection."""
    if net.indptr[u + 1] - net.indptr[u] > net.indptr[v + 1] - net.indptr[v]:
        u, v = v, u
    low, high = net.indptr[u], net.indptr[u + 1]
    while low < high:
        middle = (low + high) // 2
        if net.indices[middle] < v:
            low = middle + 1
        else:
            high = middle
    if low < net.indptr[u + 1] and net.indices[low] == v:
        return net.weight[low]
    return 0.0


@numba.njit(cache=True, nogil=True)
def _disturbance(net, live, t, a, b):  # type: ignore[no-untyped-def]
    """What the moved executors and the two touched workers cost as things are."""
    cost = net.price[0] * live.moved[0]
    if live.changes[t, a] > 0 and live.crowd[t, a] > 0:
        cost += net.price[1]
    if live.changes[t, b] > 0 and live.crowd[t, b] > 0:
        cost += net.price[1]
    return cost


@numba.njit(cache=True, nogil=True)
def try_move(net, live, u, n, limit):  # type: ignore[no-untyped-def]
    """Moves u to n if that is feasible and the cost changes by ``limit`` or less.

    Returns the change, or infinity if nothing was done.
    """
    a = np.int64(live.node[u])
    t = np.int64(net.topology[u])
    change = tie(net, live, u, a) - tie(net, live, u, n)
    if change > limit and net.price[0] == 0.0 and net.price[1] == 0.0:
        return np.inf
    # Most proposals end here: a full node is seen before anything is taken and put back.
    if net.cpu[u] > live.cpu_free[n] or net.memory[u] > live.memory_free[n]:
        return np.inf
    before = _disturbance(net, live, t, a, n)
    take(net, live, u)
    if not fits(net, live, u, n):
        put(net, live, u, a)
        return np.inf
    put(net, live, u, n)
    change += _disturbance(net, live, t, a, n) - before
    if change > limit or live.moved[0] > live.moved[1]:
        take(net, live, u)
        put(net, live, u, a)
        return np.inf
    shift_ties(net, live, u, a, n)
    return change


@numba.njit(cache=True, nogil=True)
def swap_change(net, live, u, v):  # type: ignore[no-untyped-def]
    """How the traffic between nodes changes if u and v change places."""
    a, b = np.int64(live.node[u]), np.int64(live.node[v])
    change = tie(net, live, u, a) - tie(net, live, u, b)
    change += tie(net, live, v, b) - tie(net, live, v, a)
    return change + apart(net, a, b) * edge(net, u, v)


@numba.njit(cache=True, nogil=True)
def apart(net, a, b):  # type: ignore[no-untyped-def]
    """By how many times their own edge two units on these nodes seem to gain by changing places:
    each counts on the other to stay."""
    if net.near.shape[0] == 0:
        return 2.0
    return net.near[a, a] + net.near[b, b] - 2.0 * net.near[a, b]


@numba.njit(cache=True, nogil=True)
def try_swap(net, live, u, v, limit):  # type: ignore[no-untyped-def]
    """Swaps two units on different nodes; else like ``try_move``."""
    a, b = np.int64(live.node[u]), np.int64(live.node[v])
    change = swap_change(net, live, u, v)
    priced = net.price[0] != 0.0 or net.price[1] != 0.0
    if change > limit and not priced:
        return np.inf
    more = net.cpu[u] - net.cpu[v]
    if more - SLACK > live.cpu_free[b] or -more - SLACK > live.cpu_free[a]:
        return np.inf
    more = net.memory[u] - net.memory[v]
    if more - SLACK > live.memory_free[b] or -more - SLACK > live.memory_free[a]:
        return np.inf
    tu, tv = np.int64(net.topology[u]), np.int64(net.topology[v])
    before = _disturbance(net, live, tu, a, b)
    if tv != tu:
        before += _disturbance(net, live, tv, a, b) - net.price[0] * live.moved[0]
    take(net, live, u)
    take(net, live, v)
    if fits(net, live, u, b):
        put(net, live, u, b)
        if fits(net, live, v, a):
            put(net, live, v, a)
            now = _disturbance(net, live, tu, a, b)
            if tv != tu:
                now += _disturbance(net, live, tv, a, b) - net.price[0] * live.moved[0]
            change += now - before
            if change <= limit and live.moved[0] <= live.moved[1]:
                shift_ties(net, live, u, a, b)
                shift_ties(net, live, v, b, a)
                return change
            take(net, live, v)
        take(net, live, u)
    put(net, live, u, a)
    put(net, live, v, b)
    return np.inf
