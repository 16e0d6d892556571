"""What follows from the edges and tasks of a graph: executors, nodes and whole topologies."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def slice_of(slice_ms: int) -> Column:
    from pyspark.sql import functions as F

    return (F.col("start") - F.col("start") % slice_ms).alias("slice")


def executor_slices(tasks: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return tasks.groupBy("topology", "slice", "executor", "node", "worker", "host", "port").agg(
        F.first("component").alias("component"),
        F.count("*").alias("tasks"),
        F.max("observed_ms").alias("observed_ms"),
        F.sum("cpu").alias("cpu"),
        *[
            F.sum(F.col(c) * 1000.0 / F.col("observed_ms")).alias(f"{c}_per_s")
            for c in ("executed", "emitted")
        ],
    )


def node_slices(
    node_lines: DataFrame, edges: DataFrame, tasks: DataFrame, slice_ms: int
) -> DataFrame:
    """Load and traffic of each node per slice, over all topologies of the selection.

    ``task_cpu`` is what the tasks used, ``cpu_percent`` what the machine did; ``rx`` and ``tx`` are
    the interfaces' bytes, ``in`` and ``out`` the payload that crossed nodes by the edges.
    """
    from pyspark.sql import functions as F

    span = F.col("end") - F.col("start")

    def per_s(column: str) -> Column:
        return (F.sum(column) * 1000.0 / F.sum(span)).alias(f"{column}_per_s")

    def mean(column: str) -> Column:
        return (F.sum(F.col(column) * span) / F.sum(span)).alias(column)

    # Sums over reporters and over time are divided by the same sums: two reporters do not double.
    machine = (
        node_lines.where("end > start")
        .groupBy(slice_of(slice_ms), "node")
        .agg(
            F.max("cores").alias("cores"),
            F.max("mhz").alias("mhz"),
            F.max("memory_mb").alias("memory_mb"),
            mean("cpu_percent"),
            mean("memory_used_mb"),
            per_s("rx_bytes"),
            per_s("tx_bytes"),
        )
    )
    # A task that was restarted on its node has two rows there; together they say how long it ran.
    per_task = tasks.groupBy("slice", "node", "topology", "task").agg(
        F.max("host").alias("host"),
        F.sum("cpu_ms").alias("cpu_ms"),
        F.sum("observed_ms").alias("observed_ms"),
    )
    load = per_task.groupBy("slice", "node").agg(
        F.max("host").alias("host"),
        (F.sum("cpu_ms") * 100.0 / F.max("observed_ms")).alias("task_cpu"),
        F.count("*").alias("tasks"),
    )
    crossing = edges.where("reach = 'inter-node'")

    def flow(side: str, name: str) -> DataFrame:
        return crossing.groupBy("slice", F.col(f"{side}_node").alias("node")).agg(
            F.sum("tuples_per_s").alias(f"{name}_tuples_per_s"),
            F.sum("bytes_per_s").alias(f"{name}_bytes_per_s"),
        )

    both = load.join(machine, ["slice", "node"], "full")
    joined = both.join(flow("target", "in"), ["slice", "node"], "left").join(
        flow("source", "out"), ["slice", "node"], "left"
    )
    flows = [f"{n}_{a}_per_s" for n in ("in", "out") for a in ("tuples", "bytes")]
    return joined.fillna(0.0, flows)


def traffic_slices(edges: DataFrame, windows: DataFrame, slice_ms: int) -> DataFrame:
    """Per topology and slice: traffic by how far it went, and what the log is missing."""
    from pyspark.sql import functions as F

    reaches = {"inter_node": "inter-node", "inter_worker": "inter-worker", "local": "local"}
    sums = [
        F.sum(F.when(F.col("reach") == reach, F.col(f"{a}_per_s")).otherwise(0.0)).alias(
            f"{name}_{a}_per_s"
        )
        for name, reach in reaches.items()
        for a in ("tuples", "bytes")
    ]
    by_edge = edges.groupBy("topology", "slice").agg(
        F.sum("tuples_per_s").alias("tuples_per_s"),
        F.sum("bytes_per_s").alias("bytes_per_s"),
        *sums,
    )
    by_window = windows.groupBy("topology", slice_of(slice_ms)).agg(
        F.count("*").alias("windows"),
        F.countDistinct("node", "worker").alias("workers"),
        F.sum("edges").alias("edges_written"),
    )
    # A slice in which nothing was said is a slice all the same.
    joined = by_edge.join(by_window, ["topology", "slice"], "full")
    return joined.fillna(0.0, [c for c in by_edge.columns if c.endswith("_per_s")])
