"""One case: placed by Storm's default and measured, then handed to the agents, stressed, measured.

The same run of the same topology: what changes is that agents come up. Before they do, nobody
answers Nimbus and Storm's own even scheduler places (pinned ends on their nodes, as in the paper).
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.qos_parts.agents import (
    AgentFleet,
    Pace,
    Seen,
    look,
    vivaldi_errors,
    zookeeper_of,
)
from benchmarks.qos_parts.cases import PINS, Case
from brain.bench.experiment import Subject
from brain.bench.histograms import histogram_between, read_histogram
from brain.bench.submitting import submit
from brain.cluster.processes import ProcessRef
from brain.demo.measure import measure
from brain.demo.metric_log import LogTail, Window
from brain.errors import StormbrainError
from brain.submit.submission import wait_until_gone
from brain.testbed import Testbed

UP_SECS = 180.0
WINDOW_SECS = 2


@dataclass
class Plan:
    """Seconds of each phase."""

    settle: float = 8.0
    measure: float = 40.0
    quiet_rounds: int = 7
    """Rounds without a decision after which the agents have settled."""
    longest_wait: float = 120.0
    cpu_points: float = 40.0
    pace: Pace = field(default_factory=Pace)


@dataclass
class _Run:
    bed: Testbed
    case: Case
    plan: Plan
    tell: Callable[[str], None]
    topology_id: str = ""
    results: Any = None
    windows: list[Window] = field(default_factory=list)
    tail: LogTail | None = None

    def read(self) -> None:
        assert self.tail is not None
        self.windows.extend(self.tail.read())

    def latest(self) -> dict[int, tuple[int, str]]:
        """Task → when and where it was last heard of, by the windows."""
        self.read()
        latest: dict[int, tuple[int, str]] = {}
        for w in self.windows:
            for t in w.tasks:
                if w.end_ms >= latest.get(t["task"], (0, ""))[0]:
                    latest[t["task"]] = (w.end_ms, w.node)
        return latest

    def placement(self) -> dict[int, str]:
        """Task → node."""
        return {task: node for task, (_, node) in sorted(self.latest().items())}

    def works_in_place(self, slots: dict[str, str]) -> bool:
        """Whether every task works where Nimbus has put it: workers that start are not measured."""
        since = int(time.time() * 1000) - 4000 * WINDOW_SECS
        latest = self.latest()
        for executor, slot in slots.items():
            first, _, last = executor.partition("-")
            for task in range(int(first), int(last) + 1):
                end_ms, node = latest.get(task, (0, ""))
                if end_ms < since or node != slot.rpartition(":")[0]:
                    return False
        return True

    def phase(self, name: str) -> dict[str, Any]:
        """Measures for a while; nothing is to move meanwhile."""
        placed = self.placement()
        before = read_histogram(self.results, self.case.latency_of)
        wire = self.bed.traffic()
        since = int(time.time() * 1000)
        time.sleep(self.plan.measure)
        until = int(time.time() * 1000)
        wire_after = self.bed.traffic()
        latency = histogram_between(before, read_histogram(self.results, self.case.latency_of))
        time.sleep(2.0 * WINDOW_SECS)
        self.read()
        found = measure(self.windows, since, until, "source")
        row: dict[str, Any] = {
            "latency_ms": latency.mean_ms if latency and latency.count else None,
            "latency_p95_ms": latency.quantile_ms(0.95) if latency and latency.count else None,
            "tuples_at_consumer": latency.count if latency else 0,
            "hook_tuples": found.inter_node_tuples,
            "hook_bytes": found.inter_node_bytes,
            "local_share": found.local_share,
            "nodes": found.nodes,
            "workers": found.workers,
            "placement": Counter(self.placement().values()),
            "moved_meanwhile": sum(self.placement().get(t) != node for t, node in placed.items()),
            "load_average": os.getloadavg()[0],
        }
        if wire is not None and wire_after is not None:
            row["wire_bytes"] = (wire_after.between_nodes - wire.between_nodes) / self.plan.measure
        said = "none" if row["latency_ms"] is None else f"{row['latency_ms']:.1f} ms"
        self.tell(f"{name}: latency {said}, {found.inter_node_bytes:.0f} B/s between nodes")
        return row


def run_case(bed: Testbed, case: Case, plan: Plan, tell: Callable[[str], None]) -> dict[str, Any]:
    run = _Run(bed, case, plan, tell)
    name = f"{Path(case.file).stem.replace('_', '-')}-{int(time.time())}"
    run.results = bed.cluster.state_dir / "results" / name
    conf = {
        "topology.brain.algorithm": "qos-distributed",
        "topology.brain.window.secs": WINDOW_SECS,
    }
    subject = Subject(case.file, None, {**case.options, **PINS}, case.workers, {})
    begin = time.monotonic()
    run.topology_id = submit(bed.cluster, subject, conf, name, run.results)
    run.tail = LogTail(bed.cluster.metrics_dir / run.topology_id)
    fleet = AgentFleet(bed, plan.pace, case.coordinated, plan.cpu_points)
    try:
        return {"case": case.name, **_phases(run, fleet), "seconds": time.monotonic() - begin}
    finally:
        _clear(bed, name)


def _phases(run: _Run, fleet: AgentFleet) -> dict[str, Any]:
    plan, tell = run.plan, run.tell
    _wait(lambda: _consumed(run), UP_SECS, "tuples at the consumer")
    time.sleep(plan.settle)
    tell(f"tuples flow; default placement {dict(Counter(run.placement().values()))}")
    found: dict[str, Any] = {"default calm": run.phase("default")}
    if run.case.stress_default:
        stress = _stress(run)
        time.sleep(plan.settle)
        found["default stressed"] = run.phase("default, stressed")
        _end(stress)
        time.sleep(plan.settle)
    started = time.monotonic()
    fleet.start()
    try:
        first = _settled(run, started)
        found["agents calm"] = run.phase("agents")
        found["vivaldi"] = vivaldi_errors(run.bed)
        found["moves"] = {"start": first}
        if run.case.stress:
            stress = _stress(run)
            found["moves"]["stress"] = _settled(run, time.monotonic())
            found["agents stressed"] = run.phase("agents, stressed")
            _end(stress)
    finally:
        found["agents"] = fleet.stop()
    return found


def _consumed(run: _Run) -> bool:
    run.read()
    histogram = read_histogram(run.results, run.case.latency_of)
    return histogram is not None and histogram.count > 5


def _settled(run: _Run, since: float) -> dict[str, Any]:
    """Waits until agents have been quiet for some rounds; how many moves, and how long it took.

    Decisions are what agents wrote, moves what Nimbus then did: of several decisions from one
    assignment only one can come true.
    """
    quiet = run.plan.quiet_rounds * run.plan.pace.round_secs
    changed = since
    reasons: dict[str, str] = {}
    changes = moved = 0
    with zookeeper_of(run.bed) as client:
        last = look(client, run.topology_id)
        while time.monotonic() - max(changed, since) < quiet:
            if time.monotonic() - since > run.plan.longest_wait:
                break
            time.sleep(1.0)
            seen = look(client, run.topology_id)
            new = {i: why for i, why in seen.decisions.items() if i not in last.decisions}
            here = [e for e, slot in seen.slots.items() if last.slots.get(e, slot) != slot]
            for why in new.values():
                run.tell(f"decision: {why}")
            if new or here:
                changed = time.monotonic()
            reasons |= new
            changes += bool(here)
            moved += len(here)
            last = Seen(last.decisions | seen.decisions, seen.slots or last.slots)
    settled = time.monotonic() - changed >= quiet
    _wait(lambda: run.works_in_place(last.slots), UP_SECS, "every task to work in its place")
    time.sleep(2.0 * WINDOW_SECS)
    return {
        "decisions": len(reasons),
        "assignments": changes,
        "executors_moved": moved,
        "secs_to_settle": round(changed - since, 1),
        "settled": settled,
        "reasons": list(reasons.values()),
    }


def _stress(run: _Run) -> list[ProcessRef]:
    """Load on the node with most unpinned executors, and on two that run nothing, if there are."""
    addresses = run.bed.addresses
    counts = Counter(run.placement().values())
    pinned = set(PINS.values())
    busy = [n for n, _ in counts.most_common() if n not in pinned] or [
        n for n, _ in counts.most_common()
    ]
    idle = [n for n in addresses if n not in counts]
    free = [n for n in addresses if n not in pinned]
    chosen = list(dict.fromkeys([busy[0], *idle, *free]))[:3]
    run.tell(f"stress on {', '.join(chosen)}")
    burn = [sys.executable, "-c", "while True: pass"]
    return [run.bed.run(node, burn) for node in chosen]


def _end(processes: list[ProcessRef]) -> None:
    for process in processes:
        process.signal(signal.SIGKILL)


def _wait(condition: Callable[[], bool], seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise StormbrainError(f"waited {seconds:g} s in vain for {what}")
        time.sleep(1.0)


def _clear(bed: Testbed, name: str) -> None:
    cluster = bed.cluster
    with cluster.nimbus() as nimbus:
        if any(t.name == name for t in nimbus.cluster().topologies):
            nimbus.kill(name, wait_secs=0)
            wait_until_gone(nimbus, name)
    deadline = time.monotonic() + 60
    while cluster.workers() and time.monotonic() < deadline:
        time.sleep(0.5)
