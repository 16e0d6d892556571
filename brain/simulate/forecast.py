"""One placement's forecast: traffic, saturation, latency, and both under ``max.spout.pending``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brain.model import Placement, Problem
from brain.simulate.arrays import Floats, ratio, tally
from brain.simulate.costs import Costs
from brain.simulate.flows import CpuFrom, Flows, flows_of
from brain.simulate.latency import LatencyModel
from brain.simulate.network import Network
from brain.simulate.saturation import Bottleneck, Saturation, saturation

HALVINGS = 60
UNLIMITED = 1e12
"""Tuples a second that stand for no limit at all."""


@dataclass(frozen=True)
class TopologyForecast:
    """Throughput is what the spouts emit for their bolts, in tuples a second."""

    topology: str
    offered: float
    """At the graph's own rates."""
    saturation: float | None
    """The most that it could be; None if nothing limits it."""
    bottleneck: Bottleneck | None
    latency_ms: float | None
    """At the graph's own rates; None without spouts, infinite if they cannot be sustained."""
    closed_throughput: float | None
    """With so many tuples pending at each spout task; None where no pending was given."""
    closed_latency_ms: float | None


@dataclass(frozen=True)
class Forecast:
    flows: Flows
    topologies: tuple[TopologyForecast, ...]

    @property
    def throughput(self) -> float:
        """Of all topologies: under max.spout.pending where it was given, else at saturation."""
        return sum(
            t.closed_throughput if t.closed_throughput is not None else t.saturation or t.offered
            for t in self.topologies
        )


def forecast(
    problem: Problem,
    placement: Placement,
    network: Network,
    costs: Costs,
    *,
    cpu_from: CpuFrom = "costs",
    pending: int | None = None,
    host_cores: float | None = None,
) -> Forecast:
    """``pending`` is topology.max.spout.pending, of each spout task; ``host_cores`` is what nodes
    that are really one machine share."""
    flows = flows_of(problem, placement, costs, cpu_from)
    limits = saturation(flows, network, host_cores)
    model = LatencyModel(flows, network)
    count = len(problem.topologies)
    open_latency = model.by_topology(np.ones(count))
    closed = closed_loop(model, limits, pending) if pending is not None else None
    own = tally(problem.topology_of, flows.source_tuples, count)
    found = []
    for t, topology in enumerate(problem.topologies):
        most = float(limits.factor[t] * own[t]) if own[t] > 0 else 0.0
        found.append(
            TopologyForecast(
                topology=topology.id,
                offered=float(own[t]),
                saturation=most if np.isfinite(most) else None,
                bottleneck=limits.bottleneck[t],
                latency_ms=None if np.isnan(open_latency[t]) else float(open_latency[t]),
                closed_throughput=None if closed is None else float(closed[0][t] * own[t]),
                closed_latency_ms=None if closed is None else float(closed[1][t]),
            )
        )
    return Forecast(flows, tuple(found))


def closed_loop(model: LatencyModel, limits: Saturation, pending: int) -> tuple[Floats, Floats]:
    """The factor of each topology at which pending tuples = throughput · latency, and the latency.

    Little's law, by halving between nothing and saturation. Topologies that share nodes are halved
    side by side, each at the others' present rate.
    """
    flows = model.flows
    of, count = flows.problem.topology_of, len(flows.problem.topologies)
    own = tally(of, flows.source_tuples, count)
    population = float(pending) * tally(of, flows.spouts, count)
    cap = UNLIMITED / np.where(own > 0, own, 1.0)
    low, high = np.zeros(count), np.minimum(limits.factor, cap)
    high = np.where(own > 0, high, 0.0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        latency = model.by_topology(middle)
        with np.errstate(invalid="ignore"):
            inside = middle * own * latency / 1e3
        fits = ~(inside > population)  # no latency at all fits as well
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    # By Little's law, which also holds where the last step to saturation is a jump.
    return low, 1e3 * ratio(population, low * own, np.nan)
