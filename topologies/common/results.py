"""Results, counters and completion of a finite run, as files that can be compared afterwards.

In the directory of the option ``results_dir``:

``result-<component>.<i>.jsonl``
    One JSON object a result, with its ``id``. A replay may write a result twice, with the same
    ``id`` and the same content; ``read_results`` keeps one.
``counters-<component>.<i>.json``
    What the task took in and gave out, rewritten every second and at every watermark.
``latency-<component>.<i>.json``
    Histogram of the latency from the intended emission to this task.
``done-<spout>.<i>.json``
    Written when everything the spout task emitted has been processed, windows and all.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any

from topologies.common.journal import open_for_append, read_whole_lines, write_atomically
from topologies.common.latency import LatencyHistogram


class ConflictingResults(Exception):
    """Two results with one id differ: a replay changed a result, which must never happen."""


class TaskReport:
    """The files of one task; without a directory everything is only counted."""

    def __init__(
        self,
        directory: Path | None,
        task: str,
        clock: Callable[[], float] = time.time,
        every_seconds: float = 1.0,
    ) -> None:
        if directory is not None:
            directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._task = task
        self._clock = clock
        self._every_seconds = every_seconds
        self._last_flush = clock()
        self._results: IO[str] | None = None
        self.counters: dict[str, int] = {}
        self.latency = LatencyHistogram()

    def count(self, what: str, n: int = 1) -> None:
        self.counters[what] = self.counters.get(what, 0) + n

    def result(self, result_id: str, fields: dict[str, Any]) -> None:
        """Writes one result; on disk (of the operating system) when this returns."""
        self.count("results")
        if self._directory is None:
            return
        if self._results is None:
            self._results = open_for_append(self._directory / f"result-{self._task}.jsonl")
        self._results.write(json.dumps({"id": result_id, **fields}) + "\n")
        self._results.flush()

    def flush_if_due(self) -> bool:
        """Writes counters and latencies about once a second; whether it did."""
        if self._clock() - self._last_flush < self._every_seconds:
            return False
        self.flush()
        return True

    def flush(self) -> None:
        self._last_flush = self._clock()
        if self._directory is None:
            return
        self._write("counters", {"task": self._task, "time": self._clock(), **self.counters})
        if self.latency.count:
            self._write("latency", self.latency.as_dict())

    def done(self) -> None:
        """Says that this source's stream has been processed to its end."""
        self.flush()
        if self._directory is not None:
            self._write("done", {"task": self._task, **self.counters})

    def _write(self, kind: str, content: dict[str, Any]) -> None:
        assert self._directory is not None
        write_atomically(self._directory / f"{kind}-{self._task}.json", json.dumps(content))


def read_results(directory: Path, component: str | None = None) -> dict[str, dict[str, Any]]:
    """All results by id, replays counted once.

    Raises ``ConflictingResults`` if one id was given two different results.
    """
    results: dict[str, dict[str, Any]] = {}
    for path in sorted(directory.glob(f"result-{component or '*'}.*.jsonl")):
        for row in read_whole_lines(path):
            known = results.setdefault(row["id"], row)
            if known != row:
                raise ConflictingResults(f"{path}: {row} was {known} before")
    return results


def read_counters(directory: Path) -> dict[str, dict[str, int]]:
    """The counters of every task that reported, by task."""
    return {
        (content := json.loads(path.read_text())).pop("task"): content
        for path in sorted(directory.glob("counters-*.json"))
    }


def read_latency(directory: Path, component: str | None = None) -> LatencyHistogram:
    """The latencies of all tasks (of one component), added up."""
    return LatencyHistogram.total(
        LatencyHistogram.from_dict(json.loads(path.read_text()))
        for path in sorted(directory.glob(f"latency-{component or '*'}.*.json"))
    )


def finished_sources(directory: Path) -> dict[str, dict[str, Any]]:
    """The spout tasks whose streams have been processed to the end, with their counters."""
    return {
        (content := json.loads(path.read_text())).pop("task"): content
        for path in sorted(directory.glob("done-*.json"))
    }


def is_finished(directory: Path, spout_tasks: Iterable[str]) -> bool:
    """Whether every one of ``spout_tasks`` (as ``component.index``) is through."""
    return set(spout_tasks) <= set(finished_sources(directory))
