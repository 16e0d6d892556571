"""What a stateful task remembers across a restart of its worker.

Storm moves an executor by killing its worker and starting another elsewhere; what the Python
process held in memory is gone, and tuples that were acked are not replayed. So, where exact
results are wanted (option ``state_dir``), a task writes every input that changes its state to a
journal before it acks, and reads it back when it starts. From time to time the journal is
replaced by a snapshot. Writes reach the operating system before the ack, which survives the
death of the process or of the worker, not of the machine.

``state_dir`` must be seen by every worker of the topology (one machine, or a shared file system).
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Protocol


class Journal(Protocol):
    """Where a task keeps what it must not forget."""

    def restore(self) -> tuple[Any | None, Iterator[Any]]:
        """The last snapshot, if there is one, and the records written since."""

    def append(self, record: Any) -> None:
        """Makes ``record`` survive the death of this process."""

    def compact(self, state: Callable[[], Any]) -> None:
        """May replace snapshot and records by ``state()``."""


class NoJournal:
    """For runs that measure speed: a restarted task starts empty, as in the papers."""

    def restore(self) -> tuple[Any | None, Iterator[Any]]:
        return None, iter(())

    def append(self, record: Any) -> None:
        pass

    def compact(self, state: Callable[[], Any]) -> None:
        pass


class FileJournal:
    """A snapshot and a file of JSON lines. Only one living process may own a task's journal."""

    def __init__(self, directory: Path, task: str, compact_every: int = 5000) -> None:
        """Waits until the process that ran ``task`` before is gone."""
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._task = task
        self._compact_every = compact_every
        self._records = 0
        self._generation = 0
        self._lock = open(directory / f"{task}.lock", "w")  # noqa: SIM115 held for life
        wait_for_lock(self._lock)
        self._file: IO[str] | None = None

    def restore(self) -> tuple[Any | None, Iterator[Any]]:
        snapshot = None
        if self._snapshot_path.exists():
            stored = json.loads(self._snapshot_path.read_text())
            self._generation, snapshot = int(stored["generation"]), stored["state"]
        records = list(read_whole_lines(self._records_path))
        self._records = len(records)
        self._file = open_for_append(self._records_path)
        return snapshot, iter(records)

    def append(self, record: Any) -> None:
        if self._file is None:
            self._file = open_for_append(self._records_path)
        self._file.write(json.dumps(record, separators=(",", ":")) + "\n")
        self._file.flush()
        self._records += 1

    def compact(self, state: Callable[[], Any]) -> None:
        if self._records < self._compact_every:
            return
        old_records = self._records_path
        self._generation += 1
        write_atomically(
            self._snapshot_path, json.dumps({"generation": self._generation, "state": state()})
        )
        if self._file is not None:
            self._file.close()
        self._file = open_for_append(self._records_path)
        self._records = 0
        old_records.unlink(missing_ok=True)

    def close(self) -> None:
        """Lets go of the task, for tests that restart a task inside one process."""
        if self._file is not None:
            self._file.close()
        self._lock.close()

    @property
    def _snapshot_path(self) -> Path:
        return self._directory / f"{self._task}.snapshot.json"

    @property
    def _records_path(self) -> Path:
        return self._directory / f"{self._task}.records-{self._generation}.jsonl"


def wait_for_lock(file: IO[str], seconds: float = 25.0) -> None:
    """Waits for the previous owner to die; less than Storm's subprocess timeout of 30 s."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"{file.name} is still held by another process after {seconds:.0f} s; "
                    "does another topology use the same state_dir?"
                ) from None
            time.sleep(0.05)


def read_whole_lines(path: Path) -> Iterator[Any]:
    """The JSON lines of ``path``; a last line that was cut by a kill was never acked."""
    if not path.exists():
        return
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                yield json.loads(line)


def open_for_append(path: Path) -> IO[str]:
    """Opens ``path`` for appending, cutting off an unfinished last line."""
    if path.exists():
        with open(path, "rb+") as raw:
            content = raw.read()
            whole = content.rfind(b"\n") + 1
            if whole < len(content):
                raw.truncate(whole)
    return open(path, "a", encoding="utf-8")


def write_atomically(path: Path, text: str) -> None:
    """Readers see the old text or the new one, never a half."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
