"""What the brain costs: CPU and memory at rest, and with 100,000 edges reporting.

``make bench-brain`` → benchmarks/results/brain-load.json and docs/brain-load.md. A real brain
process on a real ZooKeeper; workers are played by this process, each on a connection of its own,
with windows of 5 s as the hook sends them, spread over the time as real workers' are. Beside them
a Nimbus asks schedule() each few seconds, and what it waits for that is measured too.
"""

from __future__ import annotations

import json
import os
import re
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Annotated, Any

import psutil
import typer
from rich.console import Console

from brain.cli.connection import call_brain
from brain.errors import StormbrainError
from brain.idl import wire
from brain.idl.checked import writer
from tests.harness.wire import cluster_state, reports_of, supervisor, topology
from tests.harness.zookeeper import ZooKeeperServer

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "brain-load.json"
PAGE = ROOT / "docs" / "brain-load.md"
WINDOW_SECS = 5
NIMBUS_SECS = 3
CONF = {"topology.brain.mode": "dry-run", "topology.brain.first.replacement.secs": 86_400}
"""It measures and answers, but computes no placement: that is the algorithms' benchmark."""

console = Console(stderr=True)


def main(
    edges: Annotated[int, typer.Option(help="Edges that report.")] = 100_000,
    workers: Annotated[int, typer.Option(help="Workers that report them.")] = 100,
    seconds: Annotated[int, typer.Option(help="Measured part of each phase.")] = 40,
) -> None:
    """Rest, then the load; prints and records both."""
    with tempfile.TemporaryDirectory() as folder, ZooKeeperServer() as zookeeper:
        brain = _start(zookeeper, Path(folder))
        try:
            address = _address(brain, Path(folder) / "brain.log")
            process = psutil.Process(brain.pid)
            time.sleep(30)  # the solver process imports and compiles at first
            rest = _measure(process, address, _cluster(0, workers), seconds)
            with _Workers(address, edges, workers) as load:
                time.sleep(4 * WINDOW_SECS)
                busy = _measure(process, address, _cluster(edges, workers), seconds)
                status = call_brain(address, "status", "")
                busy["edges"] = status.topologies[0].edges
                busy["reports_sent"], busy["reports_taken"] = (
                    load.sent,
                    status.reports_received - status.reports_refused,
                )
        finally:
            brain.terminate()
            brain.wait(timeout=20)
    result = {"edges": edges, "workers": workers, "seconds": seconds, "rest": rest, "busy": busy,
              "machine": f"{os.cpu_count()} cores", "load_average": os.getloadavg()[0],
              "time": time.strftime("%Y-%m-%d %H:%M")}  # fmt: skip
    RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    PAGE.write_text(_page(result), encoding="utf-8")
    console.print_json(json.dumps(result))


def _start(zookeeper: ZooKeeperServer, folder: Path) -> subprocess.Popen[bytes]:
    with (folder / "brain.log").open("wb") as out:
        return subprocess.Popen(
            [sys.executable, "-m", "brain", "serve", "--listen", "127.0.0.1:0", "--dashboard",
             "off", "--zookeeper", zookeeper.hosts, "--state-dir", str(folder / "state")],
            stdout=out, stderr=subprocess.STDOUT, cwd=ROOT,
        )  # fmt: skip


def _address(brain: subprocess.Popen[bytes], log: Path) -> str:
    """Where it listens, once it leads."""
    for _ in range(300):
        found = re.search(r"listens on (\S+):(\d+)", log.read_text(errors="replace"))
        if found:
            address = f"{found[1]}:{found[2]}"
            if call_brain(address, "status", "").leading:
                return address
        if brain.poll() is not None:
            break
        time.sleep(0.2)
    raise StormbrainError("the brain did not come up", log.read_text(errors="replace")[-2000:])


def _side(edges: int) -> int:
    """Tasks on each side of a complete bipartite graph with so many edges."""
    return max(1, round(edges**0.5))


def _slots(edges: int, workers: int) -> dict[int, tuple[str, int]]:
    return {t: (f"n{t % workers // 2}", 6700 + t % 2) for t in range(1, 2 * _side(edges) + 1)}


