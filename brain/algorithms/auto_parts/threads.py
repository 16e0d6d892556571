"""Members in threads of this process, where no worker process is warm.

A thread cannot be ended, only left behind; it is a daemon and dies with the process. That is
right for a command that ends soon, and for a service whose solver is a process of its own. The
compiled search and the exact solver let go of the interpreter's lock, so threads do run at once.
"""

from __future__ import annotations

import queue
import threading

from brain.algorithms.auto_parts.jobs import Answer, Job
from brain.model import Placement, Problem

THREADS = 2


class ThreadRunner:
    """Runs jobs in the order they are submitted, two at a time."""

    def __init__(self, problem: Problem, current: Placement | None) -> None:
        self._problem = problem
        self._current = current
        self._jobs: queue.SimpleQueue[tuple[int, Job] | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[tuple[int, Answer]] = queue.SimpleQueue()
        self._stop = threading.Event()
        self.open_jobs = 0
        for number in range(THREADS):
            threading.Thread(target=self._work, name=f"auto-members-{number}", daemon=True).start()

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

    def collect(self, timeout: float) -> list[tuple[int, Answer]]:
        found: list[tuple[int, Answer]] = []
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
        """Lets each thread end after the job it is on."""
        self._stop.set()
        for _ in range(THREADS):
            self._jobs.put(None)
