"""What a reading task does: its share of the log files in, Arrow rows out. Runs on executors."""

from __future__ import annotations

import gzip
import io
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from brain.pipeline.parse import BLOCK_BYTES, Block, as_rows, parse_block, whole_line_blocks
from brain.pipeline.part import Part
from brain.pipeline.schema import ROW

CLOCK_STEP_MS = 500
"""A window that starts so much before the last one ended: the clock was set back."""


@dataclass(frozen=True)
class Piece:
    """The part of a log file that has not been read yet: from ``offset`` to its last newline."""

    path: str
    key: str
    topology: str
    offset: int
    line: int
    modified_ms: int
    last_end: int
    rolled: bool = False
    """The next file has begun: nothing more will come, not even the end of a half-written line."""

    @property
    def gz(self) -> bool:
        return self.path.endswith(".gz")


def read_local(groups: Sequence[Sequence[Piece]]) -> Callable[..., Iterator[pa.RecordBatch]]:
    """A ``mapInArrow`` function over group numbers; files are opened and sought by path."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for group in batch.column(0).to_pylist():
                for piece in groups[group]:
                    for table in open_piece(piece):
                        yield from as_rows(table).to_batches()

    return run


def write_local(
    groups: Sequence[Sequence[Piece]], staging: str
) -> Callable[..., Iterator[pa.RecordBatch]]:
    """As ``read_local``, but the lines are written to Parquet on the spot, column by column, which
    spares them the way through Spark's rows: only what says how far each file was read comes back.

    What an attempt wrote lies in a directory of its own under ``staging``. Its name is in the
    rows; so what a failed or repeated attempt wrote is known by not being named.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for group in batch.column(0).to_pylist():
                part = Part(Path(staging), f"{group:05d}-{uuid.uuid4().hex}")
                reached = []
                for piece in groups[group]:
                    for table in open_piece(piece):
                        if table.column("kind")[0].as_py() == "source":
                            reached.append(_named(table, part.name))
                        else:
                            part.add(table)
                part.flush()
                for table in reached:
                    yield from as_rows(table).to_batches()

    return run


def _named(source: pa.Table, part: str) -> pa.Table:
    at = source.schema.get_field_index("raw")
    return source.set_column(at, ROW.field("raw"), pa.array([part] * source.num_rows))


def open_piece(piece: Piece) -> Iterator[pa.Table]:
    try:
        f = open(piece.path, "rb")  # noqa: SIM115 closed below
    except OSError as e:
        # Rolled away since it was listed, or not ours to read: the others go on.
        yield _reached(piece, f"{type(e).__name__}: {e.strerror}")
        return
    with f:
        yield from read_piece(piece, f)


def read_contents(pieces: Sequence[Piece]) -> Callable[..., Iterator[pa.RecordBatch]]:
    """A ``mapInArrow`` function over (path, content), as Spark's binaryFile source gives them."""
    by_path = {p.path: p for p in pieces}

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for path, content in zip(batch.column(0), batch.column(1), strict=True):
                piece = by_path[path.as_py()]
                for table in read_piece(piece, io.BytesIO(content.as_buffer())):
                    yield from as_rows(table).to_batches()

    return run


def read_piece(piece: Piece, raw: BinaryIO) -> Iterator[pa.Table]:
    """The rows of one file from its offset on, and last the row that says how far it got.

    Tables of lines have the columns of LINE, all others those of ROW; none is empty.
    """
    stream: BinaryIO = gzip.GzipFile(fileobj=raw) if piece.gz else raw  # type: ignore[assignment]
    offset, line = piece.offset, piece.line
    good = corrupt = blank = ahead = steps = 0
    last_end = piece.last_end
    failure = ""
    try:
        _skip(stream, piece.offset, piece.gz)
        for data in whole_line_blocks(stream, final=piece.rolled or piece.gz):
            block = parse_block(data, line + 1, offset)
            offset, line = offset + len(data), line + block.lines
            good, corrupt = good + block.good.num_rows, corrupt + len(block.bad)
            blank += block.blank
            stepped, last_end = _clock_steps(block.good, last_end)
            steps += stepped
            if block.good.num_rows:
                yield block.good
            if block.bad:
                yield _bad_rows(piece, block)
    except (EOFError, gzip.BadGzipFile, OSError) as e:
        # A compressed file that is cut short: what could be read is kept, the rest waits.
        failure = f"{type(e).__name__}: {e}"
    ahead = max(0, last_end - piece.modified_ms)
    yield _row(
        piece,
        offset=offset,
        line=line,
        error=failure or None,
        good=good,
        corrupt=corrupt,
        blank=blank,
        ahead_ms=ahead,
        back_steps=steps,
        last_end=last_end,
    )


def _skip(stream: BinaryIO, count: int, gz: bool) -> None:
    if not gz:
        stream.seek(count)
        return
    while count > 0 and (chunk := stream.read(min(count, BLOCK_BYTES))):
        count -= len(chunk)


def _clock_steps(rows: pa.Table, last_end: int) -> tuple[int, int]:
    """How often a window began well before the one before it in this file had ended."""
    windows = rows.filter(pc.equal(rows.column("kind"), "window"))
    steps = 0
    starts, ends = windows.column("start").to_pylist(), windows.column("end").to_pylist()
    for start, end in zip(starts, ends, strict=True):
        if start < last_end - CLOCK_STEP_MS or end < start:
            steps += 1
        last_end = end
    return steps, last_end


def _bad_rows(piece: Piece, block: Block) -> pa.Table:
    rows = [
        {
            "kind": "corrupt",
            "topology": piece.topology,
            "start": piece.modified_ms,
            "file": piece.key,
            "line": b.line,
            "offset": b.offset,
            "error": b.error,
            "raw": b.raw,
        }
        for b in block.bad
    ]
    return pa.Table.from_pylist(rows, schema=ROW)


def _reached(piece: Piece, error: str) -> pa.Table:
    """A file of which nothing new was read."""
    nothing = dict.fromkeys(("good", "corrupt", "blank", "ahead_ms", "back_steps"), 0)
    return _row(
        piece,
        offset=piece.offset,
        line=piece.line,
        error=error,
        last_end=piece.last_end,
        **nothing,
    )


def _row(piece: Piece, **values: object) -> pa.Table:
    row = {
        "kind": "source",
        "topology": piece.topology,
        "start": piece.modified_ms,
        "file": piece.key,
        **values,
    }
    return pa.Table.from_pylist([row], schema=ROW)
