"""FUSE_TASKS and UPDATE_GRAPH (Eskandari 2020, Algorithm 1, lines 42 and 45): units from units."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.parts.units import Units
from brain.model import UNPLACED


def fused_units(units: Units, group: NDArray[np.int64]) -> Units:
    """Units of one group become one unit; groups are 0, 1, …, and -1 leaves a unit out.

    Groups must not mix topologies. A fused unit may go where all of its units may; whether it
    keeps their components spread is not looked at any more, so do not fuse what must be apart.
    """
    count = int(group.max(initial=-1)) + 1
    inside = np.flatnonzero(group >= 0)
    by_group = inside[np.argsort(group[inside], kind="stable")]
    first_unit = by_group[np.searchsorted(group[by_group], np.arange(count))]
    alone = np.bincount(group[inside], minlength=count) == 1
    members = [units.members_of(int(u)) for u in by_group]
    size = np.bincount(group[inside], units.size[inside], count).astype(np.int64)
    known = units.unit_of != UNPLACED
    unit_of = np.full(len(units.unit_of), UNPLACED, dtype=np.int32)
    unit_of[known] = group[units.unit_of[known]]
    allowed, allowed_class = _allowed(units, group, inside, first_unit)
    return Units(
        unit_of=unit_of,
        first=np.concatenate(([0], np.cumsum(size))).astype(np.int64),
        members=np.concatenate(members) if members else np.zeros(0, dtype=np.int64),
        topology=units.topology[first_unit],
        size=size,
        cpu=np.bincount(group[inside], units.cpu[inside], count).astype(float),
        memory_mb=np.bincount(group[inside], units.memory_mb[inside], count).astype(float),
        allowed=allowed,
        allowed_class=allowed_class,
        spread_class=np.where(alone, units.spread_class[first_unit], -1).astype(np.int32),
        executor_graph=units.executor_graph,
    )


def _allowed(
    units: Units,
    group: NDArray[np.int64],
    inside: NDArray[np.int64],
    first_unit: NDArray[np.int64],
) -> tuple[NDArray[np.bool_], NDArray[np.int32]]:
    """Masks of allowed nodes; a new one for each group whose units differ in theirs."""
    own = units.allowed_class[first_unit].copy()
    masks = list(units.allowed)
    mixed = np.unique(group[inside][units.allowed_class[inside] != own[group[inside]]])
    for g in mixed:
        own[g] = len(masks)
        masks.append(units.allowed[units.allowed_class[group == g]].all(axis=0))
    return np.array(masks, dtype=bool), own.astype(np.int32)
