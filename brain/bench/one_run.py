"""One run: submitted, observed under even, re-placed once if the scheduler does that, measured."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from kazoo.client import KazooClient

from brain.bench import measure as measuring
from brain.bench.experiment import Case, Experiment
from brain.bench.histograms import histogram_between, read_histogram
from brain.bench.results import Replacement, Run, RunStatus
from brain.bench.sampling import Sampler, others_points, read_cpu
from brain.bench.submitting import WINDOW_SECS, run_conf, submit
from brain.demo.metric_log import LogTail, Window
from brain.demo.run import ROOT
from brain.errors import StormbrainError
from brain.plans.store import PlanStore
from brain.service.decision_log import read_decisions
from brain.submit.submission import wait_until_gone
from brain.testbed import Testbed

UP_SECS = 120.0
DECISION_SECS = 120.0
LATE_WINDOWS_SECS = 15.0

Tell = Callable[[str], None]


class RunFailed(StormbrainError):
    """The run did not get to its end; says where it stopped."""


@dataclass
class _Watch:
    """What has been seen of a run so far."""

    tail: LogTail
    sampler: Sampler
    submitted_ms: int
    windows: list[Window] = field(default_factory=list)

    def read(self) -> list[Window]:
        self.windows.extend(self.tail.read())
        return self.windows

    def until(self, condition: Callable[[], Any], seconds: float, what: str) -> Any:
        deadline = time.monotonic() + seconds
        while True:
            self.read()
            if value := condition():
                return value
            if time.monotonic() > deadline:
                raise RunFailed(f"waited {seconds:g} s in vain for {what}")
            time.sleep(0.5)


def conduct(
    bed: Testbed, experiment: Experiment, case: Case, label: str, repeat: int, tell: Tell
) -> Run:
    """Never raises for what goes wrong with the run itself: that is a failed run, with a reason."""
    started = datetime.now(UTC).isoformat(timespec="seconds")
    name = f"{experiment.name}-{int(time.time())}".replace(".", "-")
    cluster = bed.cluster
    try:
        return _conduct(bed, experiment, case, label, repeat, name, started, tell)
    except StormbrainError as e:
        tell(f"failed: {e.message}")
        return _failed(case, label, repeat, started, e.message)
    finally:
        _clear(cluster, name)


def _conduct(
    bed: Testbed,
    experiment: Experiment,
    case: Case,
    label: str,
    repeat: int,
    name: str,
    started: str,
    tell: Tell,
) -> Run:
    cluster, timing, scheduler = bed.cluster, experiment.timing, experiment.scheduler(label)
    what = experiment.throughput
    results = cluster.state_dir / "results" / name if experiment.latency_of else None
    conf = run_conf(scheduler, case.topology, timing)
    submitted_ms = int(time.time() * 1000)
    topology_id = submit(cluster, case.topology, conf, name, results)
    with Sampler(bed) as sampler:
        watch = _Watch(LogTail(cluster.metrics_dir / topology_id), sampler, submitted_ms)
        watch.until(lambda: measuring.flowing_ms(watch.windows, what), UP_SECS, "tuples")
        _wait_all_report(watch, cluster.nimbus, topology_id)
        tell("tuples flow")
        replacement, in_place_ms = None, int(time.time() * 1000)
        if scheduler.replaces:
            replacement, in_place_ms = _replaced(
                watch, cluster.zookeeper_address, topology_id, what
            )
            tell(f"{replacement.outcome}: {replacement.reason}")
        since_ms = in_place_ms + int(timing.settle * 1000)
        _sleep_until(since_ms)
        cpu_before = read_cpu(bed)
        before = read_histogram(results, experiment.latency_of)
        until_ms = since_ms + int(timing.measure * 1000)
        _sleep_until(until_ms)
        others = others_points(cpu_before, read_cpu(bed))
        between = histogram_between(before, read_histogram(results, experiment.latency_of))
        _sleep_until(until_ms + int(timing.cut * 1000))
        reasons = _wait_last_windows(watch, since_ms, until_ms)
        moves = _moves(cluster.zookeeper_address, topology_id)
    found = measuring.measure(watch.windows, sampler.samples, since_ms, until_ms, what)
    reasons += _faults(found, moves, scheduler.replaces)
    return Run(
        case=case.name,
        scheduler=label,
        repeat=repeat,
        status=RunStatus.INVALID if reasons else RunStatus.VALID,
        reasons=tuple(reasons),
        started=started,
        topology_id=topology_id,
        seconds=found.seconds,
        throughput=found.throughput,
        latency_ms=found.latency_ms,
        latency_p50_ms=None if between is None else between.quantile_ms(0.5),
        latency_p99_ms=None if between is None else between.quantile_ms(0.99),
        wire_bytes=found.wire_bytes,
        control_bytes=found.control_bytes,
        hook_tuples=found.hook_tuples,
        hook_bytes=found.hook_bytes,
        system_tuples=found.system_tuples,
        all_tuples=found.all_tuples,
        failed_tuples=found.failed_tuples,
        nodes=found.nodes,
        workers=found.workers,
        replacement=replacement,
        series=measuring.series(watch.windows, sampler.samples, submitted_ms, what),
        graph=found.graph,
        others_cpu_points=others,
    )


def _wait_all_report(watch: _Watch, nimbus: Callable[[], Any], topology_id: str) -> None:
    """Until every assigned worker has written a window, so that no late start is measured."""

    def reported() -> bool:
        with nimbus() as client:
            slots = {(e.host, e.port) for e in client.topology(topology_id).executors}
        return len({(w.node, w.port) for w in watch.windows}) >= len(slots) > 0

    watch.until(reported, UP_SECS, "reports of all workers")


def _replaced(
    watch: _Watch, zookeeper: str, topology_id: str, what: str
) -> tuple[Replacement, int]:
    """Waits for the brain's first decision, and for its plan to be in force."""
    client = KazooClient(hosts=zookeeper)
    client.start(timeout=15)
    try:

        def decided() -> dict[str, Any] | None:
            found = read_decisions(client, f"{ROOT}/decisions", topology_id)
            return found[-1] if found else None

        decision = watch.until(decided, DECISION_SECS, "a decision of the brain")
        applied = None
        if decision["outcome"] == "move":
            store = PlanStore(client, ROOT)
            stored = watch.until(lambda: store.read(topology_id), 30, "the plan")
            applied = watch.until(
                lambda: measuring.in_place_ms(watch.windows, stored.plan, what),
                UP_SECS,
                "the plan in force",
            )
    finally:
        client.stop()
        client.close()
    since = watch.submitted_ms
    replacement = Replacement(
        outcome=decision["outcome"],
        reason=decision["reason"],
        algorithm=decision["algorithm"],
        decided_secs=(decision["time_ms"] - since) / 1000,
        applied_secs=None if applied is None else (applied - since) / 1000,
        plan_secs=decision["seconds"],
        moved_executors=len(decision["moves"]),
        restarted_workers=len(decision["restarts"]),
        predicted_before=_inter_node(decision["before"]),
        predicted_after=_inter_node(decision["after"]),
    )
    return replacement, applied or int(time.time() * 1000)


