"""A profile as a problem file for ``stormbrain solve`` and ``stormbrain simulate``."""

from __future__ import annotations

from typing import Any

from brain.pipeline.profile import Profile


def problem_from_profile(
    profile: Profile, workers: int | None = None, slots_per_node: int | None = None
) -> dict[str, Any]:
    """The problem of placing this topology on the nodes that the logs have seen.

    Executors are numbered by their first task. The log knows only the ports that were in use:
    ``slots_per_node`` adds further ones to each node, counted up from its highest.
    """
    executors: dict[str, dict[str, Any]] = {}
    number_of: dict[int, int] = {}
    current: dict[str, list[Any]] = {}
    for t in sorted(profile.tasks, key=lambda t: t.task):
        entry = executors.setdefault(
            t.executor, {"id": len(executors), "component": t.component, "cpu": 0.0}
        )
        entry["cpu"] = round(entry["cpu"] + t.cpu, 3)
        number_of[t.task] = entry["id"]
        current[str(entry["id"])] = [t.node, t.port]
    amounts: dict[tuple[int, int], list[float]] = {}
    for r in profile.task_rates:
        a, b = number_of[int(r.source)], number_of[int(r.target)]
        if a != b:
            sums = amounts.setdefault((a, b), [0.0, 0.0])
            sums[0] += r.tuples_per_s
            sums[1] += r.bytes_per_s
    nodes = []
    for n in profile.nodes:
        slots = list(n.ports) or [6700]
        while slots_per_node is not None and len(slots) < slots_per_node:
            slots.append(slots[-1] + 1)
        nodes.append(
            {"id": n.node, "slots": slots, "cpu": n.cpu_capacity, "memory_mb": n.memory_mb}
        )
    return {
        "nodes": nodes,
        "topologies": [
            {
                "id": profile.topology_id,
                "workers": workers,
                "executors": list(executors.values()),
                "edges": [
                    {"from": a, "to": b, "tuples": round(v[0], 6), "bytes": round(v[1], 6)}
                    for (a, b), v in sorted(amounts.items())
                ],
            }
        ],
        "current": {profile.topology_id: current},
    }
