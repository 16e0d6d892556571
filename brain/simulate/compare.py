"""Several algorithms on one problem, each with the forecast of its placement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from brain.algorithms import registry
from brain.errors import BadInput
from brain.model import Node, Options, Placement, Problem, Status
from brain.simulate.costs import Costs
from brain.simulate.events import Simulated, simulate
from brain.simulate.flows import CpuFrom, NotPlaced
from brain.simulate.forecast import Forecast, forecast
from brain.simulate.network import Network

CURRENT = "current"
LINKS_SHOWN = 100
"""Nodes up to which the JSON lists every link."""


@dataclass(frozen=True)
class Row:
    """One placement. ``forecast`` is None where executors are placed nowhere."""

    label: str
    status: str
    seconds: float
    reasons: tuple[str, ...]
    forecast: Forecast | None
    events: Simulated | None = None


@dataclass(frozen=True)
class Setting:
    network: Network
    costs: Costs
    cpu_from: CpuFrom = "costs"
    pending: int | None = None
    event_seconds: float | None = None
    """Simulate so many seconds tuple by tuple as well."""


def read_problem(path: str, topology: str | None = None) -> tuple[Problem, Placement | None]:
    """A problem file (or ``-``), or the directory of a graph that the pipeline wrote."""
    from brain.problems import load, problem_from_dict

    if not Path(path).is_dir() and "://" not in path:
        if topology is not None:
            raise BadInput("--topology", "chooses within a graph directory, not a problem file")
        return load(path)
    from brain.pipeline.problem import problem_from_profile
    from brain.pipeline.profile import load_profile, profiled_topologies, topology_name

    known = profiled_topologies(path)
    chosen = topology or (topology_name(known[-1]) if len(known) == 1 else None)
    if chosen is None:
        raise BadInput(path, f"holds {', '.join(known) or 'no topology'}", "name one: --topology")
    return problem_from_dict(problem_from_profile(load_profile(path, chosen)))


def on_cluster(problem: Problem, nodes: Sequence[Node]) -> Problem:
    """The same topologies on other nodes; pins to nodes that are no more are refused."""
    ids = {n.id for n in nodes}
    for topology in problem.topologies:
        for component, allowed in topology.pin.items():
            if not ids.issuperset(allowed):
                raise BadInput(
                    "--cluster",
                    f"{topology.id} pins {component} to {', '.join(allowed)}",
                    "a pinned topology can only be simulated on its own nodes",
                )
    return replace(problem, nodes=tuple(nodes))


def compare(
    problem: Problem,
    current: Placement | None,
    algorithms: Iterable[str],
    options: Options,
    setting: Setting,
) -> list[Row]:
    """One row for what runs now, if it is whole, and one for each algorithm from scratch."""
    rows = []
    if current is not None and bool(current.placed.all()):
        rows.append(_row(problem, CURRENT, "ok", 0.0, (), current, setting))
    for name in algorithms:
        result = registry.run(name, problem, None, options)
        rows.append(
            _row(
                problem,
                name,
                str(result.status),
                result.seconds,
                result.reasons,
                result.placement,
                setting,
            )
        )
    return rows


def _row(
    problem: Problem,
    label: str,
    status: str,
    seconds: float,
    reasons: tuple[str, ...],
    placement: Placement,
    setting: Setting,
) -> Row:
    try:
        seen = forecast(
            problem,
            placement,
            setting.network,
            setting.costs,
            cpu_from=setting.cpu_from,
            pending=setting.pending,
        )
    except NotPlaced as e:
        status = status if status != str(Status.OK) else str(Status.BEST_EFFORT)
        return Row(label, status, seconds, (*reasons, e.message), None)
    events = None
    if setting.event_seconds is not None:
        events = simulate(
            seen.flows, setting.network, seconds=setting.event_seconds, pending=setting.pending
        )
    return Row(label, status, seconds, reasons, seen, events)


def row_to_dict(row: Row) -> dict[str, Any]:
    """What ``stormbrain simulate --json`` prints of a placement; never an infinity."""
    document: dict[str, Any] = {
        "algorithm": row.label,
        "status": row.status,
        "plan_seconds": round(row.seconds, 6),
        "reasons": list(row.reasons),
        "forecast": None,
    }
    if row.forecast is None:
        return document
    flows = row.forecast.flows
    nodes = flows.problem.nodes
    total = float(flows.problem.graph.tuples.sum())
    document["forecast"] = {
        "throughput": row.forecast.throughput,
        "inter_node_bytes": flows.inter_node_bytes,
        "inter_node_tuples": flows.inter_node_tuples,
        "inter_worker_tuples": flows.inter_worker_tuples,
        "local_tuples": flows.local_tuples,
        "inter_node_share": flows.inter_node_tuples / total if total else 0.0,
        "topologies": [
            {
                "topology": t.topology,
                "offered": t.offered,
                "saturation": t.saturation,
                "bottleneck": None if t.bottleneck is None else str(t.bottleneck),
                "latency_ms": _finite(t.latency_ms),
                "sustained": t.latency_ms is None or bool(np.isfinite(t.latency_ms)),
                "closed_throughput": _finite(t.closed_throughput),
                "closed_latency_ms": _finite(t.closed_latency_ms),
            }
            for t in row.forecast.topologies
        ],
        "nodes": [
            {"id": n.id, "cpu_cores": c, "out_bytes": o, "in_bytes": i}
            for n, c, o, i in zip(
                nodes,
                flows.node_cpu.tolist(),
                flows.out_bytes.tolist(),
                flows.in_bytes.tolist(),
                strict=True,
            )
        ],
    }
    if len(nodes) <= LINKS_SHOWN:
        links, tuples = flows.links.tocoo(), flows.link_tuples.tocoo()
        document["forecast"]["links"] = [
            {"from": nodes[int(a)].id, "to": nodes[int(b)].id, "bytes": size, "tuples": count}
            for a, b, size, count in zip(
                links.coords[0],
                links.coords[1],
                links.data.tolist(),
                tuples.data.tolist(),
                strict=True,
            )
        ]
    if row.events is not None:
        document["events"] = {
            "seconds": row.events.seconds,
            "completed": row.events.completed,
            "latency_ms": _finite(row.events.latency_ms),
            "tuples": row.events.tuples,
            "inter_node_tuples": row.events.crossing,
        }
    return document


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None
