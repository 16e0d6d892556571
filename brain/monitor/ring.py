"""Sums per key over a sliding span of time, in dense arrays.

A key is a 64-bit number (an edge, a task). Time runs in buckets; each bucket holds one row per
quantity. Memory is keys × buckets × quantities × 8 bytes and nothing else, so it is bounded by
``max_keys``.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.int64]
Values = NDArray[np.float64]


class Ring:
    def __init__(self, quantities: int, buckets: int, bucket_ms: int, max_keys: int) -> None:
        self.bucket_ms = bucket_ms
        self._max_keys = max_keys
        self.keys: Keys = np.zeros(0, dtype=np.int64)
        """Sorted; all that is handed out is in this order."""
        self._column: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        """Where each key's sums lie: in order of arrival, so that a new key moves nothing."""
        self._sums = np.zeros((buckets, quantities, 0))
        self._bucket_sums = np.zeros((buckets, quantities))
        """Each bucket's row summed over all keys, kept up as values come in."""
        self._newest = -(2**62)
        """Number of the newest bucket: time // bucket_ms."""
        self.dropped_keys = 0

    @property
    def nbytes(self) -> int:
        return int(self._sums.nbytes + self.keys.nbytes + self._column.nbytes)

    def add(self, time_ms: int, keys: Keys, values: Values) -> bool:
        """Adds ``values[quantity, i]`` to ``keys[i]`` at a time; False if that time is too old."""
        bucket = time_ms // self.bucket_ms
        if bucket <= self._newest - len(self._sums):
            return False
        self._advance(bucket)
        index = self._index_of(keys)
        known = index >= 0
        row = self._sums[bucket % len(self._sums)]
        for quantity in range(row.shape[0]):
            np.add.at(row[quantity], index[known], values[quantity, known])
        self._bucket_sums[bucket % len(self._sums)] += values[:, known].sum(axis=1)
        return True

    def buckets(self, since_ms: int, until_ms: int) -> range:
        """Numbers of the kept buckets that begin within the span, oldest first."""
        first = max(-(-since_ms // self.bucket_ms), self._newest - len(self._sums) + 1)
        return range(first, max(first, min(until_ms // self.bucket_ms, self._newest) + 1))

    def totals(self, buckets: Iterable[int]) -> Values:
        """Sums per quantity and key over some of the kept buckets."""
        totals = np.zeros(self._sums.shape[1:])
        for row in self._rows(buckets):
            totals += self._sums[row]
        return totals[:, self._column]

    def per_bucket(self, quantity: int, buckets: Iterable[int]) -> Values:
        """One quantity summed over all keys, for each bucket."""
        sums: Values = self._bucket_sums[self._rows(buckets), quantity]
        return sums

    def one_bucket(self, bucket: int) -> Values:
        """Sums per quantity and key of one kept bucket."""
        row: Values = self._sums[bucket % len(self._sums)][:, self._column]
        return row

    @property
    def newest(self) -> int:
        """Number of the newest bucket, far below any before the first value."""
        return self._newest

    def _rows(self, buckets: Iterable[int]) -> NDArray[np.int64]:
        """Where they lie; one that is not reached yet would alias an old one, so it is left out."""
        kept = [b for b in buckets if self._newest - len(self._sums) < b <= self._newest]
        return np.array(kept, dtype=np.int64) % len(self._sums)

    def _advance(self, bucket: int) -> None:
        if bucket <= self._newest:
            return
        steps = min(bucket - self._newest, len(self._sums))
        cleared = np.arange(bucket - steps + 1, bucket + 1) % len(self._sums)
        self._sums[cleared] = 0.0
        self._bucket_sums[cleared] = 0.0
        self._newest = bucket

    def _index_of(self, keys: Keys) -> NDArray[np.int64]:
        """Where each key lies, adding the new ones; -1 for what did not fit any more."""
        position = np.searchsorted(self.keys, keys)
        known = position < len(self.keys)
        known[known] = self.keys[position[known]] == keys[known]
        if not known.all():
            self._grow(np.unique(keys[~known]))
            position = np.searchsorted(self.keys, keys)
            known = position < len(self.keys)
            known[known] = self.keys[position[known]] == keys[known]
        return np.where(known, self._column[np.where(known, position, 0)], -1)

    def _grow(self, new: Keys) -> None:
        """``new`` are sorted, and none of them is known."""
        if len(self.keys) + len(new) > self._max_keys:
            self._compact()
            room = self._max_keys - len(self.keys)
            self.dropped_keys += max(0, len(new) - room)
            new = new[:room]
        used = len(self.keys)
        if used + len(new) > self._sums.shape[2]:
            room = min(self._max_keys, max(used + len(new), self._sums.shape[2] * 3 // 2))
            larger = np.zeros((*self._sums.shape[:2], room))
            larger[:, :, :used] = self._sums[:, :, :used]
            self._sums = larger
        at = np.searchsorted(self.keys, new)
        self._column = np.insert(self._column, at, np.arange(used, used + len(new)))
        self.keys = np.insert(self.keys, at, new)

    def _compact(self) -> None:
        """Forgets keys that have been silent for the whole span."""
        carried: Values = np.abs(self._sums).sum(axis=(0, 1))
        busy = carried[self._column] > 0
        self._sums = np.ascontiguousarray(self._sums[:, :, self._column[busy]])
        self.keys = self.keys[busy]
        self._column = np.arange(len(self.keys))
