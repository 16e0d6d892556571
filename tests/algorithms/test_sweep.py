"""Random problems through the verifier: whatever the problem, an answer is honest.

The long sweep is marked slow; STORMBRAIN_SWEEP sets how many problems it takes (10,000).
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brain.algorithms import registry
from brain.algorithms.parts.verify import check
from brain.model import Node, Options, Placement, Problem
from tests.algorithms.clusters import random_problem, topology, union

QUICK = ("even", "offline", "online", "metis", "rstorm", "tstorm")
THOROUGH = tuple(name for name in registry.names() if name not in QUICK)
CAPS = (None, None, 0, 2)


def faults(name: str, seed: int, theta: float) -> list[str]:
    problem, current = random_problem(seed)
    cap = None if current is None or name == "even" else CAPS[seed % len(CAPS)]
    options = Options(theta=theta, seed=seed, max_moves=cap)
    result = registry.run(name, problem, current, options)
    return [f"seed {seed}: {fault}" for fault in check(problem, result, current, options)]


@pytest.mark.parametrize("name", QUICK)
def test_quick_algorithms_are_honest_on_random_problems(name: str) -> None:
    assert [f for seed in range(150) for f in faults(name, seed, 0.2)] == []


@pytest.mark.parametrize("name", THOROUGH)
def test_thorough_algorithms_are_honest_on_random_problems(name: str) -> None:
    assert [f for seed in range(30) for f in faults(name, seed, 0.05)] == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_no_algorithm_violates_a_capacity_on_ten_thousand_problems() -> None:
    problems = int(os.environ.get("STORMBRAIN_SWEEP", "10000"))
    names = [*QUICK, *THOROUGH]
    broken = [
        fault
        for seed in range(1_000_000, 1_000_000 + problems)
        for fault in faults(names[seed % len(names)], seed, 0.05)
    ]
    assert broken == []


@st.composite
def problems(draw: st.DrawFn) -> tuple[Problem, Placement | None]:
    nodes = [
        Node(
            f"n{i}",
            tuple(range(draw(st.integers(0, 3)))),
            cpu=draw(st.none() | st.integers(0, 400).map(float)),
            memory_mb=draw(st.none() | st.integers(0, 1000).map(float)),
            excluded=draw(st.booleans()) and draw(st.booleans()),
        )
        for i in range(draw(st.integers(0, 5)))
    ]
    own, talk = [], []
    for t in range(draw(st.integers(1, 2))):
        sizes = draw(st.lists(st.integers(1, 4), max_size=3))
        names = {f"c{i}": size for i, size in enumerate(sizes)}
        n = sum(sizes)
        chosen = st.sampled_from(sorted(names)) if names else None
        fields: dict[str, object] = {}
        if chosen is not None:
            fields["spread"] = tuple(draw(st.lists(chosen, max_size=1)))
            fields["colocate"] = tuple(
                tuple(g)
                for g in draw(st.lists(st.lists(chosen, min_size=1, max_size=2), max_size=2))
            )
            if nodes and draw(st.booleans()):
                where = st.sampled_from([x.id for x in nodes])
                fields["pin"] = {draw(chosen): tuple(draw(st.lists(where, min_size=1, max_size=2)))}
        own.append(
            topology(
                f"t{t}",
                names,
                cpu=draw(st.lists(st.integers(0, 150), min_size=n, max_size=n)) or 0.0,
                memory_mb=draw(st.lists(st.integers(0, 400), min_size=n, max_size=n)) or 0.0,
                workers=draw(st.none() | st.integers(1, 4)),
                max_executors_per_worker=draw(st.none() | st.integers(1, 4)),
                **fields,  # type: ignore[arg-type]
            )
        )
        pair = st.tuples(
            st.integers(0, max(n - 1, 0)), st.integers(0, max(n - 1, 0)), st.floats(0.0, 1e12)
        )
        talk.append(draw(st.lists(pair, max_size=8)) if n else [])
    problem = union(nodes, own, talk)
    return problem, draw(currents(problem)) if draw(st.booleans()) else None


@st.composite
def currents(draw: st.DrawFn, problem: Problem) -> Placement:
    """Executors anywhere or nowhere, but no slot of two topologies."""
    slot = np.full(len(problem), -1, dtype=np.int32)
    topologies = len(problem.topologies)
    for t in range(topologies):
        mine = [s for s in range(len(problem.slots)) if s % topologies == t]
        own = problem.executors_of(t)
        for e in range(own.start, own.stop):
            slot[e] = draw(st.sampled_from([-1, *mine]))
    return Placement(slot)


@pytest.mark.parametrize("name", QUICK)
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_quick_algorithms_are_honest_on_any_problem(name: str, data: st.DataObject) -> None:
    problem, current = data.draw(problems())
    cap = None
    if current is not None and name != "even":
        cap = data.draw(st.none() | st.integers(0, 3))
    options = Options(theta=0.1, max_moves=cap)
    result = registry.run(name, problem, current, options)
    assert check(problem, result, current, options) == []
