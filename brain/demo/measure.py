"""What a topology did in a span of time, by the hook's counters alone.

Nothing here comes from the brain's model: tuples and bytes are what tasks received, where tasks
ran is what their workers wrote.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from brain.demo.metric_log import Place, Window


@dataclass(frozen=True)
class Measured:
    """Per second, over the topology's own streams; acks and ticks are counted apart."""

    seconds: float
    inter_node_tuples: float
    inter_node_bytes: float
    all_tuples: float
    all_bytes: float
    system_inter_node_tuples: float
    spout_tuples: float
    acked: float
    complete_ms: float | None
    nodes: int
    workers: int

    @property
    def local_share(self) -> float:
        """Share of the own tuples that stay on their node."""
        return 1.0 - self.inter_node_tuples / self.all_tuples if self.all_tuples else 0.0

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "local_share": self.local_share}


def measure(windows: Iterable[Window], since_ms: int, until_ms: int, spout: str) -> Measured:
    """Over the windows that lie wholly within the span, during which nothing may have moved."""
    inside = [w for w in windows if w.start_ms >= since_ms and w.end_ms <= until_ms]
    place: dict[int, Place] = {t["task"]: (w.node, w.worker) for w in inside for t in w.tasks}
    seconds = _covered_secs(inside)
    sums = dict.fromkeys(("node_t", "node_b", "all_t", "all_b", "system"), 0.0)
    for w in inside:
        for e in w.edges:
            source = place.get(e["source"])
            if source is None:  # Storm's own task of each worker, which is always local
                continue
            crosses = source[0] != w.node
            if e.get("system"):
                sums["system"] += e["tuples"] * crosses
                continue
            sums["all_t"] += e["tuples"]
            sums["all_b"] += e["bytes"]
            sums["node_t"] += e["tuples"] * crosses
            sums["node_b"] += e["bytes"] * crosses
    spouts = [t for w in inside for t in w.tasks if t["component"] == spout]
    acked = sum(t.get("acked", 0) for t in spouts)
    timed = [t for t in spouts if t.get("complete_ms") is not None and t.get("acked")]
    latency = None
    if timed:
        latency = sum(t["complete_ms"] * t["acked"] for t in timed) / sum(t["acked"] for t in timed)
    per = 1.0 / seconds if seconds else 0.0
    return Measured(
        seconds,
        sums["node_t"] * per,
        sums["node_b"] * per,
        sums["all_t"] * per,
        sums["all_b"] * per,
        sums["system"] * per,
        sum(t.get("emitted", 0) for t in spouts) * per,
        acked * per,
        latency,
        len({w.node for w in inside}),
        len({(w.node, w.worker) for w in inside}),
    )


def sink_series(windows: Sequence[Window], sink: str) -> list[tuple[int, float]]:
    """(end of window, tuples) of the sink's tasks, by time: for the plot and for downtime."""
    return sorted(
        (w.end_ms, float(sum(t.get("executed", 0) for t in w.tasks if t["component"] == sink)))
        for w in windows
        if any(t["component"] == sink for t in w.tasks)
    )


def downtime_secs(series: Sequence[tuple[int, float]], since_ms: int, window_ms: int) -> float:
    """The longest time after ``since_ms`` without a tuple at the sink; a window's resolution."""
    times = [end for end, tuples in series if tuples > 0 and end >= since_ms - window_ms]
    gaps = [b - a for a, b in itertools.pairwise(times)]
    return max((g - window_ms for g in gaps), default=0) / 1000.0 if gaps else 0.0


def _covered_secs(windows: Sequence[Window]) -> float:
    """How long the span was watched: the mean over workers of their windows together."""
    if not windows:
        return 0.0
    watched: dict[Place, int] = {}
    for w in windows:
        watched[w.node, w.worker] = watched.get((w.node, w.worker), 0) + w.end_ms - w.start_ms
    return sum(watched.values()) / len(watched) / 1000.0
