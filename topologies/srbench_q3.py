"""SRBench query 3 (Fischer et al. 2013, section 4.1, figure 2): hurricane-like conditions.

::

    reader ──fields(sensor)──► aggregate ──fields(sensor)──► filter ──global──► output
      12                           48                          48                 1

The reader finds wind speeds in the stations' triples; the aggregate takes the minimum over 3
hours every hour; the filter keeps the windows with at least 74 mph; the output writes them down.
The same query in XML: ``topologies/queries/srbench-q3.xml``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from streamparse import Grouping, Topology

from topologies.common.bolt import SinkBolt, StatelessBolt, output_fields
from topologies.common.dataset_spout import DatasetSpout
from topologies.common.events import Event
from topologies.common.options import RunOptions, component, make_topology, watermarks
from topologies.common.spout import source_outputs
from topologies.common.window_bolt import WindowBolt
from topologies.common.windows import Summary
from topologies.data.dataset import Counter, Dataset, ignore
from topologies.data.srbench import OM_OWL, WEATHER, SRBench
from topologies.data.triples import by_time, iri, number_of, plain_value

_HOUR_MS = 3_600_000


@dataclass(frozen=True)
class Options(RunOptions):
    """The paper's values: 12 machines, 48 tasks for each operator that neither reads nor writes."""

    readers: int = 12
    """Tasks of the reader."""
    tasks: int = 48
    """Tasks of the aggregate and of the filter."""
    window_hours: int = 3
    """Length of the window."""
    step_hours: int = 1
    """How often a window is looked at."""
    least_mph: float = 74.0
    """Windows whose lowest wind speed is at least this are kept."""
    stations: int = 60
    """Stations to generate data for."""


class WindSpeedReader(DatasetSpout):
    outputs = source_outputs("sensor", "speed", "time")

    def dataset(self) -> Dataset:
        return SRBench(stations=int(self.options.get("stations", 60)))

    def payload(self, events: Iterable[Event]) -> Iterator[Event]:
        return wind_speeds(events, self.report.count)


def wind_speeds(triples: Iterable[Event], count: Counter = ignore) -> Iterator[Event]:
    """Sensor, speed and time of each observation of wind speed.

    An observation's triples have one time and come together, its value in any order among them.
    A speed that is no number is counted as ``malformed``.
    """
    for time, subjects in by_time(triples):
        for about in subjects.values():
            if about.get(iri(OM_OWL + "observedProperty")) != iri(WEATHER + "WindSpeed"):
                continue
            sensor = about.get(iri(OM_OWL + "procedure"))
            result = subjects.get(about.get(iri(OM_OWL + "result"), ""), {})
            value = result.get(iri(OM_OWL + "floatValue"))
            if sensor is None or value is None:
                continue
            speed = number_of(value)
            if speed is None:
                count("malformed")
            else:
                yield time, [plain_value(sensor), speed, time]


class LowestSpeedBolt(WindowBolt):
    """The minimum by sensor."""

    outputs = output_fields("sensor", "lowest", "time")

    @staticmethod
    def row(group: str, summary: Summary, end: int) -> list[Any]:
        return [group, summary.minimum, end]


class HurricaneFilter(StatelessBolt):
    outputs = output_fields("sensor", "lowest", "time")

    def transform(self, values: Sequence[Any]) -> Iterable[list[Any]]:
        return [list(values)] if values[1] >= self.options["least_mph"] else []


class HurricaneOutput(SinkBolt):
    def fields(self, values: Sequence[Any]) -> dict[str, Any]:
        return {"sensor": values[0], "lowest": values[1], "time": values[2]}


def build(options: Options) -> type[Topology]:
    reader = WindSpeedReader.spec(
        name="reader",
        par=options.readers,
        config=component(levels=1, stations=options.stations),
    )
    aggregate = LowestSpeedBolt.spec(
        name="aggregate",
        inputs={reader: Grouping.fields("sensor"), **watermarks(reader)},
        par=options.tasks,
        config=component(
            level=1,
            window_ms=options.window_hours * _HOUR_MS,
            step_ms=options.step_hours * _HOUR_MS,
        ),
    )
    hurricanes = HurricaneFilter.spec(
        name="filter",
        inputs={aggregate: Grouping.fields("sensor")},
        par=options.tasks,
        config=component(least_mph=options.least_mph),
    )
    output = HurricaneOutput.spec(name="output", inputs={hurricanes: Grouping.GLOBAL}, par=1)
    return make_topology(
        "srbench-q3",
        {"reader": reader, "aggregate": aggregate, "filter": hurricanes, "output": output},
        options.config(),
    )
