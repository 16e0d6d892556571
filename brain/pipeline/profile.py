"""Reads a graph that the pipeline wrote, without Spark: what the brain knows of a topology's past.

Task ids are dealt out anew when a topology is submitted again, so a profile speaks of components,
and of the i-th task of a component where the parallelism is still the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from brain.errors import BadInput
from brain.pipeline.graph_schema import GRAPH_TABLES

DEFAULT_LAST = 10
_ARROW = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "int": pa.int32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
}


@dataclass(frozen=True)
class TaskProfile:
    task: int
    component: str
    executor: str
    cpu: float
    """RAS points while it ran."""
    node: str
    port: int
    """Where it was heard of last."""


@dataclass(frozen=True)
class Rate:
    """Traffic from a source to a target: components (summed over their tasks) or tasks."""

    source: str | int
    target: str | int
    tuples_per_s: float
    bytes_per_s: float
    system: bool = False


@dataclass(frozen=True)
class NodeProfile:
    node: str
    ports: tuple[int, ...]
    cpu_capacity: float | None
    memory_mb: float | None


@dataclass(frozen=True)
class Profile:
    topology_id: str
    name: str
    slice_ms: int
    slices: int
    tasks: tuple[TaskProfile, ...]
    component_rates: tuple[Rate, ...]
    task_rates: tuple[Rate, ...]
    nodes: tuple[NodeProfile, ...]

    def tasks_of(self) -> dict[str, list[int]]:
        """The task ids of each component, in order."""
        found: dict[str, list[int]] = {}
        for t in self.tasks:
            found.setdefault(t.component, []).append(t.task)
        return {c: sorted(ids) for c, ids in found.items()}

    def expected(self, components: Mapping[str, Sequence[int]]) -> list[Rate]:
        """The traffic to expect of a new submission with these task ids per component.

        Where both ends of a stream have as many tasks as before, task i behaves as task i did;
        else the stream's rate is spread evenly. Components that the profile has never seen get
        no edges.
        """
        before = self.tasks_of()
        renamed: dict[int, int] = {}
        for component, new in components.items():
            old = before.get(component, [])
            if len(old) == len(new):
                renamed.update(zip(old, sorted(new), strict=True))
        of = {t.task: t.component for t in self.tasks}
        rates = [
            Rate(renamed[r.source], renamed[r.target], r.tuples_per_s, r.bytes_per_s, r.system)
            for r in self.task_rates
            if isinstance(r.source, int)
            and isinstance(r.target, int)
            and r.source in renamed
            and r.target in renamed
        ]
        same = {of[t] for t in renamed}
        for r in self.component_rates:
            ends = (str(r.source), str(r.target))
            if all(e in same for e in ends) or not all(components.get(e) for e in ends):
                continue
            sources, targets = (components[e] for e in ends)
            share = 1.0 / (len(sources) * len(targets))
            rates += [
                Rate(a, b, r.tuples_per_s * share, r.bytes_per_s * share, r.system)
                for a in sources
                for b in targets
            ]
        return rates


def topology_name(topology_id: str) -> str:
    """Storm's id is the name, a number and the time of submission: ``name-3-1790000000``."""
    return re.sub(r"-\d+-\d+$", "", topology_id)


def profiled_topologies(path: str) -> list[str]:
    """The ids of the topologies that a graph directory knows, oldest submission first."""
    fs, root = _open(path)
    found = fs.get_file_info(pafs.FileSelector(f"{root}/tasks", allow_not_found=True))
    ids = [f.base_name.removeprefix("topology=") for f in found if "topology=" in f.base_name]
    return sorted(ids, key=_submitted)


def load_profile(path: str, topology: str, last: int | None = DEFAULT_LAST) -> Profile:
    """The profile of a topology, by id or by name (then its latest submission).

    ``last`` is how many of its last slices are averaged; None takes all.
    """
    fs, root = _open(path)
    known = profiled_topologies(path)
    ids = [i for i in known if i == topology] or [i for i in known if topology_name(i) == topology]
    if not ids:
        raise BadInput(path, f"has no profile of {topology}; it knows {', '.join(known) or 'none'}")
    chosen = ids[-1]
    with fs.open_input_stream(f"{root}/graph.json") as f:
        meta: dict[str, Any] = json.loads(f.read())
    tasks = _table(fs, f"{root}/tasks/topology={chosen}", "tasks")
    edges = _table(fs, f"{root}/edges/topology={chosen}", "edges")
    slices = sorted(set(tasks.column("slice").to_pylist()))
    if last is not None:
        slices = slices[-last:]
    wanted = pa.array(slices, pa.int64())
    tasks = tasks.filter(pc.is_in(tasks.column("slice"), wanted))
    edges = edges.filter(pc.is_in(edges.column("slice"), wanted))
    profiles, observed = _task_profiles(tasks)
    task_rates, component_rates = _rates(edges, observed, {t.task: t.component for t in profiles})
    return Profile(
        topology_id=chosen,
        name=topology_name(chosen),
        slice_ms=int(meta["slice_ms"]),
        slices=len(slices),
        tasks=tuple(profiles),
        component_rates=tuple(component_rates),
        task_rates=tuple(task_rates),
        nodes=tuple(_nodes(_table(fs, f"{root}/nodes", "nodes"), tasks)),
    )


