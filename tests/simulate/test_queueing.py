"""The formulas against theory, and the event simulation against the formulas."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from brain.errors import StormbrainError
from brain.model import CommGraph, Placement
from brain.simulate import Costs, Network, flows_of, forecast
from brain.simulate.events import simulate
from brain.simulate.latency import LatencyModel
from brain.simulate.queueing import core_stretch, erlang_c, gg1_wait, mg1_wait
from tests.simulate.test_forecast import chain, placed

FREE = Costs(tuple_us=100.0, remote_us=0.0, byte_ns=0.0, overhead_bytes=0.0, worker_hop_ms=0.0)


def one(value: float) -> np.ndarray:
    return np.array([value])


@pytest.mark.parametrize("load", [0.1, 0.5, 0.9])
def test_mm1_waits_rho_over_one_minus_rho(load: float) -> None:
    assert gg1_wait(one(load), one(1.0), 1.0)[0] == pytest.approx(load / (1 - load))
    assert mg1_wait(one(load), one(1.0), one(2.0))[0] == pytest.approx(load / (1 - load))
    assert mg1_wait(one(load), one(1.0), one(1.0))[0] == pytest.approx(load / (1 - load) / 2)


def test_an_overloaded_station_never_answers() -> None:
    assert math.isinf(gg1_wait(one(1.0), one(1.0), 1.0)[0])
    assert math.isinf(mg1_wait(one(2.0), one(1.0), one(2.0))[0])
    assert math.isinf(core_stretch(one(2.0), one(2.5))[0])


def test_erlang_c_is_that_of_the_books() -> None:
    assert erlang_c(one(1.0), one(0.7))[0] == pytest.approx(0.7)
    # Two servers: C = 2ρ² / (1 + ρ).
    assert erlang_c(one(2.0), one(1.0))[0] == pytest.approx(1 / 3)
    direct = (8**10 / math.factorial(10) * 10 / 2) / (
        sum(8**k / math.factorial(k) for k in range(10)) + 8**10 / math.factorial(10) * 10 / 2
    )
    assert erlang_c(one(10.0), one(8.0))[0] == pytest.approx(direct)
    assert core_stretch(one(math.inf), one(50.0))[0] == 1.0


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_one_bolt_is_an_mm1_queue(load: float) -> None:
    """Spout and bolt with a node each: the bolt's sojourn is S / (1 - ρ)."""
    problem = chain(hops=1, rate=load / 100e-6, nodes=2)
    network = Network.uniform(2, delay_ms=0.0)
    (seen,) = forecast(problem, placed(0, 2), network, FREE).topologies
    theory = 0.1 / (1 - load)
    assert seen.latency_ms == pytest.approx(theory, rel=0.02)
    run = simulate(flows_of(problem, placed(0, 2), FREE), network, seconds=60.0, seed=1)
    assert run.latency_ms == pytest.approx(theory, rel=0.1)
    assert run.completed == pytest.approx(load / 100e-6, rel=0.05)


def test_an_interface_with_equal_tuples_is_an_md1_queue() -> None:
    costs = Costs(tuple_us=0.0, remote_us=0.0, byte_ns=0.0, overhead_bytes=0.0)
    problem = chain(hops=1, rate=700.0, size=1000.0)
    network = Network(np.array([1e6, np.inf]), 0.0)
    flows = flows_of(problem, placed(0, 2), costs)
    theory = 1.0 + 0.7 / (2 * 0.3)  # ms
    assert LatencyModel(flows, network).by_topology(np.ones(1))[0] == pytest.approx(theory)
    run = simulate(flows, network, seconds=120.0, seed=2)
    assert run.latency_ms == pytest.approx(theory, rel=0.1)
    assert run.interface_load[0] == pytest.approx(0.7, rel=0.05)


def test_pending_bounds_what_is_under_way() -> None:
    """Little: throughput times latency is the number of pending tuples, by events and in closed
    form, whether the delay or the interface is what holds them up."""
    costs = Costs(tuple_us=1.0, remote_us=1.0, byte_ns=0.0, overhead_bytes=0.0)
    problem = chain(hops=3, rate=100.0, size=1000.0, nodes=4)
    spread = placed(0, 2, 4, 6)
    for bandwidth, delay in ((1e9, 20.0), (1e6, 0.1)):
        network = Network.uniform(4, bandwidth, delay)
        (seen,) = forecast(problem, spread, network, costs, pending=50).topologies
        assert seen.closed_throughput is not None
        assert seen.closed_latency_ms is not None
        assert seen.closed_throughput * seen.closed_latency_ms / 1e3 == pytest.approx(50, rel=0.01)
        assert seen.saturation is not None
        assert seen.closed_throughput <= seen.saturation
        run = simulate(flows_of(problem, spread, costs), network, seconds=20.0, pending=50)
        assert run.completed * run.latency_ms / 1e3 == pytest.approx(50, rel=0.05)
        assert seen.closed_throughput == pytest.approx(run.completed, rel=0.1)


def test_shared_cores_slow_all_who_share_them() -> None:
    problem = chain(hops=4, rate=1500.0, nodes=1)
    alone = Network.uniform(1)
    few = replace(problem, nodes=(replace(problem.nodes[0], cpu=200.0),))
    at = Placement(np.zeros(5, np.int32))
    wide_run, few_run = (
        simulate(flows_of(p, at, FREE), alone, seconds=40.0, seed=3) for p in (problem, few)
    )
    wide, tight = (forecast(p, at, alone, FREE).topologies[0].latency_ms for p in (problem, few))
    assert wide is not None
    assert tight is not None
    assert few_run.latency_ms > wide_run.latency_ms
    assert tight > wide
    assert wide == pytest.approx(wide_run.latency_ms, rel=0.15)
    assert tight == pytest.approx(few_run.latency_ms, rel=0.3)


def test_the_same_seed_gives_the_same_run() -> None:
    flows = flows_of(chain(hops=2), placed(0, 2, 1), FREE)
    network = Network.uniform(2, 1e6)
    first, second = (simulate(flows, network, seconds=1.0, pending=5, seed=4) for _ in range(2))
    assert first.completed == second.completed
    assert first.latency_ms == second.latency_ms


def test_rates_that_cannot_be_sustained_are_told_of() -> None:
    flows = flows_of(chain(hops=1, rate=2e5), placed(0, 0), FREE)
    costs = Costs(tuple_us=0.0, remote_us=0.0, byte_ns=0.0, overhead_bytes=0.0)
    slow = flows_of(chain(hops=1, rate=1e6, size=1e4), placed(0, 2), costs)
    with pytest.raises(StormbrainError, match="were under way"):
        simulate(slow, Network.uniform(2, 1e6), seconds=60.0)
    (seen,) = forecast(flows.problem, flows.placement, Network.uniform(2), FREE).topologies
    assert seen.latency_ms == math.inf


def test_tuples_that_go_round_take_as_long_as_their_rounds() -> None:
    """c1 → c2 → c1: half of what c2 handles goes back."""
    graph = CommGraph.from_edges(
        3, [0, 1, 2], [1, 2, 1], np.array([10.0, 20.0, 10.0]), np.array([1e3, 2e3, 1e3])
    )
    problem = replace(chain(hops=2), graph=graph)
    network = Network.uniform(2)
    (seen,) = forecast(problem, placed(0, 0, 0), network, FREE).topologies
    run = simulate(flows_of(problem, placed(0, 0, 0), FREE), network, seconds=300.0)
    assert seen.latency_ms == pytest.approx(run.latency_ms, rel=0.1)
