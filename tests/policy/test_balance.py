"""How even a placement must be: the limits that the policy gives to the algorithms."""

from __future__ import annotations

import itertools

from brain.algorithms import registry
from brain.config import Settings
from brain.core import BrainCore
from brain.monitor.snapshot import read_snapshot
from brain.policy.decision import Trigger
from tests.harness.wire import cluster_state, reports_of, supervisor, topology

NODES = ("n1", "n2", "n3", "n4")
PARTS = {"__acker": 4, "bolt-1": 4, "bolt-2": 4, "bolt-3": 4, "spout": 4}
POINTS = {"__acker": 6.5, "bolt-1": 6.0, "bolt-2": 7.2, "bolt-3": 6.0, "spout": 2.8}
"""Measured of Payload on the testbed while its links held it back."""


def test_a_few_acks_are_not_worth_an_idle_node() -> None:
    """Two lines on one node and their ackers elsewhere would save some kB/s of 1.2 MB/s, and
    leave a node empty; so it was planned once, and one line in two starved."""
    core, now = BrainCore(Settings({})), 1_000_000
    slots = {task: (NODES[(task - 1) % 4], 6700) for task in range(1, 21)}
    state = cluster_state(
        [supervisor(n, cpu=200.0) for n in NODES], [topology("payload-1-1", PARTS, slots, 4)]
    )
    component = [c for c, n in PARTS.items() for _ in range(n)]
    first = {c: 4 * i + 1 for i, c in enumerate(PARTS)}
    edges: dict[tuple[int, int], tuple[int, int]] = {}
    loads = {task: 50 * POINTS[component[task - 1]] for task in range(1, 21)}
    for line in range(4):
        # Two lines were held back more than the others when they were measured.
        pace = 0.6 if line < 2 else 1.0
        # Lines are woven: each bolt's task is another one than that of the bolt before.
        way = [first["spout"] + line] + [first[f"bolt-{k}"] + (line + k) % 4 for k in (1, 2, 3)]
        for source, target in itertools.pairwise(way):
            edges[source, target] = (int(175 * pace), int(530_000 * pace))
        for task in way:
            loads[task] *= pace
            edges.update({(task, a): (int(45 * pace), int(2_000 * pace)) for a in range(1, 5)})
    core.on_snapshot(read_snapshot(state), now)
    # Two lines were held back more than the others when they were measured.
    for sequence in range(8):
        now += 5000
        core.on_snapshot(read_snapshot(state), now)
        for window in reports_of("payload-1-1", sequence, now - 5000, edges, loads, slots):
            core.on_report(window, now)
    asked = core.prepare("payload-1-1", Trigger("first", ""), now)
    assert asked is not None
    result = registry.run("auto", asked.built.problem, asked.built.current, asked.options)
    per_node = result.placement.nodes(asked.built.problem.slots)
    assert set(per_node.tolist()) == {0, 1, 2, 3}
    for source, target in edges:
        if source > 4 and target > 4:
            assert per_node[source - 1] == per_node[target - 1], "a line crosses nodes"
