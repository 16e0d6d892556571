"""How busy this node is: from /proc/stat, or from a control group where the node is one."""

from __future__ import annotations

import os
import time
from pathlib import Path

from brain.errors import BadInput

SMOOTHING = 0.5
"""Weight of the newest reading: one busy moment is no load."""


class NodeLoad:
    """``read`` gives the utilisation since the last call, smoothed, 0 … 1.

    ``cgroup`` is a folder with ``cpuacct.usage`` (version 1) or ``cpu.stat`` (version 2);
    ``cpu_points`` the capacity, 100 a core, by default all cores.
    """

    def __init__(
        self,
        cgroup: Path | None = None,
        cpu_points: float | None = None,
        proc_stat: Path = Path("/proc/stat"),
    ) -> None:
        self.cpu_points = cpu_points or 100.0 * (os.cpu_count() or 1)
        self._cgroup = cgroup
        self._proc_stat = proc_stat
        self._smooth: float | None = None
        if cgroup is not None and self._group_secs() is None:
            raise BadInput("--cgroup", f"{cgroup} has neither cpuacct.usage nor cpu.stat")
        self._last = self._reading()

    def read(self) -> float:
        now = self._reading()
        if now is not None and self._last is not None:
            passed = now[1] - self._last[1]
            if passed > 0:
                used = min(1.0, max(0.0, (now[0] - self._last[0]) / passed))
                old = self._smooth
                self._smooth = used if old is None else SMOOTHING * used + (1 - SMOOTHING) * old
        self._last = now or self._last
        return self._smooth or 0.0

    def _reading(self) -> tuple[float, float] | None:
        """CPU used, and CPU there was, since some beginning and in one unit."""
        if self._cgroup is not None:
            secs = self._group_secs()
            return None if secs is None else (secs, time.monotonic() * self.cpu_points / 100.0)
        try:
            first = self._proc_stat.read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]
            user, nice, system, idle, iowait, irq, softirq, steal = (float(t) for t in first)
        except (OSError, ValueError):
            return None
        busy = user + nice + system + irq + softirq + steal
        return busy, busy + idle + iowait

    def _group_secs(self) -> float | None:
        assert self._cgroup is not None
        try:
            usage = self._cgroup / "cpuacct.usage"
            if usage.exists():
                return int(usage.read_text()) / 1e9
            words = (self._cgroup / "cpu.stat").read_text().split()
            return int(words[words.index("usage_usec") + 1]) / 1e6
        except (OSError, ValueError, IndexError):
            return None
