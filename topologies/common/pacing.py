"""When a source has to emit.

With a rate, event ``k`` is due at ``start + k / rate`` whatever happened to the events before it,
and latency is measured from that moment. A source that was held up (by back pressure, by a
garbage collection, by a re-placement) therefore owes the events of the meantime, and their
waiting counts as latency: there is no coordinated omission. Without a rate the source emits as
fast as acking lets it, and an event is due when it is emitted.
"""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], float]


class Pacer:
    """Tells how many events are due, and when each was meant to be emitted."""

    def __init__(self, rate: float, clock: Clock = time.time) -> None:
        """``rate`` in events a second; 0 for as fast as possible."""
        if rate < 0:
            raise ValueError(f"rate is {rate}, but a rate is 0 (no limit) or more")
        self._rate = rate
        self._clock = clock
        self._start: float | None = None
        self._emitted = 0

    def due(self, at_most: int) -> int:
        """How many events may be emitted now, ``at_most`` in this call."""
        if self._start is None:
            self._start = self._clock()
        if self._rate == 0:
            return at_most
        owed = int((self._clock() - self._start) * self._rate) + 1 - self._emitted
        return max(0, min(at_most, owed))

    def take(self) -> float:
        """Counts one emission; the moment it was meant for, in seconds since the epoch."""
        if self._start is None:
            self._start = self._clock()
        meant = self._clock() if self._rate == 0 else self._start + self._emitted / self._rate
        self._emitted += 1
        return meant

    def seconds_until_due(self) -> float:
        """How long there is nothing to do; 0 if an event is due."""
        if self._rate == 0 or self._start is None:
            return 0.0
        return max(0.0, self._start + self._emitted / self._rate - self._clock())
