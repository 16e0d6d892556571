"""Graph partitioning with METIS (Fischer & Bernstein 2015, section III.C and IV.B.3).

The executors are partitioned into K parts, K being the number of machines:

    minimise   cost(G, P) = Σ ew(i, j) over i, j in different parts
    subject to loadImba(G, P) = max(pw_k / apw) <= I = 1.03

Vertex weight vw = tuples emitted + received, edge weight ew = tuples (or bytes) exchanged. The
paper runs gpmetis 5.1.0, k-way, with objective ``vol``; METIS then ignores the edge weights, and on
many graphs ``cut`` is much better, so both are offered.

How we differ:
  - An edge weighs the same both ways (METIS requires it), scaled to integers without overflow.
  - Unequal nodes get target weights in proportion to what they have free, and part k is made for
    node k; with a current placement parts are then relabelled to keep executors where they are.
  - Vertices weigh their CPU where it is known, as the paper wishes for; ``tuples`` is its own way.
  - METIS overruns hard capacities and knows no slots, pins or workers: the parts are repaired.
  - A topology with fewer workers than there are nodes is partitioned on its own, for the nodes with
    the most room; all others are partitioned together.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.parts.finish import finish
from brain.algorithms.parts.partition import Objective, partition
from brain.algorithms.parts.relabel import relabel
from brain.algorithms.parts.subgraph import subgraph
from brain.algorithms.parts.workspace import Workspace
from brain.model import UNPLACED, Options, Placement, Problem, Result

IMBALANCE = 1.03
_DENSE = 25_000_000
"""Relabelling needs parts × nodes numbers; above this parts stay with the nodes they are for."""


def solve(problem: Problem, current: Placement | None, options: Options) -> Result:
    """Parameters: ``objective`` (vol as in the paper, cut), ``edge_weights`` (bytes where measured,
    tuples), ``vertex_weights`` (cpu, tuples, none), ``imbalance`` (1.03), ``recursive`` (bisection
    in place of k-way; cut only)."""
    work = Workspace(problem, current, options)
    node = metis_nodes(work)
    return finish(work, "metis", node)


def metis_nodes(work: Workspace, seed: int | None = None) -> NDArray[np.int32]:
    """A node for each executor as METIS would have it, before any repair."""
    units = work.units
    wish = np.full(len(units), UNPLACED, dtype=np.int32)
    weight = _vertex_weights(work)
    room = _room(work)
    few = _few_workers(work)
    for t in [*few, None]:
        if t is None:
            members = np.flatnonzero(~np.isin(units.topology, few))
            nodes = np.flatnonzero(work.limits.usable)
        else:
            members = np.flatnonzero(units.topology == t)
            most = np.argsort(-np.where(work.limits.usable, room, -1.0), kind="stable")
            usable = int(work.limits.usable.sum())
            nodes = np.sort(most[: min(int(work.limits.workers[t]), usable)])
        if len(members) == 0 or len(nodes) == 0:
            continue
        wish[members] = _partition(work, members, nodes, weight, room[nodes], seed)
        np.subtract.at(room, wish[members], weight[members])
        room = np.maximum(room, 0.0)
    return units.scatter(wish)


def _partition(
    work: Workspace,
    members: NDArray[np.int64],
    nodes: NDArray[np.int64],
    weight: NDArray[np.float64],
    room: NDArray[np.float64],
    seed: int | None,
) -> NDArray[np.int32]:
    graph = subgraph(work.units.graph, members)
    if work.choice("edge_weights", "bytes", ("bytes", "tuples")) == "tuples":
        graph = replace(graph, weight=graph.tuples)
    part = partition(
        graph,
        len(nodes),
        weight[members],
        target=room if room.sum() > 0 else None,
        objective=cast(Objective, work.choice("objective", "vol", ("vol", "cut"))),
        imbalance=work.number("imbalance", IMBALANCE, 1.001, 10.0),
        seed=work.options.seed if seed is None else seed,
        recursive=bool(work.options.params.get("recursive", False)),
    )
    if work.current is None or len(nodes) ** 2 > _DENSE:
        return nodes[part].astype(np.int32)
    now = work.units.gather(work.current_node)[members]
    column = np.full(len(work.problem.nodes), UNPLACED, dtype=np.int32)
    column[nodes] = np.arange(len(nodes))
    now = np.where(now == UNPLACED, UNPLACED, column[now]).astype(np.int32)
    load = np.bincount(part, weight[members], len(nodes))
    chosen = relabel(
        part,
        len(nodes),
        now,
        len(nodes),
        fits=load[:, None] <= room[None, :] * IMBALANCE + 1e-9,
        weight=work.units.size[members].astype(float),
        home=np.arange(len(nodes), dtype=np.int32),
    )
    return nodes[chosen[part]].astype(np.int32)


def _vertex_weights(work: Workspace) -> NDArray[np.float64]:
    units = work.units
    known = "cpu" if units.cpu.sum() > 0 else "tuples"
    kind = work.choice("vertex_weights", known, ("cpu", "tuples", "none"))
    if kind == "cpu":
        return units.cpu
    if kind == "none":
        return units.size.astype(float)
    graph = work.graph
    handled = np.bincount(graph.sources, graph.tuples, len(graph)) + np.bincount(
        graph.indices, graph.tuples, len(graph)
    )
    inside = units.unit_of != UNPLACED
    return np.bincount(units.unit_of[inside], handled[inside], len(units)).astype(float)


def _room(work: Workspace) -> NDArray[np.float64]:
    """What each node may get: its free CPU where all nodes have a limit, else alike."""
    limits, units = work.limits, work.units
    room = np.where(limits.usable, np.maximum(limits.cpu_free, 0.0), 0.0)
    weights = _vertex_weights(work)
    total = float(weights.sum())
    if not np.isfinite(room[limits.usable]).all() or room.sum() <= 0:
        room = limits.usable.astype(float)
    if units.cpu.sum() > 0 and weights is units.cpu and np.isfinite(limits.cpu_free).any():
        return room
    scale = total / float(room.sum()) if room.sum() > 0 else 0.0
    return np.asarray(room * scale, dtype=np.float64)


def _few_workers(work: Workspace) -> list[int]:
    """Topologies that may not be on every node, the largest first."""
    usable = int(work.limits.usable.sum())
    size = np.bincount(work.units.topology, minlength=len(work.limits.workers))
    few = [t for t in range(len(size)) if size[t] and work.limits.workers[t] < usable]
    return sorted(few, key=lambda t: -int(size[t]))
