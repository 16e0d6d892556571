"""Reads the interfaces' counters every second while a run goes on."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from brain.bench.measure import Sample
from brain.testbed import Testbed

EVERY_SECS = 1.0


@dataclass(frozen=True)
class CpuReading:
    """CPU seconds so far, of the whole machine and of the nodes."""

    time: float
    machine_secs: float
    nodes_secs: float | None


def read_cpu(bed: Testbed) -> CpuReading:
    fields = [int(n) for n in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    idle = fields[3] + fields[4]
    nodes = list(bed.cpu_secs().values()) if bed.network is not None else [None]
    return CpuReading(
        time.monotonic(),
        (sum(fields) - idle) / os.sysconf("SC_CLK_TCK"),
        None if None in nodes else sum(secs for secs in nodes if secs is not None),
    )


def others_points(before: CpuReading, after: CpuReading) -> float | None:
    """What was busy besides the nodes between two readings, in points of 100 a core."""
    if before.nodes_secs is None or after.nodes_secs is None:
        return None
    busy = after.machine_secs - before.machine_secs
    nodes = after.nodes_secs - before.nodes_secs
    return round(100 * max(0.0, busy - nodes) / (after.time - before.time), 1)


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