def _open(path: str) -> tuple[pafs.FileSystem, str]:
    try:
        if "://" in path or path.startswith("file:"):
            fs, root = pafs.FileSystem.from_uri(re.sub("^s3a:", "s3:", path))
        else:
            fs, root = pafs.LocalFileSystem(), path
        kind = fs.get_file_info(f"{root}/graph.json").type
    except (pa.ArrowInvalid, OSError) as e:
        raise BadInput(path, f"cannot be opened: {e}") from e
    if kind != pafs.FileType.File:
        raise BadInput(
            path, "is no graph directory", "write one with: stormbrain pipeline graph STORE OUT"
        )
    return fs, root.rstrip("/")


def _submitted(topology_id: str) -> tuple[int, str]:
    match = re.search(r"-(\d+)$", topology_id)
    return (int(match.group(1)) if match else 0, topology_id)


def _table(fs: pafs.FileSystem, path: str, table: str) -> pa.Table:
    """Without rows where there are no files: tasks that say nothing have no edges."""
    selector = pafs.FileSelector(path, recursive=True, allow_not_found=True)
    files = sorted(f.path for f in fs.get_file_info(selector) if f.path.endswith(".parquet"))
    if not files:
        kinds = {name: _ARROW[kind] for name, (kind, _) in GRAPH_TABLES[table].items()}
        return pa.schema(kinds).empty_table()
    return pa.concat_tables([pq.read_table(fs.open_input_file(f)) for f in files])


def _task_profiles(tasks: pa.Table) -> tuple[list[TaskProfile], dict[int, int]]:
    """The tasks, and for how many ms each was heard of."""
    observed: dict[int, int] = {}
    cpu: dict[int, float] = {}
    latest: dict[int, dict[str, Any]] = {}
    for row in tasks.sort_by([("slice", "ascending"), ("worker", "ascending")]).to_pylist():
        task = row["task"]
        observed[task] = observed.get(task, 0) + row["observed_ms"]
        cpu[task] = cpu.get(task, 0.0) + row["cpu_ms"]
        latest[task] = row
    return [
        TaskProfile(
            task,
            row["component"],
            row["executor"],
            cpu[task] * 100.0 / observed[task],
            row["node"],
            row["port"],
        )
        for task, row in sorted(latest.items())
    ], observed


def _rates(
    edges: pa.Table, observed: Mapping[int, int], component_of: Mapping[int, str]
) -> tuple[list[Rate], list[Rate]]:
    keys = ["source", "target", "system"]
    summed = edges.group_by(keys).aggregate([("tuples", "sum"), ("bytes", "sum")])
    by_task: list[Rate] = []
    by_component: dict[tuple[str, str, bool], np.ndarray] = {}
    for row in summed.sort_by([(k, "ascending") for k in keys]).to_pylist():
        source, target = row["source"], row["target"]
        if source not in component_of or target not in component_of:
            continue
        seconds = observed[target] / 1000
        rate = Rate(
            source,
            target,
            row["tuples_sum"] / seconds,
            row["bytes_sum"] / seconds,
            row["system"],
        )
        by_task.append(rate)
        key = (component_of[source], component_of[target], rate.system)
        amounts = np.array([rate.tuples_per_s, rate.bytes_per_s])
        by_component[key] = by_component.get(key, np.zeros(2)) + amounts
    totals = [
        Rate(a, b, float(v[0]), float(v[1]), system)
        for (a, b, system), v in sorted(by_component.items())
    ]
    return by_task, totals


def _nodes(nodes: pa.Table, tasks: pa.Table) -> list[NodeProfile]:
    ports: dict[str, set[int]] = {}
    for node, port in zip(
        tasks.column("node").to_pylist(), tasks.column("port").to_pylist(), strict=True
    ):
        ports.setdefault(node, set()).add(port)
    machine: dict[str, dict[str, Any]] = {}
    for row in nodes.select(["slice", "node", "cores", "memory_mb"]).to_pylist():
        if row["cores"] is not None:
            machine[row["node"]] = row
    return [
        NodeProfile(
            node,
            tuple(sorted(ports.get(node, ()))),
            machine[node]["cores"] * 100.0 if node in machine else None,
            machine[node]["memory_mb"] if node in machine else None,
        )
        for node in sorted(set(ports) | set(machine))
    ]
