"""The fast exact model: set partitioning over class-count vectors.

    minimise    total − Σ_p internal(p) · x_p
    subject to  Σ_p count(p, c) · x_p = size(c)                     for each class c
                Σ_p∈s x_p ≤ Σ_q count(q, s) · y_q                   for each signature s
                Σ_q∈t y_q ≤ nodes of type t                          for each node type t
                Σ_q workers(q, τ) · y_q ≤ workers asked for by τ     for each topology τ
                x, y ≥ 0 and integer

It says the same as formulas 1–5 of Eskandari et al. (2020) without telling twins or equal nodes
apart, which is what made the paper's model slow: every solution had thousands of mirror images.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.exact_parts.classes import Classes, NodeTypes, node_types, twin_classes
from brain.algorithms.exact_parts.highs import Budget, Model
from brain.algorithms.exact_parts.items import Items
from brain.algorithms.exact_parts.outcome import Outcome
from brain.algorithms.exact_parts.pieces import (
    Effort,
    Pattern,
    Pieces,
    enumerate_patterns,
    enumerate_pieces,
)
from brain.algorithms.exact_parts.room import Room
from brain.algorithms.parts.limits import UNLIMITED


def solve_classes(items: Items, budget: Budget, most: int) -> Outcome:
    """Solves the class model; raises TooMany where it has too many columns to be worth it."""
    classes, types = twin_classes(items), node_types(items)
    room = Room(items, types)
    effort = Effort(most, budget.spent(0.4))
    pieces = enumerate_pieces(items, classes, types, room, effort)
    patterns = enumerate_patterns(pieces, classes, types, room, effort)
    size = {
        "classes": len(classes),
        "node_types": len(types),
        "pieces": len(pieces),
        "signatures": len(pieces.signatures),
        "patterns": len(patterns),
    }
    model = _build(items, classes, types, pieces, patterns)
    solved = model.solve(budget, step=items.step())
    bound = max(items.total + solved.bound, 0.0)
    if solved.values is None:
        return Outcome(None, bound, False, solved.infeasible, size)
    counts = np.rint(solved.values).astype(np.int64)
    x, y = counts[: len(pieces)], counts[len(pieces) :]
    node = _decode(items, classes, types, pieces, patterns, x, y)
    return Outcome(node, bound, solved.proven, False, size)


def _build(
    items: Items, classes: Classes, types: NodeTypes, pieces: Pieces, patterns: list[Pattern]
) -> Model:
    model = Model()
    class_rows = [model.row(float(n), float(n)) for n in classes.size]
    room_rows = [model.row(0.0, np.inf) for _ in pieces.signatures]
    type_rows = [model.row(0.0, float(len(nodes))) for nodes in types.nodes]
    worker_rows = {
        t: model.row(0.0, float(most))
        for t, most in enumerate(items.limits.workers.tolist())
        if most < UNLIMITED
    }
    for counts, internal, s in zip(
        pieces.counts, pieces.internal.tolist(), pieces.signature.tolist(), strict=True
    ):
        used = [(class_rows[c], float(n)) for c, n in counts]
        most = min(int(classes.size[c]) // n for c, n in counts)
        model.column(-internal, float(most), [*used, (room_rows[s], -1.0)])
    for pattern in patterns:
        entries = [(room_rows[s], float(n)) for s, n in pattern.counts]
        entries.append((type_rows[pattern.node_type], 1.0))
        entries += [(worker_rows[t], float(w)) for t, w in pattern.workers if t in worker_rows]
        model.column(0.0, float(len(types.nodes[pattern.node_type])), entries)
    return model


def _decode(
    items: Items,
    classes: Classes,
    types: NodeTypes,
    pieces: Pieces,
    patterns: list[Pattern],
    x: NDArray[np.int64],
    y: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Gives each chosen piece a place in a chosen pattern, and its items to that node."""
    waiting: dict[int, list[int]] = {s: [] for s in range(len(pieces.signatures))}
    for p in np.flatnonzero(x):
        waiting[int(pieces.signature[p])] += [int(p)] * int(x[p])
    stock = [list(c) for c in classes.items]
    free = [list(nodes) for nodes in types.nodes]
    node = np.full(len(items), -1, dtype=np.int64)
    for q in np.flatnonzero(y):
        for _ in range(int(y[q])):
            here = free[patterns[q].node_type].pop(0)
            for s, n in patterns[q].counts:
                for _ in range(min(n, len(waiting[s]))):
                    for c, count in pieces.counts[waiting[s].pop()]:
                        node[stock[c][:count]] = here
                        del stock[c][:count]
    return node
