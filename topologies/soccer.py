"""Soccer running analysis (Aniello et al. 2013, section 4.2; DEBS 2013, first query, reduced).

::

    sensor ──shuffle──► speed ──fields(player)──► analysis
      8                   4                          2

32 sensors in the players' shoes report at 200 Hz. ``speed`` computes the speed of each reading
and its category, ``analysis`` keeps for each player the average speed, the distance and the time
in each category. Results: these numbers for every window (a minute) and for the whole game.

Sums are integers (picoseconds, micrometres a second times picoseconds), so they do not depend on
the order in which the shuffled readings arrive. A player wears two sensors; what they say is
averaged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from streamparse import Grouping, Topology

from topologies.common.bolt import FinalBolt, Logic, Output, StatelessBolt, output_fields
from topologies.common.dataset_spout import DatasetSpout
from topologies.common.events import Event
from topologies.common.identity import END_OF_TIME, window_id
from topologies.common.options import RunOptions, component, make_topology, watermarks
from topologies.common.spout import source_outputs
from topologies.data.dataset import Dataset
from topologies.data.soccer import Soccer, player_of

CATEGORIES = ("standing", "trot", "low", "medium", "high", "sprint")
_UPPER_KMH = (1.0, 11.0, 14.0, 17.0, 24.0)
_PS_PER_SECOND = 10**12
_PS_PER_MS = 10**9
_LONGEST_GAP_PS = _PS_PER_SECOND
"""A sensor that was silent for longer has not been measured in the meantime."""


@dataclass(frozen=True)
class Options(RunOptions):
    """The paper's replication; without a limit of the rate (a sensor's own is 200 Hz: with 8
    spout tasks of 4 sensors each that is rate=800)."""

    sensors: int = 8
    """Tasks of the spout; they share the 32 sensors."""
    speeds: int = 4
    """Executors of the speed bolt."""
    analyses: int = 2
    """Executors of the analysis bolt."""
    window_seconds: int = 60
    """Length of the windows of the statistics, in event time."""


class SensorSpout(DatasetSpout):
    outputs = source_outputs("player", "sensor", "velocity", "duration", "time")

    def dataset(self) -> Dataset:
        return Soccer()

    def payload(self, events: Iterable[Event]) -> Iterator[Event]:
        return readings(events)


def readings(events: Iterable[Event]) -> Iterator[Event]:
    """Player, sensor, |v| in µm/s, time since the sensor's last reading in ps, time in ms.

    Sensors that are in no player's shoe (balls, gloves, the referee) are passed over.
    """
    last: dict[int, int] = {}
    for time, (sensor, ts, _x, _y, _z, velocity) in events:
        player = player_of(sensor)
        if player is None:
            continue
        duration = ts - last.get(sensor, ts)
        last[sensor] = ts
        if duration > _LONGEST_GAP_PS:
            duration = 0
        yield time, [player, sensor, velocity, duration, time]


class SpeedBolt(StatelessBolt):
    outputs = output_fields("player", "sensor", "velocity", "category", "duration", "time")

    def transform(self, values: Sequence[Any]) -> Iterable[list[Any]]:
        player, sensor, velocity, duration, time = values
        return [[player, sensor, velocity, category_of(velocity), duration, time]]


def category_of(velocity: int) -> int:
    """The category (an index into ``CATEGORIES``) of a speed in µm/s."""
    kmh = velocity * 3.6e-6
    return sum(kmh > upper for upper in _UPPER_KMH)


class AnalysisLogic:
    """Running statistics by player, for each window and for the whole game."""

    def __init__(self, window_ms: int) -> None:
        self._window_ms = window_ms
        self._open: dict[int, dict[int, list[Any]]] = {}
        self._game: dict[int, list[Any]] = {}

    def insert(self, values: Sequence[Any], name: str) -> Iterable[Output]:
        player, sensor, velocity, category, duration, time = values
        end = (time // self._window_ms + 1) * self._window_ms
        for held in (self._open.setdefault(end, {}), self._game):
            sums = held.setdefault(player, [0, [0] * len(CATEGORIES), []])
            sums[0] += velocity * duration
            sums[1][category] += duration
            if sensor not in sums[2]:
                sums[2].append(sensor)
        return ()

    def again(self, values: Sequence[Any], name: str) -> Iterable[Output]:
        return ()

    def advance(self, watermark: int) -> Iterator[Output]:
        for end in sorted(e for e in self._open if e <= watermark):
            for player, sums in sorted(self._open.pop(end).items()):
                yield Output(statistics(player, end, sums), window_id("window", player, end))
        if watermark >= END_OF_TIME:
            for player, sums in sorted(self._game.items()):
                yield Output(statistics(player, 0, sums), f"game/{player}")

    def state(self) -> Any:
        return {
            "open": [[end, list(players.items())] for end, players in self._open.items()],
            "game": list(self._game.items()),
        }

    def load(self, state: Any) -> None:
        self._open = {end: dict(players) for end, players in state["open"]}
        self._game = dict(state["game"])


def statistics(player: int, end: int, sums: Sequence[Any]) -> list[Any]:
    """Player, end of the window (0: the game), average km/h, metres, seconds by category."""
    way, durations, sensors = sums
    time = sum(durations)
    kmh = way * 3.6e-6 / time if time else 0.0
    metres = way / len(sensors) / _PS_PER_SECOND / 1e6
    seconds = [d / len(sensors) / _PS_PER_SECOND for d in durations]
    return [player, end, kmh, metres, seconds]


class AnalysisBolt(FinalBolt):
    def logic(self) -> Logic:
        return AnalysisLogic(self.options["window_ms"])

    def fields(self, values: Sequence[Any]) -> dict[str, Any]:
        player, end, kmh, metres, seconds = values
        return {
            "player": player,
            "end": end,
            "average_kmh": kmh,
            "distance_m": metres,
            "seconds": dict(zip(CATEGORIES, seconds, strict=True)),
        }


def build(options: Options) -> type[Topology]:
    sensor = SensorSpout.spec(name="sensor", par=options.sensors, config=component(levels=1))
    speed = SpeedBolt.spec(name="speed", inputs={sensor: Grouping.SHUFFLE}, par=options.speeds)
    analysis = AnalysisBolt.spec(
        name="analysis",
        inputs={speed: Grouping.fields("player"), **watermarks(sensor)},
        par=options.analyses,
        config=component(level=1, window_ms=options.window_seconds * 1000),
    )
    components = {"sensor": sensor, "speed": speed, "analysis": analysis}
    return make_topology("soccer", components, options.config())
