"""Random problems that look like Storm's: layered topologies with skewed traffic."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brain.errors import BadInput
from brain.model import Node, Problem
from brain.problems.build import TopologyBuilder
from brain.problems.clusters import FIRST_PORT


def random_problem(executors: int, nodes: int, seed: int = 0, *, fill: float = 0.75) -> Problem:
    """One topology of so many executors on so many unequal nodes, loaded to ``fill`` of its CPU.

    Components of 1 … √n executors in a random acyclic graph; each executor talks to a few of the
    next component's, at rates that differ by a thousand; demands differ by ten.
    """
    if not 1 <= executors <= 2_000_000:
        raise BadInput("executors", f"must be between 1 and 2000000, not {executors}")
    if not 1 <= nodes <= 100_000:
        raise BadInput("nodes", f"must be between 1 and 100000, not {nodes}")
    rng = np.random.default_rng(seed)
    build = TopologyBuilder(f"random-{executors}-{seed}")
    left, most = executors, max(1, int(executors**0.5))
    while left:
        size = min(left, int(rng.integers(1, most + 1)))
        build.component(f"c{len(build.components)}", size)
        left -= size
    for i, target in enumerate(build.components):
        for j in {int(x) for x in rng.integers(0, max(i, 1), size=2)} if i else ():
            source = build.components[j]
            build.stream(source, target, "fields", _traffic(build, source, target, rng))
    cpu = np.round(rng.uniform(5.0, 50.0, executors), 1)
    memory = np.round(rng.uniform(32.0, 256.0, executors))
    weight = rng.choice([1.0, 1.0, 2.0, 4.0], size=nodes)
    capacity = np.maximum(cpu.sum() / fill * weight / weight.sum(), cpu.max())
    room = np.maximum(memory.sum() / 0.6 * weight / weight.sum(), memory.max())
    ports = tuple(range(FIRST_PORT, FIRST_PORT + 4))
    machines = [
        Node(f"n{i + 1}", ports, cpu=float(np.ceil(c)), memory_mb=float(np.ceil(m)))
        for i, (c, m) in enumerate(zip(capacity, room, strict=True))
    ]
    return build.problem(machines, cpu, memory_mb=memory)


def _traffic(
    build: TopologyBuilder, source: str, target: str, rng: np.random.Generator
) -> NDArray[np.float64]:
    a, b = len(build.executors(source)), len(build.executors(target))
    rate = np.zeros((a, b))
    for i in range(a):
        peers = rng.choice(b, size=min(b, 4), replace=False)
        rate[i, peers] = np.round(10.0 ** rng.uniform(0.0, 3.0, len(peers)), 1)
    return rate
