"""Numbers of a run from windows and counters whose answer is known; what is on record stays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from brain.bench.conduct import _on_record
from brain.bench.experiment import load_experiment
from brain.bench.histograms import histogram_between
from brain.bench.measure import Sample, flowing_ms, measure, series
from brain.bench.results import ExperimentResult, Run, RunStatus, load_result
from brain.bench.summary import against, left_out, spread
from brain.demo.metric_log import Window
from brain.errors import BadInput
from brain.testbed.network import Traffic
from tests.bench.test_experiments import GOOD, written
from topologies.common.latency import LatencyHistogram


def task(number: int, component: str, **counted: Any) -> dict[str, Any]:
    return {"task": number, "component": component, "executor": f"{number}-{number}", **counted}


def window(node: str, start: int, tasks: list[Any], edges: list[Any], born: int = 0) -> Window:
    return Window(node, f"67{node[-1]}0-{_base36(born)}", start, start + 1000, tuple(edges),
                  tuple(tasks))  # fmt: skip


def _base36(number: int) -> str:
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    return digits[number] if number < 36 else _base36(number // 36) + digits[number % 36]


def ten_seconds(born: int = 0) -> list[Window]:
    """A spout on node-1, bolt on node-2; 100 tuples of 1,000 bytes a second, acked in 5 ms."""
    found = []
    for second in range(10):
        start = second * 1000
        spout = task(1, "s", emitted=100, executed=0, acked=90, failed=0, complete_ms=5.0,
                     cpu_ms=100.0)  # fmt: skip
        bolt = task(2, "b", executed=100, emitted=0, acked=100, cpu_ms=50.0, shell_cpu_ms=150.0)
        edge = {"source": 1, "target": 2, "tuples": 100, "bytes": 100_000}
        ack = {"source": 2, "target": 1, "tuples": 100, "bytes": 2_000, "system": True}
        found.append(window("node-1", start, [spout], [ack]))
        found.append(window("node-2", start, [bolt], [edge], born))
    return found


def samples() -> list[Sample]:
    """Node-1 sends 2 MB a second, 0.1 of them to this machine."""
    return [
        Sample(
            second * 1000.0,
            Traffic(
                {"node-1": second * 2_000_000, "node-2": 0},
                {"node-1": 0, "node-2": second * 1_900_000},
                0,
                second * 100_000,
            ),
        )
        for second in range(12)
    ]


def test_rates_places_and_bytes_come_out_as_they_went_in() -> None:
    found = measure(ten_seconds(), samples(), 2000, 8000, "acked")
    assert found.seconds == 6
    assert found.throughput == pytest.approx(90)
    assert found.latency_ms == pytest.approx(5)
    assert found.hook_tuples == pytest.approx(100)
    assert found.hook_bytes == pytest.approx(100_000)
    assert found.system_tuples == pytest.approx(100)
    assert found.wire_bytes == pytest.approx(1_900_000)
    assert found.control_bytes == pytest.approx(100_000)
    assert found.nodes["node-2"].cpu_points == pytest.approx(20)
    assert found.nodes["node-1"].sent_bytes == pytest.approx(2_000_000)
    assert found.graph.executors == ((1, 1, "s", 10.0, "node-1", 6710), (2, 2, "b", 20.0,
                                     "node-2", 6720))  # fmt: skip
    assert (1, 2, 100.0, 100_000.0, False) in found.graph.edges
    assert not found.started_inside
    assert measure(ten_seconds(), [], 2000, 8000, "executed:b").throughput == pytest.approx(100)


def test_a_worker_that_started_within_the_window_is_named() -> None:
    found = measure(ten_seconds(born=5000), samples(), 2000, 8000, "acked")
    assert found.started_inside == ("node-2:6720",)


def test_without_counters_there_are_no_bytes_rather_than_none_sent() -> None:
    found = measure(ten_seconds(), [], 2000, 8000, "acked")
    assert found.wire_bytes is None
    assert found.nodes["node-1"].sent_bytes is None


def test_the_time_line_covers_the_whole_run() -> None:
    line = series(ten_seconds(), samples(), 0, "acked")
    assert [point.t for point in line][:2] == [2.0, 4.0]
    assert line[1].throughput == pytest.approx(90)
    assert line[1].bytes == pytest.approx(1_900_000)
    assert flowing_ms(ten_seconds(), "acked") == 1000


def test_latencies_between_two_readings() -> None:
    before, after = LatencyHistogram(), LatencyHistogram()
    for _ in range(100):
        before.record(1000.0)
    after.add(before)
    for _ in range(10):
        after.record(10.0)
    between = histogram_between(before, after)
    assert between is not None
    assert between.count == 10
    assert between.quantile_ms(0.99) == pytest.approx(10, rel=0.06)
    assert histogram_between(after, after) is None


def a_run(**changes: Any) -> Run:
    found = measure(ten_seconds(), samples(), 2000, 8000, "acked")
    run = Run(
        case="one", scheduler="default", repeat=0, status=RunStatus.VALID, reasons=(),
        started="2020-01-01T00:00:00+00:00", topology_id="x-1", seconds=6.0,
        throughput=found.throughput, latency_ms=5.0, latency_p50_ms=None, latency_p99_ms=None,
        wire_bytes=found.wire_bytes, control_bytes=None, hook_tuples=1.0, hook_bytes=1.0,
        system_tuples=0.0, all_tuples=1.0, failed_tuples=0, nodes=found.nodes, workers=2,
        replacement=None, series=series(ten_seconds(), samples(), 0, "acked"), graph=found.graph,
    )  # fmt: skip
    return replace(run, **changes)


def a_result(tmp_path: Path, *runs: Run) -> ExperimentResult:
    experiment = load_experiment(written(tmp_path, GOOD))
    return ExperimentResult(experiment.to_json(), "x.yaml", experiment.digest(), False, {},
                            {"mode": "netns"}, "bench", runs)  # fmt: skip


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    result = a_result(tmp_path, a_run(), a_run(scheduler="o"))
    again = load_result(result.save(tmp_path))
    assert again.runs == result.runs
    assert again.cases() == ["one"]
    (tmp_path / "x.json").write_text('{"format": 99}')
    with pytest.raises(BadInput, match="format 99"):
        load_result(tmp_path / "x.json")


def test_only_valid_runs_count(tmp_path: Path) -> None:
    runs = [a_run(repeat=i, throughput=100.0 + i) for i in range(3)]
    runs += [a_run(scheduler="o", repeat=i, throughput=200.0 + 2 * i) for i in range(3)]
    lost = a_run(scheduler="o", repeat=3, throughput=1e9, status=RunStatus.INVALID)
    result = a_result(tmp_path, *runs, lost)
    best = spread(result, "one", "o", "throughput")
    assert best is not None
    assert (best.runs, best.best, best.median) == (3, 204, 202)
    compared = against(result, "one", "o", "throughput")
    assert compared is not None
    assert compared.ratio_of_medians == pytest.approx(2)
    assert compared.p == pytest.approx(0.1)
    assert left_out(result) == [lost]


def test_runs_on_record_are_kept_only_under_the_same_declaration(tmp_path: Path) -> None:
    experiment = load_experiment(written(tmp_path, GOOD))
    a_result(tmp_path, a_run(), a_run(case="two")).save(tmp_path)
    found = _on_record(experiment, False, "netns", tmp_path, fresh=False)
    assert found is not None
    assert len(found.runs) == 2
    cases = [{"name": "one"}, {"name": "two", "options": {"depth": 9}}]
    changed = load_experiment(written(tmp_path, {**GOOD, "cases": cases}))
    found = _on_record(changed, False, "netns", tmp_path, fresh=False)
    assert found is not None
    assert [run.case for run in found.runs] == ["one"]
    slower = load_experiment(written(tmp_path, {**GOOD, "timing": {"measure": 99}}))
    with pytest.raises(BadInput, match="another declaration"):
        _on_record(slower, False, "netns", tmp_path, fresh=False)
    assert _on_record(slower, False, "netns", tmp_path, fresh=True) is None
