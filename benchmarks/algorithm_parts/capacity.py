"""Capacity and every other promise on 10,000 random problems, judged by the verifier."""

from __future__ import annotations

from collections import Counter
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


def sweep(problems: int) -> dict[str, Any]:
    """Each problem is solved by one of the algorithms in turn; faults are listed."""
    names = [n for n in registry.names() if n != "qos"]
    statuses: dict[str, Counter[str]] = {name: Counter() for name in names}
    faults: list[str] = []
    for seed in range(problems):
        problem, current = random_problem(seed)
        name = names[seed % len(names)]
        capped = current is not None and seed % 3 == 0 and name not in NO_CAP
        options = Options(
            theta=0.2,
            seed=seed,
            max_moves=4 if capped else None,
            params=PARAMS.get(name, {}),
        )
        result = registry.get(name)(problem, current, options)
        statuses[name][str(result.status)] += 1
        faults += [f"seed {seed} {name}: {f}" for f in check(problem, result, current, options)]
    return {
        "problems": problems,
        "faults": faults,
        "statuses": {name: dict(count) for name, count in statuses.items()},
    }
