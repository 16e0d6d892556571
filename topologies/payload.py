"""Payload (Fischer and Bernstein 2015, section V-A 3, figures 3, 9, 10 and 11).

::

    spout[0] ──► bolt-1[0] ──► bolt-2[0] ──► … ──► bolt-D[0]
    spout[1] ──► bolt-1[1] ──► bolt-2[1] ──► … ──► bolt-D[1]
       …            …             …                   …
    spout[P-1] ► bolt-1[P-1] ► bolt-2[P-1] ► … ──► bolt-D[P-1]

Parallel (see ``topologies/parallel.py``) with larger tuples: besides the key of 16 bytes they
carry letters up to ``tuple_bytes``, 3 KB by default, the mean size of an e-mail. Unlike
``parallel.py``, which emits bare keys at full speed, every tuple here has a name and its intended
time of emission, so that latency is measured and a finite run can be checked.

What the paper varied: the tuple size (figure 9: ``depth=3 tuple_bytes=…`` up to 30,000), and
acking at a constant rate (figures 10, 11: ``rate=4000 tuple_bytes=112 acking=true|false``).
``tuple_bytes=16`` is Parallel itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from streamparse import Grouping, Topology

from topologies import parallel
from topologies.common.bolt import BenchBolt, Output, TallySink, output_fields
from topologies.common.events import Event
from topologies.common.options import RunOptions, component, make_topology, watermarks
from topologies.common.spout import SourceSpout, source_outputs
from topologies.data.dataset import share, up_to

KEY_BYTES = 16


@dataclass(frozen=True)
class Options(RunOptions):
    """The paper's values for a cluster of 10 machines."""

    depth: int = 7
    """Bolts in a row after the spout (D)."""
    parallelism: int = 10
    """Tasks of the spout and of each bolt (P): the number of machines."""
    tuple_bytes: int = 3072
    """Size of a tuple's key and payload; 16 for the key alone."""
    keys: int = 1000
    """Different keys of each spout task."""
    weave: bool = True
    """Whether lines change the task index from stage to stage (see ``parallel.py``)."""
    workers: int = 10
    """Worker processes (topology.workers)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tuple_bytes < KEY_BYTES:
            raise ValueError(f"tuple_bytes is {self.tuple_bytes}, but a key has {KEY_BYTES}")

    @property
    def lines(self) -> dict[str, Any]:
        """What spouts and bolts must know of the lines."""
        payload = self.tuple_bytes - KEY_BYTES
        return {"seed": self.seed, "keys": self.keys, "weave": self.weave, "payload": payload}


class LineSpout(SourceSpout):
    outputs = source_outputs("key", "payload")

    def events(self) -> Iterable[Event]:
        options = parallel.Options(**self.options["lines"])
        index, count = self.place.index, self.place.count
        line = parallel.next_index(options, 0, index, count)
        tuples = [
            [key, payload[0] if payload else ""]
            for key, *payload in parallel.line_tuples(options, line, count)
        ]
        size = share(self.settings.events or None, index, count)
        return ((number, tuples[number % len(tuples)]) for number in up_to(size))


class LineBolt(BenchBolt):
    """Passes tuples on along their line."""

    outputs = output_fields("key", "payload")

    def setup(self) -> None:
        options = parallel.Options(**self.options["lines"])
        stage, place = int(self.options["stage"]), self.place
        self._next = parallel.next_index(options, stage, place.index, place.count)
        self._keys: dict[str, str] = {}

    def process(self, tup: Any) -> None:
        key, payload, name, intended = tup.values
        self._arrived(intended)
        onward = self._keys.get(key)
        if onward is None:
            onward = self._keys[key] = parallel.key_for(key, self._next, self.place.count)
        self.deliver(Output([onward, payload], name), intended)


class LineEnd(TallySink):
    """The end of a line: latency, and how many tuples of which spout task arrived."""

    def payload(self, tup: Any) -> list[Any]:
        return []


def build(options: Options) -> type[Topology]:
    tasks, lines = options.parallelism, options.lines
    spout = LineSpout.spec(name="spout", par=tasks, config=component(levels=1, lines=lines))
    stages: list[Any] = [spout]
    for stage in range(1, options.depth + 1):
        inputs = {stages[-1]: Grouping.fields("key")}
        if stage < options.depth:
            settings = component(stage=stage, lines=lines)
            bolt = LineBolt.spec(name=f"bolt-{stage}", inputs=inputs, par=tasks, config=settings)
        else:
            inputs |= watermarks(spout)
            settings = component(level=1)
            bolt = LineEnd.spec(name=f"bolt-{stage}", inputs=inputs, par=tasks, config=settings)
        stages.append(bolt)
    return make_topology("payload", {s.name: s for s in stages}, options.config())
