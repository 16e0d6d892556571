"""The counted topology counts right: nothing is missing after restarts, and a loss would show."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.topologies.local_storm import LocalStorm
from topologies import counted
from topologies.counted import Options, Tally

NUMBERS = 60
ALL = {0: NUMBERS, 1: NUMBERS, 2: NUMBERS}


def storm(folder: Path, seed: int = 1) -> LocalStorm:
    options = Options(results_dir=str(folder), rate=0, numbers=NUMBERS, payload=0)
    return LocalStorm(counted.build(options), seed)


def run_until_seen(run: LocalStorm, tally: Tally) -> None:
    for _ in range(200):
        run.run(200)
        run.time_out()
        tally.read()
        if not tally.missing(ALL):
            return
    raise AssertionError(f"missing: {tally.missing(ALL)}")


@pytest.mark.parametrize(
    "killed", [(), ("sink",), ("relay", "sink"), ("spout",), ("spout", "sink")]
)
def test_every_number_arrives_whatever_is_restarted(
    tmp_path: Path, killed: tuple[str, ...]
) -> None:
    run, tally = storm(tmp_path), Tally(tmp_path)
    for _ in range(3):
        run.run(60)
        if killed:
            run.restart(*killed)
    run_until_seen(run, tally)
    assert tally.lines >= 3 * NUMBERS
    assert tally.repeated == tally.lines - 3 * NUMBERS


def test_a_number_that_no_sink_saw_is_named(tmp_path: Path) -> None:
    (tmp_path / "spout-0.txt").write_text('{"emitted": 4, "acked": 1}')
    (tmp_path / "sink-77-0.txt").write_text("0 1 1000\n0 2 1001\n0 4 1002\n0 4 1003\n0 3")
    tally = Tally(tmp_path)
    tally.read()
    assert tally.emitted() == {0: 4}
    assert tally.missing({0: 4}) == {0: [3]}
    assert tally.repeated == 1


def test_lines_cross_otherwise_after_a_new_weave(tmp_path: Path) -> None:
    run, tally = storm(tmp_path), Tally(tmp_path)
    run.run(100)
    (tmp_path / "weave").write_text("1")
    run_until_seen(run, tally)
    sinks = {
        (path.stem.rpartition("-")[2], line.split()[0])
        for path in tmp_path.glob("sink-*.txt")
        for line in path.read_text().splitlines()
    }
    assert len(sinks) > 3, "some line must have ended at two sinks"
