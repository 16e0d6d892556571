"""Ingest + graph on Spark against DuckDB doing the same, in the same run: ``make bench-pipeline``.

Each size is generated (seeded) to a temporary directory that is removed afterwards. Both engines
read every log line once, write Parquet partitioned by kind, topology and day, and then compute
edges, tasks, executors, nodes and traffic per minute from that Parquet and write them. They run in
processes of their own, one after the other; the peak of the summed resident memory of a process
and its children (for Spark: Python, the JVM and the Python workers) is sampled meanwhile.

Usage: python -m benchmarks.pipeline [--rows 1000000 --rows 10000000] [--follow-seconds 30]
Either may be 0 to leave it out; what was measured before stays on record.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from brain.pipeline.generate import Cluster, LogWriter, Shape, Stream, Workload, word_count

RESULTS = Path(__file__).resolve().parent / "results" / "pipeline.json"
TABLE = Path(__file__).resolve().parent.parent / "docs" / "pipeline-benchmark.md"
SLICE_MS = 60_000
LINES_PER_WINDOW = 1628
"""Of the workload below: 1,536 edges, 80 tasks, 4 node lines and 8 windows."""


def generate(directory: Path, rows: int) -> int:
    work = Workload(
        "bench-1-1790000000",
        {"a": 16, "b": 32, "c": 32},
        (Stream("a", "b", 60_000), Stream("b", "c", 60_000)),
        spouts=frozenset({"a"}),
    )
    shape = Shape(windows=-(-rows // LINES_PER_WINDOW), roll_bytes=64 << 20)
    return LogWriter(directory, work, Cluster(nodes=4, workers=8), shape).write()


def run_spark(logs: Path, out: Path) -> dict[str, float]:
    from brain.pipeline.graph import write_graph
    from brain.pipeline.ingest import ingest
    from brain.pipeline.session import spark_session
    from brain.pipeline.store import Store

    began = time.perf_counter()
    with spark_session() as spark:
        started = time.perf_counter()
        ingest(spark, [str(logs)], str(out / "store"))
        ingested = time.perf_counter()
        rows = write_graph(spark, Store(spark, str(out / "store")), str(out / "graph"), SLICE_MS)
        done = time.perf_counter()
    return {
        "session_s": started - began,
        "ingest_s": ingested - started,
        "graph_s": done - ingested,
        "edges": rows["edges"],
    }


def run_duckdb(logs: Path, out: Path) -> dict[str, float]:
    import duckdb

    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from tests.pipeline.recompute import COLUMNS, EDGES, TASKS

    db = duckdb.connect()
    db.execute(f"SET threads = {os.cpu_count()}")
    out.mkdir(parents=True)
    began = time.perf_counter()
    db.execute(
        f"""COPY (SELECT * EXCLUDE (v),
              strftime(make_timestamp_ms("start"), '%Y-%m-%d') AS day
            FROM read_json('{logs}/**/*.jsonl', format = 'newline_delimited', columns = {COLUMNS}))
            TO '{out}/lines' (FORMAT parquet, PARTITION_BY (kind, topology, day))"""
    )
    ingested = time.perf_counter()
    db.execute(
        f"CREATE VIEW log AS SELECT * FROM read_parquet('{out}/lines/**/*.parquet', "
        "hive_partitioning = true)"
    )
    for name, query in (("tasks", TASKS), ("edges", EDGES)):
        db.execute(
            f"COPY ({query.format(slice=SLICE_MS)}) TO '{out}/{name}.parquet' (FORMAT parquet)"
        )
        db.execute(f"CREATE VIEW {name} AS FROM '{out}/{name}.parquet'")
    derived = {
        "executors": """SELECT topology, slice, executor, node, worker, any_value(component),
            sum(cpu_ms * 100 / observed_ms) FROM tasks GROUP BY ALL""",
        "nodes": f"""SELECT * FROM
            (SELECT slice, node, sum(cpu_ms) * 100 / max(observed_ms) FROM tasks GROUP BY ALL)
            FULL JOIN (SELECT "start" - "start" % {SLICE_MS} AS slice, node, max(cores),
                sum(cpu_percent * ("end" - "start")) / sum("end" - "start"),
                sum(rx_bytes) * 1000 / sum("end" - "start"),
                sum(tx_bytes) * 1000 / sum("end" - "start")
                FROM log WHERE kind = 'node' GROUP BY ALL) USING (slice, node)
            LEFT JOIN (SELECT slice, target_node AS node, sum(bytes * 1000 / observed_ms)
                FROM edges WHERE reach = 'inter-node' GROUP BY ALL) USING (slice, node)
            LEFT JOIN (SELECT slice, source_node AS node, sum(bytes * 1000 / observed_ms)
                FROM edges WHERE reach = 'inter-node' GROUP BY ALL) USING (slice, node)""",
        "traffic": """SELECT topology, slice, reach, sum(tuples * 1000 / observed_ms),
            sum(bytes * 1000 / observed_ms) FROM edges GROUP BY ALL""",
    }
    for name, query in derived.items():
        db.execute(f"COPY ({query}) TO '{out}/{name}.parquet' (FORMAT parquet)")
    done = time.perf_counter()
    count = db.execute("SELECT count(*) FROM edges").fetchone()
    return {
        "ingest_s": ingested - began,
        "graph_s": done - ingested,
        "edges": count[0] if count else 0,
    }


def in_own_process(engine: str, logs: Path, out: Path) -> dict[str, float]:
    """Runs one engine in a fresh process; its numbers and its peak memory in MB."""
    process = subprocess.Popen(
        [sys.executable, __file__, "--engine", engine, "--logs", str(logs), "--out", str(out)],
        stdout=subprocess.PIPE,
        text=True,
    )
    peak = 0.0
    over = threading.Event()

    def sample() -> None:
        nonlocal peak
        watched = psutil.Process(process.pid)
        while not over.wait(0.2):
            try:
                family = [watched, *watched.children(recursive=True)]
                peak = max(peak, sum(_resident(p) for p in family) / 2**20)
            except psutil.NoSuchProcess:
                return

    watcher = threading.Thread(target=sample)
    watcher.start()
    said, _ = process.communicate()
    over.set()
    watcher.join()
    if process.returncode:
        raise SystemExit(f"{engine} failed with {process.returncode}")
    result: dict[str, float] = json.loads(said)
    return {**result, "peak_mb": peak}


def _resident(process: psutil.Process) -> int:
    """Proportional where Linux tells it: forked workers share most of their pages."""
    try:
        return int(process.memory_full_info().pss)
    except (psutil.Error, AttributeError):
        try:
            return int(process.memory_info().rss)
        except psutil.Error:
            return 0


WARM_UP_WINDOWS = 10


def measure_follow(seconds: float) -> dict[str, Any]:
    """Four workers write a window a second, each at its time; then none for as long, to see what
    idling costs. A window's latency is from just before its lines are written to the graph file
    that has it, both by one clock."""
    from brain.pipeline.follow import CpuMeter, Follower
    from brain.pipeline.live import LiveWindow
    from brain.pipeline.session import spark_session

    written: dict[tuple[str, int], float] = {}
    latencies: list[float] = []

    def in_graph(windows: list[LiveWindow]) -> None:
        now = time.monotonic()
        latencies.extend(1000 * (now - written[w.worker, w.seq]) for w in windows)

    with (
        tempfile.TemporaryDirectory(prefix="stormbrain-bench-") as scratch,
        spark_session(driver_memory="512m") as spark,
    ):
        logs = Path(scratch) / "logs"
        shape = Shape(window_ms=1000, start_ms=time.time_ns() // 1_000_000)
        writer = LogWriter(logs, word_count(), Cluster(2, 4), shape)
        writer.directory.mkdir(parents=True)
        follower = Follower(Path(scratch) / "out", listener=in_graph)
        query = follower.start(spark, str(logs), "500 milliseconds", "earliest")
        load = os.getloadavg()[0]
        begin = time.monotonic()
        meter = CpuMeter()
        total = WARM_UP_WINDOWS + round(seconds)
        for window in range(total):
            time.sleep(max(0.0, begin + window - time.monotonic()))
            if window == WARM_UP_WINDOWS:
                _wait(lambda: len(latencies) == 4 * WARM_UP_WINDOWS)
                latencies.clear()
                used, since = meter.seconds(), time.monotonic()
                begin = since - window
            for worker in writer.workers:
                written[worker.id, window] = time.monotonic()
            writer.write_window(window)
            for worker in writer.workers:
                if worker.out:
                    worker.out.flush()
            meter.seconds()
        _wait(lambda: len(latencies) == 4 * round(seconds))
        busy = (meter.seconds() - used) / (time.monotonic() - since)
        used, since = meter.seconds(), time.monotonic()
        for _ in range(round(seconds)):
            time.sleep(1)
            meter.seconds()
        idle = (meter.seconds() - used) / (time.monotonic() - since)
        query.stop()
    ordered = sorted(latencies)
    return {
        "windows": len(ordered),
        "latency_ms": {
            f"p{p}": round(ordered[min(len(ordered) - 1, len(ordered) * p // 100)], 1)
            for p in (50, 95, 99)
        },
        "busy_cpu_percent": busy * 100,
        "idle_cpu_percent": idle * 100,
        "load_average_before": load,
        "date": time.strftime("%Y-%m-%d %H:%M"),
    }


def _wait(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not done():
        if time.monotonic() > deadline:
            raise SystemExit("follow did not keep up")
        time.sleep(0.05)


def measure(rows: int) -> dict[str, Any]:
    scratch = Path(tempfile.mkdtemp(prefix="stormbrain-bench-"))
    try:
        began = time.perf_counter()
        lines = generate(scratch / "logs", rows)
        size = sum(f.stat().st_size for f in scratch.rglob("*.jsonl"))
        print(f"{lines:,} lines, {size / 1e6:,.0f} MB in {time.perf_counter() - began:.0f} s")
        load = os.getloadavg()[0]
        duck = in_own_process("duckdb", scratch / "logs", scratch / "duckdb")
        spark = in_own_process("spark", scratch / "logs", scratch / "spark")
        if duck["edges"] != spark["edges"]:
            raise SystemExit(f"the engines disagree: {duck['edges']} and {spark['edges']} edges")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    work = {n: r["ingest_s"] + r["graph_s"] for n, r in (("spark", spark), ("duckdb", duck))}
    result = {
        "rows": lines,
        "wanted": rows,
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "megabytes": size / 1e6,
        "load_average_before": load,
        "spark": spark,
        "duckdb": duck,
        "ratio": work["spark"] / work["duckdb"],
        "ratio_with_session_start": (work["spark"] + spark["session_s"]) / work["duckdb"],
    }
    print(json.dumps(result, indent=1))
    return result


def write_table(document: dict[str, Any]) -> None:
    lines = [
        "# Pipeline benchmark",
        "",
        f"Written by `make bench-pipeline`: {document['machine']}. "
        "Both engines read each log line once, write partitioned Parquet, and derive the graph's "
        "five tables from it, in the same run on the same machine, one after the other. Ratio is "
        "Spark over DuckDB for ingest + graph; the start of the Spark session, which all jobs of a "
        "command share, is given apart. Memory is the peak of the whole process tree.",
        "",
        "| rows | MB | DuckDB ingest + graph | Spark ingest + graph | session | ratio | "
        "with session | Spark memory | DuckDB memory | load before | measured |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for r in document["sizes"]:
        s, d = r["spark"], r["duckdb"]
        lines.append(
            f"| {r['rows']:,} | {r['megabytes']:,.0f} | {d['ingest_s']:.1f} + {d['graph_s']:.1f} s "
            f"| {s['ingest_s']:.1f} + {s['graph_s']:.1f} s | {s['session_s']:.1f} s "
            f"| {r['ratio']:.2f} | {r['ratio_with_session_start']:.2f} | {s['peak_mb']:,.0f} MB "
            f"| {d['peak_mb']:,.0f} MB | {r['load_average_before']:.1f} | {r['date']} |"
        )
    lines += [
        "",
        "At 1 M rows Spark's time is mostly that of a cold JVM, whatever the data: a graph is "
        "about 50 small jobs, whose code is generated, loaded and compiled when it is first run.",
    ]
    notes = [r["note"] for r in document["sizes"] if r.get("note")]
    lines += [line for note in notes for line in ("", note)]
    f = document.get("follow")
    if f:
        idle = f["idle_cpu_percent"]
        idling = "not measured" if idle is None else f"{idle:.1f} %"
        lines += [
            "",
            f"`follow` on four workers with a window a second, looking twice a second: "
            f"{f['windows']} windows after warming up, from the written line to the graph file p50 "
            f"{f['latency_ms']['p50']:.0f} ms, p95 {f['latency_ms']['p95']:.0f} ms, p99 "
            f"{f['latency_ms']['p99']:.0f} ms (each by its own line); CPU (100 % is "
            f"one core) {f['busy_cpu_percent']:.1f} % while lines come, "
            f"{idling} while none do. Load before: "
            f"{f['load_average_before']:.1f}; measured {f['date']}.{f.get('note', '')}",
        ]
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, action="append")
    parser.add_argument("--follow-seconds", type=float, default=30)
    parser.add_argument("--engine", choices=("spark", "duckdb"), help=argparse.SUPPRESS)
    parser.add_argument("--logs", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.engine:
        run = {"spark": run_spark, "duckdb": run_duckdb}[options.engine]
        print(json.dumps(run(options.logs, options.out)))
        return
    document = _last_results()
    if options.follow_seconds > 0:
        document["follow"] = measure_follow(options.follow_seconds)
        print(json.dumps(document["follow"], indent=1))
        keep(document)
    for rows in options.rows if options.rows is not None else [1_000_000, 10_000_000]:
        if not rows:
            continue
        others = [r for r in document["sizes"] if r["wanted"] != rows]
        document["sizes"] = sorted([*others, measure(rows)], key=lambda r: r["rows"])
        keep(document)


def _last_results() -> dict[str, Any]:
    """What was measured before and is not measured again stays, with its own date and load, and
    with the ``note`` that a run may have been given by hand."""
    sizes: list[dict[str, Any]] = []
    follow = None
    if RESULTS.exists():
        last = json.loads(RESULTS.read_text(encoding="utf-8"))
        sizes, follow = last["sizes"], last.get("follow")
    memory = psutil.virtual_memory().total / 2**30
    machine = f"{os.cpu_count()} cores, {memory:.0f} GiB, {platform.machine()}"
    return {"machine": machine, "sizes": sizes, **({"follow": follow} if follow else {})}


def keep(document: dict[str, Any]) -> None:
    """Written after each part, so that a run that is ended early keeps what it measured."""
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    write_table(document)


if __name__ == "__main__":
    main()
