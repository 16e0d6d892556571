"""Nodes as network namespaces: limits, delays, and that nothing is left behind."""

from __future__ import annotations

import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from brain.cluster.paths import STATE_VARIABLE
from brain.cluster.processes import process_ref
from brain.errors import BadInput, StormbrainError
from brain.testbed import Delay, NodeSpec, Testbed, TestbedSpec, cannot_use_namespaces
from brain.testbed.bed import machine_name
from brain.testbed.cgroups import ROOT, cannot_limit
from brain.testbed.machine import cannot_delay
from brain.testbed.network import namespaces

REASON = cannot_use_namespaces()
needs_namespaces = pytest.mark.skipif(REASON is not None, reason=str(REASON))

ECHO = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 7007))
while True:
    data, peer = s.recvfrom(2000)
    s.sendto(data, peer)
"""
PING = """
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
target = (sys.argv[1], 7007)
for _ in range(100):  # until the echo is up
    try:
        s.settimeout(0.3); s.sendto(b"up", target); s.recv(2000); break
    except OSError:
        time.sleep(0.05)
s.settimeout(10)
for n in range(20):
    t = time.monotonic()
    s.sendto(b"%d" % n, target)
    while s.recv(2000) != b"%d" % n: pass
    print(1000 * (time.monotonic() - t))
for n in range(100):  # all at once: they must come back in order
    s.sendto(b"o%d" % n, target)
print(" ".join(s.recv(2000).decode() for _ in range(100)), file=sys.stderr)
"""
SINK = """
import socket
s = socket.create_server(("", 7008))
while True:
    c, _ = s.accept()
    while c.recv(65536): pass
    c.send(b"."); c.close()
"""
PUSH = """
import socket, sys, time
for _ in range(200):
    try:
        s = socket.create_connection((sys.argv[1], 7008), 2); break
    except OSError:
        time.sleep(0.05)
