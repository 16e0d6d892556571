"""The columns of a metric log line (docs/metric-log.md), once for Arrow and once for Spark.

All kinds share one wide row: a log is read in one pass and written in one job, and a Parquet
column that is null throughout costs next to nothing.
"""

from __future__ import annotations

import pyarrow as pa

KINDS = ("edge", "task", "window", "node")

_COMMON: dict[str, str] = {
    "kind": "string",
    "topology": "string",
    "node": "string",
    "worker": "string",
    "seq": "long",
    "start": "long",
    "end": "long",
}
_BY_KIND: dict[str, dict[str, str]] = {
    "edge": {
        "source": "int",
        "target": "int",
        "tuples": "long",
        "bytes": "long",
        "system": "boolean",
    },
    "task": {
        "task": "int",
        "component": "string",
        "executor": "string",
        "cpu_ms": "double",
        "shell_cpu_ms": "double",
        "executed": "long",
        "emitted": "long",
        "acked": "long",
        "failed": "long",
        "execute_ms": "double",
        "process_ms": "double",
        "complete_ms": "double",
        "queue_percent": "double",
        "queue_overflow": "long",
    },
    "window": {
        "host": "string",
        "port": "int",
        "edges": "int",
        "tasks": "int",
        "dropped_reports": "long",
        "dropped_lines": "long",
        "heap_mb": "double",
    },
    "node": {
        "cores": "int",
        "mhz": "double",
        "cpu_percent": "double",
        "memory_mb": "double",
        "memory_used_mb": "double",
        "rx_bytes": "long",
        "tx_bytes": "long",
        "machine": "string",
    },
}
REQUIRED: dict[str, tuple[str, ...]] = {
    "edge": ("source", "target", "tuples", "bytes"),
    "task": ("task", "component", "executor"),
    "window": ("host", "port"),
    "node": ("cores",),
}
"""What a line of a kind cannot do without, beyond the common fields."""

CORRUPT: dict[str, str] = {"file": "string", "line": "long", "offset": "long", "error": "string"}
"""Where a bad line stood and what was wrong with it; its text is in ``raw``."""

SOURCE: dict[str, str] = {
    "good": "long",
    "corrupt": "long",
    "blank": "long",
    "ahead_ms": "long",
    "back_steps": "long",
    "last_end": "long",
}
"""What one run took from one file; ``offset`` and ``line`` are where the next run goes on."""

_ARROW = {
    "string": pa.string(),
    "long": pa.int64(),
    "int": pa.int32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
}


def _arrow(columns: dict[str, str]) -> pa.Schema:
    return pa.schema([pa.field(name, _ARROW[kind]) for name, kind in columns.items()])


def columns_of(kind: str) -> dict[str, str]:
    """The columns of a stored kind without ``kind``, ``topology`` and ``day``, its partitions."""
    if kind == "corrupt":
        return {**CORRUPT, "raw": "string"}
    if kind == "source":
        return {**CORRUPT, **SOURCE}
    common = {k: v for k, v in _COMMON.items() if k not in ("kind", "topology")}
    return {**common, **_BY_KIND[kind]}


LINE_COLUMNS: dict[str, str] = dict(_COMMON)
for _fields in _BY_KIND.values():
    LINE_COLUMNS.update(_fields)

LINE = _arrow({"v": "int", **LINE_COLUMNS})
"""A line as it is in the log."""

ROW_COLUMNS: dict[str, str] = {**LINE_COLUMNS, **CORRUPT, "raw": "string", **SOURCE}
ROW = _arrow(ROW_COLUMNS)
"""What the reading tasks hand to Spark: lines of all kinds, bad lines, and one row per file."""

COMMON_REQUIRED = tuple(_COMMON)


def ddl(columns: dict[str, str]) -> str:
    return ", ".join(f"`{name}` {kind}" for name, kind in columns.items())
