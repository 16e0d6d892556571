"""Units on nodes as flat arrays, for code that numba compiles.

``Net`` is the problem and does not change; ``Live`` is a placement with all its bookkeeping. They
say the same as ``parts.state.State``, in a form whose moves cost nanoseconds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.parts.limits import Limits
from brain.algorithms.parts.units import Units
from brain.model import UNPLACED

DENSE_TIES = 6_000_000
"""Up to this many units × nodes, each unit's traffic with each node is kept in a table."""


class Net(NamedTuple):
    """Symmetric traffic in CSR form, demands, limits, and what a change costs.

    ``home`` is the node that a unit is on now, UNPLACED if none. A unit off its home costs
    ``price[0]`` for each executor; a worker whose executors change costs ``price[1]``, one worker
    being assumed for each topology on a node.

    ``near[n, m]`` says how much of the traffic between nodes n and m is spared by their being near
    each other: with no rows all of it on the same node and else nothing.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weight: NDArray[np.float64]
    cpu: NDArray[np.float64]
    memory: NDArray[np.float64]
    size: NDArray[np.int64]
    topology: NDArray[np.int32]
    allowed: NDArray[np.bool_]
    allowed_class: NDArray[np.int32]
    spread_class: NDArray[np.int32]
    spread_limit: NDArray[np.int64]
    per_worker: NDArray[np.int64]
    home: NDArray[np.int32]
    price: NDArray[np.float64]
    near: NDArray[np.float64]


class Live(NamedTuple):
    """A placement of units. ``head``, ``after`` and ``before`` link the units of a node.

    ``ties[u, n]`` is the traffic of unit u that is spared if it is on node n: that with node n, or
    with what is near, by ``Net.near`` (no rows if that would be too big).
    ``crowd[t, n]`` counts the executors of topology t on node n, and ``changes[t, n]`` its units
    that arrived there or left. ``moved[0]`` is the number of executors off their home,
    ``moved[1]`` how many may be. ``rng[0]`` is the state of the random numbers.
    """

    node: NDArray[np.int32]
    cpu_free: NDArray[np.float64]
    memory_free: NDArray[np.float64]
    slots_free: NDArray[np.int64]
    workers_left: NDArray[np.int64]
    crowd: NDArray[np.int32]
    spread_count: NDArray[np.int32]
    head: NDArray[np.int32]
    after: NDArray[np.int32]
    before: NDArray[np.int32]
    ties: NDArray[np.float64]
    changes: NDArray[np.int32]
    moved: NDArray[np.int64]
    rng: NDArray[np.uint64]


def make_net(
    limits: Limits,
    units: Units,
    home: NDArray[np.int32] | None = None,
    move_cost: float = 0.0,
    restart_cost: float = 0.0,
    near: NDArray[np.float64] | None = None,
) -> Net:
    graph = units.graph
    return Net(
        indptr=graph.indptr,
        indices=graph.indices,
        weight=graph.weight,
        cpu=units.cpu,
        memory=units.memory_mb,
        size=units.size,
        topology=units.topology,
        allowed=np.ascontiguousarray(units.allowed & limits.usable),
        allowed_class=units.allowed_class,
        spread_class=units.spread_class,
        spread_limit=limits.spread_limit,
        per_worker=limits.per_worker,
        home=np.full(len(units), UNPLACED, dtype=np.int32) if home is None else home,
        price=np.array([move_cost, restart_cost]),
        near=np.zeros((0, 0)) if near is None else near,
    )


def make_live(
    limits: Limits, units: Units, net: Net, seed: int = 0, max_moved: int | None = None
) -> Live:
    """Nothing placed yet; units that have a home count as away from it."""
    nodes, topologies = len(limits.usable), len(limits.workers)
    dense = len(units) * nodes <= DENSE_TIES
    changes = np.zeros((topologies, nodes), dtype=np.int32)
    settled = net.home != UNPLACED
    np.add.at(changes, (net.topology[settled], net.home[settled]), 1)
    cap = np.iinfo(np.int64).max // 4 if max_moved is None else max_moved
    return Live(
        node=np.full(len(units), UNPLACED, dtype=np.int32),
        cpu_free=limits.cpu_free.copy(),
        memory_free=limits.memory_free.copy(),
        slots_free=limits.slots_free.copy(),
        workers_left=limits.workers.copy(),
        crowd=np.zeros((topologies, nodes), dtype=np.int32),
        spread_count=np.zeros((len(limits.spread_limit), nodes), dtype=np.int32),
        head=np.full(nodes, UNPLACED, dtype=np.int32),
        after=np.full(len(units), UNPLACED, dtype=np.int32),
        before=np.full(len(units), UNPLACED, dtype=np.int32),
        ties=np.zeros((len(units) if dense else 0, nodes)),
        changes=changes,
        moved=np.array([int(net.size[settled].sum()), cap], dtype=np.int64),
        rng=np.array([(seed * 0x9E3779B97F4A7C15 + 0x2545F4914F6CDD1D) % 2**64], dtype=np.uint64),
    )
