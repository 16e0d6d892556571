"""The inner loop of the event simulation, compiled. What it simulates is told in ``events``."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

SERVED, SENT, PARSED, ARRIVED, GENERATED = 0, 1, 2, 3, 4
RECEIVER_PARSE = 2
NONE = -1
FULL, DONE = 1, 0


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _push(times: Any, kinds: Any, ids: Any, size: int, time: float, kind: int, who: int) -> int:
    i = size
    while i > 0:
        parent = (i - 1) // 2
        if times[parent] <= time:
            break
        times[i], kinds[i], ids[i] = times[parent], kinds[parent], ids[parent]
        i = parent
    times[i], kinds[i], ids[i] = time, kind, who
    return size + 1


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _pop(times: Any, kinds: Any, ids: Any, size: int) -> int:
    """Moves the first event to position ``size - 1`` and returns the new size."""
    last = size - 1
    time, kind, who = times[last], kinds[last], ids[last]
    times[last], kinds[last], ids[last] = times[0], kinds[0], ids[0]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= last:
            break
        if child + 1 < last and times[child + 1] < times[child]:
            child += 1
        if times[child] >= time:
            break
        times[i], kinds[i], ids[i] = times[child], kinds[child], ids[child]
        i = child
    if last > 0:
        times[i], kinds[i], ids[i] = time, kind, who
    return last


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def run(
    seed: int,
    until: float,
    warm_up: float,
    pending_limit: int,
    random_service: bool,
    service: NDArray[np.float64],  # seconds, by executor
    spout: NDArray[np.bool_],
    arrival_rate: NDArray[np.float64],  # by executor; used when pending_limit is 0
    node: NDArray[np.int64],  # by executor
    cores: NDArray[np.int64],  # by node
    first_group: NDArray[np.int64],  # by executor, one more at the end
    per_tuple: NDArray[np.float64],  # by group
    first_branch: NDArray[np.int64],  # by group, one more at the end
    cumulative: NDArray[np.float64],  # by branch, within its group
    target: NDArray[np.int64],  # by branch
    slot: NDArray[np.int64],  # by executor
    parse: NDArray[np.float64],  # seconds at the receiver, by branch; negative: same worker
    out_time: NDArray[np.float64],  # seconds on the sender's interface, by branch
    in_time: NDArray[np.float64],
    delay: NDArray[np.float64],  # seconds, by branch
    crosses: NDArray[np.bool_],
    slots: int,
    room: int,  # the most tuples that may be under way
) -> Any:
    np.random.seed(seed)
    n, nodes = len(service), len(cores)
    # Stations: executors, interfaces out, interfaces in, receivers. Queues are linked by tuple.
    out0, in0, receive0 = n, n + nodes, n + 2 * nodes
    stations = n + 2 * nodes + slots
    head = np.full(stations, NONE, np.int64)
    tail = np.full(stations, NONE, np.int64)
    serving = np.full(stations, NONE, np.int64)
    follows = np.full(room, NONE, np.int64)
    branch = np.zeros(room, np.int64)
    tree = np.zeros(room, np.int64)
    free = np.arange(room - 1, -1, -1)
    free_count = room
    alive = np.zeros(room, np.int64)  # tuples of a tree; a tree takes the number of a tuple slot
    born = np.zeros(room, np.float64)
    owner = np.zeros(room, np.int64)
    tree_free = np.arange(room - 1, -1, -1)
    tree_count = room
    busy_cores = np.zeros(nodes, np.int64)
    ready_head = np.full(nodes, NONE, np.int64)
    ready_tail = np.full(nodes, NONE, np.int64)
    ready_next = np.full(n, NONE, np.int64)
    ready = np.zeros(n, np.bool_)
    pending = np.zeros(n, np.int64)
    backlog = np.zeros(n, np.int64)
    capacity = room + stations + 2 * n + 16
    times = np.zeros(capacity, np.float64)
    kinds = np.zeros(capacity, np.int64)
    ids = np.zeros(capacity, np.int64)
    size = 0
    emitted = np.zeros(n, np.int64)
    completed = np.zeros(n, np.int64)
    latency = np.zeros(n, np.float64)
    handled = np.zeros(n, np.int64)
    out_busy = np.zeros(nodes, np.float64)
    crossed = 0
    moved = 0
    wake = np.zeros(2 * n + nodes + 16, np.int64)  # executors that may start
    waking = 0
    now = 0.0
    state = DONE
    for e in range(n):
        if spout[e]:
            if pending_limit > 0:
                wake[waking] = e
                waking += 1
            elif arrival_rate[e] > 0:
                at = np.random.exponential(1.0 / arrival_rate[e])
                size = _push(times, kinds, ids, size, at, GENERATED, e)
    while True:
        # Start what may start: an executor needs a tuple (a spout: leave to emit) and a core.
        while waking > 0:
            waking -= 1
            e = wake[waking]
            if serving[e] != NONE or ready[e]:
                continue
            if spout[e]:
                has = pending[e] < pending_limit if pending_limit > 0 else backlog[e] > 0
            else:
                has = head[e] != NONE
            if not has:
                continue
            place = node[e]
            if busy_cores[place] >= cores[place]:
                ready[e] = True
                ready_next[e] = NONE
                if ready_tail[place] == NONE:
                    ready_head[place] = e
                else:
                    ready_next[ready_tail[place]] = e
                ready_tail[place] = e
                continue
            busy_cores[place] += 1
            if spout[e]:
                serving[e] = room
                if pending_limit == 0:
                    backlog[e] -= 1
                else:
                    pending[e] += 1
            else:
                serving[e] = head[e]
                head[e] = follows[head[e]]
                if head[e] == NONE:
                    tail[e] = NONE
            span = service[e]
            if random_service and span > 0:
                span = np.random.exponential(span)
            size = _push(times, kinds, ids, size, now + span, SERVED, e)
        if size == 0:
            break
        size = _pop(times, kinds, ids, size)
        now, kind, who = times[size], kinds[size], ids[size]
        if now > until:
            break
        measured = now >= warm_up
        item = NONE  # a tuple that goes on
        if kind == GENERATED:
            backlog[who] += 1
            wake[waking] = who
            waking += 1
            at = now + np.random.exponential(1.0 / arrival_rate[who])
            size = _push(times, kinds, ids, size, at, GENERATED, who)
            continue
        if kind == SERVED:
            e = who
            place = node[e]
            busy_cores[place] -= 1
            if ready_head[place] != NONE:
                first = ready_head[place]
                ready_head[place] = ready_next[first]
                if ready_head[place] == NONE:
                    ready_tail[place] = NONE
                ready[first] = False
                # The waiting executor is woken last put in, so it starts before this one does.
                wake[waking] = e
                wake[waking + 1] = first
                waking += 2
            else:
                wake[waking] = e
                waking += 1
            if spout[e]:
                if tree_count == 0:
                    state = FULL
                    break
                tree_count -= 1
                t = tree_free[tree_count]
                alive[t], born[t], owner[t] = 1, now, e
                if measured:
                    emitted[e] += 1
            else:
                old = serving[e]
                t = tree[old]
                free[free_count] = old
                free_count += 1
            serving[e] = NONE
            if measured:
                handled[e] += 1
            for g in range(first_group[e], first_group[e + 1]):
                copies = int(per_tuple[g])
                if np.random.random() < per_tuple[g] - copies:
                    copies += 1
                for _ in range(copies):
                    a, b = first_branch[g], first_branch[g + 1]
                    k = a + np.searchsorted(cumulative[a:b], np.random.random(), side="right")
                    if k >= b:
                        k = b - 1
                    if free_count == 0:
                        state = FULL
                        break
                    free_count -= 1
                    new = free[free_count]
                    branch[new], tree[new] = k, t
                    alive[t] += 1
                    if measured:
                        moved += 1
                        if crosses[k]:
                            crossed += 1
                    # Where it goes first: the interface, the way, or straight to the executor.
                    if crosses[k] and out_time[k] > 0:
                        s = out0 + place
                        follows[new] = NONE
                        if serving[s] == NONE:
                            serving[s] = new
                            size = _push(times, kinds, ids, size, now + out_time[k], SENT, s)
                        elif tail[s] == NONE:
                            head[s] = new
                            tail[s] = new
                        else:
                            follows[tail[s]] = new
                            tail[s] = new
                    else:
                        size = _push(times, kinds, ids, size, now + delay[k], ARRIVED, new)
            if state == FULL:
                break
            alive[t] -= 1
        elif kind in (SENT, PARSED):
            s = who
            item = serving[s]
            nxt = head[s]
            serving[s] = nxt
            if nxt != NONE:
                head[s] = follows[nxt]
                if head[s] == NONE:
                    tail[s] = NONE
                k = branch[nxt]
                if s < in0:
                    span = out_time[k]
                elif s < receive0:
                    span = in_time[k]
                else:
                    span = parse[k]
                size = _push(times, kinds, ids, size, now + span, kind, s)
            k = branch[item]
            t = tree[item]
            if s < in0:
                if measured:
                    out_busy[s - out0] += out_time[k]
                size = _push(times, kinds, ids, size, now + delay[k], ARRIVED, item)
                continue
            stage = 1 if s < receive0 else RECEIVER_PARSE
        else:
            item = who
            t = tree[item]
            stage = 0
        if kind != SERVED:
            # stage 0: at the door of the node; 1: off its interface; 2: parsed.
            k = branch[item]
            e = target[k]
            s = NONE
            if stage == 0 and crosses[k] and in_time[k] > 0:
                s, span, what = in0 + node[e], in_time[k], SENT
            elif stage < RECEIVER_PARSE and parse[k] > 0:
                s, span, what = receive0 + slot[e], parse[k], PARSED
            if s != NONE:
                follows[item] = NONE
                if serving[s] == NONE:
                    serving[s] = item
                    size = _push(times, kinds, ids, size, now + span, what, s)
                elif tail[s] == NONE:
                    head[s] = item
                    tail[s] = item
                else:
                    follows[tail[s]] = item
                    tail[s] = item
                continue
            if spout[e]:  # an acker's answer
                free[free_count] = item
                free_count += 1
                alive[t] -= 1
            else:
                follows[item] = NONE
                if tail[e] == NONE:
                    head[e] = item
                else:
                    follows[tail[e]] = item
                tail[e] = item
                wake[waking] = e
                waking += 1
                continue
        if alive[t] == 0:
            e = owner[t]
            if measured:
                completed[e] += 1
                latency[e] += now - born[t]
            tree_free[tree_count] = t
            tree_count += 1
            if pending_limit > 0:
                pending[e] -= 1
            wake[waking] = e
            waking += 1
    return state, min(now, until), emitted, completed, latency, handled, out_busy, moved, crossed
