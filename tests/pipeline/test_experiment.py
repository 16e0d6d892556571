"""Runs are measured as the papers do, and schedulers compared by the right statistics."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from scipy import stats

from brain.errors import BadInput, StormbrainError
from brain.pipeline.experiment import RunResult, measure_run
from brain.pipeline.generate import Cluster, Move, Shape, word_count, write_logs
from brain.pipeline.ingest import ingest
from brain.pipeline.report import comparisons, summaries, write_report
from brain.pipeline.statistics import imbalance, relative_deviation, summarise, weighted_percentile
from brain.pipeline.store import Store
from tests.pipeline import recompute

CUT = 15_000


@pytest.fixture(scope="module")
def run(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path, RunResult]:
    root = tmp_path_factory.mktemp("run")
    moves = (Move(10, {1: 1, 2: 0}, gap=3),)
    write_logs(root / "logs", cluster=Cluster(2, 4), shape=Shape(windows=30, moves=moves, seed=2))
    ingest(spark, [str(root / "logs")], str(root / "store"))
    result = measure_run(Store(spark, str(root / "store")), "even", None, CUT, CUT)
    return root / "logs", root / "store", result


def test_metrics_equal_duckdb(run: tuple[Path, Path, RunResult]) -> None:
    logs, _, result = run
    db = recompute.connect(logs)
    db.execute(f"""CREATE TABLE cut AS SELECT *, ("start" + "end") // 2 AS mid FROM log
        WHERE ("start" + "end") // 2 >= (SELECT min("start") + {CUT} FROM log)
          AND ("start" + "end") // 2 < (SELECT max("end") - {CUT} FROM log)""")
    seconds = 30 * 5 - 2 * CUT / 1000
    assert result.seconds == seconds
    spouts = db.execute(
        """SELECT sum(emitted), sum(acked), sum(complete_ms * acked) / sum(acked)
           FROM cut WHERE kind = 'task' AND component = 'sentence'"""
    ).fetchone()
    assert spouts is not None
    assert result.metrics["throughput"] == pytest.approx(spouts[0] / seconds)
    assert result.metrics["acked"] == pytest.approx(spouts[1] / seconds)
    assert result.metrics["latency_mean"] == pytest.approx(spouts[2])
    nodes = db.execute(
        """SELECT node, sum(cpu_ms + coalesce(shell_cpu_ms, 0)) FROM cut WHERE kind = 'task'
           GROUP BY node ORDER BY node"""
    ).fetchall()
    loads = [ms / 10 / seconds for _, ms in nodes]
    assert [result.by_node[n]["task_cpu"] for n, _ in nodes] == pytest.approx(loads)
    assert result.metrics["imbalance"] == pytest.approx(max(loads) / (sum(loads) / len(loads)))
    sent = db.execute(
        """SELECT sum(v) FROM (SELECT sum(tx_bytes) * 1000 / sum("end" - "start") AS v
           FROM cut WHERE kind = 'node' GROUP BY node)"""
    ).fetchone()
    assert sent is not None
    assert result.metrics["network_bytes"] == pytest.approx(sent[0])
    crossing = db.execute(
        """SELECT sum(tuples), sum(bytes) FROM (SELECT * FROM cut WHERE kind = 'edge') e
           ASOF JOIN (SELECT task, node, CASE WHEN row_number() OVER
                (PARTITION BY task ORDER BY min("start")) = 1 THEN 0 ELSE min("start") END AS since
                FROM log WHERE kind = 'task' GROUP BY task, node, worker) s
           ON e.source = s.task AND e.mid >= s.since WHERE e.node <> s.node"""
    ).fetchone()
    assert crossing is not None
    assert result.metrics["inter_node_tuples"] == pytest.approx(crossing[0] / seconds)
    assert result.metrics["inter_node_bytes"] == pytest.approx(crossing[1] / seconds)


