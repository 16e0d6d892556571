"""Sums by place, the one array operation that all of this is made of."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def tally(where: NDArray[np.integer], amount: Floats | NDArray[np.bool_], count: int) -> Floats:
    """The sum of ``amount`` for each of the places 0 … count - 1."""
    return cast(Floats, np.bincount(where, amount, count).astype(np.float64, copy=False))


def ratio(above: Floats, below: Floats, otherwise: float = 0.0) -> Floats:
    """``above / below`` where ``below`` is positive."""
    out = np.full(np.broadcast(above, below).shape, otherwise)
    return cast(Floats, np.divide(above, below, out=out, where=below > 0))
