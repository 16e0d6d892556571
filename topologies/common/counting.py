"""Running counts that stay right under replays, shared by Word Count and Tag-and-count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from topologies.common.bolt import Output
from topologies.common.identity import END_OF_TIME


class CountLogic:
    """Counts tuples by their first field and tells every update: [key, count].

    A replayed tuple is not counted again, but the count is told again: the first telling may
    have been lost.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def insert(self, values: Sequence[Any], name: str) -> Iterable[Output]:
        key = values[0]
        self._counts[key] = self._counts.get(key, 0) + 1
        return self.again(values, name)

    def again(self, values: Sequence[Any], name: str) -> Iterable[Output]:
        key = values[0]
        return [Output([key, self._counts.get(key, 0)], name)]

    def advance(self, watermark: int) -> Iterable[Output]:
        return ()

    def state(self) -> Any:
        return self._counts

    def load(self, state: Any) -> None:
        self._counts = dict(state)


class LatestCountLogic:
    """Keeps the highest count heard of each key; tells all of them at the end of the stream.

    Counts only grow, so the highest is the latest, in whatever order and however often the
    updates came; its bolt needs no ``dedupe``.
    """

    def __init__(self) -> None:
        self._highest: dict[str, int] = {}

    def insert(self, values: Sequence[Any], name: str) -> Iterable[Output]:
        key, count = values
        self._highest[key] = max(self._highest.get(key, 0), count)
        return ()

    def again(self, values: Sequence[Any], name: str) -> Iterable[Output]:
        return ()

    def advance(self, watermark: int) -> Iterable[Output]:
        if watermark >= END_OF_TIME:
            for key, count in sorted(self._highest.items()):
                yield Output([key, count], f"key/{key}")

    def state(self) -> Any:
        return self._highest

    def load(self, state: Any) -> None:
        self._highest = dict(state)
