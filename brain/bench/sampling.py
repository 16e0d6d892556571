"""Reads the interfaces' counters every second while a run goes on."""

from __future__ import annotations

import threading
import time
from types import TracebackType

from brain.bench.measure import Sample
from brain.testbed import Testbed

EVERY_SECS = 1.0


class Sampler:
    """``with Sampler(bed) as sampler:``; ``sampler.samples`` grows; empty on loopback."""

    def __init__(self, bed: Testbed) -> None:
        self._bed = bed
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="traffic-sampler", daemon=True)
        self.samples: list[Sample] = []

    def __enter__(self) -> Sampler:
        if self._bed.network is not None:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(EVERY_SECS):
            traffic = self._bed.traffic()
            if traffic is not None:
                self.samples.append(Sample(time.time() * 1000, traffic))
