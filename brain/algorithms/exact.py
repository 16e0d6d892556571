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
from dataclasses import replace

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
    formulation = work.choice("formulation", "fast", ("fast", "assignment", "paper"))
    max_items = int(work.number("max_items", 700, 0, 5000))
    outcome: Outcome | None = None
    note = ""
    if 0 < len(work.units) <= max_items and work.limits.usable.any():
        items = Items.of(work.units, work.limits)
        try:
            outcome = _solve_items(work, items, formulation, begin)
        except TooMany as too_many:
            note = f"no exact model of this problem is small enough: {too_many}"
    elif len(work.units) > max_items:
        note = f"no exact model: {len(work.units)} things to place, at most {max_items} are tried"
    node = np.full(len(problem), UNPLACED, dtype=np.int32)
    if outcome is not None and outcome.node is not None:
        node = _stay_home(work, items, outcome.node)
    details = {"formulation": formulation, "model": {} if outcome is None else outcome.size}
    result = finish(work, "exact", node, details=details)
    return _judge(work, result, outcome, note, formulation)


def _solve_items(work: Workspace, items: Items, formulation: str, begin: float) -> Outcome:
    steps = None
    deadline = begin + work.options.theta
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


def _judge(
    work: Workspace, result: Result, outcome: Outcome | None, note: str, formulation: str
) -> Result:
    """Adds what was proven: of the measured traffic, and only if the model had all limits."""
    constant = _frozen_traffic(work)
    bound = constant
    reasons = [*result.reasons]
    if note:
        reasons.append(note)
    measured = work.graph is work.problem.graph
    if outcome is not None and measured and math.isfinite(outcome.bound):
        whole = Items.of(work.units, work.limits).step() > 0
        bound += math.ceil(outcome.bound - 1e-6) if whole else outcome.bound
    if outcome is not None and outcome.infeasible and _covers(work, formulation):
        reasons.append("proven: no placement keeps all limits together")
    if result.status is not Status.OK:
        return replace(result, reasons=tuple(dict.fromkeys(reasons)))
    tolerance = 1e-9 * max(abs(result.score.inter_node), 1.0)
    proven = result.score.inter_node <= bound + tolerance
    proven |= outcome is not None and outcome.proven and _same(work, result, outcome, constant)
    if proven:
        reasons = [r for r in reasons if r != note]
    return replace(
        result,
        lower_bound=result.score.inter_node if proven else min(bound, result.score.inter_node),
        proven_optimal=bool(proven),
        reasons=tuple(dict.fromkeys(reasons)),
    )


def _same(work: Workspace, result: Result, outcome: Outcome, constant: float) -> bool:
    """Whether the finished placement has the traffic that the model proved to be least."""
    if outcome.node is None or work.graph is not work.problem.graph:
        return False
    best = Items.of(work.units, work.limits).cut(outcome.node) + constant
    return result.score.inter_node <= best + 1e-9 * max(abs(best), 1.0)


def _covers(work: Workspace, formulation: str) -> bool:
    """Whether the model knew all limits of the problem; the paper's knows load and pins."""
    if formulation != "paper":
        return True
    items = Items.of(work.units, work.limits)
    return items.one_topology and not items.workers_bind and len(work.limits.spread_limit) == 0


def _frozen_traffic(work: Workspace) -> float:
    """Traffic between nodes that no choice changes: that of frozen topologies."""
    graph, fixed, node = work.problem.graph, ~work.limits.movable, work.current_node
    inside = fixed[graph.sources] & fixed[graph.indices]
    apart = (node[graph.sources] != node[graph.indices]) | (node[graph.sources] == UNPLACED)
    return float(graph.weight[inside & apart].sum())
