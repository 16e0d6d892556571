"""The forecast follows what lasts, knows the season, and does not believe a burst."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from brain.monitor.bursts import burst_moments
from brain.monitor.forecast import Forecast, Seasons
from brain.pipeline.burst_stats import describe, load_bursts, to_document
from brain.service.burst_watch import BurstWatch

STEP_MS = 5000
KEY = np.array([(1 << 32) | (2 << 1)], dtype=np.int64)


def fed(series: list[float] | np.ndarray, seasons: Seasons | None = None) -> Forecast:
    forecast = Forecast(STEP_MS)
    forecast.seasons = seasons
    for i, rate in enumerate(series):
        seen = np.array([not math.isnan(rate)])
        forecast.observe(KEY, np.array([0.0 if math.isnan(rate) else rate]), seen, i * STEP_MS)
    return forecast


def ahead(forecast: Forecast, steps: int, horizon: int = 1) -> float:
    return float(forecast.expected(KEY, steps * STEP_MS, horizon * STEP_MS)[0])


def noisy(level: float, count: int, seed: int = 1) -> np.ndarray:
    return level * (1 + 0.05 * np.random.default_rng(seed).standard_normal(count))


def test_a_steady_edge_is_expected_to_stay() -> None:
    assert ahead(fed(noisy(100.0, 60)), 60) == pytest.approx(100.0, rel=0.05)


def test_a_burst_of_one_window_leaves_the_forecast_as_it_was() -> None:
    usual = list(noisy(100.0, 40))
    burst = [*usual, 5000.0, *noisy(100.0, 3, seed=2)]
    calm = [*usual, 100.0, *noisy(100.0, 3, seed=2)]
    assert ahead(fed([*usual, 5000.0]), 41) == pytest.approx(ahead(fed(usual), 41), rel=0.02)
    assert ahead(fed(burst), 44) == pytest.approx(ahead(fed(calm), 44), rel=0.05)


def test_a_change_that_lasts_is_followed_within_two_windows() -> None:
    for new in (500.0, 10.0):
        assert ahead(fed([*noisy(100.0, 40), new, new]), 42) == pytest.approx(new, rel=0.1)


def test_growth_is_expected_to_go_on_for_a_while_but_not_for_ever() -> None:
    forecast = fed([100.0 + 2 * i for i in range(60)])
    assert ahead(forecast, 60) > 215
    assert ahead(forecast, 60, horizon=1000) < 260


def test_gaps_change_nothing() -> None:
    gap = [*noisy(100.0, 30), *[math.nan] * 50]
    assert ahead(fed(gap), 80) == pytest.approx(100.0, rel=0.05)


def test_an_edge_never_seen_is_unknown_and_many_edges_keep_apart() -> None:
    forecast = Forecast(STEP_MS)
    keys = np.arange(1000, dtype=np.int64) << 32
    for i in range(20):
        forecast.observe(keys, keys / 2**32, np.ones(1000, dtype=bool), i * STEP_MS)
    fewer = np.sort(np.append(keys[::7], 5))
    forecast.observe(fewer, np.zeros(len(fewer)), np.zeros(len(fewer), dtype=bool), 20 * STEP_MS)
    expected = forecast.expected(fewer, 0, STEP_MS)
    known = fewer != 5
    assert math.isnan(float(expected[~known][0]))
    assert expected[known].tolist() == pytest.approx((fewer[known] / 2**32).tolist(), rel=0.01)


def day(step: int) -> float:
    """A season of 60 steps: busy for 15 of them."""
    return 400.0 if step % 60 < 15 else 100.0


def seasons() -> Seasons:
    """As the pipeline would find them in a longer past."""
    rates = np.array([day(i) for i in range(600)])
    history = describe("a", "b", False, rates, STEP_MS, 0, 100.0)
    assert history.season is not None
    assert history.season.period_ms == 60 * STEP_MS
    factors = {("a", "b", False): history.season.factors}
    return Seasons(factors, STEP_MS, {1: "a", 2: "b", 3: "c"})


def test_a_season_is_foreseen_where_smoothing_alone_would_lag() -> None:
    series = [day(i) for i in range(179)]  # the next step but one begins the busy time
    known, unknown = fed(series, seasons()), fed(series)
    assert ahead(known, 180, horizon=15) == pytest.approx(400.0, rel=0.1)
    assert ahead(unknown, 180, horizon=15) == pytest.approx(100.0, rel=0.1)
    assert ahead(known, 180, horizon=60) == pytest.approx(175.0, rel=0.1)  # a whole day's mean


def test_a_season_that_becomes_stronger_is_learnt() -> None:
    days = [day(i) * (1.3 if i % 60 < 15 else 1.0) for i in range(60 * 60)]
    forecast = fed(days, seasons())
    assert ahead(forecast, 60 * 60, horizon=15) > 470


def test_a_stream_without_a_season_has_none() -> None:
    own = seasons()
    other = np.array([(1 << 32) | (3 << 1)], dtype=np.int64)
    assert own.stream_of(np.concatenate([KEY, other, KEY | 1])).tolist() == [0, -1, -1]
    assert own.at(np.array([-1]), 0).tolist() == [1.0]


def test_bursts_as_long_as_they_are_known_to_be_are_bursts() -> None:
    series = np.array([1.0] * 10 + [9.0] * 3 + [1.0] * 5)
    assert burst_moments(series, 3.0).sum() == 0
    assert burst_moments(series, 3.0, longest=3).sum() == 3
    assert burst_moments(np.array([1.0] * 10 + [9.0] * 2), 3.0, longest=3).sum() == 2
    assert burst_moments(np.array([1.0] * 10 + [9.0] * 4), 3.0, longest=3).sum() == 0


def write(path: Path, mean: float) -> None:
    rates = np.array([mean * (1 + (i % 6 == 0)) for i in range(120)])
    history = describe("spout", "bolt", False, rates, 60_000, 0, 10.0)
    path.write_text(json_of({"lines": [history]}))


def json_of(topologies: dict[str, list[object]]) -> str:
    import json

    return json.dumps(to_document(topologies, 60_000))  # type: ignore[arg-type]


def test_the_bursts_file_is_read_when_it_changes_and_a_bad_one_is_passed_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "bursts.json"
    watch = BurstWatch(str(path), look_secs=0.0)
    assert watch.changed() is None
    assert "bursts.file" in caplog.text
    write(path, 100.0)
    found = watch.changed()
    assert found is not None
    assert found == load_bursts(str(path))
    assert watch.changed() is None
    path.write_text("{")
    assert watch.changed() is None
    assert "passed over" in caplog.text
    write(path, 12345.0)
    assert watch.changed() is not None
