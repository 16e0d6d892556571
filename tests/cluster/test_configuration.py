from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from streamparse.thrift import storm_thrift
from thriftpy2.utils import deserialize

from brain.cluster import nimbus_gateway
from brain.cluster.follow import follow, last_lines
from brain.cluster.planning import loopback_sites, plan_cluster
from brain.cluster.ports import free_ports
from brain.cluster.state import ClusterState
from brain.cluster.storm_yaml import nimbus_conf, supervisor_conf, write_storm_yaml, write_zoo_cfg
from brain.cluster.supervisor_id import seed_supervisor_id


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ClusterState:
    monkeypatch.setenv("STORMBRAIN_STATE", str(tmp_path))
    return plan_cluster("x", loopback_sites(2, 2), nimbuses=1)


def test_the_plugin_brings_scheduler_and_hook(state: ClusterState, tmp_path: Path) -> None:
    stock = nimbus_conf(state, state.nimbuses[0], tmp_path)
    assert "storm.scheduler" not in stock
    state.plugin_jar = "plugin.jar"
    conf = nimbus_conf(state, state.nimbuses[0], tmp_path)
    assert conf["storm.scheduler"] == "io.stormbrain.scheduler.BrainScheduler"
    assert conf["topology.auto.task.hooks"] == ["io.stormbrain.hook.TrafficHook"]


def test_the_users_settings_win_but_not_over_addresses(state: ClusterState, tmp_path: Path) -> None:
    state.plugin_jar = "plugin.jar"
    state.storm_conf = {"storm.scheduler": "my.Scheduler", "supervisor.slots.ports": [1]}
    conf = supervisor_conf(state, state.nodes[1], tmp_path, state.nimbus_entry_port)
    assert conf["storm.scheduler"] == "my.Scheduler"
    assert conf["supervisor.slots.ports"] == list(state.nodes[1].slots)
    assert conf["storm.local.hostname"] == "127.0.0.3"
    write_storm_yaml(tmp_path, conf)
    assert yaml.safe_load((tmp_path / "storm.yaml").read_text()) == conf


def test_zookeeper_listens_on_loopback_without_admin_server(tmp_path: Path) -> None:
    write_zoo_cfg(tmp_path / "zoo.cfg", "127.0.0.1", 1234, tmp_path / "data")
    lines = (tmp_path / "zoo.cfg").read_text().splitlines()
    assert {"clientPort=1234", "clientPortAddress=127.0.0.1", "admin.enableServer=false"} <= {
        *lines
    }


def test_a_supervisor_id_is_seeded_once(tmp_path: Path) -> None:
    seed_supervisor_id(tmp_path, "node-7")
    seed_supervisor_id(tmp_path, "other")
    store = tmp_path / "supervisor" / "isupervisor"
    assert sorted(p.name for p in store.iterdir()) == ["1", "1.version"]
    data = deserialize(storm_thrift.LocalStateData(), (store / "1").read_bytes())
    part = data.serialized_parts["supervisor-id"]
    bits = part.bits if isinstance(part.bits, bytes) else part.bits.encode()
    assert deserialize(storm_thrift.LSSupervisorId(), bits).supervisor_id == "node-7"


def test_following_sees_growth_new_files_and_rolled_ones(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("old\n")
    assert last_lines(first, 5) == ["old"]
    assert last_lines(second, 5) == []

    def changes() -> Iterator[None]:
        with first.open("a") as out:
            out.write("new\nhalf")
        yield
        with first.open("a") as out:
            out.write(" whole\n")
        second.write_text("born\n")
        yield
        first.write_text("rolled\n")
        yield

    steps = changes()
    seen = follow(lambda: [first, second], pause=lambda _: next(steps))
    told = [(path.name, line) for path, line in (next(seen) for _ in range(4))]
    assert told == [
        ("first", "new"), ("first", "half whole"), ("second", "born"), ("first", "rolled")
    ]  # fmt: skip


def test_the_gateway_passes_on_to_the_first_nimbus_that_accepts() -> None:
    dead, port = free_ports(2)

    async def ask() -> bytes:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            target = listener.getsockname()

            async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                writer.write(b"nimbus says " + await reader.read(100))
                writer.close()

            upstream = await asyncio.start_server(echo, sock=listener.dup())
            targets = [("127.0.0.1", dead), target]
            gateway = asyncio.create_task(nimbus_gateway.serve(port, targets))
            while True:
                try:
                    reader, writer = await asyncio.open_connection("127.0.0.1", port)
                    break
                except OSError:
                    await asyncio.sleep(0)
            writer.write(b"hello")
            answer = await reader.read()
            gateway.cancel()
            upstream.close()
            return answer

    assert asyncio.run(ask()) == b"nimbus says hello"
