"""Storm's own EvenScheduler, round for round (storm-server 2.8, EvenScheduler.java).

For each topology that needs scheduling, in order:
  1. The free slots are grouped by node (ids in order), the ports of a node ascending, nodes with
     more free slots first (a stable sort), and then interleaved: first ports of all nodes, then
     second ports, and so on (``sortSlots``, ``interleaveAll``).
  2. ``min(workers, free slots + slots in use)`` minus the slots in use are taken from the front.
  3. Executors that have no slot, by their first task, go to these slots in turn.

A topology needs scheduling if it has fewer workers than requested or executors without a slot.
With ``variant=default`` (DefaultScheduler.java, which Nimbus runs unless told otherwise) slots with
an uneven number of executors ("bad slots") are freed first, topology by topology, and after each
all topologies that need it are scheduled.

How we differ: what runs on an excluded node is taken off it first; Storm would leave it there. And
where a topology runs on more slots than it asks for and misses executors, Storm throws; here they
stay out, and the reason says so.

It knows nothing of CPU, memory, pins, spread or co-location, by nature: where its answer breaks
one of these, the status is best-effort and the reasons say which. Executors must be listed by
their first task; ``workers`` null asks for one worker a usable node.
"""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from brain.algorithms.parts.finish import conclude
from brain.algorithms.parts.workspace import Workspace
from brain.model import UNPLACED, Options, Placement, Problem, Result

Request = tuple[range, int]
"""The executors of a topology, and the workers asked for."""


def solve(problem: Problem, current: Placement | None, options: Options) -> Result:
    """``even``; parameter ``variant``: even (EvenScheduler) or default (DefaultScheduler)."""
    work = Workspace(problem, current, options)
    variant = work.choice("variant", "even", ("even", "default"))
    slot = [UNPLACED] * len(problem) if current is None else [int(s) for s in current.slot]
    _leave_excluded(problem, slot)
    one_a_node = max(1, sum(1 for n in problem.nodes if n.slots and not n.excluded))
    requests = [
        (range(*problem.executors_of(t).indices(len(problem))), topology.workers or one_a_node)
        for t, topology in enumerate(problem.topologies)
        if not topology.frozen
    ]
    if variant == "default":
        for executors, wanted in _needing(slot, requests):
            _free_bad_slots(problem, slot, executors, wanted)
            _schedule_all(problem, slot, requests)
    else:
        _schedule_all(problem, slot, requests)
    return conclude(work, "even", Placement(np.array(slot, dtype=np.int32)))


def _leave_excluded(problem: Problem, slot: list[int]) -> None:
    for t, topology in enumerate(problem.topologies):
        if topology.frozen:
            continue
        for e in range(int(problem.offsets[t]), int(problem.offsets[t + 1])):
            if slot[e] != UNPLACED and problem.nodes[int(problem.slots.node[slot[e]])].excluded:
                slot[e] = UNPLACED


def _needing(slot: list[int], requests: list[Request]) -> list[Request]:
    """Cluster.needsSchedulingTopologies: too few workers, or executors without a slot."""
    needing = []
    for executors, wanted in requests:
        used = {slot[e] for e in executors}
        if UNPLACED in used or wanted > len(used):
            needing.append((executors, wanted))
    return needing


def _schedule_all(problem: Problem, slot: list[int], requests: list[Request]) -> None:
    """EvenScheduler.scheduleTopologiesEvenly."""
    for executors, wanted in _needing(slot, requests):
        _schedule(problem, slot, executors, wanted)


def _free_bad_slots(problem: Problem, slot: list[int], executors: range, wanted: int) -> None:
    """DefaultScheduler.badSlots: keeps slots whose size occurs in the even distribution."""
    sizes = Counter(slot[e] for e in executors if slot[e] != UNPLACED)
    total = min(wanted, len(sizes) + len(_sorted_free_slots(problem, slot)))
    everyone_alive = all(slot[e] != UNPLACED for e in executors)
    if total == 0 or (total <= len(sizes) and everyone_alive):
        return
    base, more = divmod(len(executors), total)
    even = Counter({base: total - more})
    if more:
        even[base + 1] = more
    bad = set()
    for s in sorted(sizes):
        if even[sizes[s]] > 0:
            even[sizes[s]] -= 1
        else:
            bad.add(s)
    for e in executors:
        if slot[e] in bad:
            slot[e] = UNPLACED


def _schedule(problem: Problem, slot: list[int], executors: range, wanted: int) -> None:
    free = _sorted_free_slots(problem, slot)
    in_use = len({slot[e] for e in executors if slot[e] != UNPLACED})
    to_use = min(wanted, len(free) + in_use)
    chosen = free[: max(0, to_use - in_use)]
    if not chosen:
        return
    waiting = [e for e in executors if slot[e] == UNPLACED]
    for i, e in enumerate(waiting):
        slot[e] = chosen[i % len(chosen)]


def _sorted_free_slots(problem: Problem, slot: list[int]) -> list[int]:
    """``sortSlots``: nodes with more free slots first, their ports interleaved."""
    used = set(slot)
    groups: dict[str, list[int]] = defaultdict(list)
    for s in range(len(problem.slots)):
        node = problem.nodes[int(problem.slots.node[s])]
        if s not in used and not node.excluded:
            groups[node.id].append(s)
    rows = [
        sorted(groups[node], key=lambda s: int(problem.slots.port[s])) for node in sorted(groups)
    ]
    rows.sort(key=len, reverse=True)
    longest = max((len(row) for row in rows), default=0)
    return [row[i] for i in range(longest) for row in rows if i < len(row)]
