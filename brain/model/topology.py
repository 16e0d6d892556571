"""A topology as placement sees it: executors, their demands and their constraints."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Topology:
    """Executors are numbered 0 … n-1 within the topology; ``executor_ids`` are their names outside.

    ``workers`` None means as many as the algorithm likes. ``pin`` maps a component to the ids of
    the nodes that may hold it, ``spread`` lists components of which no two executors share a node
    (as far as there are nodes), ``colocate`` lists groups of components that share one node.
    A ``frozen`` topology stays where it is, but its load and its slots count.
    """

    id: str
    components: tuple[str, ...]
    component_of: NDArray[np.int32]
    cpu: NDArray[np.float64]
    memory_mb: NDArray[np.float64]
    executor_ids: tuple[str, ...] | range
    workers: int | None = None
    max_executors_per_worker: int | None = None
    pin: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    spread: tuple[str, ...] = ()
    colocate: tuple[tuple[str, ...], ...] = ()
    frozen: bool = False
    name: str = ""
    streams: tuple[tuple[str, str, str], ...] = ()
    """(source component, target component, grouping): what is known before any traffic is."""

    def __len__(self) -> int:
        return len(self.component_of)

    @cached_property
    def system(self) -> NDArray[np.bool_]:
        """Executors of Storm's own components (``__acker`` and the like)."""
        own = np.array([c.startswith("__") for c in self.components], dtype=bool)
        return own[self.component_of] if len(self) else np.zeros(0, dtype=bool)


def executor_set_hash(executors: Iterable[tuple[int, int, str]]) -> str:
    """The hash both sides compute over ``(start task, end task, component)``; order is free."""
    lines = (f"{start}-{end} {component}\n" for start, end, component in sorted(executors))
    return hashlib.sha256("".join(lines).encode()).hexdigest()
