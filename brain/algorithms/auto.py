"""The portfolio: every algorithm, many METIS starts and local search under one deadline θ.

No single heuristic wins (DESIGN.md, "Facts measured"), so ``auto`` runs them all and keeps the
best by the one order of ``objective``: it is never worse than any of them, nor than what
runs now; ``auto_parts.portfolio`` says why. In the order of events:

1. What runs now is the first candidate.
2. All algorithms start as members beside us, with the same seed, θ and parameters as alone: in
   warm worker processes (``auto_parts.pool``), where one that hangs is ended at the deadline, or
   in threads that are left behind. What they find is a candidate; what is good is improved.
3. ``localsearch`` runs in our own thread, step by step as it does alone.
4. For fresh placements: METIS starts, each annealed with CPU and memory as prices and then within
   the limits; the best are combined again and again (what two agree on moves as one) until the
   deadline. The same goes on beside us on the other core with other random numbers, and the two
   exchange their best twice. With a current placement, or where the table of ties would be
   too big: METIS starts from many numberings of the graph, both objectives, each polished; then
   annealing and combining. If the exact solver proves the incumbent, all ends at once.

With a current placement, gain is weighed against moved executors and restarted workers (prices in
``objective``), and ``max_moves`` gives the best plan found within that cap.

Parameters: ``steps`` (a budget in annealing steps instead of θ: the result then depends on problem
and seed alone), ``members`` (names or ``module:function``; all heuristics by default),
``isolation`` (auto, process, thread), ``move_cost``, ``restart_cost``, ``move_share``,
``restart_share``, ``latency_weight``. ``details["candidates"]`` lists all that was compared.

Call ``warm()`` once at the start of a long-running process: it loads the compiled functions and
starts the workers, so that the first θ is not spent on that.
"""

from __future__ import annotations

import time

from brain import calibration
from brain.algorithms.auto_parts import pool as pools
from brain.algorithms.auto_parts.portfolio import Portfolio
from brain.algorithms.localsearch_parts.warmup import warm_up
from brain.model import Options, Placement, Problem, Result


def solve(problem: Problem, current: Placement | None, options: Options) -> Result:
    """``auto``; loading compiled functions, where ``warm`` was not called, is not part of θ."""
    warm_up()
    if "steps" not in options.params and options.theta > 0:
        calibration.table()  # once for a machine; I-Scheduler alone would measure it too
    begin = time.perf_counter()
    portfolio = Portfolio(problem, current, options, begin)
    if "steps" in options.params:
        return portfolio.in_steps()
    return portfolio.in_time()


def warm(timeout: float = 120.0) -> bool:
    """Loads compiled functions and starts the worker processes; True if all are ready in time."""
    warm_up()
    return pools.shared_pool().wait_until_warm(timeout)


def close() -> None:
    """Ends the worker processes."""
    pools.close_shared_pool()
