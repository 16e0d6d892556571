"""Which part goes to which node, so that most of what runs stays where it is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from brain.model import UNPLACED


def relabel(
    part: NDArray[np.int32],
    parts: int,
    current_node: NDArray[np.int32],
    nodes: int,
    *,
    fits: NDArray[np.bool_] | None = None,
    weight: NDArray[np.float64] | None = None,
    home: NDArray[np.int32] | None = None,
) -> NDArray[np.int32]:
    """A node for each part, no node twice, with the most weight left in place.

    ``part`` and ``current_node`` are per executor (or unit), UNPLACED allowed in both; ``weight``
    counts 1 each by default. ``fits[p, n]`` says whether node n can hold part p; such pairs come
    first. ``home[p]`` is the node that part p was cut for, which wins among equals. There must be
    at least as many nodes as parts.
    """
    stays = np.zeros((parts, nodes))
    known = (part != UNPLACED) & (current_node != UNPLACED)
    amount = np.ones(len(part)) if weight is None else weight
    np.add.at(stays, (part[known], current_node[known]), amount[known])
    total = float(amount.sum()) + 1.0
    value = stays
    if home is not None:
        value = value.copy()
        # Less than any real difference: equal overlap falls to the node the part was cut for.
        smallest = float(amount[amount > 0].min()) if (amount > 0).any() else 1.0
        value[np.arange(parts), home] += smallest / (2.0 * parts + 2.0)
    if fits is not None:
        value = value + np.where(fits, 2.0 * total, 0.0)
    rows, columns = linear_sum_assignment(value, maximize=True)
    chosen = np.full(parts, UNPLACED, dtype=np.int32)
    chosen[rows] = columns
    return chosen
