"""Log Processing (Cardellini et al. 2015, section IV-B e, figure 7).

::

                              ┌──shuffle──► index (Redis) ────────────────┐
    source ──shuffle──► filter┤                2                          ├──► consumer
      1                   2   └──shuffle──► classify ─fields─► statistics─┘       1
                                               2                   2

The source emits 10 log events a second. ``filter`` drops what nobody wants to see (health checks
and images). On one branch ``index`` stores each event in Redis and enters it in an index by
status; on the other ``classify`` gives it a class and ``statistics`` counts events and bytes by
minute and class. The consumer brings both together; its results are the statistics, and how many
events have been indexed. Source and consumer can be pinned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from streamparse import Grouping, Topology

from topologies.common.bolt import (
    FinalBolt,
    Logic,
    Output,
    StatefulBolt,
    StatelessBolt,
    output_fields,
)
from topologies.common.dataset_spout import DatasetSpout
from topologies.common.events import Event
from topologies.common.identity import END_OF_TIME, window_id
from topologies.common.options import RunOptions, component, hosts, make_topology, watermarks
from topologies.common.redis_store import KEY_SECONDS, connect
from topologies.common.spout import source_outputs
from topologies.data.dataset import Dataset
from topologies.data.logs import Logs

NEEDS_REDIS = True
"""A local cluster starts a Redis server when this topology is submitted without one."""
FIELDS = ("host", "method", "path", "status", "bytes", "time")


@dataclass(frozen=True)
class Options(RunOptions):
    """The paper's values."""

    rate: float = 10.0
    tasks: int = 2
    """Executors of each operator that is not pinned."""
    minute_seconds: int = 60
    """Length of the windows of the statistics, in event time."""
    pin_source: str = ""
    """Hosts of the source, separated by commas."""
    pin_consumer: str = ""
    """Hosts of the consumer, separated by commas."""


class LogSource(DatasetSpout):
    outputs = source_outputs(*FIELDS)

    def dataset(self) -> Dataset:
        return Logs()

    def payload(self, events: Iterable[Event]) -> Iterator[Event]:
        return ((time, [*entry, time]) for time, entry in events)


class FilterBolt(StatelessBolt):
    outputs = output_fields(*FIELDS)

    def transform(self, values: Sequence[Any]) -> Iterable[list[Any]]:
        return [list(values)] if is_wanted(values[2]) else []


def is_wanted(path: str) -> bool:
    return path != "/health" and not path.endswith((".png", ".jpg", ".ico"))


class IndexBolt(StatelessBolt):
    """Stores an event under its name; storing it twice is storing it once."""

    outputs = output_fields("status")

    def setup(self) -> None:
        self._redis = connect(self.settings.redis_url)

    def process(self, tup: Any) -> None:
        *values, name, _ = tup.values
        index_event(self._redis, index_prefix(self.run_id), name, values)
        super().process(tup)

    def transform(self, values: Sequence[Any]) -> Iterable[list[Any]]:
        return [[values[3]]]


def index_prefix(run_id: str) -> str:
    return f"logs:{run_id}"


def index_event(redis: Any, prefix: str, name: str, values: Sequence[Any]) -> None:
    """The event as a hash, and its name in the sorted set of its status, by time."""
    event = dict(zip(FIELDS, values, strict=True))
    pipeline = redis.pipeline(transaction=False)
    pipeline.hset(f"{prefix}:event:{name}", mapping=event)
    pipeline.zadd(f"{prefix}:status:{event['status']}", {name: event["time"]})
    pipeline.expire(f"{prefix}:event:{name}", KEY_SECONDS)
    pipeline.expire(f"{prefix}:status:{event['status']}", KEY_SECONDS)
    pipeline.execute()


class ClassifyBolt(StatelessBolt):
    outputs = output_fields("kind", "bytes", "time")

    def transform(self, values: Sequence[Any]) -> Iterable[list[Any]]:
        _host, method, _path, status, size, time = values
        return [[class_of(method, status), size, time]]


