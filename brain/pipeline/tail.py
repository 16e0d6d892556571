"""The log directory as a streaming source: files grow, and each batch takes what came since.

Spark's own file source reads a file once and never again, so it cannot follow a log that grows.
This source's offset is the byte reached in each file. An end is put after the last ``window`` line,
so that a batch holds whole windows; in a file that has been rolled it is after the last line.

It runs in Python processes without Hadoop's classes: paths are opened by Arrow (local, ``hdfs://``,
``s3://``, ``gs://``, ``abfs://``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from brain.errors import BadInput
from brain.pipeline.ingest import next_number
from brain.pipeline.parse import parse_block, whole_line_blocks
from brain.pipeline.schema import LINE_COLUMNS, ROW, ddl

SOURCE_NAME = "stormbrain-metric-log"
TAIL_BYTES = 1 << 20
"""A window's lines are looked for in so many bytes at the end of a file."""
PARTITIONS = 4

STREAM_COLUMNS = {
    **LINE_COLUMNS,
    "file": "string",
    "line": "long",
    "offset": "long",
    "error": "string",
    "appended_ms": "long",
}
_STREAM = pa.schema(
    [f for f in ROW if f.name in STREAM_COLUMNS] + [pa.field("appended_ms", pa.int64())]
)


def open_root(path: str) -> tuple[pafs.FileSystem, str]:
    """The file system of a log directory, and the directory within it."""
    try:
        if "://" in path or path.startswith("file:"):
            fs, root = pafs.FileSystem.from_uri(re.sub("^s3a:", "s3:", path))
        else:
            fs, root = pafs.LocalFileSystem(), path
        kind = fs.get_file_info(root).type
    except (pa.ArrowInvalid, OSError) as e:
        raise BadInput(path, f"cannot be followed: {e}") from e
    if kind != pafs.FileType.Directory:
        raise BadInput(path, "there is no such directory")
    return fs, root


@dataclass
class _Range(InputPartition):  # type: ignore[misc]
    """Parts of files for one task: (path, from, to, last modification in ms)."""

    root: str
    pieces: tuple[tuple[str, int, int, int], ...]


class MetricLogSource(DataSource):  # type: ignore[misc]
    """``spark.readStream.format("stormbrain-metric-log").option("path", …)``.

    Option ``from``: ``latest`` (default) skips what is there at the first start, ``earliest``
    reads it. A restart goes on where the checkpoint is.
    """

    @classmethod
    def name(cls) -> str:
        return SOURCE_NAME

    def schema(self) -> str:
        return ddl({f.name: STREAM_COLUMNS[f.name] for f in _STREAM})

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return _Reader(self.options["path"], self.options.get("from", "latest"))


class _Reader(DataSourceStreamReader):  # type: ignore[misc]
    def __init__(self, path: str, begin: str) -> None:
        self.path = path
        self.begin = begin
        self._known: dict[str, tuple[int, int]] = {}

    def initialOffset(self) -> dict[str, int]:
        return self._ends({}) if self.begin == "latest" else {"": 0}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:
        return self._ends(start)

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        fs, _ = open_root(self.path)
        pieces = []
        for file, to in sorted(end.items()):
            since = start.get(file, 0)
            if file and to > since:
                info = fs.get_file_info(file)
                if info.type == pafs.FileType.File:
                    pieces.append((file, since, to, info.mtime_ns // 1_000_000))
        shares = [tuple(pieces[i::PARTITIONS]) for i in range(PARTITIONS)]
        return [_Range(self.path, share) for share in shares if share]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _Range)
        fs, _ = open_root(partition.root)
        for file, since, to, modified in partition.pieces:
            with fs.open_input_file(file) as f:
                data = f.read_at(to - since, since)
            offset = since
            for block in whole_line_blocks(pa.BufferReader(data)):
                yield from _batches(file, block, offset, modified)
                offset += len(block)

    def _ends(self, start: dict[str, int]) -> dict[str, int]:
        """How far each file may be read now. Spark wants an offset that is never empty."""
        fs, root = open_root(self.path)
        files = {
            f.path: f
            for f in fs.get_file_info(pafs.FileSelector(root, recursive=True))
            if f.type == pafs.FileType.File and f.base_name.endswith(".jsonl")
        }
        ends = {"": 0}
        for path, info in files.items():
            since = start.get(path, 0)
            known = self._known.get(path)
            if known is not None and known[0] == info.size and known[1] >= since:
                ends[path] = known[1]
                continue
            rolled = next_number(path) in files
            ends[path] = max(since, _whole_end(fs, path, since, info.size, rolled))
            self._known[path] = (info.size, ends[path])
        return ends


def _whole_end(fs: pafs.FileSystem, path: str, since: int, size: int, rolled: bool) -> int:
    """The end of the last window in [since, size), or of the last line if it cannot be found."""
    if size <= since:
        return since
    begin = max(since, size - TAIL_BYTES)
    with fs.open_input_file(path) as f:
        tail = bytes(f.read_at(size - begin, begin))
    last_line = tail.rfind(b"\n") + 1
    if last_line == 0:
        return since
    if rolled:
        return begin + last_line
    end = last_line
    while end > 0:
        line_start = tail.rfind(b"\n", 0, end - 1) + 1
        if b'"window"' in tail[line_start:end] and _is_window(tail[line_start:end]):
            return begin + end
        end = line_start
    return begin + last_line if begin > since else since


def _is_window(line: bytes) -> bool:
    try:
        return bool(json.loads(line).get("kind") == "window")
    except (ValueError, AttributeError):
        return False


def _batches(file: str, data: bytes, offset: int, modified: int) -> Iterator[pa.RecordBatch]:
    block = parse_block(data, 1, offset)
    bad = [{"kind": "corrupt", "offset": b.offset, "error": b.error} for b in block.bad]
    for table in (block.good, pa.Table.from_pylist(bad, schema=ROW)):
        if table.num_rows:
            yield from _stream_rows(table, file, modified).to_batches()


def _stream_rows(table: pa.Table, file: str, modified: int) -> pa.Table:
    n = table.num_rows
    have = set(table.column_names)
    columns = []
    for f in _STREAM:
        if f.name == "file":
            columns.append(pa.array([file] * n, pa.string()))
        elif f.name == "appended_ms":
            columns.append(pa.array([modified] * n, pa.int64()))
        elif f.name in have:
            columns.append(table.column(f.name))
        else:
            columns.append(pa.nulls(n, f.type))
    return pa.table(columns, schema=_STREAM)
