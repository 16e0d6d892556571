"""Job 1: metric logs → Parquet by topology and day, each line exactly once.

The driver lists the log files, and the ledger says how far each has been read; the tasks read only
what came since. See :mod:`brain.pipeline.ledger` for the commit and :mod:`brain.pipeline.parse` for
what becomes of corrupt lines.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from brain.errors import BadInput, StormbrainError
from brain.pipeline.hadoop import FileInfo, HadoopFiles, local_path
from brain.pipeline.ledger import Ledger, SourceState
from brain.pipeline.read import Piece, read_contents, read_local, write_local
from brain.pipeline.schema import ROW_COLUMNS, ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TASK_BYTES = 64 << 20
"""A reading task takes about so many bytes."""
GZ_RATIO = 12
"""Metric logs compress about so well; only used to share the work out evenly."""
WHOLE_FILE_LIMIT = 1 << 30
"""On remote stores a file is read whole into a task's memory; the hook rolls at 64 MB."""
SKEW_NOTED_MS = 2000


@dataclass(frozen=True)
class IngestReport:
    """What one run added, and what it noticed."""

    batch: int | None
    files_seen: int
    files_read: int
    lines: int
    corrupt: int
    blank: int
    shrunk: tuple[str, ...]
    """Files that are shorter than what was read of them before: they were rewritten."""
    damaged: tuple[str, ...]
    """Files that could not be read to their end, with what the reader said: compressed ones that
    end in the middle, those rolled away since they were listed, those we may not read."""
    ahead: tuple[tuple[str, int], ...]
    """Files whose windows end after the file was last written: the node's clock is ahead (ms)."""
    back_steps: int
    waiting_bytes: int
    """Bytes after the last newline of plain files: half-written lines that wait for their rest."""


def ingest(
    spark: SparkSession,
    logs: Sequence[str],
    store: str,
    *,
    before_commit: Callable[[], None] | None = None,
    whole_files: bool = False,
    spark_writes: bool = False,
) -> IngestReport:
    """Adds what is new under ``logs`` to the store.

    ``whole_files`` reads local files as remote ones are read, through Spark's binaryFile source;
    ``spark_writes`` writes to a local store as to a remote one, by Spark. Else tasks that find logs
    and store on a file system write themselves, several times as fast.
    ``before_commit`` is called between the writing of the data and the commit.
    """
    files = HadoopFiles(spark)
    store = files.resolve(store)
    found = _find(files, logs, store)
    ledger = Ledger(files, store)
    ledger.roll_forward()
    ledger.discard_uncommitted()
    pieces, lengths, shrunk = _plan(found, ledger)
    if not pieces:
        return IngestReport(None, len(found), 0, 0, 0, 0, tuple(shrunk), (), (), 0, 0)

    batch = ledger.batch + 1
    staging = ledger.staging(batch)
    try:
        local = not whole_files and all(p.path.startswith("file:") for p in pieces)
        parts: list[str] | None = None
        if local and not spark_writes and staging.startswith("file:"):
            reached = _let_write(spark, pieces, lengths, staging)
            parts = sorted({str(r["raw"]) for r in reached.values()})
        else:
            _write(_rows(spark, pieces, lengths, local), staging)
            reached = _reached(spark, staging)
        if before_commit:
            before_commit()
        return _commit(ledger, batch, staging, parts, pieces, lengths, reached, found, shrunk)
    except BaseException:
        if ledger.batch < batch:
            files.delete(staging)
        raise


def file_key(path: str) -> str:
    """A log's identity: its path, which stays the same when the file is compressed."""
    return path.removesuffix(".gz")


def _find(files: HadoopFiles, logs: Iterable[str], store: str) -> dict[str, FileInfo]:
    """The log files by key; where a log is there both plain and compressed, the plain one."""
    found: dict[str, FileInfo] = {}
    for root in logs:
        if files.resolve(root) == store:
            raise BadInput(root, "is both where the logs are and the store to write to")
        for file in files.walk(root):
            if not file.name.endswith((".jsonl", ".jsonl.gz")) or file.path.startswith(store + "/"):
                continue
            key = file_key(file.path)
            if key not in found or found[key].path.endswith(".gz"):
                found[key] = file
    if not found:
        raise BadInput(
            ", ".join(logs),
            "there are no metric logs (*.jsonl or *.jsonl.gz) here",
            "give the directory that topology.brain.metrics.dir names",
        )
    return found


def _plan(
    found: dict[str, FileInfo], ledger: Ledger
) -> tuple[list[Piece], dict[str, int], list[str]]:
    pieces: list[Piece] = []
    lengths: dict[str, int] = {}
    shrunk: list[str] = []
    for key, file in sorted(found.items()):
        state = ledger.sources.get(key, SourceState())
        if state.done:
            continue
        gz = file.path.endswith(".gz")
        if not gz and file.length < state.offset:
            shrunk.append(key)
            continue
        if not gz and file.length == state.offset:
            continue
        pieces.append(
            Piece(
                file.path,
                key,
                file.parent,
                state.offset,
                state.lines,
                file.modified_ms,
                state.last_end,
                next_number(key) in found,
            )
        )
        lengths[key] = file.length * GZ_RATIO if gz else file.length - state.offset
    return pieces, lengths, shrunk


def next_number(key: str) -> str:
    """The key of the file that follows this one when the log is rolled."""
    match = re.search(r"-(\d{4,})\.jsonl$", key)
    if match is None:
        return ""
    return f"{key[: match.start()]}-{int(match.group(1)) + 1:04d}.jsonl"


