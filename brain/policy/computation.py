"""One computation: what it is made from, and what is decided from its result."""

from __future__ import annotations

from dataclasses import dataclass

from brain.algorithms.parts.score import score
from brain.config import TopologySettings
from brain.model import Options, Result
from brain.monitor.snapshot import TopologyView
from brain.plans.plan import Cost, Plan
from brain.policy.decision import Decision, Outcome, Situation, Trigger, judge, moves_between
from brain.policy.problem_builder import BuiltProblem
from brain.units import unit_of


@dataclass(frozen=True)
class SolveTask:
    topology_id: str
    trigger: Trigger
    algorithm: str
    options: Options
    built: BuiltProblem
    settings: TopologySettings
    observed_secs: float
    view: TopologyView
    trouble: tuple[str, ...] = ()
    downtime_secs: float = 0.0


@dataclass(frozen=True)
class Draft:
    """A plan that lacks only its epoch and term; ``area`` is plans or proposals."""

    plan: Plan
    area: str


def assess(task: SolveTask, result: Result, decision_id: str, now_ms: int) -> tuple[Decision, Plan]:
    """The decision about a result and the plan it would make.

    A dry run and the real thing both come through here, so they cannot differ. The plan may lack
    executors that could not be placed; then the decision is not to move.
    """
    situation = situation_of(task, result)
    before = situation.before
    outcome, reason = judge(situation, result, task.settings)
    planned = task.built.slots_of(result.placement)
    if outcome is Outcome.MOVE and len(planned) != len(task.view.executors):
        outcome, reason = Outcome.STAY, "some executors could not be placed"
    moves, restarts = moves_between(task.view.assignment, planned, task.view.executors)
    decision = Decision(
        id=decision_id,
        time_ms=now_ms,
        topology_id=task.topology_id,
        topology_name=task.view.name,
        trigger=task.trigger,
        mode=task.settings["mode"],
        algorithm=result.algorithm,
        outcome=outcome,
        reason=reason,
        before=before,
        after=result.score,
        moves=moves if outcome is Outcome.MOVE else (),
        restarts=restarts if outcome is Outcome.MOVE else (),
        seconds=result.seconds,
        observed_secs=task.observed_secs,
        details=result.details,
    )
    plan = Plan(
        topology_id=task.topology_id,
        epoch=0,
        executor_hash=task.view.executor_hash,
        algorithm=result.algorithm,
        before=Cost(before.inter_node, before.inter_worker),
        after=Cost(result.score.inter_node, result.score.inter_worker),
        reason=reason,
        executors=planned,
        created_ms=now_ms,
        decision_id=decision.id,
    )
    return decision, plan


def situation_of(task: SolveTask, result: Result) -> Situation:
    """What the result of a task is to be judged against."""
    problem, current = task.built.problem, task.built.current
    now, then = current.nodes(problem.slots), result.placement.nodes(problem.slots)
    graph = problem.graph
    crossing = [
        float(graph.tuples[n[graph.sources] != n[graph.indices]].sum()) for n in (now, then)
    ]
    return Situation(
        before=score(problem, current, current),
        running=bool(task.view.assignment) and task.view.fully_assigned,
        trouble=task.trouble,
        saved_tuples=crossing[0] - crossing[1],
        tuples=float(graph.tuples.sum()),
        workers=len(set(task.view.assignment.values())),
        downtime_secs=task.downtime_secs,
        unit=unit_of(problem.graph),
    )
