"""The operators of the benchmarks: stateless, stateful, and those at the end of the stream.

An operator's meaning lives in a plain object (a function, or a ``Logic``) that knows nothing of
Storm; the classes here give it tuples, remember for it, and send what it says.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from streamparse import Bolt

from topologies.common.identity import END_OF_TIME, SeenIds
from topologies.common.journal import FileJournal, Journal, NoJournal
from topologies.common.results import TaskReport
from topologies.common.task import COMPONENT_KEY, WATERMARK, RunSettings, TaskPlace


def output_fields(*fields: str) -> list[str]:
    """The fields of an operator's output: its payload, its name, its intended emission time."""
    return [*fields, "id", "intended"]


class Output(NamedTuple):
    """What an operator says: a payload and its name, the same in every replay.

    A payload that is emitted holds texts and numbers only: Storm cannot send a list or a mapping
    that came out of a shell component to another worker (its JSON classes are not registered).
    """

    values: list[Any]
    id: str


class Logic(Protocol):
    """A stateful operator. Its final state must not depend on the order of insertions, because
    Storm keeps no order between the tasks of a component."""

    def insert(self, values: Sequence[Any], name: str) -> Iterable[Output]:
        """Takes in one new tuple; what is to be said at once."""

    def again(self, values: Sequence[Any], name: str) -> Iterable[Output]:
        """Sees a tuple for the second time: what has to be said again, changing nothing."""

    def advance(self, watermark: int) -> Iterable[Output]:
        """No tuple older than ``watermark`` (event time, ms) will come: what is now final."""

    def state(self) -> Any:
        """Everything to remember, as JSON can hold it."""

    def load(self, state: Any) -> None:
        """Takes back what ``state()`` gave."""


class BenchBolt(Bolt):  # type: ignore[misc]
    """What all operators have: settings, their place, counters."""

    def initialize(self, storm_conf: dict[str, Any], context: dict[str, Any]) -> None:
        self.settings = RunSettings.from_conf(storm_conf)
        self.place = TaskPlace.from_context(context)
        self.options: dict[str, Any] = storm_conf.get(COMPONENT_KEY, {})
        self.run_id = str(storm_conf.get("storm.id") or storm_conf.get("topology.name", "run"))
        self.report = TaskReport(self.settings.results_path, self.place.name)
        self.setup()

    def setup(self) -> None:
        """Called once before the first tuple."""

    def process_tick(self, tup: Any) -> None:
        """Ticks come once a second where there is a ``results_dir``: time to write counters."""
        self.report.flush()

    def _arrived(self, intended: float) -> None:
        self.report.count("in")
        self.report.latency.record((time.time() - intended) * 1000)
        self.report.flush_if_due()

    def deliver(self, output: Output, intended: float) -> None:
        """Sends an output on; operators at the end of the stream write it down instead."""
        self.report.count("out")
        self.emit([*output.values, output.id, intended])


class StatelessBolt(BenchBolt):
    """Turns each tuple into none, one or many, by a pure function of the tuple."""

    def transform(self, values: Sequence[Any]) -> Iterable[list[Any]]:
        raise NotImplementedError

    def process(self, tup: Any) -> None:
        *values, name, intended = tup.values
        self._arrived(intended)
        outputs = list(self.transform(values))
        if len(outputs) == 1:
            self.deliver(Output(outputs[0], name), intended)
            return
        for part, output in enumerate(outputs):
            self.deliver(Output(output, f"{name}:{part}"), intended)


class SinkBolt(BenchBolt):
    """Writes every tuple down as a result, under its name."""

    def fields(self, values: Sequence[Any]) -> dict[str, Any]:
        raise NotImplementedError

    def process(self, tup: Any) -> None:
        *values, name, intended = tup.values
        self._arrived(intended)
        self.report.result(name, self.fields(values))


