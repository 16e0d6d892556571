"""Local search over moves and swaps, with annealing; our own, for what partitioners leave behind.

METIS and the greedy algorithms overrun capacities, ignore pins and workers, and stop early (see
DESIGN.md, "Facts measured"). Here a placement is first repaired, then each unit takes its best
move or swap until none gains, then it is annealed, first with CPU and memory as prices (fresh
placements only), then within all limits: CPU, memory, slots, workers, pins, spread; co-located
executors move as one. If that does not better it, it stays as it was. The inner loops are compiled
with numba (``localsearch_parts``) and keep each unit's traffic with each node, so a gain costs a
lookup.

With a current placement the search starts there, counts ``move_cost`` and ``restart_cost`` in
every step (see ``objective``), and never goes beyond ``max_moves``: the result is the best plan
found within that cap. Without one it starts from METIS.

θ buys a number of annealing proposals that depends on the problem alone (``steps_for``), about a
quarter of θ on a common core: the same problem, seed and θ give the same placement, here and as
the first member of ``auto``. Only a machine so slow that θ itself runs out cuts it short, and
``details["cut_off"]`` then says so.

Parameters: ``steps`` (annealing proposals in place of what θ buys), ``move_cost``,
``restart_cost``, ``move_share``, ``restart_share``, ``latency_weight`` (see ``objective``),
``start`` (metis, current, empty).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.localsearch_parts.driver import MOVES_FIRST, Search
from brain.algorithms.localsearch_parts.state import DENSE_TIES
from brain.algorithms.localsearch_parts.warmup import warm_up
from brain.algorithms.objective import Prices, nearness, order
from brain.algorithms.parts.finish import conclude
from brain.algorithms.parts.levels import feasible_nodes, to_slots
from brain.algorithms.parts.moves import cap_moves
from brain.algorithms.parts.relabel import relabel
from brain.algorithms.parts.score import score
from brain.algorithms.parts.shuffle import shuffled_partition
from brain.algorithms.parts.units import Units
from brain.algorithms.parts.verify import violations
from brain.algorithms.parts.workspace import Workspace
from brain.model import UNPLACED, Options, Placement, Problem, Result, Status


def solve(problem: Problem, current: Placement | None, options: Options) -> Result:
    """``localsearch``; compiling or loading its functions is not counted against θ."""
    warm_up()
    begin = time.perf_counter()
    deadline = begin + max(0.9 * options.theta, LEAST_SECONDS)
    if "steps" in options.params:
        deadline = math.inf
    work = Workspace(problem, current, options)
    found = search_nodes(work, Prices.of(work), lambda: time.perf_counter() > deadline)
    return result_of(work, Prices.of(work), found)


@dataclass(frozen=True)
class Found:
    """Where the search left each unit; ``cut_off`` if it was told to stop before its end."""

    node: NDArray[np.int32]
    polished: float = 0.0
    annealed: float = 0.0
    cut_off: bool = False


def search_nodes(work: Workspace, prices: Prices, expired: Callable[[], bool]) -> Found:
    """The whole search over nodes; the same for the same problem and options unless cut off."""
    if len(work.units) == 0 or not work.limits.usable.any():
        return Found(work.units.gather(work.current_node))
    search = make_search(work, prices)
    kind = work.choice("start", "metis" if work.current is None else "current", STARTS)
    search.load(start_nodes(work, kind))
    rounds = swap_passes_for(work)
    search.polish(expired, swap_passes=rounds)
    start, before = search.node, search.cost()
    if before > search.noise:
        steps = steps_for(work)
        if kind == "metis" and work.current is None and search.can_soften:
            anneal_twice(search, steps, expired=expired)
        else:
            search.anneal(steps, warm=1.5, cold=0.1, expired=expired, swap_passes=rounds)
        if _left_out(search.node) > _left_out(start) or search.cost() > before:
            search.load(start)
    return Found(search.node, before, search.cost(), expired())


def anneal_twice(
    search: Search,
    steps: int,
    *,
    deadline: float | None = None,
    expired: Callable[[], bool] = lambda: False,
) -> None:
    """From wherever the search is: softly while it is hot, then within all limits."""
    (soft, hard), halfway = halves(steps, SOFT_SHARE, deadline)
    search.anneal_softly(soft, deadline=halfway, expired=expired)
    search.anneal(hard, deadline=deadline, warm=0.7, cold=0.2, expired=expired)


def halves(
    steps: int, share: float, deadline: float | None
) -> tuple[tuple[int, int], float | None]:
    """Steps before and after a change, and when that is; a deadline takes the place of steps."""
    if deadline is None:
        return (int(share * steps), steps - int(share * steps)), None
    begin = time.perf_counter()
    return (10**15, 10**15), begin + share * (deadline - begin)


def _left_out(node: NDArray[np.int32]) -> int:
    return int((node == UNPLACED).sum())


def result_of(work: Workspace, prices: Prices, found: Found) -> Result:
    """The result of ``localsearch`` for what its search found."""
    details = {"polished": found.polished, "annealed": found.annealed, "cut_off": found.cut_off}
    placement = settle(work, prices, work.units.scatter(found.node))
    return conclude(work, "localsearch", placement, details=details)


def steps_for(work: Workspace) -> int:
    """Annealing proposals: ``steps`` if given, else what θ buys on a graph of this density."""
    if "steps" in work.options.params:
        return int(work.number("steps", 0, 0, 1e12))
    units = work.units
    degree = units.graph.edges / max(len(units), 1)
    cells = len(units) * len(work.limits.usable)
    per_second = STEPS_A_SECOND / 50
    if cells <= DENSE_TIES and work.current is None:
        per_second = STEPS_A_SECOND / (1.0 + cells / CELLS_IN_CACHE)
    per_second /= 1.0 + degree / 64.0
    bought = int(per_second * min(max(work.options.theta, 0.0), MOST_SECONDS))
    return min(bought, MOST_STEPS_A_UNIT * len(units))


def swap_passes_for(work: Workspace) -> int:
    """Passes over all units for better swaps: to the end, but few where a pass takes long."""
    if "steps" in work.options.params or len(work.units) <= MOVES_FIRST:
        return 50
    return max(1, int(0.1 * work.options.theta / (SECONDS_A_SWAP * len(work.units))))


SECONDS_A_SWAP = 4e-5
"""What looking for one unit's best swap takes about, without a table of ties."""
LEAST_SECONDS = 0.5
"""A small θ buys few steps, but those are done."""
STEPS_A_SECOND = 8_000_000
"""A common core does five times as many: the rest of θ is for a slow or busy one. A fiftieth where
a step costs more: without a table of ties, or with moves and restarts to be priced."""
CELLS_IN_CACHE = 1_000_000
"""Of the table of ties; a larger one is slower to read."""
MOST_STEPS_A_UNIT = 20_000
"""More gain nothing, and a small problem has better use for the time."""
SOFT_SHARE = 0.7
"""Of the steps that are taken while limits are prices."""
MOST_SECONDS = 600.0
"""Of θ that buy steps; annealing for longer gains nothing."""
STARTS = ("metis", "current", "empty")
MOST_RELABELLED = 2000
"""Nodes up to which parts are matched to nodes; matching is cubic."""


