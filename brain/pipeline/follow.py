"""Job 5: Structured Streaming over the log directory, for clusters whose workers cannot reach the
brain: keeps the graph and the nodes' traffic current in a file, and publishes each window.

Spark's checkpoint holds the bytes read of each file, so that a restart goes on where it was. The
batch that was under way is then done again; the graph counts a window once, and the brain drops a
report that it has had (worker id and sequence).
"""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil

from brain.errors import BadInput
from brain.pipeline.hadoop import HadoopFiles, local_path
from brain.pipeline.live import DEFAULT_HORIZON_MS, LiveGraph, LiveWindow
from brain.pipeline.publish import Publisher
from brain.pipeline.tail import SOURCE_NAME, MetricLogSource, open_root

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

LIVE_FORMAT = 1
LIVE_FILE = "live.json"
LATENCIES_KEPT = 10_000


@dataclass
class FollowStats:
    """What follow has done since it started; latencies are of the last windows, in ms."""

    batches: int = 0
    rows: int = 0
    windows: int = 0
    latencies: deque[float] = field(default_factory=lambda: deque(maxlen=LATENCIES_KEPT))
    """From the last writing to a window's file, as the batch found it, to the graph that has it.
    For a file that got several windows since the batch before, that is the newest one's."""

    def latency(self) -> dict[str, float] | None:
        if not self.latencies:
            return None
        values = np.array(self.latencies)
        return {f"p{p}": round(float(np.percentile(values, p)), 1) for p in (50, 95, 99)}


class Follower:
    """The query and what it keeps up to date."""

    def __init__(
        self,
        out: str | Path,
        publisher: Publisher | None = None,
        horizon_ms: int = DEFAULT_HORIZON_MS,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        listener: Callable[[list[LiveWindow]], None] = lambda windows: None,
    ) -> None:
        """``out``: a directory, local or any Hadoop path, for live.json and the checkpoint.
        ``listener`` hears of windows when the graph that has them is written."""
        self.out = str(out)
        self._keep: Callable[[str], None] | None = None
        self.publisher = publisher
        self.graph = LiveGraph(horizon_ms)
        self.stats = FollowStats()
        self._now_ms = now_ms
        self._listener = listener

    def start(
        self, spark: SparkSession, logs: str, every: str = "1 second", begin: str = "latest"
    ) -> StreamingQuery:
        """Starts following ``logs``; stop the query to end it."""
        open_root(logs)  # names a wrong path here, not from within Spark
        files = HadoopFiles(spark)
        out = files.resolve(self.out)
        self._keep = _keeper(files, out)
        spark.dataSource.register(MetricLogSource)
        stream = (
            spark.readStream.format(SOURCE_NAME).option("path", logs).option("from", begin).load()
        )
        return (
            stream.writeStream.queryName("stormbrain-follow")
            .option("checkpointLocation", f"{out}/checkpoint")
            .trigger(processingTime=every)
            .foreachBatch(self._batch)
            .start()
        )

    def _batch(self, frame: DataFrame, number: int) -> None:
        rows = frame.toArrow().to_pylist()
        windows = self.graph.add(rows)
        if self.publisher:
            self.publisher.publish(windows)
        self.stats.batches += 1
        self.stats.rows += len(rows)
        self.stats.windows += len(windows)
        self._write(number)
        now = self._now_ms()
        self.stats.latencies.extend(now - w.appended_ms for w in windows)
        self._listener(windows)

    def _write(self, batch: int) -> None:
        document: dict[str, Any] = {
            "version": LIVE_FORMAT,
            "batch": batch,
            "updated_ms": self._now_ms(),
            "horizon_ms": self.graph.horizon_ms,
            "windows": self.stats.windows,
            "corrupt_lines": self.graph.corrupt,
            "latency_ms": self.stats.latency(),
            **self.graph.snapshot(),
        }
        if self.publisher:
            document["sent"] = self.publisher.sent
            document["undelivered"] = self.publisher.undelivered
            document["trouble"] = self.publisher.trouble
        assert self._keep is not None, "started"
        self._keep(json.dumps(document))


def _keeper(files: HadoopFiles, out: str) -> Callable[[str], None]:
    """Replaces live.json as a whole. Hadoop's local file system would leave checksums beside it."""
    if not out.startswith("file:"):
        return lambda text: files.replace_text(f"{out}/{LIVE_FILE}", text)
    directory = Path(local_path(out))
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise BadInput(str(directory), f"cannot be written: {e.strerror}") from e

    def replace(text: str) -> None:
        half = directory / f".{LIVE_FILE}"
        half.write_text(text, encoding="utf-8")
        os.replace(half, directory / LIVE_FILE)

    return replace


class CpuMeter:
    """CPU that this process and its children (the JVM, Python workers) have used.

    Of a child that has ended, what it had used when it was last seen still counts: Spark's daemon
    lets its workers go without being asked for their times.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[int, float], float] = {}

    def seconds(self) -> float:
        me = psutil.Process()
        for process in [me, *me.children(recursive=True)]:
            try:
                used, born = process.cpu_times(), process.create_time()
            except psutil.NoSuchProcess:
                continue
            self._seen[process.pid, born] = used.user + used.system
        return sum(self._seen.values())
