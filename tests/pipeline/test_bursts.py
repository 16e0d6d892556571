"""Seasons and bursts that were put in are found again, through the whole pipeline."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from brain.errors import BadInput
from brain.pipeline.burst_stats import describe, find_bursts, find_season, load_bursts
from brain.pipeline.bursts import write_bursts
from brain.pipeline.generate import Shape, word_count, write_logs
from brain.pipeline.graph import write_graph
from brain.pipeline.ingest import ingest
from brain.pipeline.store import Store


def test_a_resubmitted_topology_keeps_its_season(
    spark: SparkSession, logs: Path, store: Path, tmp_path: Path
) -> None:
    # Four quiet slices, then two at thrice the rate: a period of 60 s.
    factors = (1.0,) * 8 + (3.0,) * 4
    start = 1_790_000_040_000
    write_logs(logs, word_count("wc-1-1"), shape=Shape(48, start_ms=start, burst=factors))
    again = start + 48 * 5000 + 120_000
    write_logs(logs, word_count("wc-2-2"), shape=Shape(48, start_ms=again, burst=factors))
    ingest(spark, [str(logs)], str(store))
    write_graph(spark, Store(spark, str(store)), str(tmp_path / "graph"), 10_000)
    write_bursts(spark, str(tmp_path / "graph"), str(tmp_path / "bursts.json"))
    found = load_bursts(str(tmp_path / "bursts.json"))
    assert (found.slice_ms, list(found.topologies)) == (10_000, ["wc"])
    (stream,) = [h for h in found.topologies["wc"] if (h.source, h.target) == ("split", "count")]
    assert stream.slices == 48
    assert stream.bytes_per_tuple == pytest.approx(60)
    assert stream.season is not None
    assert stream.season.period_ms == 60_000
    assert stream.season.strength > 0.7
    assert stream.expected(start + 5000, found.slice_ms) == pytest.approx(2000, rel=0.1)
    assert stream.expected(start + 45_000, found.slice_ms) == pytest.approx(6000, rel=0.1)
    assert stream.bursts is not None
    assert (stream.bursts.count, stream.bursts.mean_length_s) == (8, 20.0)
    assert stream.bursts.share_of_time == pytest.approx(1 / 3)
    assert stream.bursts.mean_height == pytest.approx(3, rel=0.1)


def test_noise_has_no_season_and_a_constant_no_bursts() -> None:
    noise = np.random.default_rng(1).normal(100, 3, 300)
    assert find_season(noise, 1000, 0) is None
    flat = describe("a", "b", False, np.full(50, 7.0), 1000, 0, 10.0)
    assert (flat.season, flat.autocorrelation) == (None, None)
    assert flat.bursts is not None
    assert flat.bursts.count == 0
    assert flat.expected(123456, 1000) == 7.0


def test_what_is_unknown_is_neither_low_nor_high() -> None:
    rates = np.array([10.0, 10, 10, 10, np.nan, np.nan, 10, 10, 50, 50, 10, 10])
    found = find_bursts(rates, 2000)
    assert (found.count, found.mean_length_s, found.share_of_time) == (1, 4.0, 0.2)
    wave = np.tile([1.0, 1, 1, 5], 12)
    wave[10:14] = np.nan
    season = find_season(wave, 1000, 3000)
    assert season is not None
    assert season.period_ms == 4000
    # The grid begins at phase 3, so the high one is phase (3 + 3) % 4.
    assert int(np.argmax(season.factors)) == 2


def test_short_histories_say_little() -> None:
    history = describe("a", "b", False, np.array([1.0, 2.0]), 1000, 0, 1.0)
    assert (history.bursts, history.season, history.mean) == (None, None, 1.5)


def test_a_wrong_file_is_named(tmp_path: Path, spark: SparkSession) -> None:
    with pytest.raises(BadInput, match="No such file"):
        load_bursts(str(tmp_path / "none.json"))
    (tmp_path / "odd.json").write_text("{}")
    with pytest.raises(BadInput, match="is no bursts file"):
        load_bursts(str(tmp_path / "odd.json"))
    with pytest.raises(BadInput, match="no such graph"):
        write_bursts(spark, str(tmp_path), str(tmp_path / "out.json"))
