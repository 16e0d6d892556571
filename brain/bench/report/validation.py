"""Predicted against measured: the simulation run on what the testbed saw.

For each case, the communication graph and the CPU of one valid run under the default scheduler are
taken as the truth about the topology, and each scheduler's real placement (of its own run) as what
is to be judged. The forecast knows nothing else of the other runs. All nodes of a testbed share the
cores of one machine, and so they do here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np

from brain.bench.results import ExperimentResult, Graph, Run
from brain.bench.summary import BASELINE, spread
from brain.model import CommGraph, Node, Placement, Problem, Topology
from brain.simulate.costs import Costs, default_costs
from brain.simulate.flows import flows_of
from brain.simulate.forecast import forecast
from brain.simulate.network import Network

DIFFERENT = 1.1
"""Medians nearer to each other than this are noise: their order is not asked for."""
LEAST_OWN = 0.2
"""Of the CPU measured, at least so much is the executor's own work and not serialising."""
PENDING = "topology.max.spout.pending"
RATE = "rate"
"""The option by which a topology's spouts keep a pace of their own."""


@dataclass(frozen=True)
class Prediction:
    """Ratios are against the default scheduler in the same case."""

    experiment: str
    case: str
    scheduler: str
    predicted: float
    """Throughput; likewise bytes between nodes for each tuple, and latency."""
    measured: float
    predicted_bytes: float | None
    measured_bytes: float | None
    predicted_latency: float | None
    measured_latency: float | None
    bottleneck: str

    @property
    def factor_off(self) -> float:
        """By what factor the predicted throughput ratio is off, at least 1."""
        off = self.predicted / self.measured
        return max(off, 1.0 / off)


@dataclass(frozen=True)
class Agreement:
    """One case: do simulation and testbed put the schedulers into the same order?"""

    experiment: str
    case: str
    schedulers: int
    rank_correlation: float | None
    """Spearman; None with fewer than three schedulers or where one side has no differences."""
    pairs: int
    """Of schedulers whose medians differ by more than noise."""
    pairs_right: int
    median_factor: float


def predictions(results: Sequence[ExperimentResult]) -> list[Prediction]:
    found = []
    for result in results:
        for case in result.cases():
            found += _case(result, case)
    return found


def _case(result: ExperimentResult, case: str) -> list[Prediction]:
    base = _typical(result, case, BASELINE)
    if base is None or base.graph is None or not base.throughput:
        return []
    declared = next(c for c in result.experiment["cases"] if c["name"] == case)
    runs = {s: _typical(result, case, s) for s in result.schedulers()}
    graphs = [r.graph for r in runs.values() if r is not None and r.graph is not None]
    problem, network = _world(declared["cluster"], graphs, base.graph)
    costs = default_costs()
    first = _placement(problem, base.graph, base.graph)
    if first is None:
        return []
    problem = _own_work(problem, first, costs)
    paced = bool(declared["topology"].get("options", {}).get(RATE))
    cores = float(result.machine["cores"])
    pending = _pending(declared["topology"])
    seen: dict[str, tuple[float, float | None, float | None, str]] = {}
    for scheduler, run in runs.items():
        placement = None if run is None else _placement(problem, base.graph, run.graph)
        if placement is not None:
            seen[scheduler] = _forecast(problem, placement, network, costs, pending, cores, paced)
    if BASELINE not in seen:
        return []
    found = []
    for scheduler, (rate, size, wait, full) in seen.items():
        if scheduler == BASELINE:
            continue
        found.append(
            Prediction(
                experiment=result.name,
                case=case,
                scheduler=scheduler,
                predicted=rate / seen[BASELINE][0],
                measured=_measured(result, case, scheduler, "throughput") or float("nan"),
                predicted_bytes=_ratio(size, seen[BASELINE][1]),
                measured_bytes=_measured(result, case, scheduler, "wire_bytes_per_tuple"),
                predicted_latency=_ratio(wait, seen[BASELINE][2]),
                measured_latency=_measured(result, case, scheduler, "latency_ms"),
                bottleneck=full,
            )
        )
    return [p for p in found if p.measured == p.measured and p.measured > 0]


def agreements(found: Sequence[Prediction]) -> list[Agreement]:
    from scipy.stats import spearmanr

    cases: dict[tuple[str, str], list[Prediction]] = {}
    for p in found:
        cases.setdefault((p.experiment, p.case), []).append(p)
    rows = []
    for (experiment, case), own in cases.items():
        predicted = [1.0, *(p.predicted for p in own)]
        measured = [1.0, *(p.measured for p in own)]
        correlation = None
        if len(own) >= 2 and len(set(predicted)) > 1 and len(set(measured)) > 1:
            correlation = float(spearmanr(predicted, measured).statistic)
        apart = [
            (i, j)
            for i in range(len(measured))
            for j in range(i)
            if max(measured[i], measured[j]) > DIFFERENT * min(measured[i], measured[j])
        ]
        right = sum(
            (predicted[i] - predicted[j]) * (measured[i] - measured[j]) > 0 for i, j in apart
        )
        off = median(p.factor_off for p in own)
        rows.append(Agreement(experiment, case, len(measured), correlation, len(apart), right, off))
    return rows


