"""A second engine beside the portfolio's own, on another core: other starts, other random numbers.

It hands over its best placements of units twice, in time for the portfolio to combine them with
its own.
"""

from __future__ import annotations

import time

from brain.algorithms.auto_parts.engine import Engine
from brain.algorithms.auto_parts.jobs import Explored, Job
from brain.algorithms.localsearch_parts.warmup import warm_up
from brain.algorithms.objective import Prices
from brain.algorithms.parts.workspace import Workspace
from brain.model import Options, Placement, Problem

WHERE = "brain.algorithms.auto_parts.explore:explore"
HANDED_OVER = 4


def explore(problem: Problem, current: Placement | None, options: Options) -> Explored:
    """Searches until ``until`` (``time.perf_counter``, one clock for all processes)."""
    warm_up()
    until, share = float(options.params["until"]), float(options.params["share"])
    work = Workspace(problem, current, options)
    prices = Prices(float(options.params["move_cost"]), float(options.params["restart_cost"]))
    engine = Engine(work, prices, first_seed=1000 * (1 + int(options.params["number"])))
    begin = time.perf_counter()

    def late() -> bool:
        return time.perf_counter() > until

    engine.seeds_until(begin + share * (until - begin), late)
    engine.improve_until(until, lambda: False)
    return Explored(tuple(node for _, node in engine.population[:HANDED_OVER]))


def explorations(options: Options, begin: float, end: float) -> list[Job]:
    """The jobs of a second engine between two times of ``time.perf_counter``."""
    half = begin + 0.55 * (end - begin)
    jobs = []
    for number, until in enumerate((half, end - 0.12 * (end - begin))):
        params = {"until": until, "share": 0.4, "number": number}
        jobs.append(Job(f"explore-{number + 1}", WHERE, options, params))
    return jobs
