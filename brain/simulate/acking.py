"""Storm's acks as traffic: what acking adds to a graph that only knows a topology's own streams.

For each tuple of a spout the spout tells an acker, every bolt that handles a tuple tells it, and
it answers the spout once. Which acker is up to a random id, so the traffic spreads evenly over all
of them and no placement can keep it at home (Fischer & Bernstein 2015, section V.B.2).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from brain.errors import BadInput
from brain.model import CommGraph, Placement, Problem
from brain.simulate.costs import Costs
from brain.simulate.flows import flows_of

ACKER = "__acker"
ACK_BYTES = 20.0
_NOTHING = Costs(0.0, 0.0, 0.0, 0.0)


def with_ackers(problem: Problem, ackers: int, cpu: float = 0.0) -> Problem:
    """The problem with so many acker executors, last in its one topology, and their traffic.

    ``cpu`` is what an acker asks for when it is placed. They are spread over the nodes, as Storm
    gives each worker one.
    """
    if len(problem.topologies) != 1:
        raise BadInput("--ackers", "can be added to a problem of one topology only")
    (topology,) = problem.topologies
    if ACKER in topology.components:
        raise BadInput("--ackers", f"{topology.id} has ackers already")
    if ackers < 1:
        raise BadInput("--ackers", "there must be at least one")
    n, graph = len(problem), problem.graph
    spouts, emitted, received = _rates(problem)
    says = np.where(spouts, emitted, received)  # a spout's first word, a bolt's ack
    speakers = np.flatnonzero(says > 0)
    hearers = np.flatnonzero(spouts & (emitted > 0))
    boxes = np.arange(n, n + ackers)
    source = np.concatenate((np.repeat(speakers, ackers), np.tile(boxes, len(hearers))))
    target = np.concatenate((np.tile(boxes, len(speakers)), np.repeat(hearers, ackers)))
    rate = (
        np.concatenate((np.repeat(says[speakers], ackers), np.repeat(emitted[hearers], ackers)))
        / ackers
    )
    whole = CommGraph.from_edges(
        n + ackers,
        np.concatenate((graph.sources, source)),
        np.concatenate((graph.indices, target)),
        np.concatenate((graph.tuples, rate)),
        np.concatenate((graph.weight, rate * ACK_BYTES)),
    )
    ids = topology.executor_ids
    first = 1 + max((int(i) for i in ids if str(i).isdecimal()), default=-1)
    return replace(
        problem,
        graph=whole,
        topologies=(
            replace(
                topology,
                components=(*topology.components, ACKER),
                component_of=np.concatenate(
                    (topology.component_of, np.full(ackers, len(topology.components), np.int32))
                ),
                cpu=np.concatenate((topology.cpu, np.full(ackers, cpu))),
                memory_mb=np.concatenate((topology.memory_mb, np.zeros(ackers))),
                spread=(*topology.spread, ACKER),
                executor_ids=(*map(str, ids), *(str(first + i) for i in range(ackers))),
            ),
        ),
    )


def _rates(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which executors are spouts, and what each emits and receives a second."""
    anywhere = Placement(np.zeros(len(problem), dtype=np.int32))
    flows = flows_of(problem, anywhere, _NOTHING)
    return flows.spouts, flows.source_tuples, flows.received
