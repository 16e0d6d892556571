"""Reads the metric log of a running topology (docs/metric-log.md), without Spark.

For a look at one small cluster while it runs; the pipeline is what reads logs in earnest.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Place = tuple[str, str]
"""Node and worker."""


@dataclass(frozen=True)
class Window:
    """One complete window of one worker."""

    node: str
    worker: str
    start_ms: int
    end_ms: int
    edges: tuple[dict[str, Any], ...]
    tasks: tuple[dict[str, Any], ...]

    @property
    def port(self) -> int:
        return int(self.worker.partition("-")[0])

    @property
    def worker_start_ms(self) -> int:
        return int(self.worker.partition("-")[2], 36)


@dataclass
class LogTail:
    """Follows all log files of a topology; each call returns only what is new."""

    directory: Path
    _offsets: dict[Path, int] = field(default_factory=dict)
    _open: dict[tuple[str, str, int], list[dict[str, Any]]] = field(default_factory=dict)

    def read(self) -> list[Window]:
        """Windows that were completed since the last call."""
        return [w for path in sorted(self.directory.glob("*.jsonl")) for w in self._read(path)]

    def _read(self, path: Path) -> Iterator[Window]:
        with path.open("rb") as f:
            f.seek(self._offsets.get(path, 0))
            for line in f:
                if not line.endswith(b"\n"):
                    break  # still being written
                self._offsets[path] = self._offsets.get(path, 0) + len(line)
                try:
                    row = json.loads(line)
                except ValueError:
                    continue
                key = (row["node"], row["worker"], row["seq"])
                if row["kind"] != "window":
                    self._open.setdefault(key, []).append(row)
                    continue
                rows = self._open.pop(key, [])
                yield Window(
                    row["node"],
                    row["worker"],
                    row["start"],
                    row["end"],
                    tuple(r for r in rows if r["kind"] == "edge"),
                    tuple(r for r in rows if r["kind"] == "task"),
                )
