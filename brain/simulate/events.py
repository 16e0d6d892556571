"""Event simulation: tuple by tuple, where the closed form is not enough.

The same stations as in ``latency``: executors with one thread each that need one of their node's
cores to work, interfaces out and in, receivers of workers. Spouts emit as long as fewer than
``pending`` of their trees are under way (topology.max.spout.pending), or, with ``pending`` None,
at Poisson times at the graph's rates. A tuple's tree is complete when all that grew out of it is
handled. Parsing does not take a core from the executors, but a receiver is a station of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brain.errors import StormbrainError
from brain.simulate import event_loop
from brain.simulate.arrays import Floats, tally
from brain.simulate.flows import Flows
from brain.simulate.latency import Branches, LatencyModel
from brain.simulate.network import Network

MOST_UNDER_WAY = 2_000_000


@dataclass(frozen=True)
class Simulated:
    """What was counted after the warm-up, in simulated seconds."""

    seconds: float
    emitted: float
    """Tuples a second of all spouts."""
    completed: float
    """Trees a second."""
    latency_ms: float
    """Mean complete latency."""
    handled: Floats
    """Tuples a second of each executor."""
    interface_load: Floats
    """Share of the time that each node's interface was sending."""
    tuples: float
    crossing: float
    """Tuples a second that were sent at all, and between nodes."""


def simulate(
    flows: Flows,
    network: Network,
    *,
    seconds: float,
    pending: int | None = None,
    warm_up: float | None = None,
    seed: int = 0,
    factor: float = 1.0,
) -> Simulated:
    """Simulates so many seconds; ``factor`` scales the rates where there is no ``pending``."""
    problem = flows.problem
    graph = problem.graph
    branches = Branches.of(flows)
    model = LatencyModel(flows, network)
    n = len(problem)
    groups = len(branches.source)
    edge = branches.edge
    tuples = graph.tuples[edge]
    first_branch = np.searchsorted(branches.group, np.arange(groups + 1))
    total = tally(branches.group, tuples, groups)
    running = np.cumsum(tuples)
    before = np.concatenate(([0.0], running))[first_branch[branches.group]]
    source, target = graph.sources[edge], graph.indices[edge].astype(np.int64)
    crosses = flows.crossing[edge]
    remote = flows.remote[edge]
    one = flows.end_cpu[edge] / tuples
    a, b = flows.node[source], flows.node[target]
    delay = 1e-3 * np.where(
        crosses, network.delays(a, b), np.where(remote, flows.costs.worker_hop_ms, 0.0)
    )
    cores = np.array(
        [1_000_000 if x.cpu is None else max(1, round(x.cpu / 100.0)) for x in problem.nodes]
    )
    spouts = int(flows.spouts.sum())
    room = min(MOST_UNDER_WAY, 200_000 + 64 * spouts * (pending or 1000))
    state, now, *counts = event_loop.run(
        seed,
        float(seconds),
        float(seconds * 0.2 if warm_up is None else warm_up),
        int(pending or 0),
        flows.costs.service_cv2 > 0,
        model.service,
        flows.spouts,
        flows.source_tuples * factor,
        flows.node.astype(np.int64),
        cores.astype(np.int64),
        np.searchsorted(branches.source, np.arange(n + 1)),
        branches.per_tuple,
        first_branch,
        (running - before) / total[branches.group],
        target,
        flows.placement.slot.astype(np.int64),
        np.where(remote, one, -1.0),
        flows.edge_bytes[edge] / network.bandwidth[a],
        flows.edge_bytes[edge] / network.bandwidth[b],
        delay,
        crosses,
        len(problem.slots),
        room,
    )
    if state == event_loop.FULL:
        raise StormbrainError(
            f"more than {room:,} tuples were under way after {now:.3g} simulated seconds",
            "these rates cannot be sustained: lower them, or give --pending",
        )
    emitted, completed, latency, handled, out_busy, moved, crossed = counts
    span = max(now - (seconds * 0.2 if warm_up is None else warm_up), 1e-12)
    done = int(completed.sum())
    return Simulated(
        seconds=span,
        emitted=float(emitted.sum()) / span,
        completed=done / span,
        latency_ms=1e3 * float(latency.sum()) / done if done else float("nan"),
        handled=handled / span,
        interface_load=out_busy / span,
        tuples=moved / span,
        crossing=crossed / span,
    )
