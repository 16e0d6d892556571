"""The BootstrapScheduler (Cardellini et al. 2015, section III-C): the first placement, by pools.

A centralised form of the QoS-aware algorithm that assigns *executor pools*, not single executors,
"in order to efficiently use the system resources". It runs when a topology is submitted and after
failures, when hardly anything has been measured; agents then move single executors.

1. A pool for each worker that the topology asks for. Pinned executors begin the pools, one for each
   set of nodes that they are pinned to ("the scheduler relies on the pinned operators to drive the
   placement of the executor pools"); more pools, where workers are left, begin with the executors
   that talk most and sit in no pool.
2. Executors join the pool that they talk to most, streams at unit rates where nothing is measured,
   until a pool has its share ⌈executors / pools⌉.
3. Pools come to rest between those that are pinned and go to the nearest node with a free slot.

How we differ: after failures what runs stays where it is as far as that is best, and executors
without a place go into the workers there are or to the nearest nodes. Hard limits hold, and what
does not fit as a pool is placed executor by executor. A last relaxation mends what pools cut. The
report that the paper refers to for details (RR-15.7) was not at hand.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.parts.finish import finish
from brain.algorithms.parts.repair import repair
from brain.algorithms.parts.state import State
from brain.algorithms.parts.workspace import Workspace
from brain.algorithms.qos import settled
from brain.algorithms.qos_parts.field import Field
from brain.algorithms.qos_parts.ground import Ground
from brain.algorithms.qos_parts.virtual import physical_placement
from brain.model import UNPLACED, Options, Placement, Problem, Result

NAME = "qos-bootstrap"


def solve(problem: Problem, current: Placement | None, options: Options) -> Result:
    """``qos-bootstrap``; parameters as ``qos``."""
    work = Workspace(problem, current, options)
    if len(work.units) == 0 or not work.limits.usable.any():
        return finish(work, NAME, work.current_node)
    field = Field(work)
    if current is not None and current.placed.any():
        # What runs is the agents' business; the repair finds places for what does not run.
        state = repair(work.limits, work.units, work.units.gather(work.current_node))
        Ground(field, state).relax()
        return settled(work, NAME, field, state, {"cost": field.cost(state.node)})
    state = State(work.limits, work.units)
    for t, topology in enumerate(problem.topologies):
        if not topology.frozen and len(topology):
            _place_pools(work, field, state, t)
    if (state.node == UNPLACED).any():
        single = physical_placement(work, field)
        state = repair(
            work.limits, work.units, np.where(state.node == UNPLACED, single.node, state.node)
        )
    Ground(field, state).relax()
    return settled(work, NAME, field, state, {"cost": field.cost(state.node)})


def pools_of(work: Workspace, field: Field, t: int) -> list[list[int]]:
    """The executor pools of a topology, as units; those with pinned executors first."""
    units = work.units
    own = np.flatnonzero(units.topology == t)
    wanted = int(min(work.limits.workers[t], len(own), max(1, work.limits.usable.sum())))
    usable = int(work.limits.usable.sum())
    pinned: dict[bytes, list[int]] = {}
    for u in own.tolist():
        mask = units.allowed[units.allowed_class[u]]
        if int(mask.sum()) < usable:
            pinned.setdefault(mask.tobytes(), []).append(u)
    pools = list(pinned.values())
    taken = {u for pool in pools for u in pool}
    talk = {u: float(field.peers(u)[1].sum()) for u in own.tolist()}
    share = -(-len(own) // max(wanted, 1))
    for u in sorted((u for u in own.tolist() if u not in taken), key=lambda u: (-talk[u], u)):
        if u in taken:
            continue
        if len(pools) < wanted and (not pools or not _met(field, u, taken)):
            pools.append([u])
            taken.add(u)
            _grow(field, pools, pools[-1], taken, share, set(own.tolist()))
    _join(field, pools, [u for u in own.tolist() if u not in taken], share)
    return pools


def _met(field: Field, unit: int, taken: set[int]) -> bool:
    return bool(taken & set(field.peers(unit)[0].tolist()))


def _grow(
    field: Field,
    pools: list[list[int]],
    pool: list[int],
    taken: set[int],
    share: int,
    own: set[int],
) -> None:
    """Takes in whoever talks most to a pool, until it has its share."""
    while len(pool) < share:
        pull: dict[int, float] = {}
        for u in pool:
            for peer, rate in zip(*(a.tolist() for a in field.peers(u)), strict=True):
                if peer in own and peer not in taken:
                    pull[peer] = pull.get(peer, 0.0) + rate
        if not pull:
            return
        best = min(pull, key=lambda u: (-pull[u], u))
        pool.append(best)
        taken.add(best)


def _join(field: Field, pools: list[list[int]], rest: list[int], share: int) -> None:
    """The rest, always the one that talks most to a pool with room, else to the smallest pool."""
    waiting = list(rest)
    if waiting and not pools:
        pools.append([waiting.pop(0)])
    where = {u: i for i, pool in enumerate(pools) for u in pool}
    while waiting:
        best: tuple[float, int, int] | None = None
        for u in waiting:
            pull: dict[int, float] = {}
            for peer, rate in zip(*(a.tolist() for a in field.peers(u)), strict=True):
                if peer in where and len(pools[where[peer]]) < share:
                    pull[where[peer]] = pull.get(where[peer], 0.0) + rate
            for i, amount in pull.items():
                if best is None or amount > best[0] + 1e-12:
                    best = (amount, u, i)
        if best is None:
            u = waiting[0]
            best = (0.0, u, min(range(len(pools)), key=lambda i: (len(pools[i]), i)))
        _, u, i = best
        waiting.remove(u)
        pools[i].append(u)
        where[u] = i


def _place_pools(work: Workspace, field: Field, state: State, t: int) -> None:
    units = work.units
    executors: NDArray[np.float64] = np.zeros(len(field.load))
    points: NDArray[np.float64] = np.zeros(len(field.load))
    for pool in pools_of(work, field, t):
        pull = np.sum([field.pull(u, state.node) for u in pool], axis=0)
        size, cpu = float(units.size[pool].sum()), float(units.cpu[pool].sum())
        more = field.node_cost(executors + size, points + cpu)
        price = pull + more - field.node_cost(executors, points)
        for to in np.lexsort((np.arange(len(price)), np.round(price, 9))).tolist():
            if _fits(state, pool, to):
                executors[to] += size
                points[to] += cpu
                break


def _fits(state: State, pool: list[int], to: int) -> bool:
    """Puts a pool on a node, whole or not at all."""
    done: list[int] = []
    for u in pool:
        if not state.fits_at(u, to):
            for other in done:
                state.take(other)
            return False
        state.put(u, to)
        done.append(u)
    return True
