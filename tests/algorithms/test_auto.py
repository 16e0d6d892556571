"""What the portfolio promises: never worse than a member or than what runs, in time, repeatable."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from brain.algorithms import auto, registry
from brain.algorithms.auto_parts import pool as pools
from brain.algorithms.auto_parts.jobs import Job
from brain.algorithms.objective import Key, Prices, order
from brain.algorithms.parts.verify import check, violations
from brain.algorithms.parts.verify_score import plain_score
from brain.algorithms.parts.workspace import Workspace
from brain.errors import BadInput
from brain.model import Options, Placement, Problem, Result, Status
from brain.problems.clusters import cluster
from brain.problems.fischer import opengov, parallel, reference
from brain.problems.micro import LAYOUTS, PAPER_TASKS, micro
from tests.algorithms.clusters import chain, random_problem
from tests.algorithms.test_exact import PAPER_OPTIMA

HERE = "tests.algorithms.misbehaving"


@pytest.fixture(scope="module", autouse=True)
def _end_workers() -> Iterator[None]:
    yield
    auto.close()


def key_by_verifier(
    problem: Problem, placement: Placement, current: Placement | None, options: Options
) -> Key:
    """The place in the order of ``objective``, from the verifier's own count and score."""
    work = Workspace(problem, current, options)
    broken = len(violations(problem, placement, current))
    status = Status.OK
    if broken:
        placed = bool((work.limits.movable & placement.placed).any())
        status = Status.BEST_EFFORT if placed else Status.INFEASIBLE
    found = plain_score(problem, placement, current)
    return order(work, Prices.of(work), status, broken, found, placement)


def assert_not_worse(
    problem: Problem, current: Placement | None, best: Result, options: Options, name: str
) -> None:
    prices = Prices.of(Workspace(problem, current, options))
    params = {"move_cost": prices.move, "restart_cost": prices.restart}
    if name == "ischeduler":
        params["phi"] = 8
    own = Options(theta=1.0, seed=options.seed, max_moves=options.max_moves, params=params)
    other = registry.get(name)(problem, current, own)
    mine = key_by_verifier(problem, best.placement, current, options)
    theirs = key_by_verifier(problem, other.placement, current, options)
    assert mine <= theirs, f"{name}: {theirs} is better than {mine}"


MEMBERS = [n for n in registry.names() if n not in ("auto", "exact", "localsearch")]
MEMBERS = [n for n in MEMBERS if not n.startswith("qos")]  # a member where latencies are known


def test_never_worse_than_any_member_on_random_problems() -> None:
    for seed in range(25):
        problem, current = random_problem(seed)
        options = Options(params={"steps": 4000})
        best = auto.solve(problem, current, options)
        assert check(problem, best, current, options) == [], f"seed {seed}"
        for name in MEMBERS:
            assert_not_worse(problem, current, best, options, name)


@pytest.mark.parametrize("make", [lambda: reference(7, 10), lambda: opengov(12)])
def test_never_worse_than_any_member_on_the_papers_graphs(make) -> None:  # type: ignore[no-untyped-def]
    problem = make()
    options = Options(params={"steps": 40_000})
    best = auto.solve(problem, None, options)
    assert best.status is Status.OK
    for name in MEMBERS:
        assert_not_worse(problem, None, best, options, name)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("nodes", ["homogeneous", "heterogeneous"])
def test_the_72_cases_of_the_paper_are_proven(layout: str, nodes: str) -> None:
    for tasks, optimum in zip(PAPER_TASKS, PAPER_OPTIMA[layout, nodes], strict=True):
        problem = micro(layout, tasks, cluster(nodes))
        result = auto.solve(problem, None, Options(theta=60.0))
        assert result.proven_optimal, f"{layout}-{tasks}-{nodes}"
        assert result.score.inter_node == optimum == result.lower_bound
        assert check(problem, result) == []


def test_parallel_topologies_keep_all_traffic_on_nodes() -> None:
    result = auto.solve(parallel(7, 20), None, Options(theta=30.0))
    assert result.score.inter_node == 0.0
    assert result.proven_optimal


def test_repeats_itself_for_a_seed_and_a_number_of_steps() -> None:
    problem = reference(4, 6)
    for seed in (0, 5):
        options = Options(seed=seed, params={"steps": 8000})
        one, two = (auto.solve(problem, None, options) for _ in range(2))
        assert one.placement.slot.tolist() == two.placement.slot.tolist()
        assert one.score == two.score


def test_never_worse_than_what_runs_now() -> None:
    for seed in range(40):
        problem, current = random_problem(seed)
        if current is None:
            continue
        options = Options(params={"steps": 1000, "members": ["even"]})
        best = auto.solve(problem, current, options)
        mine = key_by_verifier(problem, best.placement, current, options)
        assert mine <= key_by_verifier(problem, current, current, options), f"seed {seed}"


