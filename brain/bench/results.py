"""What is written of an experiment: one JSON file each, ``benchmarks/results/bench/<name>.json``.

The file is replaced after every finished run, so an interrupt loses at most the run under way.
Rates are per second, sizes in bytes, times in seconds unless the name says ``_ms``. A measure that
could not be taken is ``null``: it is never 0 by default.

::

    {"format": 1,
     "experiment": {Experiment.to_json()},   # the declaration, whole
     "file": "benchmarks/experiments/payload.yaml",
     "digest": "…",                          # of the declaration; others are not resumed
     "quick": false,                         # shortened by --quick: not to be quoted
     "machine": {"cores", "memory_mb", "kernel", "python", "java", "storm", "commit"},
     "testbed": {"mode": "netns" | "loopback", "cannot_measure": ["why …"]},
     "command": "stormbrain bench run …",
     "runs": [Run.to_json(), …]}             # in the order in which they were made

The declaration has ``cases`` (points of a sweep, or one case named ``base``), ``schedulers`` and
``repeats``; a run is one (case, scheduler, repeat). ``summary.py`` condenses runs to medians,
spread, ratios and tests; the report is rendered from both.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from brain.errors import BadInput

FORMAT = 1
RESULTS_DIR = Path("benchmarks/results/bench")


class RunStatus(StrEnum):
    VALID = "valid"
    INVALID = "invalid"
    """It ran, but lost tuples or restarted by itself: shown, not averaged in."""
    FAILED = "failed"
    """It did not get to its end."""


@dataclass(frozen=True)
class Point:
    """One step of the time line of a run, from its submission on, re-placement included."""

    t: float
    """Seconds since the topology was submitted: the end of the step."""
    throughput: float
    """Tuples a second, as the experiment's ``throughput`` says."""
    latency_ms: float | None
    bytes: float | None
    """Bytes a second between nodes on the wire; ``null`` on loopback."""


@dataclass(frozen=True)
class NodeUse:
    """One node in the measured window."""

    sent_bytes: float | None
    """Bytes a second out of the node's interface, all traffic; ``null`` on loopback."""
    received_bytes: float | None
    cpu_points: float
    """CPU of the topology's executors there, 100 a core, Python subprocesses included."""
    executors: int
    workers: int


@dataclass(frozen=True)
class Graph:
    """Who talked to whom in the measured window, and where: input for the simulation."""

    executors: tuple[tuple[int, int, str, float, str, int], ...]
    """[first task, last task, component, CPU points, node, port]; ackers included."""
    edges: tuple[tuple[int, int, float, float, bool], ...]
    """[first task of source, of target, tuples/s, bytes/s by the hook, is Storm's own (acks)]."""


@dataclass(frozen=True)
class Replacement:
    """What the brain decided, for schedulers that re-place a running topology once."""

    outcome: str
    """``move``, ``stay`` or ``failed``, as in the brain's decision log."""
    reason: str
    algorithm: str
    """Which algorithm made the plan; for auto the winning member is in the reason."""
    decided_secs: float
    """After submission."""
    applied_secs: float | None
    """After submission: all tasks worked in their new places."""
    plan_secs: float
    """How long the computation took."""
    moved_executors: int
    restarted_workers: int
    predicted_before: float | None
    """Inter-node cost by the brain's model, before and after."""
    predicted_after: float | None


@dataclass(frozen=True)
class Run:
    """One topology under one scheduler."""

    case: str
    scheduler: str
    """The label in the declaration: ``default``, ``ras``, ``metis``, ``ischeduler-0``, …"""
    repeat: int
    """From 0."""
    status: RunStatus
    reasons: tuple[str, ...]
    """Why the run is not valid, or what else is to be known of it."""
    started: str
    """ISO 8601, UTC."""
    topology_id: str
    seconds: float
    """Length of the measured window, after the cut of its first and last parts."""
    throughput: float
    """Tuples a second over the window: acked by spouts, or executed by a component."""
    latency_ms: float | None
    """Mean complete latency over the window, weighted by tuples; ``null`` without acking
    (then ``latency_p50_ms`` may come from the topology's own histograms)."""
    latency_p50_ms: float | None
    latency_p99_ms: float | None
    wire_bytes: float | None
    """Bytes a second between nodes, from their interfaces, headers and acks included, traffic with
    ZooKeeper, Nimbus, brain and Redis excluded; ``null`` on loopback."""
    control_bytes: float | None
    """Bytes a second between nodes and ZooKeeper, Nimbus, brain, Redis, both ways."""
    hook_tuples: float
    """Tuples a second between nodes, own streams only, by the hook."""
    hook_bytes: float
    """Payload bytes a second between nodes, own streams only, by the hook."""
    system_tuples: float
    """Acks a second between nodes, by the hook."""
    all_tuples: float
    """Tuples a second of own streams, within nodes too."""
    failed_tuples: int
    """Failed at spouts within the window."""
    nodes: Mapping[str, NodeUse]
    workers: int
    replacement: Replacement | None
    series: tuple[Point, ...]
    graph: Graph | None
    others_cpu_points: float | None = None
    """CPU of this machine in the window that was not the nodes', 100 a core: ZooKeeper, Nimbus,
    brain, Redis, and whatever else ran and disturbed; ``null`` where nodes are not accounted."""

    @property
    def key(self) -> tuple[str, str, int]:
        return self.case, self.scheduler, self.repeat

    @property
    def wire_bytes_per_tuple(self) -> float | None:
        if self.wire_bytes is None or not self.throughput:
            return None
        return self.wire_bytes / self.throughput

    @property
    def cpu_rsd(self) -> float | None:
        """Relative standard deviation of the nodes' CPU: 0 is balanced."""
        return _rsd([node.cpu_points for node in self.nodes.values()])

    @property
    def bandwidth_rsd(self) -> float | None:
        """Relative standard deviation of what nodes sent and received together."""
        both = [
            node.sent_bytes + node.received_bytes
            for node in self.nodes.values()
            if node.sent_bytes is not None and node.received_bytes is not None
        ]
        return _rsd(both) if len(both) == len(self.nodes) else None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Run:
        graph, moved = raw["graph"], raw["replacement"]
        return cls(
            **{
                **raw,
                "status": RunStatus(raw["status"]),
                "reasons": tuple(raw["reasons"]),
                "nodes": {node: NodeUse(**use) for node, use in raw["nodes"].items()},
                "replacement": None if moved is None else Replacement(**moved),
                "series": tuple(Point(**point) for point in raw["series"]),
                "graph": None
                if graph is None
                else Graph(
                    tuple(tuple(e) for e in graph["executors"]),
                    tuple(tuple(e) for e in graph["edges"]),
                ),
            }
        )


