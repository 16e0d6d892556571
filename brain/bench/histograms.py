"""Latencies between two moments, from the histograms that topologies write."""

from __future__ import annotations

import json
from pathlib import Path

from topologies.common.latency import LatencyHistogram


def read_histogram(results: Path | None, component: str | None) -> LatencyHistogram | None:
    """All tasks of a component together, as of now; ``None`` without such files."""
    if results is None or component is None:
        return None
    parts = []
    for path in results.glob(f"latency-{component}.*.json"):
        try:
            parts.append(LatencyHistogram.from_dict(json.loads(path.read_text())))
        except (ValueError, KeyError, OSError):  # being replaced right now
            continue
    return LatencyHistogram.total(parts) if parts else None


def histogram_between(
    before: LatencyHistogram | None, after: LatencyHistogram | None
) -> LatencyHistogram | None:
    """What was added between two readings; ``None`` if nothing was."""
    if after is None:
        return None
    old = {} if before is None else before.as_dict()["buckets"]
    raw = after.as_dict()
    buckets = {b: max(0, n - old.get(b, 0)) for b, n in raw["buckets"].items()}
    count = sum(buckets.values())
    if not count:
        return None
    earlier = 0.0 if before is None else before.sum_ms
    return LatencyHistogram.from_dict(
        {**raw, "buckets": buckets, "count": count, "sum_ms": max(0.0, after.sum_ms - earlier)}
    )
