"""What this machine can: namespaces, bandwidth limits, a TUN device, CPU shares."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from brain.errors import StormbrainError


class CommandFailed(StormbrainError):
    """A command of iproute2 failed; its own words are in the message."""


def run(command: Sequence[str], check: bool = True) -> str:
    """Runs a command of iproute2; its output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if check and done.returncode != 0:
        said = (done.stderr or done.stdout).strip().partition("\n")[0]
        raise CommandFailed(f"{' '.join(command)}: {said or f'exit code {done.returncode}'}")
    return done.stdout


def cannot_use_namespaces() -> str | None:
    """Why nodes cannot be network namespaces here; ``None`` if they can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for program in ("ip", "tc"):
        if shutil.which(program) is None:
            return f"{program} is not on the PATH (Debian: apt-get install iproute2)"
    probe = f"sbprobe-{os.getpid()}"
    try:
        run(["ip", "netns", "add", probe])
        try:
            run(["ip", "-n", probe, "link", "add", "p0", "type", "veth", "peer", "name", "p1"])
            run(["ip", "-n", probe, "link", "add", "br0", "type", "bridge"])
            run(["tc", "-n", probe, "qdisc", "add", "dev", "p0", "root", "tbf",
                 "rate", "1mbit", "burst", "16kb", "latency", "50ms"])  # fmt: skip
        finally:
            run(["ip", "netns", "del", probe], check=False)
    except CommandFailed as e:
        return f"the kernel does not do it: {e.message}"
    return None


def cannot_delay() -> str | None:
    """Why packets cannot be held here; ``None`` if they can."""
    if not Path("/dev/net/tun").exists():
        return "there is no /dev/net/tun, so no wide-area delays (modprobe tun)"
    return None
