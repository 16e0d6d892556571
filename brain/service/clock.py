"""A clock that never jumps: wall time at the start, carried on by the monotonic clock."""

from __future__ import annotations

import time


class Clock:
    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def now_ms(self) -> int:
        return int((self._offset + time.monotonic()) * 1000)
