"""Parallel (Fischer and Bernstein 2015, section V-A 2, figure 3).

::

    spout[0] ──► bolt-1[0] ──► bolt-2[0] ──► … ──► bolt-D[0]
    spout[1] ──► bolt-1[1] ──► bolt-2[1] ──► … ──► bolt-D[1]
       …            …             …                   …
    spout[P-1] ► bolt-1[P-1] ► bolt-2[P-1] ► … ──► bolt-D[P-1]

One spout and D bolts in a row, each with P tasks, every edge a fields grouping on the key, a
128-bit MD5 value. In the paper the lines are straight from the
first bolt on. Here they are straight from the spout on: spout task ``i`` draws only keys that
Storm's hash maps to task ``i``. So there are P lines that say nothing to each other, and a
scheduler that puts each line on one node has no traffic between nodes at all.

The line that leaves task ``i`` of a stage enters task ``next_index(i)`` of the next, a permutation
drawn from the seed (``weave``; the key is turned into one that hashes there). Storm sorts executors
before it deals them out to workers, so with straight indices and P a multiple of the workers its
own scheduler would put every line together by chance; the Storm of the paper dealt out unordered
sets, and did not. ``weave=false`` passes keys on unchanged, to the letter of the paper.

With ``payload`` above 0 the tuples carry that many bytes more, as in the paper's Payload
topology (3 KB, the mean size of an e-mail in the Enron set; ``topologies/payload.py`` has its
values as defaults).

Every tuple has a name and its intended time of emission, so latency and counters are measured at
each bolt. An endless run has no edges but those of the drawing. In a finite run (``events``) the
spouts also tell the last bolts how far they are, and the last bolts write down how many tuples of
each spout task arrived.
"""

from __future__ import annotations

import hashlib
import random
import string
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Any

from streamparse import Grouping, Topology

from topologies.common.bolt import BenchBolt, Output, TallySink, output_fields
from topologies.common.events import Event
from topologies.common.java_hash import fields_grouping_index
from topologies.common.options import RunOptions, component, make_topology, watermarks
from topologies.common.spout import SourceSpout, source_outputs
from topologies.data.dataset import share, up_to


@dataclass(frozen=True)
class LineOptions(RunOptions):
    """What Parallel and Payload have in common."""

    depth: int = 7
    """Bolts in a row after the spout (D)."""
    parallelism: int = 3
    """Tasks of the spout and of each bolt (P); the paper takes the number of machines."""
    max_pending: int = 200
    """Unacked tuples a spout task may have (topology.max.spout.pending)."""
    keys: int = 1000
    """Different keys of each spout task."""
    weave: bool = True
    """Whether lines change the task index from stage to stage (see ``parallel.py``)."""
    workers: int = 0
    """Worker processes (topology.workers); 0: as many as there are lines."""

    def config(self, pins: dict[str, list[str]] | None = None) -> dict[str, Any]:
        workers = self.workers or self.parallelism
        return {**super().config(pins), "topology.workers": workers}


@dataclass(frozen=True)
class Options(LineOptions):
    payload: int = 0
    """Bytes that each tuple carries besides its key."""


class KeySpout(SourceSpout):
    """Emits keys of its own line, in turn."""

    outputs = source_outputs("key", "payload")

    def events(self) -> Iterable[Event]:
        options = _lines(self.options, self.settings.seed)
        index, tasks = self.place.index, self.place.count
        tuples = line_tuples(options, next_index(options, 0, index, tasks), tasks)
        size = share(self.settings.events or None, index, tasks)
        return ((number, tuples[number % len(tuples)]) for number in up_to(size))


class KeyBolt(BenchBolt):
    """Passes tuples on along their line."""

    outputs = output_fields("key", "payload")

    def setup(self) -> None:
        options = _lines(self.options, self.settings.seed)
        stage, place = int(self.options["stage"]), self.place
        self._next = next_index(options, stage, place.index, place.count)
        self._keys: dict[str, str] = {}

    def process(self, tup: Any) -> None:
        key, payload, name, intended = tup.values
        self._arrived(intended)
        onward = self._keys.get(key)
        if onward is None:
            onward = self._keys[key] = key_for(key, self._next, self.place.count)
        self.deliver(Output([onward, payload], name), intended)


class LastBolt(BenchBolt):
    """The end of a line: takes tuples in and says nothing."""

    def process(self, tup: Any) -> None:
        self._arrived(tup.values[-1])


class CheckedLastBolt(TallySink):
    """The end of a line in a finite run: writes down how many tuples of which spout task came."""

    def payload(self, tup: Any) -> list[Any]:
        return []


def _lines(settings: dict[str, Any], seed: int) -> Options:
    return replace(Options(**settings["lines"]), seed=seed)


def next_index(options: LineOptions, stage: int, index: int, lines: int) -> int:
    """Which task of the next stage takes the line of this task; stage 0 is the spout."""
    order = list(range(lines))
    if options.weave:
        random.Random(f"{options.seed}:{stage}").shuffle(order)
    return order[index]


def key_for(key: str, index: int, lines: int) -> str:
    """The key itself if fields grouping sends it to that task, else one derived from it."""
    while fields_grouping_index([key], lines) != index:
        key = hashlib.md5(key.encode()).hexdigest()
    return key


def line_keys(seed: int, line: int, lines: int) -> Iterator[str]:
    """MD5 keys, in hexadecimal, that fields grouping keeps on this line; without end."""
    for number in count():
        key = hashlib.md5(f"{seed}:{line}:{number}".encode()).hexdigest()
        if fields_grouping_index([key], lines) == line:
            yield key


def line_tuples(options: Options, line: int, lines: int) -> list[list[str]]:
    """All different tuples of one line, made once, so that emitting is only a lookup."""
    keys = islice(line_keys(options.seed, line, lines), options.keys)
    letters = random.Random(options.seed).choices(string.ascii_letters, k=options.payload)
    payload = "".join(letters)
    return [[key, payload] for key in keys]


def build_lines(name: str, options: LineOptions, payload: int) -> type[Topology]:
    """The drawing above, with so many bytes of payload."""
    lines = {"keys": options.keys, "weave": options.weave, "payload": payload}
    tasks, finite = options.parallelism, options.events > 0
    listened = component(levels=int(finite), lines=lines)
    spout = KeySpout.spec(name="spout", par=tasks, config=listened)
    stages: list[Any] = [spout]
    for stage in range(1, options.depth):
        inputs = {stages[-1]: Grouping.fields("key")}
        settings = component(stage=stage, lines=lines)
        stages.append(KeyBolt.spec(name=f"bolt-{stage}", inputs=inputs, par=tasks, config=settings))
    inputs = {stages[-1]: Grouping.fields("key"), **(watermarks(spout) if finite else {})}
    end = CheckedLastBolt if finite else LastBolt
    stages.append(
        end.spec(name=f"bolt-{options.depth}", inputs=inputs, par=tasks, config=component(level=1))
    )
    return make_topology(name, {stage.name: stage for stage in stages}, options.config())


def build(options: Options) -> type[Topology]:
    return build_lines("parallel", options, options.payload)
