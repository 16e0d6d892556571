"""Counted: a stream that is counted 1…N at its source and at its end, to see that nothing is lost.

::

    spout[0] ──► relay[…] ──► sink[…]
    spout[1] ──► relay[…] ──► sink[…]
       …            …            …

Not from a paper: it is what `make chaos` breaks. Every spout task numbers its tuples from 1 and
emits a number again until it is acked; the sink writes a number down before it acks. Storm
promises at-least-once, so whatever was killed or moved meanwhile, in the end every number up to
the highest emitted must stand in the sinks' files, some of them more than once. A spout keeps
the number up to which all is acked in a file and goes on after it when it is restarted.

Lines cross the task indices (see ``weave`` in ``parallel.py``), so Storm's even scheduler places
them badly and a better placement exists. A number written to the file ``weave`` in ``results_dir``
crosses them otherwise from then on: a change of load at a known moment. ``results_dir`` must be
seen by all workers::

    stormbrain submit topologies/counted.py --set results_dir=/tmp/counted --set rate=20
    python -m topologies.counted /tmp/counted      # what was emitted, and what is missing
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from streamparse import Bolt, Grouping, Spout, Topology

from topologies import parallel
from topologies.common.journal import write_atomically
from topologies.common.options import make_topology
from topologies.common.pacing import Pacer
from topologies.common.task import TaskPlace

OPTIONS_KEY = "topology.counted.options"
_NAP_SECS = 0.01
_TELL_SECS = 0.25


@dataclass(frozen=True)
class Options:
    results_dir: str = ""
    """Where the spouts and sinks write their numbers; it must be seen by all workers."""
    parallelism: int = 3
    """Tasks of the spout, of the relay and of the sink."""
    rate: float = 20.0
    """Tuples a second of each spout task."""
    numbers: int = 0
    """N: how many numbers each spout task emits; 0: without end."""
    payload: int = 400
    """Bytes that each tuple carries besides, so that its way weighs more than its ack's."""
    timeout_seconds: int = 15
    """After how long a lost tuple is emitted again (topology.message.timeout.secs)."""
    max_pending: int = 200
    """Unacked tuples a spout task may have (topology.max.spout.pending)."""
    seed: int = 0
    """The same seed gives the same lines."""

    def __post_init__(self) -> None:
        for name in ("parallelism", "timeout_seconds", "max_pending"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be 1 or more, not {getattr(self, name)}")
        for name in ("rate", "numbers", "payload"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be 0 or more, not {getattr(self, name)}")


class CountingSpout(Spout):  # type: ignore[misc]
    """Emits 1, 2, 3, … and each number again until it is acked, also after a restart."""

    outputs = ("key", "source", "number", "payload")

    def initialize(self, storm_conf: dict[str, Any], context: dict[str, Any]) -> None:
        options = Options(**storm_conf[OPTIONS_KEY])
        self._place = TaskPlace.from_context(context)
        self._line = Line(options, 0, self._place)
        self._payload = "x" * options.payload
        self._last = options.numbers or sys.maxsize
        self._pacer = Pacer(options.rate)
        self._file = _file(options, "spout", self._place)
        told = _read_told(self._file)
        self._floor = self._emitted = told["acked"]
        self._highest = told["emitted"]
        self._acked: set[int] = set()
        self._told_at = 0.0

    def next_tuple(self) -> None:
        for _ in range(self._pacer.due(10)):
            if self._emitted >= self._last:
                break
            self._pacer.take()
            self._emitted += 1
            self._send(self._emitted)
        self._tell()
        nap = _NAP_SECS if self._emitted >= self._last else self._pacer.seconds_until_due()
        time.sleep(min(nap, _NAP_SECS))

    def ack(self, tup_id: str) -> None:
        self._acked.add(int(tup_id))
        while self._floor + 1 in self._acked:
            self._floor += 1
            self._acked.remove(self._floor)

    def fail(self, tup_id: str) -> None:
        if int(tup_id) > self._floor:
            self._send(int(tup_id))

    def _send(self, number: int) -> None:
        values = [self._line.key(), self._place.index, number, self._payload]
        self.emit(values, tup_id=str(number))

    def _tell(self) -> None:
        now = time.monotonic()
        if self._file is None or now - self._told_at < _TELL_SECS:
            return
        self._told_at = now
        self._highest = max(self._highest, self._emitted)
        write_atomically(self._file, json.dumps({"emitted": self._highest, "acked": self._floor}))


class RelayBolt(Bolt):  # type: ignore[misc]
    """Passes tuples on along their line."""

    outputs = ("key", "source", "number", "payload")

    def initialize(self, storm_conf: dict[str, Any], context: dict[str, Any]) -> None:
        options = Options(**storm_conf[OPTIONS_KEY])
        self._line = Line(options, 1, TaskPlace.from_context(context))

    def process(self, tup: Any) -> None:
        self.emit([self._line.key(), *tup.values[1:]])


class CountedSink(Bolt):  # type: ignore[misc]
    """Writes each number down; the line is with the operating system before the ack goes out."""

    def initialize(self, storm_conf: dict[str, Any], context: dict[str, Any]) -> None:
        options = Options(**storm_conf[OPTIONS_KEY])
        self._path = _file(options, f"sink-{os.getpid()}", TaskPlace.from_context(context))
        self._seen = None if self._path is None else self._path.open("ab", buffering=0)

    def process(self, tup: Any) -> None:
        if self._seen is not None:
            source, number = tup.values[1], tup.values[2]
            self._seen.write(b"%d %d %d\n" % (source, number, time.time() * 1000))


class Line:
    """Where the line that passes through a task goes next; looks for a new weave now and then."""

    def __init__(self, options: Options, stage: int, place: TaskPlace) -> None:
        self._options, self._stage, self._place = options, stage, place
        self._weave = 0
        self._looked_at = 0.0
        self._key = ""

    def key(self) -> str:
        """A key that fields grouping sends to the next task of the line."""
        now = time.monotonic()
        if not self._key or now - self._looked_at > _TELL_SECS:
            self._looked_at = now
            weave = _read_weave(self._options)
            if weave != self._weave or not self._key:
                self._weave, self._key = weave, self._made(weave)
        return self._key

    def _made(self, weave: int) -> str:
        lines = parallel.Options(seed=self._options.seed + weave)
        place = self._place
        onward = parallel.next_index(lines, self._stage, place.index, place.count)
        return parallel.key_for(f"line-{self._stage}-{place.index}", onward, place.count)


def _read_weave(options: Options) -> int:
    try:
        return int((Path(options.results_dir) / "weave").read_text())
    except (OSError, ValueError):
        return 0


def _file(options: Options, kind: str, place: TaskPlace) -> Path | None:
    if not options.results_dir:
        return None
    directory = Path(options.results_dir)
    directory.mkdir(parents=True, exist_ok=True)
    return directory / f"{kind}-{place.index}.txt"


def _read_told(path: Path | None) -> dict[str, int]:
    if path is None or not path.exists():
        return {"emitted": 0, "acked": 0}
    told: dict[str, int] = json.loads(path.read_text())
    return told


@dataclass
class Tally:
    """What the files of a run say so far; each ``read`` takes in what is new."""

    directory: Path
    seen: dict[int, set[int]] = field(default_factory=dict)
    times_ms: list[int] = field(default_factory=list)
    """When the sinks wrote, in the order of reading."""
    lines: int = 0
    _offsets: dict[Path, int] = field(default_factory=dict)

    def read(self) -> None:
        for path in sorted(self.directory.glob("sink-*.txt")):
            for line in self._new_lines(path):
                source, number, at_ms = map(int, line.split())
                self.seen.setdefault(source, set()).add(number)
                self.times_ms.append(at_ms)
                self.lines += 1

    def emitted(self) -> dict[int, int]:
        """The highest number that each spout task has emitted, to a quarter of a second."""
        return {
            int(path.stem.rpartition("-")[2]): _read_told(path)["emitted"]
            for path in sorted(self.directory.glob("spout-*.txt"))
        }

    def missing(self, up_to: dict[int, int]) -> dict[int, list[int]]:
        """The numbers up to these that no sink has seen."""
        gaps = {
            source: [n for n in range(1, last + 1) if n not in self.seen.get(source, ())]
            for source, last in up_to.items()
        }
        return {source: numbers for source, numbers in gaps.items() if numbers}

    @property
    def repeated(self) -> int:
        """How many times a number was seen once more than needed: at least once is promised."""
        return self.lines - sum(map(len, self.seen.values()))

    def _new_lines(self, path: Path) -> Iterator[bytes]:
        with path.open("rb") as file:
            file.seek(self._offsets.get(path, 0))
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._offsets[path] = self._offsets.get(path, 0) + len(line)
                yield line


def build(options: Options) -> type[Topology]:
    tasks = options.parallelism
    spout = CountingSpout.spec(name="spout", par=tasks)
    relay = RelayBolt.spec(name="relay", inputs={spout: Grouping.fields("key")}, par=tasks)
    sink = CountedSink.spec(name="sink", inputs={relay: Grouping.fields("key")}, par=tasks)
    config = {
        OPTIONS_KEY: asdict(options),
        "topology.workers": tasks,
        "topology.max.spout.pending": options.max_pending,
        "topology.message.timeout.secs": options.timeout_seconds,
    }
    return make_topology("counted", {s.name: s for s in (spout, relay, sink)}, config)


if __name__ == "__main__":
    tally = Tally(Path(sys.argv[1]))
    tally.read()
    emitted = tally.emitted()
    missing = {source: len(numbers) for source, numbers in tally.missing(emitted).items()}
    print(json.dumps({"emitted": emitted, "missing": missing, "repeated": tally.repeated}))
