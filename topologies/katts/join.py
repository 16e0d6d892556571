"""The temporal join: hash tables on both sides, emptied by time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from topologies.common.bolt import Output

LEFT, RIGHT = "left", "right"
Row = list[Any]


class TemporalJoin:
    """Joins rows of two sides that agree in the key and whose times fit:
    ``min_lag <= left time - right time <= max_lag`` (milliseconds).

    A row is (side, values of the key…, other values…, time). A pair is told when its second row
    comes, and again when one of the rows is replayed; its name is made of the two rows' names.
    Rows that no future row can fit are evicted at the watermark. Rows are kept by name, so a
    replayed row changes nothing.
    """

    def __init__(self, key_width: int, min_lag: int, max_lag: int) -> None:
        self._key_width = key_width
        self._min_lag, self._max_lag = min_lag, max_lag
        self._tables: dict[str, dict[tuple[Any, ...], dict[str, Row]]] = {LEFT: {}, RIGHT: {}}

    def insert(self, values: Sequence[Any], name: str) -> Iterable[Output]:
        side, *row = values
        self._tables[side].setdefault(self._key(row), {})[name] = row
        return self.again(values, name)

    def again(self, values: Sequence[Any], name: str) -> Iterator[Output]:
        side, *row = values
        other = RIGHT if side == LEFT else LEFT
        matches = self._tables[other].get(self._key(row), {})
        for other_name, other_row in matches.items():
            if side == LEFT:
                pair = self._pair(row, name, other_row, other_name)
            else:
                pair = self._pair(other_row, other_name, row, name)
            if pair is not None:
                yield pair

    def advance(self, watermark: int) -> Iterable[Output]:
        """Left rows wait for right rows up to ``time - min_lag``, right rows for left ones up to
        ``time + max_lag``; what the watermark has passed is evicted."""
        self._evict(LEFT, watermark + self._min_lag)
        self._evict(RIGHT, watermark - self._max_lag)
        return ()

    def __len__(self) -> int:
        return sum(len(rows) for table in self._tables.values() for rows in table.values())

    def _evict(self, side: str, older_than: int) -> None:
        table = self._tables[side]
        for key in list(table):
            rows = table[key]
            for name in [n for n, row in rows.items() if row[-1] < older_than]:
                del rows[name]
            if not rows:
                del table[key]

    def _pair(self, left: Row, left_name: str, right: Row, right_name: str) -> Output | None:
        if not self._min_lag <= left[-1] - right[-1] <= self._max_lag:
            return None
        values = [*left[:-1], *right[self._key_width : -1], max(left[-1], right[-1])]
        return Output(values, f"{left_name}&{right_name}")

    def _key(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[: self._key_width])

    def state(self) -> Any:
        return {
            side: [[name, row] for rows in table.values() for name, row in rows.items()]
            for side, table in self._tables.items()
        }

    def load(self, state: Any) -> None:
        self._tables = {LEFT: {}, RIGHT: {}}
        for side, rows in state.items():
            for name, row in rows:
                self._tables[side].setdefault(self._key(row), {})[name] = row
