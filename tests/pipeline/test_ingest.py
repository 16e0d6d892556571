"""What ingest promises: every good line exactly once, every bad one kept aside."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from brain.errors import BadInput
from brain.pipeline.generate import Cluster, Shape, spoil, word_count, write_logs
from brain.pipeline.ingest import ingest
from brain.pipeline.parse import parse_block
from brain.pipeline.part import Part, escaped
from brain.pipeline.read import write_local
from brain.pipeline.schema import KINDS, columns_of
from brain.pipeline.store import Selection, Store
from tests.pipeline.recompute import connect, rows

SMALL = Shape(windows=6)


def stored(spark: SparkSession, store: Path, kind: str) -> list[tuple[object, ...]]:
    columns = ["topology", *columns_of(kind)]
    frame = Store(spark, str(store)).lines(kind).select(*columns)
    return sorted((tuple(r) for r in frame.collect()), key=repr)


def logged(logs: Path, kind: str) -> list[tuple[object, ...]]:
    quoted = ", ".join(f'"{c}"' for c in ["topology", *columns_of(kind)])
    return rows(connect(logs), f"SELECT {quoted} FROM log WHERE kind = '{kind}'")


def total(spark: SparkSession, store: Path) -> int:
    return sum(Store(spark, str(store)).lines(k).count() for k in KINDS)


def test_every_line_arrives_with_every_field(spark: SparkSession, logs: Path, store: Path) -> None:
    written = write_logs(logs, shape=SMALL)
    report = ingest(spark, [str(logs)], str(store))
    assert (report.lines, report.corrupt, report.waiting_bytes) == (written, 0, 0)
    for kind in KINDS:
        assert stored(spark, store, kind) == logged(logs, kind)


def test_parquet_lies_by_topology_and_day(spark: SparkSession, logs: Path, store: Path) -> None:
    midnight = 1_790_035_200_000
    write_logs(logs, shape=Shape(windows=4, start_ms=midnight - 10_000))
    ingest(spark, [str(logs)], str(store))
    partitions = {
        str(p.parent.relative_to(store / "lines")) for p in store.glob("lines/**/*.parquet")
    }
    for day in ("2026-09-21", "2026-09-22"):
        assert f"kind=edge/topology=wordcount-1-1790000000/day={day}" in partitions
    later = Store(spark, str(store)).lines("window", Selection(("wordcount",), since_ms=midnight))
    assert later.count() == 2 * 4
    assert Store(spark, str(store)).lines("window", Selection(("other",))).count() == 0


def test_a_topology_may_be_named_as_storm_allows(
    spark: SparkSession, logs: Path, store: Path
) -> None:
    odd = "50% = [a] {b} #1 'c'?-1-1790000000"
    work = word_count(odd)
    written = write_logs(logs, work, Cluster(1, 1), Shape(windows=2))
    assert ingest(spark, [str(logs)], str(store)).lines == written
    other = store.with_name("other")
    ingest(spark, [str(logs)], str(other), spark_writes=True)
    for place in (store, other):
        assert {r[0] for r in stored(spark, place, "edge")} == {odd}
        (named,) = (place / "lines" / "kind=edge").iterdir()
        assert named.name == f"topology={escaped(odd)}"


def test_much_is_written_in_several_files(
    spark: SparkSession, logs: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_logs(logs, cluster=Cluster(1, 1), shape=SMALL)
    (path,) = logs.rglob("*.jsonl")
    part = Part(store / "_staging", "p")
    monkeypatch.setattr("brain.pipeline.part.HELD_BYTES", 1)
    for lines in (path.read_bytes().splitlines(keepends=True)[i::2] for i in (0, 1)):
        part.add(parse_block(b"".join(lines), 1, 0).good)
    part.flush()
    assert len(list((store / "_staging").glob("p/kind=edge/**/*.parquet"))) == 2


def test_a_second_run_adds_nothing(spark: SparkSession, logs: Path, store: Path) -> None:
    written = write_logs(logs, shape=SMALL)
    ingest(spark, [str(logs)], str(store))
    again = ingest(spark, [str(logs)], str(store))
    assert (again.batch, again.lines, again.files_read) == (None, 0, 0)
    assert total(spark, store) == written


def test_a_growing_file_is_followed_and_its_half_line_waits(
    spark: SparkSession, logs: Path, store: Path
) -> None:
    write_logs(logs, shape=SMALL)
    grown = next(logs.rglob("*.jsonl"))
    whole = grown.read_bytes()
    cut = whole.index(b"\n", len(whole) // 2) - 20
    grown.write_bytes(whole[:cut])
    first = ingest(spark, [str(logs)], str(store))
    assert first.waiting_bytes == cut - whole.rindex(b"\n", 0, cut) - 1
    assert first.corrupt == 0
    idle = ingest(spark, [str(logs)], str(store))
    assert (idle.batch, idle.lines) == (None, 0)
    grown.write_bytes(whole)
    second = ingest(spark, [str(logs)], str(store))
    assert second.files_read == 1
    assert second.lines == whole.count(b"\n") - whole.count(b"\n", 0, cut)
    for kind in KINDS:
        assert stored(spark, store, kind) == logged(logs, kind)


def test_a_half_line_in_a_rolled_file_is_set_aside(
    spark: SparkSession, logs: Path, store: Path
) -> None:
    write_logs(logs, cluster=Cluster(1, 1), shape=SMALL)
    (path,) = logs.rglob("*.jsonl")
    data = path.read_bytes()
    path.write_bytes(data + b'{"v":1,"ki')
    assert ingest(spark, [str(logs)], str(store)).waiting_bytes == 10
    path.with_name(path.name.replace("0000.jsonl", "0001.jsonl")).write_bytes(data)
    report = ingest(spark, [str(logs)], str(store))
    assert (report.lines, report.corrupt, report.waiting_bytes) == (data.count(b"\n"), 1, 0)
    (row,) = Store(spark, str(store)).lines("corrupt").collect()
    assert (row["raw"], row["offset"]) == ('{"v":1,"ki', len(data))
    assert ingest(spark, [str(logs)], str(store)).files_read == 0


def test_compressed_logs_are_the_same_logs(spark: SparkSession, logs: Path, store: Path) -> None:
    written = write_logs(logs, shape=SMALL)
    first, second, *_ = sorted(logs.rglob("*.jsonl"))
    whole = first.read_bytes()
    first.write_bytes(whole[: whole.index(b"\n", len(whole) // 2) + 1])
    ingest(spark, [str(logs)], str(store))
    # One was read in part before it was compressed, one wholly: neither is read twice.
    for path, content in ((first, whole), (second, second.read_bytes())):
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(content))
        path.unlink()
    report = ingest(spark, [str(logs)], str(store))
    assert report.lines == whole.count(b"\n") - whole.count(b"\n", 0, len(whole) // 2) - 1
    assert total(spark, store) == written
    assert ingest(spark, [str(logs)], str(store)).files_read == 0


def test_a_gz_cut_short_keeps_what_it_has_and_says_so(
    spark: SparkSession, logs: Path, store: Path
) -> None:
    write_logs(logs, shape=SMALL)
    victim = sorted(logs.rglob("*.jsonl"))[0]
    packed = gzip.compress(victim.read_bytes())
    lines = victim.read_bytes().count(b"\n")
    victim.unlink()
    target = victim.with_name(victim.name + ".gz")
    target.write_bytes(packed[:-12])
    report = ingest(spark, [str(target)], str(store))
    assert len(report.damaged) == 1
    assert target.name in report.damaged[0]
    target.write_bytes(packed)
    mended = ingest(spark, [str(target)], str(store))
    assert mended.damaged == ()
    assert report.lines + mended.lines == lines == total(spark, store)


def test_a_file_that_is_gone_or_closed_to_us_costs_no_other_file(
    spark: SparkSession, logs: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_logs(logs, shape=Shape(windows=3))
    gone, *others = sorted(logs.rglob("*.jsonl"))
    expected = sum(len(p.read_bytes().splitlines()) for p in others)
    text = gone.read_bytes()

    def rolled_away(*args: object) -> object:
        gone.unlink(missing_ok=True)  # between the listing and the reading
        return write_local(*args)  # type: ignore[arg-type]

    monkeypatch.setattr("brain.pipeline.ingest.write_local", rolled_away)
    report = ingest(spark, [str(logs)], str(store))
    assert report.lines == expected
    (told,) = report.damaged
    assert gone.name in told
    assert "FileNotFoundError" in told
    monkeypatch.undo()
    gone.write_bytes(text)
    assert ingest(spark, [str(logs)], str(store)).lines == len(text.splitlines())


def test_one_percent_corrupt_lines_in_100_files_cost_no_good_line(
    spark: SparkSession, logs: Path, store: Path
) -> None:
    written = write_logs(
        logs,
        word_count(rate=2000),
        Cluster(nodes=5, workers=10),
        Shape(windows=60, roll_bytes=7000),
    )
    assert len(list(logs.rglob("*.jsonl"))) >= 100
    originals = {p: p.read_bytes().splitlines() for p in logs.rglob("*.jsonl")}
    spoilt = spoil(logs, 0.01, seed=3)
    assert spoilt > 20
    report = ingest(spark, [str(logs)], str(store))
    assert (report.lines, report.corrupt) == (written - spoilt, spoilt)
    assert total(spark, store) == written - spoilt
    kept = Store(spark, str(store)).lines("corrupt").collect()
    assert len(kept) == spoilt
    for row in kept:
        path = Path(row["file"].removeprefix("file:"))
        data = path.read_bytes()
        line = data.splitlines()[row["line"] - 1]
        assert data[row["offset"] :].startswith(line)
        assert row["raw"] == line.decode(errors="replace")
        assert line != originals[path][row["line"] - 1]
        assert row["error"]


@pytest.mark.parametrize("whole_files", [False, True])
def test_a_crash_before_the_commit_leaves_nothing_behind(
    spark: SparkSession, logs: Path, store: Path, whole_files: bool
) -> None:
    written = write_logs(logs, shape=SMALL)

    def crash() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(spark, [str(logs)], str(store), before_commit=crash, whole_files=whole_files)
    assert not list(store.glob("lines/**/*.parquet"))
    assert not list(store.glob("_staging/*"))
    assert ingest(spark, [str(logs)], str(store), whole_files=whole_files).lines == written
    for kind in KINDS:
        assert stored(spark, store, kind) == logged(logs, kind)


def test_data_without_its_ledger_entry_is_thrown_away(
    spark: SparkSession, logs: Path, store: Path
) -> None:
    written = write_logs(logs, shape=SMALL)

    def die_hard() -> None:
        # As if the process were killed here: what is staged stays.
        staged = next((store / "_staging").iterdir())
        shutil.copytree(staged, store / "_staging" / "00000001-dead")

    ingest(spark, [str(logs)], str(store), before_commit=die_hard)
    assert total(spark, store) == written
    assert (store / "_staging" / "00000001-dead").exists()
    ingest(spark, [str(logs)], str(store))
    assert not (store / "_staging" / "00000001-dead").exists()
    assert total(spark, store) == written


def test_a_crash_after_the_commit_is_rolled_forward(
    spark: SparkSession, logs: Path, store: Path
) -> None:
    written = write_logs(logs, shape=SMALL)
    ingest(spark, [str(logs)], str(store))
    entry = json.loads((store / "_ledger" / "00000001.json").read_text())
    # As if it had died while moving: one kind is still where it was staged.
    staged = store / "_staging" / entry["staging"]
    (staged / entry["parts"][0]).mkdir(parents=True)
    shutil.move(store / "lines" / "kind=edge", staged / entry["parts"][0] / "kind=edge")
    # And what an attempt wrote that was given up lies there, too.
    shutil.copytree(store / "lines" / "kind=task", staged / "00000-gone" / "kind=task")
    assert total(spark, store) == written
    assert not list(store.glob("_staging/*"))


def test_late_windows_join_their_day(spark: SparkSession, logs: Path, store: Path) -> None:
    day = 86_400_000
    write_logs(logs, shape=Shape(windows=3, start_ms=1_790_000_000_000 + day))
    ingest(spark, [str(logs)], str(store))
    write_logs(logs, shape=Shape(windows=3, start_ms=1_790_000_000_000))
    ingest(spark, [str(logs)], str(store))
    days = {p.name for p in store.glob("lines/kind=window/topology=*/day=*")}
    assert days == {"day=2026-09-21", "day=2026-09-22"}
    for kind in KINDS:
        assert stored(spark, store, kind) == logged(logs, kind)


def test_a_clock_that_is_ahead_is_noted(spark: SparkSession, logs: Path, store: Path) -> None:
    # Generated windows lie before now, but for the node whose clock runs ahead by ten years.
    write_logs(
        logs,
        cluster=Cluster(nodes=2, workers=2, skew_ms={1: 315_360_000_000}),
        shape=Shape(windows=2, start_ms=1_700_000_000_000),
    )
    report = ingest(spark, [str(logs)], str(store))
    assert [Path(f).name.startswith("n2-") for f, _ in report.ahead] == [True]


def test_a_clock_set_back_is_counted(spark: SparkSession, logs: Path, store: Path) -> None:
    write_logs(logs, cluster=Cluster(1, 1), shape=Shape(windows=2, start_ms=1_700_000_100_000))
    (path,) = logs.rglob("*.jsonl")
    later = path.read_bytes()
    shutil.rmtree(logs)
    write_logs(logs, cluster=Cluster(1, 1), shape=Shape(windows=2, start_ms=1_700_000_000_000))
    (other,) = logs.rglob("*.jsonl")
    other.write_bytes(later + other.read_bytes())
    assert ingest(spark, [str(logs)], str(store)).back_steps == 1


def test_a_rewritten_file_is_named_and_left_alone(
    spark: SparkSession, logs: Path, store: Path
) -> None:
    written = write_logs(logs, shape=SMALL)
    ingest(spark, [str(logs)], str(store))
    victim = next(logs.rglob("*.jsonl"))
    victim.write_bytes(victim.read_bytes()[:100])
    report = ingest(spark, [str(logs)], str(store))
    assert [Path(f).name for f in report.shrunk] == [victim.name]
    assert total(spark, store) == written


@pytest.mark.parametrize("way", [{"whole_files": True}, {"spark_writes": True}], ids=str)
def test_the_ways_of_remote_stores_give_the_same(
    spark: SparkSession, logs: Path, store: Path, way: dict[str, bool]
) -> None:
    write_logs(logs, shape=SMALL)
    spoil(logs, 0.05, seed=1)
    one = sorted(logs.rglob("*.jsonl"))[0]
    one.with_name(one.name + ".gz").write_bytes(gzip.compress(one.read_bytes()))
    one.unlink()
    ingest(spark, [str(logs)], str(store))
    other = store.with_name("other")
    ingest(spark, [str(logs)], str(other), **way)
    layout = [
        {str(p.parent.relative_to(s / "lines")) for p in s.glob("lines/**/*.parquet")}
        for s in (store, other)
    ]
    assert layout[0] == layout[1]
    for kind in (*KINDS, "corrupt"):
        assert stored(spark, store, kind) == stored(spark, other, kind)


def test_a_missing_directory_is_named_in_one_line(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"nowhere: there is no such file or directory$"):
        ingest(spark, [str(tmp_path / "nowhere")], str(tmp_path / "store"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="no metric logs"):
        ingest(spark, [str(tmp_path / "empty")], str(tmp_path / "store"))
    with pytest.raises(BadInput, match="no file system"):
        ingest(spark, ["nosuchscheme://host/x"], str(tmp_path / "store"))
    with pytest.raises(BadInput, match="is not a store"):
        Store(spark, str(tmp_path / "empty"))


def test_the_ledger_reads_back_past_its_snapshots(
    spark: SparkSession, logs: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("brain.pipeline.ledger.SNAPSHOT_EVERY", 2)
    write_logs(logs, cluster=Cluster(1, 1), shape=SMALL)
    (path,) = logs.rglob("*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    for end in (10, 20, 30, len(lines)):
        path.write_bytes(b"".join(lines[:end]))
        ingest(spark, [str(logs)], str(store))
    state = Store(spark, str(store)).ledger
    assert state.batch == 4
    assert [s.lines for s in state.sources.values()] == [len(lines)]
    assert total(spark, store) == len(lines)
