"""Nodes and their worker slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Node:
    """A supervisor. ``cpu`` is in RAS points (100 = one core); None means no limit."""

    id: str
    slots: tuple[int, ...]
    rack: str | None = None
    cpu: float | None = None
    memory_mb: float | None = None
    host: str | None = None
    excluded: bool = False
    """Nothing may be placed here (blacklisted, drained); what runs here should leave."""
    utilisation: float = 0.0
    """Share of its CPU that is used by what is not in the problem."""
    availability: float = 1.0
    """Share of the time in which it is there."""


class SlotTable:
    """All slots of a cluster, numbered: slot s is port ``port[s]`` of node ``node[s]``."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.node: NDArray[np.int32] = np.array(
            [i for i, n in enumerate(nodes) for _ in n.slots], dtype=np.int32
        )
        self.port: NDArray[np.int32] = np.array([p for n in nodes for p in n.slots], dtype=np.int32)
        counts = np.array([len(n.slots) for n in nodes], dtype=np.int64)
        self.first: NDArray[np.int64] = np.concatenate(([0], np.cumsum(counts)))
        """Slots of node i are ``first[i] … first[i + 1] - 1``."""
        self._index = {
            (nodes[int(n)].id, int(p)): s
            for s, (n, p) in enumerate(zip(self.node, self.port, strict=True))
        }

    def __len__(self) -> int:
        return len(self.node)

    def index(self, node_id: str, port: int) -> int | None:
        """The number of a slot, or None if there is no such slot."""
        return self._index.get((node_id, port))

    def of_node(self, node: int) -> range:
        return range(int(self.first[node]), int(self.first[node + 1]))
