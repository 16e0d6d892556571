"""Pacing, progress, journals, results: the parts that make a run exact, one by one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.topologies.local_storm import LocalStorm
from tests.topologies.test_runs_without_storm import run_to_end
from topologies import reference, word_count
from topologies.common.journal import FileJournal
from topologies.common.latency import LatencyHistogram
from topologies.common.pacing import Pacer
from topologies.common.progress import Progress, Watermark
from topologies.common.redis_server import redis_server
from topologies.common.redis_store import RedisMissing, connect
from topologies.common.results import (
    ConflictingResults,
    TaskReport,
    finished_sources,
    read_latency,
    read_results,
)
from topologies.common.task import RUN_KEY, RunSettings, TaskPlace
from topologies.data.dataset import write_dataset
from topologies.data.sentences import Sentences


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_source_that_was_held_up_owes_the_events_of_the_meantime() -> None:
    clock = Clock()
    pacer = Pacer(10.0, clock)
    assert pacer.due(100) == 1
    assert pacer.take() == 1000.0
    assert pacer.due(100) == 0
    assert pacer.seconds_until_due() == pytest.approx(0.1)
    clock.now += 1.0
    assert pacer.due(100) == 10
    assert pacer.due(4) == 4
    assert [pacer.take() for _ in range(3)] == pytest.approx([1000.1, 1000.2, 1000.3])


def test_without_a_rate_an_event_is_due_when_it_is_emitted() -> None:
    clock = Clock()
    pacer = Pacer(0.0, clock)
    assert pacer.due(7) == 7
    clock.now += 5
    assert pacer.take() == 1005.0
    assert pacer.seconds_until_due() == 0.0


def test_a_watermark_waits_for_all_acks_before_it_and_passes_its_levels_in_turn() -> None:
    progress = Progress(levels=2)
    first, second = Watermark(2, 20, 0.0), Watermark(4, 40, 0.0)
    progress.candidate(first)
    progress.candidate(second)
    for seq in (0, 2, 3):
        progress.acked(seq)
    assert progress.next_to_send() is None
    progress.acked(1)
    assert progress.next_to_send() == (first, 1)
    progress.acked(4)
    assert progress.next_to_send() is None, "one watermark at a time"
    assert progress.watermark_acked(2, 2) is None, "level 2 was never sent"
    assert progress.watermark_acked(2, 1) == (first, 2)
    assert progress.confirmed == -1
    assert progress.watermark_acked(2, 2) is None
    assert progress.confirmed == 2
    assert progress.next_to_send() == (second, 1)


def test_the_end_is_told_last_and_finishes_the_source() -> None:
    progress = Progress(levels=1, confirmed=4)
    progress.end(5, 0.0)
    assert progress.next_to_send() is None
    progress.acked(5)
    sent = progress.next_to_send()
    assert sent is not None
    assert sent[0].seq == 6
    assert not progress.finished
    progress.watermark_acked(6, 1)
    assert progress.finished
    assert progress.next_to_send() is None


def test_a_journal_gives_back_snapshot_and_records_but_no_half_line(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path, "a.0", compact_every=3)
    assert journal.restore()[0] is None
    for number in range(4):
        journal.append(["tuple", number])
    journal.compact(lambda: {"sum": 6})
    journal.append(["tuple", 4])
    journal.close()
    records = next(tmp_path.glob("*.jsonl"))
    with open(records, "a") as file:
        file.write('["tuple", 5')
    again = FileJournal(tmp_path, "a.0")
    snapshot, since = again.restore()
    assert snapshot == {"sum": 6}
    assert list(since) == [["tuple", 4]]
    again.append(["tuple", 6])
    again.close()
    last = FileJournal(tmp_path, "a.0")
    assert list(last.restore()[1]) == [["tuple", 4], ["tuple", 6]]
    last.close()


def test_results_of_a_replay_count_once_and_a_changed_one_is_refused(tmp_path: Path) -> None:
    for count in (1, 1):
        TaskReport(tmp_path, "sink.0").result("x", {"count": count})
    assert read_results(tmp_path) == {"x": {"id": "x", "count": 1}}
    TaskReport(tmp_path, "sink.1").result("x", {"count": 2})
    with pytest.raises(ConflictingResults):
        read_results(tmp_path)


def test_latency_quantiles_are_within_five_percent_and_add_up() -> None:
    histograms = [LatencyHistogram(), LatencyHistogram()]
    for value in range(1, 1001):
        histograms[value % 2].record(float(value))
    total = LatencyHistogram.total(
        LatencyHistogram.from_dict(json.loads(json.dumps(h.as_dict()))) for h in histograms
    )
    assert total.count == 1000
    assert total.mean_ms == pytest.approx(500.5)
    assert total.max_ms == 1000
    for share in (0.5, 0.95, 0.99):
        assert total.quantile_ms(share) == pytest.approx(1000 * share, rel=0.05)


def test_a_task_knows_its_place_and_whom_it_hears() -> None:
    context = {
        "taskid": 7,
        "componentid": "count",
        "task->component": {
            "3": "count",
            "7": "count",
            "4": "source",
            "5": "source",
            "1": "__acker",
        },
        "source->stream->grouping": {"source": {"watermark": "all"}, "split": {"default": "x"}},
    }
    place = TaskPlace.from_context(context)
    assert (place.name, place.count) == ("count.1", 2)
    assert place.watermark_sources == ("source.0", "source.1")


def test_options_become_storm_configuration() -> None:
    options = word_count.Options(
        acking=False, max_pending=9, pin_source="n1, n2", events=5, results_dir="/r"
    )
    config = word_count.build(options).config
    assert config["topology.acker.executors"] == 0
    assert config["topology.max.spout.pending"] == 9
    assert config["topology.brain.pin"] == {"source": ["n1", "n2"]}
    settings = RunSettings.from_conf(json.loads(json.dumps(config)))
    assert (settings.events, settings.reliable, settings.results_dir) == (5, False, "/r")
    assert RUN_KEY in config


def test_each_submission_has_a_state_of_its_own() -> None:
    config = word_count.Options(state_dir="/s").config()
    first = RunSettings.from_conf({**config, "storm.id": "wc-1-100"})
    second = RunSettings.from_conf({**config, "storm.id": "wc-2-200"})
    assert (first.state_path, second.state_path) == (Path("/s/wc-1-100"), Path("/s/wc-2-200"))


def test_a_run_reads_files_in_place_of_generating(tmp_path: Path) -> None:
    write_dataset(Sentences(), tmp_path / "data", 9, 3, 60)
    (tmp_path / "data" / "part-00000.txt").open("a").write("not a number\ttext\n")
    options = word_count.Options(
        rate=0.0, data_dir=str(tmp_path / "data"), results_dir=str(tmp_path / "results")
    )
    storm = LocalStorm(word_count.build(options), seed=1)
    run_to_end(storm, tmp_path / "results", {})
    done = finished_sources(tmp_path / "results")
    assert sum(counters["events"] for counters in done.values()) == 60
    assert sum(counters.get("malformed", 0) for counters in done.values()) == 1


def test_unacked_runs_emit_everything_and_measure_latency(tmp_path: Path) -> None:
    options = word_count.Options(
        rate=0.0, events=50, acking=False, results_dir=str(tmp_path / "results")
    )
    storm = LocalStorm(word_count.build(options), seed=1)
    run_to_end(storm, tmp_path / "results", {})
    storm.run(5000)
    storm.tick()
    assert read_latency(tmp_path / "results", "split").count == 50


def test_reference_rates_spread_around_the_mean() -> None:
    rates = [reference.rate_of(100.0, 0.2, i, 4) for i in range(4)]
    assert rates == pytest.approx([80.0, 93.3333333, 106.6666667, 120.0])
    assert sum(rates) / 4 == pytest.approx(100.0)
    assert reference.rate_of(100.0, 0.2, 0, 1) == 100.0


def test_reference_bolts_forward_half_of_the_values_and_repeat_their_toss() -> None:
    values = [reference.next_value(5, 1_000_000, 1, "simple-1", f"s.0:{i}") for i in range(4000)]
    assert 1800 < values.count(5) < 2200
    assert values == [
        reference.next_value(5, 1_000_000, 1, "simple-1", f"s.0:{i}") for i in range(4000)
    ]


def test_the_throttle_of_reference_waits_for_the_ack_bolt(tmp_path: Path) -> None:
    throttle = reference.Throttle(10, tmp_path, "spout.0")
    assert throttle.is_open(9)
    assert not throttle.is_open(10)
    report = TaskReport(tmp_path, "ack.0")
    report.count("completed:spout.0", 5)
    report.flush()
    throttle._looked = 0.0
    assert throttle.is_open(14)
    assert not throttle.is_open(15)


def test_a_missing_redis_is_told_with_what_to_do() -> None:
    with pytest.raises(RedisMissing, match="redis_url"):
        connect("redis://127.0.0.1:1/0")


@pytest.mark.redis
def test_a_redis_server_is_started_where_none_is_given() -> None:
    with redis_server() as url:
        assert connect(url).ping()
        with redis_server(url) as same:
            assert same == url
    with pytest.raises(RedisMissing):
        connect(url)
