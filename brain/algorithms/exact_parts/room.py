"""What one node of each type can take, as signatures of what is put on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brain.algorithms.exact_parts.classes import Classes, NodeTypes
from brain.algorithms.exact_parts.items import Items
from brain.algorithms.parts.limits import UNLIMITED


class TooMany(Exception):
    """An enumeration went past its limit; another formulation must take over."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Everything about a set of items that decides where it fits.

    ``executors`` counts per topology and ``spread`` per spread class, as sorted pairs; ``allowed``
    is a bit mask over node types.
    """

    cpu: float
    memory_mb: float
    executors: tuple[tuple[int, int], ...]
    spread: tuple[tuple[int, int], ...]
    allowed: int

    def __add__(self, other: Signature) -> Signature:
        return Signature(
            round(self.cpu + other.cpu, 6),
            round(self.memory_mb + other.memory_mb, 6),
            _merge(self.executors, other.executors),
            _merge(self.spread, other.spread),
            self.allowed & other.allowed,
        )


def _merge(
    a: tuple[tuple[int, int], ...], b: tuple[tuple[int, int], ...]
) -> tuple[tuple[int, int], ...]:
    if len(a) == len(b) == 1 and a[0][0] == b[0][0]:
        return ((a[0][0], a[0][1] + b[0][1]),)
    if not a or not b:
        return a or b
    total = dict(a)
    for key, count in b:
        total[key] = total.get(key, 0) + count
    return tuple(sorted(total.items()))


class Room:
    """Checks signatures against all limits of a node type together."""

    def __init__(self, items: Items, types: NodeTypes) -> None:
        limits = items.limits
        self.nothing = Signature(0.0, 0.0, (), (), (1 << len(types)) - 1)
        self.cpu = [float(limits.cpu_free[u]) for u in types.first]
        self.memory = [float(limits.memory_free[u]) for u in types.first]
        self.slots = [int(limits.slots_free[u]) for u in types.first]
        self.spread_limit = limits.spread_limit.tolist()
        self.workers_limit = limits.workers.tolist()
        self.per_worker = limits.per_worker.tolist()
        # A demand that nothing limits need not tell signatures apart.
        self.cpu_matters = bool(np.isfinite(self.cpu).any())
        self.memory_matters = bool(np.isfinite(self.memory).any())
        self.one_topology = items.one_topology
        self.workers_bind = items.workers_bind

    def of_class(self, items: Items, classes: Classes, types: NodeTypes, c: int) -> Signature:
        """The signature of one item of a class."""
        i, units = int(classes.items[c][0]), items.units
        topology, spread_class = int(units.topology[i]), int(units.spread_class[i])
        count_matters = self.per_worker[topology] < UNLIMITED
        topology_matters = self.workers_bind or not self.one_topology
        mask = sum(1 << t for t, u in enumerate(types.first) if items.allowed[i, u])
        return Signature(
            cpu=round(float(units.cpu[i]), 6) if self.cpu_matters else 0.0,
            memory_mb=round(float(units.memory_mb[i]), 6) if self.memory_matters else 0.0,
            executors=((topology, int(units.size[i]) if count_matters else 0),)
            if topology_matters
            else (),
            spread=((spread_class, 1),) if spread_class >= 0 else (),
            allowed=mask,
        )

    def workers(self, signature: Signature) -> dict[int, int]:
        """The workers that each topology needs on a node."""
        return {t: max(-(-n // self.per_worker[t]), 1) for t, n in signature.executors}

    def fits(self, signature: Signature, node_type: int) -> bool:
        if (
            not signature.allowed >> node_type & 1
            or signature.cpu > self.cpu[node_type]
            or signature.memory_mb > self.memory[node_type]
            or any(n > self.spread_limit[s] for s, n in signature.spread)
        ):
            return False
        if not signature.executors:
            return True
        need = self.workers(signature)
        return sum(need.values()) <= self.slots[node_type] and all(
            n <= self.workers_limit[t] for t, n in need.items()
        )

    def fits_somewhere(self, signature: Signature) -> bool:
        return any(self.fits(signature, t) for t in range(len(self.cpu)))
