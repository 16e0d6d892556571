"""What a tuple costs, measured: a Java chain in one worker, and spread over several.

``make bench-calibration`` → brain/simulate/costs.json, which ``stormbrain simulate`` reads. Each
run counts the CPU of all workers and the bytes on the loopback interface while the chain goes at
full speed. In one worker a tuple stays in memory; with a worker for each component every hop is
serialised, sent over TCP and parsed. Three costs (per end of a tuple, per end of a remote tuple,
per byte) are fitted to the CPU by non-negative least squares, and the bytes beside the payload to
what the interface counted.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import psutil
import typer
from rich.console import Console

from brain.cluster.local import LocalCluster
from brain.simulate.costs import FILE, Costs, Observation, costs_to_dict, fit
from brain.submit.submission import wait_until_gone, wait_until_up

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "storm-plugin" / "target"
TEST_JAR = TARGET / "storm-plugin-0.1.0-tests.jar"
STATS_LAG_SECS = 10
BOLTS = 3
ACK_BYTES = 20.0
"""Payload of an ack: two longs and a little."""

console = Console(stderr=True)


@dataclass(frozen=True)
class Measured:
    workers: int
    payload_bytes: int
    acked_per_sec: float
    cpu_seconds: float
    """Of all workers, a second."""
    loopback_bytes: float
    data_remote: int
    """Of the chain's hops, those between workers; and of the acks a tuple causes."""
    ack_remote: int

    @property
    def hops(self) -> int:
        return BOLTS + BOLTS + 2  # data; one ack a bolt, the spout's to the acker, its answer

    def observation(self) -> Observation:
        rate, remote = self.acked_per_sec, self.data_remote + self.ack_remote
        payload = self.data_remote * self.payload_bytes + self.ack_remote * ACK_BYTES
        return Observation(
            cpu_seconds=self.cpu_seconds,
            tuple_ends=2.0 * rate * self.hops,
            remote_ends=2.0 * rate * remote,
            remote_bytes=2.0 * rate * payload,
        )

    @property
    def overhead(self) -> float | None:
        """Bytes on the wire beside the payload, of a tuple between workers."""
        remote = self.data_remote + self.ack_remote
        if not remote:
            return None
        payload = self.data_remote * self.payload_bytes + self.ack_remote * ACK_BYTES
        return (self.loopback_bytes / self.acked_per_sec - payload) / remote


def main(
    seconds: Annotated[int, typer.Option(help="Measured part of each run.")] = 15,
    out: Annotated[Path, typer.Option(help="Where the costs go.")] = FILE,
) -> None:
    """Runs one worker and one for each component, at several sizes, on one local cluster."""
    load = os.getloadavg()[0]
    runs: list[Measured] = []
    with LocalCluster.start(f"bench-calibration-{os.getpid()}", nodes=1, slots=5) as cluster:
        for payload in (16, 3072, 1000):
            for workers in (1, BOLTS + 2):
                run = _run(cluster, workers, payload, seconds)
                runs.append(run)
                console.print(
                    f"{workers} workers, {payload} B: {run.acked_per_sec:,.0f} acked/s, "
                    f"{1e6 * run.cpu_seconds / run.acked_per_sec:.1f} µs of CPU a tuple tree"
                )
    tuple_us, remote_us, byte_ns, r2 = fit([r.observation() for r in runs])
    # Between small tuples, idle chatter on the loopback is the smallest part.
    over = [r.overhead for r in runs if r.overhead is not None and r.payload_bytes < 100]
    costs = Costs(
        tuple_us=round(tuple_us, 4),
        remote_us=round(remote_us, 4),
        byte_ns=round(byte_ns, 4),
        overhead_bytes=round(float(np.median(over)), 1),
    )
    document: dict[str, Any] = {
        "costs": costs_to_dict(costs),
        "r2": round(r2, 4),
        "command": "python -m benchmarks.calibration",
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": {
            "cores": os.cpu_count(),
            "machine": platform.machine(),
            "load_average": [round(load, 1), round(os.getloadavg()[0], 1)],
        },
        "runs": [asdict(r) for r in runs],
    }
    out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    console.print_json(json.dumps({k: v for k, v in document.items() if k != "runs"}))


def _run(cluster: LocalCluster, workers: int, payload: int, seconds: int) -> Measured:
    name = f"chain-{workers}-{payload}"
    host, _, port = cluster.nimbus_address.partition(":")
    classpath = (TARGET / "test-classpath.txt").read_text().strip()
    subprocess.run(
        ["java", "-cp", f"{TEST_JAR}{os.pathsep}{TARGET / 'test-classes'}{os.pathsep}{classpath}",
         "io.stormbrain.bench.ChainTopology", host, port, name, str(TEST_JAR), f"bolts={BOLTS}",
         f"workers={workers}", f"payload.bytes={payload}", "topology.auto.task.hooks="],
        check=True, capture_output=True,
    )  # fmt: skip
    with cluster.nimbus() as nimbus:
        topology_id = nimbus.topology_id(name)
        wait_until_up(nimbus, topology_id)
        time.sleep(STATS_LAG_SECS)
        at = {e.component: e.port for e in nimbus.topology(topology_id).executors}
        processes = [psutil.Process(w.pid) for w in cluster.workers()]
        begin = _sample(nimbus, topology_id, processes)
        time.sleep(seconds)
        end = _sample(nimbus, topology_id, processes)
        nimbus.kill(name, wait_secs=0)
        wait_until_gone(nimbus, name)
    span = end["time"] - begin["time"]
    chain = ["s", *(f"b{i}" for i in range(1, BOLTS + 1))]
    apart = sum(at[c] != at["__acker"] for c in chain)
    return Measured(
        workers=workers,
        payload_bytes=payload,
        acked_per_sec=(end["acked"] - begin["acked"]) / span,
        cpu_seconds=(end["cpu"] - begin["cpu"]) / span,
        loopback_bytes=(end["bytes"] - begin["bytes"]) / span,
        data_remote=sum(at[a] != at[b] for a, b in pairwise(chain)),
        ack_remote=apart + (at["s"] != at["__acker"]),
    )


def _sample(nimbus: Any, topology_id: str, processes: list[psutil.Process]) -> dict[str, float]:
    """At a moment when fresh counters of the spout arrive, so that lag cancels out."""
    last = _acked(nimbus, topology_id)
    while (now := _acked(nimbus, topology_id)) == last:
        time.sleep(0.1)
    used = [p.cpu_times() for p in processes]
    return {
        "acked": float(now),
        "time": time.monotonic(),
        "cpu": sum(u.user + u.system for u in used),
        "bytes": float(psutil.net_io_counters(pernic=True)["lo"].bytes_sent),
    }


def _acked(nimbus: Any, topology_id: str) -> int:
    return sum(e.acked for e in nimbus.topology(topology_id).executors if e.component == "s")


if __name__ == "__main__":
    typer.run(main)
