"""One run of the portfolio, by the clock or by steps.

Never worse than a member, by construction: each member's own result, found with the same seed, θ
and parameters as alone, is a candidate. ``localsearch`` and the heuristics do a number of steps
that depends on the problem, not on the clock; ``exact`` and I-Scheduler's model stop at a share of
θ, alone as here. ``localsearch`` comes first, in this thread; the others start beside it. Only a
member that is not through by θ (or half a second, if that is later) is left out, and named.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from brain.algorithms import exact
from brain.algorithms.auto_parts import pool as pools
from brain.algorithms.auto_parts.board import Board
from brain.algorithms.auto_parts.engine import FOUNDERS, Engine
from brain.algorithms.auto_parts.explore import LABEL, exploration
from brain.algorithms.auto_parts.jobs import Answer, Explored, Job
from brain.algorithms.auto_parts.members import QUICK, members
from brain.algorithms.auto_parts.pool import Pool
from brain.algorithms.auto_parts.threads import ThreadRunner
from brain.algorithms.localsearch import LEAST_SECONDS, result_of, search_nodes, settle
from brain.algorithms.objective import Prices, latency_weight
from brain.algorithms.parts.finish import conclude
from brain.algorithms.parts.workspace import Workspace
from brain.model import UNPLACED, Options, Placement, Problem, Result

SMALL = 700
"""Things to place up to which the exact solver is tried."""
THREADED = 20_000
"""Things to place up to which threads do where no worker process is warm: below, starting one
takes longer than the members themselves."""
SECONDS_AN_EXECUTOR = 2e-5
"""For finding slots and verifying at the end; measured anew as soon as there is a candidate."""
WORTH_POLISHING = 1.15
"""A member's placement is improved further if its cost is at most so many times the best."""
Runner = Pool | ThreadRunner


