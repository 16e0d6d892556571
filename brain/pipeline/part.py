"""Parquet files by kind, topology and day, as Spark would lay them out, from Arrow tables. Runs on
executors."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from brain.pipeline.schema import columns_of

DAY_MS = 86_400_000
HELD_BYTES = 96 << 20
"""So much is held back before it is written: files are then of some size, and memory is bounded."""
ROW_GROUP = 1 << 18
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_ESCAPED = frozenset("\"#%'*/:=?\\{[]^\x7f") | {chr(c) for c in range(1, 32)}

Key = tuple[str, str, int]
"""Kind, topology, day since 1970."""


class Part:
    """What one attempt of one task writes, in a directory of its own."""

    def __init__(self, staging: Path, name: str) -> None:
        self.name = name
        self._directory = staging / name
        self._held: dict[Key, list[pa.Table]] = {}
        self._bytes = 0
        self._files = 0

    def add(self, table: pa.Table) -> None:
        for kind, of_kind in _split(table, "kind"):
            columns = list(columns_of(kind))
            for topology, own in _split(of_kind, "topology"):
                days = pc.divide(own.column("start"), DAY_MS)
                for day in pc.unique(days).to_pylist():
                    rows = own.filter(pc.equal(days, day)).select(columns)
                    self._held.setdefault((kind, topology, day), []).append(rows)
                    self._bytes += rows.nbytes
        if self._bytes > HELD_BYTES:
            self.flush()

    def flush(self) -> None:
        for key, tables in self._held.items():
            directory = self._directory / partition(*key)
            directory.mkdir(parents=True, exist_ok=True)
            path = directory / f"part-{self._files:05d}-{self.name}.snappy.parquet"
            pq.write_table(
                pa.concat_tables(tables), path, compression="snappy", row_group_size=ROW_GROUP
            )
            self._files += 1
        self._held, self._bytes = {}, 0


def _split(table: pa.Table, column: str) -> list[tuple[str, pa.Table]]:
    values = pc.unique(table.column(column)).to_pylist()
    if len(values) == 1:
        return [(values[0], table)]
    return [(v, table.filter(pc.equal(table.column(column), v))) for v in values]


def partition(kind: str, topology: str, day: int) -> str:
    """The directory of a partition, named as Spark and Hive name it."""
    date = datetime.fromtimestamp(day * DAY_MS / 1000, UTC).strftime("%Y-%m-%d")
    return f"kind={kind}/topology={escaped(topology)}/day={date}"


def escaped(value: str) -> str:
    if not value:
        return NO_VALUE
    return "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in value)
