"""The papers' problems come out as the papers describe them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from brain.errors import BadInput
from brain.model import Problem
from brain.problems import parse, problem_to_dict
from brain.problems.clusters import cluster
from brain.problems.fischer import opengov, parallel, payload, reference
from brain.problems.micro import LAYOUTS, PAPER_TASKS, micro
from brain.problems.randoms import random_problem


def sizes(problem: Problem) -> dict[str, int]:
    (own,) = problem.topologies
    counts = np.bincount(own.component_of).tolist()
    return dict(zip(own.components, counts, strict=True))


def test_the_paper_runs_72_cases() -> None:
    assert len(LAYOUTS) * len(PAPER_TASKS) * 2 == 72


@pytest.mark.parametrize("tasks", PAPER_TASKS)
def test_linear_is_a_chain_of_two_tasks_each(tasks: int) -> None:
    problem = micro("linear", tasks, cluster("homogeneous"))
    assert set(sizes(problem).values()) == {2}
    assert len(problem) == tasks
    assert problem.graph.total == 4 * (tasks / 2 - 1)


@pytest.mark.parametrize("tasks", PAPER_TASKS)
def test_diamond_has_four_at_each_end_and_two_in_each_between(tasks: int) -> None:
    problem = micro("diamond", tasks, cluster("homogeneous"))
    counts = sizes(problem)
    assert (counts.pop("source"), counts.pop("sink")) == (4, 4)
    assert set(counts.values()) == {2}
    assert len(problem) == tasks
    assert problem.graph.total == 16 * len(counts)


@pytest.mark.parametrize("tasks", PAPER_TASKS)
def test_star_has_four_in_the_centre_and_balanced_sources_and_sinks(tasks: int) -> None:
    problem = micro("star", tasks, cluster("homogeneous"))
    counts = sizes(problem)
    assert counts.pop("centre") == 4
    assert set(counts.values()) == {2}
    sources = sum(name.startswith("source") for name in counts)
    assert 0 <= sources - (len(counts) - sources) <= 1
    assert len(problem) == tasks
    assert problem.graph.total == 8 * len(counts)


def test_the_clusters_are_those_of_table_3() -> None:
    assert [n.cpu for n in cluster("homogeneous")] == [400.0] * 10
    assert [n.cpu for n in cluster("heterogeneous")] == [600.0] * 3 + [400.0] * 3 + [200.0] * 4


@pytest.mark.parametrize("spec", ["3x", "x4", "3*6", "-1x2", "3x6,3x4", "99999999x1"])
def test_other_words_for_a_cluster_are_refused(spec: str) -> None:
    with pytest.raises(BadInput, match="nodes"):
        cluster(spec)


@pytest.mark.parametrize(("layout", "tasks"), [("linear", 7), ("diamond", 8), ("ring", 10)])
def test_impossible_micro_benchmarks_are_refused(layout: str, tasks: int) -> None:
    with pytest.raises(BadInput):
        micro(layout, tasks, cluster("homogeneous"))


def test_parallel_keeps_to_straight_lines() -> None:
    problem = parallel(7, 10)
    assert len(problem) == 80
    assert problem.graph.edges == 70
    assert np.bincount(problem.graph.indices).max() == 1
    assert problem.graph.total == 70 * 1000 * 16.0
    assert payload(7, 10).graph.total == 70 * 1000 * 3072.0


def test_reference_has_the_edges_of_fischers_and_the_rates_of_aniello() -> None:
    problem = reference(7, 80)
    assert len(problem) == 640
    assert problem.graph.edges == 44_800
    emitted = np.bincount(problem.graph.sources, problem.graph.tuples, 640)[:80]
    assert emitted.mean() == pytest.approx(100.0)
    assert (emitted.min(), emitted.max()) == (pytest.approx(80.0), pytest.approx(120.0))
    groupings = [grouping for _, _, grouping in problem.topologies[0].streams]
    assert groupings == ["shuffle", "fields"] * 3 + ["shuffle"]


def test_opengov_has_as_many_spouts_as_machines_and_one_output() -> None:
    counts = sizes(opengov(10))
    assert counts["tickers"] + counts["contracts"] == 10
    assert [counts[b] for b in ("aggregate", "ratio", "filter", "join", "output")] == [10] * 4 + [1]


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: parallel(3, 5, seed=seed),
        lambda seed: reference(4, 5, seed=seed),
        lambda seed: opengov(6, seed=seed),
        lambda seed: random_problem(40, 6, seed),
    ],
    ids=["parallel", "reference", "opengov", "random"],
)
def test_problems_are_reproducible_and_survive_the_file(make: object) -> None:
    assert callable(make)
    first, second = problem_to_dict(make(3)), problem_to_dict(make(3))
    assert first == second
    assert first != problem_to_dict(make(4))
    read, current = parse(json.dumps(first))
    assert current is None
    assert problem_to_dict(read) == first


def test_random_problems_have_the_size_asked_for_and_room_for_all() -> None:
    problem = random_problem(300, 20, 1)
    assert (len(problem), len(problem.nodes)) == (300, 20)
    assert problem.cpu.sum() < problem.cpu_capacity.sum()
    assert problem.memory_mb.sum() < problem.memory_capacity.sum()
    with pytest.raises(BadInput):
        random_problem(0, 3)
