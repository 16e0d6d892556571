"""Exact placement: Eskandari, Mair, Huang, Eyers, "I-Scheduler" (2020), section 3, formulas 1–5.

Three models of the same problem, by the parameter ``formulation``:

- ``fast`` (default): items that are interchangeable are counted, not named. Few items are solved
  by all contents that a node can have (``exact_parts.contents_model``), more by connected pieces
  (``exact_parts.class_model``); where there are too many pieces, the assignment model
  (``exact_parts.assignment_model``) takes over; where that is too big too, the placement of a
  quick heuristic is returned with what bound there is.
- ``assignment``: the assignment model alone.
- ``paper``: the paper's formulas in PuLP, solved by CBC (``solver`` = highs for HiGHS). It knows
  load and placement only, so it proves nothing where workers, spread or slots matter.

The objective is the traffic between nodes. Workers within nodes come second and are not part of
the proof. Beyond the paper: memory, pins, spread, co-location, workers asked for, executors per
worker, several topologies, slots. ``proven_optimal`` means that no placement within all limits
has less traffic between nodes; ``lower_bound`` is what was proven when time ran out.

Parameters: ``formulation``, ``solver``, ``max_columns`` (8000 a second of θ, at most 20000),
``max_items`` (700), ``nodes`` (branch-and-bound nodes instead of θ, for repeatable runs).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.exact_parts.assignment_model import solve_assignment
from brain.algorithms.exact_parts.classes import node_types, twin_classes
from brain.algorithms.exact_parts.fast import solve_fast
from brain.algorithms.exact_parts.highs import Budget
from brain.algorithms.exact_parts.home import keep_home
from brain.algorithms.exact_parts.items import Items
from brain.algorithms.exact_parts.outcome import Outcome
from brain.algorithms.exact_parts.paper_model import solve_paper
from brain.algorithms.exact_parts.room import TooMany
from brain.algorithms.parts.finish import finish
from brain.algorithms.parts.workspace import Workspace
from brain.model import UNPLACED, Options, Placement, Problem, Result, Status


def solve(problem: Problem, current: Placement | None, options: Options) -> Result:
    """``exact``; see the module for its parameters."""
    begin = time.perf_counter()
    work = Workspace(problem, current, options)
    attempt = try_exact(work, begin + SOLVER_SHARE * options.theta)
    node = np.full(len(problem), UNPLACED, dtype=np.int32)
    if attempt.node is not None:
        node = attempt.node
    details = {"formulation": attempt.formulation, "model": attempt.size}
    result = finish(work, "exact", node, details=details)
    return _judge(result, attempt)


SOLVER_SHARE = 0.8
"""Of θ for the models; the rest is for making a placement of what they found. ``auto`` gives its
member ``exact`` the same, so that it finds there what it finds alone."""


@dataclass(frozen=True)
class Attempt:
    """What the models found: ``node`` of each executor or None, a bound on the traffic between
    nodes of the whole problem, and notes for the reasons."""

    formulation: str
    node: NDArray[np.int32] | None
    bound: float
    proven_cost: float | None
    """The least traffic between nodes, where it was proven."""
    note: str
    infeasible: bool
    size: dict[str, int]


def try_exact(work: Workspace, deadline: float) -> Attempt:
    """Solves the first model that is small enough, without any heuristic to fall back on."""
    formulation = work.choice("formulation", "fast", ("fast", "assignment", "paper"))
    max_items = int(work.number("max_items", 700, 0, 5000))
    constant = frozen_traffic(work)
    nothing = Attempt(formulation, None, constant, None, "", False, {})
    if len(work.units) == 0 or not work.limits.usable.any():
        return nothing
    if len(work.units) > max_items:
        note = f"no exact model: {len(work.units)} things to place, at most {max_items} are tried"
        return replace(nothing, note=note)
    items = Items.of(work.units, work.limits)
    try:
        outcome = _solve_items(work, items, formulation, deadline)
    except TooMany as too_many:
        return replace(nothing, note=f"no exact model of this problem is small enough: {too_many}")
    measured = work.graph is work.problem.graph
    bound = constant
    if measured and math.isfinite(outcome.bound):
        bound += math.ceil(outcome.bound - 1e-6) if items.step() > 0 else outcome.bound
    node, proven_cost = None, None
    if outcome.node is not None:
        node = _stay_home(work, items, outcome.node)
        if outcome.proven and measured:
            proven_cost = items.cut(outcome.node) + constant
    infeasible = outcome.infeasible and _covers(items, formulation)
    return Attempt(formulation, node, bound, proven_cost, "", infeasible, outcome.size)


def _solve_items(work: Workspace, items: Items, formulation: str, deadline: float) -> Outcome:
    steps = None
    if "nodes" in work.options.params:
        steps, deadline = int(work.number("nodes", 0, 0, 2**31 - 1)), math.inf
    budget = Budget(deadline, work.options.seed, steps)
    # What can be built in a good part of θ.
    default = 20_000 if steps is not None else min(max(8000 * work.options.theta, 200), 20_000)
    most = int(work.number("max_columns", default, 1, 1e7))
    if formulation == "paper":
        return solve_paper(items, budget, work.choice("solver", "cbc", ("cbc", "highs")))
    if formulation == "assignment":
        return solve_assignment(items, budget, most)
    return solve_fast(items, budget, most)


def _stay_home(work: Workspace, items: Items, node: NDArray[np.int64]) -> NDArray[np.int32]:
    if work.current is not None:
        home = work.units.gather(work.current_node)
        node = keep_home(node, home, work.units.size, twin_classes(items), node_types(items))
    return work.units.scatter(node.astype(np.int32))


def _judge(result: Result, attempt: Attempt) -> Result:
    """Adds what was proven of the finished placement."""
    reasons = [*result.reasons]
    if attempt.infeasible:
        reasons.append("proven: no placement keeps all limits together")
    if result.status is not Status.OK:
        return replace(result, reasons=tuple(filter(None, dict.fromkeys([*reasons, attempt.note]))))
    cost = result.score.inter_node
    least = attempt.bound if attempt.proven_cost is None else attempt.proven_cost
    proven = cost <= least + 1e-9 * max(abs(cost), 1.0)
    if attempt.note and not proven:
        reasons.append(attempt.note)
    return replace(
        result,
        lower_bound=cost if proven else min(least, cost),
        proven_optimal=proven,
        reasons=tuple(dict.fromkeys(reasons)),
    )


def _covers(items: Items, formulation: str) -> bool:
    """Whether the model knew all limits of the problem; the paper's knows load and pins."""
    if formulation != "paper":
        return True
    bare = len(items.limits.spread_limit) == 0 and not items.workers_bind
    return items.one_topology and bare


def frozen_traffic(work: Workspace) -> float:
    """Traffic between nodes that no choice changes: that of frozen topologies."""
    graph, fixed, node = work.problem.graph, ~work.limits.movable, work.current_node
    inside = fixed[graph.sources] & fixed[graph.indices]
    apart = (node[graph.sources] != node[graph.indices]) | (node[graph.sources] == UNPLACED)
    return float(graph.weight[inside & apart].sum())