def test_moves_and_downtime_are_those_of_the_generator(
    run: tuple[Path, Path, RunResult],
) -> None:
    metrics = run[2].metrics
    # Tasks 1 and 2 change places between workers 0 (n1) and 1 (n2), silent for three windows.
    assert (metrics["moves"], metrics["restarts"], metrics["downtime"]) == (2, 2, 15.0)


def test_too_short_a_run_and_a_wrong_topology_are_named(
    spark: SparkSession, run: tuple[Path, Path, RunResult], tmp_path: Path
) -> None:
    store = Store(spark, str(run[1]))
    with pytest.raises(StormbrainError, match="is over before"):
        measure_run(store, "even", None, 100_000, 100_000)
    with pytest.raises(BadInput, match="no windows of nothing"):
        measure_run(store, "even", "nothing")
    write_logs(tmp_path / "logs", word_count("a-1-1"), shape=Shape(windows=1))
    write_logs(tmp_path / "logs", word_count("b-1-1"), shape=Shape(windows=1))
    ingest(spark, [str(tmp_path / "logs")], str(tmp_path / "store"))
    with pytest.raises(BadInput, match="several topologies: a-1-1, b-1-1"):
        measure_run(Store(spark, str(tmp_path / "store")), "even")


def made_up(scheduler: str, throughput: float, samples: tuple[float, ...]) -> RunResult:
    metrics = {"throughput": throughput, "latency_mean": 1000 / throughput}
    return RunResult(scheduler, "x", "t-1-1", 60.0, metrics, {"n": {"cpu": 1.0}}, samples)


def test_schedulers_are_compared_by_mann_whitney() -> None:
    even, brain = (100.0, 110.0, 105.0, 98.0), (150.0, 155.0, 140.0, 151.0)
    runs = [made_up("even", v, (v, v + 1, v + 2)) for v in even]
    runs += [made_up("brain", v, (v, v + 1, v + 2)) for v in brain]
    found = {c.metric: c for c in comparisons(runs)}
    expected = stats.mannwhitneyu(even, brain, alternative="two-sided").pvalue
    assert found["throughput"].p_runs == pytest.approx(expected)
    assert found["throughput"].p_samples == pytest.approx(0.1)
    assert found["throughput"].change_percent == pytest.approx((149 / 103.25 - 1) * 100)
    table = summaries(runs)
    assert table["throughput"]["brain"].best == 155
    assert table["latency_mean"]["brain"].best == pytest.approx(1000 / 155)
    low, high = stats.t.interval(0.95, 3, loc=103.25, scale=stats.sem(even))
    assert (table["throughput"]["even"].low, table["throughput"]["even"].high) == pytest.approx(
        (low, high)
    )


def test_tables_and_plots_are_written(tmp_path: Path) -> None:
    runs = [made_up(s, 100.0 + i, (1.0, 2.0)) for i, s in enumerate(("even", "even", "brain"))]
    written = write_report(runs, tmp_path / "out")
    names = {p.name for p in written}
    assert {"runs.csv", "summary.csv", "comparison.csv", "report.md", "throughput.svg"} <= names
    assert all(p.stat().st_size for p in written)
    with (tmp_path / "out" / "runs.csv").open() as f:
        rows = list(csv.DictReader(f))
    assert [r["scheduler"] for r in rows] == ["even", "even", "brain"]
    report = (tmp_path / "out" / "report.md").read_text()
    assert "| throughput (tuples/s) | 101.00; 100.50 [" in report


def test_statistics_by_hand() -> None:
    assert weighted_percentile([10, 20, 30], [1, 1, 8], 50) == 30
    assert weighted_percentile([30, 10, 20], [1, 98, 1], 95) == 10
    assert weighted_percentile([1, 2, 3, 4], [1, 1, 1, 1], 50) == 2
    assert weighted_percentile([], [], 50) is None
    assert imbalance([1, 2, 3]) == 1.5
    assert relative_deviation([1, 1, 4, 4]) == pytest.approx(60.0)
    assert imbalance([0, 0]) is None
    assert summarise([3.0], True).low is None
