"""Interchangeable items and interchangeable nodes.

Two items are *twins* if they have the same demands and constraints and talk alike to every third
item. Swapping twins changes nothing, so only the number of a class's items on a node matters.
Being twins is an equivalence (if i, j are twins and j, k are, then w(i,j) = w(i,k) = w(j,k)), and
between two classes all weights are equal, so the traffic inside a node follows from the counts
alone. That is what keeps the class model exact; a graph without twins simply has classes of one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.exact_parts.items import Items


@dataclass(frozen=True)
class Classes:
    """``items[c]`` are the items of class c; ``weight[c, d]`` is the traffic of one item of c with
    one of d (the diagonal: of two items of one class)."""

    items: tuple[NDArray[np.int64], ...]
    weight: NDArray[np.float64]
    size: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True)
class NodeTypes:
    """``nodes[t]`` are the usable nodes of type t: alike in what is free and in who may come."""

    nodes: tuple[NDArray[np.int64], ...]

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def first(self) -> list[int]:
        """One node of each type."""
        return [int(n[0]) for n in self.nodes]


def twin_classes(items: Items) -> Classes:
    """Groups the items into classes of twins, in the order of each class's first item."""
    units = items.units
    # Twins have the same traffic in all: a cheap key before whole rows are compared.
    volume = np.round(items.weight.sum(axis=1), 6)
    groups: dict[tuple[float, ...], list[list[int]]] = {}
    ordered: list[list[int]] = []
    for i in range(len(items)):
        key = (
            int(units.topology[i]),
            int(units.size[i]),
            float(units.cpu[i]),
            float(units.memory_mb[i]),
            int(units.allowed_class[i]),
            int(units.spread_class[i]),
            float(volume[i]),
        )
        candidates = groups.setdefault(key, [])
        for members in candidates:
            if _twins(items.weight, members[0], i):
                members.append(i)
                break
        else:
            fresh = [i]
            candidates.append(fresh)
            ordered.append(fresh)
    first = [m[0] for m in ordered]
    weight = items.weight[np.ix_(first, first)]
    for c, members in enumerate(ordered):
        weight[c, c] = items.weight[members[0], members[1]] if len(members) > 1 else 0.0
    return Classes(
        items=tuple(np.array(m, dtype=np.int64) for m in ordered),
        weight=weight,
        size=np.array([len(m) for m in ordered], dtype=np.int64),
    )


def _twins(weight: NDArray[np.float64], i: int, j: int) -> bool:
    same = weight[i] == weight[j]
    same[i] = same[j] = True
    return bool(same.all())


def node_types(items: Items) -> NodeTypes:
    """Groups the nodes on which anything may go; the biggest types come first."""
    limits = items.limits
    groups: dict[tuple[object, ...], list[int]] = {}
    for u in range(items.allowed.shape[1]):
        if items.allowed[:, u].any():
            key = (
                float(limits.cpu_free[u]),
                float(limits.memory_free[u]),
                int(limits.slots_free[u]),
                items.allowed[:, u].tobytes(),
            )
            groups.setdefault(key, []).append(u)
    ordered = sorted(
        groups.values(), key=lambda g: (-limits.cpu_free[g[0]], -limits.memory_free[g[0]], g[0])
    )
    return NodeTypes(tuple(np.array(g, dtype=np.int64) for g in ordered))
