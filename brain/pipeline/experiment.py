"""Job 3: the logs of runs → what the papers report, per run and between schedulers.

As in Fischer & Bernstein 2015 the first and the last part of a run are cut off, several runs of a
scheduler are given as best of n (with mean and confidence interval beside it), and two schedulers
are compared by a Mann-Whitney test.

Throughput is what the spouts emitted. The log holds window means of latencies, so a percentile is
the percentile of window means, each weighted by the tuples that it stands for. Downtime is the time
in which at least one task that has to run was heard of nowhere, between two of its workers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from brain.errors import BadInput, StormbrainError
from brain.pipeline.graph import assignment, complete, workers_of
from brain.pipeline.graph_totals import slice_of
from brain.pipeline.statistics import imbalance, relative_deviation, weighted_percentile
from brain.pipeline.store import Selection, Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DEFAULT_CUT_MS = 60_000
SAMPLE_MS = 10_000
GAP_MS = 1000
"""A worker's first window follows its start by less than this only if nothing was down."""


@dataclass(frozen=True)
class RunResult:
    """One run. ``metrics`` has the numbers of METRICS that the log could give."""

    scheduler: str
    source: str
    topology: str
    seconds: float
    metrics: Mapping[str, float]
    by_node: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    throughput_samples: tuple[float, ...] = ()
    """Spout tuples/s of each ten seconds."""


@dataclass(frozen=True)
class Metric:
    name: str
    unit: str
    more_is_better: bool
    meaning: str


METRICS: tuple[Metric, ...] = (
    Metric("throughput", "tuples/s", True, "emitted by the spouts"),
    Metric("acked", "tuples/s", True, "acked at the spouts"),
    Metric("failed", "tuples/s", False, "failed at the spouts"),
    Metric("latency_mean", "ms", False, "complete latency"),
    Metric("latency_p50", "ms", False, "complete latency, weighted window means"),
    Metric("latency_p95", "ms", False, "complete latency, weighted window means"),
    Metric("latency_p99", "ms", False, "complete latency, weighted window means"),
    Metric("inter_node_tuples", "tuples/s", False, "tuples between nodes"),
    Metric("inter_node_bytes", "bytes/s", False, "payload between nodes"),
    Metric("inter_worker_bytes", "bytes/s", False, "payload between workers of a node"),
    Metric("network_bytes", "bytes/s", False, "sent through the interfaces of all nodes"),
    Metric("cpu", "points", False, "CPU of all tasks, 100 = one core"),
    Metric("imbalance", "×", False, "busiest node's task CPU over the mean"),
    Metric("load_rsd", "%", False, "relative standard deviation of the nodes' task CPU"),
    Metric("moves", "", False, "tasks that changed their node"),
    Metric("restarts", "", False, "worker processes beyond the first on a slot"),
    Metric("downtime", "s", False, "time with at least one task nowhere"),
    Metric("silence", "s", False, "ten-second samples in which no spout emitted"),
)


def measure_run(
    store: Store,
    scheduler: str,
    topology: str | None = None,
    cut_first_ms: int = DEFAULT_CUT_MS,
    cut_last_ms: int = DEFAULT_CUT_MS,
) -> RunResult:
    """Measures the one topology of a store, or the one that is named."""
    chosen = _the_topology(store, topology)
    whole = Selection((chosen,))
    windows = store.lines("window", whole)
    workers = workers_of(windows).cache()
    task_lines = complete(store.lines("task", whole), workers)
    spans = assignment(task_lines).toArrow().to_pylist()
    start = min(s["first_start"] for s in spans) + cut_first_ms
    end = max(s["last_end"] for s in spans) - cut_last_ms
    if end <= start:
        raise StormbrainError(
            f"the run in {store.path} is over before its first and last part are cut off",
            "cut less: --cut-first and --cut-last",
        )
    inside = f"(start + end) div 2 >= {start} and (start + end) div 2 < {end}"
    tasks = task_lines.where(inside)
    edges = complete(store.lines("edge", whole), workers).where(inside)
    seconds = (end - start) / 1000
    metrics: dict[str, float | None] = {}
    sources = _sources(store.lines("edge", whole))
    samples = _spout_metrics(tasks, sources, seconds, start, end, metrics)
    _traffic_metrics(edges, spans, seconds, metrics)
    nodes = _node_metrics(tasks, store.lines("node", whole).where(inside), seconds, metrics)
    _disturbance(spans, metrics)
    workers.unpersist()
    known = {m.name: metrics[m.name] for m in METRICS if metrics.get(m.name) is not None}
    return RunResult(
        scheduler=scheduler,
        source=store.path,
        topology=chosen,
        seconds=seconds,
        metrics={k: float(v) for k, v in known.items() if v is not None},
        by_node=nodes,
        throughput_samples=samples,
    )


