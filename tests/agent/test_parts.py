"""Parts of the agent: datagrams, load, and the metric log."""

from __future__ import annotations

import json
import math
import socket
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.agent.datagram import PING, PONG, Message, decode, encode
from brain.agent.node_load import NodeLoad
from brain.agent.qos_monitor import QosMonitor, Timing
from brain.agent.worker_monitor import WorkerMonitor
from brain.qos.space import NodeQos
from brain.qos.vivaldi import Coordinate

INFO = NodeQos("n1", Coordinate(1.5, -2.0, 3.0, 0.25), 0.5, 0.99, 200.0)


def test_a_message_survives_the_way() -> None:
    message = Message(PING, 7, INFO)
    assert decode(encode(message, "secret"), "secret") == message
    assert decode(encode(message, None), None) == message


def test_another_token_is_not_heard() -> None:
    data = encode(Message(PING, 7, INFO), "secret")
    assert decode(data, "other") is None
    assert decode(data, None) is None
    assert decode(data[:-1] + b"x", "secret") is None


@given(st.binary(max_size=1500))
def test_garbage_is_no_message(data: bytes) -> None:
    assert decode(data, "t") is None


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_a_number_arrives_but_is_not_sane(value: float) -> None:
    lie = NodeQos("n1", Coordinate(value, 0.0, 1.0, 0.1))
    told = decode(encode(Message(PING, 1, lie), None), None)
    assert told is None or not told.info.sane


def test_who_lies_now_and_then_is_not_believed_in_between() -> None:
    """Every other answer is sane: the node must not come and go with each."""
    lies = cycle([INFO, replace(INFO, coordinate=Coordinate(math.nan, 0.0, 1.0, 0.1))])
    peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    peer.bind(("127.0.0.1", 0))
    peer.settimeout(5)
    monitor = QosMonitor("n2", ("127.0.0.1", 0), NodeLoad(), Timing(0.02, 0.05), None, 1)
    monitor.set_peers({"n1": peer.getsockname()})
    monitor.start()
    try:
        for answers in range(24):
            data, sender = peer.recvfrom(2000)
            asked = decode(data, None)
            assert asked is not None
            peer.sendto(encode(Message(PONG, asked.nonce, next(lies)), None), sender)
            if answers >= 4:
                assert "n1" not in monitor.space()
    finally:
        monitor.stop()
        peer.close()


def test_load_is_read_from_proc_stat(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    stat.write_text("cpu  100 0 100 800 0 0 0 0 0 0\n")
    load = NodeLoad(proc_stat=stat)
    stat.write_text("cpu  150 0 150 900 0 0 0 0 0 0\n")
    assert load.read() == pytest.approx(0.5)


def test_load_of_a_control_group_is_against_its_capacity(tmp_path: Path) -> None:
    (tmp_path / "cpuacct.usage").write_text("0")
    load = NodeLoad(cgroup=tmp_path, cpu_points=50.0)
    (tmp_path / "cpuacct.usage").write_text(str(10**15))
    assert load.read() == 1.0
    (tmp_path / "cpuacct.usage").write_text("0")  # a group made anew: never negative
    assert 0.0 <= load.read() <= 1.0


def write(path: Path, seq: int, tuples: int, *, whole: bool = True, end: int = 0) -> None:
    end = end or 5000 * (seq + 1)
    common = {"v": 1, "seq": seq, "start": end - 5000, "end": end}
    rows = [
        {
            **common,
            "kind": "edge",
            "source": 1,
            "target": 2,
            "tuples": tuples,
            "bytes": 100 * tuples,
        },
        {
            **common,
            "kind": "edge",
            "source": 9,
            "target": 2,
            "tuples": 5,
            "bytes": 0,
            "system": True,
        },
        {**common, "kind": "task", "task": 2, "cpu_ms": 250.0, "shell_cpu_ms": 250.0},
    ]
    if whole:
        rows.append({**common, "kind": "window", "process_cpu_ms": 750.0})
    with path.open("a") as f:
        f.writelines(json.dumps(r) + "\n" for r in rows)


def test_rates_are_what_whole_windows_say(tmp_path: Path) -> None:
    log = tmp_path / "t-1" / "n1-6700-a-0000.jsonl"
    log.parent.mkdir()
    (log.parent / "n2-6700-a-0000.jsonl").write_text("not this node's\n")
    monitor = WorkerMonitor(tmp_path, "n1", observe_secs=60.0)
    for seq in range(3):
        write(log, seq, 50)
    write(log, 3, 10**6, whole=False)
    monitor.read("t-1")
    rates = monitor.rates("t-1")
    assert {(a, b): w for a, b, w in rates.edges}[1, 2] == pytest.approx(1000.0)
    assert {(a, b): w for a, b, w in rates.edges}[9, 2] == pytest.approx(100.0)
    assert rates.cpu == {2: pytest.approx(10.0)}
    assert rates.workers == (pytest.approx(10.0),)  # 750 ms without the 250 of the task's thread
    assert monitor.topologies() == ["t-1"]


def test_only_the_last_seconds_count_and_lines_may_come_in_pieces(tmp_path: Path) -> None:
    log = tmp_path / "t-1" / "n1-6700-a-0000.jsonl"
    log.parent.mkdir()
    monitor = WorkerMonitor(tmp_path, "n1", observe_secs=10.0)
    for seq in range(10):
        write(log, seq, 5)
    monitor.read("t-1")
    whole = tmp_path / "rest"
    write(whole, 10, 500)
    write(whole, 11, 500)
    data = whole.read_bytes()
    for cut in (data[:70], data[70:]):
        with log.open("ab") as f:
            f.write(cut)
        monitor.read("t-1")
    edges = {(a, b): w for a, b, w in monitor.rates("t-1").edges}
    assert edges[1, 2] == pytest.approx(10_000.0)
    log.unlink()
    monitor.read("t-1")
    assert monitor.rates("t-1").edges == ()


def test_a_clock_that_jumps_back_makes_no_old_window_the_newest(tmp_path: Path) -> None:
    log = tmp_path / "t-1" / "n1-6700-a-0000.jsonl"
    log.parent.mkdir()
    monitor = WorkerMonitor(tmp_path, "n1", observe_secs=10.0)
    write(log, 0, 5, end=2_000_000_000_000)
    write(log, 1, 5, end=2_000_000_005_000)
    monitor.read("t-1")
    for seq in (2, 3):
        write(log, seq, 500, end=1_000_000_000_000 + 5000 * seq)
    monitor.read("t-1")
    edges = {(a, b): w for a, b, w in monitor.rates("t-1").edges}
    assert edges[1, 2] == pytest.approx(10_000.0)
