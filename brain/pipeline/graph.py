"""Job 2: Parquet lines → the communication graph per topology and time slice.

A window belongs to the slice in which it starts. A rate is what was counted in a slice's windows
over the time for which the receiving task was heard of in that slice, so a slice with gaps shows
the rate while the task ran, and the rates of an edge's rows add up.

A worker writes a window's ``window`` line last. Lines of its windows beyond its last ``window``
line are half-written and left out; a ``window`` line that was corrupt in the middle of a log does
not cost the window.

Where the source of an edge ran is read from the task lines: a task is on a worker from its first
window there until its first window elsewhere. The target runs where the line was written.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from brain.errors import BadInput
from brain.pipeline.graph_schema import FORMAT_VERSION, in_form
from brain.pipeline.graph_totals import executor_slices, node_slices, slice_of, traffic_slices
from brain.pipeline.hadoop import HadoopFiles
from brain.pipeline.store import Selection, Store

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

DEFAULT_SLICE_MS = 60_000
FOREVER = 1 << 62
TABLES = ("tasks", "edges", "executors", "nodes", "traffic")


def write_graph(
    spark: SparkSession,
    store: Store,
    out: str,
    slice_ms: int = DEFAULT_SLICE_MS,
    selection: Selection | None = None,
) -> dict[str, int]:
    """Computes the graph and replaces what lies in ``out``; the rows of each table.

    The lines are read once for ``tasks`` and once for ``edges``; the other tables are derived from
    what was written of those two.
    """
    if slice_ms <= 0:
        raise BadInput("--slice", "must be more than nothing")
    files = HadoopFiles(spark)
    out = files.resolve(out)
    fresh = f"{out}/_new"
    files.delete(fresh)
    rows: dict[str, int] = {}

    def keep(name: str, frame: DataFrame) -> DataFrame:
        frame = in_form(name, frame)
        writer = frame.coalesce(spark.sparkContext.defaultParallelism).write
        if name != "nodes":
            writer = writer.partitionBy("topology")
        writer.parquet(f"{fresh}/{name}")
        kept = spark.read.schema(frame.schema).parquet(f"{fresh}/{name}")
        rows[name] = kept.count()
        return kept

    windows = store.lines("window", selection)
    workers = workers_of(windows).cache()
    task_lines = complete(store.lines("task", selection), workers)
    spans = assignment(task_lines).cache()
    tasks = keep("tasks", task_slices(task_lines, workers, slice_ms))
    edge_lines = complete(store.lines("edge", selection), workers)
    edges = keep("edges", edge_slices(edge_lines, spans, workers, tasks, slice_ms))
    keep("executors", executor_slices(tasks))
    keep("nodes", node_slices(store.lines("node", selection), edges, tasks, slice_ms))
    keep("traffic", traffic_slices(edges, windows, slice_ms))
    spans.unpersist()
    workers.unpersist()

    for name in rows:
        files.delete(f"{out}/{name}")
        files.rename(f"{fresh}/{name}", f"{out}/{name}")
    files.delete(f"{out}/graph.json")
    meta = {"version": FORMAT_VERSION, "slice_ms": slice_ms, "rows": rows}
    files.create_text(f"{out}/graph.json", json.dumps(meta, indent=1))
    files.delete(fresh)
    return rows


def workers_of(windows: DataFrame) -> DataFrame:
    """The worker processes, numbered (``w``) so that the large joins compare numbers."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    number = F.row_number().over(Window.orderBy("topology", "node", "worker"))
    return (
        windows.groupBy("topology", "node", "worker")
        .agg(
            F.max("seq").alias("last_seq"),
            F.max("host").alias("host"),
            F.max("port").alias("port"),
        )
        .withColumn("w", number)
    )


def complete(lines: DataFrame, workers: DataFrame) -> DataFrame:
    """The lines of whole windows, with the number of their worker."""
    from pyspark.sql import functions as F

    known = F.broadcast(workers.select("topology", "node", "worker", "last_seq", "w"))
    return (
        lines.join(known, ["topology", "node", "worker"])
        .where((F.col("seq") <= F.col("last_seq")) & (F.col("end") > F.col("start")))
        .drop("last_seq")
    )


def assignment(task_lines: DataFrame) -> DataFrame:
    """Which worker each task was on, as spans [since, until) that leave no gap and never overlap.

    ``first_start`` and ``last_end`` are when it was really heard of there.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    spans = task_lines.groupBy("topology", "task", "node", "worker", "w").agg(
        F.first("component").alias("component"),
        F.first("executor").alias("executor"),
        F.min("start").alias("first_start"),
        F.max("end").alias("last_end"),
    )
    in_order = Window.partitionBy("topology", "task").orderBy("first_start", "w")
    first = F.row_number().over(in_order) == 1
    following = F.lead("first_start").over(in_order)
    return spans.withColumn(
        "since", F.when(first, F.lit(0).cast("long")).otherwise(F.col("first_start"))
    ).withColumn("until", F.coalesce(following, F.lit(FOREVER)))


def weighted_mean(value: str, weight: str) -> Column:
    """The mean of window means, each weighted by the window's tuples."""
    from pyspark.sql import functions as F

    w = F.when(F.col(value).isNotNull(), F.col(weight))
    return F.try_divide(F.sum(F.col(value) * w), F.sum(w)).alias(value)