def _cluster(edges: int, workers: int) -> Any:
    nodes = [supervisor(f"n{i}") for i in range(workers // 2)]
    if not edges:
        return cluster_state(nodes, [])
    side = _side(edges)
    big = topology("big-1-1", {"source": side, "target": side}, _slots(edges, workers), workers)
    big.conf = {k: json.dumps(v) for k, v in CONF.items()}
    return cluster_state(nodes, [big])


class _Workers:
    """Sends each worker's window when it is due, from frames that were encoded beforehand."""

    def __init__(self, address: str, edges: int, workers: int) -> None:
        side, slots = _side(edges), _slots(edges, workers)
        counts = {(s, side + t): (50, 5000) for s in range(1, side + 1) for t in range(1, side + 1)}
        cpu = dict.fromkeys(range(1, 2 * side + 1), 200.0)
        now = int(time.time() * 1000)
        host, _, port = address.rpartition(":")
        self._reports = reports_of("big-1-1", 0, now, counts, cpu, slots)
        self._sockets = [socket.create_connection((host, int(port))) for _ in self._reports]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.sent = 0

    def __enter__(self) -> _Workers:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        for s in self._sockets:
            s.close()

    def _run(self) -> None:
        start, sequence = time.monotonic(), 0
        while not self._stop.is_set():
            for i, report in enumerate(self._reports):
                due = start + WINDOW_SECS * (sequence + i / len(self._reports))
                if self._stop.wait(max(0.0, due - time.monotonic())):
                    return
                report.sequence = sequence
                report.start_ms += WINDOW_SECS * 1000
                report.end_ms += WINDOW_SECS * 1000
                self._sockets[i].sendall(_frame(report))
                self.sent += 1
            sequence += 1


def _frame(report: Any) -> bytes:
    out, buffer = writer()
    out.write_message_begin("report", 4, 0)  # 4: oneway
    wire.Brain.report_args(report).write(out)
    out.write_message_end()
    body = bytes(buffer.getvalue())
    return struct.pack(">i", len(body)) + body


def _measure(process: psutil.Process, address: str, state: Any, seconds: int) -> dict[str, Any]:
    family = [process, *process.children(recursive=True)]
    before, start, waits = _cpu(family), time.monotonic(), []
    while time.monotonic() - start < seconds:
        asked = time.monotonic()
        call_brain(address, "schedule", state)
        waits.append(1000 * (time.monotonic() - asked))
        time.sleep(NIMBUS_SECS)
    took = time.monotonic() - start
    own, children = _cpu(family[:1]), _cpu(family[1:])
    return {
        "cpu_percent_of_a_core": 100 * (own + children - before) / took,
        "rss_mb": process.memory_info().rss / 2**20,
        "solver_rss_mb": sum(p.memory_info().rss for p in family[1:]) / 2**20,
        "schedule_ms_median": statistics.median(waits),
        "schedule_ms_max": max(waits),
    }


def _cpu(processes: list[psutil.Process]) -> float:
    return float(sum(sum(p.cpu_times()[:2]) for p in processes))


def _page(r: dict[str, Any]) -> str:
    rows = [
        f"| {name} | {p['cpu_percent_of_a_core']:.1f} | {p['rss_mb']:.0f} | "
        f"{p['solver_rss_mb']:.0f} | {p['schedule_ms_median']:.0f} | {p['schedule_ms_max']:.0f} |"
        for name, p in (("at rest", r["rest"]), (f"{r['busy']['edges']:,} edges", r["busy"]))
    ]
    return "\n".join(
        [
            "# What the brain costs",
            "",
            "Made by `make bench-brain`: a real brain process on a real ZooKeeper. At rest nothing",
            f"reports; then {r['workers']} workers report {r['busy']['edges']:,} edges between",
            f"them each {WINDOW_SECS} s ({r['busy']['reports_taken']} of",
            f"{r['busy']['reports_sent']} reports taken). Meanwhile a Nimbus asks schedule() each",
            f"{NIMBUS_SECS} s; its wait includes the connection and the snapshot's encoding.",
            f"Measured {r['time']} on {r['machine']}, load average {r['load_average']:.1f}.",
            "",
            "| | CPU, % of a core | memory, MB | its solver process, MB | schedule() median, ms "
            "| max, ms |",
            "|---|---:|---:|---:|---:|---:|",
            *rows,
            "",
        ]
    )


if __name__ == "__main__":
    typer.run(main)