class Portfolio:
    def __init__(
        self, problem: Problem, current: Placement | None, options: Options, begin: float
    ) -> None:
        self.problem = problem
        self.current = current
        self.options = options
        self.begin = begin
        self.deadline = begin + max(options.theta, 0.0)
        self.work = Workspace(problem, current, options)
        self.prices = Prices.of(self.work)
        self.board = Board(self.work, self.prices)
        self.lower_bound = exact.frozen_traffic(self.work)
        self.reserve = 0.02 * options.theta + SECONDS_AN_EXECUTOR * len(problem)
        self.trivial = len(self.work.units) == 0 or not self.work.limits.usable.any()

    # By the clock

    def in_time(self) -> Result:
        self._first_candidate()
        if self.trivial:
            return self._answer()
        engine = Engine(self.work, self.prices)
        with self._runner() as runner:
            jobs = members(
                self.options,
                self._prices(),
                small=len(self.work.units) <= SMALL,
                processes=isinstance(runner, Pool),
                latency=self.problem.latency_ms is not None,
            )
            # A second engine after the quick members where it is a long way to go; else after all
            # of them, and left out if they need all the time there is. It waits for the exact
            # solver, which needs a core for itself to prove what is found.
            proving = any(job.algorithm == "exact" for job in jobs)
            if not engine.capped and not proving and (first := self._exploration(1)) is not None:
                far = engine.soft and len(self.work.units) > SMALL
                jobs.insert(_quick(jobs) if far else len(jobs), first)
            for number, job in enumerate(jobs):
                runner.submit(number, job)
            self._search(engine, runner, jobs)
        return self._answer()

    def _exploration(self, number: int, starts: Sequence[NDArray[np.int32]] = ()) -> Job | None:
        own = {**self._prices(), "latency_weight": latency_weight(self.work)}
        options = replace(self.options, params=own)
        return exploration(options, self.begin, self._search_end(), number, starts)

    def _search(self, engine: Engine, runner: Runner, jobs: list[Job]) -> None:
        """Local search as it is alone, METIS starts, annealing; members' results as they come."""
        waiting = dict(enumerate(jobs))
        submitted, rounds = len(jobs), sum(job.label.startswith(LABEL) for job in jobs)

        def take_in(wait: float = 0.0) -> bool:
            nonlocal submitted, rounds
            for number, answer in runner.collect(wait):
                job = waiting.pop(number)
                self._enter(engine, job, answer)
                due = isinstance(answer, Explored) or job.algorithm == "exact"
                if not due or engine.capped or self._done():
                    continue
                starts = [node for _, node in engine.population] if rounds else []
                following = self._exploration(rounds + 1, starts)
                if following is not None:
                    waiting[submitted] = following
                    runner.submit(submitted, following)
                    submitted, rounds = submitted + 1, rounds + 1
            return self._done()

        self._local_search(engine, take_in)
        if not self._done():
            engine.start(self._late)
            if not engine.soft:
                share = self.begin + 0.45 * self.options.theta
                most = 1 if len(self.work.units) > THREADED else 24
                engine.seeds_until(share, lambda: self._late() or take_in(), most)
            engine.improve_until(self._search_end(), take_in, FOUNDERS - 1)  # beside localsearch
            self._settle(engine, "search")
        # Who comes in just before the end, or takes no notice of a small θ, is still compared.
        end = max(self._search_end(), self.begin + LEAST_SECONDS)
        while not self._done() and self._members_among(waiting) and time.perf_counter() < end:
            take_in(end - time.perf_counter())
        for job in waiting.values():
            self.board.fail(job.label, "not needed" if self._done() else "not finished in time")

    @staticmethod
    def _members_among(waiting: dict[int, Job]) -> bool:
        return any(not job.label.startswith(LABEL) for job in waiting.values())

    @contextmanager
    def _runner(self) -> Iterator[Runner]:
        """Warm worker processes; else threads unless the problem is large, else cold ones."""
        isolation = self.work.choice("isolation", "auto", ("auto", "process", "thread"))
        pool = pools.existing_pool()
        warm = pool is not None and pool.warm
        large = len(self.work.units) > THREADED
        if isolation == "process" or (isolation == "auto" and (warm or large)):
            with pools.shared_pool().session(self.problem, self.current) as session:
                if session is not None:
                    yield session
                    return
        threads = ThreadRunner(self.problem, self.current, self.deadline)
        try:
            yield threads
        finally:
            threads.leave()

    # By steps

    def in_steps(self) -> Result:
        """The same portfolio in a fixed order with fixed budgets: repeatable, however slow."""
        steps = int(self.work.number("steps", 0, 0, 1e12))
        self._first_candidate()
        if self.trivial:
            return self._answer()

        def never() -> bool:
            return False

        engine = Engine(self.work, self.prices)
        self._local_search(engine, never)
        engine.start(never)
        small = len(self.work.units) <= SMALL
        nodes = 1 + steps // 1000
        for job in members(
            self.options,
            self._prices(),
            small=small,
            processes=False,
            nodes=nodes,
            latency=self.problem.latency_ms is not None,
        ):
            try:
                answer: Answer = job.run(self.problem, self.current)
            except Exception as error:
                answer = f"{type(error).__name__}: {error}"
            self._enter(engine, job, answer)
            if self._done():
                return self._answer()
        if not engine.capped:
            for _ in range(8):
                engine.next_seed(never)
            for _ in range(2 if engine.soft else 0):
                engine.found(steps=steps)
        for number in range(4):
            engine.anneal(number, steps=steps // 8)
            if not engine.capped:
                engine.combine(number, steps=steps // 8)
        self._settle(engine, "search")
        return self._answer()

    # Candidates

    def _first_candidate(self) -> None:
        """What runs now; or nothing at all, where nothing can be placed."""
        if self.current is not None:
            self.board.add("current", conclude(self.work, "auto", self.current))
        elif self.trivial:
            none = Placement(np.full(len(self.problem), UNPLACED, dtype=np.int32))
            self.board.add("nothing", conclude(self.work, "auto", none))

    def _local_search(self, engine: Engine, take_in: Callable[[], bool]) -> None:
        """``localsearch`` exactly as it runs alone, unless something is proven meanwhile."""
        begin = time.perf_counter()
        end = max(self._search_end(), self.begin + LEAST_SECONDS)
        timed = "steps" not in self.options.params
        found = search_nodes(
            self.work, self.prices, lambda: take_in() or (timed and time.perf_counter() > end)
        )
        if self._done():
            return
        engine.adopt(found.node)
        begin_settling = time.perf_counter()
        result = result_of(self.work, self.prices, found)
        now = time.perf_counter()
        self.board.add("localsearch", result, now - begin)
        self.reserve = max(self.reserve, 1.5 * (now - begin_settling))

    def _enter(self, engine: Engine, job: Job, answer: Answer) -> None:
        if isinstance(answer, str):
            self.board.fail(job.label, answer)
        elif isinstance(answer, Explored):
            for node in answer.population:
                engine.adopt(node)
        else:
            self.board.add(job.label, answer, answer.seconds)
            if job.algorithm == "exact" and answer.lower_bound is not None:
                self.lower_bound = max(self.lower_bound, answer.lower_bound)
            if not self._late() and not self._done() and self._promising(answer):
                node = answer.placement.nodes(self.problem.slots)
                engine.offer(self.work.units.gather(node), self._late)

    def _promising(self, answer: Result) -> bool:
        best = self.board.best
        few = len(self.work.units) <= 200
        return (
            few
            or best is None
            or (answer.score.inter_node <= WORTH_POLISHING * best.score.inter_node)
        )

    def _settle(self, engine: Engine, label: str) -> None:
        """Turns the engine's best into slots and enters it."""
        if engine.best is None:
            return
        begin = time.perf_counter()
        result = self._settled(self.work.units.scatter(engine.best))
        self.board.add(label, result, time.perf_counter() - begin)

    def _settled(self, node: NDArray[np.int32]) -> Result:
        return conclude(self.work, "auto", settle(self.work, self.prices, node))

    def _prices(self) -> dict[str, float]:
        return {"move_cost": self.prices.move, "restart_cost": self.prices.restart}

    # Ends

    def _search_end(self) -> float:
        return self.deadline - self.reserve

    def _late(self) -> bool:
        return "steps" not in self.options.params and time.perf_counter() > self._search_end()

    def _done(self) -> bool:
        """Whether the incumbent is proven and nothing in the order could tell it from better."""
        best = self.board.best
        if best is None or str(best.status) != "ok" or latency_weight(self.work):
            return False  # the bound is of traffic alone
        score = best.score
        undisturbed = score.moved_executors == 0 and score.restarted_workers == 0
        least = score.inter_node <= self.lower_bound + 1e-9 * max(abs(score.inter_node), 1.0)
        measured = self.work.graph is self.problem.graph
        return least and measured and score.inter_worker == 0.0 and undisturbed

    def _answer(self) -> Result:
        seconds = time.perf_counter() - self.begin
        result = self.board.answer(self.lower_bound, {"theta": self.options.theta})
        return replace(result, seconds=seconds)


def _quick(jobs: list[Job]) -> int:
    """How many of the jobs, from the first on, take no notice of θ and are soon done."""
    slow = (number for number, job in enumerate(jobs) if job.algorithm not in QUICK)
    return next(slow, len(jobs))
