"""One line about a running ``follow`` every few seconds: what came, how late, at what cost."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.console import Console

from brain.errors import StormbrainError
from brain.pipeline.follow import CpuMeter, Follower

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery

EVERY_S = 10.0


def watch(
    query: StreamingQuery, follower: Follower, console: Console, until: float | None = None
) -> None:
    """Returns at ``until`` (monotonic seconds); raises if the query fails."""
    meter = CpuMeter()
    used, at = meter.seconds(), time.monotonic()
    while until is None or time.monotonic() < until:
        left = EVERY_S if until is None else max(0.0, min(EVERY_S, until - time.monotonic()))
        over = query.awaitTermination(left)  # also passes on what went wrong in a batch
        now_used, now = meter.seconds(), time.monotonic()
        cpu = (now_used - used) / max(1e-9, now - at) * 100
        used, at = now_used, now
        console.print(status_line(follower, cpu), markup=False)
        if over:
            raise StormbrainError("the stream ended by itself; start follow again to go on")


def status_line(follower: Follower, cpu: float) -> str:
    stats = follower.stats
    line = f"{stats.windows:,} windows, {stats.rows:,} lines, CPU {cpu:.1f} %"
    latency = stats.latency()
    if latency:
        line += f", line to graph p50 {latency['p50']:.0f} ms, p95 {latency['p95']:.0f} ms"
    if follower.graph.corrupt:
        line += f", {follower.graph.corrupt:,} corrupt lines"
    if follower.publisher:
        line += f", sent {follower.publisher.sent:,}"
        if follower.publisher.undelivered:
            line += f", not delivered {follower.publisher.undelivered:,}"
        if follower.publisher.trouble:
            line += f" ({follower.publisher.trouble})"
    return line
