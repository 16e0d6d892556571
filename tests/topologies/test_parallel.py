"""The lines of Parallel stay straight under Storm's fields grouping."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest

from tests.topologies.local_storm import LocalStorm
from topologies.common.java_hash import fields_grouping_index
from topologies.common.results import read_counters, read_latency
from topologies.common.task import RUN_KEY
from topologies.parallel import (
    Options,
    build,
    key_for,
    line_keys,
    line_tuples,
    next_index,
)


@pytest.mark.parametrize("lines", [1, 2, 3, 7, 10, 80])
def test_every_key_of_a_spout_task_stays_on_its_line(lines: int) -> None:
    for line in range(lines):
        keys = list(islice(line_keys(0, line, lines), 20))
        assert {fields_grouping_index([key], lines) for key in keys} == {line}


@pytest.mark.parametrize("weave", [True, False])
def test_no_two_lines_ever_meet(weave: bool) -> None:
    options = Options(depth=7, parallelism=10, weave=weave)
    for stage in range(options.depth):
        after = [next_index(options, stage, i, 10) for i in range(10)]
        assert sorted(after) == list(range(10))
        assert weave or after == list(range(10))


def test_a_bolt_turns_a_key_only_as_far_as_it_must() -> None:
    [key] = islice(line_keys(0, 1, 3), 1)
    assert key_for(key, 1, 3) == key
    turned = key_for(key, 2, 3)
    assert fields_grouping_index([turned], 3) == 2
    assert len(bytes.fromhex(turned)) == 16


def test_keys_are_128_bit_md5_values_and_all_different() -> None:
    keys = [tup[0] for line in range(3) for tup in line_tuples(Options(keys=500), line, 3)]
    assert len(set(keys)) == 1500
    assert all(len(bytes.fromhex(key)) == 16 for key in keys)


def test_the_seed_alone_decides_what_is_emitted() -> None:
    first = line_tuples(Options(seed=1, payload=50), 2, 3)
    assert line_tuples(Options(seed=1, payload=50), 2, 3) == first
    assert line_tuples(Options(seed=2, payload=50), 2, 3) != first


def test_the_payload_has_the_size_asked_for() -> None:
    assert {len(payload) for _, payload in line_tuples(Options(payload=3072, keys=5), 0, 3)} == {
        3072
    }
    assert {payload for _, payload in line_tuples(Options(), 0, 3)} == {""}


def test_the_topology_is_a_chain_grouped_on_the_key() -> None:
    topology = build(Options(depth=4, parallelism=5, payload=10))
    assert {c.common.parallelism_hint for c in topology.thrift_bolts.values()} == {5}
    inputs = {}
    for name, bolt in topology.thrift_bolts.items():
        [(stream, grouping)] = bolt.common.inputs.items()
        inputs[name] = stream.componentId
        assert grouping.fields == ["key"]
    assert inputs == {"bolt-1": "spout", "bolt-2": "bolt-1", "bolt-3": "bolt-2", "bolt-4": "bolt-3"}
    assert not topology.thrift_bolts["bolt-4"].common.streams
    assert topology.thrift_spouts["spout"].common.streams["default"].output_fields == [
        "key",
        "payload",
        "id",
        "intended",
    ]


def test_only_a_finite_run_tells_the_last_bolts_how_far_the_spouts_are() -> None:
    endless, finite = (build(Options(depth=3, events=n)).thrift_bolts for n in (0, 100))
    assert {s.streamId for s in endless["bolt-3"].common.inputs} == {"default"}
    assert {s.streamId for s in finite["bolt-3"].common.inputs} == {"default", "watermark"}
    assert {s.streamId for s in finite["bolt-2"].common.inputs} == {"default"}


def test_there_is_a_worker_for_each_line_unless_told_otherwise() -> None:
    config = json.loads(json.dumps(build(Options(parallelism=4, acking=False, rate=5.0)).config))
    assert config["topology.workers"] == 4
    assert config["topology.acker.executors"] == 0
    assert config[RUN_KEY]["rate"] == 5.0
    assert build(Options(parallelism=4, workers=2)).config["topology.workers"] == 2


@pytest.mark.parametrize("acking", [True, False])
def test_an_endless_run_counts_and_times_every_tuple_and_keeps_its_lines(
    acking: bool, tmp_path: Path
) -> None:
    options = Options(depth=3, parallelism=3, acking=acking, results_dir=str(tmp_path))
    storm = LocalStorm(build(options), seed=1)
    storm.run(2000)
    storm.tick()
    for spout in storm.tasks("spout"):
        spout.report.flush()
    counters = read_counters(tmp_path)
    emitted = {c["events"] for task, c in counters.items() if task.startswith("spout.")}
    assert all(n > 20 for n in emitted)
    arrived = sum(c["in"] for task, c in counters.items() if task.startswith("bolt-3."))
    passed = sum(c["out"] for task, c in counters.items() if task.startswith("bolt-2."))
    assert 0 < arrived <= passed <= sum(c["events"] for c in counters.values() if "events" in c)
    assert read_latency(tmp_path, "bolt-3").count == arrived
    for stage, name in enumerate(("bolt-1", "bolt-2")):
        feeds = {next_index(options, stage, i, 3): i for i in range(3)}
        sent, task = ("events", "spout") if stage == 0 else ("out", "bolt-1")
        for index, feeder in feeds.items():
            assert counters[f"{name}.{index}"]["in"] <= counters[f"{task}.{feeder}"][sent]


@pytest.mark.parametrize("wrong", [{"depth": 0}, {"parallelism": 0}, {"rate": -1}, {"payload": -1}])
def test_impossible_options_are_refused_by_name(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Options(**wrong)
