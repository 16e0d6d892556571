"""I-Scheduler to the page: the worked example number by number, the 72 cases, both levels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from brain.algorithms import exact, ischeduler
from brain.algorithms.parts.verify import check
from brain.calibration import BUILT_IN, Table, find_threshold, load, save
from brain.model import Options, Placement, Problem, Status
from brain.problems.clusters import cluster
from brain.problems.fischer import parallel
from brain.problems.micro import LAYOUTS, PAPER_TASKS, micro
from tests.algorithms.clusters import random_problem, topology, union
from tests.algorithms.test_exact import PAPER_OPTIMA, fig1

PAPER_MISSES = {("diamond", "heterogeneous", 30): 148, ("star", "heterogeneous", 30): 90}


def fig2() -> Problem:
    """12 tasks on 1×4, 2×3 and 1×2 (Eskandari 2020, section 4.5): three groups of highly
    communicating tasks, of 4, 5 and 3."""
    groups = [range(4), range(4, 9), range(9, 12)]
    edges = [(a, b, 8.0) for g in groups for a in g for b in g if a < b]
    edges += [(3, 4, 1.0), (8, 9, 1.0), (11, 0, 1.0)]
    own = topology("fig2", {f"t{i + 1}": 1 for i in range(12)}, cpu=100.0)
    return union(cluster("1x4 2x3 1x2"), [own], [edges])


def run(problem: Problem, phi: int, current: Placement | None = None, theta: float = 60.0):
    result = ischeduler.solve(problem, current, Options(theta=theta, params={"phi": phi}))
    assert check(problem, result, current) == []
    return result


def test_the_worked_example_of_fig_2_number_by_number() -> None:
    result = run(fig2(), phi=8)
    (trace,) = result.details["trace"]
    first, second = trace["iterations"]
    # "partitions the 12 task graph into 3 partitions of size 4"
    assert (first["capacity"], first["quantity"], first["k"]) == (4, 1, 3)
    # "we need to fuse 2 out of the 3 partitions. However, only 1 of these can be fused"
    assert (first["beta"], first["alpha"]) == (2, 1)
    # "8 unfused tasks plus 1 fused task, which is greater than the threshold of 8"
    assert (first["t"], first["f"]) == (8, 1)
    # "the unfused tasks are partitioned into 3 parts of roughly size 3"
    assert (second["capacity"], second["quantity"], second["k"]) == (3, 2, 3)
    # "We fuse 1 of the 3 partitions, as this is all that is required"
    assert (second["beta"], second["alpha"]) == (1, 1)
    # line 43: t ← 8 − 1 × 3; the graph then has 7 tasks, within the threshold of 8
    assert (second["t"], second["f"]) == (5, 2)
    assert trace["mapping"] == "model"
    assert trace["tasks_in_model"] == 7
    assert result.status is Status.OK


def test_fig_1_costs_3() -> None:
    result = run(fig1(), phi=8)
    assert result.score.inter_node == 3.0
    assert result.details["trace"][0]["iterations"] == []  # 5 tasks are below the threshold


def test_without_time_for_a_solver_everything_is_fused_and_mapped_directly() -> None:
    result = run(fig2(), phi=0)
    (trace,) = result.details["trace"]
    steps = [(s["capacity"], s["k"], s["beta"], s["alpha"], s["t"]) for s in trace["iterations"]]
    # 12 tasks: one node of 4, then two of 3 (k = ⌈8/3⌉), then the last 2 in one piece (k = 1)
    assert steps == [(4, 3, None, 1, 8), (3, 3, None, 2, 2), (2, 1, None, 1, 0)]
    assert trace["mapping"] == "direct"
    nodes = result.placement.nodes(fig2().slots)
    assert sorted(np.bincount(nodes, minlength=4).tolist()) == [2, 3, 3, 4]


def test_more_partitions_than_the_threshold_fall_back_to_the_heuristic() -> None:
    problem = micro("linear", 32, cluster("homogeneous"))
    (trace,) = run(problem, phi=7).details["trace"]  # k = 32 / 4 = 8 > 7: lines 32–35
    assert trace["mapping"] == "direct"
    assert [s["phi"] for s in trace["iterations"]] == [0]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("nodes", ["homogeneous", "heterogeneous"])
def test_the_72_cases_are_no_worse_than_the_paper(layout: str, nodes: str) -> None:
    for tasks, optimum in zip(PAPER_TASKS, PAPER_OPTIMA[layout, nodes], strict=True):
        result = run(micro(layout, tasks, cluster(nodes)), phi=32)
        most = PAPER_MISSES.get((layout, nodes, tasks), optimum)
        assert result.score.inter_node <= most, f"{layout}-{tasks}-{nodes}"


@pytest.mark.parametrize("machines", [10, 40])
def test_parallel_topologies_keep_all_traffic_on_nodes(machines: int) -> None:
    assert run(parallel(7, machines), phi=12).score.inter_node == 0.0


def test_the_second_level_keeps_to_t_and_starts_only_the_workers_it_needs() -> None:
    own = topology("t", {f"c{i}": 2 for i in range(8)}, cpu=50.0, max_executors_per_worker=5)
    edges = [(a, b, 1.0) for a in range(14) for b in (a + 2,)]
    problem = union(cluster("2x6"), [own], [edges])
    result = run(problem, phi=20)
    per_worker = np.bincount(result.placement.slot)
    assert per_worker.max() <= 5
    nodes = result.placement.nodes(problem.slots)
    for node in range(2):  # line 57: w = ⌈t / T⌉
        here = result.placement.slot[nodes == node]
        assert len(np.unique(here)) == -(-len(here) // 5)


def test_replacement_keeps_parts_on_their_nodes() -> None:
    problem = parallel(7, 10)
    first = run(problem, phi=12)
    again = run(problem, phi=12, current=first.placement)
    assert again.score.moved_executors == 0


@pytest.mark.parametrize("phi", [0, 6, 12])
def test_keeps_every_promise_on_random_problems(phi: int) -> None:
    for seed in range(60):
        problem, current = random_problem(seed)
        run(problem, phi, current, theta=1.0)


def test_never_better_than_the_proven_optimum() -> None:
    for tasks in (10, 14, 20):
        problem = micro("linear", tasks, cluster("heterogeneous"))
        best = exact.solve(problem, None, Options(theta=60.0))
        assert run(problem, phi=6).score.inter_node >= (best.lower_bound or 0.0)


def test_the_threshold_is_the_largest_size_that_all_smaller_ones_keep_too() -> None:
    table = Table(alike=((10, 0.1), (16, 0.5), (24, 0.4), (32, 3.0)), measured=((10, 2.0),))
    assert table.threshold(1.0, "alike") == 24
    assert table.threshold(0.45, "alike") == 10  # 24 was luck: 16 took longer
    assert table.threshold(1.0, "measured") == 0


def test_the_threshold_is_measured_once_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cache" / "calibration.json"
    measured = []

    def once() -> Table:
        measured.append(True)
        return Table(alike=((10, 0.1),), measured=((8, 0.2),))

    monkeypatch.setattr("brain.calibration.threshold.measure", once)
    assert find_threshold(1.0, "measured", measure_if_missing=False, path=path) == (
        BUILT_IN.threshold(1.0, "measured")
    )
    assert find_threshold(1.0, "measured", path=path) == 8
    assert find_threshold(1.0, "alike", path=path) == 10
    assert load(path) == Table(alike=((10, 0.1),), measured=((8, 0.2),))
    assert measured == [True]
    assert find_threshold(0.0, path=path) == 0


def test_a_damaged_or_foreign_calibration_is_no_calibration(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    assert load(path) is None
    path.write_text("{")
    assert load(path) is None
    save(BUILT_IN, path)
    assert load(path) == BUILT_IN
    path.write_text(path.read_text().replace('"format": 1', '"format": 0'))
    assert load(path) is None
