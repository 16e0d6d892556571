"""Job 6: the history of every stream's rate → burst and season statistics for the forecast.

A stream is a pair of components of a topology by *name*: its history goes on when the topology is
submitted again. A slice in which the topology ran but the stream was silent counts as a rate of 0;
a slice in which the topology was not heard of at all is unknown, and is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from brain.errors import StormbrainError
from brain.pipeline.burst_stats import RateHistory, describe, history_from, to_document
from brain.pipeline.hadoop import HadoopFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = r"-\d+-\d+$"
_STREAM = ("name", "source_component", "target_component", "system")


def compute_bursts(spark: SparkSession, graph: str) -> tuple[dict[str, list[RateHistory]], int]:
    """The histories by topology name, and the slices' length in ms."""
    from pyspark.sql import functions as F

    slice_ms = graph_slice_ms(HadoopFiles(spark), graph)
    named = F.regexp_replace("topology", NAME, "").alias("name")
    heard = spark.read.parquet(f"{graph}/tasks").select(named, "slice").distinct()
    slices: dict[str, list[int]] = {}
    for row in heard.collect():
        slices.setdefault(row["name"], []).append(row["slice"])
    series = (
        spark.read.parquet(f"{graph}/edges")
        .where("source_component is not null and target_component is not null")
        .groupBy(named, *_STREAM[1:], "slice")
        .agg(F.sum("tuples_per_s").alias("rate"), F.sum("bytes_per_s").alias("size"))
    )
    grids = {name: np.array(sorted(own), dtype=np.int64) for name, own in slices.items()}
    described = series.groupBy(*_STREAM).applyInArrow(
        _describer(grids, slice_ms), "name string, history string"
    )
    found: dict[str, list[RateHistory]] = {}
    for row in described.orderBy("name", "history").collect():
        found.setdefault(row["name"], []).append(history_from(json.loads(row["history"])))
    if not found:
        raise StormbrainError(f"the graph in {graph} has no edges")
    return found, slice_ms


def write_bursts(spark: SparkSession, graph: str, out: str) -> dict[str, list[RateHistory]]:
    """Writes the bursts file, in place of an older one."""
    files = HadoopFiles(spark)
    found, slice_ms = compute_bursts(spark, graph)
    files.replace_text(
        out, json.dumps(to_document(found, slice_ms), indent=1, allow_nan=False) + "\n"
    )
    return found


def graph_slice_ms(files: HadoopFiles, graph: str) -> int:
    files.require_dir(f"{graph}/graph.json", "graph; write one with stormbrain pipeline graph")
    return int(json.loads(files.read_text(f"{graph}/graph.json"))["slice_ms"])


def _describer(grids: dict[str, np.ndarray], slice_ms: int) -> Any:
    no_slices = np.array([], dtype=np.int64)

    def run(group: pa.Table) -> pa.Table:
        name, source, target, system = (group.column(c)[0].as_py() for c in _STREAM)
        # Lines of tasks may be lost where those of edges are not.
        heard = np.union1d(grids.get(name, no_slices), group.column("slice").to_numpy())
        first = int(heard[0])
        rates = np.full((int(heard[-1]) - first) // slice_ms + 1, np.nan)
        rates[(heard - first) // slice_ms] = 0.0
        at = (group.column("slice").to_numpy() - first) // slice_ms
        rates[at] = group.column("rate").to_numpy()
        sent, size = (float(group.column(c).to_numpy().sum()) for c in ("rate", "size"))
        history = describe(
            source, target, system, rates, slice_ms, first, size / sent if sent else 0.0
        )
        document = to_document({name: [history]}, slice_ms)["topologies"][name][0]
        return pa.table({"name": [name], "history": [json.dumps(document)]})

    return run


def streams(found: dict[str, list[RateHistory]]) -> Iterator[tuple[str, RateHistory]]:
    for name, own in found.items():
        for history in own:
            yield name, history
