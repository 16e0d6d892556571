"""Promises of the closed-form forecast: conservation, locality, monotony."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain.model import CommGraph, Node, Placement, Problem, Topology
from brain.problems.fischer import parallel, payload
from brain.problems.randoms import random_problem
from brain.simulate import Costs, Network, flows_of, forecast
from brain.simulate.acking import with_ackers
from brain.simulate.flows import NotPlaced

COSTS = Costs(tuple_us=2.0, remote_us=5.0, byte_ns=1.0, overhead_bytes=30.0)


def chain(hops: int = 2, rate: float = 1000.0, size: float = 200.0, nodes: int = 2) -> Problem:
    """One executor for each component, in a row."""
    ends = np.arange(hops)
    graph = CommGraph.from_edges(
        hops + 1, ends, ends + 1, np.full(hops, rate), np.full(hops, rate * size)
    )
    topology = Topology(
        id="chain",
        components=tuple(f"c{i}" for i in range(hops + 1)),
        component_of=np.arange(hops + 1, dtype=np.int32),
        cpu=np.full(hops + 1, 10.0),
        memory_mb=np.zeros(hops + 1),
        executor_ids=range(hops + 1),
    )
    machines = tuple(Node(f"n{i}", (6700, 6701), cpu=400.0) for i in range(nodes))
    return Problem(machines, (topology,), graph)


def placed(*slots: int) -> Placement:
    return Placement(np.array(slots, dtype=np.int32))


@st.composite
def problems(draw: st.DrawFn) -> tuple[Problem, Placement]:
    executors = draw(st.integers(2, 60))
    nodes = draw(st.integers(1, 8))
    problem = random_problem(executors, nodes, draw(st.integers(0, 1000)))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    slots = rng.integers(0, len(problem.slots), executors).astype(np.int32)
    return problem, Placement(slots)


@given(problems())
@settings(max_examples=60, deadline=None)
def test_every_tuple_is_local_or_between_workers_or_between_nodes(
    case: tuple[Problem, Placement],
) -> None:
    problem, placement = case
    flows = flows_of(problem, placement, COSTS)
    parts = flows.local_tuples + flows.inter_worker_tuples + flows.inter_node_tuples
    assert parts == pytest.approx(problem.graph.tuples.sum())
    assert flows.out_bytes.sum() == pytest.approx(flows.inter_node_bytes)
    assert flows.in_bytes.sum() == pytest.approx(flows.inter_node_bytes)
    assert flows.links.sum() == pytest.approx(flows.inter_node_bytes)
    assert flows.link_tuples.sum() == pytest.approx(flows.inter_node_tuples)
    assert np.asarray(flows.links.sum(axis=1)) == pytest.approx(flows.out_bytes)
    ends = 2 * problem.graph.tuples.sum() * COSTS.tuple_us * 1e-6
    remote = 2 * flows.end_cpu[flows.remote].sum()
    assert flows.node_cpu.sum() == pytest.approx(ends + remote)


@given(problems())
@settings(max_examples=40, deadline=None)
def test_what_shares_a_worker_needs_no_network(case: tuple[Problem, Placement]) -> None:
    problem, _ = case
    flows = flows_of(problem, Placement(np.zeros(len(problem), np.int32)), COSTS)
    assert flows.inter_node_bytes == 0
    assert flows.inter_worker_tuples == 0
    assert not flows.send_cpu.any()
    assert not flows.receive_cpu.any()


@given(problems(), st.floats(1e3, 1e9), st.floats(1.0, 100.0))
@settings(max_examples=60, deadline=None)
def test_more_bandwidth_never_lowers_throughput_or_raises_latency(
    case: tuple[Problem, Placement], bandwidth: float, times: float
) -> None:
    problem, placement = case
    slow, fast = (
        forecast(problem, placement, Network.uniform(len(problem.nodes), b), COSTS).topologies[0]
        for b in (bandwidth, bandwidth * times)
    )
    if slow.saturation is not None and fast.saturation is not None:
        assert fast.saturation >= slow.saturation * (1 - 1e-9)
    if slow.latency_ms is not None and fast.latency_ms is not None:
        assert fast.latency_ms <= slow.latency_ms * (1 + 1e-9)


def test_the_slowest_interface_is_named_and_sets_the_throughput() -> None:
    problem = chain(hops=1, rate=1000.0, size=970.0)
    network = Network(np.array([1e6, 0.5e6]))
    (seen,) = forecast(problem, placed(0, 2), network, COSTS).topologies
    assert str(seen.bottleneck) == "nic-in of n1"
    assert seen.saturation == pytest.approx(500.0)  # 970 + 30 bytes each, half a MB/s


def test_an_executor_is_one_thread_and_a_node_has_so_many_cores() -> None:
    problem = chain(hops=2, rate=1000.0)
    network = Network.uniform(2)
    (seen,) = forecast(problem, placed(0, 0, 0), network, COSTS).topologies
    assert seen.bottleneck is not None
    assert seen.bottleneck.kind == "executor"
    assert seen.saturation == pytest.approx(1e6 / (2 * COSTS.tuple_us))  # it receives and emits
    small = replace(problem, nodes=tuple(replace(n, cpu=100.0) for n in problem.nodes))
    (seen,) = forecast(small, placed(0, 0, 0), network, COSTS).topologies
    assert str(seen.bottleneck) == "cpu of n0"
    assert seen.saturation == pytest.approx(1e6 / (4 * COSTS.tuple_us))


def test_work_may_be_taken_from_the_problem() -> None:
    problem = chain(hops=1, rate=1000.0)  # 10 points at 1000 a second
    (seen,) = forecast(
        problem, placed(0, 0), Network.uniform(2), COSTS, cpu_from="problem"
    ).topologies
    assert seen.saturation == pytest.approx(10_000.0)


def test_topologies_are_limited_each_for_itself() -> None:
    one, two = chain(hops=1, size=970.0), chain(hops=1, size=970.0)
    graph = CommGraph.from_edges(
        4, [0, 2], [1, 3], np.array([1000.0, 1000.0]), np.array([970e3, 970e3])
    )
    both = Problem(one.nodes, (one.topologies[0], replace(two.topologies[0], id="other")), graph)
    seen = forecast(both, placed(0, 2, 1, 1), Network.uniform(2, 1e6), COSTS).topologies
    assert seen[0].saturation == pytest.approx(1000.0)
    assert seen[1].saturation == pytest.approx(1e6 / (1 * COSTS.tuple_us))
    assert [t.bottleneck.kind for t in seen if t.bottleneck] == ["nic-out", "executor"]


def test_an_unplaced_executor_is_refused() -> None:
    with pytest.raises(NotPlaced, match="1 of 2 executors"):
        flows_of(chain(hops=1), placed(0, -1), COSTS)


def test_ackers_hear_of_every_tuple_and_cannot_be_placed_away() -> None:
    problem = parallel(3, 4, rate=100.0)
    acked = with_ackers(problem, 4)
    added = acked.graph.tuples.sum() - problem.graph.tuples.sum()
    # The spout's word, an ack of each of three bolts and the answer, for 4 x 100 tuples.
    assert added == pytest.approx(400.0 * 5)
    lines = np.arange(16) % 4  # parallelism of lines: any deal that keeps ackers apart
    slots = np.concatenate((lines, np.arange(4))).astype(np.int32) * 4
    flows = flows_of(acked, Placement(slots), COSTS)
    system = acked.graph.indices >= 16
    crossing = flows.crossing[system] * acked.graph.tuples[system]
    assert crossing.sum() == pytest.approx(0.75 * acked.graph.tuples[system].sum())


def test_large_tuples_gain_more_from_staying_at_home() -> None:
    gains = []
    for make in (parallel, payload):
        problem = with_ackers(make(7, 10), 10)
        network = Network.uniform(10, 12.5e6)
        ends = problem.graph.indices[: 10 * 7]
        together = np.zeros(len(problem), np.int32)
        line = np.arange(10)
        for depth in range(8):  # follow each line down
            together[line] = np.arange(10) * 4
            if depth < 7:
                line = problem.graph.indices[problem.graph.indptr[line]]
        together[80:] = np.arange(10) * 4
        spread = (np.arange(len(problem)) % 10 * 4).astype(np.int32)
        assert len(ends) == 70
        good, bad = (
            forecast(problem, Placement(s), network, COSTS).topologies[0].saturation
            for s in (together, spread)
        )
        assert good is not None
        assert bad is not None
        gains.append(good / bad)
    assert gains[1] > gains[0] > 1
