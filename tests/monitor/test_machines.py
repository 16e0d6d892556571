"""A machine's load is known once, whoever reports it and however often."""

from __future__ import annotations

import math
from typing import Any

import pytest

from brain.idl import wire
from brain.monitor.machines import MAX_NODES, MEMORY_MS, SPAN_MS, Machines
from tests.harness.wire import report


def window(node: str, points: float, machine: str | None = "b1", cores: int = 4) -> Any:
    load = wire.NodeLoad(cores, 2500.0, points, 8000.0, 4000.0, 10, 20, machine)
    return report("t", 0, 0, {}, {}, node=node, node_load=load)


def test_workers_and_nodes_of_one_machine_do_not_add_up() -> None:
    machines = Machines()
    for now in range(0, 20_000, 5000):
        for node in ("n1", "n2", "n3"):
            machines.add(window(node, 300.0), now)
    loads = machines.loads(["n1", "n2", "n3"], 20_000)
    assert list(loads) == ["b1"]
    assert loads["b1"].cpu_points == pytest.approx(300.0)
    assert loads["b1"].capacity_points == 400.0
    assert loads["b1"].nodes == ("n1", "n2", "n3")


def test_capacity_and_load_are_known_in_hertz_as_aniello_has_them() -> None:
    machines = Machines()
    machines.add(window("n1", 200.0), 0)
    load = machines.loads(["n1"], 0)["b1"]
    assert load.capacity_hz == pytest.approx(4 * 2.5e9)
    assert load.load_hz == pytest.approx(2 * 2.5e9)


def test_the_load_is_a_mean_so_one_peak_is_not_the_load() -> None:
    machines = Machines()
    for i, points in enumerate([10.0, 10.0, 400.0, 10.0, 10.0]):
        machines.add(window("n1", points), i * 5000)
    assert machines.loads(["n1"], 20_000)["b1"].cpu_points == pytest.approx(88.0)


def test_what_was_last_known_holds_for_a_while_and_is_then_forgotten() -> None:
    machines = Machines()
    machines.add(window("n1", 100.0), 0)
    machines.add(window("n1", 300.0), SPAN_MS + 1)
    assert machines.loads(["n1"], MEMORY_MS)["b1"].cpu_points == 300.0
    assert machines.loads(["n1"], MEMORY_MS + SPAN_MS + 2) == {}
    assert machines.latest("n1", MEMORY_MS + SPAN_MS + 2) is None


def test_a_node_that_moves_to_another_machine_belongs_to_that_one() -> None:
    machines = Machines()
    machines.add(window("n1", 300.0, "old"), 0)
    machines.add(window("n1", 10.0, "new"), 5000)
    assert {m: x.cpu_points for m, x in machines.loads(["n1"], 6000).items()} == {"new": 10.0}


def test_nodes_without_a_boot_id_count_as_machines_of_their_own() -> None:
    machines = Machines()
    machines.add(window("n1", 1.0, None), 0)
    machines.add(window("n2", 2.0, None), 0)
    assert len(machines.loads(["n1", "n2"], 0)) == 2


@pytest.mark.parametrize("points", [math.nan, math.inf, -1.0])
def test_impossible_loads_are_not_believed(points: float) -> None:
    machines = Machines()
    assert not machines.add(window("n1", points), 0)
    assert not machines.add(window("n1", 10.0, cores=0), 0)
    assert machines.loads(["n1"], 0) == {}


def test_the_number_of_nodes_is_bounded() -> None:
    machines = Machines()
    for i in range(MAX_NODES + 10):
        machines.add(window(f"n{i}", 1.0), 0)
    assert machines.latest("n0", 0) is None
    assert machines.latest(f"n{MAX_NODES + 9}", 0) is not None
