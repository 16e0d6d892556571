"""KATTS section 4: the shape of the paper's result, measured on generated histories."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from brain.errors import BadInput, StormbrainError
from brain.pipeline.histories import PARALLELISM, READERS, generate, storm_hash
from brain.pipeline.learn import Judgement, judge_all, learn, summary


@pytest.fixture(scope="module")
def judged(spark: SparkSession) -> dict[str, dict[str, dict[str, float]]]:
    documents = judge_all(spark, None, objective="cut", slices=6, seed=4)
    return {d["history"]: d["summary"] for d in documents}


def test_srbench_leaves_hardly_a_message_on_the_network(
    judged: dict[str, dict[str, dict[str, float]]],
) -> None:
    found = judged["srbench"]
    for strategy in ("oracle", "prev-1", "prev-2", "prev-3"):
        saved = 1 - found[strategy]["network_percent"] / found["uniform"]["network_percent"]
        assert saved > 0.98
    assert found["prev-1"]["network_percent"] < 0.01 * found["uniform"]["network_percent"]


def test_opengov_halves_and_learning_is_close_to_the_oracle(
    judged: dict[str, dict[str, dict[str, float]]],
) -> None:
    found = judged["opengov"]
    uniform, oracle = (found[s]["network_percent"] for s in ("uniform", "oracle"))
    assert 0.25 * uniform < oracle < 0.55 * uniform
    for strategy in ("prev-1", "prev-2", "prev-3"):
        assert found[strategy]["network_percent"] < oracle * 1.15
        assert found[strategy]["load_rsd_percent"] < 10


def test_messages_and_load_are_counted_right(spark: SparkSession) -> None:
    """Chains of four tasks that talk to no others: a good placement keeps each chain together."""
    hops = [(4 * chain + i, 4 * chain + i + 1) for chain in range(12) for i in (1, 2, 3)]
    rows = [(s, a, b, 10) for s in range(5) for a, b in hops]
    slices, source, target, tuples = (list(c) for c in zip(*rows, strict=True))
    table = pa.table({"slice": slices, "source": source, "target": target, "tuples": tuples})
    found = learn(spark.createDataFrame(table), machines=2, objective="cut")
    assert {j.slice for j in found} == {3, 4}
    by_strategy: dict[str, list[Judgement]] = {}
    for j in found:
        by_strategy.setdefault(j.strategy, []).append(j)
    for j in by_strategy["prev-2"] + by_strategy["oracle"]:
        assert (j.messages, j.network_messages, j.load_rsd_percent) == (360, 0, 0)
    # By id a chain goes to machines 0, 1, 0, 1: all cross, and machine 1 receives two of three.
    for j in by_strategy["round-robin"]:
        assert j.network_percent == 100
        assert j.load_rsd_percent == pytest.approx(100 / 3)
    assert summary(found)["oracle"]["network_percent"] == 0


def test_a_history_that_is_too_short_is_refused(spark: SparkSession) -> None:
    table = pa.table({"slice": [0, 1, 2], "source": [1] * 3, "target": [2] * 3, "tuples": [1] * 3})
    with pytest.raises(StormbrainError, match="has 3 slices"):
        learn(spark.createDataFrame(table), machines=2)
    with pytest.raises(BadInput, match="vol, cut or both"):
        judge_all(spark, None, objective="best")


def test_histories_have_the_queries_shape() -> None:
    srbench = generate("srbench", slices=1)
    assert len(srbench.components["reader"]) == READERS
    assert len(srbench.components["filter"]) == PARALLELISM
    source = srbench.table.column("source").to_numpy()
    target = srbench.table.column("target").to_numpy()
    aggregate, filters = srbench.components["aggregate"], srbench.components["filter"]
    between = (source >= aggregate.start) & (source < aggregate.stop) & (target < filters.stop)
    assert (target[between] - source[between] == PARALLELISM).all()
    assert generate("opengov", 2, seed=1).table == generate("opengov", 2, seed=1).table


def test_grouping_hashes_as_java_does() -> None:
    # In Java: Math.abs(List.of(s).hashCode()) for "a", "Storm" and "polygenelubricants".
    expected = np.array([128, 80218344, 2147483617]) % 1000
    assert storm_hash(["a", "Storm", "polygenelubricants"], 1000).tolist() == expected.tolist()
