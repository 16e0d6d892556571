"""The general exact model: which item on which node, for graphs without twins.

    minimise    Σ_e w_e · (1 − Σ_u z_eu)
    subject to  Σ_u p_iu = 1,  z_eu ≤ p_iu,  z_eu ≤ p_ju            for each edge e = {i, j}
                Σ_i cpu_i p_iu ≤ cpu_u,  likewise memory and spread
                Σ_i∈τ executors_i p_iu ≤ T_τ · v_τu,  p_iu ≤ v_τu   v: workers of topology τ on u
                Σ_τ v_τu ≤ slots_u,  Σ_u v_τu ≤ workers of τ

Nodes that are alike are told apart by their smallest item only: item i may use the r-th of them
only if r ≤ i, which takes away most of the mirror images. The bound is weak all the same; this
is for the small problems that the class model cannot take.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.exact_parts.classes import node_types
from brain.algorithms.exact_parts.highs import Budget, Model
from brain.algorithms.exact_parts.items import Items
from brain.algorithms.exact_parts.outcome import Outcome
from brain.algorithms.exact_parts.room import TooMany
from brain.algorithms.parts.limits import UNLIMITED


def solve_assignment(items: Items, budget: Budget, most_columns: int) -> Outcome:
    """Solves the assignment model; raises TooMany if it would have too many columns."""
    nodes = int(items.allowed.any(axis=0).sum())
    edges = int(np.count_nonzero(np.triu(items.weight)))
    if (len(items) + edges) * nodes > most_columns:
        raise TooMany(f"more than {most_columns} columns")
    builder = _Builder(items)
    builder.build()
    solved = builder.model.solve(budget, step=items.step())
    bound = max(items.total + solved.bound, 0.0)
    size = {"columns": len(builder.model.cost), "rows": len(builder.model.row_lower)}
    if solved.values is None:
        return Outcome(None, bound, False, solved.infeasible, size)
    return Outcome(builder.read(solved.values), bound, solved.proven, False, size)


class _Builder:
    def __init__(self, items: Items) -> None:
        self.items = items
        self.model = Model()
        self.place: dict[tuple[int, int], int] = {}
        self.entries: dict[tuple[int, int], list[tuple[int, float]]] = {}
        """Rows that each p_iu takes part in, gathered before its column is made."""

    def build(self) -> None:
        items, units, limits = self.items, self.items.units, self.items.limits
        for i, u in self._pairs():
            self.entries[i, u] = []
        for i in range(len(items)):
            self._limit([(i, u, 1.0) for u in self._nodes_of(i)], 1.0, 1.0)
        used = sorted({u for _, u in self.entries})
        for u in used:
            here = [i for i in range(len(items)) if (i, u) in self.entries]
            for demand, free in (
                (units.cpu, limits.cpu_free),
                (units.memory_mb, limits.memory_free),
            ):
                if np.isfinite(free[u]):
                    self._limit([(i, u, float(demand[i])) for i in here], -np.inf, float(free[u]))
            for s, most in enumerate(limits.spread_limit.tolist()):
                spread = [(i, u, 1.0) for i in here if units.spread_class[i] == s]
                self._limit(spread, -np.inf, float(most))
        if items.workers_bind or not items.one_topology:
            self._workers(used)
        links = self._links()
        for key, entries in self.entries.items():
            self.place[key] = self.model.column(0.0, 1.0, entries)
        for gain, rows in links:
            self.model.column(-gain, 1.0, rows, integer=False)

    def _pairs(self) -> list[tuple[int, int]]:
        rank = np.zeros(self.items.allowed.shape[1], dtype=np.int64)
        for nodes in node_types(self.items).nodes:
            rank[nodes] = np.arange(len(nodes))
        return [
            (i, int(u))
            for i in range(len(self.items))
            for u in np.flatnonzero(self.items.allowed[i])
            if rank[u] <= i
        ]

    def _nodes_of(self, item: int) -> list[int]:
        return [u for u in range(self.items.allowed.shape[1]) if (item, u) in self.entries]

    def _limit(self, terms: list[tuple[int, int, float]], lower: float, upper: float) -> None:
        if not terms and lower <= 0.0:
            return
        row = self.model.row(lower, upper)
        for i, u, coefficient in terms:
            self.entries[i, u].append((row, coefficient))

    def _workers(self, nodes: list[int]) -> None:
        units, limits = self.items.units, self.items.limits
        topologies = np.unique(units.topology).tolist()
        slots = {u: self.model.row(-np.inf, float(limits.slots_free[u])) for u in nodes}
        for t in topologies:
            most = int(limits.workers[t])
            total = self.model.row(-np.inf, float(most)) if most < UNLIMITED else None
            for u in nodes:
                here = [i for i, v in self.entries if v == u and units.topology[i] == t]
                rows = [(slots[u], 1.0)] + ([(total, 1.0)] if total is not None else [])
                if limits.per_worker[t] < UNLIMITED:
                    row = self.model.row(-np.inf, 0.0)
                    rows.append((row, -float(limits.per_worker[t])))
                    for i in here:
                        self.entries[i, u].append((row, float(units.size[i])))
                for i in here:
                    row = self.model.row(-np.inf, 0.0)
                    rows.append((row, -1.0))
                    self.entries[i, u].append((row, 1.0))
                self.model.column(0.0, float(limits.slots_free[u]), rows)

    def _links(self) -> list[tuple[float, list[tuple[int, float]]]]:
        """For each edge and node: the traffic kept inside if both ends are there."""
        links: list[tuple[float, list[tuple[int, float]]]] = []
        sources, targets = np.nonzero(np.triu(self.items.weight))
        for i, j in zip(sources.tolist(), targets.tolist(), strict=True):
            for u in self._nodes_of(i):
                if (j, u) not in self.entries:
                    continue
                rows = [self.model.row(0.0, np.inf), self.model.row(0.0, np.inf)]
                self.entries[i, u].append((rows[0], 1.0))
                self.entries[j, u].append((rows[1], 1.0))
                links.append((float(self.items.weight[i, j]), [(row, -1.0) for row in rows]))
        return links

    def read(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        node = np.full(len(self.items), -1, dtype=np.int64)
        for (i, u), column in self.place.items():
            if values[column] > 0.5:
                node[i] = u
        return node
