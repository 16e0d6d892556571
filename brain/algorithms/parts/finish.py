"""From an algorithm's decision to its result: repair, workers, cap on moves, score, status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.parts.keep import keep_in_place
from brain.algorithms.parts.levels import feasible_nodes, to_slots
from brain.algorithms.parts.moves import cap_moves, stay
from brain.algorithms.parts.score import score
from brain.algorithms.parts.verify import violations
from brain.algorithms.parts.workspace import Workspace
from brain.model import Placement, Result, Status


def finish(
    work: Workspace,
    algorithm: str,
    node: NDArray[np.int32],
    *,
    slots: Placement | None = None,
    details: Mapping[str, Any] | None = None,
) -> Result:
    """The result of an algorithm that chose a node for each executor (or UNPLACED).

    Hard limits are repaired, executors of a node go to workers, and with a current placement what
    need not move stays. ``slots`` is the algorithm's own choice of slots: it is kept as it is
    where it breaks nothing.
    """
    placement = slots
    if placement is None or violations(work.problem, placement, work.current):
        placement = to_slots(work, feasible_nodes(work, node))
    if work.current is not None:
        placement = stay(work, keep_in_place(work, placement))
        if work.options.max_moves is not None:
            placement = cap_moves(work, placement)
    return conclude(work, algorithm, placement, details=details)


def conclude(
    work: Workspace,
    algorithm: str,
    placement: Placement,
    *,
    reasons: Sequence[str] = (),
    proven_optimal: bool = False,
    lower_bound: float | None = None,
    details: Mapping[str, Any] | None = None,
) -> Result:
    """The result for a placement: ok if it breaks nothing, else best-effort or infeasible with
    every broken constraint among the reasons."""
    problem = work.problem
    told = [*reasons]
    status = Status.OK
    if len(problem) and not work.limits.usable.any() and work.limits.movable.any():
        told.append(_nowhere(work))
    broken = violations(problem, placement, work.current)
    if broken:
        placed = work.limits.movable & placement.placed
        status = Status.BEST_EFFORT if placed.any() else Status.INFEASIBLE
        told += [v.message for v in broken]
    return Result(
        status=status,
        algorithm=algorithm,
        placement=placement,
        score=score(problem, placement, work.current),
        reasons=tuple(dict.fromkeys(told)),
        proven_optimal=proven_optimal and status is Status.OK,
        lower_bound=lower_bound,
        details=details or {},
    )


def _nowhere(work: Workspace) -> str:
    nodes = work.problem.nodes
    if not nodes:
        return "the cluster has no nodes"
    if all(n.excluded for n in nodes):
        return "all nodes are excluded"
    return "no node has a free slot"
