"""WorkerMonitor: what the local executors say and burn, from the hook's metric log on this node.

The hook counts at the receiving task, so this node knows what comes in to its executors; what goes
out is known where it arrives. Agents tell each other their part through ZooKeeper.
"""

from __future__ import annotations

import json
import logging
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)

READ_BYTES = 1 << 20
"""Of one file at a time: a log that grew while nobody looked is taken in pieces."""
FIRST_BYTES = 256 * 1024
"""Of a file seen for the first time only its end: what was long ago does not matter."""
MOST_EDGES = 2000


@dataclass
class _Window:
    read_at: float
    """By the own monotonic clock: the node's may jump."""
    seconds: float
    edges: dict[tuple[int, int], tuple[float, float]]
    """(source task, target task) → tuples, bytes."""
    cpu_ms: dict[int, float]
    own_ms: float | None = None
    """CPU of the worker's process besides its tasks: what it costs that there is a worker."""
    threads_ms: float = 0.0


@dataclass
class _File:
    offset: int
    rest: bytes = b""
    partial: dict[int, _Window] = field(default_factory=dict)


@dataclass(frozen=True)
class LocalRates:
    """Edges into local tasks as (source task, target task, weight a second), CPU points by task,
    and CPU points of each worker besides its tasks."""

    edges: tuple[tuple[int, int, float], ...] = ()
    cpu: dict[int, float] = field(default_factory=dict)
    workers: tuple[float, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "edges": [list(e) for e in self.edges],
            "cpu": {str(t): c for t, c in self.cpu.items()},
            "workers": list(self.workers),
        }


class WorkerMonitor:
    """``read`` takes in what was written since; ``rates`` is the mean of the last seconds."""

    def __init__(self, directory: Path, node: str, observe_secs: float = 60.0) -> None:
        self._directory = directory
        self._node = node
        self._observe_secs = observe_secs
        self._files: dict[Path, _File] = {}
        self._windows: dict[str, dict[Path, deque[_Window]]] = defaultdict(dict)

    def topologies(self) -> list[str]:
        try:
            return sorted(d.name for d in self._directory.iterdir() if d.is_dir())
        except OSError:
            return []

    def read(self, topology_id: str) -> None:
        """Takes in new lines of a topology; files that are gone are forgotten."""
        folder = self._directory / topology_id
        try:
            files = sorted(folder.glob(f"{self._node}-*.jsonl"))
        except OSError:
            files = []
        known = self._windows[topology_id]
        for gone in set(known) - set(files):
            known.pop(gone, None)
            self._files.pop(gone, None)
        for path in files:
            self._read_file(path, known.setdefault(path, deque(maxlen=512)))

    def forget(self, live: set[str]) -> None:
        for gone in set(self._windows) - live:
            for path in self._windows.pop(gone):
                self._files.pop(path, None)

    def rates(self, topology_id: str) -> LocalRates:
        """Over the last ``observe_secs`` of each worker that still writes."""
        by_worker = [list(self._latest(d)) for d in self._windows.get(topology_id, {}).values()]
        windows = [w for latest in by_worker for w in latest]
        tuples: dict[tuple[int, int], float] = defaultdict(float)
        size: dict[tuple[int, int], float] = defaultdict(float)
        cpu: dict[int, float] = defaultdict(float)
        seconds: dict[int, float] = defaultdict(float)
        for w in windows:
            for task, ms in w.cpu_ms.items():
                cpu[task] += ms
                seconds[task] += w.seconds
            for edge, (count, bytes_) in w.edges.items():
                tuples[edge] += count
                size[edge] += bytes_
        sampled = [e for e in tuples if size[e] > 0]
        mean = sum(size[e] for e in sampled) / max(sum(tuples[e] for e in sampled), 1e-9)
        edges = []
        for (source, target), count in tuples.items():
            passed = seconds.get(target, 0.0)
            if passed > 0:
                amount = (size[source, target] or count * mean) if sampled else count
                edges.append((source, target, amount / passed))
        edges.sort(key=lambda e: -e[2])
        points = {t: ms / 10.0 / seconds[t] for t, ms in cpu.items() if seconds[t] > 0}
        own = [p for latest in by_worker if (p := _own_points(latest)) is not None]
        return LocalRates(tuple(edges[:MOST_EDGES]), points, tuple(own))

    def _latest(self, windows: deque[_Window]) -> Iterator[_Window]:
        """A worker's last ``observe_secs``; nothing of one that has not written for as long."""
        oldest, passed = time.monotonic() - self._observe_secs, 0.0
        for w in reversed(windows):
            if w.read_at < oldest or passed >= self._observe_secs:
                return
            passed += w.seconds
            yield w

    def _read_file(self, path: Path, windows: deque[_Window]) -> None:
        state = self._files.get(path)
        try:
            length = path.stat().st_size
            if state is None:
                state = self._files[path] = _File(max(0, length - FIRST_BYTES))
                skip = state.offset > 0
            else:
                skip = False
            if length <= state.offset:
                return
            with path.open("rb") as stream:
                stream.seek(state.offset)
                data = stream.read(READ_BYTES)
        except OSError as e:
            log.debug("%s: %s", path, e)
            return
        state.offset += len(data)
        lines = (state.rest + data).split(b"\n")
        state.rest = lines.pop()
        for line in lines[1:] if skip else lines:
            try:
                self._take(json.loads(line), state, windows)
            except (ValueError, KeyError, TypeError) as e:
                log.debug("%s: a line that is none of ours: %s", path, e)

    @staticmethod
    def _take(row: dict[str, Any], state: _File, windows: deque[_Window]) -> None:
        kind = row["kind"]
        if kind not in ("edge", "task", "window"):
            return
        seq = int(row["seq"])
        window = state.partial.get(seq)
        if window is None:
            seconds = (int(row["end"]) - int(row["start"])) / 1000.0
            window = state.partial[seq] = _Window(time.monotonic(), seconds, {}, {})
        if kind == "edge":
            edge = (int(row["source"]), int(row["target"]))
            count, bytes_ = window.edges.get(edge, (0.0, 0.0))
            window.edges[edge] = (count + float(row["tuples"]), bytes_ + float(row["bytes"]))
        elif kind == "task":
            thread = float(row.get("cpu_ms") or 0.0)
            window.threads_ms += thread
            window.cpu_ms[int(row["task"])] = thread + float(row.get("shell_cpu_ms") or 0.0)
        else:
            del state.partial[seq]
            for old in [s for s in state.partial if s < seq]:
                del state.partial[old]
            if "process_cpu_ms" in row:
                window.own_ms = max(0.0, float(row["process_cpu_ms"]) - window.threads_ms)
            if 0.0 < window.seconds < 3600.0:
                windows.append(window)


def _own_points(windows: list[_Window]) -> float | None:
    """CPU points of one worker besides its tasks; None where it does not tell."""
    told = [(w.own_ms, w.seconds) for w in windows if w.own_ms is not None]
    seconds = sum(s for _, s in told)
    return sum(ms for ms, _ in told) / 10.0 / seconds if seconds > 0 else None
