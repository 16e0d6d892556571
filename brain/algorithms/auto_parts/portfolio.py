"""One run of the portfolio, by the clock or by steps."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from brain.algorithms import exact, registry
from brain.algorithms.auto_parts import pool as pools
from brain.algorithms.auto_parts.board import Board
from brain.algorithms.auto_parts.engine import Engine
from brain.algorithms.auto_parts.jobs import Job, find
from brain.algorithms.auto_parts.partitioners import installed
from brain.algorithms.auto_parts.pool import Pool
from brain.algorithms.auto_parts.threads import ThreadRunner
from brain.algorithms.localsearch import settle
from brain.algorithms.objective import Prices
from brain.algorithms.parts.finish import conclude
from brain.algorithms.parts.workspace import Workspace
from brain.calibration import find_threshold
from brain.errors import BadInput
from brain.model import UNPLACED, Options, Placement, Problem, Result

SMALL = 700
"""Things to place up to which the exact solver is tried, and members may run in a thread."""
COLUMNS_IN_STEPS = 800
"""The exact model's size where no clock limits it."""
PHI_IN_STEPS = 8
"""I-Scheduler's threshold then; it must not depend on what this machine was measured at."""
NOT_MEMBERS = ("auto", "exact")
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
        self.lower_bound = self._frozen_traffic()
        self.reserve = 0.02 * options.theta
        self.trivial = len(self.work.units) == 0 or not self.work.limits.usable.any()

    # By the clock

    def in_time(self) -> Result:
        self._first_candidate()
        if self.trivial:
            return self._answer()
        engine = Engine(self.work, self.prices)
        engine.start(self._late)
        if not engine.capped:
            engine.next_seed(self._late)
        self._settle(engine, "start")
        if self._done() or self._exact(engine, self.begin + 0.45 * self.options.theta):
            return self._answer()
        with self._runner() as runner:
            jobs = self._jobs()
            if isinstance(runner, ThreadRunner):
                # A thread cannot be ended, so nothing that fills its time on purpose.
                jobs = [job for job in jobs if job.algorithm != "localsearch"]
            for number, job in enumerate(jobs):
                runner.submit(number, job)
            self._search(engine, runner, jobs)
        self._settle(engine, "search")
        return self._answer()

    def _search(self, engine: Engine, runner: Runner, jobs: list[Job]) -> None:
        """METIS starts and annealing, taking in members' results as they come."""
        waiting = dict(enumerate(jobs))

        def take_in(wait: float = 0.0) -> bool:
            for number, answer in runner.collect(wait):
                self._enter(engine, waiting.pop(number), answer, polish=not self._late())
            return self._done()

        seeds = 0
        enough = 1 if len(self.work.units) > 20_000 else 24
        share = self.begin + 0.3 * self.options.theta
        while not self._late() and not engine.capped and seeds < enough:
            engine.next_seed(self._late)
            seeds += 1
            if take_in() or time.perf_counter() > share:
                break
        engine.improve_until(self._search_end(), take_in)
        # What comes in just before the end is compared, no longer polished.
        while waiting and not self._done() and not self._late():
            take_in(self._search_end() - time.perf_counter())
        for job in waiting.values():
            self.board.fail(job.label, "not needed" if self._done() else "not finished in time")

    @contextmanager
    def _runner(self) -> Iterator[Runner]:
        """Warm worker processes; else a thread if the problem is small, else cold ones."""
        isolation = self.work.choice("isolation", "auto", ("auto", "process", "thread"))
        pool = pools.existing_pool()
        warm = pool is not None and pool.warm
        small = len(self.work.units) <= SMALL and self.problem.graph.edges <= 60_000
        if isolation == "process" or (isolation == "auto" and (warm or not small)):
            with pools.shared_pool().session(self.problem, self.current) as session:
                if session is not None:
                    yield session
                    return
        threads = ThreadRunner(self.problem, self.current)
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
        engine.start(never)
        if self._exact(engine, math.inf, nodes=1 + steps // 1000):
            return self._answer()
        for job in self._jobs(nodes=1 + steps // 1000, steps=steps):
            try:
                answer: Result | str = job.run(self.problem, self.current)
            except Exception as error:
                answer = f"{type(error).__name__}: {error}"
            self._enter(engine, job, answer)
        if not engine.capped:
            for _ in range(8):
                engine.next_seed(never)
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

    def _exact(self, engine: Engine, deadline: float, nodes: int | None = None) -> bool:
        """Tries the exact solver; True if nothing can be better by the order of ``objective``."""
        if len(self.work.units) > SMALL:
            return False
        begin = time.perf_counter()
        params = {} if nodes is None else {"nodes": nodes, "max_columns": COLUMNS_IN_STEPS}
        left = max(deadline - begin, 0.0) if nodes is None else 0.0
        options = replace(self.options, theta=left, params=params)
        attempt = exact.try_exact(Workspace(self.problem, self.current, options), deadline)
        least = attempt.bound if attempt.proven_cost is None else attempt.proven_cost
        self.lower_bound = max(self.lower_bound, least)
        if attempt.node is not None:
            result = self._settled(attempt.node)
            self.board.add("exact", result, time.perf_counter() - begin)
            engine.offer(self.work.units.gather(attempt.node), self._late)
        return self._done()

    def _enter(
        self, engine: Engine, job: Job, answer: Result | str, *, polish: bool = True
    ) -> None:
        if isinstance(answer, str):
            self.board.fail(job.label, answer)
            return
        self.board.add(job.label, answer, answer.seconds)
        if polish:
            node = answer.placement.nodes(self.problem.slots)
            engine.offer(self.work.units.gather(node), self._late)

    def _settle(self, engine: Engine, label: str) -> None:
        """Turns the engine's best into slots and enters it; learns how long that takes."""
        if engine.best is None:
            return
        begin = time.perf_counter()
        result = self._settled(self.work.units.scatter(engine.best))
        seconds = time.perf_counter() - begin
        self.board.add(label, result, seconds)
        self.reserve = max(self.reserve, 1.5 * seconds)

    def _settled(self, node: NDArray[np.int32]) -> Result:
        return conclude(self.work, "auto", settle(self.work, self.prices, node))

    def _jobs(self, nodes: int | None = None, steps: int | None = None) -> list[Job]:
        """The members: every heuristic, METIS with both objectives, partitioners if installed."""
        theta = max(self._search_end() - time.perf_counter(), 0.05)
        options = replace(self.options, theta=theta, params=self._prices())
        chosen = self.options.params.get("members")
        if chosen is not None:
            if isinstance(chosen, str) or not all(isinstance(m, str) for m in chosen):
                raise BadInput("params.members", "must be a list of names")
            for member in chosen:
                find(member)
            return [Job(member, member, options) for member in chosen]
        phi = PHI_IN_STEPS
        if nodes is None:
            phi = find_threshold(self.options.theta, "measured", measure_if_missing=False)
        jobs = []
        for name in registry.names():
            if name in NOT_MEMBERS or name == "localsearch":
                continue
            if name == "metis":
                jobs.append(Job("metis-cut", name, options, {"objective": "cut"}))
            extra: dict[str, object] = {}
            if name == "ischeduler":
                extra["phi"] = phi
                if nodes is not None:
                    extra["nodes"] = nodes
            jobs.append(Job(name, name, options, extra))
        if nodes is None:
            jobs += [Job(label, where, options) for label, where in installed()]
        extra = {} if steps is None else {"steps": steps}
        jobs.append(Job("localsearch", "localsearch", options, extra))
        return jobs

    def _prices(self) -> dict[str, object]:
        return {"move_cost": self.prices.move, "restart_cost": self.prices.restart}

    # Ends

    def _search_end(self) -> float:
        return self.deadline - self.reserve

    def _late(self) -> bool:
        return "steps" not in self.options.params and time.perf_counter() > self._search_end()

    def _done(self) -> bool:
        """Whether the incumbent is proven and nothing in the order could tell it from better."""
        best = self.board.best
        if best is None or str(best.status) != "ok":
            return False
        score = best.score
        undisturbed = score.moved_executors == 0 and score.restarted_workers == 0
        least = score.inter_node <= self.lower_bound + 1e-9 * max(abs(score.inter_node), 1.0)
        measured = self.work.graph is self.problem.graph
        return least and measured and score.inter_worker == 0.0 and undisturbed

    def _answer(self) -> Result:
        seconds = time.perf_counter() - self.begin
        result = self.board.answer(self.lower_bound, {"theta": self.options.theta})
        return replace(result, seconds=seconds)

    def _frozen_traffic(self) -> float:
        return exact.frozen_traffic(self.work)
