"""``stormbrain simulate`` from outside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from brain.cli import simulate
from brain.errors import BadInput
from brain.problems import problem_to_dict
from brain.problems.fischer import payload
from brain.simulate.network import parse_bandwidth


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "payload.json"
    path.write_text(json.dumps(problem_to_dict(payload(3, 4))))
    return path


def answer(*words: str) -> dict[str, Any]:
    import typer

    app = typer.Typer()
    simulate.register(app)
    app.callback()(lambda: None)
    done = CliRunner().invoke(app, ["simulate", *words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return dict(json.loads(done.stdout))


def test_json_tells_loads_links_and_limits(problem: Path) -> None:
    found = answer(
        str(problem), "-a", "even,metis", "--bandwidth", "100mbit", "--cpu-from", "costs", "--json",
        "--pending", "50", "--events", "0.5",
    )  # fmt: skip
    even, metis = found["placements"]
    assert even["forecast"]["inter_node_bytes"] > 0
    assert metis["forecast"]["inter_node_bytes"] == 0
    assert metis["forecast"]["links"] == []
    sent = sum(link["bytes"] for link in even["forecast"]["links"])
    assert sent == pytest.approx(even["forecast"]["inter_node_bytes"])
    assert sum(n["out_bytes"] for n in even["forecast"]["nodes"]) == pytest.approx(sent)
    (topology,) = even["forecast"]["topologies"]
    assert topology["bottleneck"].startswith("nic-")
    assert metis["forecast"]["throughput"] > 4 * even["forecast"]["throughput"]
    assert even["events"]["completed"] == pytest.approx(topology["closed_throughput"], rel=0.25)


def test_another_cluster_may_be_given(problem: Path) -> None:
    found = answer(str(problem), "--cluster", "8x4", "-a", "even", "--cpu-from", "costs", "--json")
    assert found["nodes"] == 8
    assert len(found["placements"][0]["forecast"]["nodes"]) == 8


def test_words_that_cannot_be_meant_are_refused(problem: Path) -> None:
    for words in (
        ["--bandwidth", "fast"],
        ["--cpu-from", "air"],
        ["-a", "nobody"],
        ["--topology", "t"],
        ["--costs", str(problem)],
    ):
        with pytest.raises(BadInput):
            answer(str(problem), *words)


@pytest.mark.parametrize(
    ("text", "value"),
    [("100mbit", 12.5e6), ("1 gbit", 125e6), ("12MB", 12e6), ("unlimited", float("inf"))],
)
def test_bandwidths_are_read_in_bits_and_bytes(text: str, value: float) -> None:
    assert parse_bandwidth(text) == value


def test_a_measured_graph_is_simulated_where_it_ran_and_elsewhere(tmp_path: Path) -> None:
    graph = tmp_path / "graph"
    _write_graph(graph)
    words = (str(graph), "-a", "even", "--json")
    current, even = answer(*words)["placements"]
    assert current["algorithm"] == "current"
    assert current["forecast"]["inter_node_tuples"] == pytest.approx(100.0)
    assert current["forecast"]["topologies"][0]["offered"] == pytest.approx(100.0)
    assert even["status"] == "ok"
    (alone,) = answer(*words, "--cluster", "1x4")["placements"]
    assert alone["forecast"]["inter_node_tuples"] == 0


def _write_graph(graph: Path) -> None:
    """What the pipeline writes of a spout on n1 that tells a bolt on n2 100 times a second."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    own = {"slice": [0, 0], "observed_ms": [60_000] * 2, "cpu_ms": [600.0] * 2}
    tasks = {
        **own, "task": [1, 2], "component": ["spout", "bolt"], "executor": ["1-1", "2-2"],
        "node": ["n1", "n2"], "worker": ["6700-a", "6700-b"], "port": [6700, 6700],
    }  # fmt: skip
    edges = {
        "slice": [0], "source": [1], "target": [2], "system": [False],
        "tuples": [6000], "bytes": [600_000],
    }  # fmt: skip
    nodes = {"slice": [0, 0], "node": ["n1", "n2"], "cores": [2, 2], "memory_mb": [1000.0] * 2}
    for path, table in (
        ("tasks/topology=chain-1-1790000000", tasks),
        ("edges/topology=chain-1-1790000000", edges),
        ("nodes", nodes),
    ):
        (graph / path).mkdir(parents=True)
        pq.write_table(pa.table(table), graph / path / "part-0.parquet")
    (graph / "graph.json").write_text(json.dumps({"version": 1, "slice_ms": 60_000}))
