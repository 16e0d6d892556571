"""Warm worker processes for members. Plain subprocesses: safe to start from a threaded service,
and nothing of the caller's main module is imported again."""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import brain
from brain.algorithms.auto_parts.jobs import Answer, Job
from brain.model import Placement, Problem

WORKERS = 2


class Worker:
    """One process. ``job`` is the number of the job it is on, or None."""

    def __init__(self) -> None:
        ours, theirs = Pipe()
        environment = dict(os.environ)
        root = str(Path(brain.__file__).parent.parent)
        known = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = root if not known else root + os.pathsep + known
        # One thread each: the portfolio is parallel already.
        environment.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "brain.algorithms.auto_parts.worker", str(theirs.fileno())],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=environment,
        )
        theirs.close()
        self.connection: Connection = ours
        self.ready = False
        self.job: int | None = None

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def end(self) -> None:
        """Ends the process at once, whatever it is doing."""
        self.process.kill()
        self.process.wait()
        self.connection.close()


class Pool:
    """Runs the jobs of one problem at a time; laggards are ended and replaced."""

    def __init__(self, workers: int = WORKERS) -> None:
        self._workers = [Worker() for _ in range(workers)]
        self._busy = threading.Lock()
        self._queue: list[tuple[int, Job]] = []
        self._problem = b""
        self._told: set[int] = set()
        """Process ids that have been given the problem."""

    @contextmanager
    def session(self, problem: Problem, current: Placement | None) -> Iterator[Pool | None]:
        """The pool for one problem; None if somebody else is using it. Leftovers are ended."""
        if not self._busy.acquire(blocking=False):
            yield None
            return
        try:
            self._problem = bytes(ForkingPickler.dumps(("problem", problem, current)))
            self._told, self._queue = set(), []
            yield self
        finally:
            self._queue = []
            self._replace_laggards()
            self._busy.release()

    def submit(self, number: int, job: Job) -> None:
        self._queue.append((number, job))
        self._feed()

    @property
    def open_jobs(self) -> int:
        return len(self._queue) + sum(w.job is not None for w in self._workers)

    @property
    def warm(self) -> bool:
        """Whether some worker is ready to work at once."""
        self._read(0.0)
        return any(w.ready and w.alive for w in self._workers)

    def wait_until_warm(self, timeout: float) -> bool:
        """Waits until all workers are ready; False if time ran out first."""
        deadline = time.monotonic() + timeout
        with self._busy:
            while not all(w.ready for w in self._workers):
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._read(min(left, 0.5))
                self._replace_dead()
        return True

    def collect(self, timeout: float) -> list[tuple[int, Answer]]:
        """Results that have come in, waiting up to ``timeout`` for the first."""
        found = self._read(max(timeout, 0.0))
        self._feed()
        return found

    def _read(self, timeout: float) -> list[tuple[int, Answer]]:
        results: list[tuple[int, Answer]] = []
        by_connection: dict[Any, Worker] = {w.connection: w for w in self._workers if w.alive}
        for connection in wait(list(by_connection), timeout) if by_connection else []:
            worker = by_connection[connection]
            try:
                message = worker.connection.recv()
            except (EOFError, OSError, pickle.UnpicklingError):
                if worker.job is not None:
                    results.append((worker.job, "its process died"))
                self._replace(worker)
                continue
            if message[0] == "ready":
                worker.ready = True
            else:
                worker.job = None
                results.append((message[1], message[2]))
        return results

    def _feed(self) -> None:
        for worker in self._workers:
            if self._queue and worker.ready and worker.job is None and worker.alive:
                number, job = self._queue.pop(0)
                try:
                    if worker.process.pid not in self._told:
                        worker.connection.send_bytes(self._problem)
                        self._told.add(worker.process.pid)
                    worker.connection.send(("job", number, job))
                    worker.job = number
                except (BrokenPipeError, OSError):
                    self._queue.insert(0, (number, job))
                    self._replace(worker)

    def _replace(self, worker: Worker) -> None:
        worker.end()
        self._workers[self._workers.index(worker)] = Worker()

    def _replace_dead(self) -> None:
        for worker in [w for w in self._workers if not w.alive]:
            self._replace(worker)

    def _replace_laggards(self) -> None:
        for worker in [w for w in self._workers if w.job is not None or not w.alive]:
            self._replace(worker)

    def close(self) -> None:
        for worker in self._workers:
            worker.end()


_pool: Pool | None = None
_making = threading.Lock()


def shared_pool() -> Pool:
    """The pool of this process, started when first asked for; its workers end with us."""
    global _pool
    with _making:
        if _pool is None:
            _pool = Pool()
            atexit.register(close_shared_pool)
        return _pool


def existing_pool() -> Pool | None:
    """The pool if it has been started."""
    return _pool


def close_shared_pool() -> None:
    """Ends the workers, e.g. when a service stops."""
    global _pool
    with _making:
        if _pool is not None:
            _pool.close()
            _pool = None
