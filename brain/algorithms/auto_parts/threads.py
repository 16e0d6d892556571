"""Members in threads of this process, where no worker process is warm.

A thread cannot be ended, only left behind; it is a daemon and dies with the process. That is
right for a command that ends soon, and for a service whose solver is a process of its own. But a
thread inside the exact solver's C++ must not meet the end of the interpreter, which would abort
the process: at exit those left behind are waited for until θ is over, by when they are through. The
compiled search and the exact solver let go of the interpreter's lock, so threads do run at once.
"""

from __future__ import annotations

import atexit
import queue
import threading
import time

from brain.algorithms.auto_parts.jobs import Answer, Job
from brain.model import Placement, Problem

THREADS = 2
MARGIN_SECS = 1.0
_left: list[tuple[threading.Thread, float]] = []
"""Threads left behind, and when each is through if it does not hang."""


@atexit.register
def _wait_for_the_left() -> None:
    for thread, through in _left:
        thread.join(max(through + MARGIN_SECS - time.perf_counter(), 0.0))


class ThreadRunner:
    """Runs jobs in the order they are submitted, two at a time."""

    def __init__(self, problem: Problem, current: Placement | None, deadline: float) -> None:
        """``deadline`` (``time.perf_counter``) is when members end by themselves."""
        self._deadline = deadline
        self._problem = problem
        self._current = current
        self._jobs: queue.SimpleQueue[tuple[int, Job] | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[tuple[int, Answer]] = queue.SimpleQueue()
        self._stop = threading.Event()
        self.open_jobs = 0
        self._threads = [
            threading.Thread(target=self._work, name=f"auto-members-{number}", daemon=True)
            for number in range(THREADS)
        ]
        for thread in self._threads:
            thread.start()

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
        _left[:] = [entry for entry in _left if entry[0].is_alive()]
        _left.extend((thread, self._deadline) for thread in self._threads)
        self._stop.set()
        for _ in range(THREADS):
            self._jobs.put(None)
