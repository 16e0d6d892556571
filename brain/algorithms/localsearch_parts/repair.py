"""Capacity repair: whoever fits where he is wished stays, the rest goes where it fits (numba)."""

import numba
import numpy as np

from brain.algorithms.localsearch_parts.moves import NOWHERE, fits, put, shift_ties, take


@numba.njit(cache=True, nogil=True)
def admit(net, live, order, wish):  # type: ignore[no-untyped-def]
    """Puts units on the nodes they are wished on, in order, as far as they fit."""
    for u in order:
        n = np.int64(wish[u])
        if n != NOWHERE and fits(net, live, u, n):
            put(net, live, u, n)
            shift_ties(net, live, u, NOWHERE, n)


@numba.njit(cache=True, nogil=True)
def _pull(net, live, u, pull):  # type: ignore[no-untyped-def]
    """Fills ``pull`` with the traffic of unit u with each node; ``clear`` undoes it."""
    for i in range(net.indptr[u], net.indptr[u + 1]):
        n = np.int64(live.node[net.indices[i]])
        if n != NOWHERE:
            pull[n] += net.weight[i]


@numba.njit(cache=True, nogil=True)
def _clear(net, live, u, pull):  # type: ignore[no-untyped-def]
    for i in range(net.indptr[u], net.indptr[u + 1]):
        n = np.int64(live.node[net.indices[i]])
        if n != NOWHERE:
            pull[n] = 0.0


@numba.njit(cache=True, nogil=True)
def _best_node(net, live, u, pull, tight):  # type: ignore[no-untyped-def]
    """The node with room that u talks to most; then where its topology already is; then the one
    with the most room, or the least if ``tight``. NOWHERE if there is none."""
    t = np.int64(net.topology[u])
    best = np.int64(NOWHERE)
    sign = -1.0 if tight else 1.0
    best_pull, best_here, best_room = -1.0, False, 0.0
    for n in np.arange(live.head.shape[0]):
        if not fits(net, live, u, n):
            continue
        here = live.crowd[t, n] > 0
        room = sign * min(live.cpu_free[n], 1e18) + 1e-6 * sign * min(live.memory_free[n], 1e18)
        better = pull[n] > best_pull
        if pull[n] == best_pull:
            better = here and not best_here
            if here == best_here:
                better = room > best_room
        if best == NOWHERE or better:
            best, best_pull, best_here, best_room = n, pull[n], here, room
    return best


@numba.njit(cache=True, nogil=True)
def _push_one_on(net, live, u, pull):  # type: ignore[no-untyped-def]
    """Makes room for u by sending one unit of some node elsewhere. True if u is placed then."""
    nodes = live.head.shape[0]
    for n in range(nodes):
        if not net.allowed[net.allowed_class[u], n]:
            continue
        v = np.int64(live.head[n])
        while v != NOWHERE:
            following = np.int64(live.after[v])
            take(net, live, v)
            if fits(net, live, u, n):
                put(net, live, u, n)
                for m in range(nodes):
                    if m != n and fits(net, live, v, m):
                        shift_ties(net, live, u, NOWHERE, n)
                        put(net, live, v, m)
                        shift_ties(net, live, v, n, m)
                        return True
                take(net, live, u)
            put(net, live, v, n)
            v = following
    return False


@numba.njit(cache=True, nogil=True)
def place_leftovers(net, live, order, tight, effort):  # type: ignore[no-untyped-def]
    """Places units of ``order`` that are nowhere; returns how many stay so.

    ``effort`` limits how often room is made by pushing another unit on.
    """
    pull = np.zeros(live.head.shape[0])
    left = 0
    for u in order:
        if live.node[u] != NOWHERE:
            continue
        _pull(net, live, u, pull)
        n = _best_node(net, live, u, pull, tight)
        _clear(net, live, u, pull)
        if n != NOWHERE:
            put(net, live, u, n)
            shift_ties(net, live, u, NOWHERE, n)
        elif effort > 0:
            effort -= 1
            if not _push_one_on(net, live, u, pull):
                left += 1
        else:
            left += 1
    return left
