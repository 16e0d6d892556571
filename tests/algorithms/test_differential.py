"""``auto`` against every algorithm that it contains, each alone, judged by one verifier.

The same problem, seed and budget for both. By steps all of it repeats, so a single loss is a
fault; by the clock a member must find in the portfolio what it finds alone.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from brain.algorithms import auto, registry
from brain.algorithms.auto_parts.members import COLUMNS_IN_STEPS, PHI_IN_STEPS
from brain.algorithms.parts.verify import check
from brain.model import Options, Placement, Problem
from brain.problems.fischer import opengov, reference
from brain.problems.randoms import random_problem as layered_problem
from tests.algorithms.clusters import random_problem
from tests.algorithms.test_auto import key_by_verifier

OTHERS = tuple(name for name in registry.names() if name != "auto")
STEPS = 2000
CAPS = (None, None, 0, 3)


def alone(name: str, options: Options) -> Options:
    """The options of an algorithm alone that stand for the same budget in steps."""
    steps = int(options.params["steps"])
    nodes = 1 + steps // 1000
    own: dict[str, dict[str, Any]] = {
        "localsearch": {"steps": steps},
        "exact": {"nodes": nodes, "max_columns": COLUMNS_IN_STEPS},
        "ischeduler": {"nodes": nodes, "phi": PHI_IN_STEPS},
    }
    return Options(options.theta, options.seed, options.max_moves, own.get(name, {}))


def losses(problem: Problem, current: Placement | None, options: Options) -> list[str]:
    """Who is better alone than ``auto``, and whatever else the verifier has to say."""
    mine = auto.solve(problem, current, options)
    found = [f"auto: {fault}" for fault in check(problem, mine, current, options)]
    best = key_by_verifier(problem, mine.placement, current, options)
    for name in OTHERS:
        if name == "even" and options.max_moves is not None:
            continue  # Storm's own scheduler knows no cap on moves
        other = registry.run(name, problem, current, alone(name, options))
        theirs = key_by_verifier(problem, other.placement, current, options)
        if theirs < best:
            found.append(f"{name}: {theirs} is better than {best}")
    return found


def losses_of_seeds(seeds: range) -> list[str]:
    found = []
    for seed in seeds:
        problem, current = random_problem(seed)
        cap = None if current is None else CAPS[seed % len(CAPS)]
        options = Options(seed=seed, max_moves=cap, params={"steps": STEPS})
        found += [f"seed {seed}: {loss}" for loss in losses(problem, current, options)]
    return found


def test_nobody_alone_is_better_on_random_problems() -> None:
    assert losses_of_seeds(range(5000, 5040)) == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_nobody_alone_is_better_on_many_random_problems() -> None:
    problems = int(os.environ.get("STORMBRAIN_SWEEP", "1000"))
    assert losses_of_seeds(range(100_000, 100_000 + problems)) == []


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_nobody_alone_is_better_on_layered_problems(seed: int) -> None:
    for problem in (opengov(10), reference(4, 6), layered_problem(60, 6, seed)):
        assert losses(problem, None, Options(seed=seed, params={"steps": 20_000})) == []


BY_CLOCK = ("even", "localsearch", "metis", "offline", "online", "rstorm", "tstorm")
"""Those whose work does not depend on the clock at all."""


@pytest.mark.parametrize("theta", [0.0, 0.05, 0.6])
def test_members_find_by_the_clock_what_they_find_alone(theta: float) -> None:
    for seed in (3, 8):
        problem = layered_problem(80, 8, seed)
        options = Options(theta=theta, seed=seed)
        best = auto.solve(problem, None, options)
        mine = key_by_verifier(problem, best.placement, None, options)
        entered = {line["candidate"]: line for line in best.details["candidates"]}
        for name in BY_CLOCK:
            other = registry.run(name, problem, None, options)
            line = entered[name]
            if "failed" in line or line.get("cut_off") or other.details.get("cut_off"):
                continue  # a machine so busy that half a second is not enough
            assert line["inter_node"] == pytest.approx(other.score.inter_node), name
            assert mine <= key_by_verifier(problem, other.placement, None, options), name