def _typical(result: ExperimentResult, case: str, scheduler: str) -> Run | None:
    """The valid run with a graph whose throughput is nearest to the median."""
    runs = [r for r in result.valid(case, scheduler) if r.graph is not None and r.graph.executors]
    if not runs:
        return None
    middle = median(r.throughput for r in runs)
    return min(runs, key=lambda r: abs(r.throughput - middle))


def _world(
    cluster: Mapping[str, Any], graphs: Sequence[Graph], base: Graph
) -> tuple[Problem, Network]:
    """The testbed's nodes, with every port that any of the runs used, and the topology."""
    from brain.testbed.spec import node_ids

    ports: dict[str, set[int]] = {node: set() for node in node_ids(int(cluster["nodes"]))}
    for graph in graphs:
        for *_, node, port in graph.executors:
            ports.setdefault(node, set()).add(port)

    def turn(name: str, i: int) -> float | None:
        values = cluster.get(name) or ()
        return (values[i % len(values)] or None) if values else None

    nodes = tuple(
        Node(node, tuple(sorted(own)), cpu=turn("cpu_points", i))
        for i, (node, own) in enumerate(ports.items())
    )
    limits = [turn("bandwidth_mbit", i) for i in range(len(nodes))]
    network = Network(np.array([np.inf if m is None else m * 125e3 for m in limits]))
    index = {e[0]: i for i, e in enumerate(base.executors)}
    components = tuple(dict.fromkeys(e[2] for e in base.executors))
    edges = [e for e in base.edges if e[0] in index and e[1] in index]
    traffic = CommGraph.from_edges(
        len(index),
        [index[e[0]] for e in edges],
        [index[e[1]] for e in edges],
        [e[2] for e in edges],
        [e[3] if e[3] else np.nan for e in edges],
    )
    topology = Topology(
        id="measured",
        components=components,
        component_of=np.array([components.index(e[2]) for e in base.executors], dtype=np.int32),
        cpu=np.array([e[3] for e in base.executors], dtype=np.float64),
        memory_mb=np.zeros(len(index)),
        executor_ids=tuple(str(task) for task in index),
    )
    return Problem(nodes, (topology,), traffic), network


def _placement(problem: Problem, base: Graph, own: Graph | None) -> Placement | None:
    """Where a run had the executors of the base run; None if it had others."""
    if own is None:
        return None
    at = {e[0]: (e[4], e[5]) for e in own.executors}
    slots = [problem.slots.index(*at.get(e[0], ("", -1))) for e in base.executors]
    if any(s is None for s in slots):
        return None
    return Placement(np.array(slots, dtype=np.int32))


def _own_work(problem: Problem, placement: Placement, costs: Costs) -> Problem:
    """The measured CPU less what serialising cost where it was measured."""
    sending = 100.0 * flows_of(problem, placement, costs, "problem").send_cpu
    own = np.maximum(problem.cpu - sending, LEAST_OWN * problem.cpu)
    return replace(problem, topologies=(replace(problem.topologies[0], cpu=own),))


def _pending(topology: Mapping[str, Any]) -> int | None:
    options, conf = topology.get("options", {}), topology.get("conf", {})
    if options.get("acking") is False:
        return None  # nobody counts what is under way
    limit = options.get("max_pending", conf.get(PENDING))
    return int(limit) if limit else None


def _forecast(
    problem: Problem,
    placement: Placement,
    network: Network,
    costs: Costs,
    pending: int | None,
    cores: float,
    paced: bool,
) -> tuple[float, float | None, float | None, str]:
    """Tuples a second, bytes between nodes a tuple, latency, and what is full."""
    seen = forecast(
        problem, placement, network, costs, cpu_from="problem", pending=pending, host_cores=cores
    )
    (topology,) = seen.topologies
    rate = topology.closed_throughput if pending else topology.saturation
    rate = topology.offered if rate is None else rate
    wait = topology.closed_latency_ms if pending else topology.latency_ms
    if paced and rate > topology.offered:
        rate, wait = topology.offered, topology.latency_ms
    each = seen.flows.inter_node_bytes / topology.offered if topology.offered else None
    return rate, each, wait, "" if topology.bottleneck is None else str(topology.bottleneck)


def _ratio(this: float | None, that: float | None) -> float | None:
    if this is None or not that or not np.isfinite(this) or not np.isfinite(that):
        return None
    return this / that


def _measured(result: ExperimentResult, case: str, scheduler: str, measure: str) -> float | None:
    this, that = (spread(result, case, s, measure) for s in (scheduler, BASELINE))
    return None if this is None or that is None else _ratio(this.median, that.median)
