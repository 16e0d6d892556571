"""What an exact model found out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Outcome:
    """``node`` of each item, or None if none was found; ``bound`` is on the traffic of items."""

    node: NDArray[np.int64] | None
    bound: float
    proven: bool
    infeasible: bool
    size: dict[str, int]
