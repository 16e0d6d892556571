"""The door of a real brain process under seeded nonsense: no crash, no hang, no growth.

`make fuzz` sends 100,000 inputs, `make test` a few thousand of another seed.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import psutil
import pytest
from kazoo.client import KazooClient
from thriftpy2.thrift import TException

from brain.cli.connection import call_brain
from brain.idl import checked, wire
from brain.plans.election import read_leader
from tests.fuzz.inputs import Inputs
from tests.harness.zookeeper import ZooKeeperServer, eventually

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "fuzz.json"
ANSWER_SECS = 20.0
"""Longest that any input may take: a hang is minutes, a loaded machine seconds."""
GROWTH_MB = 40
"""What a brain may gain after its caches are full: it keeps 1,000 topologies of reports."""


@pytest.fixture
def brain(tmp_path: Path) -> Iterator[tuple[psutil.Process, tuple[str, int], Path]]:
    """A brain process of its own that leads."""
    root, log = f"/fuzz-{uuid.uuid4().hex[:8]}", tmp_path / "brain.log"
    with ZooKeeperServer() as zookeeper, log.open("wb") as out:
        client: KazooClient = zookeeper.client()
        process = subprocess.Popen(
            [sys.executable, "-m", "brain", "serve", "--listen", "127.0.0.1:0",
             "--dashboard", "off", "--zookeeper", zookeeper.hosts,
             "--state-dir", str(tmp_path / "state"),
             "--set", f"brain.scheduler.zookeeper.root={root}"],
            stdout=out, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            leader = eventually(lambda: read_leader(client, f"{root}/leader"), 60, "a leader")
            host, _, port = leader.address.rpartition(":")
            yield psutil.Process(process.pid), (host, int(port)), log
        finally:
            process.kill()
            process.wait()


def send(address: tuple[str, int], data: bytes) -> float:
    """One connection with these bytes, until the door closes it; how long that took."""
    begun = time.monotonic()
    with socket.create_connection(address, timeout=ANSWER_SECS) as sock:
        try:
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(65_536):
                pass
        except OSError as e:
            if e.errno not in (errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN):
                raise  # else it was refused before all of it was read
    return time.monotonic() - begun


def fuzz(brain: tuple[psutil.Process, tuple[str, int], Path], count: int, seed: int) -> Any:
    process, address, log = brain
    rss_mb: list[float] = []
    slowest = 0.0
    begun = time.monotonic()
    step = max(500, count // 20)
    for number, data in enumerate(islice(Inputs(seed), count), 1):
        try:
            slowest = max(slowest, send(address, data))
        except OSError as e:
            pytest.fail(f"input {number} of seed {seed}: {e}: {data[:80].hex()}")
        if number % step == 0:
            assert process.is_running(), f"the brain died by input {number}"
            assert call_brain("{}:{}".format(*address), "status", "", timeout=ANSWER_SECS)
            rss_mb.append(process.memory_info().rss / 2**20)
    text = log.read_text(errors="replace")
    assert "Traceback" not in text, text[text.index("Traceback") - 300 :][:3000]
    return {
        "inputs": count,
        "seed": seed,
        "seconds": round(time.monotonic() - begun, 1),
        "slowest_ms": round(1000 * slowest, 1),
        "rss_mb": [round(m, 1) for m in rss_mb],
        "threads_left": process.num_threads(),
    }


def test_a_few_thousand_inputs_neither_break_nor_hold_the_door(
    brain: tuple[psutil.Process, tuple[str, int], Path],
) -> None:
    fuzz(brain, 3_000, seed=5)


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_a_hundred_thousand_inputs_leave_no_mark(
    brain: tuple[psutil.Process, tuple[str, int], Path],
) -> None:
    result = fuzz(brain, 100_000, seed=1)
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps({**result, "cores": os.cpu_count()}, indent=2) + "\n")
    early, late = result["rss_mb"][len(result["rss_mb"]) // 4], result["rss_mb"][-1]
    assert late - early < GROWTH_MB, result["rss_mb"]


def test_the_decoder_refuses_or_decodes_and_is_quick_about_it() -> None:
    """Without the socket: many more inputs, each bounded in CPU."""
    worst = 0.0
    for data in islice(Inputs(3), 20_000):
        begun = time.process_time()
        try:
            message = checked.message_reader(data[4:])
            name = message.read_message_begin()[0]
            if name in wire.Brain.thrift_services:
                getattr(wire.Brain, f"{name}_args")().read(message)
        except (checked.NotValid, UnicodeDecodeError, TException):
            pass  # refused, as it should be
        worst = max(worst, time.process_time() - begun)
    assert worst < 1.0, f"an input took {worst:.1f} s of CPU"


def test_the_input_that_once_held_the_brain_for_minutes_is_refused_at_once() -> None:
    """A set of 2,131,000,000 elements of a type that does not exist, in twenty bytes."""
    with pytest.raises(checked.NotValid):
        checked.decode(wire.Plan(), bytes.fromhex("010e00117f080d0d18007f6b00b20c70b901019efd"))
