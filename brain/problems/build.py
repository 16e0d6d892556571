"""Builds a topology and its graph from components and the streams between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from brain.model import CommGraph, Node, Problem, Topology


@dataclass
class TopologyBuilder:
    """Components by name and parallelism; executors are numbered in that order."""

    id: str
    components: list[str] = field(default_factory=list)
    parallelism: list[int] = field(default_factory=list)
    streams: list[tuple[str, str, str]] = field(default_factory=list)
    _source: list[NDArray[np.int64]] = field(default_factory=list)
    _target: list[NDArray[np.int64]] = field(default_factory=list)
    _tuples: list[NDArray[np.float64]] = field(default_factory=list)
    _bytes: list[NDArray[np.float64]] = field(default_factory=list)

    def component(self, name: str, parallelism: int) -> str:
        self.components.append(name)
        self.parallelism.append(parallelism)
        return name

    def executors(self, component: str) -> NDArray[np.int64]:
        index = self.components.index(component)
        first = sum(self.parallelism[:index])
        return np.arange(first, first + self.parallelism[index])

    def stream(
        self,
        source: str,
        target: str,
        grouping: str,
        rate: NDArray[np.float64],
        bytes_per_tuple: float | None = None,
    ) -> None:
        """``rate[i, j]`` tuples a second from the i-th executor of source to the j-th of target."""
        self.streams.append((source, target, grouping))
        i, j = np.nonzero(rate)
        self._source.append(self.executors(source)[i])
        self._target.append(self.executors(target)[j])
        self._tuples.append(rate[i, j])
        size = np.nan if bytes_per_tuple is None else bytes_per_tuple
        self._bytes.append(rate[i, j] * size)

    def graph(self) -> CommGraph:
        n = sum(self.parallelism)
        if not self._source:
            return CommGraph.empty(n)
        return CommGraph.from_edges(
            n,
            np.concatenate(self._source),
            np.concatenate(self._target),
            np.concatenate(self._tuples),
            np.concatenate(self._bytes),
        )

    def problem(
        self,
        nodes: Sequence[Node],
        cpu: NDArray[np.float64],
        *,
        memory_mb: NDArray[np.float64] | None = None,
        workers: int | None = None,
        max_executors_per_worker: int | None = None,
    ) -> Problem:
        n = sum(self.parallelism)
        topology = Topology(
            id=self.id,
            components=tuple(self.components),
            component_of=np.repeat(
                np.arange(len(self.components), dtype=np.int32), self.parallelism
            ),
            cpu=cpu,
            memory_mb=np.zeros(n) if memory_mb is None else memory_mb,
            executor_ids=tuple(str(i) for i in range(n)),
            workers=workers,
            max_executors_per_worker=max_executors_per_worker,
            streams=tuple(self.streams),
        )
        return Problem(tuple(nodes), (topology,), self.graph())
