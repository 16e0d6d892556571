from __future__ import annotations

import socket
from pathlib import Path

import pytest

from brain.cluster.planning import check_shape, loopback_sites, plan_cluster
from brain.cluster.ports import HIGHEST, LOWEST, NoFreePorts, accepts, free_ports
from brain.cluster.processes import ProcessRef
from brain.cluster.state import STATE_FILE, load_state
from brain.errors import BadInput, StormbrainError


@pytest.fixture(autouse=True)
def own_state_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("STORMBRAIN_STATE", str(tmp_path))
    return tmp_path


def test_nodes_have_readable_ids_own_addresses_and_disjoint_ports() -> None:
    state = plan_cluster("x", loopback_sites(3, 2), nimbuses=2)
    assert [(n.id, n.host) for n in state.nodes] == [
        ("node-1", "127.0.0.2"), ("node-2", "127.0.0.3"), ("node-3", "127.0.0.4")
    ]  # fmt: skip
    assert [n.daemon for n in state.nimbuses] == ["nimbus", "nimbus-2"]
    assert len(state.ports) == 1 + 2 + 1 + 3 * 3


def test_ports_of_another_cluster_are_left_alone(own_state_root: Path) -> None:
    first = plan_cluster("first", loopback_sites(2, 2), nimbuses=1)
    first.save(own_state_root / "clusters" / "first")
    lowest = min(first.ports)
    assert not first.ports & set(free_ports(20, first.ports, start=lowest))
    second = plan_cluster("second", loopback_sites(2, 2), nimbuses=1)
    assert not first.ports & second.ports


def test_a_port_in_use_is_not_free() -> None:
    [port] = free_ports(1)
    with socket.create_server(("127.0.0.1", port)):
        assert accepts("127.0.0.1", port)
        assert port not in free_ports(3, start=port)
    assert not accepts("127.0.0.1", port)


def test_running_out_of_ports_is_told() -> None:
    with pytest.raises(NoFreePorts):
        free_ports(1, reserved=range(LOWEST, HIGHEST))


@pytest.mark.parametrize("shape", [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1000, 1, 1)])
def test_an_impossible_shape_is_refused(shape: tuple[int, int, int]) -> None:
    with pytest.raises(BadInput, match="must be from 1 to"):
        check_shape(*shape)


def test_the_record_of_a_cluster_survives(tmp_path: Path) -> None:
    state = plan_cluster("x", loopback_sites(2, 2), nimbuses=1)
    state.storm_conf = {"a.b": [1, "two"]}
    state.processes["nimbus"] = ProcessRef(123, 456)
    state.save(tmp_path / "x")
    assert load_state(tmp_path / "x") == state


def test_no_record_is_none_and_a_broken_one_is_named(tmp_path: Path) -> None:
    assert load_state(tmp_path / "nothing") is None
    (tmp_path / STATE_FILE).write_text('{"name": "x"}')
    with pytest.raises(StormbrainError, match=r"cluster\.json is not a cluster's record"):
        load_state(tmp_path)
