"""Small finite runs of every application, and what their results must be."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest

from topologies import (
    diamond,
    linear,
    log_processing,
    opengov,
    parallel,
    payload,
    reference,
    smart_homes,
    soccer,
    srbench_q3,
    star,
    tag_and_count,
    taxi,
    word_count,
)
from topologies.batch import applications, queries
from topologies.common.micro import expected_tallies
from topologies.common.redis_server import RedisServer
from topologies.common.results import read_results
from topologies.data.logs import Logs
from topologies.data.opengov import Contracts, Ticker
from topologies.data.sentences import Sentences
from topologies.data.smartplugs import SmartPlugs
from topologies.data.soccer import Soccer
from topologies.data.srbench import SRBench
from topologies.data.taxi import Taxi

SEED = 7


@dataclass(frozen=True)
class Run:
    """A benchmark with the options of a small finite run and the check of its results."""

    path: str
    module: Any
    options: dict[str, Any]
    check: Callable[[Path], None]
    needs_redis: bool = False

    def make_options(self, **more: Any) -> Any:
        known = {field.name for field in fields(self.module.Options)}
        chosen = {"seed": SEED, "acking": True, **self.options, **more}
        return self.module.Options(**{k: v for k, v in chosen.items() if k in known})


def _rows(results: Path, *names: str) -> set[tuple[Any, ...]]:
    return {tuple(row[n] for n in names) for row in read_results(results).values()}


def check_word_count(results: Path) -> None:
    expected = applications.word_count(Sentences().generate(SEED, 0, 1, 600))
    assert dict(_rows(results, "word", "count")) == expected


def check_tag_and_count(results: Path) -> None:
    expected = applications.tag_and_count(Sentences().generate(SEED, 0, 1, 400))
    assert dict(_rows(results, "class", "sentences")) == expected


def check_srbench(results: Path) -> None:
    data = SRBench(stations=10).generate(SEED, 0, 1, 2000)
    expected = queries.srbench_q3(data)
    assert expected, "the data must hold hurricanes"
    assert _rows(results, "sensor", "lowest", "time") == expected


def check_opengov(results: Path) -> None:
    ticker = Ticker(companies=24).generate(SEED, 0, 1, 2400)
    contracts = Contracts(companies=24).generate(SEED, 0, 1, 96)
    expected = queries.opengov(ticker, contracts)
    assert expected, "the data must hold doublings with contracts"
    names = ("company", "lowest", "highest", "factor", "agency", "contract", "time")
    assert _rows(results, *names) == expected


def check_soccer(results: Path) -> None:
    expected = applications.soccer(Soccer().generate(SEED, 0, 1, 3200), 1000)
    found = {(r.pop("player"), r.pop("end")): r for r in read_results(results).values()}
    assert found.keys() == expected.keys()
    for key, row in expected.items():
        assert found[key]["average_kmh"] == pytest.approx(row["average_kmh"], rel=1e-12)
        assert found[key]["distance_m"] == pytest.approx(row["distance_m"], rel=1e-12)
        assert found[key]["seconds"] == pytest.approx(row["seconds"], rel=1e-12)


def check_smart_homes(results: Path) -> None:
    data = SmartPlugs(houses=3, interval_s=1200).generate(SEED, 0, 1, 1800)
    expected = applications.smart_homes(data)
    rows = read_results(results).values()
    assert {(r["kind"], r["key"], r["time"]): r["load"] for r in rows} == expected


def check_taxi(results: Path) -> None:
    expected = applications.taxi(Taxi(trips_per_minute=20).generate(SEED, 0, 1, 800), 600_000)
    found = {row["time"]: row["top"] for row in read_results(results).values()}
    assert found == expected


def check_logs(results: Path) -> None:
    indexed, sums = applications.log_processing(Logs().generate(SEED, 0, 1, 1500))
    found = read_results(results)
    assert found.pop("indexed")["indexed"] == indexed
    rows = found.values()
    assert {(r["class"], r["end"]): (r["events"], r["bytes"]) for r in rows} == sums


def _tallies(results: Path, component: str) -> dict[str, tuple[int, int]]:
    totals: dict[str, tuple[int, int]] = {}
    for row in read_results(results, component).values():
        tuples, checksum = totals.get(row["source"], (0, 0))
        totals[row["source"]] = (tuples + row["tuples"], checksum + row["checksum"])
    return totals


def check_linear(results: Path) -> None:
    assert _tallies(results, "sink") == expected_tallies({"source": 2}, 600, 1)


def check_diamond(results: Path) -> None:
    assert _tallies(results, "sink") == expected_tallies({"source": 2}, 400, 3)


def check_star(results: Path) -> None:
    sources = {"source-1": 1, "source-2": 1}
    for sink in ("sink-1", "sink-2"):
        assert _tallies(results, sink) == expected_tallies(sources, 400, 1)


def check_reference(results: Path) -> None:
    assert _tallies(results, "ack") == expected_tallies({"spout": 2}, 400, 1)


def check_parallel(results: Path) -> None:
    assert _tallies(results, "bolt-4") == expected_tallies({"spout": 3}, 600, 1)


def check_payload(results: Path) -> None:
    assert _tallies(results, "bolt-3") == expected_tallies({"spout": 2}, 600, 1)


RUNS = {
    run.path: run
    for run in (
        Run("word_count", word_count, {"rate": 0.0, "events": 600}, check_word_count),
        Run(
            "tag_and_count",
            tag_and_count,
            {"rate": 0.0, "events": 400, "form": "replicated"},
            check_tag_and_count,
        ),
        Run(
            "srbench_q3",
            srbench_q3,
            {"events": 2000, "stations": 10, "readers": 2, "tasks": 2},
            check_srbench,
        ),
        Run(
            "opengov",
            opengov,
            {"events": 2400, "awards": 96, "companies": 24, "machines": 3},
            check_opengov,
        ),
        Run(
            "soccer",
            soccer,
            {"events": 3200, "window_seconds": 1, "sensors": 2, "speeds": 2},
            check_soccer,
        ),
        Run(
            "smart_homes",
            smart_homes,
            {"events": 1800, "houses": 3, "interval_seconds": 1200, "tasks": 2},
            check_smart_homes,
            needs_redis=True,
        ),
        Run(
            "taxi",
            taxi,
            {
                "events": 800,
                "trips_per_minute": 20,
                "window_minutes": 10,
                "sources": 2,
                "preprocessors": 2,
                "counters": 2,
                "rankers": 2,
            },
            check_taxi,
            needs_redis=True,
        ),
        Run(
            "log_processing",
            log_processing,
            {"rate": 0.0, "events": 1500},
            check_logs,
            needs_redis=True,
        ),
        Run("parallel", parallel, {"events": 600, "depth": 4}, check_parallel),
        Run(
            "payload",
            payload,
            {"events": 600, "depth": 3, "parallelism": 2, "tuple_bytes": 3072},
            check_payload,
        ),
        Run("linear", linear, {"rate": 0.0, "events": 600, "tasks": 2}, check_linear),
        Run(
            "diamond",
            diamond,
            {"rate": 0.0, "events": 400, "tasks": 2, "end_tasks": 2},
            check_diamond,
        ),
        Run(
            "star",
            star,
            {"rate": 0.0, "events": 400, "tasks": 2, "source_tasks": 1},
            check_star,
        ),
        Run(
            "reference",
            reference,
            {"rate": 0.0, "events": 400, "stages": 5, "spouts": 2, "simple": 2},
            check_reference,
        ),
    )
}


def run_names(*marks: Any) -> list[Any]:
    """All runs as parameters; those that need Redis say so."""
    return [
        pytest.param(name, marks=[*marks, *([pytest.mark.redis] if run.needs_redis else [])])
        for name, run in sorted(RUNS.items())
    ]


@contextmanager
def shared_redis() -> Iterator[str]:
    """A server for the runs that need one; no address where it is not installed, since those
    runs are then left out."""
    if shutil.which("redis-server") is None:
        yield ""
        return
    server = RedisServer()
    yield server.url
    server.stop()
