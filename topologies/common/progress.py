"""How far a source's stream has been processed: the state machine behind watermarks.

A watermark for position ``seq`` and event time ``t`` says: every event up to ``seq`` has been
processed by everyone, and no event older than ``t`` will come. It is sent only when all those
events have been acked, so that a replayed tuple can never arrive behind the watermark that
closed its window. Watermarks pass in levels: level 1 closes the windows of the first stateful
operators; what they emit is anchored to the watermark; when that has been acked, level 2 goes to
the operators behind them, and so on. After the last level the position is confirmed, and a
restarted source may begin there.

    emitted ──acks──► floor ──candidate──► level 1 ──ack──► level 2 ──ack──► confirmed
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from topologies.common.identity import END_OF_TIME


@dataclass(frozen=True, slots=True)
class Watermark:
    """Everything up to ``seq`` is done; event time has reached ``time``."""

    seq: int
    time: int
    intended: float


class Progress:
    """Tracks acks of one source task and says which watermark may go out. No I/O."""

    def __init__(self, levels: int, confirmed: int = -1) -> None:
        """``confirmed`` is the position a restarted source begins after."""
        self._levels = levels
        self._floor = confirmed
        self._acked: set[int] = set()
        self._candidates: deque[Watermark] = deque()
        self._in_flight: Watermark | None = None
        self._level = 0
        self._end: Watermark | None = None
        self.confirmed = confirmed
        self.finished = False

    def acked(self, seq: int) -> None:
        """Event ``seq`` has been processed by everyone. Acks may come in any order, or twice."""
        if seq <= self._floor:
            return
        self._acked.add(seq)
        while self._floor + 1 in self._acked:
            self._floor += 1
            self._acked.remove(self._floor)

    def candidate(self, watermark: Watermark) -> None:
        """Offers a position as a watermark, to be sent once it has been acked."""
        self._candidates.append(watermark)

    def end(self, last_seq: int, intended: float) -> None:
        """There are no more events after ``last_seq``."""
        self._end = Watermark(last_seq + 1, END_OF_TIME, intended)

    @property
    def ended(self) -> bool:
        return self._end is not None

    def next_to_send(self) -> tuple[Watermark, int] | None:
        """The watermark and level to send now, if any; call again after ``watermark_acked``."""
        if self._in_flight is not None or self.finished:
            return None
        ready: Watermark | None = None
        while self._candidates and self._candidates[0].seq <= self._floor:
            ready = self._candidates.popleft()
        if self._end is not None and self._floor >= self._end.seq - 1:
            ready = self._end
        if ready is None:
            return None
        self._in_flight, self._level = ready, 1
        return ready, 1

    def watermark_acked(self, seq: int, level: int) -> tuple[Watermark, int] | None:
        """A watermark went through its level; returns the next level to send, if any.

        ``confirmed`` moves when the last level is through.
        """
        in_flight = self._in_flight
        if in_flight is None or (in_flight.seq, self._level) != (seq, level):
            return None
        if level < self._levels:
            self._level = level + 1
            return in_flight, self._level
        self.confirmed = in_flight.seq
        self._in_flight = None
        self.finished = in_flight.time == END_OF_TIME
        return None