def _rsd(values: Sequence[float]) -> float | None:
    mean = statistics.fmean(values) if values else 0.0
    return statistics.pstdev(values) / mean if mean else None


@dataclass(frozen=True)
class ExperimentResult:
    experiment: Mapping[str, Any]
    """The declaration as read (see ``brain/bench/experiment.py``): name, title, paper, topology,
    cluster, schedulers, cases, repeats, timing, measures, goals."""
    file: str
    digest: str
    quick: bool
    machine: Mapping[str, Any]
    testbed: Mapping[str, Any]
    command: str
    runs: tuple[Run, ...] = field(default=())

    @property
    def name(self) -> str:
        return str(self.experiment["name"])

    def valid(self, case: str, scheduler: str) -> list[Run]:
        return [
            run
            for run in self.runs
            if (run.case, run.scheduler) == (case, scheduler) and run.status is RunStatus.VALID
        ]

    def cases(self) -> list[str]:
        """In the order of the declaration, only those that were run."""
        return _ordered(self.experiment["cases"], [run.case for run in self.runs])

    def schedulers(self) -> list[str]:
        return _ordered(self.experiment["schedulers"], [run.scheduler for run in self.runs])

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "experiment": dict(self.experiment),
            "file": self.file,
            "digest": self.digest,
            "quick": self.quick,
            "machine": dict(self.machine),
            "testbed": dict(self.testbed),
            "command": self.command,
            "runs": [run.to_json() for run in self.runs],
        }

    def save(self, directory: Path = RESULTS_DIR) -> Path:
        """Replaces the file in one step."""
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"{self.name}.json"
        aside = path.with_suffix(".new")
        text = _with_runs_on_lines(self.to_json())
        with aside.open("w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        aside.replace(path)
        return path


def _ordered(declared: Sequence[Mapping[str, Any]], seen: Sequence[str]) -> list[str]:
    names = [str(one["name"]) for one in declared]
    return [name for name in names if name in seen]


def _with_runs_on_lines(raw: dict[str, Any]) -> str:
    """Readable above, one line a run below: a diff shows which runs are new."""
    runs = ",\n".join("  " + json.dumps(run, separators=(",", ":")) for run in raw["runs"])
    head = json.dumps({**raw, "runs": []}, indent=1)
    return head.replace('"runs": []', f'"runs": [\n{runs}\n ]' if runs else '"runs": []') + "\n"


def load_result(path: Path) -> ExperimentResult:
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        if raw["format"] != FORMAT:
            raise BadInput(str(path), f"has format {raw['format']}, this reads {FORMAT}")
        return ExperimentResult(
            experiment=raw["experiment"],
            file=raw["file"],
            digest=raw["digest"],
            quick=raw["quick"],
            machine=raw["machine"],
            testbed=raw["testbed"],
            command=raw["command"],
            runs=tuple(Run.from_json(run) for run in raw["runs"]),
        )
    except FileNotFoundError:
        raise BadInput(
            str(path), "there is no such result", "run it: stormbrain bench run"
        ) from None
    except (ValueError, KeyError, TypeError) as e:
        raise BadInput(str(path), f"is not a result of stormbrain bench: {e}") from e


def load_results(directory: Path = RESULTS_DIR) -> list[ExperimentResult]:
    """All experiments on record, by name."""
    return [load_result(path) for path in sorted(directory.glob("*.json"))]
