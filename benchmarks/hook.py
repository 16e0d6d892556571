"""What the TrafficHook costs: a Java chain at full speed with the hook on and off, interleaved.

``make bench-hook`` → benchmarks/results/hook.json. Two ratios, on over off: tuples acked a
second, and CPU of the worker per acked tuple, which other work on the machine disturbs less.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from pathlib import Path
from typing import Annotated, Any

import psutil
import typer
from rich.console import Console
from scipy.stats import mannwhitneyu

from brain.cluster.local import LocalCluster
from brain.submit.submission import wait_until_gone, wait_until_up

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "storm-plugin" / "target"
TEST_JAR = TARGET / "storm-plugin-0.1.0-tests.jar"
RESULTS = ROOT / "benchmarks" / "results" / "hook.json"
HOOK = "io.stormbrain.hook.TrafficHook"
STATS_LAG_SECS = 10
"""Nimbus learns an executor's counters each few seconds."""

console = Console(stderr=True)


def main(
    rounds: Annotated[int, typer.Option(help="Runs with and without the hook, each.")] = 4,
    seconds: Annotated[int, typer.Option(help="Measured part of each run.")] = 30,
    bolts: Annotated[int, typer.Option(help="Length of the chain.")] = 3,
) -> None:
    """Interleaved runs (on, off, on, off, …) on one local cluster of one node."""
    runs: dict[str, list[dict[str, float]]] = {"on": [], "off": []}
    with LocalCluster.start(f"bench-hook-{os.getpid()}", nodes=1, slots=1) as cluster:
        for number in range(rounds):
            for mode in ("on", "off"):
                run = _run(cluster, mode, seconds, bolts)
                runs[mode].append(run)
                console.print(
                    f"run {number + 1} {mode}: {run['acked_per_sec']:,.0f} acked/s, "
                    f"{run['cpu_us_per_tuple']:.2f} µs of CPU a tuple"
                )
    result = {"bolts": bolts, "seconds": seconds, "runs": runs, **_ratios(runs)}
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    console.print_json(json.dumps({k: v for k, v in result.items() if k != "runs"}))


def _run(cluster: LocalCluster, mode: str, seconds: int, bolts: int) -> dict[str, float]:
    name = f"chain-{mode}"
    host, _, port = cluster.nimbus_address.partition(":")
    classpath = (TARGET / "test-classpath.txt").read_text().strip()
    hooks = f"topology.auto.task.hooks={HOOK if mode == 'on' else ''}"
    subprocess.run(
        ["java", "-cp", f"{TEST_JAR}{os.pathsep}{TARGET / 'test-classes'}{os.pathsep}{classpath}",
         "io.stormbrain.bench.ChainTopology", host, port, name, str(TEST_JAR),
         f"bolts={bolts}", hooks],
        check=True, capture_output=True,
    )  # fmt: skip
    with cluster.nimbus() as nimbus:
        topology_id = nimbus.topology_id(name)
        wait_until_up(nimbus, topology_id)
        time.sleep(STATS_LAG_SECS)
        (worker,) = cluster.workers()
        process = psutil.Process(worker.pid)
        begin = _sample(nimbus, topology_id, process)
        time.sleep(seconds)
        end = _sample(nimbus, topology_id, process)
        nimbus.kill(name, wait_secs=0)
        wait_until_gone(nimbus, name)
    acked = end["acked"] - begin["acked"]
    return {
        "acked_per_sec": acked / (end["time"] - begin["time"]),
        "cpu_us_per_tuple": 1e6 * (end["cpu"] - begin["cpu"]) / max(acked, 1),
    }


def _sample(nimbus: Any, topology_id: str, process: psutil.Process) -> dict[str, float]:
    """At a moment when fresh counters of the spout arrive, so that lag cancels out."""
    last = _acked(nimbus, topology_id)
    while (now := _acked(nimbus, topology_id)) == last:
        time.sleep(0.1)
    cpu = process.cpu_times()
    return {"acked": float(now), "time": time.monotonic(), "cpu": cpu.user + cpu.system}


def _acked(nimbus: Any, topology_id: str) -> int:
    return sum(e.acked for e in nimbus.topology(topology_id).executors if e.component == "s")


def _ratios(runs: dict[str, list[dict[str, float]]]) -> dict[str, float]:
    on, off = (
        {k: [r[k] for r in runs[mode]] for k in ("acked_per_sec", "cpu_us_per_tuple")}
        for mode in ("on", "off")
    )
    test = mannwhitneyu(on["acked_per_sec"], off["acked_per_sec"])
    return {
        "throughput_ratio_of_medians": statistics.median(on["acked_per_sec"])
        / statistics.median(off["acked_per_sec"]),
        "throughput_ratio_of_best": max(on["acked_per_sec"]) / max(off["acked_per_sec"]),
        "cpu_per_tuple_ratio_of_medians": statistics.median(on["cpu_us_per_tuple"])
        / statistics.median(off["cpu_us_per_tuple"]),
        "mann_whitney_p": float(test.pvalue),
    }


if __name__ == "__main__":
    typer.run(main)
