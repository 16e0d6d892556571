"""Burning processor time on purpose, as the papers do to make an operator heavy."""

from __future__ import annotations

import time


def burn(milliseconds: float) -> None:
    """Uses this much CPU time of the calling thread; takes longer on a processor that is shared."""
    end = time.thread_time() + milliseconds / 1000
    while time.thread_time() < end:
        pass