def _the_topology(store: Store, wanted: str | None) -> str:
    selection = Selection((wanted,) if wanted else ())
    found = sorted(
        r["topology"]
        for r in store.lines("window", selection).select("topology").distinct().collect()
    )
    if not found:
        raise BadInput(store.path, f"has no windows of {wanted}" if wanted else "has no windows")
    if len(found) > 1:
        raise BadInput(
            store.path,
            f"holds several topologies: {', '.join(found)}",
            "name one with --topology",
        )
    return str(found[0])


def _sources(edges: DataFrame) -> DataFrame:
    """Tasks that receive tuples of others: those that do not, yet emit, are spouts."""
    from pyspark.sql import functions as F

    return (
        edges.where(~F.coalesce("system", F.lit(False)))
        .select(F.col("target").alias("task"))
        .distinct()
    )


def _spout_metrics(
    tasks: DataFrame,
    receiving: DataFrame,
    seconds: float,
    start: int,
    end: int,
    metrics: dict[str, float | None],
) -> tuple[float, ...]:
    from pyspark.sql import functions as F

    spouts = tasks.join(F.broadcast(receiving), "task", "left_anti").where(
        ~F.col("component").startswith("__")
    )
    # Components all of whose tasks are silent never emit; they add nothing to any sum.
    table = (
        spouts.groupBy(slice_of(SAMPLE_MS), "complete_ms")
        .agg(*[F.sum(F.coalesce(c, F.lit(0))).alias(c) for c in ("emitted", "acked", "failed")])
        .toArrow()
    )
    rows = table.to_pylist()
    for name, column in (("throughput", "emitted"), ("acked", "acked"), ("failed", "failed")):
        metrics[name] = sum(r[column] for r in rows) / seconds
    timed = [r for r in rows if r["complete_ms"] is not None]
    values = np.array([r["complete_ms"] for r in timed], dtype=np.float64)
    # Without acks a latency stands for the tuples emitted meanwhile.
    weights = np.array([r["acked"] or r["emitted"] for r in timed], dtype=np.float64)
    if len(values) and weights.sum() > 0:
        metrics["latency_mean"] = float((values * weights).sum() / weights.sum())
        for percent in (50, 95, 99):
            metrics[f"latency_p{percent}"] = weighted_percentile(values, weights, percent)
    first, last = -(-start // SAMPLE_MS) * SAMPLE_MS, end // SAMPLE_MS * SAMPLE_MS
    emitted = dict.fromkeys(range(first, last, SAMPLE_MS), 0)
    for r in rows:
        if r["slice"] in emitted:
            emitted[r["slice"]] += r["emitted"]
    metrics["silence"] = sum(v == 0 for v in emitted.values()) * SAMPLE_MS / 1000
    return tuple(v * 1000.0 / SAMPLE_MS for v in emitted.values())


def _traffic_metrics(
    edges: DataFrame,
    spans: list[dict[str, Any]],
    seconds: float,
    metrics: dict[str, float | None],
) -> None:
    from pyspark.sql import functions as F

    spark = edges.sparkSession
    where = spark.createDataFrame(
        [(s["task"], s["since"], s["until"], s["node"], s["worker"]) for s in spans],
        "task int, since long, until long, source_node string, source_worker string",
    )
    mid = F.expr("(start + end) div 2")
    placed = edges.join(
        F.broadcast(where),
        (F.col("source") == F.col("task")) & (mid >= F.col("since")) & (mid < F.col("until")),
    )
    same_node = F.col("node") == F.col("source_node")
    sums = placed.agg(
        F.sum(F.when(~same_node, F.col("tuples"))).alias("inter_node_tuples"),
        F.sum(F.when(~same_node, F.col("bytes"))).alias("inter_node_bytes"),
        F.sum(
            F.when(same_node & (F.col("worker") != F.col("source_worker")), F.col("bytes"))
        ).alias("inter_worker_bytes"),
    ).collect()[0]
    metrics.update({k: (v or 0) / seconds for k, v in sums.asDict().items()})


def _node_metrics(
    tasks: DataFrame, nodes: DataFrame, seconds: float, metrics: dict[str, float | None]
) -> dict[str, dict[str, float]]:
    from pyspark.sql import functions as F

    cpu = F.coalesce("cpu_ms", F.lit(0.0)) + F.coalesce("shell_cpu_ms", F.lit(0.0))
    by_node: dict[str, dict[str, float]] = {}
    for r in tasks.groupBy("node").agg(F.sum(cpu).alias("cpu_ms")).orderBy("node").collect():
        by_node[r["node"]] = {"task_cpu": r["cpu_ms"] / 10.0 / seconds}
    span = F.col("end") - F.col("start")
    machine = (
        nodes.where("end > start")
        .groupBy("node")
        .agg(
            (F.sum(F.col("cpu_percent") * span) / F.sum(span)).alias("cpu_percent"),
            (F.sum("rx_bytes") * 1000.0 / F.sum(span)).alias("rx_bytes"),
            (F.sum("tx_bytes") * 1000.0 / F.sum(span)).alias("tx_bytes"),
        )
    )
    sent: list[float] = []
    for r in machine.orderBy("node").collect():
        known = {k: float(v) for k, v in r.asDict().items() if k != "node" and v is not None}
        by_node.setdefault(r["node"], {"task_cpu": 0.0}).update(known)
        if "tx_bytes" in known:
            sent.append(known["tx_bytes"])
    loads = [v["task_cpu"] for v in by_node.values()]
    metrics["cpu"] = sum(loads)
    metrics["imbalance"] = imbalance(loads)
    metrics["load_rsd"] = relative_deviation(loads)
    metrics["network_bytes"] = sum(sent) if sent else None
    return by_node


def _disturbance(spans: list[dict[str, Any]], metrics: dict[str, float | None]) -> None:
    """Moves, restarts and downtime over the whole run, also in the parts that are cut off."""
    by_task: dict[int, list[dict[str, Any]]] = {}
    for s in spans:
        by_task.setdefault(s["task"], []).append(s)
    moves = 0
    gaps: list[tuple[int, int]] = []
    for own in by_task.values():
        own.sort(key=lambda s: s["since"])
        for before, after in pairwise(own):
            moves += before["node"] != after["node"]
            if after["first_start"] - before["last_end"] > GAP_MS:
                gaps.append((before["last_end"], after["first_start"]))
    slots: dict[tuple[str, str], set[str]] = {}
    for s in spans:
        port = s["worker"].split("-")[0]
        slots.setdefault((s["node"], port), set()).add(s["worker"])
    metrics["moves"] = float(moves)
    metrics["restarts"] = float(sum(len(w) - 1 for w in slots.values()))
    metrics["downtime"] = _union(gaps) / 1000


def _union(spans: list[tuple[int, int]]) -> int:
    """The length of a union of intervals."""
    total, reached = 0, 0
    for start, end in sorted(spans):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total
