"""A partition for graphs too small for METIS: parts grown from their heaviest talkers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brain.model import CommGraph


def grow(
    symmetric: CommGraph,
    parts: int,
    vertex_weight: NDArray[np.float64],
    target: NDArray[np.float64],
) -> NDArray[np.int32]:
    """Fills the parts one by one, the largest first, up to their share of the weight.

    Each part begins with the vertex that has the most traffic with those left, and takes next
    whoever talks to it most; a few rounds of single moves and swaps then lower the cut.
    """
    n = len(symmetric)
    weight = np.asarray(vertex_weight, dtype=float)
    if weight.sum() <= 0:
        weight = np.ones(n)
    share = target / target.sum() * weight.sum()
    dense = np.zeros((n, n))
    dense[symmetric.sources, symmetric.indices] = symmetric.weight
    part = np.full(n, -1, dtype=np.int32)
    order = np.argsort(-share, kind="stable")
    for i, p in enumerate(order):
        left = part < 0
        # What the parts after this one can still hold need not go here.
        rest = share[order[i + 1 :]].sum()
        filled = 0.0
        while left.any() and (filled < share[p] - 1e-9 or weight[left].sum() > rest + 1e-9):
            talk = dense[:, part == p].sum(axis=1) if filled else dense[:, left].sum(axis=1)
            fits = left & (filled + weight <= share[p] * 1.03 + 1e-9)
            if not fits.any():
                if filled and i + 1 < len(order):
                    break
                fits = left
            e = int(np.where(fits, talk, -1.0).argmax())
            part[e], left[e] = p, False
            filled += weight[e]
    part[part < 0] = order[-1]
    _swap(dense, part, weight)
    return part


def _swap(dense: NDArray[np.float64], part: NDArray[np.int32], weight: NDArray[np.float64]) -> None:
    """Swaps two vertices of equal weight while that lowers the cut, the best swap first."""
    n = len(part)
    parts = int(part.max()) + 1
    for _ in range(2 * n):
        tied = np.stack([dense[:, part == p].sum(axis=1) for p in range(parts)], axis=1)
        own = tied[np.arange(n), part]
        to = tied[:, part]  # traffic of vertex a with the part of vertex b
        gain = to + to.T - own[:, None] - own[None, :] - 2.0 * dense
        gain[(part[:, None] == part[None, :]) | (weight[:, None] != weight[None, :])] = 0.0
        a, b = np.unravel_index(int(gain.argmax()), gain.shape)
        if gain[a, b] <= 1e-9 * (1.0 + dense.max()):
            return
        part[a], part[b] = part[b], part[a]
