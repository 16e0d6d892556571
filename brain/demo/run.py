"""The demo itself: cluster, brain, topology, re-placement, and what changed.

Everything is real and local: Storm's daemons, a brain process, streamparse bolts. Whatever
happens, an interrupt included, all of it is ended again.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient

from brain.cluster.local import LocalCluster
from brain.demo.measure import Measured, downtime_secs, measure, sink_series
from brain.demo.metric_log import LogTail, Window
from brain.demo.plot import plot
from brain.errors import StormbrainError
from brain.plans.plan import Plan, SlotId
from brain.plans.store import PlanStore
from brain.service.decision_log import read_decisions
from brain.submit.submission import Submitter

ROOT = "/stormbrain"
WINDOW_SECS = 1


@dataclass(frozen=True)
class DemoOptions:
    nodes: int = 3
    slots: int = 2
    depth: int = 3
    algorithm: str = "auto"
    observe_secs: int = 30
    measure_secs: int = 30
    out: Path = Path("out/demo")
    topology: Path = Path("topologies/parallel.py")


@dataclass(frozen=True)
class DemoReport:
    topology_id: str
    before: Measured
    after: Measured
    decision: dict[str, Any]
    plan: Plan
    downtime_secs: float
    decided_to_applied_secs: float
    picture: Path

    @property
    def inter_node_fall_percent(self) -> float:
        if not self.before.inter_node_tuples:
            return 0.0
        return 100 * (1 - self.after.inter_node_tuples / self.before.inter_node_tuples)


class DemoFailed(StormbrainError):
    """The demo did not get to its end; says where it stopped."""


Tell = Callable[[str], None]


def run_demo(options: DemoOptions, tell: Tell) -> DemoReport:
    topology = options.topology
    if not topology.exists():
        raise StormbrainError(f"{topology} is not here", "run the demo from the repository")
    name = f"demo-{os.getpid()}"
    conf = {
        "topology.brain.window.secs": WINDOW_SECS,
        "topology.brain.algorithm": options.algorithm,
        "topology.brain.first.replacement.secs": options.observe_secs,
        "topology.brain.observe.secs": options.observe_secs,
    }
    tell("starting ZooKeeper, Nimbus and supervisors")
    with LocalCluster.start(
        name, nodes=options.nodes, slots=options.slots, storm_conf=conf, progress=tell
    ) as cluster:
        if cluster.plugin_jar is None:
            raise StormbrainError("the plugin jar is not built", "run `make setup`")
        options.out.mkdir(parents=True, exist_ok=True)
        try:
            with brain_process(cluster, options.out / "brain.log"):
                return _observe(cluster, options, tell)
        except BaseException:
            shutil.copytree(cluster.logs_dir, options.out / "storm-logs", dirs_exist_ok=True)
            raise


@contextmanager
def brain_process(
    cluster: LocalCluster, log: Path, *arguments: str
) -> Iterator[subprocess.Popen[bytes]]:
    """A brain of its own for a local cluster, ended afterwards."""
    command = [sys.executable, "-m", "brain", "serve",
               "--listen", f"{cluster.control_host}:0",
               "--zookeeper", cluster.zookeeper_address,
               "--state-dir", str(cluster.state_dir / "brain"), *arguments]  # fmt: skip
    with log.open("ab") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _observe(cluster: LocalCluster, options: DemoOptions, tell: Tell) -> DemoReport:
    tell(f"submitting Parallel: {options.depth} bolts in a row, {options.nodes} lines")
    with cluster.nimbus() as nimbus:
        topology_id = Submitter(nimbus).submit(
            options.topology,
            name="parallel",
            workers=options.nodes,
            settings=[f"depth={options.depth}", f"parallelism={options.nodes}"],
        )
    tail = LogTail(cluster.metrics_dir / topology_id)
    windows: list[Window] = []
    sink = f"bolt-{options.depth}"
    client = KazooClient(hosts=cluster.zookeeper_address)
    client.start(timeout=15)
    try:
        store = PlanStore(client, ROOT)
        tell("waiting for tuples at the last bolt, under Storm's even scheduler")
        flowing_ms = _wait(lambda: _flowing(tail, windows, sink), 120, "tuples at the last bolt")
        tell(f"measuring under even; the brain decides after {options.observe_secs} s of traffic")
        plan = _wait(
            lambda: _read_on(tail, windows) and _plan(store, client, topology_id),
            options.observe_secs + 120,
            "a plan of the brain",
        )
        tell(f"plan {plan.epoch} by {plan.algorithm}: {plan.reason}")
        in_place_ms = _wait(
            lambda: _read_on(tail, windows) and applied_ms(windows, plan), 120, "the plan in force"
        )
        tell("tuples flow again; measuring under the plan")
        settled_ms = in_place_ms + 5000
        until_ms = settled_ms + options.measure_secs * 1000
        _wait(
            lambda: _read_on(tail, windows) and max(w.end_ms for w in windows) >= until_ms,
            options.measure_secs + 60,
            "enough windows",
        )
        decision = next(
            d
            for d in read_decisions(client, f"{ROOT}/decisions", topology_id)
            if d["id"] == plan.decision_id
        )
    finally:
        client.stop()
        client.close()
    picture = options.out / "demo.png"
    plot(picture, windows, sink, plan.created_ms)
    before_since = max(flowing_ms + 5000, plan.created_ms - options.observe_secs * 1000)
    return DemoReport(
        topology_id,
        measure(windows, before_since, plan.created_ms, "spout"),
        measure(windows, settled_ms, until_ms, "spout"),
        decision,
        plan,
        downtime_secs(sink_series(windows, sink), plan.created_ms, WINDOW_SECS * 1000),
        (in_place_ms - plan.created_ms) / 1000,
        picture,
    )


def _read_on(tail: LogTail, windows: list[Window]) -> bool:
    windows.extend(tail.read())
    return bool(windows)


def _flowing(tail: LogTail, windows: list[Window], sink: str) -> int | None:
    """When the first tuple reached the last bolt."""
    _read_on(tail, windows)
    ends = [end for end, tuples in sink_series(windows, sink) if tuples > 0]
    return ends[0] if ends else None


def _plan(store: PlanStore, client: KazooClient, topology_id: str) -> Plan | None:
    stored = store.read(topology_id)
    if stored is not None:
        return stored.plan
    for decision in read_decisions(client, f"{ROOT}/decisions", topology_id):
        if decision["outcome"] != "move":
            raise DemoFailed(f"the brain decided not to move: {decision['reason']}")
    return None


def applied_ms(windows: list[Window], plan: Plan) -> int | None:
    """When every task of the plan had handled tuples in the worker that it was planned for.

    A worker whose set of tasks changes is restarted, so what its predecessor in the same slot
    still wrote does not count.
    """
    planned = {start: slot for (start, _), slot in plan.executors.items()}
    tasks_of: dict[SlotId, set[int]] = {}
    for task, slot in planned.items():
        tasks_of.setdefault(slot, set()).add(task)
    before: dict[SlotId, set[int]] = {}
    for w in windows:
        if w.end_ms <= plan.created_ms:
            before[w.node, w.port] = {t["task"] for t in w.tasks}
    seen: dict[int, int] = {}
    for w in windows:
        slot = (w.node, w.port)
        kept = before.get(slot) == tasks_of.get(slot)
        if w.start_ms < plan.created_ms or not (kept or w.worker_start_ms >= plan.created_ms):
            continue
        for t in w.tasks:
            if planned.get(t["task"]) == slot and t["executed"] + t["emitted"] > 0:
                seen.setdefault(t["task"], w.end_ms)
    return max(seen.values()) if set(planned) <= set(seen) else None


def _wait(condition: Callable[[], Any], seconds: float, what: str) -> Any:
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise DemoFailed(
                f"waited {seconds:g} s in vain for {what}", "the logs are kept under the out folder"
            )
        time.sleep(0.5)
