"""A topology of agents: the brain places it first and after failures, and then leaves it alone."""

from __future__ import annotations

from dataclasses import replace

from brain.algorithms import registry
from brain.plans.plan import StoredPlan
from brain.policy.computation import Draft
from brain.qos.space import NodeQos
from brain.qos.vivaldi import Coordinate
from tests.policy.test_core import CROSSED, World


def bootstrapped(world: World) -> Draft:
    (task,) = world.core.due(world.now)
    assert task.algorithm == "qos-bootstrap"
    result = registry.run(task.algorithm, task.built.problem, task.built.current, task.options)
    _, draft = world.core.on_result(task, result, world.now)
    assert draft is not None
    return draft


def written(world: World, draft: Draft) -> StoredPlan:
    stored = StoredPlan(replace(draft.plan, epoch=1), "digest", 0)
    world.core.on_written(stored)
    return stored


def nowhere() -> World:
    world = World(algorithm="qos-distributed", pin={"spout": ["n2"]})
    world.slots = {}
    world.snapshot()
    return world


def test_a_new_topology_is_bootstrapped_before_anything_is_measured() -> None:
    world = nowhere()
    assert world.core.awaits_first_placement()
    draft = bootstrapped(world)
    assert {draft.plan.executors[t, t][0] for t in (1, 2, 3)} == {"n2"}
    written(world, draft)
    assert [r.epoch for r in world.core.references()] == [1]


def test_once_it_runs_whole_the_brain_names_no_plan_and_removes_none() -> None:
    world = nowhere()
    stored = written(world, bootstrapped(world))
    world.slots = {e[0]: slot for e, slot in stored.plan.executors.items()}
    world.now += 1000
    assert world.snapshot() == []
    assert world.core.references() == []
    assert world.core.stored_plans() == []
    world.slots = dict(CROSSED)  # its agents move it
    world.now += 1000
    assert world.snapshot() == []
    assert world.live(300) == []
    assert world.core.waiting(next(iter(world.core.records.values())), world.now) == (
        "its agents place it"
    )


def test_executors_that_lost_their_places_are_placed_again() -> None:
    world = nowhere()
    stored = written(world, bootstrapped(world))
    world.slots = {e[0]: slot for e, slot in stored.plan.executors.items()}
    world.now += 1000
    world.snapshot()
    world.slots = {t: s for t, s in world.slots.items() if t != 5}
    world.now += 1000
    world.snapshot()
    assert world.core.awaits_first_placement()
    draft = bootstrapped(world)
    assert len(draft.plan.executors) == 6


def test_another_leader_adopts_no_plan_of_agents() -> None:
    world = nowhere()
    stored = written(world, bootstrapped(world))
    world.slots = {e[0]: slot for e, slot in stored.plan.executors.items()}
    world.snapshot()
    assert world.core.adopt([stored], world.now) == []
    assert world.core.references() == []


def test_what_agents_say_of_nodes_is_in_the_problem() -> None:
    world = World(algorithm="qos")
    world.core.quality = {
        n: NodeQos(n, Coordinate(20.0 * i, 0.0, 2.0, 0.1), 0.4 + 0.1 * i, 0.9)
        for i, n in enumerate(("n1", "n2", "n3"))
    }
    tasks = world.live(60)
    problem = tasks[0].built.problem
    assert problem.latency_ms is not None
    assert problem.latency_ms[0, 2] == 44.0
    assert problem.nodes[0].availability == 0.9
    assert 0.0 <= problem.nodes[0].utilisation <= 0.4