def _groups(spark: SparkSession, pieces: list[Piece], lengths: dict[str, int]) -> list[list[Piece]]:
    local = [_localised(p) for p in pieces]
    return _share_out(local, lengths, spark.sparkContext.defaultParallelism)


def _let_write(
    spark: SparkSession, pieces: list[Piece], lengths: dict[str, int], staging: str
) -> dict[str, dict[str, object]]:
    """The tasks write the lines. How far each file was read, and in which part (``raw``) it is."""
    groups = _groups(spark, pieces, lengths)
    numbers = spark.range(0, len(groups), 1, len(groups))
    written = numbers.mapInArrow(write_local(groups, local_path(staging)), ddl(ROW_COLUMNS))
    return {row["file"]: row for row in written.toArrow().to_pylist()}


def _rows(
    spark: SparkSession, pieces: list[Piece], lengths: dict[str, int], local: bool
) -> DataFrame:
    if local:
        groups = _groups(spark, pieces, lengths)
        numbers = spark.range(0, len(groups), 1, len(groups))
        return numbers.mapInArrow(read_local(groups), ddl(ROW_COLUMNS))
    for p in pieces:
        if lengths[p.key] > WHOLE_FILE_LIMIT * (GZ_RATIO if p.gz else 1):
            raise StormbrainError(
                f"{p.path} is larger than {WHOLE_FILE_LIMIT >> 20} MB, too large to be read whole",
                "set topology.brain.metrics.roll.mb to 64, or ingest from a local copy",
            )
    spark.conf.set("spark.sql.files.maxPartitionBytes", str(TASK_BYTES))
    contents = (
        spark.read.format("binaryFile").load([p.path for p in pieces]).select("path", "content")
    )
    return contents.mapInArrow(read_contents(pieces), ddl(ROW_COLUMNS))


def _localised(piece: Piece) -> Piece:
    return Piece(**{**piece.__dict__, "path": local_path(piece.path)})


def _share_out(pieces: list[Piece], lengths: dict[str, int], parallelism: int) -> list[list[Piece]]:
    """Groups of about equal bytes, the largest pieces first; a file is never cut in two."""
    total = sum(lengths[p.key] for p in pieces)
    count = max(1, min(len(pieces), max(parallelism, -(-total // TASK_BYTES))))
    heap = [(0, i) for i in range(count)]
    groups: list[list[Piece]] = [[] for _ in range(count)]
    for piece in sorted(pieces, key=lambda p: (-lengths[p.key], p.key)):
        size, i = heapq.heappop(heap)
        groups[i].append(piece)
        heapq.heappush(heap, (size + lengths[piece.key], i))
    return groups


def _write(rows: DataFrame, staging: str) -> None:
    from pyspark.sql import functions as F

    day = F.expr("date_from_unix_date(cast(start div 86400000 as int))")
    (
        rows.withColumn("day", day)
        .write.partitionBy("kind", "topology", "day")
        .option("compression", "snappy")
        .parquet(staging)
    )


def _reached(spark: SparkSession, staging: str) -> dict[str, dict[str, object]]:
    """How far each file was read, from the rows that the tasks wrote beside the data: what was
    written and what is committed as read can therefore not disagree."""
    table = spark.read.parquet(f"{staging}/kind=source").toArrow()
    return {row["file"]: row for row in table.to_pylist()}


def _commit(
    ledger: Ledger,
    batch: int,
    staging: str,
    parts: list[str] | None,
    pieces: list[Piece],
    lengths: dict[str, int],
    reached: dict[str, dict[str, object]],
    found: dict[str, FileInfo],
    shrunk: list[str],
) -> IngestReport:
    changed: dict[str, SourceState] = {}
    ahead: list[tuple[str, int]] = []
    damaged: list[str] = []
    lines = corrupt = blank = steps = waiting = 0
    for piece in pieces:
        got = {k: int(str(v)) for k, v in reached[piece.key].items() if k in _COUNTS}
        before = ledger.sources.get(piece.key, SourceState())
        error = reached[piece.key]["error"]
        state = SourceState(
            offset=got["offset"],
            lines=got["line"],
            corrupt=before.corrupt + got["corrupt"],
            blank=before.blank + got["blank"],
            ahead_ms=max(before.ahead_ms, got["ahead_ms"]),
            back_steps=before.back_steps + got["back_steps"],
            last_end=got["last_end"],
            done=piece.gz and error is None,
        )
        if state != before:
            changed[piece.key] = state
        lines, corrupt, blank = (
            lines + got["good"],
            corrupt + got["corrupt"],
            blank + got["blank"],
        )
        steps += got["back_steps"]
        if got["ahead_ms"] > SKEW_NOTED_MS:
            ahead.append((piece.key, got["ahead_ms"]))
        if error is not None:
            damaged.append(f"{piece.key}.gz: {error}" if piece.gz else f"{piece.key}: {error}")
        if not piece.gz:
            waiting += max(0, lengths[piece.key] - (got["offset"] - piece.offset))
    if changed:
        ledger.commit(batch, staging, changed, parts)
    else:
        ledger.discard_uncommitted()
    return IngestReport(
        batch if changed else None,
        len(found),
        len(pieces),
        lines,
        corrupt,
        blank,
        tuple(shrunk),
        tuple(damaged),
        tuple(ahead),
        steps,
        waiting,
    )


_COUNTS = frozenset(
    {"offset", "line", "good", "corrupt", "blank", "ahead_ms", "back_steps", "last_end"}
)
