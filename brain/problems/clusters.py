"""Clusters in one line: ``3x6 3x4 4x2`` is 3 nodes for 6 tasks, 3 for 4 and 4 for 2."""

from __future__ import annotations

import re

from brain.errors import BadInput
from brain.model import Node

FIRST_PORT = 6700
TASK_CPU = 100.0
"""What a task of unit load takes: one core, so that a node's capacity in tasks is its cores."""
NAMED = {"homogeneous": "10x4", "heterogeneous": "3x6 3x4 4x2"}
"""The clusters of I-Scheduler's section 5 (Eskandari 2020, table 3)."""
MOST_NODES = 1_000_000


def cluster(spec: str, *, slots: int | None = None, racks: int = 0) -> tuple[Node, ...]:
    """Nodes n1, n2, … as ``COUNTxCAPACITY`` in tasks of 100 CPU points.

    A node has as many slots as tasks (at least one) unless ``slots`` says otherwise; with
    ``racks`` the nodes are dealt out to so many racks.
    """
    nodes: list[Node] = []
    for word in NAMED.get(spec, spec).split():
        match = re.fullmatch(r"(\d{1,7})x(\d{1,6})", word)
        if match is None:
            raise BadInput(
                "nodes",
                f"{word!r} is not COUNTxCAPACITY",
                'such as "3x6 3x4 4x2", homogeneous or heterogeneous',
            )
        count, tasks = int(match[1]), int(match[2])
        if len(nodes) + count > MOST_NODES:
            raise BadInput("nodes", f"more than {MOST_NODES} nodes")
        ports = max(1, tasks) if slots is None else slots
        for _ in range(count):
            number = len(nodes) + 1
            nodes.append(
                Node(
                    id=f"n{number}",
                    slots=tuple(range(FIRST_PORT, FIRST_PORT + min(ports, 1000))),
                    rack=f"r{(number - 1) % racks + 1}" if racks else None,
                    cpu=TASK_CPU * tasks,
                )
            )
    return tuple(nodes)
