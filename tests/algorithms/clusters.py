"""Problems in one line, and seeded random ones with every constraint that Storm has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from brain.model import UNPLACED, CommGraph, Node, Placement, Problem, Topology
from brain.problems.clusters import cluster

__all__ = ["chain", "cluster", "nodes_of", "random_problem", "topology", "union"]

Edge = tuple[int, int, float]


def topology(
    name: str,
    components: dict[str, int],
    *,
    cpu: float | Sequence[float] = 0.0,
    memory_mb: float | Sequence[float] = 0.0,
    **fields: object,
) -> Topology:
    """A topology from its components and their parallelism."""
    counts = list(components.values())
    n = sum(counts)
    return Topology(
        id=name,
        components=tuple(components),
        component_of=np.repeat(np.arange(len(counts), dtype=np.int32), counts),
        cpu=np.broadcast_to(np.asarray(cpu, dtype=float), (n,)).copy(),
        memory_mb=np.broadcast_to(np.asarray(memory_mb, dtype=float), (n,)).copy(),
        executor_ids=tuple(str(i) for i in range(n)),
        **fields,  # type: ignore[arg-type]
    )


def union(
    nodes: Sequence[Node], topologies: Sequence[Topology], edges: Sequence[Sequence[Edge]] = ()
) -> Problem:
    """A problem of several topologies; ``edges[t]`` are over the executors of topology t."""
    rows = []
    offset = 0
    for t, own in zip(topologies, [*edges, *([()] * len(topologies))], strict=False):
        rows += [(offset + a, offset + b, w) for a, b, w in own]
        offset += len(t)
    table = np.array(rows, dtype=float).reshape(len(rows), 3)
    graph = CommGraph.from_edges(offset, table[:, 0], table[:, 1], table[:, 2])
    return Problem(tuple(nodes), tuple(topologies), graph)


def chain(executors: int, nodes: Sequence[Node], **fields: object) -> Problem:
    """One component a … of one executor each, talking along the line."""
    names = {f"c{i}": 1 for i in range(executors)}
    edges = [(i, i + 1, 10.0) for i in range(executors - 1)]
    fields.setdefault("cpu", 100.0)
    return union(nodes, [topology("t", names, **fields)], [edges])  # type: ignore[arg-type]


def nodes_of(problem: Problem, placement: Placement) -> list[int]:
    return [int(n) for n in placement.nodes(problem.slots)]


def random_problem(seed: int) -> tuple[Problem, Placement | None]:
    """A small problem with anything in it: some are easy, some tight, some cannot be solved."""
    rng = np.random.default_rng(seed)
    nodes = _random_nodes(rng)
    topologies, edges = [], []
    for t in range(int(rng.integers(1, 4))):
        own, talk = _random_topology(f"t{t}", nodes, rng)
        topologies.append(own)
        edges.append(talk)
    problem = union(nodes, topologies, edges)
    current = _random_placement(problem, rng) if rng.random() < 0.5 else None
    if current is not None and rng.random() < 0.3:
        frozen = topology_frozen(topologies[0])
        problem = union(nodes, [frozen, *topologies[1:]], edges)
    return problem, current


def topology_frozen(own: Topology) -> Topology:
    from dataclasses import replace

    return replace(own, frozen=True)


def _random_nodes(rng: np.random.Generator) -> list[Node]:
    nodes = []
    limited = rng.random() < 0.7
    with_memory = rng.random() < 0.5
    for i in range(int(rng.integers(1, 8))):
        slots = int(rng.integers(0, 6)) if rng.random() < 0.3 else 4
        nodes.append(
            Node(
                f"n{i}",
                tuple(range(6700, 6700 + slots)),
                rack=f"r{int(rng.integers(3))}",
                cpu=float(rng.choice([0, 100, 200, 400, 800])) if limited else None,
                memory_mb=float(rng.choice([512, 1024, 4096])) if with_memory else None,
                excluded=bool(rng.random() < 0.1),
            )
        )
    return nodes


def _random_topology(
    name: str, nodes: list[Node], rng: np.random.Generator
) -> tuple[Topology, list[Edge]]:
    count = int(rng.integers(0, 6)) if rng.random() < 0.1 else int(rng.integers(1, 6))
    components = {f"c{i}": int(rng.integers(1, 6)) for i in range(count)}
    if rng.random() < 0.3:
        components["__acker"] = int(rng.integers(1, 3))
    names = list(components)
    n = sum(components.values())
    fields: dict[str, object] = {}
    if rng.random() < 0.5:
        fields["workers"] = int(rng.integers(1, 7))
    if rng.random() < 0.3:
        fields["max_executors_per_worker"] = int(rng.integers(1, 6))
    if names and rng.random() < 0.3:
        chosen = rng.choice([x.id for x in nodes], size=int(rng.integers(1, len(nodes) + 1)))
        fields["pin"] = {
            names[int(rng.integers(len(names)))]: tuple(dict.fromkeys(map(str, chosen)))
        }
    if names and rng.random() < 0.3:
        fields["spread"] = (names[int(rng.integers(len(names)))],)
    if len(names) > 1 and rng.random() < 0.3:
        fields["colocate"] = (tuple(str(c) for c in rng.choice(names, size=2, replace=False)),)
    fields["streams"] = tuple(zip(names, names[1:], ["shuffle"] * n, strict=False))
    edges: list[Edge] = []
    if n > 1 and rng.random() < 0.8:
        for _ in range(int(rng.integers(0, 4 * n))):
            a, b = (int(x) for x in rng.integers(0, n, size=2))
            edges.append((a, b, float(np.round(10 ** rng.uniform(-1, 4), 2))))
    return (
        topology(
            name,
            components,
            cpu=rng.choice([0.0, 10.0, 50.0, 100.0], size=n).tolist(),
            memory_mb=rng.choice([0.0, 128.0, 256.0], size=n).tolist(),
            **fields,
        ),
        edges,
    )


def _random_placement(problem: Problem, rng: np.random.Generator) -> Placement:
    """What might be running now: no slot of two topologies, but not always within the limits."""
    slot = np.full(len(problem), UNPLACED, dtype=np.int32)
    free = rng.permutation(len(problem.slots))
    for t in range(len(problem.topologies)):
        own = problem.executors_of(t)
        mine, free = free[: int(rng.integers(1, 4))], free[3:]
        if len(mine):
            slot[own] = rng.choice(mine, size=own.stop - own.start)
            gone = rng.random(own.stop - own.start) < 0.1
            slot[own][gone] = UNPLACED
    return Placement(slot)
