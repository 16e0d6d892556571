"""Clusters of thousands of machines: each (size, algorithm) in a process of its own, so that its
peak memory is its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from brain.algorithms import registry
from brain.model import CommGraph, Node, Options, Problem, Topology
from brain.problems.randoms import random_problem
from brain.simulate.costs import default_costs
from brain.simulate.forecast import forecast
from brain.simulate.network import Network

SHAPES = 11
TEN_GIGABIT = 1.25e9
SIZES = ((10, 518, 1), (100, 5_181, 2), (1_000, 51_810, 11), (10_000, 1_000_000, 212))
"""Machines, executors, topologies; the third is the size of Storm's own RAS performance test."""


def cluster_of(machines: int, executors: int, topologies: int) -> Problem:
    """Topologies of random shapes (eleven, repeated) next to each other on equal nodes in racks of
    forty, their CPU to three quarters used."""
    sizes = [executors // topologies + (t < executors % topologies) for t in range(topologies)]
    shapes: dict[tuple[int, int], Problem] = {}
    own: list[Topology] = []
    source, target, tuples = [], [], []
    offset = 0
    for t, size in enumerate(sizes):
        key = size, t % SHAPES
        if key not in shapes:
            shapes[key] = random_problem(size, 10, seed=key[1])
        part = shapes[key]
        source.append(part.graph.sources.astype(np.int64) + offset)
        target.append(part.graph.indices.astype(np.int64) + offset)
        tuples.append(part.graph.tuples)
        own.append(replace(part.topologies[0], id=f"t-{t}"))
        offset += size
    graph = CommGraph.from_edges(
        offset, np.concatenate(source), np.concatenate(target), np.concatenate(tuples)
    )
    cpu = sum(float(t.cpu.sum()) for t in own) / machines / 0.75
    memory = sum(float(t.memory_mb.sum()) for t in own) / machines / 0.6
    ports = tuple(range(6700, 6716))
    nodes = tuple(
        Node(f"n{i}", ports, rack=f"r{i // 40}", cpu=cpu, memory_mb=memory) for i in range(machines)
    )
    return Problem(nodes, tuple(own), graph)


def measure(machines: int, executors: int, topologies: int, algorithm: str, theta: float) -> None:
    """One planning and its forecast; prints one JSON object."""
    begin = time.perf_counter()
    problem = cluster_of(machines, executors, topologies)
    built = time.perf_counter() - begin
    before = _peak_mb()
    wall, cpu = time.perf_counter(), _cpu()
    result = registry.run(algorithm, problem, None, Options(theta=theta))
    wall, cpu = time.perf_counter() - wall, _cpu() - cpu
    row: dict[str, Any] = {
        "machines": machines,
        "executors": executors,
        "topologies": topologies,
        "edges": problem.graph.edges,
        "algorithm": algorithm,
        "theta": theta,
        "status": str(result.status),
        "placed": int(result.placement.placed.sum()),
        "build_seconds": round(built, 2),
        "plan_seconds": round(wall, 3),
        "plan_cpu_seconds": round(cpu, 3),
        "problem_mb": round(before),
        "peak_mb": round(_peak_mb()),
        "share": result.score.inter_node / problem.graph.total,
        "imbalance": result.score.imbalance,
        "load_average": round(os.getloadavg()[0], 1),
    }
    if result.placement.placed.all():
        begin = time.perf_counter()
        seen = forecast(
            problem, result.placement, Network.uniform(machines, TEN_GIGABIT), default_costs(),
            cpu_from="problem",
        )  # fmt: skip
        row["forecast_seconds"] = round(time.perf_counter() - begin, 3)
        row["inter_node_bytes"] = seen.flows.inter_node_bytes
        row["saturation"] = sum(t.saturation or 0.0 for t in seen.topologies)
        row["offered"] = sum(t.offered for t in seen.topologies)
        row["peak_with_forecast_mb"] = round(_peak_mb())
    print(json.dumps(row))


def in_processes(
    sizes: Sequence[tuple[int, int, int]],
    algorithms: Sequence[str],
    theta: float,
    timeout: float,
) -> list[dict[str, Any]]:
    """Rows in order; a process that fails or takes too long leaves a row that says so."""
    rows = []
    for machines, executors, topologies in sizes:
        for algorithm in algorithms:
            words = [str(w) for w in (machines, executors, topologies, algorithm, theta)]
            command = [sys.executable, "-m", "benchmarks.simulation_parts.large", *words]
            key = {"machines": machines, "executors": executors, "algorithm": algorithm}
            print(" ".join(words), "…", flush=True)
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
            except subprocess.TimeoutExpired:
                rows.append({**key, "theta": theta, "failed": f"not done after {timeout:g} s"})
                continue
            if done.returncode:
                last = (done.stderr.strip().splitlines() or ["killed"])[-1]
                rows.append({**key, "theta": theta, "failed": f"exit {done.returncode}: {last}"})
                continue
            rows.append(json.loads(done.stdout.splitlines()[-1]))
            print(rows[-1], flush=True)
    return rows


def _peak_mb() -> float:
    """Of this process and of those that it started, each at its peak.

    Not by getrusage: a process that was forked off a large one inherits its peak there.
    """
    me = psutil.Process()
    return sum(_high_water_kb(p.pid) for p in (me, *me.children(recursive=True))) / 1024.0


def _high_water_kb(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0  # it has just ended
    return next((float(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0.0)


def _cpu() -> float:
    """CPU seconds of this process and of those that it started, ended or not."""
    me = psutil.Process()
    total = 0.0
    for process in (me, *me.children(recursive=True)):
        try:
            used = process.cpu_times()
        except psutil.Error:
            continue
        total += used.user + used.system + used.children_user + used.children_system
    return total


if __name__ == "__main__":
    measure(*(int(w) for w in sys.argv[1:4]), sys.argv[4], float(sys.argv[5]))