class StatefulBolt(BenchBolt):
    """Runs a ``Logic``: each tuple counts once, whatever is replayed, lost or restarted.

    ``level`` (component option) is the level of watermarks it listens to: 1 if no other
    stateful operator comes before it, else one more than that one's. With ``dedupe`` off the
    logic itself must not mind insertions of the same tuple twice (keyed by its name).
    """

    dedupe = True
    durable_store = False
    """Whether the logic keeps its tuples in a store of its own that survives a restart (Redis):
    then only watermarks go to the journal, and it is replaced by a snapshot at each of them."""

    def logic(self) -> Logic:
        raise NotImplementedError

    def payload(self, tup: Any) -> list[Any]:
        """What the logic is given of a tuple; an operator with several inputs may tell them."""
        return list(tup.values[:-2])

    def setup(self) -> None:
        self._level = int(self.options.get("level", 1))
        self._logic = self.logic()
        self._seen = SeenIds()
        self._marks: dict[str, tuple[int, int]] = {}
        self._low = -1
        self._unconfirmed: dict[str, list[tuple[int, list[Output]]]] = {}
        self._journal: Journal = NoJournal()
        if self.settings.state_path is not None:
            compact_every = 1 if self.durable_store else 5000
            self._journal = FileJournal(self.settings.state_path, self.place.name, compact_every)
        snapshot, records = self._journal.restore()
        if snapshot is not None:
            self._load(snapshot)
            self.report.count("restored")
        for kind, *content in records:
            if kind == "tuple":
                self._insert(content[0], content[1])
            else:
                self._advance(content[0], content[1], content[2])
            self.report.count("restored")

    def process(self, tup: Any) -> None:
        if tup.stream == WATERMARK:
            self._process_watermark(*tup.values)
            return
        name, intended = tup.values[-2:]
        values = self.payload(tup)
        self._arrived(intended)
        if not self.dedupe or self._seen.first_time(name):
            if not self.durable_store:
                self._journal.append(["tuple", values, name])
            outputs = self._logic.insert(values, name)
        else:
            self.report.count("duplicates")
            outputs = self._logic.again(values, name)
        for output in outputs:
            self.deliver(output, intended)

    def _process_watermark(
        self, source: str, seq: int, event_time: int, level: int, confirmed: int, intended: float
    ) -> None:
        if level != self._level:
            return
        waiting = self._unconfirmed.setdefault(source, [])
        waiting[:] = [entry for entry in waiting if entry[0] > confirmed]
        if (seq, event_time) > self._marks.get(source, (-1, -1)):
            self._journal.append(["watermark", source, seq, event_time])
            self._advance(source, seq, event_time)
            self._journal.compact(self._state)
        for _, outputs in waiting:
            for output in outputs:
                self.deliver(output, intended)
        self.report.flush()

    def _insert(self, values: list[Any], name: str) -> None:
        """Takes in a tuple from the journal; what it said has been said."""
        if not self.dedupe or self._seen.first_time(name):
            for _ in self._logic.insert(values, name):
                pass

    def _advance(self, source: str, seq: int, event_time: int) -> None:
        self._seen.settle(source, seq)
        self._marks[source] = (seq, event_time)
        reached = [self._marks.get(s, (-1, -1))[1] for s in self.place.watermark_sources]
        low = min(reached, default=-1)
        if low > self._low:
            self._low = low
            self._seen.settle_windows(low)
            outputs = list(self._logic.advance(low))
            if outputs:
                self._unconfirmed.setdefault(source, []).append((seq, outputs))

    def _state(self) -> dict[str, Any]:
        return {
            "logic": self._logic.state(),
            "seen": self._seen.state(),
            "marks": self._marks,
            "low": self._low,
            "unconfirmed": self._unconfirmed,
        }

    def _load(self, state: dict[str, Any]) -> None:
        self._logic.load(state["logic"])
        self._seen.load(state["seen"])
        self._marks = {source: (seq, at) for source, (seq, at) in state["marks"].items()}
        self._low = state["low"]
        self._unconfirmed = {
            source: [(seq, [Output(*o) for o in outputs]) for seq, outputs in waiting]
            for source, waiting in state["unconfirmed"].items()
        }


class FinalBolt(StatefulBolt):
    """A stateful operator at the end of the stream: what it says are the results."""

    def fields(self, values: Sequence[Any]) -> dict[str, Any]:
        raise NotImplementedError

    def deliver(self, output: Output, intended: float) -> None:
        self.report.result(output.id, self.fields(output.values))


class TallyLogic:
    """Counts tuples by source, and a checksum of their names: proof that none is missing."""

    def __init__(self, task: str) -> None:
        self._task = task
        self._tally: dict[str, list[int]] = {}

    def insert(self, values: Sequence[Any], name: str) -> Iterable[Output]:
        source, seq = name.split(":")[:2]
        tally = self._tally.setdefault(source, [0, 0])
        tally[0] += 1
        tally[1] += int(seq)
        return ()

    def again(self, values: Sequence[Any], name: str) -> Iterable[Output]:
        return ()

    def advance(self, watermark: int) -> Iterable[Output]:
        if watermark >= END_OF_TIME:
            for source, (count, checksum) in sorted(self._tally.items()):
                yield Output([source, count, checksum], f"{self._task}/{source}")

    def state(self) -> Any:
        return self._tally

    def load(self, state: Any) -> None:
        self._tally = {source: list(tally) for source, tally in state.items()}


class TallySink(FinalBolt):
    """Swallows tuples and, at the end, writes down how many came from which source task."""

    def logic(self) -> Logic:
        return TallyLogic(self.place.name)

    def fields(self, values: Sequence[Any]) -> dict[str, Any]:
        return {"source": values[0], "tuples": values[1], "checksum": values[2]}
