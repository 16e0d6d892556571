"""Results of experiments for tests of the report: made up, but of the real format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brain.bench.results import (
    ExperimentResult,
    Graph,
    NodeUse,
    Point,
    Replacement,
    Run,
    RunStatus,
)

CLUSTER = {
    "nodes": 2,
    "slots": [2],
    "bandwidth_mbit": [8.0],
    "cpu_points": [],
    "memory_mb": [],
}


def graph(ports: Sequence[tuple[str, int]], rate: float = 500.0, size: float = 1000.0) -> Graph:
    """A chain of one executor on each of the given slots."""
    names = ["spout", *(f"bolt-{i}" for i in range(1, len(ports)))]
    executors = tuple(
        (task, task, name, 1.0, node, port)
        for task, (name, (node, port)) in enumerate(zip(names, ports, strict=True), start=1)
    )
    edges = tuple((t, t + 1, rate, rate * size, False) for t in range(1, len(ports)))
    return Graph(executors, edges)


def run(
    scheduler: str,
    repeat: int,
    throughput: float,
    *,
    status: RunStatus = RunStatus.VALID,
    reasons: tuple[str, ...] = (),
    talk: Graph | None = None,
    replacement: Replacement | None = None,
    latency_ms: float | None = 10.0,
    wire_bytes: float | None = 1e6,
) -> Run:
    return Run(
        case="base", scheduler=scheduler, repeat=repeat, status=status, reasons=reasons,
        started="2026-01-01T00:00:00Z", topology_id="t-1-1", seconds=20.0, throughput=throughput,
        latency_ms=latency_ms, latency_p50_ms=None, latency_p99_ms=None, wire_bytes=wire_bytes,
        control_bytes=None, hook_tuples=0.0, hook_bytes=0.0, system_tuples=0.0, all_tuples=0.0,
        failed_tuples=0,
        nodes={
            "n1": NodeUse(wire_bytes, wire_bytes, 10.0, 1, 1),
            "n2": NodeUse(wire_bytes, wire_bytes, 30.0, 1, 1),
        },
        workers=2, replacement=replacement,
        series=(Point(1.0, throughput, latency_ms, None), Point(2.0, throughput, latency_ms, None)),
        graph=talk,
    )  # fmt: skip


def moved(outcome: str = "move", reason: str = "less traffic") -> Replacement:
    return Replacement(outcome, reason, "auto", 10.0, 15.0, 0.1, 2, 2, 100.0, 0.0)


def result(
    runs: Sequence[Run],
    *,
    name: str = "payload",
    goals: Sequence[Mapping[str, Any]] = (),
    quick: bool = False,
    schedulers: Sequence[str] = ("default", "metis", "auto"),
) -> ExperimentResult:
    return ExperimentResult(
        experiment={
            "name": name,
            "title": "Payload <3 KB>",
            "paper": "fischer2015",
            "schedulers": [{"name": s} for s in schedulers],
            "cases": [
                {
                    "name": "base",
                    "cluster": CLUSTER,
                    "topology": {"options": {}, "conf": {}},
                    "schedulers": list(schedulers),
                }
            ],
            "goals": list(goals),
        },
        file=f"benchmarks/experiments/{name}.yaml",
        digest="d",
        quick=quick,
        machine={"cores": 2, "memory_mb": 1000, "kernel": "k", "java": "17", "storm": "2.8.3"},
        testbed={"mode": "netns", "cannot_measure": []},
        command=f"stormbrain bench run {name}",
        runs=tuple(runs),
    )


def goal(**changes: Any) -> dict[str, Any]:
    return {
        "measure": "throughput", "scheduler": "auto", "against": "default", "case": "base",
        "at_least": 1.56, "at_most": None, "paper_ratio": 1.56, "says": "Payload throughput",
        **changes,
    }  # fmt: skip
