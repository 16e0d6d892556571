"""What has been ingested, and the commit that makes it so.

A store is a directory::

    _ledger/00000001.json       one file a batch: the commit
    _staging/<batch>/…          a batch that is being written, or whose files are being moved;
                                with a directory for each task where tasks write for themselves
    lines/kind=…/topology=…/day=…/*.parquet

A batch is written to ``_staging`` first. Its ledger file, which names the offset reached in each
log file *and* the staged directory, appears by one rename: with it both the data and the offsets
are committed, without it neither is. After the commit the Parquet files move to ``lines``; a crash
in between is rolled forward by whoever opens the store next, and a staged batch that was never
committed is thrown away by the next ingest. Each 32nd ledger file holds the whole state, so that
reading it back stays cheap.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from brain.errors import StormbrainError
from brain.pipeline.hadoop import HadoopFiles

SNAPSHOT_EVERY = 32


@dataclass(frozen=True)
class SourceState:
    """How far a log file has been read. The offset counts uncompressed bytes."""

    offset: int = 0
    lines: int = 0
    corrupt: int = 0
    blank: int = 0
    ahead_ms: int = 0
    back_steps: int = 0
    last_end: int = 0
    done: bool = False
    """A compressed file never grows: once read, it need not be opened again."""


class ConcurrentIngest(StormbrainError):
    """Another ingest committed to the same store first; nothing of this one was kept."""


class Ledger:
    """The committed state of a store."""

    def __init__(self, files: HadoopFiles, store: str) -> None:
        self._files = files
        self.store = store.rstrip("/")
        self.batch = 0
        self.sources: dict[str, SourceState] = {}
        self._committed_staging: dict[str, Sequence[str] | None] = {}
        """By staged directory: its subdirectories that count; None if it is one itself."""
        self._load()

    def _load(self) -> None:
        names = sorted(
            f.path
            for f in self._files.list(f"{self.store}/_ledger")
            if f.name.endswith(".json") and not f.name.startswith(".")
        )
        if not names:
            return
        entries = []
        for path in reversed(names):
            entry = json.loads(self._files.read_text(path))
            entries.append(entry)
            if entry["snapshot"]:
                break
        for entry in reversed(entries):
            if entry["snapshot"]:
                self.sources = {}
            self.sources.update({k: SourceState(**v) for k, v in entry["sources"].items()})
            self._committed_staging[entry["staging"]] = entry.get("parts")
        self.batch = int(entries[0]["batch"])

    def staging(self, batch: int) -> str:
        return f"{self.store}/_staging/{batch:08d}-{time.time_ns():x}"

    def commit(
        self,
        batch: int,
        staging: str,
        changed: dict[str, SourceState],
        parts: Sequence[str] | None = None,
    ) -> None:
        """Commits a batch that lies in ``staging``, then moves its files into place.

        ``parts``: only what lies in these subdirectories, whose names then fall away.
        """
        snapshot = batch % SNAPSHOT_EVERY == 0
        sources = {**self.sources, **changed}
        entry = {
            "version": 1,
            "batch": batch,
            "created_ms": time.time_ns() // 1_000_000,
            "staging": staging.rsplit("/", 1)[-1],
            "parts": None if parts is None else list(parts),
            "snapshot": snapshot,
            "sources": {k: asdict(v) for k, v in (sources if snapshot else changed).items()},
        }
        try:
            self._files.create_text(
                f"{self.store}/_ledger/{batch:08d}.json", json.dumps(entry, indent=1)
            )
        except FileExistsError as e:
            self._files.delete(staging)
            raise ConcurrentIngest(
                f"another ingest has just written to {self.store}; nothing was added twice",
                "run it again; one ingest at a time is best",
            ) from e
        self.batch, self.sources = batch, sources
        self._committed_staging[staging.rsplit("/", 1)[-1]] = parts
        self._move_into_place(staging, parts)

    def roll_forward(self) -> None:
        """Finishes batches that were committed but not yet moved into place."""
        for left in self._files.list(f"{self.store}/_staging"):
            if left.name in self._committed_staging:
                self._move_into_place(left.path, self._committed_staging[left.name])

    def discard_uncommitted(self) -> int:
        """Throws away what a crashed ingest left behind; only an ingest may do so."""
        count = 0
        for left in self._files.list(f"{self.store}/_staging"):
            if left.name not in self._committed_staging:
                self._files.delete(left.path)
                count += 1
        return count

    def _move_into_place(self, staging: str, parts: Sequence[str] | None) -> None:
        root = self._files.resolve(staging)
        for part in [root] if parts is None else [f"{root}/{name}" for name in parts]:
            # A part may have been moved before a crash, or may never have had a line to write.
            for file in list(self._files.walk(part)) if self._files.exists(part) else []:
                inside = file.path[len(part) + 1 :]
                if file.name.endswith(".parquet") and not inside.startswith("kind=source/"):
                    self._files.rename(file.path, f"{self.store}/lines/{inside}")
        self._files.delete(staging)
