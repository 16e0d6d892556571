"""Where each executor goes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brain.model.cluster import SlotTable

UNPLACED = -1


@dataclass(frozen=True)
class Placement:
    """``slot[e]`` is the slot number of executor e, counted over all topologies, or UNPLACED."""

    slot: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.slot)

    @classmethod
    def none(cls, n: int) -> Placement:
        return cls(np.full(n, UNPLACED, dtype=np.int32))

    @property
    def placed(self) -> NDArray[np.bool_]:
        return np.not_equal(self.slot, UNPLACED)

    def nodes(self, slots: SlotTable) -> NDArray[np.int32]:
        """The node of each executor, or UNPLACED."""
        if len(slots) == 0:
            return np.full(len(self.slot), UNPLACED, dtype=np.int32)
        return np.where(self.slot == UNPLACED, UNPLACED, slots.node[self.slot]).astype(np.int32)
