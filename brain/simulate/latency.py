"""Complete latency by queueing: each executor, each interface and each node's cores is a station.

    executor   one thread, M/G/1; a service takes S · (stretch of the node's shared cores)
    receiver   the thread of a worker that parses what other workers sent, M/G/1
    interface  out of the sender's node and into the receiver's, M/G/1 with the sizes on it
    the way    the network's delay

A tuple's tree is complete when its last branch is: L(e) = sojourn(e) + the greatest over target
components c of q·(way to c + L(c)), q being how many of the tuples go on (at most 1) and the mean
over the executors of c weighted by their share. Means are taken before the greatest, so wide trees
are rated somewhat too fast; the event simulation has no such error.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from brain.simulate.arrays import Floats, ratio, tally
from brain.simulate.flows import Flows
from brain.simulate.network import Network
from brain.simulate.queueing import core_stretch, gg1_wait, mg1_wait

MOST_HOPS = 1000


@dataclass(frozen=True)
class Branches:
    """The edges that a tree grows along, sorted by source and target component.

    Edges into spouts (the ackers' answers) end a tree, so those stay; what a spout does with them
    costs nothing.
    """

    edge: NDArray[np.int64]
    """Index into the graph's edges."""
    group: NDArray[np.int64]
    """Of each such edge: its (source, target component)."""
    source: NDArray[np.int64]
    """Of each group."""
    first: NDArray[np.int64]
    """Group numbers at which a new source begins."""
    per_tuple: Floats
    """Tuples of the group for each tuple that the source handles."""

    @classmethod
    def of(cls, flows: Flows) -> Branches:
        graph = flows.problem.graph
        component = flows.component
        count = int(component.max(initial=0)) + 1
        key = graph.sources.astype(np.int64) * count + component[graph.indices]
        order = np.argsort(key, kind="stable")
        order = order[graph.tuples[order] > 0]
        found, group = np.unique(key[order], return_inverse=True)
        source = found // count
        rate = tally(group, graph.tuples[order], len(found))
        handled = np.where(flows.spouts, flows.source_tuples, flows.received)
        base = handled[source]
        per = ratio(rate, base)
        starts = np.flatnonzero(np.diff(source, prepend=-1))
        return cls(order, group, source, starts, per)


@dataclass(frozen=True)
class LatencyModel:
    """Latencies of one placement at any rates."""

    flows: Flows
    network: Network

    @cached_property
    def branches(self) -> Branches:
        return Branches.of(self.flows)

    @cached_property
    def service(self) -> Floats:
        """CPU seconds of an executor for one tuple that it handles (a spout: emits)."""
        flows = self.flows
        handled = np.where(flows.spouts, flows.source_tuples, flows.received)
        busy = flows.thread_cpu
        return ratio(busy, handled)

    def by_topology(self, factor: Floats) -> Floats:
        """Mean complete latency in ms of each topology with its rates times its factor.

        NaN for a topology without spouts or whose tuples go round for ever, infinite where
        something is overloaded.
        """
        problem = self.flows.problem
        weight = self.flows.source_tuples
        latency = self.by_executor(factor)
        of = problem.topology_of
        count = len(problem.topologies)
        with np.errstate(invalid="ignore", divide="ignore"):
            known = np.where(weight > 0, weight * latency, 0.0)
            return tally(of, known, count) / tally(of, weight, count)

    def by_executor(self, factor: Floats) -> Floats:
        """Milliseconds from the end of an executor's sojourn at the earliest (a spout: from its
        emission) until all that grew out of the tuple is done."""
        flows, branches = self.flows, self.branches
        graph = flows.problem.graph
        scale = factor[flows.problem.topology_of]
        sojourn, receiver, stretch = self._sojourn(scale)
        way = self._way(scale, receiver, stretch)[branches.edge]
        target = graph.indices[branches.edge]
        share = graph.tuples[branches.edge]
        total = tally(branches.group, share, len(branches.source))
        goes_on = np.minimum(branches.per_tuple, 1.0)
        latency = before = sojourn.copy()
        for _ in range(MOST_HOPS):
            with np.errstate(invalid="ignore"):
                arrival = way + np.where(flows.spouts[target], 0.0, latency[target])
                mean = tally(branches.group, share * arrival, len(total)) / total
                worth = goes_on * mean
            later = sojourn.copy()
            if len(branches.first):
                last = np.maximum.reduceat(worth, branches.first)
                later[branches.source[branches.first]] += last
            if np.allclose(later, latency, rtol=1e-9, atol=0.0, equal_nan=True):
                return latency
            before, latency = latency, later
        # A cycle that tuples never leave: no tree there is ever complete.
        return np.where(np.isclose(before, latency, rtol=1e-9, atol=0.0), latency, np.nan)

    def _sojourn(self, scale: Floats) -> tuple[Floats, Floats, Floats]:
        """Waiting and service of each executor, of each slot's receiver (ms), and the stretch."""
        flows, problem = self.flows, self.flows.problem
        cores = np.array([np.inf if n.cpu is None else n.cpu / 100.0 for n in problem.nodes])
        slots = problem.slots
        by_slot = np.zeros(len(slots))
        by_slot[flows.placement.slot] = scale  # a slot holds one topology
        nodes = len(problem.nodes)
        busy = tally(flows.node, flows.thread_cpu * scale, nodes)
        busy += tally(slots.node, flows.receive_cpu * by_slot, nodes)
        stretch = core_stretch(cores, busy)
        # A thread never competes with itself: it finds the cores as the others load them.
        others = np.maximum(busy[flows.node] - flows.thread_cpu * scale, 0.0)
        own = core_stretch(cores[flows.node], others)
        own = np.where(np.isfinite(stretch[flows.node]), own, np.inf)
        with np.errstate(invalid="ignore"):
            service = np.where(self.service > 0, self.service * own, 0.0)
            handled = np.where(flows.spouts, flows.source_tuples, flows.received) * scale
            # A thread that uses more than a core was measured with its subprocess.
            load = np.where(service > 0, handled * service / np.maximum(1.0, flows.own_cpu), 0.0)
            sojourn = 1e3 * (gg1_wait(load, service, flows.costs.service_cv2) + service)
            receiver = self._receivers(scale, stretch)
        return np.where(flows.spouts, 0.0, sojourn), receiver, stretch

    def _receivers(self, scale: Floats, stretch: Floats) -> Floats:
        """Waiting at each slot's receiver, in ms; the parsing itself is part of the way."""
        flows, graph = self.flows, self.flows.problem.graph
        at = flows.remote
        slot = flows.placement.slot[graph.indices[at]]
        tuples = graph.tuples[at] * scale[graph.indices[at]]
        parse = ratio(flows.end_cpu[at], graph.tuples[at])
        with np.errstate(invalid="ignore"):
            one = np.where(parse > 0, parse * stretch[flows.node[graph.indices[at]]], 0.0)
        return 1e3 * _station(slot, tuples, one, len(flows.receive_cpu))

    def _way(self, scale: Floats, receiver: Floats, stretch: Floats) -> Floats:
        """Milliseconds between the executors at the ends of each edge."""
        flows, graph = self.flows, self.flows.problem.graph
        source, target = graph.sources, graph.indices
        way = np.zeros(graph.edges)
        at = flows.remote
        one = ratio(flows.end_cpu, graph.tuples)
        with np.errstate(invalid="ignore"):
            parse = 1e3 * np.where(one[at] > 0, one[at] * stretch[flows.node[target[at]]], 0.0)
        way[at] = receiver[flows.placement.slot[target[at]]] + parse
        way[at & ~flows.crossing] += flows.costs.worker_hop_ms
        at = flows.crossing
        a, b = flows.node[source[at]], flows.node[target[at]]
        tuples = graph.tuples[at] * scale[source[at]]
        way[at] += self.network.delays(a, b)
        for end in (a, b):
            send = flows.edge_bytes[at] / self.network.bandwidth[end]
            wait = _station(end, tuples, send, len(self.network.bandwidth))
            way[at] += 1e3 * (wait[end] + send)
        return way


def _station(where: NDArray[np.int32], tuples: Floats, one: Floats, count: int) -> Floats:
    """M/G/1 waiting time at each of so many stations, with a mix of service times."""
    arrivals = tally(where, tuples, count)
    first = tally(where, tuples * one, count)
    second = tally(where, tuples * one * one, count)
    safe = np.where(arrivals > 0, arrivals, 1.0)
    return mg1_wait(arrivals, first / safe, second / safe)
