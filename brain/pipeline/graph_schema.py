"""The tables of a graph: columns, types and meanings. What is written, and docs/pipeline.md, follow
this; a change of it is a new ``FORMAT_VERSION``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FORMAT_VERSION = 1

Columns = Mapping[str, tuple[str, str]]
"""Column → Spark's name of its type, and what it means."""

_TOPOLOGY = {"topology": ("string", "Storm's topology id; the partition")}
_SLICE = {"slice": ("bigint", "start of the slice, ms since 1970")}
_PLACE = {
    "node": ("string", "supervisor id"),
    "worker": ("string", "worker process: port and start"),
    "host": ("string", "host name"),
    "port": ("int", "slot"),
}
_REACHES = {
    f"{reach}_{amount}_per_s": ("double", f"{amount} a second that went {words}")
    for reach, words in (
        ("inter_node", "between nodes"),
        ("inter_worker", "between workers of a node"),
        ("local", "within a worker"),
    )
    for amount in ("tuples", "bytes")
}

GRAPH_TABLES: Mapping[str, Columns] = {
    "edges": {
        **_TOPOLOGY,
        **_SLICE,
        "source": ("int", "sending task; below 0 Storm itself (ticks)"),
        "target": ("int", "receiving task"),
        "system": ("boolean", "a stream of Storm's own (acks, ticks)"),
        "source_component": ("string", "its component, null if the log never names it"),
        "target_component": ("string", "its component"),
        "source_node": ("string", "where the source ran then, null if unknown"),
        "source_worker": ("string", "its worker process"),
        "target_node": ("string", "where the target ran"),
        "target_worker": ("string", "its worker process"),
        "reach": ("string", "inter-node, inter-worker, local or unknown"),
        "tuples": ("bigint", "tuples in the slice"),
        "bytes": ("bigint", "their bytes"),
        "observed_ms": ("bigint", "how long the target was heard of in the slice"),
        "tuples_per_s": ("double", "tuples over observed_ms"),
        "bytes_per_s": ("double", "bytes over observed_ms"),
    },
    "tasks": {
        **_TOPOLOGY,
        **_SLICE,
        "task": ("int", "task id"),
        "component": ("string", "its component"),
        "executor": ("string", "its executor: first and last task"),
        **_PLACE,
        "observed_ms": ("bigint", "how long it was heard of in the slice"),
        "cpu_ms": ("double", "CPU used, its shell process's too"),
        "cpu": ("double", "CPU in RAS points, 100 = one core"),
        "executed": ("bigint", "tuples taken in"),
        "emitted": ("bigint", "tuples given out"),
        "acked": ("bigint", "tuples acked"),
        "failed": ("bigint", "tuples failed"),
        "execute_ms": ("double", "mean execute latency, by tuples"),
        "process_ms": ("double", "mean process latency, by tuples"),
        "complete_ms": ("double", "mean complete latency (spouts), by acks"),
    },
    "executors": {
        **_TOPOLOGY,
        **_SLICE,
        "executor": ("string", "first and last task"),
        "component": ("string", "its component"),
        **_PLACE,
        "tasks": ("bigint", "its tasks"),
        "observed_ms": ("bigint", "how long it was heard of in the slice"),
        "cpu": ("double", "CPU in RAS points"),
        "executed_per_s": ("double", "tuples taken in, a second"),
        "emitted_per_s": ("double", "tuples given out, a second"),
    },
    "nodes": {
        **_SLICE,
        "node": ("string", "supervisor id"),
        "host": ("string", "host name, null if no task ran there"),
        "tasks": ("bigint", "tasks heard of there"),
        "task_cpu": ("double", "CPU of these tasks in RAS points"),
        "cores": ("int", "cores of the machine"),
        "mhz": ("double", "their clock"),
        "memory_mb": ("double", "memory of the machine"),
        "cpu_percent": ("double", "CPU use of the machine"),
        "memory_used_mb": ("double", "memory in use"),
        "rx_bytes_per_s": ("double", "received by the interfaces"),
        "tx_bytes_per_s": ("double", "sent by the interfaces"),
        "in_tuples_per_s": ("double", "tuples from other nodes"),
        "in_bytes_per_s": ("double", "their bytes"),
        "out_tuples_per_s": ("double", "tuples to other nodes"),
        "out_bytes_per_s": ("double", "their bytes"),
    },
    "traffic": {
        **_TOPOLOGY,
        **_SLICE,
        "tuples_per_s": ("double", "all tuples a second"),
        "bytes_per_s": ("double", "all bytes a second"),
        **_REACHES,
        "windows": ("bigint", "whole windows in the slice, null if none"),
        "workers": ("bigint", "worker processes heard of"),
        "edges_written": ("bigint", "edge lines that the windows announced"),
    },
}


def in_form(table: str, frame: DataFrame) -> DataFrame:
    """The frame with exactly the table's columns, in order and of their types."""
    from pyspark.sql import functions as F

    return frame.select(
        *[F.col(name).cast(kind).alias(name) for name, (kind, _) in GRAPH_TABLES[table].items()]
    )


def markdown() -> str:
    """The tables of docs/pipeline.md."""
    lines: list[str] = []
    for table, columns in GRAPH_TABLES.items():
        lines += [f"`{table}`", "", "| column | type | meaning |", "|---|---|---|"]
        lines += [f"| `{name}` | {kind} | {told} |" for name, (kind, told) in columns.items()]
        lines.append("")
    return "\n".join(lines)
