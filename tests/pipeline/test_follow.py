"""Follow keeps the graph current over growing logs, publishes each window, and can be restarted."""

from __future__ import annotations

import json
import socket
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
from brain.idl import wire
from brain.pipeline.follow import Follower
from brain.pipeline.generate import Cluster, Shape, write_logs
from brain.pipeline.live import LiveGraph
from brain.pipeline.publish import Publisher, parse_address
from brain.pipeline.tail import _Reader
from tests.pipeline.recompute import connect


class Receiver:
    """A Thrift server that keeps the reports it gets."""

    def __init__(self) -> None:
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
    address = ("127.0.0.1", receiver.port)
    first = Follower(tmp_path / "out", Publisher(address))
    query = first.start(spark, str(logs), "100 milliseconds", "earliest")
    query.processAllAvailable()
    query.stop()
    half = receiver.wait_for(first.stats.windows)
    assert 0 < len(half) < 8 * 3
    live = json.loads((tmp_path / "out" / "live.json").read_text())
    assert live["windows"] == len(half) == live["sent"]

    for path, data in whole.items():
        path.write_bytes(data)
    second = Follower(tmp_path / "out", Publisher(address))
    query = second.start(spark, str(logs), "100 milliseconds", "earliest")
    query.processAllAvailable()
    query.stop()
    reports = receiver.wait_for(8 * 3)
    assert len(reports) == 8 * 3
    assert len({(r.worker_id, r.sequence) for r in reports}) == 8 * 3

    db = connect(logs)
    expected = db.execute(
        """SELECT worker, seq, source, target, tuples, bytes, coalesce(system, false)
           FROM log WHERE kind = 'edge'"""
    ).fetchall()
    got = [
        (r.worker_id, r.sequence, e.source_task, e.target_task, e.tuples, e.bytes, e.system)
        for r in reports
        for e in r.edges
    ]
    assert sorted(got) == sorted(expected)
    load = db.execute(
        """SELECT worker, seq, task, component, cpu_ms, shell_cpu_ms, executed, complete_ms
           FROM log WHERE kind = 'task'"""
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
        )
        for r in reports
        for t in r.tasks
    ]
    assert sorted(tasks, key=repr) == sorted(load, key=repr)


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


def test_a_brain_that_is_away_is_counted_not_waited_for(logs: Path, receiver: Receiver) -> None:
    gone = Publisher(("127.0.0.1", _closed_port()))
    graph = LiveGraph()
    rows = [json.loads(line) for p in ends(logs, 1, Cluster(1, 1)) for line in p.open()]
    full = {k: None for r in rows for k in r}
    windows = graph.add([{**full, **r, "appended_ms": 0} for r in rows])
    gone.publish(windows)
    assert (gone.sent, gone.undelivered) == (0, 1)


def _closed_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def test_wrong_paths_and_addresses_are_named(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such directory"):
        Follower(tmp_path / "out").start(spark, str(tmp_path / "nowhere"))
    with pytest.raises(BadInput, match="not HOST:PORT"):
        parse_address("brain")
