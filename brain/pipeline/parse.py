"""Blocks of metric log bytes → Arrow rows; bad lines are set aside, never the good ones by them.

The fast way hands a whole block to Arrow's JSON reader. It is taken only if it provably read one
object per line: every line opens with ``{``, closes with ``}`` and gave exactly one row, and no
required field is missing. Otherwise the block is read line by line, which says of each bad line
what is wrong with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pajson

from brain.pipeline.schema import COMMON_REQUIRED, KINDS, LINE, REQUIRED, ROW

BLOCK_BYTES = 4 << 20
RAW_LIMIT = 4096
"""Of a bad line at most so many characters are kept."""
MAX_LINE_BYTES = 8 << 20
"""A longer line is no line: it is cut here and set aside; garbage must not fill the memory."""

LAST_MS = 1 << 43
"""Year 2248: a time beyond it is a slip of units or of the disk."""

_NEWLINE, _OPEN, _CLOSE = 10, 123, 125
_INT_BOUNDS = {pa.int32(): 1 << 31, pa.int64(): 1 << 63}
_PARSE = pajson.ParseOptions(explicit_schema=LINE, unexpected_field_behavior="ignore")


@dataclass
class Bad:
    line: int
    offset: int
    error: str
    raw: str


@dataclass
class Block:
    """Rows of one block: ``good`` has the columns of LINE without ``v``."""

    good: pa.Table
    bad: list[Bad] = field(default_factory=list)
    lines: int = 0
    blank: int = 0


def whole_line_blocks(
    stream: BinaryIO, block_bytes: int = BLOCK_BYTES, final: bool = False
) -> Iterator[bytes]:
    """Cuts a stream into blocks that end with a newline.

    An unfinished last line is left out, or comes last if the file is ``final``.
    """
    rest = b""
    while chunk := stream.read(block_bytes):
        cut = chunk.rfind(b"\n") + 1
        if cut == 0:
            rest += chunk
            if len(rest) > MAX_LINE_BYTES:
                # Kept as one bad line without its newline; the reader counts its real length.
                yield rest
                rest = b""
            continue
        yield rest + chunk[:cut]
        rest = chunk[cut:]
    if final and rest:
        yield rest


def parse_block(data: bytes, first_line: int, first_offset: int) -> Block:
    """Parses whole lines. ``first_line`` counts from 1, ``first_offset`` from 0."""
    if not data.endswith(b"\n"):
        bad = Bad(first_line, first_offset, "half-written line", _shorten(data))
        return Block(LINE_NONE, [bad], lines=0)
    octets = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(octets == _NEWLINE)
    starts = np.concatenate(([0], ends[:-1] + 1))
    table = _parse_fast(data, octets, starts, ends)
    if table is not None:
        return Block(table, lines=len(ends))
    return _parse_slowly(data, starts, ends, first_line, first_offset)


def _parse_fast(
    data: bytes, octets: np.ndarray, starts: np.ndarray, ends: np.ndarray
) -> pa.Table | None:
    if not (octets[starts] == _OPEN).all() or not (octets[ends - 1] == _CLOSE).all():
        return None
    if not data.isascii() and not _is_utf8(data):
        return None
    try:
        table = pajson.read_json(
            pa.BufferReader(data),
            read_options=pajson.ReadOptions(use_threads=False, block_size=len(data) + 1),
            parse_options=_PARSE,
        )
    except pa.ArrowInvalid:
        return None
    if table.num_rows != len(ends) or not _complete(table):
        return None
    return table.select(LINE.names[1:])


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _complete(table: pa.Table) -> bool:
    """Whether every row has the fields that its kind requires, and a version that we know."""
    if any(table.column(name).null_count for name in ("v", *COMMON_REQUIRED)):
        return False
    if pc.any(pc.not_equal(table.column("v"), 1)).as_py():
        return False
    for name in ("start", "end"):
        bounds = pc.min_max(table.column(name)).as_py()
        if table.num_rows and not 0 <= bounds["min"] <= bounds["max"] <= LAST_MS:
            return False
    rows = 0
    kind = table.column("kind")
    for name in KINDS:
        of_kind = pc.equal(kind, name)
        count = pc.sum(of_kind).as_py() or 0
        rows += count
        if not count:
            continue
        for required in REQUIRED[name]:
            if pc.any(pc.and_(of_kind, pc.is_null(table.column(required)))).as_py():
                return False
    return bool(rows == table.num_rows)


def _parse_slowly(
    data: bytes, starts: np.ndarray, ends: np.ndarray, first_line: int, first_offset: int
) -> Block:
    block = Block(LINE_NONE, lines=len(ends))
    good: list[dict[str, Any]] = []
    for i, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        text = data[start:end]
        if not text.strip():
            block.blank += 1
            continue
        try:
            good.append(_checked(text))
        except (ValueError, OverflowError, RecursionError) as e:
            error = "not UTF-8" if isinstance(e, UnicodeDecodeError) else str(e)
            block.bad.append(Bad(first_line + i, first_offset + start, error, _shorten(text)))
    block.good = pa.Table.from_pylist(good, schema=LINE).select(LINE.names[1:])
    return block


def _shorten(text: bytes) -> str:
    return text[:RAW_LIMIT].decode(errors="replace")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _checked(text: bytes) -> dict[str, Any]:
    """The line as a row of LINE; ValueError says what is wrong with it."""
    value = json.loads(text.decode(), parse_constant=_refuse_constant)
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    if value.get("v") != 1:
        raise ValueError(f"schema version {value.get('v')!r} is not 1")
    kind = value.get("kind")
    if kind not in KINDS:
        raise ValueError(f"unknown kind {kind!r}")
    for name in (*COMMON_REQUIRED, *REQUIRED[kind]):
        if value.get(name) is None:
            raise ValueError(f"{kind} line without {name!r}")
    for name in ("start", "end"):
        if isinstance(value[name], int) and not 0 <= value[name] <= LAST_MS:
            raise ValueError(f"{name!r} is {value[name]}, which is no time in ms since 1970")
    return {f.name: _typed(f, value[f.name]) for f in LINE if value.get(f.name) is not None}


def _typed(column: pa.Field, value: Any) -> Any:
    if column.type == pa.string():
        fits = isinstance(value, str)
    elif column.type == pa.bool_():
        fits = isinstance(value, bool)
    elif column.type == pa.float64():
        fits = isinstance(value, (int, float)) and not isinstance(value, bool)
        value = float(value) if fits else value
    else:
        bound = _INT_BOUNDS[column.type]
        fits = isinstance(value, int) and not isinstance(value, bool) and -bound <= value < bound
    if not fits:
        raise ValueError(f"{column.name!r} is {value!r}, not {column.type}")
    return value


LINE_NONE: pa.Table = LINE.empty_table().select(LINE.names[1:])


def as_rows(table: pa.Table) -> pa.Table:
    """Fills the columns of ROW that a table lacks with nulls."""
    n = table.num_rows
    have = set(table.column_names)
    return pa.table(
        [table.column(f.name) if f.name in have else pa.nulls(n, f.type) for f in ROW], schema=ROW
    )
