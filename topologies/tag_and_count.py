"""Tag-and-count (Cardellini et al. 2015, section IV-A, figure 2).

::

    source ─► tokenise ─► tag ─► tally ─► classify ─fields(class)─► number ─► consumer
      1           1        1       1          1                        1          1

A source of 10 sentences a second, a row of five operators, a consumer; source and consumer are
pinned. The operators cut a sentence into words, tag each word, tally the tags, give the sentence
a class by its most frequent tag, and number the sentences of each class. In the ``heavy`` form
each of the five takes about 14 ms of processor time a tuple, in the ``replicated`` form each has
two executors (20 links in place of 6). The result is the number of sentences of each class.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from streamparse import Grouping, Topology

from topologies.common.bolt import FinalBolt, Logic, StatefulBolt, StatelessBolt, output_fields
from topologies.common.counting import CountLogic, LatestCountLogic
from topologies.common.dataset_spout import DatasetSpout
from topologies.common.options import RunOptions, component, hosts, make_topology, watermarks
from topologies.common.spout import source_outputs
from topologies.common.work import burn
from topologies.data.dataset import Dataset
from topologies.data.sentences import Sentences

FORMS = ("base", "heavy", "replicated")
_HEAVY_MS = 14.0
_LITTLE_WORDS = frozenset(["the", "a", "of", "and", "to", "in", "with", "over", "under", "near"])


@dataclass(frozen=True)
class Options(RunOptions):
    """The paper's values."""

    rate: float = 10.0
    form: str = "base"
    """base, heavy (14 ms an operator) or replicated (two executors an operator)."""
    work_ms: float = 0.0
    """Processor time of each operator a tuple; 0: as the form says."""
    replicas: int = 0
    """Executors of each of the five operators; 0: as the form says."""
    pin_source: str = ""
    """Hosts of the source, separated by commas."""
    pin_consumer: str = ""
    """Hosts of the consumer, separated by commas."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.form not in FORMS:
            raise ValueError(f"form is {self.form!r}, but it is one of {', '.join(FORMS)}")


class SentenceSource(DatasetSpout):
    outputs = source_outputs("number", "sentence")

    def dataset(self) -> Dataset:
        return Sentences()


class TokeniseBolt(StatelessBolt):
    outputs = output_fields("words")

    def transform(self, values: Sequence[Any]) -> Iterable[list[Any]]:
        burn(self.options["work_ms"])
        return [[" ".join(tokens(values[1]))]]


class TagBolt(StatelessBolt):
    outputs = output_fields("tags")

    def transform(self, values: Sequence[Any]) -> Iterable[list[Any]]:
        burn(self.options["work_ms"])
        return [[" ".join(tag_of(word) for word in values[0].split())]]


class TallyBolt(StatelessBolt):
    outputs = output_fields("tally")

    def transform(self, values: Sequence[Any]) -> Iterable[list[Any]]:
        burn(self.options["work_ms"])
        return [[json.dumps(tally(values[0].split()))]]


class ClassifyBolt(StatelessBolt):
    outputs = output_fields("kind")

    def transform(self, values: Sequence[Any]) -> Iterable[list[Any]]:
        burn(self.options["work_ms"])
        return [[class_of(json.loads(values[0]))]]


class NumberBolt(StatefulBolt):
    outputs = output_fields("kind", "count")

    def logic(self) -> Logic:
        return CountLogic()

    def process(self, tup: Any) -> None:
        if tup.stream == "default":
            burn(self.options["work_ms"])
        super().process(tup)


class ConsumerBolt(FinalBolt):
    dedupe = False

    def logic(self) -> Logic:
        return LatestCountLogic()

    def fields(self, values: Sequence[Any]) -> dict[str, Any]:
        return {"class": values[0], "sentences": values[1]}


def tokens(sentence: str) -> list[str]:
    return sentence.lower().split()


def tag_of(word: str) -> str:
    """A crude part of speech, by the word's shape."""
    if word in _LITTLE_WORDS:
        return "function"
    if word.endswith("s"):
        return "verb"
    return "adjective" if word.endswith(("t", "y", "n", "w")) else "noun"


def tally(tags: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(tags).items()))


def class_of(counts: dict[str, int]) -> str:
    """The most frequent tag; of equally frequent ones the first by name."""
    return min(counts, key=lambda tag: (-counts[tag], tag)) if counts else "empty"


def build(options: Options) -> type[Topology]:
    work_ms = options.work_ms or (_HEAVY_MS if options.form == "heavy" else 0.0)
    replicas = options.replicas or (2 if options.form == "replicated" else 1)
    work = component(work_ms=work_ms)
    source = SentenceSource.spec(name="source", par=1, config=component(levels=2))
    stages: list[Any] = [source]
    for name, bolt in (
        ("tokenise", TokeniseBolt),
        ("tag", TagBolt),
        ("tally", TallyBolt),
        ("classify", ClassifyBolt),
    ):
        inputs = {stages[-1]: Grouping.SHUFFLE}
        stages.append(bolt.spec(name=name, inputs=inputs, par=replicas, config=work))
    number = NumberBolt.spec(
        name="number",
        inputs={stages[-1]: Grouping.fields("kind"), **watermarks(source)},
        par=replicas,
        config=component(level=1, work_ms=work_ms),
    )
    consumer = ConsumerBolt.spec(
        name="consumer",
        inputs={number: Grouping.GLOBAL, **watermarks(source)},
        par=1,
        config=component(level=2),
    )
    pins = {"source": hosts(options.pin_source), "consumer": hosts(options.pin_consumer)}
    components = {stage.name: stage for stage in (*stages, number, consumer)}
    return make_topology("tag-and-count", components, options.config(pins))
