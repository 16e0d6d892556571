"""The units of a problem as the exact models see them: dense, and with the limits at hand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.parts.limits import UNLIMITED, Limits
from brain.algorithms.parts.units import Units


@dataclass(frozen=True)
class Items:
    """An item is a unit: an executor, or co-located executors that move as one.

    ``weight`` is the dense symmetric traffic between items, ``allowed[i, u]`` says whether item i
    may go to node u.
    """

    units: Units
    limits: Limits
    weight: NDArray[np.float64]
    allowed: NDArray[np.bool_]

    @classmethod
    def of(cls, units: Units, limits: Limits) -> Items:
        graph = units.graph
        weight = np.zeros((len(units), len(units)))
        weight[graph.sources, graph.indices] = graph.weight
        return cls(units, limits, weight, units.allowed[units.allowed_class] & limits.usable)

    def __len__(self) -> int:
        return len(self.units)

    @cached_property
    def total(self) -> float:
        """All traffic between items, each pair once."""
        return float(self.weight.sum()) / 2.0

    @cached_property
    def one_topology(self) -> bool:
        return len(np.unique(self.units.topology)) <= 1

    @cached_property
    def workers_bind(self) -> bool:
        """Whether it matters how many workers are used, or how many executors share one."""
        mine = np.unique(self.units.topology)
        return bool(
            (self.limits.workers[mine] < UNLIMITED).any()
            or (self.limits.per_worker[mine] < UNLIMITED).any()
        )

    def cut(self, node: NDArray[np.int64]) -> float:
        """The traffic between nodes of a whole placement of items."""
        return float(self.weight[node[:, None] != node[None, :]].sum()) / 2.0

    def step(self) -> float:
        """The least difference between two cut values: 1 with integer rates, else unknown (0)."""
        return 1.0 if bool((self.weight == np.rint(self.weight)).all()) else 0.0
