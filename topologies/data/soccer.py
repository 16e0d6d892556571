"""Soccer sensors at 200 Hz, in the format of the DEBS 2013 grand challenge.

A line: ``sid, ts, x, y, z, |v|, |a|, vx, vy, vz, ax, ay, az``; time in picoseconds, positions in
mm, velocity in µm/s, acceleration in µm/s².
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from topologies.common.events import Event
from topologies.data.dataset import Dataset, MalformedLine, merge_by_time, share, up_to

SHOES = (
    (13, 14), (47, 16), (49, 88), (19, 52), (53, 54), (23, 24), (57, 58), (59, 28),
    (61, 62), (63, 64), (65, 66), (67, 68), (69, 38), (71, 40), (73, 74), (75, 44),
)  # fmt: skip
"""The sensors of the original in each player's shoes, left and right: team A, then team B. The
others are in balls (4, 8, 10, 12), in goalkeepers' gloves (97 to 100) and on the referee."""
SENSORS = tuple(sensor for pair in SHOES for sensor in pair)
_PLAYER = {sensor: player for player, pair in enumerate(SHOES) for sensor in pair}
PERIOD_PS = 5_000_000_000
"""200 Hz."""
START_PS = 10_753_295_594_424_116
"""The start of the first half in the original."""
_PS_PER_MS = 1_000_000_000
_FIELDS = 13


def player_of(sensor: int) -> int | None:
    """The player, from 0 to 15, who has the sensor in a shoe; None for a sensor elsewhere."""
    return _PLAYER.get(sensor)


class Soccer(Dataset):
    """The sensors in the shoes of 16 players. An event's payload: sensor, ts in ps, x, y, z, |v|.

    ``size`` counts readings of all sensors together.
    """

    name = "soccer"
    title = "sensors in players' shoes at 200 Hz (DEBS 2013)"
    unit = "readings"

    def generate(
        self, seed: int, partition: int, partitions: int, size: int | None
    ) -> Iterator[Event]:
        return merge_by_time(
            _sensor(seed, SENSORS[n], share(size, n, len(SENSORS)))
            for n in range(partition, len(SENSORS), partitions)
        )

    def format(self, event: Event) -> str:
        sensor, ts, x, y, z, v = event[1]
        return f"{sensor},{ts},{x},{y},{z},{v},0,{v},0,0,0,0,0"

    def parse(self, line: str) -> Event | None:
        if not line.strip():
            return None
        fields = line.split(",")
        if len(fields) != _FIELDS:
            raise MalformedLine(f"{len(fields)} fields, but a reading has {_FIELDS}")
        sensor, ts, x, y, z, v = (int(f) for f in fields[:6])
        return ts // _PS_PER_MS, [sensor, ts, x, y, z, v]


def _sensor(seed: int, sensor: int, readings: int | None) -> Iterator[Event]:
    """Speeds that wander between standing and sprinting, positions that follow from them."""
    rng = random.Random(f"soccer:{seed}:{sensor}")
    phase = rng.randrange(0, 1_000_000)
    speed, wanted, heading = 0.0, rng.uniform(0, 8), rng.uniform(0, 2 * math.pi)
    x, y = rng.uniform(0, 52_483), rng.uniform(-33_960, 33_965)
    for i in up_to(readings):
        if i % 200 == 0:
            wanted = max(0.0, rng.gauss(2.5, 2.5))
            heading += rng.gauss(0, 0.8)
        speed = max(0.0, speed + (wanted - speed) * 0.05 + rng.gauss(0, 0.02))
        x = min(max(x + math.cos(heading) * speed * 5, 0), 52_483)
        y = min(max(y + math.sin(heading) * speed * 5, -33_960), 33_965)
        ts = START_PS + phase + i * PERIOD_PS
        yield ts // _PS_PER_MS, [sensor, ts, int(x), int(y), 20, int(speed * 1_000_000)]
