"""Fischer & Bernstein 2015 on 10 … 80 simulated machines, and the tuple-size sweep on 40.

As in the paper a machine has 4 cores, 1 Gbit/s and one worker, acking is on with one acker for each
worker, and the ratios are against Storm's even placement. What work costs is counted from tuples,
but for OpenGov, whose operators have a CPU of their own in the problem.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from brain.algorithms import registry
from brain.model import Options, Problem
from brain.problems import fischer
from brain.simulate.acking import with_ackers
from brain.simulate.costs import default_costs
from brain.simulate.flows import CpuFrom
from brain.simulate.forecast import forecast
from brain.simulate.network import Network

MAKERS: dict[str, Callable[[int], Problem]] = {
    "parallel": lambda size: fischer.parallel(7, size),
    "payload": lambda size: fischer.payload(7, size),
    "opengov": fischer.opengov,
    "reference": lambda size: fischer.reference(7, size),
}
BASELINE = "even"
ALGORITHMS = (BASELINE, "online", "metis", "ischeduler", "auto")
GIGABIT = 125e6
PENDING = 1000
"""Tuples under way at each spout task; the paper does not say."""
SWEEP_BYTES = (16, 100, 1_000, 3_072, 10_000, 30_000, 100_000)
SWEEP_MACHINES, SWEEP_DEPTH = 40, 3


def one_worker_each(problem: Problem) -> Problem:
    nodes = tuple(replace(n, slots=n.slots[:1]) for n in problem.nodes)
    return replace(problem, nodes=nodes)


def machines(sizes: Sequence[int], theta: float) -> dict[str, Any]:
    """Every topology × size × algorithm; ratios are this algorithm's over even's."""
    rows = []
    for name, make in MAKERS.items():
        for size in sizes:
            problem = with_ackers(one_worker_each(make(size)), size)
            cpu_from: CpuFrom = "problem" if name == "opengov" else "costs"
            key = {"topology": name, "machines": size, "cpu_from": cpu_from}
            rows += _compared(key, problem, theta)
    return {**_setting(theta), "baseline": BASELINE, "rows": rows}


def sweep(theta: float) -> dict[str, Any]:
    rows = []
    for size in SWEEP_BYTES:
        made = fischer.parallel(SWEEP_DEPTH, SWEEP_MACHINES, bytes_per_tuple=float(size))
        problem = with_ackers(one_worker_each(made), SWEEP_MACHINES)
        rows += _compared({"bytes": size}, problem, theta, ("even", "online", "metis", "auto"))
    return {
        **_setting(theta), "baseline": BASELINE, "machines": SWEEP_MACHINES,
        "depth": SWEEP_DEPTH, "rows": rows,
    }  # fmt: skip


def _setting(theta: float) -> dict[str, Any]:
    return {"bandwidth": GIGABIT, "cores": 4, "pending": PENDING, "theta": theta}


def _compared(
    key: dict[str, Any], problem: Problem, theta: float, algorithms: Sequence[str] = ALGORITHMS
) -> list[dict[str, Any]]:
    network = Network.uniform(len(problem.nodes), GIGABIT)
    rows: list[dict[str, Any]] = []
    for algorithm in algorithms:
        params = {"phi": 12} if algorithm == "ischeduler" else {}
        result = registry.run(algorithm, problem, None, Options(theta=theta, params=params))
        row: dict[str, Any] = {
            **key,
            "executors": len(problem),
            "algorithm": algorithm,
            "status": str(result.status),
            "seconds": round(result.seconds, 3),
        }
        rows.append(row)
        if not result.placement.placed.all():
            continue
        seen = forecast(
            problem,
            result.placement,
            network,
            default_costs(),
            cpu_from=key.get("cpu_from", "costs"),
            pending=PENDING,
        )
        (topology,) = seen.topologies
        row |= {
            "inter_node_bytes": seen.flows.inter_node_bytes,
            "inter_node_tuples": seen.flows.inter_node_tuples,
            "saturation": topology.saturation,
            "bottleneck": topology.bottleneck.kind if topology.bottleneck else None,
            "throughput": topology.closed_throughput,
            "latency_ms": topology.closed_latency_ms,
        }
        base = rows[0]
        for measure in ("inter_node_bytes", "inter_node_tuples", "throughput", "latency_ms"):
            if base.get(measure):
                row[f"{measure}_ratio"] = row[measure] / base[measure]
    return rows
