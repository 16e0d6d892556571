"""Sliding windows over event time, by panes.

A window of length W that steps by S ends at the multiples of S; the one that ends at ``e`` holds
the events with ``e - W <= time < e``. It is closed when the watermark reaches ``e``; at the end of
the stream every window that holds an event is closed, also those that the stream would have
filled further. A window without events says nothing. Sums are exact, so that the order of the
events does not show in the last digit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Summary:
    """Minimum, maximum, count and exact sum of some numbers."""

    minimum: float = math.inf
    maximum: float = -math.inf
    count: int = 0
    partials: list[float] = field(default_factory=list)

    def add(self, value: float) -> None:
        self.minimum = min(self.minimum, value)
        self.maximum = max(self.maximum, value)
        self.count += 1
        add_exactly(self.partials, value)

    def merge(self, other: Summary) -> None:
        self.minimum = min(self.minimum, other.minimum)
        self.maximum = max(self.maximum, other.maximum)
        self.count += other.count
        for value in other.partials:
            add_exactly(self.partials, value)

    @property
    def total(self) -> float:
        return math.fsum(self.partials)

    @property
    def average(self) -> float:
        return self.total / self.count

    def state(self) -> list[Any]:
        return [self.minimum, self.maximum, self.count, self.partials]

    @classmethod
    def from_state(cls, state: list[Any]) -> Summary:
        minimum, maximum, count, partials = state
        return cls(minimum, maximum, count, list(partials))


def add_exactly(partials: list[float], value: float) -> None:
    """Adds ``value`` to a sum kept as non-overlapping parts (Shewchuk 1997, as in math.fsum)."""
    kept = 0
    for part in partials:
        if abs(value) < abs(part):
            value, part = part, value
        high = value + part
        low = part - (high - value)
        if low:
            partials[kept] = low
            kept += 1
        value = high
    partials[kept:] = [value]


class SlidingWindows:
    """Summaries of numbers by group, over sliding windows. Times in milliseconds."""

    def __init__(self, length: int, step: int, columns: int = 1) -> None:
        """``columns`` numbers are summarised side by side."""
        if length <= 0 or step <= 0:
            raise ValueError("the length and the step of a window must be positive")
        self._length, self._step, self._columns = length, step, columns
        self._pane = math.gcd(length, step)
        self._panes: dict[str, dict[int, list[Summary]]] = {}
        self._closed = -1

    def add(self, group: str, time: int, numbers: list[float]) -> None:
        panes = self._panes.setdefault(group, {})
        pane = time // self._pane
        if pane not in panes:
            panes[pane] = [Summary() for _ in range(self._columns)]
        for summary, number in zip(panes[pane], numbers, strict=True):
            summary.add(number)

    def close(self, watermark: int) -> Iterator[tuple[str, int, list[Summary]]]:
        """Closes the windows that end by ``watermark``: (group, end, a summary a column)."""
        for group in sorted(self._panes):
            panes = self._panes[group]
            for end in self._ends(panes, watermark):
                inside = range((end - self._length) // self._pane, end // self._pane)
                held = [panes[p] for p in inside if p in panes]
                if held:
                    yield group, end, self._merged(held)
            for pane in [p for p in panes if self._last_end(p) <= watermark]:
                del panes[pane]
            if not panes:
                del self._panes[group]
        self._closed = max(self._closed, watermark)

    def _ends(self, panes: dict[int, list[Summary]], watermark: int) -> range:
        """The ends of the windows to close that may hold one of ``panes``."""
        first = max(min(panes) * self._pane, self._closed) // self._step + 1
        last = min(watermark, self._last_end(max(panes))) // self._step
        return range(first * self._step, last * self._step + 1, self._step)

    def _last_end(self, pane: int) -> int:
        """The end of the last window that holds ``pane``."""
        return (pane * self._pane + self._length) // self._step * self._step

    def _merged(self, held: list[list[Summary]]) -> list[Summary]:
        merged = [Summary() for _ in range(self._columns)]
        for pane in held:
            for total, summary in zip(merged, pane, strict=True):
                total.merge(summary)
        return merged

    def state(self) -> Any:
        return {
            "closed": self._closed,
            "panes": {
                group: [[pane, [s.state() for s in columns]] for pane, columns in panes.items()]
                for group, panes in self._panes.items()
            },
        }

    def load(self, state: Any) -> None:
        self._closed = state["closed"]
        self._panes = {
            group: {pane: [Summary.from_state(s) for s in columns] for pane, columns in panes}
            for group, panes in state["panes"].items()
        }
