"""Names of tuples, so that a replay can be told from a new tuple.

A source tuple is called ``<source>:<seq>``, for instance ``sensor.3:1041``: the 1041st event of
the third task of the spout ``sensor``. What is derived from it keeps the name and may add a part
(``sensor.3:1041:2``). What a window says is called ``w/<component>/<group>:<end>``, by the end of
the window in event time. A name never depends on the run, on the placement or on replays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

END_OF_TIME = 2**62
"""The event time of the last watermark of a finite source: later than any real event."""


def tuple_id(source: str, seq: int, *parts: object) -> str:
    """The name of a source's ``seq``-th event, or of the part of it that ``parts`` tell."""
    return ":".join((source, str(seq), *map(str, parts)))


def window_id(component: str, group: object, end: int) -> str:
    """The name of what ``component`` says about ``group`` in the window that ends at ``end``."""
    return f"w/{component}/{quote(str(group), safe='')}:{end}"


def split_id(name: str) -> tuple[str, int, str]:
    """``sensor.3:1041:2`` as ``("sensor.3", 1041, "2")``."""
    source, _, rest = name.partition(":")
    seq, _, part = rest.partition(":")
    return source, int(seq), part


class SeenIds:
    """The names seen so far, in bounded memory.

    All names of a source up to its settled sequence number count as seen; above it they are
    kept one by one. A source settles what has been acked, which will never be new again.
    """

    def __init__(self) -> None:
        self._settled: dict[str, int] = {}
        self._open: dict[str, dict[int, set[str]]] = {}
        self._windows_settled = -1

    def first_time(self, name: str) -> bool:
        """Whether ``name`` is new; it is remembered from now on."""
        source, seq, part = split_id(name)
        if seq <= self._floor(source):
            return False
        parts = self._open.setdefault(source, {}).setdefault(seq, set())
        if part in parts:
            return False
        parts.add(part)
        return True

    def _floor(self, source: str) -> int:
        if source.startswith("w/"):
            return self._windows_settled
        return self._settled.get(source, -1)

    def settle(self, source: str, seq: int) -> None:
        """Everything of ``source`` up to ``seq`` has been seen by all who had to see it."""
        if seq <= self._settled.get(source, -1):
            return
        self._settled[source] = seq
        still_open = self._open.get(source, {})
        for old in [s for s in still_open if s <= seq]:
            del still_open[old]

    def settle_windows(self, event_time: int) -> None:
        """All windows that end by ``event_time`` have been heard of."""
        for source in [s for s in self._open if s.startswith("w/")]:
            by_end = self._open[source]
            for end in [e for e in by_end if e <= event_time]:
                del by_end[end]
            if not by_end:
                del self._open[source]
        self._windows_settled = max(self._windows_settled, event_time)

    def __len__(self) -> int:
        return sum(1 for _ in self._names())

    def _names(self) -> Iterator[tuple[str, int, str]]:
        for source, by_seq in self._open.items():
            for seq, parts in by_seq.items():
                for part in parts:
                    yield source, seq, part

    def state(self) -> dict[str, Any]:
        return {
            "settled": dict(self._settled),
            "windows": self._windows_settled,
            "open": [list(n) for n in self._names()],
        }

    def load(self, state: dict[str, Any]) -> None:
        self._settled = {str(s): int(n) for s, n in state["settled"].items()}
        self._windows_settled = int(state["windows"])
        self._open = {}
        for source, seq, part in state["open"]:
            self._open.setdefault(source, {}).setdefault(int(seq), set()).add(part)
