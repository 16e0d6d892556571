"""The record of the runs on Storm is written when all of them are there, and not before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.topologies.recording import Recording
from topologies.common.results import TaskReport


def test_only_a_whole_session_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = tmp_path / "topologies.json"
    monkeypatch.setattr("tests.topologies.recording.RESULTS", record)
    source, sink = (TaskReport(tmp_path / "run", task) for task in ("source.0", "sink.0"))
    source.count("events", 3)
    source.count("acked", 3)
    sink.result("a", {"n": 1})
    sink.latency.record(12.0)
    for report in (source, sink):
        report.flush()
    recording = Recording({("wc", "even"), ("wc", "plan")})
    recording.add("wc", "even", tmp_path / "run", 11.0)
    assert not recording.write()
    assert not record.exists()
    recording.add("wc", "plan", tmp_path / "run", 50.0, moved_executors=4)
    assert recording.write()
    even, plan = json.loads(record.read_text())["runs"]
    assert (even["under"], even["events"], even["acked"], even["results"]) == ("even", 3, 3, 1)
    assert even["latency_ms"]["p50"] == pytest.approx(12, rel=0.06)
    assert plan["moved_executors"] == 4