def _inter_node(score: Any) -> float | None:
    return None if score is None else float(score["inter_node"])


def _moves(zookeeper: str, topology_id: str) -> int:
    client = KazooClient(hosts=zookeeper)
    client.start(timeout=15)
    try:
        decisions = read_decisions(client, f"{ROOT}/decisions", topology_id)
    finally:
        client.stop()
        client.close()
    return sum(1 for decision in decisions if decision["outcome"] == "move")


def _wait_last_windows(watch: _Watch, since_ms: int, until_ms: int) -> list[str]:
    """Until all workers have written what they saw of the span; who has not is a reason."""
    wanted = until_ms - WINDOW_SECS * 1000

    def silent() -> list[str]:
        last: dict[str, int] = {}
        for w in watch.windows:
            if w.end_ms > since_ms:
                where = f"{w.node}:{w.port}"
                last[where] = max(last.get(where, 0), w.end_ms)
        return sorted(where for where, end in last.items() if end < wanted)

    try:
        watch.until(lambda: not silent(), LATE_WINDOWS_SECS, "last windows")
    except RunFailed:
        return [f"no windows any more from {', '.join(silent())}"]
    return []


def _faults(found: measuring.Measurement, moves: int, replaces: bool) -> list[str]:
    """Why the run must not be averaged in."""
    reasons = []
    if found.throughput <= 0:
        reasons.append("no tuples in the measured window")
    if found.failed_tuples:
        reasons.append(f"{found.failed_tuples} tuples failed in the measured window")
    if found.started_inside:
        reasons.append(f"workers restarted by themselves: {', '.join(found.started_inside)}")
    if moves > (1 if replaces else 0):
        reasons.append(f"it was re-placed {moves} times")
    return reasons


def _failed(case: Case, label: str, repeat: int, started: str, reason: str) -> Run:
    return Run(
        case=case.name, scheduler=label, repeat=repeat, status=RunStatus.FAILED,
        reasons=(reason,), started=started, topology_id="", seconds=0.0, throughput=0.0,
        latency_ms=None, latency_p50_ms=None, latency_p99_ms=None, wire_bytes=None,
        control_bytes=None, hook_tuples=0.0, hook_bytes=0.0, system_tuples=0.0, all_tuples=0.0,
        failed_tuples=0, nodes={}, workers=0, replacement=None, series=(), graph=None,
    )  # fmt: skip


def _clear(cluster: Any, name: str) -> None:
    """Kills the topology and waits until its workers are gone: the next run has the machine."""
    with cluster.nimbus() as nimbus:
        if any(topology.name == name for topology in nimbus.cluster().topologies):
            nimbus.kill(name, wait_secs=0)
            wait_until_gone(nimbus, name)
    deadline = time.monotonic() + 60
    while cluster.workers() and time.monotonic() < deadline:
        time.sleep(0.5)


def _sleep_until(time_ms: int) -> None:
    time.sleep(max(0.0, time_ms / 1000 - time.time()))
