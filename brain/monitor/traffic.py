"""Reports of the workers → rates per edge and task of one topology.

What may go wrong on the way, and what is done about it:

* Clocks differ between nodes. A window is dated by the brain's clock: its end plus the smallest
  (arrival - end) seen lately from that worker, which is the clock offset plus the fastest delivery.
  So a queue of late windows still lands in the past, not all in the present.
* Reports repeat: (worker, sequence) is remembered. Reports get lost, workers restart, executors
  move: a rate is what arrived divided by the time during which the receiving task was being
  watched, so gaps neither lower nor raise it.
* Counters start anew with each worker; since windows carry differences, nothing can jump.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brain.monitor.bursts import burst_moments
from brain.monitor.forecast import Forecast
from brain.monitor.ring import Ring
from brain.plans.plan import SlotId

TASK_QUANTITIES = ("watched_ms", "cpu_ms", "executed", "emitted", "acked", "failed",
                   "complete_ms_x_acked", "latency_acked")  # fmt: skip
RISING = 1.3
FORECAST_CATCH_UP = 8
"""After a gap the forecast looks at so many of the latest buckets and forgets the rest."""
_SEQUENCES_REMEMBERED = 256
_OFFSETS_REMEMBERED = 24
_WORKERS_REMEMBERED = 4096


@dataclass(frozen=True)
class Rates:
    """What happened in a span, per second. Edges and tasks are parallel arrays."""

    seconds: float
    """How long the tasks were watched, on average; 0 if there was no report."""
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    system: NDArray[np.bool_]
    tuples: NDArray[np.float64]
    bytes: NDArray[np.float64]
    task: NDArray[np.int32]
    cpu_points: NDArray[np.float64]
    """100 is one core."""
    executed: NDArray[np.float64]
    emitted: NDArray[np.float64]
    acked: NDArray[np.float64]
    failed: NDArray[np.float64]
    complete_ms: NDArray[np.float64]
    """Mean complete latency of a spout's tuples; NaN where none was measured."""

    @property
    def measured(self) -> bool:
        return bool(self.tuples.sum() > 0)


@dataclass(frozen=True)
class TaskRates:
    """What tasks did in a span, per second: the part of Rates that needs no look at the edges."""

    task: NDArray[np.int32]
    cpu_points: NDArray[np.float64]
    executed: NDArray[np.float64]
    emitted: NDArray[np.float64]


@dataclass
class Losses:
    """What workers say they lost, since each of them started."""

    reports: int = 0
    """Windows that did not reach a brain."""
    lines: int = 0
    """Lines that could not be written to the metric log."""
    last_ms: int | None = None
    """When one of them was last seen to have grown."""


@dataclass
class _Worker:
    sequences: deque[int]
    offsets: deque[int]
    arrivals: deque[int]
    lost_reports: int = 0
    lost_lines: int = 0

    def too_many(self, now_ms: int) -> bool:
        """Whether the last minute is full; else this arrival is noted."""
        if len(self.arrivals) == self.arrivals.maxlen and now_ms - self.arrivals[0] < 60_000:
            return True
        self.arrivals.append(now_ms)
        return False


