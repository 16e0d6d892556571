"""Among equally good placements the one that moves least: twins and equal nodes change places."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from brain.algorithms.exact_parts.classes import Classes, NodeTypes


def keep_home(
    node: NDArray[np.int64],
    home: NDArray[np.int32],
    size: NDArray[np.int64],
    classes: Classes,
    types: NodeTypes,
) -> NDArray[np.int64]:
    """An equivalent placement of items that leaves the most executors on their ``home`` node."""
    known = np.concatenate([node, home, *types.nodes])
    nodes = int(known.max(initial=-1)) + 1
    planned = np.zeros((len(classes), nodes), dtype=np.int64)
    present = np.zeros((len(classes), nodes), dtype=np.int64)
    weight = np.zeros(len(classes))
    for c, items in enumerate(classes.items):
        np.add.at(planned[c], node[items], 1)
        settled = home[items][home[items] >= 0]
        np.add.at(present[c], settled, 1)
        weight[c] = size[items[0]]
    renamed = np.arange(nodes)
    for group in types.nodes:
        overlap = np.minimum(planned[:, group, None], present[:, None, group])
        gain = np.tensordot(weight, overlap, axes=1)
        rows, columns = linear_sum_assignment(gain, maximize=True)
        renamed[group[rows]] = group[columns]
    moved = np.zeros_like(planned)
    moved[:, renamed] = planned
    result = np.empty_like(node)
    for c, items in enumerate(classes.items):
        quota = moved[c].copy()
        waiting = []
        for i in items:
            at = int(home[i])
            if at >= 0 and quota[at] > 0:
                quota[at] -= 1
                result[i] = at
            else:
                waiting.append(i)
        result[waiting] = np.repeat(np.arange(nodes), quota)
    return result
