"""Weather stations as in SRBench (LinkedSensorData), with hurricanes planted.

An observation of wind speed is four triples of one time::

    <obs> om-owl:procedure <sensor> .        <obs> om-owl:observedProperty weather:WindSpeed .
    <obs> om-owl:result <result> .           <result> om-owl:floatValue "81.3"^^xsd:float .
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from topologies.common.events import Event
from topologies.data.dataset import (
    Counter,
    Dataset,
    ignore,
    merge_by_time,
    read_file,
    read_lines,
    share,
    up_to,
)
from topologies.data.triples import (
    XSD_FLOAT,
    format_triple,
    iri,
    literal,
    parse_time,
    parse_triple,
    plain_value,
    split_triple,
)

START_MS = 1_091_923_200_000
"""8 August 2004, when hurricane Charley came."""
OM_OWL = "http://knoesis.wright.edu/ssw/ont/sensor-observation.owl#"
WEATHER = "http://knoesis.wright.edu/ssw/ont/weather.owl#"
SSW = "http://knoesis.wright.edu/ssw/"
_HOUR_MS = 3_600_000
_XSD_TIME = "http://www.w3.org/2006/time#inXSDDateTime"


@dataclass(frozen=True)
class SRBench(Dataset):
    """Observations of wind speed and air temperature; an event is one triple.

    ``size`` counts observations (four triples each). Every fifth station meets a hurricane:
    at least 74 mph for five hours.
    """

    stations: int = 60
    interval_ms: int = 600_000

    name = "srbench"
    title = "weather station triples with hurricanes planted (SRBench)"
    suffix = "nt"
    unit = "observations"

    def generate(
        self, seed: int, partition: int, partitions: int, size: int | None
    ) -> Iterator[Event]:
        stations = range(partition, self.stations, partitions)
        return merge_by_time(
            self._station(seed, s, share(size, s, self.stations)) for s in stations
        )

    def format(self, event: Event) -> str:
        return format_triple(event)

    def parse(self, line: str) -> Event | None:
        return parse_triple(line)

    def read(self, path: Path, count: Counter) -> Iterator[Event]:
        """Time-stamped triples, or a file of LinkedSensorData as it is published."""
        if is_linked_sensor_data(path):
            return read_linked_sensor_data(path, count)
        return read_file(self, path, count)

    def _station(self, seed: int, station: int, observations: int | None) -> Iterator[Event]:
        rng = random.Random(f"srbench:{seed}:{station}")
        sensor = iri(f"{SSW}System_A{station:04d}")
        wind, temperature = rng.uniform(3, 20), rng.uniform(50, 90)
        landfall = START_MS + rng.randint(2, 12) * _HOUR_MS + rng.randrange(_HOUR_MS)
        for i in up_to(observations):
            when = START_MS + (i // 2) * self.interval_ms + (station % 60) * 1000
            wind = min(max(wind + rng.gauss(0, 1.5), 0.0), 45.0)
            temperature += rng.gauss(0, 0.4)
            kind, value = ("WindSpeed", wind) if i % 2 == 0 else ("AirTemperature", temperature)
            stormy = station % 5 == 0 and landfall <= when < landfall + 5 * _HOUR_MS
            if stormy and kind == "WindSpeed":
                value = rng.uniform(74.5, 115.0)
            observation = f"{SSW}Observation_{kind}_A{station:04d}_{when}"
            for triple in _observation_triples(observation, sensor, kind, round(value, 1)):
                yield when, triple


def _observation_triples(
    observation: str, sensor: str, kind: str, value: float
) -> Iterator[list[str]]:
    subject, result = iri(observation), iri(observation.replace("Observation", "MeasureData"))
    yield [subject, iri(OM_OWL + "procedure"), sensor]
    yield [subject, iri(OM_OWL + "observedProperty"), iri(WEATHER + kind)]
    yield [subject, iri(OM_OWL + "result"), result]
    yield [result, iri(OM_OWL + "floatValue"), literal(value, XSD_FLOAT)]


def is_linked_sensor_data(path: Path) -> bool:
    """Whether the first triple of a file has no time: then times are triples of their own."""
    for _, line in read_lines(path, ignore):
        try:
            parts = split_triple(line)
        except ValueError:
            continue
        if parts is not None:
            return parts[3] is None
    return False


def read_linked_sensor_data(path: Path, count: Counter) -> Iterator[Event]:
    """A file of LinkedSensorData (plain N-Triples, one station and day) as timed triples.

    There the time is a triple too: observation → samplingTime → instant → inXSDDateTime. The
    file is held in memory, as these files are small.
    """
    rows: list[list[str]] = []
    moments: dict[str, int] = {}
    for _, line in read_lines(path, count):
        try:
            parts = split_triple(line)
            if parts is None:
                continue
            subject, predicate, obj = parts[:3]
            if predicate == iri(_XSD_TIME):
                moments[subject] = parse_time(plain_value(obj))
        except ValueError:
            count("malformed")
            continue
        rows.append([subject, predicate, obj])
    sampled = iri(OM_OWL + "samplingTime")
    times = {s: moments[o] for s, p, o in rows if p == sampled and o in moments}
    results = iri(OM_OWL + "result")
    times |= {o: times[s] for s, p, o in rows if p == results and s in times}
    timed = [(times[s], [s, p, o]) for s, p, o in rows if s in times and p != sampled]
    yield from sorted(timed, key=lambda event: event[0])
