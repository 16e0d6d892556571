"""What happened lately: traffic, latency and throughput of each topology, and its moves.

Sampled from the core every few seconds and kept in memory, bounded; a brain that starts anew
begins a new line.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from brain.core import BrainCore
from brain.monitor.traffic import Rates
from brain.plans.plan import Executor, SlotId
from brain.policy.record import TopologyRecord
from brain.service.flows import Flow, flow_of

STEP_SECS = 2.0
POINTS = 1800
"""An hour."""
MOVES = 100


@dataclass(frozen=True)
class Point:
    time_ms: int
    flow: Flow | None
    """None while nothing was measured under the placement of that moment."""


@dataclass(frozen=True)
class MoveSeen:
    """A change of the assignment, whoever made it."""

    time_ms: int
    executors: int
    cause: str


@dataclass
class Line:
    points: deque[Point] = field(default_factory=lambda: deque(maxlen=POINTS))
    moves: deque[MoveSeen] = field(default_factory=lambda: deque(maxlen=MOVES))
    assignment: dict[Executor, SlotId] = field(default_factory=dict)


class Timeline:
    """Not thread-safe: used under the core's lock."""

    def __init__(self) -> None:
        self.lines: dict[str, Line] = {}
        self._snapshots: deque[int] = deque(maxlen=8)

    def sample(self, core: BrainCore, now_ms: int) -> None:
        seen = core.counters.last_snapshot_ms
        if seen and (not self._snapshots or self._snapshots[-1] != seen):
            self._snapshots.append(seen)
        for gone in set(self.lines) - set(core.records):
            del self.lines[gone]
        for topology_id, record in core.records.items():
            line = self.lines.setdefault(topology_id, Line())
            self._note_move(line, record)
            rates = recent_rates(record, now_ms, under_this_placement=True)
            measured = rates.seconds > 0
            line.points.append(Point(now_ms, flow_of(record.view, rates) if measured else None))

    @property
    def snapshot_every_ms(self) -> int | None:
        """How often Nimbus has asked lately; None before it came twice."""
        if len(self._snapshots) < 2:
            return None
        first, last = self._snapshots[0], self._snapshots[-1]
        return (last - first) // (len(self._snapshots) - 1)

    def _note_move(self, line: Line, record: TopologyRecord) -> None:
        now = dict(record.view.assignment)
        if line.assignment and now != line.assignment:
            changed = sum(1 for e, slot in now.items() if line.assignment.get(e) != slot)
            plan = record.plan
            ours = plan is not None and plan.plan.executors == now
            cause = f"plan {plan.plan.epoch}" if plan is not None and ours else "Storm"
            line.moves.append(MoveSeen(record.changed_ms, changed, cause))
        if now:
            line.assignment = now


def recent_rates(record: TopologyRecord, now_ms: int, under_this_placement: bool = False) -> Rates:
    """Rates of the last few windows; on demand none from before the placement changed."""
    window_ms = 1000 * record.settings["window.secs"]
    since = now_ms - 3 * max(window_ms, record.traffic.step_ms)
    if under_this_placement:
        since = max(since, record.changed_ms + window_ms)
    return record.traffic.rates(since, now_ms)


def points_to_json(line: Line, limit: int) -> dict[str, Any]:
    """Parallel arrays, thinned out to about ``limit`` points."""
    points = list(line.points)
    step = max(1, -(-len(points) // limit))
    chosen = points[::-1][::step][::-1]

    def values(name: str) -> list[float | None]:
        return [None if p.flow is None else getattr(p.flow, name) for p in chosen]

    return {
        "time_ms": [p.time_ms for p in chosen],
        "bytes": values("bytes"),
        "inter_node_bytes": values("inter_node_bytes"),
        "tuples": values("tuples"),
        "inter_node_tuples": values("inter_node_tuples"),
        "acked": values("acked"),
        "latency_ms": values("latency_ms"),
    }
