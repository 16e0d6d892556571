"""The graph of the last minute, kept current window by window. No I/O, no clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

DEFAULT_HORIZON_MS = 60_000
MAX_PENDING = 10_000
"""Windows whose last line has not been seen: more than so many are not waited for."""

Row = Mapping[str, Any]
Key = tuple[str, str, str, int]


@dataclass
class LiveWindow:
    """One window of one worker; ``last`` is its ``window`` line, without which it is not whole."""

    topology: str
    node: str
    worker: str
    seq: int
    start: int
    end: int
    edges: list[Row] = field(default_factory=list)
    tasks: list[Row] = field(default_factory=list)
    last: Row | None = None
    machine: Row | None = None
    """The ``node`` line of this window, in the one worker of a node that writes them."""
    appended_ms: int = 0

    @property
    def key(self) -> Key:
        return (self.topology, self.node, self.worker, self.seq)


class LiveGraph:
    """Windows in, the current graph out. A window that comes twice counts once."""

    def __init__(self, horizon_ms: int = DEFAULT_HORIZON_MS) -> None:
        self.horizon_ms = horizon_ms
        self._windows: dict[Key, LiveWindow] = {}
        self._pending: dict[Key, LiveWindow] = {}
        self._machines: dict[str, Row] = {}
        self.corrupt = 0

    def add(self, rows: Iterable[Row]) -> list[LiveWindow]:
        """Takes lines in any order; the windows that became whole by them, oldest first."""
        touched: dict[Key, LiveWindow] = {}
        for row in rows:
            kind = row["kind"]
            if kind == "corrupt":
                self.corrupt += 1
                continue
            if kind == "node":
                self._machines[row["node"]] = row
                if not row["topology"]:
                    continue  # an agent's: it belongs to no worker's window
            key = (row["topology"], row["node"], row["worker"], row["seq"])
            if key in self._windows:
                continue
            window = self._pending.get(key)
            if window is None:
                window = LiveWindow(*key, start=row["start"], end=row["end"])
                self._pending[key] = window
            touched[key] = window
            window.appended_ms = max(window.appended_ms, row["appended_ms"])
            if kind == "edge":
                window.edges.append(row)
            elif kind == "task":
                window.tasks.append(row)
            elif kind == "node":
                window.machine = row
            else:
                window.last = row
        whole = sorted((w for w in touched.values() if w.last is not None), key=lambda w: w.end)
        for w in whole:
            del self._pending[w.key]
            self._windows[w.key] = w
        self._forget()
        return whole

    def _forget(self) -> None:
        newest: dict[str, int] = {}
        for w in self._windows.values():
            newest[w.topology] = max(newest.get(w.topology, 0), w.end)
        self._windows = {
            k: w for k, w in self._windows.items() if w.end > newest[w.topology] - self.horizon_ms
        }
        while len(self._pending) > MAX_PENDING:
            del self._pending[next(iter(self._pending))]

    def snapshot(self) -> dict[str, Any]:
        """The current graph as a JSON document: topologies with edges and tasks, and nodes."""
        by_topology: dict[str, list[LiveWindow]] = {}
        for w in sorted(self._windows.values(), key=lambda w: (w.end, w.key)):
            by_topology.setdefault(w.topology, []).append(w)
        topologies = {t: _topology(own) for t, own in sorted(by_topology.items())}
        return {"topologies": topologies, "nodes": self._nodes(topologies)}

    def _nodes(self, topologies: Mapping[str, Any]) -> dict[str, Any]:
        nodes: dict[str, dict[str, Any]] = {}

        def of(node: str) -> dict[str, Any]:
            empty = {"task_cpu": 0.0, "in_bytes_per_s": 0.0, "out_bytes_per_s": 0.0}
            return nodes.setdefault(node, empty)

        for topology in topologies.values():
            placed = {t["task"]: t for t in topology["tasks"]}
            for t in topology["tasks"]:
                of(t["node"])["task_cpu"] += t["cpu"]
            for e in topology["edges"]:
                if e["reach"] == "inter-node":
                    of(placed[e["source"]]["node"])["out_bytes_per_s"] += e["bytes_per_s"]
                    of(placed[e["target"]]["node"])["in_bytes_per_s"] += e["bytes_per_s"]
        for node, row in self._machines.items():
            seconds = max(1, row["end"] - row["start"]) / 1000
            of(node)["cpu_percent"] = row["cpu_percent"]
            for name in ("rx_bytes", "tx_bytes"):
                if row[name] is not None:
                    of(node)[f"{name}_per_s"] = row[name] / seconds
        return dict(sorted(nodes.items()))


def _topology(windows: list[LiveWindow]) -> dict[str, Any]:
    """``windows`` oldest first: the last to speak of a task says where it is."""
    observed: dict[int, int] = {}
    cpu: dict[int, float] = {}
    place: dict[int, dict[str, Any]] = {}
    sums: dict[tuple[int, int, bool], list[int]] = {}
    for w in windows:
        assert w.last is not None
        span = max(1, w.end - w.start)
        for t in w.tasks:
            task = t["task"]
            observed[task] = observed.get(task, 0) + span
            used = (t["cpu_ms"] or 0.0) + (t["shell_cpu_ms"] or 0.0)
            cpu[task] = cpu.get(task, 0.0) + used
            place[task] = {
                "task": task,
                "component": t["component"],
                "executor": t["executor"],
                "node": w.node,
                "port": w.last["port"],
                "worker": w.worker,
            }
        for e in w.edges:
            total = sums.setdefault((e["source"], e["target"], bool(e["system"])), [0, 0])
            total[0] += e["tuples"]
            total[1] += e["bytes"]
    tasks = [{**p, "cpu": cpu[t] * 100.0 / observed[t]} for t, p in sorted(place.items())]
    edges = []
    for (source, target, system), (tuples, size) in sorted(sums.items()):
        if target not in observed:
            continue
        seconds = observed[target] / 1000
        edges.append(
            {
                "source": source,
                "target": target,
                "system": system,
                "tuples_per_s": tuples / seconds,
                "bytes_per_s": size / seconds,
                "reach": _reach(place.get(source), place[target], source),
            }
        )
    return {"end_ms": windows[-1].end, "windows": len(windows), "tasks": tasks, "edges": edges}


def _reach(source: Mapping[str, Any] | None, target: Mapping[str, Any], task: int) -> str:
    if task < 0:
        return "local"
    if source is None:
        return "unknown"
    if source["node"] != target["node"]:
        return "inter-node"
    return "local" if source["worker"] == target["worker"] else "inter-worker"
