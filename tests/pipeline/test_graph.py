"""The graph equals a recomputation by DuckDB row for row, and loads as a profile and a problem."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from brain.errors import BadInput
from brain.pipeline.generate import Cluster, Move, Shape, word_count, write_logs
from brain.pipeline.graph import write_graph
from brain.pipeline.ingest import ingest
from brain.pipeline.problem import problem_from_profile
from brain.pipeline.profile import load_profile, profiled_topologies
from brain.pipeline.store import Store
from brain.problems import problem_from_dict
from tests.pipeline import recompute

SLICE = 20_000


@pytest.fixture(scope="module")
def moved(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path, dict[str, int]]:
    """Two topologies, one of which is moved about twice; one log ends in the middle of a window."""
    root = tmp_path_factory.mktemp("graph")
    logs = root / "logs"
    moves = (Move(7, {1: 3, 5: 0}), Move(15, {1: 0, 2: 2}, gap=1))
    write_logs(logs, cluster=Cluster(3, 4), shape=Shape(windows=24, moves=moves, seed=5))
    write_logs(logs, word_count("other-2-1790000100", 90), Cluster(2, 2), Shape(windows=9, seed=6))
    half = max(logs.rglob("*.jsonl"), key=lambda p: p.stat().st_size)
    lines = half.read_bytes().splitlines(keepends=True)
    half.write_bytes(b"".join(lines[:-3]))
    ingest(spark, [str(logs)], str(root / "store"))
    counts = write_graph(spark, Store(spark, str(root / "store")), str(root / "graph"), SLICE)
    return logs, root / "graph", counts


def test_edges_equal_duckdb_row_for_row(moved: tuple[Path, Path, dict[str, int]]) -> None:
    logs, graph, counts = moved
    db = recompute.connect(logs)
    expected = recompute.rows(db, recompute.EDGES.format(slice=SLICE))
    got = recompute.rows(
        db,
        f"SELECT {recompute.EDGE_COLUMNS} FROM read_parquet('{graph}/edges/**/*.parquet', "
        "hive_partitioning = true)",
    )
    assert got == expected
    assert counts["edges"] == len(expected)
    assert {r[11] for r in got} == {"local", "inter-worker", "inter-node"}


def test_tasks_equal_duckdb_row_for_row(moved: tuple[Path, Path, dict[str, int]]) -> None:
    logs, graph, _ = moved
    db = recompute.connect(logs)
    expected = recompute.rows(db, recompute.TASKS.format(slice=SLICE))
    got = recompute.rows(
        db,
        f"SELECT {recompute.TASK_COLUMNS} FROM read_parquet('{graph}/tasks/**/*.parquet', "
        "hive_partitioning = true)",
    )
    assert got == expected


def test_a_half_written_window_is_left_out(moved: tuple[Path, Path, dict[str, int]]) -> None:
    logs, graph, _ = moved
    db = recompute.connect(logs)
    (seen,) = db.execute("SELECT sum(tuples) FROM log WHERE kind = 'edge'").fetchone() or (0,)
    (kept,) = db.execute(
        f"SELECT sum(tuples) FROM read_parquet('{graph}/edges/**/*.parquet')"
    ).fetchone() or (0,)
    assert 0 < seen - kept < seen * 0.02


def test_node_and_topology_totals_follow_from_the_edges(
    moved: tuple[Path, Path, dict[str, int]],
) -> None:
    logs, graph, _ = moved
    db = recompute.connect(logs)
    for table in ("edges", "tasks", "executors", "traffic"):
        db.execute(
            f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{graph}/{table}/**/*.parquet', "
            "hive_partitioning = true)"
        )
    db.execute(f"CREATE VIEW nodes AS SELECT * FROM read_parquet('{graph}/nodes/*.parquet')")
    by_reach = recompute.rows(
        db,
        """SELECT topology, slice,
           round(sum(bytes_per_s) FILTER (reach = 'inter-node'), 3),
           coalesce(round(sum(tuples_per_s) FILTER (reach = 'inter-worker'), 3), 0),
           round(sum(bytes_per_s), 3) FROM edges GROUP BY ALL""",
    )
    traffic = recompute.rows(
        db,
        """SELECT topology, slice, round(inter_node_bytes_per_s, 3),
           round(inter_worker_tuples_per_s, 3), round(bytes_per_s, 3) FROM traffic""",
    )
    assert traffic == by_reach
    inward = recompute.rows(
        db,
        """SELECT slice, target_node, round(sum(bytes_per_s), 3) FROM edges
           WHERE reach = 'inter-node' GROUP BY ALL""",
    )
    nodes = recompute.rows(
        db, "SELECT slice, node, round(in_bytes_per_s, 3) FROM nodes WHERE in_bytes_per_s > 0"
    )
    assert nodes == inward
    executors = recompute.rows(
        db, "SELECT topology, slice, executor, node, worker, round(cpu, 6) FROM executors"
    )
    tasks = recompute.rows(
        db,
        """SELECT topology, slice, executor, node, worker, round(sum(cpu), 6)
           FROM tasks GROUP BY ALL""",
    )
    assert executors == tasks
    machine = recompute.rows(db, "SELECT DISTINCT cores, memory_mb FROM nodes WHERE cores > 0")
    assert machine == [(4, 8192.0)]
    windows = recompute.rows(
        db,
        f"""SELECT topology, "start" - "start" % {SLICE} AS slice, count(*) FROM log
            WHERE kind = 'window' GROUP BY ALL""",
    )
    assert recompute.rows(db, "SELECT topology, slice, windows FROM traffic") == windows


def test_the_profile_knows_the_rates_without_spark(
    moved: tuple[Path, Path, dict[str, int]],
) -> None:
    _, graph, _ = moved
    assert profiled_topologies(str(graph)) == ["wordcount-1-1790000000", "other-2-1790000100"]
    profile = load_profile(str(graph), "other", last=None)
    assert profile.topology_id == "other-2-1790000100"
    rates = {(r.source, r.target): r for r in profile.component_rates}
    # The generator's rates are 90 and 450 tuples/s of 160 and 60 bytes.
    assert rates["sentence", "split"].tuples_per_s == pytest.approx(90, rel=0.1)
    assert rates["split", "count"].bytes_per_s == pytest.approx(450 * 60, rel=0.1)
    assert rates["count", "__acker"].system
    assert sum(r.tuples_per_s for r in profile.task_rates) == pytest.approx(
        sum(r.tuples_per_s for r in profile.component_rates)
    )
    with pytest.raises(BadInput, match="no profile of missing; it knows wordcount"):
        load_profile(str(graph), "missing")


def test_a_profile_fits_a_new_submission(moved: tuple[Path, Path, dict[str, int]]) -> None:
    profile = load_profile(str(moved[1]), "other", last=None)
    old = profile.tasks_of()
    shifted = {c: [t + 100 for t in ids] for c, ids in old.items()}
    same = {(r.source, r.target): r.tuples_per_s for r in profile.expected(shifted)}
    for r in profile.task_rates:
        assert same[int(r.source) + 100, int(r.target) + 100] == r.tuples_per_s
    wider = {**shifted, "count": list(range(500, 508))}
    spread = profile.expected(wider)
    assert sum(r.tuples_per_s for r in spread) == pytest.approx(
        sum(r.tuples_per_s for r in profile.component_rates)
    )
    into_count = [r for r in spread if r.target in wider["count"]]
    assert len(into_count) == 4 * 8
    assert len({round(r.tuples_per_s, 9) for r in into_count}) == 1


def test_a_profile_is_a_problem_that_solve_accepts(
    moved: tuple[Path, Path, dict[str, int]],
) -> None:
    profile = load_profile(str(moved[1]), "wordcount")
    document = problem_from_profile(profile, workers=3, slots_per_node=2)
    problem, current = problem_from_dict(document)
    assert len(problem) == len(profile.tasks)
    assert problem.graph.total == pytest.approx(
        sum(r.bytes_per_s for r in profile.task_rates), rel=1e-6
    )
    assert current is not None
    assert current.placed.all()
