"""Smart plugs in 40 houses, in the format of the DEBS 2014 grand challenge.

A line: ``id,timestamp,value,property,plug_id,household_id,house_id``; time in seconds, property 0
is work in kWh, 1 is load in W.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from topologies.common.events import Event
from topologies.data.dataset import Dataset, MalformedLine, finite, merge_by_time, share, up_to

START_S = 1_377_986_400
"""1 September 2013, the first day of the original."""
_DAY_S = 86_400
_FIELDS = 7
LOAD = 1


@dataclass(frozen=True)
class SmartPlugs(Dataset):
    """Load and work readings. An event's payload: id, value, property, plug, household, house.

    ``size`` counts readings; each plug reports load every ``interval_s`` seconds, and work each
    tenth time, so that a small size still spans days (the original reports about each second).
    """

    houses: int = 40
    interval_s: int = 60

    name = "smartplugs"
    title = "smart plugs of 40 houses (DEBS 2014)"
    unit = "readings"

    def generate(
        self, seed: int, partition: int, partitions: int, size: int | None
    ) -> Iterator[Event]:
        plugs = self._plugs(seed)
        return merge_by_time(
            self._readings(seed, plug, n, len(plugs), share(size, n, len(plugs)))
            for n, plug in enumerate(plugs)
            if n % partitions == partition
        )

    def format(self, event: Event) -> str:
        number, value, kind, plug, household, house = event[1]
        return f"{number},{event[0] // 1000},{value},{kind},{plug},{household},{house}"

    def parse(self, line: str) -> Event | None:
        if not line.strip():
            return None
        fields = line.split(",")
        if len(fields) != _FIELDS:
            raise MalformedLine(f"{len(fields)} fields, but a reading has {_FIELDS}")
        number, ts, value, kind, plug, household, house = fields
        if kind not in ("0", "1"):
            raise MalformedLine(f"property is {kind!r}, but it is 0 (work) or 1 (load)")
        payload = [int(number), finite(value), int(kind), int(plug), int(household), int(house)]
        return int(ts) * 1000, payload

    def _plugs(self, seed: int) -> list[tuple[int, int, int]]:
        """(plug, household, house) of every plug, drawn under the seed."""
        rng = random.Random(f"plugs:{seed}")
        return [
            (plug, household, house)
            for house in range(self.houses)
            for household in range(rng.randint(1, 3))
            for plug in range(rng.randint(2, 4))
        ]

    def _readings(
        self, seed: int, where: tuple[int, int, int], n: int, plugs: int, count: int | None
    ) -> Iterator[Event]:
        """A daily curve of its own for each plug, with noise and switching on and off."""
        rng = random.Random(f"plug:{seed}:{n}")
        base, swing, peak = rng.uniform(1, 60), rng.uniform(5, 400), rng.uniform(0, _DAY_S)
        offset = n % self.interval_s
        on, work = True, 0.0
        for i in up_to(count):
            ts = START_S + offset + (i // 11 * 10 + min(i % 11, 9)) * self.interval_s
            number = i * plugs + n
            if i % 11 == 10:
                yield ts * 1000, [number, round(work, 3), 0, *where]
                continue
            if rng.random() < 0.02:
                on = not on
            daily = max(0.0, math.cos(2 * math.pi * (ts % _DAY_S - peak) / _DAY_S))
            load = base + swing * daily * rng.uniform(0.8, 1.2) if on else 0.0
            work += load * self.interval_s / 3_600_000
            yield ts * 1000, [number, round(load, 3), LOAD, *where]
