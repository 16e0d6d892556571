"""A small histogram of latencies: exact counts in buckets that grow by about 5 %."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

_BUCKETS_PER_DOUBLING = 14
_SMALLEST_MS = 0.01


class LatencyHistogram:
    """Counts of latencies in milliseconds; histograms of many tasks can be added up."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self.count = 0
        self.sum_ms = 0.0
        self.max_ms = 0.0

    def record(self, milliseconds: float) -> None:
        """Clocks of two hosts may differ, so a negative latency counts as none at all."""
        value = max(milliseconds, 0.0)
        bucket = round(math.log2(max(value, _SMALLEST_MS) / _SMALLEST_MS) * _BUCKETS_PER_DOUBLING)
        self._counts[bucket] = self._counts.get(bucket, 0) + 1
        self.count += 1
        self.sum_ms += value
        self.max_ms = max(self.max_ms, value)

    @property
    def mean_ms(self) -> float:
        return self.sum_ms / self.count if self.count else 0.0

    def quantile_ms(self, share: float) -> float:
        """The latency that ``share`` (0..1) of the tuples did not exceed, within about 5 %."""
        wanted = share * self.count
        reached = 0
        for bucket in sorted(self._counts):
            reached += self._counts[bucket]
            if reached >= wanted:
                return float(_SMALLEST_MS * 2 ** (bucket / _BUCKETS_PER_DOUBLING))
        return 0.0

    def add(self, other: LatencyHistogram) -> None:
        for bucket, n in other._counts.items():
            self._counts[bucket] = self._counts.get(bucket, 0) + n
        self.count += other.count
        self.sum_ms += other.sum_ms
        self.max_ms = max(self.max_ms, other.max_ms)

    def as_dict(self) -> dict[str, Any]:
        return {
            "count": self.count,
            "sum_ms": self.sum_ms,
            "max_ms": self.max_ms,
            "mean_ms": self.mean_ms,
            "p50_ms": self.quantile_ms(0.50),
            "p95_ms": self.quantile_ms(0.95),
            "p99_ms": self.quantile_ms(0.99),
            "buckets": {str(b): n for b, n in sorted(self._counts.items())},
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> LatencyHistogram:
        histogram = cls()
        histogram._counts = {int(b): int(n) for b, n in data["buckets"].items()}
        histogram.count = int(data["count"])
        histogram.sum_ms = float(data["sum_ms"])
        histogram.max_ms = float(data["max_ms"])
        return histogram

    @classmethod
    def total(cls, histograms: Iterable[LatencyHistogram]) -> LatencyHistogram:
        result = cls()
        for histogram in histograms:
            result.add(histogram)
        return result
