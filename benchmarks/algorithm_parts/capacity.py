"""Capacity and every other promise on 10,000 random problems, judged by the verifier."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from brain.algorithms import registry
from brain.algorithms.parts.verify import check
from brain.model import Options
from tests.algorithms.clusters import random_problem

PARAMS: dict[str, dict[str, Any]] = {
    "auto": {"steps": 200, "members": ["metis", "online"]},
    "localsearch": {"steps": 500},
    "ischeduler": {"phi": 6},
    "exact": {"nodes": 1, "max_columns": 300},
}

NO_CAP = ("even",)
"""Storm's own scheduler, round for round: it has no cap on moves."""


Judged = tuple[str, str, list[str]]


def sweep(problems: int, processes: int = 2) -> dict[str, Any]:
    """Each problem is solved by one of the algorithms in turn; faults are listed."""
    names = [n for n in registry.names() if n != "qos"]
    statuses: dict[str, Counter[str]] = {name: Counter() for name in names}
    faults: list[str] = []
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        for name, status, found in pool.map(judge, range(problems), chunksize=50):
            statuses[name][status] += 1
            faults += found
    return {
        "problems": problems,
        "faults": faults,
        "statuses": {name: dict(count) for name, count in statuses.items()},
    }


def judge(seed: int) -> Judged:
    """The algorithm whose turn it is, the status of its answer, and what the verifier says."""
    names = [n for n in registry.names() if n != "qos"]
    name = names[seed % len(names)]
    problem, current = random_problem(seed)
    capped = current is not None and seed % 3 == 0 and name not in NO_CAP
    options = Options(
        theta=0.2,
        seed=seed,
        max_moves=4 if capped else None,
        params=PARAMS.get(name, {}),
    )
    result = registry.get(name)(problem, current, options)
    faults = check(problem, result, current, options)
    return name, str(result.status), [f"seed {seed} {name}: {f}" for f in faults]
