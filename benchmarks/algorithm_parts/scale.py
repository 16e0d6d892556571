"""Large problems: 1,000 executors, 51,810 executors, a million tasks, a million edges."""

from __future__ import annotations

import resource
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.algorithm_parts.clock import timed
from brain.algorithms import auto
from brain.algorithms.parts.partition import partition
from brain.algorithms.parts.verify import check
from brain.model import CommGraph, Node, Options, Problem, Topology
from brain.problems.randoms import random_problem

EARLIER_BEST = {0: 401795.2, 1: 483383.6, 2: 450590.5}
"""The best of earlier records (``auto`` with θ = 60 s, commit 18f40f9), so that the bar never
sinks."""
REPEATS = 5


def thousand(theta: float, long_theta: float, seeds: int) -> dict[str, Any]:
    """auto in θ with several seeds of its own, against the best that has ever been found: by it,
    by a long run here, or by an earlier record."""
    rows = []
    for seed in range(seeds):
        problem = random_problem(1000, 100, seed)
        found, walls, own_cpu = [], [], []
        for own_seed in range(REPEATS):
            options = Options(theta=theta, seed=own_seed)
            quick, wall, cpu = timed(lambda p=problem, o=options: auto.solve(p, None, o))
            assert check(problem, quick) == []
            found.append(quick.score.inter_node)
            walls.append(wall)
            own_cpu.append(cpu)
        long_run = auto.solve(problem, None, Options(theta=long_theta, seed=seed + 100))
        assert check(problem, long_run) == []
        best = min(*found, long_run.score.inter_node, EARLIER_BEST.get(seed, np.inf))
        above = sorted(100.0 * (cost / best - 1.0) for cost in found)
        rows.append(
            {
                "seed": seed,
                "auto": sorted(found),
                "long_run": long_run.score.inter_node,
                "best_known": best,
                "above_best_percent": [round(a, 3) for a in above],
                "seconds": round(max(walls), 3),
                "cpu_seconds": round(max(own_cpu), 3),
            }
        )
    return {"theta": theta, "long_theta": long_theta, "repeats": REPEATS, "rows": rows}


def storm_sized(theta: float) -> dict[str, Any]:
    """51,810 executors in 11 topologies on 1,000 nodes in 25 racks, as Storm's own RAS tests."""
    problem = large_cluster()
    result, wall, cpu = timed(lambda: auto.solve(problem, None, Options(theta=theta)))
    return {
        "executors": len(problem),
        "topologies": len(problem.topologies),
        "nodes": len(problem.nodes),
        "edges": problem.graph.edges,
        "theta": theta,
        "status": str(result.status),
        "share": round(result.score.inter_node / problem.graph.total, 5),
        "winner": result.details["winner"],
        "seconds": round(wall, 3),
        "cpu_seconds": round(cpu, 3),
    }


def large_cluster(executors: int = 51_810, topologies: int = 11, nodes: int = 1000) -> Problem:
    """Topologies of random shape next to each other on equal nodes in 25 racks."""
    sizes = [executors // topologies + (t < executors % topologies) for t in range(topologies)]
    parts = [random_problem(size, 10, seed=t) for t, size in enumerate(sizes)]
    offset = 0
    source, target, tuples = [], [], []
    own: list[Topology] = []
    for t, part in enumerate(parts):
        source.append(part.graph.sources.astype(np.int64) + offset)
        target.append(part.graph.indices.astype(np.int64) + offset)
        tuples.append(part.graph.tuples)
        own.append(replace(part.topologies[0], id=f"t-{t}"))
        offset += len(part)
    graph = CommGraph.from_edges(
        offset, np.concatenate(source), np.concatenate(target), np.concatenate(tuples)
    )
    cpu = sum(float(t.cpu.sum()) for t in own) / nodes / 0.75
    memory = sum(float(t.memory_mb.sum()) for t in own) / nodes / 0.6
    machines = tuple(
        Node(f"n{i}", tuple(range(6700, 6716)), rack=f"r{i % 25}", cpu=cpu, memory_mb=memory)
        for i in range(nodes)
    )
    return Problem(machines, tuple(own), graph)


def graph_building(edges: int = 1_000_000, tasks: int = 20_000) -> dict[str, Any]:
    """CommGraph from the edge arrays of reports."""
    rng = np.random.default_rng(0)
    source = rng.integers(0, tasks, edges)
    target = rng.integers(0, tasks, edges)
    rate = rng.uniform(1.0, 100.0, edges)
    runs = [
        timed(lambda: CommGraph.from_edges(tasks, source, target, rate, rate)) for _ in range(3)
    ]
    return {
        "edges": edges,
        "seconds": round(min(wall for _, wall, _ in runs), 3),
        "cpu_seconds": round(min(cpu for _, _, cpu in runs), 3),
    }


def million(tasks: int = 1_000_000, edges: int = 10_000_000, parts: int = 1000) -> dict[str, Any]:
    """METIS on a million tasks, in a process of its own to see its memory."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.algorithm_parts.scale",
        str(tasks),
        str(edges),
        str(parts),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    built, seconds, cpu, share, megabytes = (float(x) for x in done.stdout.split()[-5:])
    return {
        "tasks": tasks,
        "edges": edges,
        "parts": parts,
        "build_seconds": built,
        "metis_seconds": seconds,
        "metis_cpu_seconds": cpu,
        "share": share,
        "peak_mb": megabytes,
    }


def _million(tasks: int, edges: int, parts: int) -> None:
    symmetric, built, _ = timed(lambda: _random_graph(tasks, edges).symmetric)
    part, seconds, cpu = timed(lambda: partition(symmetric, parts, np.ones(tasks)))
    share = symmetric.crossing(part) / symmetric.total
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    print(round(built, 2), round(seconds, 2), round(cpu, 2), round(share, 5), round(peak))


def _random_graph(tasks: int, edges: int) -> CommGraph:
    """Most traffic is local, as it is in topologies whose keys keep to lines."""
    rng = np.random.default_rng(0)
    source = rng.integers(0, tasks, edges, dtype=np.int32)
    away = np.rint(rng.normal(0.0, 500.0, edges)).astype(np.int64)
    target = ((source + away) % tasks).astype(np.int32)
    return CommGraph.from_edges(tasks, source, target, rng.uniform(1.0, 100.0, edges))


if __name__ == "__main__":
    _million(*(int(x) for x in sys.argv[1:4]))
