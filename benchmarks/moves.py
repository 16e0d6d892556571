"""How soon a change of load is answered by a new placement, and what a move costs in silence.

``make bench-moves`` → benchmarks/results/moves.json, docs/moves.md. One run, one topology
(topologies/counted.py, Python, acked): first under a brain, which re-places it when its lines
cross otherwise; then on stock Storm, moved by `storm rebalance`. Downtime is the longest silence
at the sinks, by the time that each tuple was written there.
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from kazoo.client import KazooClient
from rich.console import Console

from brain.cluster.local import LocalCluster
from brain.demo.run import brain_process
from brain.plans.store import PlanStore
from brain.submit.submission import Submitter
from topologies.counted import Tally

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "moves.json"
PAGE = ROOT / "docs" / "moves.md"
TOPOLOGY = ROOT / "topologies" / "counted.py"
RATE = 50
TIMEOUT_SECS = 15
CONF: dict[str, int | bool] = {
    "nimbus.monitor.freq.secs": 3,
    "topology.brain.window.secs": 1,
    "topology.brain.observe.secs": 10,
    "topology.brain.first.replacement.secs": 10,
    "topology.brain.period.secs": 5,
    "topology.brain.cooldown.secs": 20,
    "topology.brain.learn": False,
}
console = Console(stderr=True)


@dataclass(frozen=True)
class Silence:
    """The longest time without a tuple: at all sinks together, and of the worst line."""

    all_secs: float
    line_secs: float


@dataclass(frozen=True)
class Workers:
    """The worker processes of a topology, and what each slot was given."""

    pids: frozenset[int]
    slots: dict[tuple[str, int], frozenset[tuple[int, int]]]

    @classmethod
    def of(cls, cluster: LocalCluster, topology_id: str) -> Workers:
        with cluster.nimbus() as nimbus:
            placed = nimbus.topology(topology_id).assignment
        slots: dict[tuple[str, int], set[tuple[int, int]]] = {}
        for executor, slot in placed.items():
            slots.setdefault(slot, set()).add(executor)
        pids = {w.pid for w in cluster.workers() if topology_id in w.command_line()}
        return cls(frozenset(pids), {slot: frozenset(own) for slot, own in slots.items()})

    def replaced(self, cluster: LocalCluster, topology_id: str) -> float | None:
        """The time, if every worker whose executors changed has ended and all that there should
        be run: until then tuples may still come from those that are about to end."""
        now = Workers.of(cluster, topology_id)
        changed = sum(now.slots.get(slot) != own for slot, own in self.slots.items())
        done = len(self.pids - now.pids) >= changed and len(now.pids) == len(now.slots)
        return time.time() * 1000 if done else None


class Watch:
    """What arrived when, by line."""

    def __init__(self, folder: Path) -> None:
        self.tally = Tally(folder)
        self.times: dict[int, list[int]] = {}
        self._offsets: dict[Path, int] = {}

    def read(self) -> None:
        self.tally.read()
        for path in sorted(self.tally.directory.glob("sink-*.txt")):
            with path.open("rb") as file:
                file.seek(self._offsets.get(path, 0))
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    self._offsets[path] = self._offsets.get(path, 0) + len(line)
                    source, _, at_ms = map(int, line.split())
                    self.times.setdefault(source, []).append(at_ms)

    def flows_since(self, since_ms: float) -> bool:
        """Whether every line has brought ten tuples since then."""
        self.read()
        return len(self.times) > 0 and all(
            sum(t > since_ms for t in times[-400:]) >= 10 for times in self.times.values()
        )

    def silence(self, since_ms: float, until_ms: float) -> Silence:
        def longest(times: list[int]) -> float:
            inside = sorted(t for t in times if since_ms - 1000 <= t <= until_ms)
            return max((b - a for a, b in itertools.pairwise(inside)), default=0) / 1000

        together = [t for times in self.times.values() for t in times]
        return Silence(longest(together), max(map(longest, self.times.values())))


def main(
    changes: Annotated[int, typer.Option(help="Changes of load, each answered by a move.")] = 2,
    rebalances: Annotated[int, typer.Option(help="Rebalances of each kind.")] = 2,
) -> None:
    """Re-placements by the brain, then rebalances by Storm, of the same topology."""
    result: dict[str, Any] = {
        "cores": os.cpu_count(),
        "load_at_start": os.getloadavg()[0],
        "settings": CONF,
        "tuples_per_sec": 3 * RATE,
        "message_timeout_secs": TIMEOUT_SECS,
        "replacements": _under_a_brain(changes),
        "rebalances": _under_storm(rebalances),
    }
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    PAGE.write_text(_page(result), encoding="utf-8")
    console.print_json(json.dumps(result))


def _under_a_brain(changes: int) -> list[dict[str, Any]]:
    moves: list[dict[str, Any]] = []
    with (
        tempfile.TemporaryDirectory() as scratch,
        LocalCluster.start(f"moves-{os.getpid()}", nodes=3, slots=2, storm_conf=CONF) as cluster,
        brain_process(cluster, Path(scratch) / "brain.log", "--dashboard", "off"),
    ):
        client = KazooClient(hosts=cluster.zookeeper_address)
        client.start(timeout=15)
        store = PlanStore(client)
        watch = Watch(Path(scratch) / "counted")
        topology_id = _submit(cluster, watch)
        for number in range(changes + 1):
            if number:
                _until(lambda: _settled(store, cluster, topology_id), 240, "the last plan to rest")
                (watch.tally.directory / "weave").write_text(str(number))
            since, before = time.time() * 1000, Workers.of(cluster, topology_id)
            plan = _until(lambda s=since: _newer(store, topology_id, s), 240, "a plan")
            moved = _until(lambda p=plan: _assigned(cluster, topology_id, p), 60, "the assignment")
            fresh = _until(lambda b=before: b.replaced(cluster, topology_id), 60, "new workers")
            lost = watch.tally.emitted()
            flowing = _until(
                lambda m=fresh: watch.flows_since(m) and time.time() * 1000, 180, "tuples"
            )
            _until(lambda n=lost: watch.read() or not watch.tally.missing(n), 120, "all numbers")
            silence = watch.silence(plan.created_ms, time.time() * 1000)
            moves.append({
                "trigger": "first measured traffic" if number == 0 else "change of load",
                "load_change_to_plan_secs": round((plan.created_ms - since) / 1000, 1),
                "plan_to_assigned_secs": round((moved - plan.created_ms) / 1000, 1),
                "assigned_to_all_lines_flowing_secs": round((flowing - moved) / 1000, 1),
                "silence_all_secs": round(silence.all_secs, 2),
                "silence_line_secs": round(silence.line_secs, 2),
                "reason": plan.reason,
            })  # fmt: skip
            console.print(moves[-1])
        client.stop()
        client.close()
    return moves


def _under_storm(count: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    conf = {"nimbus.monitor.freq.secs": CONF["nimbus.monitor.freq.secs"]}
    with (
        tempfile.TemporaryDirectory() as scratch,
        LocalCluster.start(
            f"rebalance-{os.getpid()}", nodes=3, slots=2, storm_conf=conf, plugin=False
        ) as cluster,
    ):
        watch = Watch(Path(scratch) / "counted")
        topology_id = _submit(cluster, watch)
        workers = itertools.cycle((2, 3))
        for wait_secs in (None, 0):
            for _ in range(count):
                _until(lambda: watch.flows_since(time.time() * 1000 - 1000), 120, "tuples")
                wanted, since = next(workers), time.time() * 1000
                before = Workers.of(cluster, topology_id)
                with cluster.nimbus() as nimbus:
                    nimbus.rebalance("counted", wait_secs=wait_secs, workers=wanted)
                moved = _until(lambda w=wanted: _workers(cluster, topology_id, w), 180, "to move")
                fresh = _until(lambda b=before: b.replaced(cluster, topology_id), 60, "new workers")
                lost = watch.tally.emitted()
                _until(lambda m=fresh: watch.flows_since(m), 180, "tuples")
                _until(
                    lambda n=lost: watch.read() or not watch.tally.missing(n), 120, "all numbers"
                )
                silence = watch.silence(since, time.time() * 1000)
                rows.append({
                    "wait_secs": TIMEOUT_SECS if wait_secs is None else wait_secs,
                    "workers": wanted,
                    "asked_to_assigned_secs": round((moved - since) / 1000, 1),
                    "silence_all_secs": round(silence.all_secs, 2),
                    "silence_line_secs": round(silence.line_secs, 2),
                })  # fmt: skip
                console.print(rows[-1])
    return rows


def _submit(cluster: LocalCluster, watch: Watch) -> str:
    settings = [f"results_dir={watch.tally.directory}", f"rate={RATE}",
                f"timeout_seconds={TIMEOUT_SECS}"]  # fmt: skip
    with cluster.nimbus() as nimbus:
        topology_id = Submitter(nimbus).submit(TOPOLOGY, name="counted", settings=settings)
    _until(lambda: len(watch.times) == 3 or watch.read(), 180, "tuples of every line")
    return topology_id


def _newer(store: PlanStore, topology_id: str, since_ms: float) -> Any:
    stored = store.read(topology_id)
    return stored.plan if stored is not None and stored.plan.created_ms > since_ms else None


def _settled(store: PlanStore, cluster: LocalCluster, topology_id: str) -> bool:
    """The last plan is in force and its cooldown is over, so that the next one has its reason in
    what comes now. A second plan may follow a first that was made while traffic still rose."""
    stored = store.read(topology_id)
    rest_ms = 2 * CONF["topology.brain.cooldown.secs"] * 1000
    return (
        stored is not None
        and time.time() * 1000 - stored.plan.created_ms > rest_ms
        and _assigned(cluster, topology_id, stored.plan) is not None
    )


def _assigned(cluster: LocalCluster, topology_id: str, plan: Any) -> float | None:
    ids = {node.host: node.id for node in cluster.supervisors}
    with cluster.nimbus() as nimbus:
        placed = nimbus.topology(topology_id).assignment
    now = {executor: (ids[host], port) for executor, (host, port) in placed.items()}
    return time.time() * 1000 if now == plan.executors else None


def _workers(cluster: LocalCluster, topology_id: str, wanted: int) -> float | None:
    with cluster.nimbus() as nimbus:
        placed = nimbus.topology(topology_id).assignment
    return time.time() * 1000 if len(set(placed.values())) == wanted else None


def _until(condition: Callable[[], Any], seconds: float, what: str) -> Any:
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise SystemExit(f"waited {seconds:g} s in vain for {what}")
        time.sleep(0.1)
    return value


def _page(result: dict[str, Any]) -> str:
    changed = [m for m in result["replacements"] if m["trigger"] == "change of load"]
    ours = statistics.median(m["silence_line_secs"] for m in result["replacements"])
    lines = [
        "# What a move costs",
        "",
        "Made by `make bench-moves` (`benchmarks/moves.py`): "
        "[`topologies/counted.py`](../topologies/counted.py), three Python lines with acking, "
        f"{result['tuples_per_sec']} tuples/s, on {result['cores']} cores (load "
        f"{result['load_at_start']:.1f} at the start). No tuple was lost in any of these moves: "
        "all numbers that the sources emitted arrived.",
        "",
        "The settings are quick ones, to measure the machinery and not the patience: "
        + ", ".join(f"`{k}` {v}" for k, v in result["settings"].items() if k.endswith("secs"))
        + ".",
        "",
        "## Re-placements by the brain",
        "",
        "| trigger | load change → plan, s | plan → assigned, s | assigned → all lines flow, s | "
        "silence at all sinks, s | of the worst line, s |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {m['trigger']} | {m['load_change_to_plan_secs']} | {m['plan_to_assigned_secs']} | "
        f"{m['assigned_to_all_lines_flowing_secs']} | {m['silence_all_secs']} | "
        f"{m['silence_line_secs']} |"
        for m in result["replacements"]
    ]
    total = [m["load_change_to_plan_secs"] + m["plan_to_assigned_secs"] for m in changed]
    lines += [
        "",
        f"From a change of load to the applied plan, median: {statistics.median(total):.1f} s."
        if total
        else "",
        "",
        "## `storm rebalance` of the same topology on stock Storm",
        "",
        "Storm deactivates the spouts first and waits, by default for the message timeout "
        f"({result['message_timeout_secs']} s here, 30 s by default); `-w 0` does not wait.",
        "",
        "| wait, s | workers | asked → assigned, s | silence at all sinks, s | "
        "of the worst line, s |",
        "|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {r['wait_secs']} | {r['workers']} | {r['asked_to_assigned_secs']} | "
        f"{r['silence_all_secs']} | {r['silence_line_secs']} |"
        for r in result["rebalances"]
    ]
    medians = [
        f"{statistics.median(r['silence_line_secs'] for r in result['rebalances'] if bool(r['wait_secs']) is waits):.1f} s"  # noqa: E501
        for waits in (True, False)
    ]
    lines += [
        "",
        f"Silence of the worst line, medians: {ours:.1f} s by the brain, {medians[0]} by "
        f"rebalance, {medians[1]} by rebalance without waiting.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    typer.run(main)