def class_of(method: str, status: int) -> str:
    """``GET-2xx`` and the like."""
    return f"{method}-{status // 100}xx"


class StatisticsLogic:
    """Events and bytes by class and minute."""

    def __init__(self, window_ms: int) -> None:
        self._window_ms = window_ms
        self._open: dict[int, dict[str, list[int]]] = {}

    def insert(self, values: Sequence[Any], name: str) -> Iterable[Output]:
        kind, size, time = values
        end = (time // self._window_ms + 1) * self._window_ms
        sums = self._open.setdefault(end, {}).setdefault(kind, [0, 0])
        sums[0] += 1
        sums[1] += size
        return ()

    def again(self, values: Sequence[Any], name: str) -> Iterable[Output]:
        return ()

    def advance(self, watermark: int) -> Iterator[Output]:
        for end in sorted(e for e in self._open if e <= watermark):
            for kind, (events, size) in sorted(self._open.pop(end).items()):
                yield Output([kind, end, events, size], window_id("statistics", kind, end))

    def state(self) -> Any:
        return list(self._open.items())

    def load(self, state: Any) -> None:
        self._open = {end: dict(kinds) for end, kinds in state}


class StatisticsBolt(StatefulBolt):
    outputs = output_fields("kind", "end", "events", "bytes")

    def logic(self) -> Logic:
        return StatisticsLogic(self.options["window_ms"])


class ConsumerLogic:
    """Passes statistics on as results, and counts what has been indexed."""

    def __init__(self) -> None:
        self._indexed = 0

    def insert(self, values: Sequence[Any], name: str) -> Iterable[Output]:
        branch, *row = values
        if branch == "index":
            self._indexed += 1
            return ()
        return [Output(row, name)]

    def again(self, values: Sequence[Any], name: str) -> Iterable[Output]:
        branch, *row = values
        return [Output(row, name)] if branch != "index" else ()

    def advance(self, watermark: int) -> Iterable[Output]:
        return [Output([self._indexed], "indexed")] if watermark >= END_OF_TIME else ()

    def state(self) -> Any:
        return self._indexed

    def load(self, state: Any) -> None:
        self._indexed = state


class ConsumerBolt(FinalBolt):
    def logic(self) -> Logic:
        return ConsumerLogic()

    def payload(self, tup: Any) -> list[Any]:
        return [tup.component, *tup.values[:-2]]

    def fields(self, values: Sequence[Any]) -> dict[str, Any]:
        if len(values) == 1:
            return {"indexed": values[0]}
        return dict(zip(("class", "end", "events", "bytes"), values, strict=True))


def build(options: Options) -> type[Topology]:
    tasks = options.tasks
    source = LogSource.spec(name="source", par=1, config=component(levels=2))
    wanted = FilterBolt.spec(name="filter", inputs={source: Grouping.SHUFFLE}, par=tasks)
    index = IndexBolt.spec(name="index", inputs={wanted: Grouping.SHUFFLE}, par=tasks)
    classify = ClassifyBolt.spec(name="classify", inputs={wanted: Grouping.SHUFFLE}, par=tasks)
    statistics = StatisticsBolt.spec(
        name="statistics",
        inputs={classify: Grouping.fields("kind"), **watermarks(source)},
        par=tasks,
        config=component(level=1, window_ms=options.minute_seconds * 1000),
    )
    consumer = ConsumerBolt.spec(
        name="consumer",
        inputs={
            index: Grouping.GLOBAL,
            statistics: Grouping.GLOBAL,
            **watermarks(source),
        },
        par=1,
        config=component(level=2),
    )
    pins = {"source": hosts(options.pin_source), "consumer": hosts(options.pin_consumer)}
    stages = (source, wanted, index, classify, statistics, consumer)
    return make_topology(
        "log-processing", {stage.name: stage for stage in stages}, options.config(pins)
    )
