"""Reference topology (Aniello et al. 2013, section 4.1, figure 2).

::

    spout ─shuffle─► simple-1 ─fields(value)─► stateful-2 ─shuffle─► simple-3 ─► … ─► ack
      4                 3                          2                    3              2

A chain of stages: a spout, then bolts that receive by shuffle grouping (simple) and by fields
grouping (stateful) in turn, and an ack bolt that completes the tuples. Spout executor ``i`` of
``C0`` emits growing numbers at the fixed rate ``R_i = R (1 - V (1 - 2 i / (C0 - 1)))``. A bolt
forwards the number it received with probability 1/2, else a constant of its executor, so that
some pairs of executors talk more than others.

Storm's acking is off. The ack bolt measures the latency and publishes how many tuples of each
spout task it completed; with ``max_outstanding`` a spout task pauses while too many of its tuples
are under way (it reads what the ack bolts published in ``results_dir``). With ``acking=true``
Storm's acking is used instead, and each tuple is then counted exactly once.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamparse import Grouping, Topology

from topologies.common.bolt import BenchBolt, Output, TallySink, output_fields
from topologies.common.events import Event
from topologies.common.identity import split_id
from topologies.common.options import RunOptions, component, make_topology, watermarks
from topologies.common.spout import SourceSpout, source_outputs
from topologies.data.dataset import share, up_to

_LOOK_EVERY_SECONDS = 0.2
_GIVE_UP_SECONDS = 30.0
_COMPLETED = "completed:"


@dataclass(frozen=True)
class Options(RunOptions):
    """The values of figure 3; R and V as in figures 4 to 7."""

    acking: bool = False
    """Whether Storm's acking is used in place of the topology's own."""
    rate: float = 100.0
    """R: mean tuples a second of a spout task."""
    variance: float = 0.2
    """V: the largest difference of a task's rate from R, as a share of R."""
    stages: int = 7
    """Stages from the spout on, without the ack bolt."""
    spouts: int = 4
    """Executors of the spout (C0)."""
    simple: int = 3
    """Executors of each bolt that receives by shuffle grouping."""
    stateful: int = 2
    """Executors of each bolt that receives by fields grouping, and of the ack bolt."""
    max_outstanding: int = 0
    """Tuples of a spout task that may be under way without acking; 0: no limit but the rate."""


def rate_of(mean: float, variance: float, index: int, count: int) -> float:
    """R_i; a single spout executor emits at the mean."""
    if count == 1:
        return mean
    return mean * (1 - variance * (1 - 2 * index / (count - 1)))


def next_value(value: int, constant: int, seed: int, component_name: str, name: str) -> int:
    """The received value or the executor's constant, by a toss that a replay repeats."""
    toss = zlib.crc32(f"{seed}:{component_name}:{name}".encode())
    return value if toss & 0x8000 else constant


class NumberSpout(SourceSpout):
    outputs = source_outputs("value")

    def initialize(self, storm_conf: dict[str, Any], context: dict[str, Any]) -> None:
        super().initialize(storm_conf, context)
        self._throttle = Throttle(
            int(self.options.get("max_outstanding", 0)),
            self.settings.results_path,
            self.place.name,
        )

    def rate(self) -> float:
        variance = float(self.options.get("variance", 0.0))
        return rate_of(self.settings.rate, variance, self.place.index, self.place.count)

    def events(self) -> Iterable[Event]:
        size = share(self.settings.events or None, self.place.index, self.place.count)
        return ((number, [number]) for number in up_to(size))

    def next_tuple(self) -> None:
        if self._throttle.is_open(self.report.counters.get("events", 0)):
            super().next_tuple()
        else:
            time.sleep(0.001)


class Throttle:
    """Lets a spout task emit while not too many of its tuples are under way.

    Without acking a lost tuple is never completed; if nothing is completed for half a minute,
    what is missing counts as lost.
    """

    def __init__(self, limit: int, directory: Path | None, task: str) -> None:
        self._limit = limit
        self._directory = directory
        self._task = task
        self._completed = 0
        self._lost = 0
        self._looked = 0.0
        self._progressed = time.monotonic()

    def is_open(self, emitted: int) -> bool:
        if self._limit == 0 or self._directory is None:
            return True
        now = time.monotonic()
        if now - self._looked >= _LOOK_EVERY_SECONDS:
            self._looked = now
            completed = self._read()
            if completed > self._completed:
                self._completed, self._progressed = completed, now
        if now - self._progressed > _GIVE_UP_SECONDS:
            self._lost, self._progressed = emitted - self._completed, now
        return emitted - self._completed - self._lost < self._limit

    def _read(self) -> int:
        assert self._directory is not None
        completed = 0
        for path in self._directory.glob("counters-ack.*.json"):
            completed += int(json.loads(path.read_text()).get(_COMPLETED + self._task, 0))
        return completed


class ChainBolt(BenchBolt):
    """A simple or stateful bolt: they differ in how they are fed, not in what they do."""

    outputs = output_fields("value")

    def process(self, tup: Any) -> None:
        value, name, intended = tup.values
        self._arrived(intended)
        constant = 1_000_000 + self.place.index
        component_name = self.place.component
        forwarded = next_value(value, constant, self.settings.seed, component_name, name)
        self.deliver(Output([forwarded], name), intended)


class AckBolt(TallySink):
    """Completes tuples: latency, and how many of each spout task."""

    def process(self, tup: Any) -> None:
        if tup.stream == "default":
            self.report.count(_COMPLETED + split_id(tup.values[-2])[0])
        super().process(tup)

    def payload(self, tup: Any) -> list[Any]:
        return []


def build(options: Options) -> type[Topology]:
    spout = NumberSpout.spec(
        name="spout",
        par=options.spouts,
        config=component(
            levels=1, variance=options.variance, max_outstanding=options.max_outstanding
        ),
    )
    stages: list[Any] = [spout]
    for number, (kind, grouping, tasks) in zip(
        range(1, options.stages), _alternating(options), strict=False
    ):
        name = f"{kind}-{number}"
        stages.append(ChainBolt.spec(name=name, inputs={stages[-1]: grouping}, par=tasks))
    ack = AckBolt.spec(
        name="ack",
        inputs={stages[-1]: Grouping.fields("id"), **watermarks(spout)},
        par=options.stateful,
        config=component(level=1),
    )
    components = {stage.name: stage for stage in (*stages, ack)}
    return make_topology("reference", components, options.config())


def _alternating(options: Options) -> Iterator[tuple[str, Any, int]]:
    while True:
        yield "simple", Grouping.SHUFFLE, options.simple
        yield "stateful", Grouping.fields("value"), options.stateful
