"""The one verifier of placements: plain Python, sharing no code with what it checks.

``violations`` lists every broken constraint of a placement; ``check`` holds a whole result to
what its status promises, and recomputes its score edge by edge.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict

from brain.algorithms.parts.verify_score import plain_score
from brain.algorithms.parts.verify_view import View, Violation
from brain.model import UNPLACED, Options, Placement, Problem, Result, Status

__all__ = ["NEVER", "Violation", "check", "violations"]

NEVER = frozenset({"no-slot", "shared-slot", "frozen"})
"""Kinds that no result may have, whatever its status."""
SLACK = 1e-6


def violations(
    problem: Problem, placement: Placement, current: Placement | None = None
) -> list[Violation]:
    """Every broken constraint of a placement; ``current`` tells where frozen topologies are."""
    view = View(problem, placement, current)
    if view.no_slot:
        return view.no_slot  # nothing else can be said about slots that do not exist
    found: list[Violation] = []
    found += _unplaced(view)
    found += _frozen(view)
    found += _slots(view)
    found += _capacity(view)
    for t in range(len(problem.topologies)):
        if not problem.topologies[t].frozen:
            found += _workers(view, t)
            found += _pins(view, t)
            found += _spread(view, t)
            found += _colocate(view, t)
    return found


def check(
    problem: Problem,
    result: Result,
    current: Placement | None = None,
    options: Options | None = None,
) -> list[str]:
    """What a result promises and does not keep; empty for an honest one."""
    faults: list[str] = []
    broken = violations(problem, result.placement, current)
    for violation in broken:
        if violation.kind in NEVER:
            faults.append(f"never allowed: {violation}")
        elif result.status is Status.OK:
            faults.append(f"status ok, but {violation}")
        elif result.status is Status.BEST_EFFORT and violation.message not in result.reasons:
            faults.append(f"no reason given for: {violation}")
    if result.status is not Status.OK and not result.reasons:
        faults.append(f"status {result.status} without a reason")
    if options is not None and options.max_moves is not None and current is not None:
        moved = plain_score(problem, result.placement, current).moved_executors
        if moved > options.max_moves:
            faults.append(f"{moved} executors moved, {options.max_moves} allowed")
    if not any(v.kind == "no-slot" for v in broken):
        faults += _score_faults(problem, result, current)
    return faults


def _score_faults(problem: Problem, result: Result, current: Placement | None) -> list[str]:
    expected = plain_score(problem, result.placement, current)
    faults = []
    for name in ("inter_node", "inter_worker", "imbalance", "moved_executors", "restarted_workers"):
        said, real = getattr(result.score, name), getattr(expected, name)
        if not math.isclose(said, real, rel_tol=1e-6, abs_tol=1e-6):
            faults.append(f"score says {name} {said}, recomputed {real}")
    said, real = result.score.latency_ms, expected.latency_ms
    if (said is None) != (real is None) or not math.isclose(
        said or 0.0, real or 0.0, rel_tol=1e-6, abs_tol=1e-6
    ):
        faults.append(f"score says latency_ms {said}, recomputed {real}")
    bound = result.lower_bound
    if (
        bound is not None
        and result.status is Status.OK
        and bound > expected.inter_node + SLACK * (1 + abs(bound))
    ):
        faults.append(f"lower bound {bound} is above the cost {expected.inter_node}")
    return faults


def _unplaced(view: View) -> list[Violation]:
    found = []
    for t, topology in enumerate(view.problem.topologies):
        missing = [e for e in view.executors(t) if view.slot[e] == UNPLACED]
        if missing and not topology.frozen:
            found.append(
                Violation(
                    "unplaced",
                    f"topology {topology.id}: {len(missing)} executor(s) not placed: "
                    f"{view.names(t, missing)}",
                )
            )
    return found


def _frozen(view: View) -> list[Violation]:
    found = []
    for t, topology in enumerate(view.problem.topologies):
        if topology.frozen:
            moved = [
                e
                for e in view.executors(t)
                if view.slot[e] != (UNPLACED if view.current is None else view.current[e])
            ]
            if moved:
                found.append(
                    Violation(
                        "frozen",
                        f"topology {topology.id} is frozen, but moved: {view.names(t, moved)}",
                    )
                )
    return found


def _slots(view: View) -> list[Violation]:
    found = []
    users: dict[int, set[int]] = defaultdict(set)
    for t in range(len(view.problem.topologies)):
        for e in view.executors(t):
            if view.slot[e] != UNPLACED:
                users[view.slot[e]].add(t)
    for s, topologies in sorted(users.items()):
        ids = sorted(view.problem.topologies[t].id for t in topologies)
        if len(ids) > 1:
            found.append(
                Violation("shared-slot", f"slot {view.slot_name(s)} is shared by {', '.join(ids)}")
            )
        if view.problem.nodes[view.slot_node[s]].excluded:
            found += [
                Violation(
                    "excluded",
                    f"topology {view.problem.topologies[t].id}: slot {view.slot_name(s)} is on an "
                    "excluded node",
                )
                for t in sorted(topologies)
                if not view.problem.topologies[t].frozen
            ]
    return found


def _capacity(view: View) -> list[Violation]:
    cpu: dict[int, float] = defaultdict(float)
    memory: dict[int, float] = defaultdict(float)
    movable_here: set[int] = set()
    for t, topology in enumerate(view.problem.topologies):
        cpus, memories = topology.cpu.tolist(), topology.memory_mb.tolist()
        for i, e in enumerate(view.executors(t)):
            node = view.node(e)
            if node is not None:
                cpu[node] += cpus[i]
                memory[node] += memories[i]
                if not topology.frozen:
                    movable_here.add(node)
    found = []
    for n in sorted(movable_here):  # what frozen topologies alone overfill is nobody's doing
        host = view.problem.nodes[n]
        if host.excluded:
            continue  # told as such
        for kind, load, limit, unit in (
            ("cpu", cpu[n], host.cpu, "points of CPU"),
            ("memory", memory[n], host.memory_mb, "MB of memory"),
        ):
            if limit is not None and load > limit + SLACK * (1.0 + abs(limit)):
                found.append(
                    Violation(kind, f"node {host.id} is overfull: {load:g} of {limit:g} {unit}")
                )
    return found


def _workers(view: View, t: int) -> list[Violation]:
    topology = view.problem.topologies[t]
    used = Counter(view.slot[e] for e in view.executors(t) if view.slot[e] != UNPLACED)
    found = []
    if topology.workers is not None and len(used) > topology.workers:
        found.append(
            Violation(
                "workers",
                f"topology {topology.id}: {len(used)} workers used, {topology.workers} allowed",
            )
        )
    limit = topology.max_executors_per_worker
    if limit is not None:
        found += [
            Violation(
                "per-worker",
                f"topology {topology.id}: worker {view.slot_name(s)} has {n} executors, "
                f"{limit} allowed",
            )
            for s, n in sorted(used.items())
            if n > limit
        ]
    return found


def _pins(view: View, t: int) -> list[Violation]:
    topology = view.problem.topologies[t]
    found = []
    members = view.by_component(t)
    for component, allowed in topology.pin.items():
        astray = [
            e
            for e in members.get(component, [])
            if (node := view.node(e)) is not None and view.problem.nodes[node].id not in allowed
        ]
        if astray:
            found.append(
                Violation(
                    "pin",
                    f"topology {topology.id}: component {component} is pinned to "
                    f"{', '.join(allowed)}, but not executors {view.names(t, astray)}",
                )
            )
    return found


def _spread(view: View, t: int) -> list[Violation]:
    """At most ⌈executors / nodes that may be used⌉ of a spread component share a node."""
    topology = view.problem.topologies[t]
    taken = view.frozen_slots()
    free = {n for s, n in enumerate(view.slot_node) if s not in taken}
    found = []
    members = view.by_component(t)
    for component in topology.spread:
        pinned = topology.pin.get(component)
        usable = sum(
            1
            for n, node in enumerate(view.problem.nodes)
            if n in free and not node.excluded and (pinned is None or node.id in pinned)
        )
        if topology.workers is not None:
            usable = min(usable, topology.workers)
        executors = members.get(component, [])
        limit = math.ceil(len(executors) / max(usable, 1))
        per_node = Counter(node for e in executors if (node := view.node(e)) is not None)
        for n, count in sorted(per_node.items()):
            if count > limit:
                found.append(
                    Violation(
                        "spread",
                        f"topology {topology.id}: component {component} is to be spread, but node "
                        f"{view.problem.nodes[n].id} has {count} of its executors, {limit} allowed",
                    )
                )
    return found


def _colocate(view: View, t: int) -> list[Violation]:
    topology = view.problem.topologies[t]
    found = []
    members = view.by_component(t)
    for group in topology.colocate:
        nodes = {
            node
            for component in group
            for e in members.get(component, [])
            if (node := view.node(e)) is not None
        }
        if len(nodes) > 1:
            ids = ", ".join(view.problem.nodes[n].id for n in sorted(nodes))
            found.append(
                Violation(
                    "colocate",
                    f"topology {topology.id}: components {', '.join(group)} are to share a node, "
                    f"but are on {ids}",
                )
            )
    return found
