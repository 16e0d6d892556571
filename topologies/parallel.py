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
topology (3 KB, the mean size of an e-mail in the Enron set).
"""

from __future__ import annotations

import hashlib
import random
import string
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import count, islice
from typing import Any

from streamparse import Bolt, Grouping, Spout, Topology

from topologies.common.java_hash import fields_grouping_index
from topologies.common.options import make_topology
from topologies.common.pacing import Pacer
from topologies.common.task import TaskPlace

OPTIONS_KEY = "topology.parallel.options"
_LONGEST_NAP_SECONDS = 0.005


@dataclass(frozen=True)
class Options:
    depth: int = 7
    """Bolts in a row after the spout (D)."""
    parallelism: int = 3
    """Tasks of the spout and of each bolt (P); the paper takes the number of nodes."""
    rate: float = 0.0
    """Tuples a second of each spout task; 0: as fast as acking and back pressure allow."""
    payload: int = 0
    """Bytes that each tuple carries besides its key."""
    acking: bool = True
    """Whether tuples are tracked and replayed when lost."""
    max_pending: int = 200
    """Unacked tuples a spout task may have (topology.max.spout.pending)."""
    batch: int = 10
    """Tuples a spout task emits in one call at most."""
    keys: int = 1000
    """Different keys of each spout task."""
    weave: bool = True
    """Whether lines change the task index from stage to stage (see above)."""
    seed: int = 0
    """The same seed gives the same keys, payload and permutations."""

    def __post_init__(self) -> None:
        for name in ("depth", "parallelism", "max_pending", "batch", "keys"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be 1 or more, not {getattr(self, name)}")
        for name in ("rate", "payload"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be 0 or more, not {getattr(self, name)}")


class KeySpout(Spout):  # type: ignore[misc]
    """Emits keys of its own line, in turn; with acking, a lost tuple is emitted again."""

    outputs: tuple[str, ...] = ("key",)

    def initialize(self, storm_conf: dict[str, Any], context: dict[str, Any]) -> None:
        options = Options(**storm_conf[OPTIONS_KEY])
        place = TaskPlace.from_context(context)
        line = next_index(options, 0, place.index, place.count)
        self._tuples = line_tuples(options, line, place.count)
        self._reliable = options.acking
        self._batch = options.batch
        self._pacer = Pacer(options.rate)
        self._emitted = 0

    def next_tuple(self) -> None:
        for _ in range(self._pacer.due(self._batch)):
            self._pacer.take()
            self._emit(self._emitted)
            self._emitted += 1
        nap = self._pacer.seconds_until_due()
        if nap > 0:
            time.sleep(min(nap, _LONGEST_NAP_SECONDS))

    def fail(self, tup_id: str) -> None:
        self._emit(int(tup_id))

    def _emit(self, number: int) -> None:
        values = self._tuples[number % len(self._tuples)]
        self.emit(values, tup_id=str(number) if self._reliable else None)


class KeyBolt(Bolt):  # type: ignore[misc]
    """Passes tuples on along their line."""

    outputs: tuple[str, ...] = ("key",)

    def initialize(self, storm_conf: dict[str, Any], context: dict[str, Any]) -> None:
        options = Options(**storm_conf[OPTIONS_KEY])
        place = TaskPlace.from_context(context)
        stage = int(place.component.rpartition("-")[2])
        self._lines = place.count
        self._next = next_index(options, stage, place.index, place.count)
        self._keys: dict[str, str] = {}

    def process(self, tup: Any) -> None:
        key = tup.values[0]
        onward = self._keys.get(key)
        if onward is None:
            onward = self._keys[key] = key_for(key, self._next, self._lines)
        self.emit([onward, *tup.values[1:]])


class PayloadSpout(KeySpout):
    outputs = ("key", "payload")


class PayloadBolt(KeyBolt):
    outputs = ("key", "payload")


class LastBolt(Bolt):  # type: ignore[misc]
    """The end of a line: takes tuples in and says nothing."""

    def process(self, tup: Any) -> None:
        pass


def next_index(options: Options, stage: int, index: int, lines: int) -> int:
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
    if options.payload == 0:
        return [[key] for key in keys]
    letters = random.Random(options.seed).choices(string.ascii_letters, k=options.payload)
    return [[key, "".join(letters)] for key in keys]


def build(options: Options) -> type[Topology]:
    spout, bolt = (PayloadSpout, PayloadBolt) if options.payload else (KeySpout, KeyBolt)
    stages = [spout.spec(name="spout", par=options.parallelism)]
    for number in range(1, options.depth + 1):
        kind = bolt if number < options.depth else LastBolt
        inputs = {stages[-1]: Grouping.fields("key")}
        stages.append(kind.spec(name=f"bolt-{number}", inputs=inputs, par=options.parallelism))
    config: dict[str, Any] = {
        OPTIONS_KEY: asdict(options),
        "topology.workers": options.parallelism,
        "topology.max.spout.pending": options.max_pending,
    }
    if not options.acking:
        config["topology.acker.executors"] = 0
    return make_topology("parallel", {stage.name: stage for stage in stages}, config)