def make_search(
    work: Workspace, prices: Prices, *, units: Units | None = None, seed: int | None = None
) -> Search:
    """A search that knows where units are now, what moving costs and how much may move."""
    own = work.units if units is None else units
    return Search(
        work.limits,
        own,
        home=None if work.current is None else own.gather(work.current_node),
        move_cost=prices.move,
        restart_cost=prices.restart,
        max_moved=None if work.current is None else work.options.max_moves,
        seed=work.options.seed if seed is None else seed,
        near=nearness(work),
    )


def start_nodes(work: Workspace, kind: str) -> NDArray[np.int32]:
    """A node for each unit to start from; it need not be feasible."""
    if kind == "current":
        return work.units.gather(work.current_node)
    if kind == "metis":
        return metis_start(work, work.options.seed)
    return np.full(len(work.units), UNPLACED, dtype=np.int32)


def metis_start(
    work: Workspace, seed: int, objective: str = "cut", imbalance: float = 1.03
) -> NDArray[np.int32]:
    """METIS on all units at once, parts sized by the free CPU (or memory) of the nodes."""
    limits, units = work.limits, work.units
    nodes = np.flatnonzero(limits.usable)
    weight, room = units.size.astype(float), np.ones(len(nodes))
    for demand, free in ((units.memory_mb, limits.memory_free), (units.cpu, limits.cpu_free)):
        if demand.sum() > 0 and np.isfinite(free[nodes]).all():
            weight, room = demand, np.maximum(free[nodes], 0.0)
    part = shuffled_partition(
        units.graph,
        len(nodes),
        weight,
        target=room if room.sum() > 0 else None,
        objective="vol" if objective == "vol" else "cut",
        imbalance=imbalance,
        seed=seed,
    )
    if work.current is not None and len(nodes) <= MOST_RELABELLED:
        part = _near_home(work, part, nodes, weight, room)
    return nodes[part].astype(np.int32)


def _near_home(
    work: Workspace,
    part: NDArray[np.int32],
    nodes: NDArray[np.int64],
    weight: NDArray[np.float64],
    room: NDArray[np.float64],
) -> NDArray[np.int32]:
    """The same parts numbered so that most executors stay on their nodes, as far as they fit."""
    column = np.full(len(work.problem.nodes), UNPLACED, dtype=np.int32)
    column[nodes] = np.arange(len(nodes), dtype=np.int32)
    home = work.units.gather(work.current_node)
    now = np.where(home == UNPLACED, UNPLACED, column[home]).astype(np.int32)
    load = np.bincount(part, weight, len(nodes))
    chosen = relabel(
        part,
        len(nodes),
        now,
        len(nodes),
        fits=load[:, None] <= room[None, :] * 1.03 + 1e-9,
        weight=work.units.size.astype(float),
        home=np.arange(len(nodes), dtype=np.int32),
    )
    return chosen[part].astype(np.int32)


def settle(work: Workspace, prices: Prices, node: NDArray[np.int32]) -> Placement:
    """From nodes of executors to slots: the best of the ways to do so within the cap on moves.

    With a current placement the ways differ in whether workers are cut anew, and leaving all as
    it is (or as little changed as the limits demand) is one of them.
    """
    if (node[work.limits.movable] == UNPLACED).any():
        node = feasible_nodes(work, node)  # tries harder, and lets co-location give way
    if work.current is None:
        return to_slots(work, node)
    now = feasible_nodes(work, work.current_node)
    ways = [
        to_slots(work, node, sticky=True),
        to_slots(work, node),
        to_slots(work, now, sticky=True),
    ]
    return min((cap_moves(work, way) for way in ways), key=lambda way: _key(work, prices, way))


def _key(work: Workspace, prices: Prices, placement: Placement) -> tuple[float, ...]:
    broken = len(violations(work.problem, placement, work.current))
    status = Status.BEST_EFFORT if broken else Status.OK
    found = score(work.problem, placement, work.current)
    return order(work, prices, status, broken, found, placement)