def test_a_good_placement_is_left_alone() -> None:
    problem = reference(4, 6)
    options = Options(params={"steps": 8000})
    first = auto.solve(problem, None, options)
    again = auto.solve(problem, first.placement, options)
    assert again.score.moved_executors == 0
    assert again.score.restarted_workers == 0


@pytest.mark.parametrize("cap", [0, 1, 4])
def test_the_cap_on_moves_holds_and_more_is_never_worse(cap: int) -> None:
    problem = micro("linear", 16, cluster("homogeneous"))
    even = registry.get("even")(problem, None, Options())
    costs = []
    for most in (cap, cap + 4):
        options = Options(max_moves=most, params={"steps": 4000})
        result = auto.solve(problem, even.placement, options)
        assert check(problem, result, even.placement, options) == []
        costs.append(key_by_verifier(problem, result.placement, even.placement, options))
    assert costs[1] <= costs[0]


@pytest.mark.parametrize("isolation", ["process", "thread"])
def test_a_member_that_hangs_is_left_out_and_said_so(isolation: str) -> None:
    hang = f"{HERE}:hang"
    options = Options(theta=1.0, params={"members": [hang], "isolation": isolation})
    result = auto.solve(reference(4, 6), None, options)
    assert result.status is Status.OK
    assert {"candidate": hang, "failed": "not finished in time"} in result.details["candidates"]


def answers_of(pool: pools.Pool, members: list[str], wanted: int) -> dict[str, Result | str]:
    """Runs members in the pool until so many have answered, however busy the machine is."""
    found: dict[str, Result | str] = {}
    with pool.session(reference(4, 6), None) as session:
        assert session is not None
        for number, member in enumerate(members):
            session.submit(number, Job(member, member, Options()))
        while len(found) < wanted:
            for number, answer in session.collect(1.0):
                found[members[number]] = answer
    return found


def test_a_worker_that_hangs_is_ended_and_replaced_while_others_work() -> None:
    assert auto.warm()
    pool = pools.shared_pool()
    before = {w.process.pid: w for w in pool._workers}
    found = answers_of(pool, [f"{HERE}:hang", "metis"], 1)
    assert isinstance(found["metis"], Result)
    after = {w.process.pid for w in pool._workers}
    replaced = [w for pid, w in before.items() if pid not in after]
    assert len(replaced) == 1  # the one that hung
    assert not replaced[0].alive


def test_members_that_fail_or_die_are_survived_and_say_why() -> None:
    assert auto.warm()
    members = [f"{HERE}:fail", f"{HERE}:die", "metis"]
    found = answers_of(pools.shared_pool(), members, 3)
    assert found[f"{HERE}:fail"] == "RuntimeError: no idea"
    assert found[f"{HERE}:die"] == "its process died"
    assert isinstance(found["metis"], Result)


def test_two_solves_at_once_both_get_an_answer() -> None:
    assert auto.warm()
    problem = reference(4, 6)
    results: list[Result] = []

    def run(seed: int) -> None:
        results.append(auto.solve(problem, None, Options(theta=1.0, seed=seed)))

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [r.status for r in results] == [Status.OK] * 3


def test_an_unknown_member_is_said_so() -> None:
    with pytest.raises(BadInput, match="nobody"):
        auto.solve(reference(4, 6), None, Options(theta=0.2, params={"members": ["nobody"]}))


def test_the_edges_of_problems_have_answers() -> None:
    nothing = auto.solve(chain(0, cluster("2x2")), None, Options(theta=1.0))
    assert nothing.status is Status.OK
    one = auto.solve(chain(3, cluster("1x4")), None, Options(theta=5.0))
    assert one.status is Status.OK
    assert one.proven_optimal
    nowhere = auto.solve(chain(3, ()), None, Options(theta=1.0))
    assert nowhere.status is Status.INFEASIBLE
    assert nowhere.reasons
    cramped = auto.solve(chain(5, cluster("1x2 1x1")), None, Options(theta=1.0))
    assert cramped.status is Status.BEST_EFFORT
    assert int(cramped.placement.placed.sum()) == 3
    assert np.isfinite(cramped.score.inter_node)


def test_a_member_that_knows_no_cap_on_moves_cannot_break_it() -> None:
    problem, current = random_problem(5007)
    options = Options(seed=5007, max_moves=3, params={"steps": 2000})
    result = auto.solve(problem, current, options)
    assert check(problem, result, current, options) == []
    even = next(c for c in result.details["candidates"] if c["candidate"] == "even")
    assert "3 allowed" in even["failed"]


def test_a_command_ends_in_order_while_the_exact_solver_is_still_at_it() -> None:
    """A thread left behind inside C++ aborted the interpreter at its exit."""
    script = (
        "from brain.algorithms import auto\n"
        "from brain.model import Options\n"
        "from brain.problems.fischer import opengov\n"
        "auto.solve(opengov(10), None, Options(theta=0.6, params={'isolation': 'thread'}))\n"
    )
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
