"""Members in a thread of this process, for small problems when no worker process is warm.

A thread cannot be ended, only left behind; it is a daemon and dies with the process. That is
right for a command that ends soon. A service warms the pool at its start and uses that.
"""

from __future__ import annotations

import queue
import threading

from brain.algorithms.auto_parts.jobs import Job
from brain.model import Placement, Problem, Result


class ThreadRunner:
    """Runs jobs one after the other in one background thread."""

    def __init__(self, problem: Problem, current: Placement | None) -> None:
        self._problem = problem
        self._current = current
        self._jobs: queue.SimpleQueue[tuple[int, Job] | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[tuple[int, Result | str]] = queue.SimpleQueue()
        self._stop = threading.Event()
        self.open_jobs = 0
        self._thread = threading.Thread(target=self._work, name="auto-members", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while (entry := self._jobs.get()) is not None and not self._stop.is_set():
            number, job = entry
            try:
                self._results.put((number, job.run(self._problem, self._current)))
            except Exception as error:
                self._results.put((number, f"{type(error).__name__}: {error}"))

    def submit(self, number: int, job: Job) -> None:
        self.open_jobs += 1
        self._jobs.put((number, job))

    def collect(self, timeout: float) -> list[tuple[int, Result | str]]:
        found: list[tuple[int, Result | str]] = []
        while self.open_jobs:
            try:
                wait = timeout if not found else 0.0
                found.append(
                    self._results.get(timeout=wait) if wait > 0 else self._results.get_nowait()
                )
                self.open_jobs -= 1
            except queue.Empty:
                break
        return found

    def leave(self) -> None:
        """Lets the thread end after the job it is on."""
        self._stop.set()
        self._jobs.put(None)
