"""The communication graph: who says how much to whom."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class CommGraph:
    """A directed multigraph over executors 0 … n-1 as CSR arrays; parallel edges are summed.

    ``weight`` is an edge's cost a second: its bytes where known, else its tuples.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    tuples: NDArray[np.float64]
    weight: NDArray[np.float64]

    @classmethod
    def from_edges(
        cls,
        n: int,
        source: ArrayLike,
        target: ArrayLike,
        tuples: ArrayLike,
        bytes_: ArrayLike | None = None,
    ) -> CommGraph:
        """Builds the graph from edge arrays; a NaN in ``bytes_`` means that none were measured."""
        src = np.asarray(source, dtype=np.int32)
        dst = np.asarray(target, dtype=np.int32)
        count = np.asarray(tuples, dtype=np.float64)
        cost = count
        if bytes_ is not None:
            size = np.asarray(bytes_, dtype=np.float64)
            cost = np.where(np.isnan(size), count, size)
        keep = src != dst  # what a task says to itself never crosses anything
        src, dst, count, cost = src[keep], dst[keep], count[keep], cost[keep]
        # Both matrices sum duplicates in the same canonical order, so their patterns agree.
        t = sp.coo_array((count, (src, dst)), shape=(n, n)).tocsr()
        w = sp.coo_array((cost, (src, dst)), shape=(n, n)).tocsr()
        t.sort_indices()
        w.sort_indices()
        return cls(
            indptr=w.indptr.astype(np.int64),
            indices=w.indices.astype(np.int32),
            tuples=t.data,
            weight=w.data,
        )

    @classmethod
    def empty(cls, n: int) -> CommGraph:
        none = np.zeros(0)
        return cls.from_edges(n, none, none, none)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def edges(self) -> int:
        return len(self.indices)

    @cached_property
    def sources(self) -> NDArray[np.int32]:
        """The source of each edge, so that (sources, indices, weight) are edge arrays."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.indptr))

    @cached_property
    def total(self) -> float:
        return float(self.weight.sum())

    @cached_property
    def symmetric(self) -> CommGraph:
        """Both directions of a pair carry the sum of the two: what METIS and local search need."""
        return CommGraph.from_edges(
            len(self),
            np.concatenate((self.sources, self.indices)),
            np.concatenate((self.indices, self.sources)),
            np.concatenate((self.tuples, self.tuples)),
            np.concatenate((self.weight, self.weight)),
        )

    def crossing(self, part: ArrayLike) -> float:
        """Weight of the edges between different parts, each edge once."""
        p = np.asarray(part)
        return float(self.weight[p[self.sources] != p[self.indices]].sum())
