"""Processes are known by pid and start time, and by the marker in their environment."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from brain.cluster.processes import MARKER, ProcessRef, find_marked, process_ref, spawn, stop
from tests.harness.zookeeper import eventually

Start = Callable[..., ProcessRef]
SLEEP = "import time; time.sleep(600)"
STUBBORN = """
import pathlib, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path(sys.argv[1]).touch()
time.sleep(600)
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts Python code as a daemon of a cluster dir; all are ended after the test."""
    started: list[ProcessRef] = []

    def go(code: str, *arguments: str, cluster: Path = tmp_path) -> ProcessRef:
        environment = {**os.environ, MARKER: str(cluster)}
        command = [sys.executable, "-c", code, *arguments]
        started.append(spawn(command, environment, tmp_path / "out", tmp_path))
        return started[-1]

    yield go
    stop(started, grace_secs=0.0)


def test_a_reused_pid_is_not_taken_for_the_process(start: Start) -> None:
    real = start(SLEEP)
    earlier = ProcessRef(real.pid, real.started - 1)
    assert not earlier.alive()
    assert not earlier.signal(signal.SIGKILL)
    stop([earlier], grace_secs=0.0)
    assert real.alive()


def test_stop_ends_a_process_and_reaps_it(start: Start) -> None:
    process = start(SLEEP)
    assert process.alive()
    stop([process], grace_secs=30.0)
    assert not process.alive()
    assert process_ref(process.pid) != process


def test_what_ignores_term_is_killed(start: Start, tmp_path: Path) -> None:
    process = start(STUBBORN, str(tmp_path / "ready"))
    eventually((tmp_path / "ready").exists)
    stop([process], grace_secs=0.2)
    assert not process.alive()


def test_a_daemon_has_a_session_of_its_own(start: Start) -> None:
    process = start(SLEEP)
    assert os.getsid(process.pid) == process.pid != os.getsid(0)


def test_only_processes_of_exactly_this_cluster_are_found(start: Start, tmp_path: Path) -> None:
    mine, similar = tmp_path / "a", tmp_path / "ab"
    found, other = start(SLEEP, cluster=mine), start(SLEEP, cluster=similar)
    eventually(lambda: bool(find_marked(mine)) and bool(find_marked(similar)))
    assert find_marked(mine) == [found]
    assert find_marked(similar) == [other]
    assert find_marked(tmp_path) == []


def test_grandchildren_carry_the_marker(start: Start, tmp_path: Path) -> None:
    parent = start(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SLEEP!r}])")
    eventually(lambda: len(find_marked(tmp_path)) == 2)
    parent.signal(signal.SIGKILL)
    eventually(lambda: not parent.alive())
    orphans = find_marked(tmp_path)
    assert len(orphans) == 1
    stop(orphans, grace_secs=30.0)
    assert find_marked(tmp_path) == []


def test_memory_and_command_line_are_read(start: Start) -> None:
    process = start(SLEEP)
    eventually(lambda: SLEEP in process.command_line())
    eventually(lambda: process.rss_mb() > 1)
    assert process.uptime_secs() >= 0
