"""Taxi trips in New York, in the format of the DEBS 2015 grand challenge.

A line: ``medallion,hack_license,pickup_datetime,dropoff_datetime,trip_time_in_secs,trip_distance,
pickup_longitude,pickup_latitude,dropoff_longitude,dropoff_latitude,payment_type,fare_amount,
surcharge,mta_tax,tip_amount,tolls_amount,total_amount``, sorted by drop-off.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from topologies.common.events import Event
from topologies.data.dataset import Dataset, MalformedLine, finite, share, up_to

START_MS = 1_356_998_400_000
"""1 January 2013."""
_FIELDS = 17
_TIME = "%Y-%m-%d %H:%M:%S"

FIRST_CELL_LATITUDE = 41.474937
FIRST_CELL_LONGITUDE = -74.913585
"""Centre of cell 1.1 of the grid."""
CELL_LATITUDE = 0.004491556
CELL_LONGITUDE = 0.005986
"""500 m southward and eastward."""
CELLS = 300
_BUSY_FIRST, _BUSY_LAST = 150, 175


def cell_of(longitude: float, latitude: float) -> str | None:
    """The 500 m cell as ``east.south`` from 1.1 to 300.300; None outside the grid."""
    east = int((longitude - FIRST_CELL_LONGITUDE) / CELL_LONGITUDE + 0.5) + 1
    south = int((FIRST_CELL_LATITUDE - latitude) / CELL_LATITUDE + 0.5) + 1
    inside_west = longitude >= FIRST_CELL_LONGITUDE - CELL_LONGITUDE / 2
    inside_north = latitude <= FIRST_CELL_LATITUDE + CELL_LATITUDE / 2
    if not (inside_west and inside_north and east <= CELLS and south <= CELLS):
        return None
    return f"{east}.{south}"


@dataclass(frozen=True)
class Taxi(Dataset):
    """Trips with heavy-tailed routes. An event's payload: medallion, pickup in ms, and the four
    coordinates (pickup longitude and latitude, drop-off longitude and latitude).

    The event time is the drop-off. About one trip in a hundred lies outside the grid.
    """

    trips_per_minute: int = 300

    name = "taxi"
    title = "taxi trips on the 500 m grid (DEBS 2015)"
    unit = "trips"

    def generate(
        self, seed: int, partition: int, partitions: int, size: int | None
    ) -> Iterator[Event]:
        for i in up_to(share(size, partition, partitions)):
            number = partition + i * partitions
            rng = random.Random(f"taxi:{seed}:{number}")
            dropoff = START_MS + number * 60_000 // self.trips_per_minute // 1000 * 1000
            seconds = int(rng.lognormvariate(6.4, 0.6))
            medallion = hashlib.md5(f"{seed}:{rng.randrange(13_000)}".encode()).hexdigest().upper()
            start, end = _cell(rng), _cell(rng)
            if rng.random() < 0.3:
                # A third of the trips follow a few dozen busy routes.
                hot = random.Random(f"route:{seed}:{int(rng.paretovariate(1.1)) % 60}")
                start, end = _cell(hot), _cell(hot)
            if rng.random() < 0.01:
                end = (CELLS + 20, end[1])
            yield (
                dropoff,
                [medallion, dropoff - seconds * 1000, *_point(rng, start), *_point(rng, end)],
            )

    def format(self, event: Event) -> str:
        medallion, pickup, *points = event[1]
        seconds = (event[0] - pickup) // 1000
        coordinates = ",".join(f"{p:.6f}" for p in points)
        fare = round(2.5 + seconds / 60 * 0.5, 2)
        return (
            f"{medallion},{medallion[::-1]},{_text(pickup)},{_text(event[0])},{seconds},"
            f"{seconds / 300:.2f},{coordinates},CSH,{fare:.2f},0.00,0.50,0.00,0.00,{fare + 0.5:.2f}"
        )

    def parse(self, line: str) -> Event | None:
        if not line.strip():
            return None
        fields = line.split(",")
        if len(fields) != _FIELDS:
            raise MalformedLine(f"{len(fields)} fields, but a trip has {_FIELDS}")
        return (
            _milliseconds(fields[3]),
            [fields[0], _milliseconds(fields[2]), *(finite(f) for f in fields[6:10])],
        )


def _cell(rng: random.Random) -> tuple[int, int]:
    """Most trips begin and end in the middle of the grid, some anywhere."""
    if rng.random() < 0.9:
        return rng.randint(_BUSY_FIRST, _BUSY_LAST), rng.randint(_BUSY_FIRST, _BUSY_LAST)
    return rng.randint(1, CELLS), rng.randint(1, CELLS)


def _point(rng: random.Random, cell: tuple[int, int]) -> tuple[float, float]:
    east, south = cell
    return (
        round(FIRST_CELL_LONGITUDE + (east - 1 + rng.uniform(-0.45, 0.45)) * CELL_LONGITUDE, 6),
        round(FIRST_CELL_LATITUDE - (south - 1 + rng.uniform(-0.45, 0.45)) * CELL_LATITUDE, 6),
    )


def _text(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime(_TIME)


def _milliseconds(text: str) -> int:
    return int(datetime.strptime(text, _TIME).replace(tzinfo=UTC).timestamp()) * 1000
