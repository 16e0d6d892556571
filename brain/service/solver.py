"""Algorithms run in a process of their own: one that can be stopped, and does not hold the GIL.

The child ends by itself when the brain is gone, since its pipe closes.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import threading
from multiprocessing.connection import Connection
from typing import Any

from brain.errors import StormbrainError
from brain.model import Options, Placement, Problem, Result

log = logging.getLogger(__name__)

START_SECS = 180.0
"""Imports and compilation on a loaded machine; only waited for when a child is new."""
GRACE_SECS = 15.0
"""Over θ, for moving the problem to the child and back. Nobody waits for it but the planner, so
a machine that is starved (as just when a re-placement is needed) gets the time it needs."""
WARMED_UP = ("metis", "auto")
"""Imported and run once before the child is ready, so that no θ pays for imports."""


class SolverFailed(StormbrainError):
    """No result: the algorithm broke, or did not come back in time and was stopped."""


class Solver:
    """May be warmed up by one thread while another waits for it to solve."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._closed = False
        self._context = multiprocessing.get_context("spawn")
        self._child: Any = None
        self._pipe: Connection | None = None

    def start(self) -> None:
        """Starts the child if it does not run, and waits until it can solve."""
        with self._starting:
            if self._closed:
                raise SolverFailed("the solver was closed")
            if self._child is None or not self._child.is_alive():
                self._start()

    def _start(self) -> None:
        self.stop()
        ours, theirs = self._context.Pipe()
        child = self._context.Process(
            target=_child_main, args=(theirs,), name="stormbrain-solver", daemon=True
        )
        child.start()
        theirs.close()
        self._pipe, self._child = ours, child
        try:
            if not ours.poll(START_SECS):
                self.stop()
                raise SolverFailed(f"the solver process did not start within {START_SECS:g} s")
            ours.recv()
        except (EOFError, OSError) as e:
            self.stop()
            raise SolverFailed("the solver process died while starting") from e

    def solve(
        self, algorithm: str, problem: Problem, current: Placement | None, options: Options
    ) -> Result:
        """Runs an algorithm under its θ; SolverFailed after twice that and some grace."""
        self.start()
        pipe = self._pipe
        if pipe is None:
            raise SolverFailed("the solver was stopped")
        limit = 2 * options.theta + GRACE_SECS
        try:
            pipe.send((algorithm, problem, current, options))
            if not pipe.poll(limit):
                self.stop()
                raise SolverFailed(f"{algorithm} did not return within {limit:g} s and was stopped")
            ok, answer = pipe.recv()
        except (EOFError, OSError) as e:
            self.stop()
            raise SolverFailed(f"the solver process died while running {algorithm}") from e
        if not ok:
            raise SolverFailed(f"{algorithm} failed: {answer}")
        result: Result = answer
        return result

    def close(self) -> None:
        """Ends the child for good: nothing starts another, whichever thread is at work."""
        self._closed = True
        self.stop()

    def stop(self) -> None:
        """Ends the child; may be called while another thread starts it or waits for it."""
        pipe, child = self._pipe, self._child
        self._pipe = self._child = None
        if pipe is not None:
            pipe.close()
        if child is not None:
            with contextlib.suppress(ValueError):
                child.kill()
                child.join(timeout=5)


def _child_main(pipe: Connection) -> None:
    import signal

    from brain.algorithms import registry

    # Ctrl-C goes to the whole process group; the brain decides when its solver ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _warm_up()
    pipe.send("ready")
    while True:
        try:
            algorithm, problem, current, options = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            answer: tuple[bool, Any] = (True, registry.run(algorithm, problem, current, options))
        except Exception as e:
            answer = (False, e.message if isinstance(e, StormbrainError) else repr(e))
        try:
            pipe.send(answer)
        except (BrokenPipeError, OSError):
            return


def _warm_up() -> None:
    import numpy as np

    from brain.algorithms import registry
    from brain.model import CommGraph, Node, Topology

    chain = Topology(
        "warm-up", ("a",), np.zeros(4, dtype=np.int32), np.ones(4), np.zeros(4), range(4)
    )
    graph = CommGraph.from_edges(4, [0, 1, 2], [1, 2, 3], [1.0, 2.0, 3.0])
    problem = Problem((Node("n1", (1,)), Node("n2", (1,))), (chain,), graph)
    for name in WARMED_UP:
        try:
            registry.run(name, problem, None, Options(theta=0.1))
        except Exception:
            log.exception("%s could not be warmed up", name)
