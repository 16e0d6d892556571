"""CPU limits and CPU accounting of nodes by control groups, version 1 or 2."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
NODES_WEIGH = 16
PERIOD_US = 20_000
"""Shorter than the kernel's 100 ms, so that a limited node stalls often and briefly."""


@dataclass(frozen=True)
class NodeGroup:
    """The control group of one node: its folders in each hierarchy that matters."""

    limits: Path | None
    accounting: Path | None
    version: int

    @property
    def folders(self) -> list[Path]:
        return list(dict.fromkeys(f for f in (self.limits, self.accounting) if f is not None))

    def make(self) -> None:
        for folder in self.folders:
            for _ in range(5):  # the folder above goes with another testbed that is taken down
                with contextlib.suppress(FileNotFoundError):
                    folder.mkdir(parents=True, exist_ok=True)
                    break
            if self.version == 2:  # the controller is handed down level by level
                for above in (ROOT, folder.parents[1], folder.parent):
                    (above / "cgroup.subtree_control").write_text("+cpu")
            for above in (folder.parents[1], folder.parent):
                self._outweigh(above)

    def _outweigh(self, above: Path) -> None:
        """A group weighs as much as one process, and all nodes are in one: without this everything
        else on the machine would come first."""
        file, weight = ("cpu.weight", 100) if self.version == 2 else ("cpu.shares", 1024)
        with contextlib.suppress(OSError):  # not in the accounting's hierarchy
            (above / file).write_text(str(weight * NODES_WEIGH))

    def launcher(self) -> list[str]:
        """A command prefix that puts what it starts into the group."""
        if not self.folders:
            return []
        enter = "; ".join(f"echo $$ > '{folder / 'cgroup.procs'}'" for folder in self.folders)
        return ["sh", "-c", f'{enter}; exec "$@"', "sh"]

    def limit(self, cpu_points: float | None) -> None:
        """At most so many points of 100 a core from now on; ``None`` lifts the limit."""
        if self.limits is None:
            return
        quota = None if cpu_points is None else max(1000, int(PERIOD_US * cpu_points / 100))
        if self.version == 2:
            text = f"{'max' if quota is None else quota} {PERIOD_US}"
            (self.limits / "cpu.max").write_text(text)
        else:
            (self.limits / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (self.limits / "cpu.cfs_quota_us").write_text(str(-1 if quota is None else quota))

    def cpu_secs(self) -> float | None:
        """CPU seconds that the node has used since it was made."""
        try:
            if self.version == 2 and self.accounting is not None:
                lines = (self.accounting / "cpu.stat").read_text().split()
                return int(lines[lines.index("usage_usec") + 1]) / 1e6
            if self.accounting is not None:
                return int((self.accounting / "cpuacct.usage").read_text()) / 1e9
        except OSError:
            return None
        return None

    def remove(self) -> None:
        """A group goes only when its last process has; that takes the kernel a moment."""
        for folder in self.folders:
            for _ in range(50):
                try:
                    folder.rmdir()
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.05)
                else:
                    break


def cannot_limit() -> str | None:
    """Why CPU cannot be limited here; ``None`` if it can."""
    if _v2_cpu() or (ROOT / "cpu" / "cpu.cfs_quota_us").exists():
        return None
    return "no control group with a CPU quota (cpu.max or cpu.cfs_quota_us) under /sys/fs/cgroup"


def node_group(testbed: str, node: str) -> NodeGroup:
    """Where the group of a node is, or would be. ``testbed`` is unique on this machine."""
    below = Path("stormbrain") / testbed / node
    if _v2_cpu():
        return NodeGroup(ROOT / below, ROOT / below, 2)
    limits = ROOT / "cpu" / below if (ROOT / "cpu" / "cpu.cfs_quota_us").exists() else None
    accounting = ROOT / "cpuacct" / below if (ROOT / "cpuacct" / "cpuacct.usage").exists() else None
    return NodeGroup(limits, accounting, 1)


def remove_groups(testbed: str) -> None:
    """All groups of a testbed, also of nodes that are not on record."""
    for base in (ROOT, ROOT / "cpu", ROOT / "cpuacct"):
        folder = base / "stormbrain" / testbed
        if not folder.is_dir():
            continue
        for child in [path for path in folder.iterdir() if path.is_dir()]:
            NodeGroup(child, None, 1).remove()
        NodeGroup(folder, None, 1).remove()
        with contextlib.suppress(OSError):  # of another testbed too, then: the last one removes it
            folder.parent.rmdir()


def _v2_cpu() -> bool:
    controllers = ROOT / "cgroup.controllers"
    return controllers.exists() and "cpu" in controllers.read_text().split()
