"""The files that others read: what was written once stays readable, and the page is true."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

from brain.errors import BadInput
from brain.pipeline.burst_stats import load_bursts, to_document
from brain.pipeline.generate import Shape, write_logs
from brain.pipeline.graph import write_graph
from brain.pipeline.graph_schema import GRAPH_TABLES, markdown
from brain.pipeline.ingest import ingest
from brain.pipeline.store import Store

PAGE = Path(__file__).parents[2] / "docs" / "pipeline.md"
FIRST = Path(__file__).parent / "data" / "bursts-v1.json"
"""A file of the first format: it is never changed, so that every later reader is tried on it."""


def test_a_bursts_file_of_the_first_format_is_read_and_written_back_the_same() -> None:
    found = load_bursts(str(FIRST))
    assert to_document(found.topologies, found.slice_ms) == _as_tuples(FIRST.read_text())
    stream, acks = found.topologies["wordcount"]
    assert stream.expected(1_790_000_040_000, found.slice_ms) == pytest.approx(1200)
    assert stream.expected(1_790_000_080_000, found.slice_ms) == pytest.approx(3600)
    assert (acks.season, acks.bursts) == (None, None)


def _as_tuples(text: str) -> Any:
    document = json.loads(text)
    for own in document["topologies"].values():
        for stream in own:
            if stream["season"]:
                stream["season"]["factors"] = tuple(stream["season"]["factors"])
    return document


def test_the_bursts_example_of_the_page_can_be_read(tmp_path: Path) -> None:
    section = PAGE.read_text(encoding="utf-8").split("## bursts")[1]
    example = re.search(r"```json\n(.*?)```", section, re.DOTALL)
    assert example is not None
    path = tmp_path / "bursts.json"
    path.write_text(example[1])
    assert load_bursts(str(path)).topologies["wordcount"][0].season is not None


def test_fields_of_a_later_minor_are_passed_over(tmp_path: Path) -> None:
    document = json.loads(FIRST.read_text())
    document["written_by"] = "later"
    document["topologies"]["wordcount"][0]["skew"] = 1.5
    document["topologies"]["wordcount"][0]["season"]["phase"] = 0
    path = tmp_path / "bursts.json"
    path.write_text(json.dumps(document))
    assert load_bursts(str(path)).topologies == load_bursts(str(FIRST)).topologies


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"version": 1', '"version": 2', "has format 2, not 1"),
        ('"mean": 2000.0', '"mean": NaN', "mean is nan"),
        ('"mean": 2000.0', '"mean": "many"', "mean is 'many'"),
        ('"peak": 3300.0,', "", "'peak' is missing"),
        ('"factors": [0.6, 0.6, 0.6, 0.6, 1.8, 1.8]', '"factors": []', "factors are ()"),
        ('"slice_ms": 10000', '"slice_ms": 0', "slice_ms is 0"),
        ('"source": "split"', '"source": 7', "source is 7"),
        ('"topologies": {', '"topologies": [], "x": {', "is no bursts file"),
        ("{", "", "is no bursts file"),
    ],
)
def test_what_is_wrong_with_a_bursts_file_is_named(
    old: str, new: str, told: str, tmp_path: Path
) -> None:
    text = FIRST.read_text()
    assert old in text
    path = tmp_path / "bursts.json"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(BadInput) as caught:
        load_bursts(str(path))
    assert told in str(caught.value)
    assert "\n" not in caught.value.message


def test_the_page_has_the_graphs_columns() -> None:
    assert markdown() in PAGE.read_text(encoding="utf-8")


def test_a_graph_has_the_columns_of_its_form(
    spark: SparkSession, logs: Path, store: Path, tmp_path: Path
) -> None:
    write_logs(logs, shape=Shape(windows=4))
    ingest(spark, [str(logs)], str(store))
    write_graph(spark, Store(spark, str(store)), str(tmp_path / "graph"))
    for table, columns in GRAPH_TABLES.items():
        frame = spark.read.parquet(str(tmp_path / "graph" / table))
        assert dict(frame.dtypes) == {name: kind for name, (kind, _) in columns.items()}, table
        inside = ds.dataset(str(tmp_path / "graph" / table), format="parquet").schema.names
        assert inside == [name for name in columns if name != "topology"], table
