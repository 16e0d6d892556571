"""What a placement puts on which resource, at the rates of the communication graph.

All of it is linear in the rates, so that the load at another rate is a multiple.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from brain.errors import StormbrainError
from brain.model import UNPLACED, Placement, Problem
from brain.simulate.arrays import Floats, ratio, tally
from brain.simulate.costs import Costs

CpuFrom = Literal["problem", "costs"]


@dataclass(frozen=True)
class Flows:
    """Loads at the graph's own rates: CPU in cores, traffic in bytes and tuples a second.

    Edge arrays are in the order of the problem's graph.
    """

    problem: Problem
    placement: Placement
    costs: Costs
    node: NDArray[np.int32]
    """Of each executor."""
    edge_bytes: Floats
    """Of one tuple on the wire, by edge."""
    end_cpu: Floats
    """What each edge costs at either end if it leaves its worker."""
    remote: NDArray[np.bool_]
    """Edges that leave their worker."""
    crossing: NDArray[np.bool_]
    """Edges that leave their node."""
    own_cpu: Floats
    """Of each executor: its work and both ends of its tuples within the worker."""
    send_cpu: Floats
    """Of each executor: serialising what leaves the worker, which its own thread does."""
    receive_cpu: Floats
    """Of each slot: parsing what comes from other workers, which one thread of the worker does."""

    @cached_property
    def wire_bytes(self) -> Floats:
        """Bytes a second of each edge as they would be on a wire."""
        return self.problem.graph.tuples * self.edge_bytes

    @cached_property
    def thread_cpu(self) -> Floats:
        """What each executor's own thread is busy with."""
        return self.own_cpu + self.send_cpu

    @cached_property
    def received(self) -> Floats:
        """Tuples a second into each executor."""
        graph = self.problem.graph
        return tally(graph.indices, graph.tuples, len(graph))

    @cached_property
    def emitted(self) -> Floats:
        graph = self.problem.graph
        return tally(graph.sources, graph.tuples, len(graph))

    @cached_property
    def spouts(self) -> NDArray[np.bool_]:
        """Executors of components that hear nothing but Storm's own components."""
        problem, graph = self.problem, self.problem.graph
        offsets = np.concatenate(([0], np.cumsum([len(t.components) for t in problem.topologies])))
        component = self.component
        system = np.array(
            [c.startswith("__") for t in problem.topologies for c in t.components], dtype=bool
        )
        heard = np.zeros(int(offsets[-1]), dtype=bool)
        heard[component[graph.indices[~system[component[graph.sources]]]]] = True
        found: NDArray[np.bool_] = (~heard & ~system)[component] & (self.emitted > 0)
        return found

    @cached_property
    def component(self) -> NDArray[np.int64]:
        """The component of each executor, numbered over all topologies."""
        offset, found = 0, []
        for t in self.problem.topologies:
            found.append(t.component_of.astype(np.int64) + offset)
            offset += len(t.components)
        return np.concatenate(found or [np.zeros(0, np.int64)])

    @cached_property
    def source_tuples(self) -> Floats:
        """Tuples a second that each spout executor emits for its bolts, acks left out."""
        graph = self.problem.graph
        system = np.concatenate([t.system for t in self.problem.topologies])
        own = self.spouts[graph.sources] & ~system[graph.indices]
        return tally(graph.sources[own], graph.tuples[own], len(graph))

    # By node

    @cached_property
    def node_cpu(self) -> Floats:
        count = len(self.problem.nodes)
        at_slots = tally(self.problem.slots.node, self.receive_cpu, count)
        return tally(self.node, self.thread_cpu, count) + at_slots

    @cached_property
    def out_bytes(self) -> Floats:
        return self._by_node(self.problem.graph.sources)

    @cached_property
    def in_bytes(self) -> Floats:
        return self._by_node(self.problem.graph.indices)

    def _by_node(self, end: NDArray[np.int32]) -> Floats:
        at = self.crossing
        return tally(self.node[end[at]], self.wire_bytes[at], len(self.problem.nodes))

    @cached_property
    def links(self) -> sp.csr_array:
        """Bytes a second from node to node; the diagonal is empty."""
        return self._links(self.wire_bytes)

    @cached_property
    def link_tuples(self) -> sp.csr_array:
        return self._links(self.problem.graph.tuples)

    def _links(self, amount: Floats) -> sp.csr_array:
        graph, at, n = self.problem.graph, self.crossing, len(self.problem.nodes)
        ends = (self.node[graph.sources[at]], self.node[graph.indices[at]])
        return sp.coo_array((amount[at], ends), shape=(n, n)).tocsr()

    # Sums

    @property
    def inter_node_bytes(self) -> float:
        return float(self.wire_bytes[self.crossing].sum())

    @property
    def inter_node_tuples(self) -> float:
        return float(self.problem.graph.tuples[self.crossing].sum())

    @property
    def inter_worker_tuples(self) -> float:
        """Between workers of one node."""
        return float(self.problem.graph.tuples[self.remote & ~self.crossing].sum())

    @property
    def local_tuples(self) -> float:
        return float(self.problem.graph.tuples[~self.remote].sum())


class NotPlaced(StormbrainError):
    """A placement with executors that run nowhere has no throughput to speak of."""


def flows_of(
    problem: Problem, placement: Placement, costs: Costs, cpu_from: CpuFrom = "costs"
) -> Flows:
    """Loads of a whole placement.

    ``cpu_from`` says what an executor's own work costs: ``problem`` takes the CPU that the problem
    gives it at these rates (measured ones do), ``costs`` counts its tuples.
    """
    missing = int((placement.slot == UNPLACED).sum())
    if missing:
        raise NotPlaced(
            f"{missing} of {len(placement)} executors are placed nowhere",
            "give the cluster more room, or choose an algorithm that places all",
        )
    graph, n = problem.graph, len(problem)
    source, target = graph.sources, graph.indices
    node = placement.nodes(problem.slots)
    remote = placement.slot[source] != placement.slot[target]
    crossing = node[source] != node[target]
    # An edge whose cost is its count was not measured in bytes.
    counted = ratio(graph.weight, graph.tuples, 1.0)
    payload = np.where(graph.weight == graph.tuples, costs.tuple_bytes, counted)
    each_end = graph.tuples * (costs.remote_us * 1e-6 + payload * costs.byte_ns * 1e-9)
    send = tally(source[remote], each_end[remote], n)
    receive = tally(placement.slot[target[remote]], each_end[remote], len(problem.slots))
    if cpu_from == "problem":
        own = problem.cpu / 100.0
    else:
        ends = tally(source, graph.tuples, n) + tally(target, graph.tuples, n)
        own = ends * costs.tuple_us * 1e-6
    return Flows(
        problem=problem,
        placement=placement,
        costs=costs,
        node=node,
        edge_bytes=payload + costs.overhead_bytes,
        end_cpu=each_end,
        remote=remote,
        crossing=crossing,
        own_cpu=own,
        send_cpu=send,
        receive_cpu=receive,
    )
