"""A placement problem: nodes, topologies and the traffic between their executors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from brain.model.cluster import Node, SlotTable
from brain.model.graph import CommGraph
from brain.model.topology import Topology


@dataclass(frozen=True)
class Problem:
    """Executors are numbered over all topologies in order; the graph is over those numbers."""

    nodes: tuple[Node, ...]
    topologies: tuple[Topology, ...]
    graph: CommGraph
    latency_ms: NDArray[np.float64] | None = None
    """Round-trip times from node to node, symmetric, 0 on the diagonal; None: not known."""

    @cached_property
    def slots(self) -> SlotTable:
        return SlotTable(self.nodes)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Executors of topology t are ``offsets[t] … offsets[t + 1] - 1``."""
        return np.concatenate(([0], np.cumsum([len(t) for t in self.topologies]))).astype(np.int64)

    def __len__(self) -> int:
        """The number of executors."""
        return int(self.offsets[-1])

    def executors_of(self, topology: int) -> slice:
        return slice(int(self.offsets[topology]), int(self.offsets[topology + 1]))

    @cached_property
    def topology_of(self) -> NDArray[np.int32]:
        return np.repeat(np.arange(len(self.topologies), dtype=np.int32), np.diff(self.offsets))

    @cached_property
    def cpu(self) -> NDArray[np.float64]:
        """CPU points that each executor asks for (0 where it asks for none)."""
        return np.concatenate([t.cpu for t in self.topologies] or [np.zeros(0)])

    @cached_property
    def memory_mb(self) -> NDArray[np.float64]:
        return np.concatenate([t.memory_mb for t in self.topologies] or [np.zeros(0)])

    @cached_property
    def cpu_capacity(self) -> NDArray[np.float64]:
        """Per node; infinite where no limit is given, 0 on excluded nodes."""
        return self._capacity("cpu")

    @cached_property
    def memory_capacity(self) -> NDArray[np.float64]:
        return self._capacity("memory_mb")

    def _capacity(self, attribute: str) -> NDArray[np.float64]:
        values = [getattr(n, attribute) for n in self.nodes]
        limits = np.array([np.inf if v is None else v for v in values], dtype=np.float64)
        limits[[n.excluded for n in self.nodes]] = 0.0
        return limits
