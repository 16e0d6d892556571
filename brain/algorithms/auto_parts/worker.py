"""A member runner: a process of its own, so that a member that hangs can be ended.

Started as ``python -m brain.algorithms.auto_parts.worker FD``. Over the socket FD it gets
``("problem", problem, current)`` and ``("job", number, job)`` and answers ``("ready",)``
once and ``("result", number, result or error text)`` for each job. It ends with its parent.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from multiprocessing.connection import Connection

BESIDE = 5
"""Nice: the caller's own search goes first. A worker that replaces one that was ended loads its
libraries for seconds, which would otherwise cost the next problem its local search."""


def main(fd: int) -> None:
    os.nice(BESIDE)
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    connection = Connection(fd)
    _import_members()
    connection.send(("ready",))
    problem, current = None, None
    while True:
        try:
            message = connection.recv()
        except (EOFError, OSError):
            return
        if message[0] == "problem":
            _, problem, current = message
            continue
        _, number, job = message
        try:
            answer = job.run(problem, current)
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        try:
            connection.send(("result", number, answer))
        except (BrokenPipeError, OSError):
            return


def _import_members() -> None:
    """Everything slow to import or to load, so that jobs find it warm."""
    from brain.algorithms import registry
    from brain.algorithms.localsearch_parts.warmup import warm_up

    for name in registry.names():
        if name != "auto":
            registry.get(name)
    warm_up()


def _end_with_parent(parent: int) -> None:
    """A worker deep in a member's loop does not notice a closed socket; this does."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
