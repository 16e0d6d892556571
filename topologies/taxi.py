"""Top frequent taxi routes (Eskandari et al. 2020, section 6.3; DEBS 2015, first query).

::

    source ─shuffle─► preprocess ─fields(route)─► count ─fields(route)─► rank ─global─► final
      16                  16                        8                      4              1

Which ten routes (from one 500 m cell of the grid to another) were driven most often in the last
30 minutes? ``preprocess`` turns coordinates into cells and leaves out what lies outside the grid;
``count`` keeps the trips in Redis and, at every step of event time, tells the routes whose count
has changed; ``rank`` keeps the ten best of its routes, ``final`` the ten best of all. Equal
counts are ordered by the latest drop-off, then by name. A result is the ranking at a step; steps
at which it did not change have none.
"""

from __future__ import annotations

import json
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
from topologies.common.identity import window_id
from topologies.common.options import RunOptions, component, make_topology, watermarks
from topologies.common.redis_store import KEY_SECONDS, connect
from topologies.common.spout import source_outputs
from topologies.data.dataset import Dataset
from topologies.data.taxi import Taxi, cell_of

NEEDS_REDIS = True
"""A local cluster starts a Redis server when this topology is submitted without one."""
TOP = 10


@dataclass(frozen=True)
class Options(RunOptions):
    """The paper's values."""

    sources: int = 16
    """Tasks of the source."""
    preprocessors: int = 16
    """Tasks of the operator that finds the cells."""
    counters: int = 8
    """Tasks of the operator that counts trips by route."""
    rankers: int = 4
    """Tasks of the first ranking."""
    window_minutes: int = 30
    """How long a trip counts."""
    step_seconds: int = 60
    """How often, in event time, the ranking is brought up to date."""
    trips_per_minute: int = 300
    """Trips to generate for a minute of event time."""


class TripSource(DatasetSpout):
    outputs = source_outputs("from_east", "from_north", "to_east", "to_north", "time")

    def dataset(self) -> Dataset:
        return Taxi(trips_per_minute=int(self.options.get("trips_per_minute", 300)))

    def payload(self, events: Iterable[Event]) -> Iterator[Event]:
        return ((time, [*trip[2:6], time]) for time, trip in events)


class PreprocessBolt(StatelessBolt):
    outputs = output_fields("route", "time")

    def transform(self, values: Sequence[Any]) -> Iterable[list[Any]]:
        *points, time = values
        route = route_of(points[:2], points[2:])
        if route is None:
            self.report.count("outside")
            return []
        return [[route, time]]


def route_of(pickup: Sequence[float], dropoff: Sequence[float]) -> str | None:
    """``from>to`` in cells; None if an end lies outside the grid."""
    start, end = cell_of(*pickup), cell_of(*dropoff)
    return f"{start}>{end}" if start is not None and end is not None else None


