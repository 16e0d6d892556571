"""The exact model for few items: everything that one node can hold, as one column.

    minimise    total − Σ_v internal(v) · x_tv
    subject to  Σ_t Σ_v count(v, c) · x_tv = size(c)               for each class c
                Σ_v x_tv ≤ nodes of type t                          for each node type t
                Σ_t Σ_v workers(v, τ) · x_tv ≤ workers of τ         for each topology τ

Where the contents of a node are few enough to be listed, no patterns are needed, however much the
demands of the items differ.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from brain.algorithms.exact_parts.classes import node_types, twin_classes
from brain.algorithms.exact_parts.highs import Budget, Model
from brain.algorithms.exact_parts.items import Items
from brain.algorithms.exact_parts.outcome import Outcome
from brain.algorithms.exact_parts.room import Room, Signature, TooMany
from brain.algorithms.parts.limits import UNLIMITED


def solve_contents(items: Items, budget: Budget, most: int) -> Outcome:
    """Solves the contents model; raises TooMany past ``most`` columns."""
    classes, types = twin_classes(items), node_types(items)
    vectors = float(np.prod(classes.size + 1.0))
    if vectors * len(types) > most:
        raise TooMany(f"more than {most} contents of a node")
    room = Room(items, types)
    single = [room.of_class(items, classes, types, c) for c in range(len(classes))]
    model = Model()
    class_rows = [model.row(float(n), float(n)) for n in classes.size]
    type_rows = [model.row(0.0, float(len(nodes))) for nodes in types.nodes]
    worker_rows = {
        t: model.row(0.0, float(w))
        for t, w in enumerate(items.limits.workers.tolist())
        if w < UNLIMITED
    }
    columns: list[tuple[int, tuple[int, ...]]] = []
    for vector in product(*(range(n + 1) for n in classes.size.tolist())):
        if not any(vector):
            continue
        held = _signature(room.nothing, single, vector)
        counts = np.array(vector, dtype=float)
        inside = float(counts @ classes.weight @ counts - np.diag(classes.weight) @ counts) / 2.0
        used = [(class_rows[c], float(n)) for c, n in enumerate(vector) if n]
        workers = room.workers(held)
        used += [(worker_rows[t], float(w)) for t, w in workers.items() if t in worker_rows]
        for t in range(len(types)):
            if room.fits(held, t):
                upper = float(len(types.nodes[t]))
                model.column(-inside, upper, [*used, (type_rows[t], 1.0)])
                columns.append((t, vector))
    size = {"classes": len(classes), "node_types": len(types), "contents": len(columns)}
    if not columns:
        return Outcome(None, 0.0, False, True, size)
    solved = model.solve(budget, step=items.step())
    bound = max(items.total + solved.bound, 0.0)
    if solved.values is None:
        return Outcome(None, bound, False, solved.infeasible, size)
    stock = [list(c) for c in classes.items]
    free = [list(nodes) for nodes in types.nodes]
    node = np.full(len(items), -1, dtype=np.int64)
    for (t, vector), count in zip(columns, np.rint(solved.values).astype(int), strict=True):
        for _ in range(count):
            here = free[t].pop(0)
            for c, n in enumerate(vector):
                node[stock[c][:n]] = here
                del stock[c][:n]
    return Outcome(node, bound, solved.proven, False, size)


def _signature(nothing: Signature, single: list[Signature], vector: tuple[int, ...]) -> Signature:
    held = nothing
    for signature, n in zip(single, vector, strict=True):
        for _ in range(n):
            held = held + signature
    return held
