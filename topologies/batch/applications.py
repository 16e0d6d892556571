"""Word Count, Tag-and-count, soccer, smart homes, taxi and logs, computed at once."""

from __future__ import annotations

import bisect
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from topologies.common.events import Event
from topologies.data.soccer import player_of
from topologies.data.taxi import cell_of
from topologies.log_processing import class_of as log_class
from topologies.log_processing import is_wanted
from topologies.soccer import CATEGORIES, category_of
from topologies.tag_and_count import class_of, tag_of, tally, tokens

_DAY_MS = 86_400_000


def word_count(sentences: Iterable[Event]) -> dict[str, int]:
    """The number of times of each word."""
    return dict(Counter(w for _, (_, text) in sentences for w in text.lower().split()))


def tag_and_count(sentences: Iterable[Event]) -> dict[str, int]:
    """The number of sentences of each class."""
    classes = (class_of(tally(map(tag_of, tokens(text)))) for _, (_, text) in sentences)
    return dict(Counter(classes))


def soccer(readings: Iterable[Event], window_ms: int = 60_000) -> dict[tuple[int, int], Any]:
    """By player and end of the window (0 for the game): km/h, metres, seconds by category."""
    by_sensor: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for time, (sensor, ts, _x, _y, _z, velocity) in readings:
        by_sensor[sensor].append((ts, time, velocity))
    way: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    spent: dict[tuple[int, int], list[Fraction]] = defaultdict(
        lambda: [Fraction(0)] * len(CATEGORIES)
    )
    sensors: dict[tuple[int, int], set[int]] = defaultdict(set)
    for sensor, rows in by_sensor.items():
        player = player_of(sensor)
        if player is None:
            continue
        rows.sort()
        for (before, _, _), (ts, time, velocity) in zip([rows[0], *rows], rows, strict=False):
            seconds = Fraction(ts - before, 10**12)
            if seconds > 1:
                seconds = Fraction(0)
            for end in ((time // window_ms + 1) * window_ms, 0):
                key = (player, end)
                way[key] += Fraction(velocity, 10**6) * seconds
                spent[key][category_of(velocity)] += seconds
                sensors[key].add(sensor)
    return {
        key: {
            "average_kmh": float(way[key] / sum(spent[key]) * Fraction(36, 10))
            if sum(spent[key])
            else 0.0,
            "distance_m": float(way[key] / len(sensors[key])),
            "seconds": {
                name: float(time / len(sensors[key]))
                for name, time in zip(CATEGORIES, spent[key], strict=True)
            },
        }
        for key in spent
    }


def smart_homes(
    readings: Iterable[Event], slice_ms: int = 900_000
) -> dict[tuple[str, str, int], float]:
    """The predicted load by kind (house or plug), key and start of the predicted slice."""
    by_plug: dict[tuple[int, str], list[float]] = defaultdict(list)
    for time, (_number, value, kind, plug, household, house) in readings:
        if kind == 1:
            name = f"{house}_{household}_{plug}"
            by_plug[time // slice_ms * slice_ms, name].append(value)
    averages: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    houses: dict[tuple[int, str], list[float]] = defaultdict(list)
    for (start, name), values in by_plug.items():
        average = math.fsum(values) / len(values)
        averages["plug", name][start] = average
        houses[start, name.partition("_")[0]].append(average)
    for (start, house), loads in houses.items():
        averages["house", house][start] = math.fsum(loads)
    predictions: dict[tuple[str, str, int], float] = {}
    for (kind, key), by_slice in averages.items():
        for start, average in by_slice.items():
            target = start + 2 * slice_ms
            earlier = [
                by_slice[day]
                for day in range(target - _DAY_MS, min(by_slice) - 1, -_DAY_MS)
                if day in by_slice
            ]
            if earlier:
                average = (average + statistics.median(earlier)) / 2
            predictions[kind, key, target] = average
    return predictions


def taxi(
    trips: Iterable[Event], window_ms: int = 1_800_000, step_ms: int = 60_000
) -> dict[int, list[list[Any]]]:
    """The ten most frequent routes at each step at which they changed."""
    by_route: dict[str, list[int]] = defaultdict(list)
    times: list[int] = []
    for time, (_medallion, _pickup, *points) in trips:
        origin, target = cell_of(*points[:2]), cell_of(*points[2:])
        if origin is not None and target is not None:
            by_route[f"{origin}>{target}"].append(time)
            times.append(time)
    for dropoffs in by_route.values():
        dropoffs.sort()
    rankings: dict[int, list[list[Any]]] = {}
    told: list[list[Any]] = []
    if not times:
        return rankings
    for step in range(min(times) // step_ms + 1, (max(times) + window_ms) // step_ms + 2):
        end = step * step_ms
        rows = []
        for route, dropoffs in by_route.items():
            low = bisect.bisect_left(dropoffs, end - window_ms)
            high = bisect.bisect_left(dropoffs, end)
            if high > low:
                rows.append((-(high - low), -dropoffs[high - 1], route))
        best = [[route, -count, -latest] for count, latest, route in sorted(rows)[:10]]
        if best != told:
            rankings[end] = told = best
    return rankings


def log_processing(
    entries: Iterable[Event], window_ms: int = 60_000
) -> tuple[int, dict[tuple[str, int], tuple[int, int]]]:
    """How many events are indexed, and events and bytes by class and end of the window."""
    indexed = 0
    sums: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0])
    for time, (_host, method, path, status, size) in entries:
        if is_wanted(path):
            indexed += 1
            row = sums[log_class(method, status), (time // window_ms + 1) * window_ms]
            row[0] += 1
            row[1] += size
    return indexed, {key: (row[0], row[1]) for key, row in sums.items()}