class RollingCountLogic:
    """Trips of the last minutes by route, in Redis: a sorted set of all trips by drop-off, and
    one for each route. A trip is stored under its name, so that storing it twice is once."""

    def __init__(self, redis: Any, prefix: str, window_ms: int, step_ms: int) -> None:
        self._redis = redis
        self._prefix = prefix
        self._window_ms, self._step_ms = window_ms, step_ms
        self._closed = -1
        self._stale = -1

    def insert(self, values: Sequence[Any], name: str) -> Iterable[Output]:
        route, time = values
        pipeline = self._redis.pipeline(transaction=False)
        pipeline.zadd(f"{self._prefix}:trips", {f"{route}|{name}": time})
        pipeline.zadd(self._route(route), {name: time})
        pipeline.expire(f"{self._prefix}:trips", KEY_SECONDS)
        pipeline.expire(self._route(route), KEY_SECONDS)
        pipeline.execute()
        return ()

    def again(self, values: Sequence[Any], name: str) -> Iterable[Output]:
        return ()

    def advance(self, watermark: int) -> Iterator[Output]:
        first = self._redis.zrange(f"{self._prefix}:trips", 0, 0, withscores=True)
        last = self._redis.zrange(f"{self._prefix}:trips", -1, -1, withscores=True)
        if first:
            begin = max(int(first[0][1]), self._closed)
            until = min(watermark, int(last[0][1]) + self._window_ms + self._step_ms)
            for number in range(begin // self._step_ms + 1, until // self._step_ms + 1):
                yield from self._changes(number * self._step_ms)
        self._forget(self._stale)
        self._stale = self._closed - self._window_ms - self._step_ms
        self._closed = watermark

    def _changes(self, end: int) -> Iterator[Output]:
        """The routes that a trip has entered or left in the step before ``end``."""
        entered = self._routes_between(end - self._step_ms, end)
        left = self._routes_between(end - self._step_ms - self._window_ms, end - self._window_ms)
        for route in sorted(entered | left):
            start = end - self._window_ms
            trips = self._redis.zrangebyscore(self._route(route), start, f"({end}", withscores=True)
            latest = int(trips[-1][1]) if trips else 0
            name = window_id("count", route, end)
            yield Output([route, len(trips), latest, end], name)

    def _routes_between(self, start: int, end: int) -> set[str]:
        trips = self._redis.zrangebyscore(f"{self._prefix}:trips", start, f"({end}")
        return {trip.partition("|")[0] for trip in trips}

    def _forget(self, older_than: int) -> None:
        """Deletes what neither this nor a repeated last step can need any more."""
        if older_than <= 0:
            return
        for route in self._routes_between(0, older_than):
            self._redis.zremrangebyscore(self._route(route), 0, f"({older_than}")
        self._redis.zremrangebyscore(f"{self._prefix}:trips", 0, f"({older_than}")

    def _route(self, route: str) -> str:
        return f"{self._prefix}:route:{route}"

    def state(self) -> Any:
        return {"closed": self._closed, "stale": self._stale}

    def load(self, state: Any) -> None:
        self._closed, self._stale = state["closed"], state["stale"]


class RollingCountBolt(StatefulBolt):
    outputs = output_fields("route", "count", "latest", "time")
    durable_store = True

    def logic(self) -> Logic:
        redis = connect(self.settings.redis_url)
        prefix = f"taxi:{self.run_id}:{self.place.name}"
        return RollingCountLogic(redis, prefix, self.options["window_ms"], self.options["step_ms"])


class RankLogic:
    """Applies the changes step by step, and tells the best routes whenever they change.

    Changes of steps that are not closed yet wait; those of closed steps are replays.
    """

    def __init__(self, task: str) -> None:
        self._task = task
        self._waiting: dict[int, dict[str, tuple[int, int]]] = {}
        self._counts: dict[str, tuple[int, int]] = {}
        self._told: list[list[Any]] = []
        self._closed = -1

    def insert(self, values: Sequence[Any], name: str) -> Iterable[Output]:
        for route, count, latest, end in self._changes(values):
            if end > self._closed:
                self._waiting.setdefault(end, {})[route] = (count, latest)
        return ()

    def _changes(self, values: Sequence[Any]) -> Iterable[Sequence[Any]]:
        return [values]

    def again(self, values: Sequence[Any], name: str) -> Iterable[Output]:
        return ()

    def advance(self, watermark: int) -> Iterator[Output]:
        for end in sorted(e for e in self._waiting if e <= watermark):
            for route, change in self._waiting.pop(end).items():
                self._counts[route] = change
                if change[0] == 0:
                    del self._counts[route]
            best = best_routes(self._counts)
            if best != self._told:
                yield self._tell(best, end)
                self._told = best
        self._closed = watermark

    def _tell(self, best: list[list[Any]], end: int) -> Output:
        """The new ranking, and the routes that fell out of it, with a count of 0."""
        names = {route for route, _, _ in best}
        gone = [[route, 0, 0] for route, _, _ in self._told if route not in names]
        return Output([json.dumps(best + gone), end], window_id("rank", self._task, end))

    def state(self) -> Any:
        return {
            "waiting": [[end, list(changes.items())] for end, changes in self._waiting.items()],
            "counts": self._counts,
            "told": self._told,
            "closed": self._closed,
        }

    def load(self, state: Any) -> None:
        self._waiting = {
            end: {route: (count, latest) for route, (count, latest) in changes}
            for end, changes in state["waiting"]
        }
        self._counts = {
            route: (count, latest) for route, (count, latest) in state["counts"].items()
        }
        self._told = [list(row) for row in state["told"]]
        self._closed = state["closed"]


def best_routes(counts: dict[str, tuple[int, int]]) -> list[list[Any]]:
    """The ten routes with the highest counts, as [route, count, latest drop-off]."""
    best = sorted(counts.items(), key=lambda item: (-item[1][0], -item[1][1], item[0]))[:TOP]
    return [[route, count, latest] for route, (count, latest) in best]


class RankBolt(StatefulBolt):
    outputs = output_fields("ranking", "time")

    def logic(self) -> Logic:
        return RankLogic(self.place.name)


class FinalRankLogic(RankLogic):
    """The best of the rankers' best."""

    def _changes(self, values: Sequence[Any]) -> Iterable[Sequence[Any]]:
        ranking, end = values
        return [[route, count, latest, end] for route, count, latest in json.loads(ranking)]

    def _tell(self, best: list[list[Any]], end: int) -> Output:
        return Output([best, end], window_id("top", "all", end))


class FinalRankBolt(FinalBolt):
    def logic(self) -> Logic:
        return FinalRankLogic(self.place.name)

    def fields(self, values: Sequence[Any]) -> dict[str, Any]:
        return {"time": values[1], "top": values[0]}


def build(options: Options) -> type[Topology]:
    source = TripSource.spec(
        name="source",
        par=options.sources,
        config=component(levels=3, trips_per_minute=options.trips_per_minute),
    )
    preprocess = PreprocessBolt.spec(
        name="preprocess", inputs={source: Grouping.SHUFFLE}, par=options.preprocessors
    )
    count = RollingCountBolt.spec(
        name="count",
        inputs={preprocess: Grouping.fields("route"), **watermarks(source)},
        par=options.counters,
        config=component(
            level=1,
            window_ms=options.window_minutes * 60_000,
            step_ms=options.step_seconds * 1000,
        ),
    )
    rank = RankBolt.spec(
        name="rank",
        inputs={count: Grouping.fields("route"), **watermarks(source)},
        par=options.rankers,
        config=component(level=2),
    )
    final = FinalRankBolt.spec(
        name="final",
        inputs={rank: Grouping.GLOBAL, **watermarks(source)},
        par=1,
        config=component(level=3),
    )
    stages = (source, preprocess, count, rank, final)
    return make_topology("taxi", {stage.name: stage for stage in stages}, options.config())
