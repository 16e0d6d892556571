"""Load prediction for smart homes (Eskandari et al. 2020, section 6.2; DEBS 2014, first query).

::

                     ┌──fields(house)─► house ──shuffle──┐
    source ──────────┤       10          10              ├──► sink
      10             └──fields(plug)──► plug ──shuffle───┘     10
                                         10

At the end of every slice of 15 minutes, the load two slices ahead is predicted for each plug and
each house: the mean of the average load in the slice and of the median of the average loads in
the predicted slice of the day on earlier days (without such days, the average alone)::

    L(s_i+2) = (avg(s_i) + median{avg(s_j) : s_j the same slice of the day as s_i+2, j < i}) / 2

A house's load is the sum of its plugs' averages. Both operators keep the records of the plugs in
Redis: ``rec`` holds a slice's readings by name (so that a replay changes nothing), ``avg`` the
averages of past slices.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from streamparse import Grouping, Topology

from topologies.common.bolt import Logic, Output, SinkBolt, StatefulBolt, output_fields
from topologies.common.dataset_spout import DatasetSpout
from topologies.common.events import Event
from topologies.common.identity import window_id
from topologies.common.options import RunOptions, component, make_topology, watermarks
from topologies.common.redis_store import KEY_SECONDS, connect
from topologies.common.spout import source_outputs
from topologies.data.dataset import Dataset
from topologies.data.smartplugs import LOAD, SmartPlugs

NEEDS_REDIS = True
"""A local cluster starts a Redis server when this topology is submitted without one."""
DAY_MS = 86_400_000


@dataclass(frozen=True)
class Options(RunOptions):
    """The paper's values: slices of 15 minutes, 10 tasks of each operator."""

    tasks: int = 10
    """Tasks of each of the four components."""
    slice_minutes: int = 15
    """Length of a slice; it divides a day."""
    houses: int = 40
    """Houses to generate data for."""
    interval_seconds: int = 60
    """How often a generated plug reports."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.slice_minutes < 1 or 1440 % self.slice_minutes:
            raise ValueError(f"slice_minutes is {self.slice_minutes}, which does not divide a day")


class PlugSource(DatasetSpout):
    outputs = source_outputs("house", "plug", "load", "time")

    def dataset(self) -> Dataset:
        return SmartPlugs(
            houses=int(self.options.get("houses", 40)),
            interval_s=int(self.options.get("interval_s", 60)),
        )

    def payload(self, events: Iterable[Event]) -> Iterator[Event]:
        return loads(events)


def loads(events: Iterable[Event]) -> Iterator[Event]:
    """House, plug (house_household_plug), load in W and time; readings of work are left out."""
    for time, (_number, value, kind, plug, household, house) in events:
        if kind == LOAD:
            yield time, [str(house), f"{house}_{household}_{plug}", value, time]


class PredictionLogic:
    """Slices of some keys (plugs, or houses made of plugs), kept in Redis.

    The keys of a task share a prefix; what is written is named by its content, so that writing
    twice is writing once. Slices older than the last two watermarks are deleted.
    """

    def __init__(self, redis: Any, prefix: str, component: str, slice_ms: int, by: int) -> None:
        """``by`` is the field that names what is predicted: 0 the house, 1 the plug."""
        self._redis = redis
        self._prefix = prefix
        self._component = component
        self._slice_ms = slice_ms
        self._by = by
        self._closed = -1
        self._stale: list[int] = []

    def insert(self, values: Sequence[Any], name: str) -> Iterable[Output]:
        plug, load, time = values[1:]
        start = time // self._slice_ms * self._slice_ms
        pipeline = self._redis.pipeline(transaction=False)
        pipeline.zadd(f"{self._prefix}:slices", {str(start): start})
        pipeline.hset(self._records(start), f"{values[self._by]}|{plug}|{name}", load)
        pipeline.expire(self._records(start), KEY_SECONDS)
        pipeline.execute()
        return ()

    def again(self, values: Sequence[Any], name: str) -> Iterable[Output]:
        return ()

    def advance(self, watermark: int) -> Iterator[Output]:
        slices = f"{self._prefix}:slices"
        newest_start = watermark - self._slice_ms
        due = [int(s) for s in self._redis.zrangebyscore(slices, self._closed + 1, newest_start)]
        for start in due:
            yield from self._close(start)
        for start in self._stale:
            self._redis.delete(self._records(start))
        self._stale = due
        if due:
            self._closed = due[-1]

    def _close(self, start: int) -> Iterator[Output]:
        averages = slice_averages(self._redis.hgetall(self._records(start)))
        predicted = start + 2 * self._slice_ms
        for key in sorted(averages):
            history = self._history(key, predicted)
            self._redis.hset(f"{self._prefix}:avg:{key}", str(start), repr(averages[key]))
            self._redis.expire(f"{self._prefix}:avg:{key}", KEY_SECONDS)
            value = predict(averages[key], history)
            name = window_id(self._component, key, predicted)
            yield Output([self._component, key, predicted, value], name)

    def _history(self, key: str, predicted: int) -> list[float]:
        """Averages of the predicted slice of the day on earlier days, before the slice closed."""
        stored = self._redis.hgetall(f"{self._prefix}:avg:{key}")
        return [
            float(average)
            for start, average in stored.items()
            if int(start) < predicted and (int(start) - predicted) % DAY_MS == 0
        ]

    def _records(self, start: int) -> str:
        return f"{self._prefix}:rec:{start}"

    def state(self) -> Any:
        return {"closed": self._closed, "stale": self._stale}

    def load(self, state: Any) -> None:
        self._closed, self._stale = state["closed"], list(state["stale"])


def slice_averages(records: dict[str, Any]) -> dict[str, float]:
    """The average load of each key in a slice: the sum of its plugs' averages.

    ``records`` maps ``key|plug|name`` to a load. Sums are exact, whatever the order.
    """
    by_plug: dict[str, dict[str, list[float]]] = {}
    for field, load in records.items():
        key, plug, _ = field.split("|", 2)
        by_plug.setdefault(key, {}).setdefault(plug, []).append(float(load))
    return {
        key: math.fsum(math.fsum(values) / len(values) for values in plugs.values())
        for key, plugs in by_plug.items()
    }


def predict(average: float, history: Sequence[float]) -> float:
    return (average + statistics.median(history)) / 2 if history else average


class PredictionBolt(StatefulBolt):
    """Predicts for houses or plugs; which is told by the option ``by``."""

    outputs = output_fields("kind", "key", "time", "load")
    durable_store = True

    def logic(self) -> Logic:
        redis = connect(self.settings.redis_url)
        prefix = f"smart-homes:{self.run_id}:{self.place.name}"
        return PredictionLogic(
            redis, prefix, self.place.component, self.options["slice_ms"], self.options["by"]
        )


class PredictionSink(SinkBolt):
    def fields(self, values: Sequence[Any]) -> dict[str, Any]:
        kind, key, time, load = values
        return {"kind": kind, "key": key, "time": time, "load": load}


def build(options: Options) -> type[Topology]:
    tasks = options.tasks
    source = PlugSource.spec(
        name="source",
        par=tasks,
        config=component(levels=1, houses=options.houses, interval_s=options.interval_seconds),
    )
    slice_ms = options.slice_minutes * 60_000
    house = PredictionBolt.spec(
        name="house",
        inputs={source: Grouping.fields("house"), **watermarks(source)},
        par=tasks,
        config=component(level=1, slice_ms=slice_ms, by=0),
    )
    plug = PredictionBolt.spec(
        name="plug",
        inputs={source: Grouping.fields("plug"), **watermarks(source)},
        par=tasks,
        config=component(level=1, slice_ms=slice_ms, by=1),
    )
    sink = PredictionSink.spec(
        name="sink", inputs={house: Grouping.SHUFFLE, plug: Grouping.SHUFFLE}, par=tasks
    )
    components = {"source": source, "house": house, "plug": plug, "sink": sink}
    return make_topology("smart-homes", components, options.config())
