"""Members that no portfolio should have, for the tests of ``auto``."""

from __future__ import annotations

import os
import time

from brain.model import Options, Placement, Problem, Result


def hang(problem: Problem, current: Placement | None, options: Options) -> Result:
    """Never comes back, and listens to nobody."""
    while True:
        time.sleep(0.01)


def fail(problem: Problem, current: Placement | None, options: Options) -> Result:
    raise RuntimeError("no idea")


def die(problem: Problem, current: Placement | None, options: Options) -> Result:
    os._exit(3)
