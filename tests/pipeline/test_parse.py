"""The fast way and the slow way read the same rows, and nothing good is ever lost."""

from __future__ import annotations

import io
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain.pipeline.parse import parse_block, whole_line_blocks

EDGE = {
    "v": 1,
    "kind": "edge",
    "topology": "t-1-1",
    "node": "n",
    "worker": "6700-a",
    "seq": 0,
    "start": 1000,
    "end": 2000,
    "source": 1,
    "target": 2,
    "tuples": 3,
    "bytes": 4,
}
NODE = {**{k: EDGE[k] for k in ("v", "topology", "node", "worker", "seq", "start", "end")}}
NODE |= {"kind": "node", "cores": 4, "cpu_percent": 12, "topology": ""}


def line(**changes: object) -> bytes:
    document = {k: v for k, v in {**EDGE, **changes}.items() if v is not ...}
    return json.dumps(document).encode() + b"\n"


def test_rows_come_out_as_they_were_written() -> None:
    text = line() + json.dumps(NODE).encode() + b"\n" + line(system=True, further={"a": [1]})
    block = parse_block(text, 1, 0)
    assert block.bad == []
    rows = block.good.to_pylist()
    assert [r["kind"] for r in rows] == ["edge", "node", "edge"]
    assert rows[0]["system"] is None
    assert rows[2]["system"] is True
    assert rows[1]["cpu_percent"] == 12.0


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b"\n", None),
        (b"{\n", "Expecting property name"),
        (b"[]\n", "not a JSON object"),
        (line()[:40] + b"\n", "Unterminated|Expecting"),
        (line()[:-1] + line(), "Extra data"),
        (line(v=2), "schema version 2 is not 1"),
        (line(kind="edges"), "unknown kind 'edges'"),
        (line(source=...), "edge line without 'source'"),
        (line(topology=None), "edge line without 'topology'"),
        (line(tuples="3"), "'tuples' is '3', not int64"),
        (line(tuples=1.5), "'tuples' is 1.5, not int64"),
        (line(tuples=True), "'tuples' is True"),
        (line(tuples=1 << 63), "'tuples' is 9223372036854775808"),
        (line(source=1 << 31), "'source' is 2147483648, not int32"),
        (line(start=-5), "no time in ms"),
        (line(end=1 << 44), "no time in ms"),
        (line().replace(b'"n"', b'"\xff"'), "not UTF-8"),
        (line().replace(b"3", b"NaN"), "NaN is not JSON"),
    ],
)
def test_a_bad_line_is_told_apart_from_its_neighbours(bad: bytes, why: str | None) -> None:
    before = line(seq=1)
    block = parse_block(before + bad + line(seq=2), 11, 700)
    assert [r["seq"] for r in block.good.to_pylist()] == [1, 2]
    if why is None:
        assert (block.bad, block.blank) == ([], 1)
        return
    (found,) = block.bad
    assert (found.line, found.offset) == (12, 700 + len(before))
    assert re.search(why, found.error)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.one_of(st.integers(0, 10**6), st.binary(max_size=12)), max_size=30),
    st.integers(1, 400),
)
def test_good_lines_survive_any_garbage_and_any_block_size(
    parts: list[int | bytes], block_bytes: int
) -> None:
    pieces = [line(seq=p) if isinstance(p, int) else p.replace(b"\n", b"") + b"\n" for p in parts]
    text = b"".join(pieces)
    seqs: list[int] = []
    bad = blank = lines = offset = 0
    for block in whole_line_blocks(io.BytesIO(text), block_bytes):
        parsed = parse_block(block, lines + 1, offset)
        seqs += [r["seq"] for r in parsed.good.to_pylist()]
        bad, blank = bad + len(parsed.bad), blank + parsed.blank
        lines, offset = lines + parsed.lines, offset + len(block)
    assert seqs == [p for p in parts if isinstance(p, int)]
    assert (lines, offset) == (len(parts), len(text))
    assert bad + blank == len([p for p in parts if isinstance(p, bytes)])


def test_an_unfinished_line_is_left_for_later() -> None:
    text = line() + line()[:30]
    assert list(whole_line_blocks(io.BytesIO(text))) == [line()]


def test_an_endless_line_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("brain.pipeline.parse.MAX_LINE_BYTES", 1000)
    text = b"x" * 5000 + b"\n" + line(seq=7)
    seqs, bad, offset = [], 0, 0
    for block in whole_line_blocks(io.BytesIO(text), 300):
        assert len(block) < 1700
        parsed = parse_block(block, 1, offset)
        seqs += [r["seq"] for r in parsed.good.to_pylist()]
        bad, offset = bad + len(parsed.bad), offset + len(block)
    assert (seqs, offset) == ([7], len(text))
    assert bad >= 1
