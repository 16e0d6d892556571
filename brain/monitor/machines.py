"""How busy the machines are, with all that runs on them, Storm's or not.

One worker of each node reports the machine that it runs on (NodeLoad). Several nodes may share a
machine (containers, supervisors on one host): they report the same thing, so their readings are
averaged, never added. Which nodes share one is told by the kernel's boot id.
"""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

SPAN_MS = 30_000
"""A machine's load is the mean of the readings of the last so long."""
MEMORY_MS = 1_800_000
"""A node without workers has nobody who reports its machine. What was last known holds for so
long: else executors that fled from a busy machine would be sent back at once."""
MAX_NODES = 10_000
_READINGS = 64
_MAX_POINTS = 1e7


@dataclass(frozen=True)
class NodeReading:
    """One window of one machine, as a node's worker saw it."""

    arrived_ms: int
    seconds: float
    machine: str
    cores: int
    mhz: float
    cpu_points: float
    memory_mb: float
    memory_used_mb: float
    rx_bytes: int
    tx_bytes: int


@dataclass(frozen=True)
class MachineLoad:
    """A machine lately. Points: 100 is one core; Aniello's Hz are points / 100 x mhz x 10^6."""

    machine: str
    nodes: tuple[str, ...]
    cores: int
    mhz: float
    cpu_points: float
    memory_mb: float
    memory_used_mb: float

    @property
    def capacity_points(self) -> float:
        return 100.0 * self.cores

    @property
    def capacity_hz(self) -> float:
        return self.cores * self.mhz * 1e6

    @property
    def load_hz(self) -> float:
        return self.cpu_points / 100.0 * self.mhz * 1e6


class Machines:
    """The latest readings of every node. Not thread-safe; times are ms of the brain's clock."""

    def __init__(self) -> None:
        self._readings: OrderedDict[str, deque[NodeReading]] = OrderedDict()

    def add(self, report: Any, now_ms: int) -> bool:
        """Takes the machine's part of a WindowReport that counts; False if it has none."""
        load = report.node_load
        if load is None or not _believable(load):
            return False
        readings = self._readings.setdefault(report.node, deque(maxlen=_READINGS))
        self._readings.move_to_end(report.node)
        readings.append(
            NodeReading(
                now_ms,
                max(1, report.end_ms - report.start_ms) / 1000.0,
                load.machine or f"node {report.node}",
                load.cores,
                load.mhz,
                load.cpu_percent,
                load.memory_mb,
                load.memory_used_mb,
                load.rx_bytes,
                load.tx_bytes,
            )
        )
        if len(self._readings) > MAX_NODES:
            self._readings.popitem(last=False)
        return True

    def latest(self, node: str, now_ms: int) -> NodeReading | None:
        """A node's newest reading, if it is not too old to be remembered."""
        readings = self._recent(node, now_ms)
        return readings[-1] if readings else None

    def loads(self, nodes: Iterable[str], now_ms: int) -> dict[str, MachineLoad]:
        """By machine, of those that some of these nodes lately reported on."""
        of_machine: dict[str, dict[str, list[NodeReading]]] = {}
        for node in nodes:
            recent = self._recent(node, now_ms)
            if recent:
                same = [r for r in recent if r.machine == recent[-1].machine]
                of_machine.setdefault(recent[-1].machine, {})[node] = same
        return {m: _mean(m, by_node) for m, by_node in of_machine.items()}

    def _recent(self, node: str, now_ms: int) -> list[NodeReading]:
        readings = self._readings.get(node)
        if not readings or now_ms - readings[-1].arrived_ms > MEMORY_MS:
            return []
        since = min(now_ms, readings[-1].arrived_ms) - SPAN_MS
        return [r for r in readings if r.arrived_ms >= since]


def _mean(machine: str, by_node: Mapping[str, list[NodeReading]]) -> MachineLoad:
    readings = [r for own in by_node.values() for r in own]
    count = len(readings)
    return MachineLoad(
        machine,
        tuple(sorted(by_node)),
        max(r.cores for r in readings),
        max(r.mhz for r in readings),
        sum(r.cpu_points for r in readings) / count,
        max(r.memory_mb for r in readings),
        sum(r.memory_used_mb for r in readings) / count,
    )


def _believable(load: Any) -> bool:
    return 0 < load.cores <= 100_000 and all(
        math.isfinite(v) and 0 <= v < _MAX_POINTS * 1000
        for v in (load.mhz, load.cpu_percent, load.memory_mb, load.memory_used_mb)
    )
