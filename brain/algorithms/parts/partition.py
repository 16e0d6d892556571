"""METIS behind one function: real weights in, part numbers out."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pymetis
from numpy.typing import NDArray

from brain.algorithms.parts.grow import grow
from brain.model import CommGraph

Objective = Literal["cut", "vol"]
_EDGE_SUM = 2**29
"""Integer weights are scaled to sum below this: METIS may be built with 32 bit integers."""
_VERTEX_SUM = 2**29
_TINY = 3
"""With fewer vertices a part than this METIS runs out of them, and says so on stdout."""
_SMALL = 200
"""Above this many vertices METIS is used all the same: growing is quadratic and more."""


def partition(
    symmetric: CommGraph,
    parts: int,
    vertex_weight: NDArray[np.float64],
    *,
    target: NDArray[np.float64] | None = None,
    objective: Objective = "cut",
    imbalance: float = 1.03,
    seed: int = 0,
    recursive: bool = False,
) -> NDArray[np.int32]:
    """A part 0 … parts-1 for each vertex; parts may stay empty.

    ``target`` are the shares of the load that parts should get (even by default; zero or more).
    METIS aims at ``imbalance`` but may overrun it. With ``vol`` METIS ignores edge weights.
    """
    n = len(symmetric)
    if n == 0 or parts <= 1:
        return np.zeros(n, dtype=np.int32)
    if target is not None and (target <= 0).any():
        some = np.flatnonzero(target > 0)  # METIS cannot make a part of nothing
        if len(some) == 0:
            target = None
        else:
            part = partition(
                symmetric,
                len(some),
                vertex_weight,
                target=target[some],
                objective=objective,
                imbalance=imbalance,
                seed=seed,
                recursive=recursive,
            )
            return some[part].astype(np.int32)
    if parts >= n:
        return _one_each(n, parts, vertex_weight, target)
    if n < min(_TINY * parts, _SMALL):
        return grow(symmetric, parts, vertex_weight, np.ones(parts) if target is None else target)
    edges = symmetric.weight > 0
    xadj = np.concatenate(([0], np.cumsum(edges)))[symmetric.indptr]
    options = pymetis.Options(
        objtype=pymetis.ObjType.VOL if objective == "vol" else pymetis.ObjType.CUT,
        ufactor=max(1, round((imbalance - 1.0) * 1000)),
        seed=seed,
    )
    index = pymetis.zero_copy_dtype()
    _, part = pymetis.part_graph(
        parts,
        pymetis.CSRAdjacency(xadj.astype(index), symmetric.indices[edges].astype(index)),
        vweights=_whole(vertex_weight, _VERTEX_SUM),
        eweights=_whole(symmetric.weight[edges], _EDGE_SUM),
        tpwgts=None if target is None else _shares(target),
        recursive=recursive and objective == "cut",
        options=options,
    )
    return np.asarray(part, dtype=np.int32)


def _one_each(
    n: int,
    parts: int,
    vertex_weight: NDArray[np.float64],
    target: NDArray[np.float64] | None,
) -> NDArray[np.int32]:
    """Not more vertices than parts: the heaviest vertex to the largest part, and so on."""
    shares = np.ones(parts) if target is None else target
    part = np.empty(n, dtype=np.int32)
    heaviest = np.argsort(-vertex_weight, kind="stable")
    part[heaviest] = np.argsort(-shares, kind="stable")[:n]
    return part


def _whole(weight: NDArray[np.float64], total: int) -> NDArray[np.int64]:
    """Positive integers in the same proportions; all ones where nothing weighs anything."""
    most = float(weight.max(initial=0.0))
    if most <= 0.0:
        return np.ones(len(weight), dtype=np.int64)
    scaled = weight / most  # first, so that huge weights do not overflow the sum
    scale = min((total - len(weight)) / float(scaled.sum()), 1e6)
    return np.maximum(np.rint(scaled * max(scale, 1.0)), 1.0).astype(np.int64)


def _shares(target: NDArray[np.float64]) -> list[float]:
    """Target weights that sum to one; METIS divides by them, so none is zero."""
    positive = np.maximum(target / max(float(target.max()), 1e-300), 1e-6)
    shares = positive / positive.sum()
    shares[-1] += 1.0 - float(shares.sum())
    return [float(s) for s in shares]