class TopologyTraffic:
    """The sliding windows of one topology. Not thread-safe; times are ms of the brain's clock."""

    def __init__(
        self, span_secs: int, max_edges: int, window_secs: int = 5, reports_per_minute: int = 120
    ) -> None:
        """``span_secs`` is how far back rates can be asked for, in steps of about a window."""
        self._reports_per_minute = reports_per_minute
        self._max_tasks = max_edges
        bucket_ms = max(window_secs * 1000, span_secs * 1000 // 60)
        buckets = -(-span_secs * 1000 // bucket_ms) + 2
        self._edges = Ring(2, buckets, bucket_ms, max_edges)
        self._tasks = Ring(len(TASK_QUANTITIES), buckets, bucket_ms, max_edges)
        self.forecast = Forecast(bucket_ms)
        self._forecast_bucket: int | None = None
        """The last one that the forecast has seen."""
        self.usual_burst_ms = 0
        """How long bursts are known to last; 0 if nothing is known."""
        self._workers: OrderedDict[str, _Worker] = OrderedDict()
        self.locations: dict[int, SlotId] = {}
        """Where each task reported from last."""
        self.first_traffic_ms: int | None = None
        self.last_report_ms: int | None = None
        self.duplicates = 0
        self.refused = 0
        """Reports beyond the rate that one worker may send."""
        self.late = 0
        self.losses = Losses()

    @property
    def edges_over_limit(self) -> int:
        """How often an edge was new when there was no room for another one."""
        return self._edges.dropped_keys

    @property
    def step_ms(self) -> int:
        """Rates are kept in steps of this length; a span shorter than two may hold none."""
        return self._tasks.bucket_ms

    @property
    def edges(self) -> int:
        return len(self._edges.keys)

    @property
    def nbytes(self) -> int:
        return self._edges.nbytes + self._tasks.nbytes + self.forecast.nbytes

    def add(self, report: Any, arrived_ms: int) -> bool:
        """Takes one WindowReport; False if it is a duplicate or too late to matter."""
        worker = self._worker(report.worker_id)
        if report.sequence in worker.sequences:
            self.duplicates += 1
            return False
        if worker.too_many(arrived_ms):
            self.refused += 1
            return False
        self._note_losses(worker, report, arrived_ms)
        worker.sequences.append(report.sequence)
        worker.offsets.append(arrived_ms - report.end_ms)
        ended = report.end_ms + min(worker.offsets)
        watched = max(1, report.end_ms - report.start_ms)
        middle = ended - watched // 2
        if not self._tasks.add(middle, *_task_arrays(report.tasks, watched)):
            self.late += 1
            return False
        keys, values = _edge_arrays(report.edges)  # an empty one moves time on, too
        self._edges.add(middle, keys, values)
        self._feed_forecast()
        if self.first_traffic_ms is None and values[0].any():
            self.first_traffic_ms = ended
        slot = (report.node, report.port)
        for load in report.tasks:
            if load.task in self.locations or len(self.locations) < self._max_tasks:
                self.locations[load.task] = slot
        self.last_report_ms = max(arrived_ms, self.last_report_ms or arrived_ms)
        return True

    def _note_losses(self, worker: _Worker, report: Any, now_ms: int) -> None:
        """Workers count since their start; what one said before is not counted again."""
        reports = max(worker.lost_reports, report.dropped or 0)
        lines = max(worker.lost_lines, report.dropped_lines or 0)
        more = reports + lines - worker.lost_reports - worker.lost_lines
        self.losses.reports += reports - worker.lost_reports
        self.losses.lines += lines - worker.lost_lines
        worker.lost_reports, worker.lost_lines = reports, lines
        if more:
            self.losses.last_ms = now_ms

    def rates(self, since_ms: int, until_ms: int, burst_factor: float = 0.0) -> Rates:
        """Means over the span; with a factor, without the moments that were bursts."""
        buckets = self._usual(self._tasks.buckets(since_ms, until_ms), burst_factor)
        edge = self._edges.totals(buckets)
        task = dict(zip(TASK_QUANTITIES, self._tasks.totals(buckets), strict=True))
        seconds = task["watched_ms"] / 1000.0
        watched = seconds > 0
        tasks = self._tasks.keys.astype(np.int32)
        per_second = np.divide(1.0, seconds, out=np.zeros_like(seconds), where=watched)
        source, target, system = _split_edges(self._edges.keys)
        at = np.searchsorted(tasks, target)
        at[at >= len(tasks)] = 0
        scale = per_second[at] if len(tasks) else np.zeros(len(target))
        live = (edge[0] > 0) & (scale > 0)
        latency = np.full(len(tasks), np.nan)
        np.divide(
            task["complete_ms_x_acked"],
            task["latency_acked"],
            out=latency,
            where=task["latency_acked"] > 0,
        )
        return Rates(
            seconds=float(seconds[watched].mean()) if watched.any() else 0.0,
            source=source[live],
            target=target[live],
            system=system[live],
            tuples=(edge[0] * scale)[live],
            bytes=(edge[1] * scale)[live],
            task=tasks[watched],
            cpu_points=(task["cpu_ms"] * per_second / 10.0)[watched],
            executed=(task["executed"] * per_second)[watched],
            emitted=(task["emitted"] * per_second)[watched],
            acked=(task["acked"] * per_second)[watched],
            failed=(task["failed"] * per_second)[watched],
            complete_ms=latency[watched],
        )

    def expected(self, measured: Rates, now_ms: int, horizon_ms: int) -> Rates:
        """What to expect in the time to come, from what was measured lately.

        Streams with a known season are forecast; the others are expected to go on as measured. CPU
        is scaled with what a task will receive, but never below what it was measured to need.
        """
        keys = (
            (measured.source.astype(np.int64) << 32)
            | (measured.target.astype(np.int64) << 1)
            | measured.system
        )
        ahead = self.forecast.expected(keys, now_ms, horizon_ms)
        use = self.forecast.seasonal(keys) & np.isfinite(ahead) & (measured.tuples > 0)
        if not use.any():
            return measured
        ratio = np.ones(len(keys))
        ratio[use] = ahead[use] / measured.tuples[use]
        last = int(max(measured.target.max(initial=0), measured.task.max(initial=0))) + 1
        now = np.bincount(measured.target, measured.tuples, last)
        then = np.bincount(measured.target, measured.tuples * ratio, last)
        more = np.divide(then, now, out=np.ones(last), where=now > 0)
        return replace(
            measured,
            tuples=measured.tuples * ratio,
            bytes=measured.bytes * ratio,
            cpu_points=measured.cpu_points * np.maximum(1.0, more[measured.task]),
        )

    def _feed_forecast(self) -> None:
        """Hands over the buckets that are over: the one before the newest may still fill up."""
        done = self._tasks.newest - 2
        if self._forecast_bucket is None:
            self._forecast_bucket = done
        if done <= self._forecast_bucket:
            return
        first = max(self._forecast_bucket + 1, done - FORECAST_CATCH_UP)
        for bucket in range(first, done + 1):
            seconds = self._tasks.one_bucket(bucket)[0] / 1000.0
            at = np.searchsorted(self._tasks.keys, (self._edges.keys >> 1) & 0x7FFFFFFF)
            at[at >= len(seconds)] = 0
            watched = seconds[at] if len(seconds) else np.zeros(len(at))
            tuples = self._edges.one_bucket(bucket)[0]
            seen = watched > 0
            rates = np.divide(tuples, watched, out=np.zeros_like(tuples), where=seen)
            self.forecast.observe(self._edges.keys, rates, seen, bucket * self._tasks.bucket_ms)
        self._forecast_bucket = done

    def task_rates(self, since_ms: int, until_ms: int, burst_factor: float = 0.0) -> TaskRates:
        """The tasks' part of ``rates``: cheap however many edges there are."""
        buckets = self._usual(self._tasks.buckets(since_ms, until_ms), burst_factor)
        task = dict(zip(TASK_QUANTITIES, self._tasks.totals(buckets), strict=True))
        watched = task["watched_ms"] > 0
        seconds = task["watched_ms"][watched] / 1000.0
        return TaskRates(
            self._tasks.keys[watched].astype(np.int32),
            task["cpu_ms"][watched] / seconds / 10.0,
            task["executed"][watched] / seconds,
            task["emitted"][watched] / seconds,
        )

    def rising(self, since_ms: int, until_ms: int) -> bool:
        """Whether the later half of a span carried much more than the earlier one."""
        middle = (since_ms + until_ms) // 2
        early, late = (
            self._tuples_per_watched(self._tasks.buckets(*span))
            for span in ((since_ms, middle), (middle, until_ms))
        )
        return late > RISING * early

    def _tuples_per_watched(self, buckets: range) -> float:
        watched = float(self._tasks.per_bucket(0, buckets).sum())
        return float(self._edges.per_bucket(0, buckets).sum()) / watched if watched else 0.0

    def _usual(self, buckets: range, burst_factor: float) -> list[int]:
        """The buckets that were no bursts, judged by tuples per watched task."""
        if burst_factor <= 0 or len(buckets) == 0:
            return list(buckets)
        tuples = self._edges.per_bucket(0, buckets)
        watched = self._tasks.per_bucket(0, buckets)
        rate = np.divide(tuples, watched, out=np.zeros_like(tuples), where=watched > 0)
        known = -(-self.usual_burst_ms // self._tasks.bucket_ms)
        bursts = burst_moments(rate, burst_factor, max(1, min(known, len(buckets) // 3)))
        return [b for b, burst in zip(buckets, bursts, strict=True) if not burst]

    def _worker(self, worker_id: str) -> _Worker:
        worker = self._workers.get(worker_id)
        if worker is None:
            worker = _Worker(
                deque(maxlen=_SEQUENCES_REMEMBERED),
                deque(maxlen=_OFFSETS_REMEMBERED),
                deque(maxlen=self._reports_per_minute),
            )
            self._workers[worker_id] = worker
            if len(self._workers) > _WORKERS_REMEMBERED:
                self._workers.popitem(last=False)
        return worker


def _edge_arrays(edges: list[Any]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    flat = np.array(
        [(e.source_task, e.target_task, bool(e.system), e.tuples, e.bytes) for e in edges],
        dtype=np.int64,
    ).reshape(-1, 5)
    keys = (flat[:, 0] << 32) | ((flat[:, 1] & 0x7FFFFFFF) << 1) | flat[:, 2]
    return keys, flat[:, 3:5].T.clip(min=0).astype(np.float64)


def _split_edges(
    keys: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
    source = (keys >> 32).astype(np.int32)
    target = ((keys >> 1) & 0x7FFFFFFF).astype(np.int32)
    return source, target, (keys & 1).astype(bool)


def _task_arrays(
    tasks: list[Any], watched_ms: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    rows = [
        (
            watched_ms,
            _finite(t.cpu_ms) + _finite(t.shell_cpu_ms),
            t.executed or 0,
            t.emitted or 0,
            t.acked or 0,
            t.failed or 0,
            _finite(t.complete_latency_ms) * max(1, t.acked or 0),
            max(1, t.acked or 0) if t.complete_latency_ms is not None else 0,
        )
        for t in tasks
    ]
    values = np.array(rows, dtype=np.float64).reshape(-1, len(TASK_QUANTITIES)).T.clip(min=0)
    return np.array([t.task for t in tasks], dtype=np.int64), values


def _finite(value: float | None) -> float:
    """0 for what is absent or cannot be a quantity (NaN, infinite, negative)."""
    return value if value is not None and 0 <= value < float("inf") else 0.0
