"""Every application gives the batch computation's results, whatever is replayed or restarted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.topologies.local_storm import LocalStorm
from tests.topologies.runs import RUNS, Run, run_names, shared_redis
from topologies.common.results import finished_sources, is_finished, read_counters


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    with shared_redis() as url:
        yield url


def run_to_end(storm: LocalStorm, results: Path, trouble: dict[int, tuple[str, ...]]) -> None:
    """Runs until all sources are through; restarts components at the given rounds."""
    for turn in range(3000):
        storm.run(300)
        if turn in trouble:
            storm.restart(*trouble[turn])
            storm.fail_some(0.3)
        storm.time_out()
        if is_finished(results, storm.spout_tasks()):
            return
    raise AssertionError(f"only {sorted(finished_sources(results))} are finished")


def prepare(run: Run, tmp_path: Path, redis_url: str, seed: int) -> tuple[LocalStorm, Path]:
    options = run.make_options(
        results_dir=str(tmp_path / "results"),
        state_dir=str(tmp_path / "state"),
        redis_url=redis_url if run.needs_redis else "",
        watermark_every=60,
    )
    topology = run.module.build(options)
    topology.config["storm.id"] = f"{run.path}-{tmp_path.name}"
    return LocalStorm(topology, seed), tmp_path / "results"


@pytest.mark.parametrize("name", run_names())
def test_results_equal_the_batch_computation(name: str, tmp_path: Path, redis_url: str) -> None:
    run = RUNS[name]
    storm, results = prepare(run, tmp_path, redis_url, seed=1)
    run_to_end(storm, results, {})
    run.check(results)


@pytest.mark.parametrize("name", run_names())
def test_results_survive_restarts_and_replays(name: str, tmp_path: Path, redis_url: str) -> None:
    run = RUNS[name]
    storm, results = prepare(run, tmp_path, redis_url, seed=2)
    components = storm.components()
    half = len(components) // 2
    run_to_end(
        storm,
        results,
        {1: components[:half], 3: components[half:], 5: components, 7: components[::2]},
    )
    run.check(results)
    restored = sum(c.get("restored", 0) for c in read_counters(results).values())
    assert restored > 0, "the restarts came after the end of the run: nothing was tested"


def test_counters_tell_what_went_in_and_out(tmp_path: Path) -> None:
    storm, results = prepare(RUNS["word_count"], tmp_path, "", seed=3)
    run_to_end(storm, results, {})
    storm.tick()
    counters = read_counters(results)
    emitted = sum(c["events"] for task, c in counters.items() if task.startswith("source."))
    split_in = sum(c["in"] for t, c in counters.items() if t.startswith("split."))
    split_out = sum(c["out"] for t, c in counters.items() if t.startswith("split."))
    counted = sum(c["in"] for t, c in counters.items() if t.startswith("count."))
    assert emitted == 600
    assert split_in == emitted
    assert counted == split_out
