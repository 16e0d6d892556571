"""Follow keeps the graph current over growing logs, publishes each window, and can be restarted."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from thriftpy2.protocol import TCyBinaryProtocolFactory
from thriftpy2.rpc import make_server
from thriftpy2.transport import TCyFramedTransportFactory

from brain.errors import BadInput
from brain.idl import PROTOCOL_VERSION, wire
from brain.pipeline.follow import CpuMeter, Follower
from brain.pipeline.generate import Cluster, Shape, write_logs
from brain.pipeline.live import LiveGraph, LiveWindow
from brain.pipeline.publish import Publisher, parse_addresses, window_report
from brain.pipeline.schema import LINE_COLUMNS
from brain.pipeline.tail import _Reader
from tests.pipeline.recompute import connect


class Receiver:
    """A Thrift server that keeps the reports it gets. ``leader`` is who leads, if not itself."""

    def __init__(self) -> None:
        self.leader: str | None = None
        self.reports: list[Any] = []
        self.came = threading.Condition()
        self.server = make_server(
            wire.Brain,
            self,
            "127.0.0.1",
            _closed_port(),
            proto_factory=TCyBinaryProtocolFactory(),
            trans_factory=TCyFramedTransportFactory(),
        )
        self.server.daemon = True
        self.server.trans.listen()
        self.port = self.server.trans.port
        self.server.trans.listen = lambda: None  # it listens already: nobody comes too early
        threading.Thread(target=self.server.serve, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def status(self, token: str) -> Any:
        return wire.BrainStatus(
            PROTOCOL_VERSION, "b", "0", self.leader is None, self.leader, 1, topologies=[]
        )

    def report(self, report: Any) -> None:
        with self.came:
            self.reports.append(report)
            self.came.notify_all()

    def wait_for(self, count: int) -> list[Any]:
        with self.came:
            assert self.came.wait_for(lambda: len(self.reports) >= count, timeout=60)
            return list(self.reports)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    r = Receiver()
    yield r
    r.server.close()


def ends(logs: Path, windows: int, cluster: Cluster) -> dict[Path, bytes]:
    """Logs of so many windows, as bytes by file."""
    write_logs(logs, cluster=cluster, shape=Shape(windows=windows))
    return {p: p.read_bytes() for p in logs.rglob("*.jsonl")}


def test_growing_logs_reach_the_brain_once_even_over_a_restart(
    spark: SparkSession, logs: Path, tmp_path: Path, receiver: Receiver
) -> None:
    cluster = Cluster(2, 3)
    whole = ends(logs, 8, cluster)
    for path, data in whole.items():
        # Each ends in the middle of a window, and of a line.
        path.write_bytes(data[: int(len(data) * 0.55)])
    first = Follower(tmp_path / "out", Publisher([receiver.address]))
    query = first.start(spark, str(logs), "100 milliseconds", "earliest")
    query.processAllAvailable()
    query.stop()
    half = receiver.wait_for(first.stats.windows)
    assert 0 < len(half) < 8 * 3
    live = json.loads((tmp_path / "out" / "live.json").read_text())
    assert live["windows"] == len(half) == live["sent"]

    for path, data in whole.items():
        path.write_bytes(data)
    second = Follower(tmp_path / "out", Publisher([receiver.address]))
    query = second.start(spark, str(logs), "100 milliseconds", "earliest")
    query.processAllAvailable()
    query.stop()
    reports = receiver.wait_for(8 * 3)
    assert len(reports) == 8 * 3
    assert len({(r.worker_id, r.sequence) for r in reports}) == 8 * 3

    db = connect(logs)
    expected = db.execute(
        """SELECT node || '-' || worker, seq, source, target, tuples, bytes,
             coalesce(system, false) FROM log WHERE kind = 'edge'"""
    ).fetchall()
    got = [
        (r.worker_id, r.sequence, e.source_task, e.target_task, e.tuples, e.bytes, e.system)
        for r in reports
        for e in r.edges
    ]
    assert sorted(got) == sorted(expected)
    load = db.execute(
        """SELECT node || '-' || worker, seq, task, component, cpu_ms, shell_cpu_ms, executed,
             complete_ms, queue_percent, queue_overflow FROM log WHERE kind = 'task'"""
    ).fetchall()
    tasks = [
        (
            r.worker_id,
            r.sequence,
            t.task,
            t.component,
            t.cpu_ms,
            t.shell_cpu_ms,
            t.executed,
            t.complete_latency_ms,
            t.queue_percent,
            t.queue_overflow,
        )
        for r in reports
        for t in r.tasks
    ]
    assert sorted(tasks, key=repr) == sorted(load, key=repr)
    machines = db.execute(
        """SELECT node || '-' || worker, seq, cores, cpu_percent, rx_bytes, machine
           FROM log WHERE kind = 'node'"""
    ).fetchall()
    told = [
        (r.worker_id, r.sequence, n.cores, n.cpu_percent, n.rx_bytes, n.machine)
        for r in reports
        if (n := r.node_load) is not None
    ]
    assert sorted(told) == sorted(machines)


def test_the_live_graph_has_the_rates_of_its_horizon(
    spark: SparkSession, logs: Path, tmp_path: Path
) -> None:
    write_logs(logs, cluster=Cluster(2, 3), shape=Shape(windows=10))
    follower = Follower(tmp_path / "out", horizon_ms=20_000)
    query = follower.start(spark, str(logs), "100 milliseconds", "earliest")
    query.processAllAvailable()
    query.stop()
    live = json.loads((tmp_path / "out" / "live.json").read_text())
    (topology,) = live["topologies"].values()
    expected = (
        connect(logs)
        .execute(
            """SELECT e.source, e.target, sum(e.tuples) / 20.0, sum(e.bytes) / 20.0 FROM log e
           WHERE kind = 'edge' AND seq >= 6 GROUP BY ALL ORDER BY ALL"""
        )
        .fetchall()
    )
    got = [
        (e["source"], e["target"], e["tuples_per_s"], e["bytes_per_s"]) for e in topology["edges"]
    ]
    assert got == expected
    crossing = sum(e["bytes_per_s"] for e in topology["edges"] if e["reach"] == "inter-node")
    assert crossing > 0
    assert sum(n["in_bytes_per_s"] for n in live["nodes"].values()) == pytest.approx(crossing)
    assert sum(n["out_bytes_per_s"] for n in live["nodes"].values()) == pytest.approx(crossing)


def test_from_latest_skips_what_is_there(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    whole = ends(logs, 6, Cluster(1, 1))
    ((path, data),) = whole.items()
    cut = data.rindex(b"\n", 0, data.index(b'"seq":4')) + 1
    path.write_bytes(data[:cut])
    follower = Follower(tmp_path / "out")
    query = follower.start(spark, str(logs), "100 milliseconds")
    query.processAllAvailable()
    path.write_bytes(data)
    query.processAllAvailable()
    query.stop()
    assert follower.stats.windows == 2


def test_a_batch_ends_with_a_window_unless_the_file_was_rolled(logs: Path) -> None:
    whole = ends(logs, 3, Cluster(1, 1))
    ((path, data),) = whole.items()
    reader = _Reader(str(logs), "earliest")
    start = reader.initialOffset()
    path.write_bytes(data[:-400])
    end = reader.latestOffset(start, None)[str(path)]
    assert json.loads(data[:end].splitlines()[-1])["kind"] == "window"
    assert json.loads(data[:end].splitlines()[-1])["seq"] == 1
    path.with_name(path.name.replace("0000.jsonl", "0001.jsonl")).write_bytes(b"")
    path.write_bytes(data[:-390])
    assert reader.latestOffset(start, None)[str(path)] == data.rindex(b"\n", 0, -390) + 1


def test_a_window_whose_parts_come_apart_is_put_together_once() -> None:
    common = {"topology": "t-1-1", "node": "n", "worker": "6700-a", "start": 0, "end": 1000}
    common |= {"appended_ms": 5}
    edge = {**common, "kind": "edge", "seq": 0, "source": 1, "target": 2, "tuples": 9, "bytes": 90}
    edge["system"] = None
    task = {**common, "kind": "task", "seq": 0, "task": 2, "component": "b", "executor": "2-2"}
    task |= {"cpu_ms": 100.0, "shell_cpu_ms": None}
    last = {**common, "kind": "window", "seq": 0, "host": "h", "port": 6700}
    graph = LiveGraph()
    assert graph.add([edge, task]) == []
    assert [w.seq for w in graph.add([last])] == [0]
    assert graph.add([edge, task, last]) == []
    (topology,) = graph.snapshot()["topologies"].values()
    assert topology["edges"][0]["tuples_per_s"] == 9
    assert topology["tasks"][0]["cpu"] == 10


@pytest.fixture
def windows(logs: Path) -> list[LiveWindow]:
    """Three whole windows of one worker."""
    rows = [json.loads(line) for p in ends(logs, 3, Cluster(1, 1)) for line in p.open()]
    none = dict.fromkeys(LINE_COLUMNS)
    return LiveGraph().add([{**none, **r, "appended_ms": 0} for r in rows])


def test_a_brain_that_is_away_is_counted_not_waited_for(windows: list[LiveWindow]) -> None:
    now = 100.0
    gone = Publisher([f"127.0.0.1:{_closed_port()}"], clock=lambda: now)
    gone.publish(windows)
    assert (gone.sent, gone.undelivered) == (0, 3)
    assert gone.trouble is not None
    assert "does not answer" in gone.trouble


def test_a_brain_that_comes_back_is_found_when_the_pause_is_over(
    windows: list[LiveWindow], receiver: Receiver
) -> None:
    now = 100.0
    publisher = Publisher([f"127.0.0.1:{_closed_port()}"], clock=lambda: now)
    publisher.publish(windows[:1])
    publisher._addresses = (receiver.address,)
    publisher.publish(windows[1:2])
    assert (publisher.sent, publisher.undelivered) == (0, 2)
    now += 1.5
    publisher.publish(windows[2:])
    assert (publisher.sent, publisher.trouble) == (1, None)
    assert [r.sequence for r in receiver.wait_for(1)] == [2]


def test_windows_go_to_the_brain_that_leads(windows: list[LiveWindow], receiver: Receiver) -> None:
    standby = Receiver()
    standby.leader = receiver.address
    try:
        publisher = Publisher([f"127.0.0.1:{_closed_port()}", standby.address])
        publisher.publish(windows)
        assert len(receiver.wait_for(3)) == 3
        assert (publisher.sent, publisher.undelivered, standby.reports) == (3, 0, [])
    finally:
        standby.server.close()


def test_a_leader_that_stepped_down_gets_no_more_windows(
    windows: list[LiveWindow], receiver: Receiver
) -> None:
    now = 100.0
    first = Receiver()
    try:
        publisher = Publisher([first.address], clock=lambda: now)
        publisher.publish(windows[:1])
        first.wait_for(1)
        first.leader = receiver.address
        now += 31
        publisher.publish(windows[1:])
        assert [r.sequence for r in receiver.wait_for(2)] == [2, 1]  # the newest dates the others
        assert len(first.reports) == 1
    finally:
        first.server.close()


def test_what_the_worker_lost_is_told_as_the_hook_tells_it(windows: list[LiveWindow]) -> None:
    window = windows[0]
    assert window.last is not None
    window.last = {**window.last, "dropped_reports": 5, "dropped_lines": 7}
    report = window_report(window, "secret")
    assert (report.dropped, report.dropped_lines, report.token) == (5, 7, "secret")


def test_cpu_of_a_worker_that_has_ended_still_counts() -> None:
    meter = CpuMeter()
    before = meter.seconds()
    burn = "import time\nwhile time.process_time() < 0.4: pass\nprint(flush=True)\ninput()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", burn], **pipes) as child:  # type: ignore[call-overload]
        assert child.stdout.readline()
        assert meter.seconds() - before >= 0.3
        child.kill()
    assert meter.seconds() - before >= 0.3


def _closed_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def test_wrong_paths_and_addresses_are_named(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such directory"):
        Follower(tmp_path / "out").start(spark, str(tmp_path / "nowhere"))
    with pytest.raises(BadInput, match="not HOST:PORT"):
        parse_addresses("a:1,brain")
