"""Dry runs and what-ifs: placements computed on demand, and kept so that one can be applied.

The computation is the real one (BrainCore.prepare and assess), in a solver process of its own, so
that an operator's question delays neither Nimbus nor the planner. One at a time.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from brain.algorithms import registry
from brain.algorithms.parts.score import score
from brain.errors import BadInput
from brain.explain.whatif import Change, changed_rates, changed_view
from brain.idl import wire
from brain.model import Options, Result, Score, Status
from brain.plans.plan import Executor, Plan, SlotId
from brain.policy.computation import SolveTask
from brain.policy.decision import Decision, Trigger, gain_percent, moves_between
from brain.policy.problem_builder import BuiltProblem, build_problem
from brain.service.arguments import Arguments
from brain.service.inside import Inside
from brain.service.solver import Solver, SolverFailed
from brain.units import unit_of

KEPT = 64
KEPT_SECS = 3600.0
MAX_THETA = 60.0
QUEUE_SECS = 5.0
"""How long a question waits for the one before it; then the brain says that it is busy."""
IDLE_SECS = 120.0
"""After so long without a question the solver process is ended."""


@dataclass(frozen=True)
class Drafted:
    """A plan that was shown: what it was based on, and when."""

    digest: str
    plan: Plan
    decision: Decision
    base: Mapping[Executor, SlotId]
    made_at: float
    inputs: tuple[SolveTask, Result] | None = None
    """What it was computed from, for `stormbrain replay`; None of a proposal, whose file exists."""


class Drafts:
    def __init__(self, inside: Inside) -> None:
        self._inside = inside
        self._solver = Solver()
        self._turn = threading.Lock()
        self._keeping = threading.Lock()
        self._kept: OrderedDict[str, Drafted] = OrderedDict()
        self._used_at = 0.0

    def find(self, topology_id: str, digest: str) -> Drafted | None:
        """By digest or a beginning of it (8 characters at least); None if unknown or too old."""
        with self._keeping:
            self._forget_old()
            matching = [
                d
                for d in self._kept.values()
                if d.plan.topology_id == topology_id
                and len(digest) >= 8
                and d.digest.startswith(digest)
            ]
        return matching[0] if len(matching) == 1 else None

    def dry_run(self, arguments: Arguments) -> dict[str, Any]:
        """What would be done now: decision, moves, costs, and a digest to apply it by."""
        name = arguments.required_text("topology")
        choose = _choices(arguments)
        arguments.done()
        inside = self._inside
        with inside.lock:
            record = inside.record(name)
            now_ms = inside.clock.now_ms()
            task = inside.core.prepare(
                record.view.id, Trigger("dry-run", "asked for by an operator"), now_ms
            )
            waiting = inside.core.waiting(record, now_ms)
        if task is None:
            raise nothing_measured(name, waiting)
        task = choose(task)
        result = self._solve(task.algorithm, task.built, task.options)
        with inside.lock:
            decision, plan = inside.core.assess(task, result, inside.clock.now_ms())
        return self._shown(task, result, decision, plan, waiting)

    def what_if(self, arguments: Arguments) -> dict[str, Any]:
        """The best placement on a changed cluster or under changed rates; applied by nobody."""
        name = arguments.required_text("topology")
        change = _change(arguments)
        choose = _choices(arguments)
        arguments.done()
        inside = self._inside
        with inside.lock:
            record, view = inside.record(name), inside.core.view
            now_ms = inside.clock.now_ms()
            task = inside.core.prepare(record.view.id, Trigger("what-if", str(change)), now_ms)
            rates = {t: inside.core.rates(t, now_ms) for t in inside.core.records}
            machines = inside.core.machine_loads(now_ms)
            waiting = inside.core.waiting(record, now_ms)
        if task is None or view is None:
            raise nothing_measured(name, waiting)
        task = choose(task)
        try:
            then = changed_view(view, change)
        except BadInput as e:
            raise wire.BadRequest(e.where, e.message) from None
        built = build_problem(
            then,
            task.topology_id,
            changed_rates(rates, task.topology_id, change.rate),
            inside.settings,
            task.settings,
            machines,
        )
        result = self._solve(task.algorithm, built, task.options)
        return _compared(task, change, built, result, then.topologies[task.topology_id].assignment)

    def rest(self) -> None:
        """Called now and then: ends the solver process when nobody has asked for a while."""
        if time.monotonic() - self._used_at > IDLE_SECS and self._turn.acquire(blocking=False):
            try:
                self._solver.stop()
            finally:
                self._turn.release()

    def stop(self) -> None:
        self._solver.close()

    def _solve(self, algorithm: str, built: BuiltProblem, options: Options) -> Result:
        with self._one_at_a_time():
            try:
                return self._solver.solve(algorithm, built.problem, built.current, options)
            except SolverFailed as e:
                raise wire.BadRequest("algorithm", e.message) from None

    @contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        if not self._turn.acquire(timeout=QUEUE_SECS):
            raise wire.Overloaded("another dry run is being computed: try again in a moment")
        try:
            self._used_at = time.monotonic()
            yield
        finally:
            self._used_at = time.monotonic()
            self._turn.release()

    def _shown(
        self,
        task: SolveTask,
        result: Result,
        decision: Decision,
        plan: Plan,
        waiting: str | None,
    ) -> dict[str, Any]:
        base = dict(task.view.assignment)
        moves, restarts = moves_between(base, plan.executors, task.view.executors)
        why_not = _why_not(result, plan, task, bool(moves))
        digest = None
        if why_not is None:
            kept = replace(decision, moves=moves, restarts=restarts)
            digest = self._keep(plan, kept, base, (task, result))
        return {
            **_costs(decision.before, result),
            "unit": unit_of(task.built.problem.graph),
            "hosts": hosts_of(task.built),
            "digest": digest,
            "why_not_applicable": why_not,
            "kept_secs": KEPT_SECS,
            "topology_id": task.topology_id,
            "topology_name": task.view.name,
            "algorithm": result.algorithm,
            "theta_secs": task.options.theta,
            "seed": task.options.seed,
            "verdict": {"outcome": decision.outcome, "reason": decision.reason},
            "waiting": waiting,
            "moves": moves,
            "restarts": restarts,
            "observed_secs": task.observed_secs,
            "details": result.details,
            "current": _slots(base),
            "placement": _slots(plan.executors),
        }

    def _keep(
        self,
        plan: Plan,
        decision: Decision,
        base: Mapping[Executor, SlotId],
        inputs: tuple[SolveTask, Result],
    ) -> str:
        digest = draft_digest(plan, base)
        with self._keeping:
            self._kept[digest] = Drafted(digest, plan, decision, base, time.monotonic(), inputs)
            self._kept.move_to_end(digest)
            self._forget_old()
        return digest

    def _forget_old(self) -> None:
        limit = time.monotonic() - KEPT_SECS
        for digest, drafted in list(self._kept.items()):
            if drafted.made_at < limit or len(self._kept) > KEPT:
                self._kept.pop(digest, None)


def draft_digest(plan: Plan, base: Mapping[Executor, SlotId]) -> str:
    """Names a plan by what it does: where from, where to, for which executors."""
    text = json.dumps(
        [plan.topology_id, plan.executor_hash, sorted(base.items()), sorted(plan.executors.items())]
    )
    return hashlib.sha256(text.encode()).hexdigest()


def _choices(arguments: Arguments) -> Any:
    """How the operator wants it computed: returns a function over the task."""
    algorithm = arguments.text("algorithm")
    if algorithm is not None and algorithm not in registry.names():
        raise wire.BadRequest(
            "algorithm",
            f"there is no algorithm {algorithm!r}; choose one of {', '.join(registry.names())}",
        )
    theta = arguments.number("theta", 0.01, MAX_THETA)
    seed = arguments.integer("seed", 0, 2**31 - 1)
    max_moves = arguments.integer("max_moves", 0, 2**31 - 1)

    def choose(task: SolveTask) -> SolveTask:
        own = task.options
        other = algorithm is not None and algorithm != task.algorithm
        options = Options(
            own.theta if theta is None else theta,
            own.seed if seed is None else seed,
            own.max_moves if max_moves is None else max_moves,
            {} if other else own.params,  # parameters belong to the configured algorithm
        )
        return replace(task, algorithm=algorithm or task.algorithm, options=options)

    return choose


def _change(arguments: Arguments) -> Change:
    try:
        return Change(
            arguments.integer("add_nodes", 0, 1000) or 0,
            arguments.texts("remove"),
            arguments.number("rate", 0, 1e6) or 1.0,
        )
    except BadInput as e:
        raise wire.BadRequest(e.where, e.message) from None


def nothing_measured(name: str, waiting: str | None) -> Exception:
    error: Exception = wire.BadRequest(
        "topology",
        f"nothing is known about the traffic of {name} under its present placement: "
        f"{waiting or 'no traffic measured yet'}",
    )
    return error


def _why_not(result: Result, plan: Plan, task: SolveTask, moves: bool) -> str | None:
    """Why a result cannot be applied, however much an operator wants it."""
    if result.status is not Status.OK:
        return f"{result.algorithm} did not keep every constraint"
    if len(plan.executors) != len(task.view.executors):
        return "some executors could not be placed"
    if not moves:
        return "nothing would move"
    if task.settings["mode"] == "off":
        return "topology.brain.mode is off"
    return None


def _costs(before: Score | None, result: Result) -> dict[str, Any]:
    return {
        "status": result.status,
        "before": before,
        "after": result.score,
        "gain_percent": None if before is None else gain_percent(before, result.score),
        "proven_optimal": result.proven_optimal,
        "lower_bound": result.lower_bound,
        "reasons": result.reasons,
        "seconds": result.seconds,
    }


def _compared(
    task: SolveTask,
    change: Change,
    built: BuiltProblem,
    result: Result,
    base: Mapping[Executor, SlotId],
) -> dict[str, Any]:
    planned = built.slots_of(result.placement)
    moves, restarts = moves_between(base, planned, task.view.executors)
    homeless = len(task.view.assignment) - len(base)
    load: dict[str, float] = dict.fromkeys((n.id for n in built.problem.nodes), 0.0)
    for node, cpu in zip(
        result.placement.nodes(built.problem.slots).tolist(),
        built.problem.cpu.tolist(),
        strict=True,
    ):
        if node >= 0:
            load[built.problem.nodes[node].id] += cpu
    return {
        **_costs(score(built.problem, built.current, built.current), result),
        "unit": unit_of(built.problem.graph),
        "hosts": {**hosts_of(task.built), **hosts_of(built)},
        "change": str(change),
        "topology_id": task.topology_id,
        "topology_name": task.view.name,
        "algorithm": result.algorithm,
        "today": score(task.built.problem, task.built.current, task.built.current),
        "without_a_home": homeless,
        "moves": moves,
        "restarts": restarts,
        "nodes": [
            {"id": n.id, "host": n.host, "cpu": load[n.id], "cpu_limit": n.cpu, "slots": n.slots}
            for n in built.problem.nodes
        ],
        "current": _slots(base),
        "placement": _slots(planned),
    }


def hosts_of(built: BuiltProblem) -> dict[str, str]:
    """Supervisor id → host: ids are for programs, hosts for people."""
    return {n.id: n.host or n.id for n in built.problem.nodes}


def _slots(placed: Mapping[Executor, SlotId]) -> dict[str, list[Any]]:
    return {f"{start}-{end}": [*slot] for (start, end), slot in sorted(placed.items())}
