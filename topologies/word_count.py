"""Word Count (Cardellini et al. 2015, section IV-B d).

::

    source ──shuffle──► split ──fields(word)──► count ──fields(word)──► consumer
      2                   3                       3                        3

The source emits 1 sentence a second, ``split`` cuts it into words, ``count`` counts each word
and tells the consumer of every update. Source and consumer can be pinned. The consumer's result
is the count of every word at the end of the stream, whatever was replayed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from streamparse import Grouping, Topology

from topologies.common.bolt import FinalBolt, Logic, StatefulBolt, StatelessBolt, output_fields
from topologies.common.counting import CountLogic, LatestCountLogic
from topologies.common.dataset_spout import DatasetSpout
from topologies.common.options import RunOptions, component, hosts, make_topology, watermarks
from topologies.common.spout import source_outputs
from topologies.data.dataset import Dataset
from topologies.data.sentences import Sentences


@dataclass(frozen=True)
class Options(RunOptions):
    """The paper's values; two worker nodes with two slots each."""

    rate: float = 1.0
    sources: int = 2
    """Executors of the source."""
    splitters: int = 3
    """Executors of the operator that splits sentences."""
    counters: int = 3
    """Executors of the operator that counts words."""
    consumers: int = 3
    """Executors of the consumer."""
    pin_source: str = ""
    """Hosts of the source, separated by commas."""
    pin_consumer: str = ""
    """Hosts of the consumer, separated by commas."""


class SentenceSpout(DatasetSpout):
    outputs = source_outputs("number", "sentence")

    def dataset(self) -> Dataset:
        return Sentences()


class SplitBolt(StatelessBolt):
    outputs = output_fields("word")

    def transform(self, values: Sequence[Any]) -> Iterable[list[Any]]:
        return ([word] for word in words_of(values[1]))


class CountBolt(StatefulBolt):
    outputs = output_fields("word", "count")

    def logic(self) -> Logic:
        return CountLogic()


class ConsumerBolt(FinalBolt):
    dedupe = False

    def logic(self) -> Logic:
        return LatestCountLogic()

    def fields(self, values: Sequence[Any]) -> dict[str, Any]:
        return {"word": values[0], "count": values[1]}


def words_of(sentence: str) -> list[str]:
    return sentence.lower().split()


def build(options: Options) -> type[Topology]:
    source = SentenceSpout.spec(name="source", par=options.sources, config=component(levels=2))
    split = SplitBolt.spec(name="split", inputs={source: Grouping.SHUFFLE}, par=options.splitters)
    count = CountBolt.spec(
        name="count",
        inputs={split: Grouping.fields("word"), **watermarks(source)},
        par=options.counters,
        config=component(level=1),
    )
    consumer = ConsumerBolt.spec(
        name="consumer",
        inputs={count: Grouping.fields("word"), **watermarks(source)},
        par=options.consumers,
        config=component(level=2),
    )
    pins = {"source": hosts(options.pin_source), "consumer": hosts(options.pin_consumer)}
    return make_topology(
        "word-count",
        {"source": source, "split": split, "count": count, "consumer": consumer},
        options.config(pins),
    )