s.settimeout(60)
t = time.monotonic()
s.sendall(bytes(int(sys.argv[2]))); s.shutdown(socket.SHUT_WR); s.recv(1)
print(time.monotonic() - t)
"""


@pytest.fixture
def name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path / "state"))
    yield "t"
    Testbed.remove("t")


def on(bed: Testbed, node: str, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*bed.launcher(node), sys.executable, "-I", "-c", script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@needs_namespaces
def test_up_is_idempotent_and_down_leaves_nothing(name: str) -> None:
    spec = TestbedSpec.uniform(name, nodes=2, bandwidth_mbit=50)
    bed = Testbed.up(spec, storm=False)
    prefix = machine_name(name)
    assert len(namespaces(prefix)) == 3
    assert Testbed.up(spec, storm=False).addresses == bed.addresses
    with pytest.raises(StormbrainError, match="another shape"):
        Testbed.up(TestbedSpec.uniform(name, nodes=3), storm=False)
    process = bed.run("node-1", ["sleep", "1000"])
    if (shares := ROOT / "cpu" / "stormbrain" / "cpu.shares").exists():
        assert int(shares.read_text()) > 8 * 1024  # else all nodes count as one process
    bed.down()
    assert not process.alive()
    assert namespaces(prefix) == []
    assert prefix not in {interface for _, interface in socket.if_nameindex()}
    assert not list(ROOT.glob(f"*/stormbrain/{prefix}"))
    for folder in (ROOT / "stormbrain", *ROOT.glob("*/stormbrain")):  # of other testbeds, if any
        assert not folder.exists() or any(path.is_dir() for path in folder.iterdir()), folder
    assert Testbed.remove(name) is False


@needs_namespaces
def test_what_a_killed_command_left_is_cleared_away(name: str) -> None:
    """kill -9 in the middle of ``up``, wherever that happens to be."""
    script = (
        "from brain.testbed import *; import time\n"
        f"spec = TestbedSpec.uniform({name!r}, nodes=6, delays=gaussian_delays(6))\n"
        "Testbed.up(spec, storm=False); time.sleep(1000)"
    )
    child = subprocess.Popen([sys.executable, "-c", script], env=dict(os.environ))
    prefix = machine_name(name)
    until(lambda: len(namespaces(prefix)) >= 3)
    child.send_signal(signal.SIGKILL)
    child.wait()
    with Testbed.up(TestbedSpec.uniform(name, nodes=2), storm=False) as bed:
        assert len(namespaces(prefix)) == 3
        assert bed.problems() == []
    assert namespaces(prefix) == []


@needs_namespaces
def test_bandwidth_is_limited_both_ways(name: str) -> None:
    """The same bytes through a slow and a fast link, up and down: the ratio of times shows."""
    nodes = (NodeSpec("a", 1, 8.0), NodeSpec("b", 1, 64.0), NodeSpec("c", 1, None))
    with Testbed.up(TestbedSpec(name, nodes), storm=False) as bed:
        for node in "abc":
            bed.run(node, [sys.executable, "-I", "-c", SINK])

        def secs(source: str, target: str) -> float:
            return float(on(bed, source, PUSH, bed.addresses[target], "1000000").stdout)

        fast = secs("b", "c")
        assert secs("a", "c") > 2.5 * fast
        assert secs("c", "a") > 2.5 * fast
        traffic = bed.traffic()
        assert traffic is not None
        assert traffic.sent["a"] > 1_000_000
        assert traffic.received["a"] > 1_000_000
        assert 3_000_000 < traffic.between_nodes < 4_000_000
        assert traffic.control_received < 100_000


@needs_namespaces
@pytest.mark.skipif(cannot_delay() is not None, reason=str(cannot_delay()))
def test_packets_are_held_as_set_and_stay_in_order(name: str) -> None:
    delays = {("a", "b"): Delay(10, 3), ("a", "c"): Delay(40, 3)}
    nodes = tuple(NodeSpec(node, 1) for node in "abc")
    with Testbed.up(TestbedSpec(name, nodes, delays), storm=False) as bed:
        trips = {}
        for far in "bc":
            bed.run(far, [sys.executable, "-I", "-c", ECHO])
            done = on(bed, "a", PING, bed.addresses[far])
            trips[far] = statistics.median(float(line) for line in done.stdout.split())
            assert done.stderr.split() == [f"o{n}" for n in range(100)]
        assert trips["b"] > 0.8 * 2 * 10
        assert trips["c"] > 0.8 * 2 * 40
        assert trips["c"] > 1.5 * trips["b"]
        until(lambda: sum(pair.packets for pair in bed.delays()) >= 4 * 120)
        for pair in bed.delays():
            assert pair.mean_ms is not None
            assert pair.mean_ms > 0.9 * pair.set_mean_ms
        bed.set_delay("a", "b", Delay(90))
        trips["b"] = statistics.median(
            float(line) for line in on(bed, "a", PING, bed.addresses["b"]).stdout.split()
        )
        assert trips["b"] > 0.9 * 2 * 90


@needs_namespaces
@pytest.mark.skipif(cannot_limit() is not None, reason=str(cannot_limit()))
def test_a_node_gets_no_more_cpu_than_its_share(name: str) -> None:
    with Testbed.up(TestbedSpec.uniform(name, nodes=2, cpu_points=10), storm=False) as bed:
        burner = bed.run("node-1", [sys.executable, "-I", "-c", "while True: pass"])
        begin, start = bed.cpu_secs()["node-1"], time.monotonic()
        assert begin is not None
        until(lambda: time.monotonic() - start > 1.5)
        end = bed.cpu_secs()["node-1"]
        assert end is not None
        assert (end - begin) / (time.monotonic() - start) < 0.2
        assert process_ref(burner.pid) is not None


def test_loopback_says_what_it_cannot_measure(name: str) -> None:
    with Testbed.up(TestbedSpec.uniform(name, nodes=2, mode="loopback"), storm=False) as bed:
        assert bed.traffic() is None
        assert any("bytes on the wire" in reason for reason in bed.cannot)
        assert bed.launcher("node-1") == []


@pytest.mark.parametrize(
    ("make", "where"),
    [
        (lambda: TestbedSpec.uniform("x", nodes=1), "nodes"),
        (lambda: TestbedSpec.uniform("x", nodes=13), "nodes"),
        (lambda: TestbedSpec.uniform("x", nodes=2, bandwidth_mbit=0), "nodes.node-1.bandwidth"),
        (lambda: TestbedSpec.uniform("x", 2, delays={("node-2", "node-1"): Delay(1)}), "delays"),
        (lambda: TestbedSpec.uniform("x", nodes=2, mode="docker"), "mode"),
    ],
)
def test_a_wrong_shape_is_named(make: Callable[[], TestbedSpec], where: str) -> None:
    with pytest.raises(BadInput, match=where):
        make()
