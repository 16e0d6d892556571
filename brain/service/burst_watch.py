"""The bursts file of the pipeline, read when it is new or has changed."""

from __future__ import annotations

import logging
import time
from pathlib import Path

from brain.errors import StormbrainError
from brain.pipeline.burst_stats import BurstFile, load_bursts

log = logging.getLogger(__name__)

LOOK_SECS = 15.0


class BurstWatch:
    def __init__(self, path: str | None, look_secs: float = LOOK_SECS) -> None:
        self._path = Path(path) if path else None
        self._look_secs = look_secs
        self._looked_at: float | None = None
        self._seen: tuple[int, int] | None = None

    def changed(self) -> BurstFile | None:
        """The file's content if it has changed; never raises. A bad file leaves what was known."""
        now = time.monotonic()
        if self._path is None or (
            self._looked_at is not None and now - self._looked_at < self._look_secs
        ):
            return None
        first, self._looked_at = self._looked_at is None, now
        try:
            stat = self._path.stat()
        except OSError as e:
            if first:
                log.warning("brain.scheduler.bursts.file: %s: %s", self._path, e.strerror)
            return None
        if (stat.st_mtime_ns, stat.st_size) == self._seen:
            return None
        self._seen = (stat.st_mtime_ns, stat.st_size)
        try:
            bursts = load_bursts(str(self._path))
        except StormbrainError as e:
            log.warning("brain.scheduler.bursts.file: %s; it is passed over", e.message)
            return None
        log.info("%s: seasons and bursts of %d topologies", self._path, len(bursts.topologies))
        return bursts
