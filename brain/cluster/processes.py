"""Processes of a cluster: started detached, and never mistaken for somebody else's.

A pid may be reused after its process has ended, so a process is known by its pid together with
its start time. Processes that are not on record (workers, their Python children, anything left
after a crash) are found by the marker that every process of a cluster inherits in its
environment: the path of the cluster's state dir.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MARKER = "STORMBRAIN_CLUSTER_DIR"

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class ProcessRef:
    """One process, not merely one pid: ``started`` is its start in clock ticks since boot."""

    pid: int
    started: int

    def alive(self) -> bool:
        """Whether this very process runs; a zombie does not. Reaps it if it was our child."""
        found = _stat(self.pid)
        if found is None or found.started != self.started:
            return False
        if found.state != "Z":
            return True
        _reap(self.pid)
        return False

    def signal(self, number: int) -> bool:
        """Sends a signal unless the process is gone; says whether it was sent."""
        if not self.alive():
            return False
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            return False
        return True

    def rss_mb(self) -> float:
        """Resident memory in MB, 0 when the process is gone."""
        try:
            pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        except (OSError, IndexError):
            return 0.0
        return pages * _PAGE / 2**20

    def uptime_secs(self) -> float:
        uptime = float(Path("/proc/uptime").read_text().split()[0])
        return max(0.0, uptime - self.started / _TICKS)

    def command_line(self) -> list[str]:
        try:
            raw = Path(f"/proc/{self.pid}/cmdline").read_bytes()
        except OSError:
            return []
        return raw.rstrip(b"\0").decode(errors="replace").split("\0")


@dataclass(frozen=True)
class _Stat:
    state: str
    started: int


def _stat(pid: int) -> _Stat | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The command's name, in parentheses, may itself hold spaces and parentheses.
    fields = text[text.rindex(")") + 2 :].split()
    return _Stat(state=fields[0], started=int(fields[19]))


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return


def process_ref(pid: int) -> ProcessRef | None:
    """The process that has this pid now."""
    found = _stat(pid)
    return None if found is None or found.state == "Z" else ProcessRef(pid, found.started)


def spawn(
    command: Sequence[str], environment: Mapping[str, str], output: Path, directory: Path
) -> ProcessRef:
    """Starts a daemon in a session of its own, so that it outlives the shell and its Ctrl-C."""
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("ab") as out:
        child = subprocess.Popen(
            command,
            env=dict(environment),
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    found = _stat(child.pid)
    # A child is a zombie at worst until it is reaped below, so its entry cannot be missing.
    assert found is not None
    # The daemon is waited for through ProcessRef; Popen must not warn that it still runs.
    child.returncode = 0
    return ProcessRef(child.pid, found.started)


def find_marked(cluster_dir: Path) -> list[ProcessRef]:
    """Every process whose environment names exactly this cluster's state dir."""
    wanted = f"{MARKER}={cluster_dir}".encode()
    marked = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environment = (entry / "environ").read_bytes()
        except OSError:  # another user's process, or one that has just ended
            continue
        if wanted in environment.split(b"\0"):
            ref = process_ref(int(entry.name))
            if ref is not None:
                marked.append(ref)
    return marked


def stop(processes: Iterable[ProcessRef], grace_secs: float) -> None:
    """TERM, and KILL for whatever still runs after the grace time. Returns when all are gone."""
    running = [process for process in processes if process.signal(signal.SIGTERM)]
    running = _wait_gone(running, grace_secs)
    for process in running:
        process.signal(signal.SIGKILL)
    _wait_gone(running, 10.0)


def _wait_gone(processes: Iterable[ProcessRef], secs: float) -> list[ProcessRef]:
    deadline = time.monotonic() + secs
    running = list(processes)
    while True:
        running = [process for process in running if process.alive()]
        if not running or time.monotonic() >= deadline:
            return running
        time.sleep(0.05)
