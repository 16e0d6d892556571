"""A second engine beside the portfolio's own, on another core: other starts, other random numbers.

It works in rounds. After each it hands over its best placements of units, and the next one starts
from the best of both, so that the two better each other's.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.auto_parts.engine import FOUNDERS, Engine
from brain.algorithms.auto_parts.jobs import Explored, Job
from brain.algorithms.localsearch_parts.warmup import warm_up
from brain.algorithms.objective import Prices
from brain.algorithms.parts.workspace import Workspace
from brain.model import Options, Placement, Problem

WHERE = "brain.algorithms.auto_parts.explore:explore"
LABEL = "explore-"
HANDED_OVER = 4
ROUNDS = (0.66, 0.92)
"""When a round ends, as a share of the time: the first is long enough for its founders."""
SHORTEST = 0.05
"""A round for less of the time is not worth its start."""


def explore(problem: Problem, current: Placement | None, options: Options) -> Explored:
    """Searches until ``until`` (``time.perf_counter``, one clock for all processes)."""
    warm_up()
    until, number = float(options.params["until"]), int(options.params["number"])
    work = Workspace(problem, current, options)
    prices = Prices(float(options.params["move_cost"]), float(options.params["restart_cost"]))
    engine = Engine(work, prices, first_seed=1000 * number)
    starts = options.params["starts"]
    begin = time.perf_counter()

    def late() -> bool:
        return time.perf_counter() > until

    for node in starts:
        engine.adopt(node)
    if not starts and not engine.soft:
        engine.seeds_until(begin + 0.4 * (until - begin), late)
    engine.improve_until(until, late, 0 if starts else FOUNDERS)
    return Explored(tuple(node for _, node in engine.population[:HANDED_OVER]))


def exploration(
    options: Options,
    begin: float,
    end: float,
    number: int,
    starts: Sequence[NDArray[np.int32]] = (),
) -> Job | None:
    """Round ``number`` (from 1) of a second engine in the time from ``begin`` to ``end``; None if
    there is no time for one."""
    now = time.perf_counter()
    for share in ROUNDS:
        until = begin + share * (end - begin)
        if until - now > SHORTEST * (end - begin):
            params = {"until": until, "number": number, "starts": tuple(starts[:HANDED_OVER])}
            return Job(f"{LABEL}{number}", WHERE, options, params)
    return None
