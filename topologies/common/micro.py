"""Parts of the micro-benchmarks Linear, Diamond and Star (Eskandari et al. 2020, sections 5, 6.1).

In the I/O-intensive form the sources are slow and the operators have hardly anything to do, so
that the network decides; in the CPU-intensive form the sources supply tuples as fast as acking
allows and each operator burns processor time.
"""

from __future__ import annotations

import random
import string
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from streamparse import Grouping

from topologies.common.bolt import BenchBolt, Output, TallySink, output_fields
from topologies.common.events import Event
from topologies.common.options import RunOptions, component, watermarks
from topologies.common.spout import SourceSpout, source_outputs
from topologies.common.work import burn
from topologies.data.dataset import share, up_to

FORMS = ("io", "cpu")
_IO_RATE = 100.0
_CPU_WORK_MS = 0.5


@dataclass(frozen=True)
class MicroOptions(RunOptions):
    """What the three micro-benchmarks have in common."""

    rate: float = -1.0
    """Tuples a second of each source task; 0: as fast as acking allows; -1: as the form says."""
    form: str = "io"
    """io (slow sources, light operators) or cpu (fast sources, operators that burn CPU)."""
    work_ms: float = -1.0
    """Processor time of an operator for a tuple; -1: as the form says."""
    payload_bytes: int = 100
    """Bytes that each tuple carries."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.form not in FORMS:
            raise ValueError(f"form is {self.form!r}, but it is one of {', '.join(FORMS)}")

    def run_settings(self) -> dict[str, Any]:
        rate = self.rate if self.rate >= 0 else (_IO_RATE if self.form == "io" else 0.0)
        return {**super().run_settings(), "rate": rate}

    @property
    def work(self) -> float:
        if self.work_ms >= 0:
            return self.work_ms
        return 0.0 if self.form == "io" else _CPU_WORK_MS


class NumberSource(SourceSpout):
    """Numbers with some bytes; ``events`` of all tasks of all sources together."""

    outputs = source_outputs("number", "payload")

    def events(self) -> Iterable[Event]:
        sources = int(self.options["sources"])
        first = int(self.options["source"]) + self.place.index * sources
        size = share(self.settings.events or None, first, sources * self.place.count)
        return numbers(self.settings.seed, size, int(self.options["payload_bytes"]))


def numbers(seed: int, size: int | None, payload_bytes: int) -> Iterator[Event]:
    payload = "".join(random.Random(seed).choices(string.ascii_letters, k=payload_bytes))
    for number in up_to(size):
        yield number, [number, payload]


class WorkBolt(BenchBolt):
    """Burns some processor time and passes the tuple on, under its name and this operator's:
    a tuple that took two ways arrives as two."""

    outputs = output_fields("number", "payload")

    def process(self, tup: Any) -> None:
        *values, name, intended = tup.values
        self._arrived(intended)
        burn(self.options["work_ms"])
        part = f":{self.place.component}" if self.options.get("branch") else ""
        self.deliver(Output(values, name + part), intended)


class MicroSink(TallySink):
    """The end of a way; counts by source. A tuple goes to a task by its name, which spreads as
    evenly as shuffling and keeps a replay from being counted elsewhere."""

    def payload(self, tup: Any) -> list[Any]:
        return []

    def process(self, tup: Any) -> None:
        if tup.stream == "default":
            burn(self.options["work_ms"])
        super().process(tup)


def source_spec(name: str, number: int, of: int, tasks: int, options: MicroOptions) -> Any:
    """Source ``number`` of ``of``."""
    settings = component(levels=1, source=number, sources=of, payload_bytes=options.payload_bytes)
    return NumberSource.spec(name=name, par=tasks, config=settings)


def work_spec(
    name: str, feeds: Iterable[Any], tasks: int, options: MicroOptions, branch: bool = False
) -> Any:
    inputs = dict.fromkeys(feeds, Grouping.SHUFFLE)
    settings = component(work_ms=options.work, branch=branch)
    return WorkBolt.spec(name=name, inputs=inputs, par=tasks, config=settings)


def sink_spec(
    name: str, feeds: Iterable[Any], sources: Iterable[Any], tasks: int, options: MicroOptions
) -> Any:
    inputs = {feed: Grouping.fields("id") for feed in feeds} | watermarks(*sources)
    settings = component(level=1, work_ms=options.work)
    return MicroSink.spec(name=name, inputs=inputs, par=tasks, config=settings)


def expected_tallies(
    sources: dict[str, int], events: int, branches: int
) -> dict[str, tuple[int, int]]:
    """Tuples and checksum that one sink must count of each source task, all its tasks together.

    ``sources`` maps each source's name to its number of tasks, in order.
    """
    names = list(sources)
    expected: dict[str, tuple[int, int]] = {}
    for number, name in enumerate(names):
        tasks = sources[name]
        for index in range(tasks):
            size = share(events, number + index * len(names), len(names) * tasks) or 0
            checksum = size * (size - 1) // 2
            expected[f"{name}.{index}"] = (size * branches, checksum * branches)
    return expected
