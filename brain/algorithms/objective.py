"""The one order in which placements are better or worse than each other.

First what a placement keeps, then what it costs:

1. status: ok, then best-effort, then infeasible;
2. the number of broken constraints that the verifier lists;
3. cost: traffic between nodes + 0.1 · traffic between workers of a node
   + move cost · executors moved + restart cost · workers restarted;
4. the same traffic by the topology's structure, where nothing has been measured yet;
5. executors moved, then workers restarted.

With the parameter ``latency_weight`` λ (0 … 1, 0 by default) and known latencies the traffic in 3
is (1 - λ) · traffic + λ · all traffic · mean latency / largest latency.

``auto`` picks by this order and promises never to be worse than any of its members in it.

Prices (parameters, in the unit of the edges): ``move_cost`` for an executor, ``restart_cost`` for
a worker. By default all executors together cost 1 % of the current cost, and so do all workers
that run now: a plan that moves everything must save 2 %. ``move_share`` and ``restart_share``
set these fractions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.parts.score import cost
from brain.algorithms.parts.score import score as score_of
from brain.algorithms.parts.verify import violations
from brain.algorithms.parts.workspace import Workspace
from brain.model import UNPLACED, Placement, Result, Score, Status

_RANK = {Status.OK: 0, Status.BEST_EFFORT: 1, Status.INFEASIBLE: 2}
Key = tuple[int, int, float, float, int, int]


@dataclass(frozen=True)
class Prices:
    """What a moved executor and a restarted worker cost."""

    move: float = 0.0
    restart: float = 0.0

    @classmethod
    def of(cls, work: Workspace) -> Prices:
        """The prices of the options; 0 without a current placement."""
        current = work.current
        if current is None or not current.placed.any():
            return cls()
        now = score_of(work.problem, current)
        workers = len(np.unique(current.slot[current.slot != UNPLACED]))
        executors = int(current.placed.sum())
        move_share = work.number("move_share", 0.01, 0.0, 1e6)
        restart_share = work.number("restart_share", 0.01, 0.0, 1e6)
        return cls(
            move=work.number("move_cost", move_share * cost(now) / executors, 0.0, 1e300),
            restart=work.number("restart_cost", restart_share * cost(now) / workers, 0.0, 1e300),
        )


def order(
    work: Workspace, prices: Prices, status: Status, broken: int, found: Score, placement: Placement
) -> Key:
    """The place of a placement in the order; smaller is better."""
    planned = 0.0
    if work.graph is not work.problem.graph:
        node = placement.nodes(work.problem.slots)
        planned = work.graph.crossing(node)
    return (
        _RANK[status],
        broken,
        _rounded(_with_latency(work, prices, found)),
        _rounded(planned),
        found.moved_executors,
        found.restarted_workers,
    )


def latency_weight(work: Workspace) -> float:
    """λ: how much latency counts in place of traffic; 0 where no latency is known."""
    weight = work.number("latency_weight", 0.0, 0.0, 1.0)
    return weight if work.problem.latency_ms is not None else 0.0


def nearness(work: Workspace) -> NDArray[np.float64] | None:
    """How much of the traffic between two nodes is spared by their being near each other, for
    searches that go by traffic alone; None where latency does not count.

    The order above weighs latency by tuples and traffic by bytes; a search has one weight for
    both, so this is the order itself only where all tuples are of one size.
    """
    weight, latency = latency_weight(work), work.problem.latency_ms
    if not weight or latency is None:
        return None
    furthest = max(float(latency.max(initial=0.0)), 1e-9)
    far = (latency + latency.T) / (2.0 * furthest)
    return np.asarray((1.0 - weight) * np.eye(len(far)) + weight * (1.0 - far))


def _with_latency(work: Workspace, prices: Prices, found: Score) -> float:
    weight = latency_weight(work)
    if not weight or found.latency_ms is None or work.problem.latency_ms is None:
        return cost(found, prices.move, prices.restart)
    furthest = max(float(work.problem.latency_ms.max(initial=0.0)), 1e-9)
    disturbed = cost(found, prices.move, prices.restart) - cost(found)
    far = work.problem.graph.total * found.latency_ms / furthest
    return (1.0 - weight) * cost(found) + weight * far + disturbed


def order_of_result(work: Workspace, prices: Prices, result: Result) -> Key:
    """The place of a result in the order."""
    broken = 0
    if result.status is not Status.OK:
        broken = len(violations(work.problem, result.placement, work.current))
    return order(work, prices, result.status, broken, result.score, result.placement)


def _rounded(value: float) -> float:
    """Nine digits: differences below are float noise, not merit."""
    return float(f"{value:.9g}")