def task_slices(task_lines: DataFrame, workers: DataFrame, slice_ms: int) -> DataFrame:
    """Load of each task per slice and worker; ``cpu`` is in RAS points (100 = one core)."""
    from pyspark.sql import functions as F

    counts = ("executed", "emitted", "acked", "failed")
    cpu = F.coalesce("cpu_ms", F.lit(0.0)) + F.coalesce("shell_cpu_ms", F.lit(0.0))
    grouped = task_lines.groupBy(slice_of(slice_ms), "task", "w").agg(
        F.first("component").alias("component"),
        F.first("executor").alias("executor"),
        F.sum(F.col("end") - F.col("start")).alias("observed_ms"),
        F.sum(cpu).alias("cpu_ms"),
        *[F.sum(F.coalesce(c, F.lit(0))).alias(c) for c in counts],
        weighted_mean("execute_ms", "executed"),
        weighted_mean("process_ms", "executed"),
        weighted_mean("complete_ms", "acked"),
    )
    known = F.broadcast(workers.select("w", "topology", "node", "worker", "host", "port"))
    return (
        grouped.withColumn("cpu", F.col("cpu_ms") * 100.0 / F.col("observed_ms"))
        .join(known, "w")
        .drop("w")
    )


def edge_slices(
    edge_lines: DataFrame, spans: DataFrame, workers: DataFrame, tasks: DataFrame, slice_ms: int
) -> DataFrame:
    """Traffic of each edge per slice, one row for each pair of workers that it went between."""
    from pyspark.sql import functions as F

    lines = edge_lines.select(
        "topology",
        slice_of(slice_ms),
        F.expr("(start + end) div 2").alias("mid"),
        "source",
        "target",
        "tuples",
        "bytes",
        F.coalesce("system", F.lit(False)).alias("system"),
        F.col("w").alias("target_w"),
    ).alias("e")
    where = F.broadcast(
        spans.select("topology", "task", "since", "until", F.col("w").alias("source_w"))
    ).alias("a")
    placed = lines.join(
        where,
        (F.col("e.topology") == F.col("a.topology"))
        & (F.col("e.source") == F.col("a.task"))
        & (F.col("e.mid") >= F.col("a.since"))
        & (F.col("e.mid") < F.col("a.until")),
        "left",
    )
    grouped = placed.groupBy("slice", "source", "target", "system", "source_w", "target_w").agg(
        F.sum("tuples").alias("tuples"), F.sum("bytes").alias("bytes")
    )
    return _named(grouped, spans, workers, tasks, slice_ms)


def _named(
    grouped: DataFrame, spans: DataFrame, workers: DataFrame, tasks: DataFrame, slice_ms: int
) -> DataFrame:
    """Puts names, reach and rates to the sums of edges."""
    from pyspark.sql import functions as F

    def place(side: str, *also: str) -> DataFrame:
        return F.broadcast(
            workers.select(
                F.col("w").alias(f"{side}_w"),
                F.col("node").alias(f"{side}_node"),
                F.col("worker").alias(f"{side}_worker"),
                *also,
            )
        )

    def component(side: str) -> DataFrame:
        names = spans.groupBy("topology", F.col("task").alias(side)).agg(
            F.first("component").alias(f"{side}_component")
        )
        return F.broadcast(names)

    observed = tasks.groupBy("topology", "slice", F.col("task").alias("target")).agg(
        F.sum("observed_ms").alias("observed_ms")
    )
    # Storm's own task -1 (ticks) speaks from within each worker.
    same_worker = (F.col("source") < 0) | (F.col("source_w") == F.col("target_w"))
    reach = (
        F.when(same_worker, "local")
        .when(F.col("source_node").isNull(), "unknown")
        .when(F.col("source_node") == F.col("target_node"), "inter-worker")
        .otherwise("inter-node")
    )
    rows = (
        grouped.join(place("target", "topology"), "target_w")
        .join(place("source"), "source_w", "left")
        .join(component("source"), ["topology", "source"], "left")
        .join(component("target"), ["topology", "target"], "left")
        .join(observed, ["topology", "slice", "target"], "left")
        .withColumn("observed_ms", F.coalesce("observed_ms", F.lit(slice_ms).cast("long")))
        .withColumn("reach", reach)
        .drop("source_w", "target_w")
    )
    for amount in ("tuples", "bytes"):
        rows = rows.withColumn(f"{amount}_per_s", F.col(amount) * 1000.0 / F.col("observed_ms"))
    return rows
