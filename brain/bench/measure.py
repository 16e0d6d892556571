"""From the hook's windows and the interfaces' counters to the numbers of a run.

Nothing here comes from the brain's model: tuples and CPU are what tasks counted, bytes on the wire
what the kernel counted, places what workers wrote.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from brain.bench.results import Graph, NodeUse, Point
from brain.demo.metric_log import Window
from brain.plans.plan import Plan, SlotId
from brain.testbed.network import Traffic

STEP_MS = 2000
"""Length of a step of the time line."""

_ACKED = "acked"


@dataclass(frozen=True)
class Sample:
    """Counters of all interfaces at a moment."""

    time_ms: float
    traffic: Traffic


@dataclass(frozen=True)
class Measurement:
    """What a run's window says; fields as in ``brain.bench.results.Run``."""

    seconds: float
    throughput: float
    latency_ms: float | None
    wire_bytes: float | None
    control_bytes: float | None
    hook_tuples: float
    hook_bytes: float
    system_tuples: float
    all_tuples: float
    failed_tuples: int
    nodes: Mapping[str, NodeUse]
    workers: int
    graph: Graph
    started_inside: tuple[str, ...]
    """Workers that started within the window: restarts that nobody asked for."""


def spouts_of(windows: Iterable[Window]) -> frozenset[str]:
    """Components that emit and never execute; acks of a bolt may come a window after its tuples."""
    emitted: dict[str, int] = defaultdict(int)
    executed: dict[str, int] = defaultdict(int)
    for w in windows:
        for task in w.tasks:
            emitted[task["component"]] += task.get("emitted", 0)
            executed[task["component"]] += task.get("executed", 0)
    return frozenset(c for c, n in emitted.items() if n and not executed[c] and c[:2] != "__")


def throughput_of(windows: Iterable[Window], what: str, spouts: frozenset[str]) -> int:
    """Tuples of these windows: acked at spouts, or executed by a component."""
    tasks = [task for w in windows for task in w.tasks]
    if what == _ACKED:
        return sum(task.get("acked", 0) for task in tasks if task["component"] in spouts)
    component = what.partition(":")[2]
    return sum(t.get("executed", 0) for t in tasks if t["component"] == component)


def flowing_ms(windows: Sequence[Window], what: str) -> int | None:
    """The end of the first window with a tuple that counts."""
    spouts = spouts_of(windows)
    ends = [w.end_ms for w in windows if throughput_of([w], what, spouts) > 0]
    return min(ends) if ends else None


def in_place_ms(windows: Sequence[Window], plan: Plan, what: str) -> int | None:
    """When every task of a plan was reported by the worker that it was planned for, and tuples
    counted again; a task without input (a rare result) need not have done anything.

    A worker whose set of tasks changes is restarted, so what its predecessor in the same slot
    still wrote does not count.
    """
    wanted: dict[SlotId, set[int]] = defaultdict(set)
    for (start, _), slot in plan.executors.items():
        wanted[slot].add(start)
    before: dict[SlotId, set[int]] = {}
    for w in windows:
        if w.end_ms <= plan.created_ms:
            before[w.node, w.port] = _starts(w)
    seen: dict[SlotId, int] = {}
    for w in windows:
        slot = (w.node, w.port)
        fresh = before.get(slot) == wanted.get(slot) or w.worker_start_ms >= plan.created_ms
        if w.start_ms >= plan.created_ms and fresh and _starts(w) >= wanted.get(slot, set()):
            seen.setdefault(slot, w.end_ms)
    if not set(wanted) <= set(seen):
        return None
    placed = max(seen[slot] for slot in wanted)
    return flowing_ms([w for w in windows if w.start_ms >= placed], what)


def _starts(window: Window) -> set[int]:
    """First tasks of the executors of a worker."""
    return {int(str(task["executor"]).partition("-")[0]) for task in window.tasks}


def measure(
    windows: Sequence[Window],
    samples: Sequence[Sample],
    since_ms: int,
    until_ms: int,
    what: str,
) -> Measurement:
    """Over the windows that lie wholly within the span, during which nothing may have moved."""
    inside = [w for w in windows if w.start_ms >= since_ms and w.end_ms <= until_ms]
    seconds, spouts = _covered_secs(inside), spouts_of(windows)
    per = 1.0 / seconds if seconds else 0.0
    first_of = _executors(inside)
    place = {task["task"]: (w.node, w.port) for w in inside for task in w.tasks}
    tuples: dict[tuple[int, int, bool], list[float]] = defaultdict(lambda: [0.0, 0.0])
    totals: dict[str, float] = defaultdict(float)
    for w in inside:
        for edge in w.edges:
            source = place.get(edge["source"])
            if source is None:  # Storm's own task of each worker, which is always local
                continue
            system, crosses = bool(edge.get("system")), source[0] != w.node
            key = (first_of[edge["source"]][0], first_of[edge["target"]][0], system)
            tuples[key][0] += edge["tuples"]
            tuples[key][1] += edge["bytes"]
            totals["system" if system else "own"] += edge["tuples"]
            if crosses:
                totals["system_cross" if system else "cross"] += edge["tuples"]
                totals["system_bytes" if system else "bytes"] += edge["bytes"]
    cpu: dict[int, float] = defaultdict(float)
    for w in inside:
        for task in w.tasks:
            spent = task.get("cpu_ms", 0.0) + task.get("shell_cpu_ms", 0.0)
            cpu[first_of[task["task"]][0]] += spent
    points = {start: spent * per / 10.0 for start, spent in cpu.items()}  # ms/s → 100 a core
    wire = _between(samples, since_ms, until_ms)
    executors = tuple(
        (start, end, component, round(points.get(start, 0.0), 2), *place[start])
        for start, end, component in sorted(set(first_of.values()))
    )
    workers = {(w.node, w.worker) for w in inside}
    return Measurement(
        seconds=seconds,
        throughput=throughput_of(inside, what, spouts) * per,
        latency_ms=_latency(inside),
        wire_bytes=None if wire is None else wire.between,
        control_bytes=None if wire is None else wire.control,
        hook_tuples=totals["cross"] * per,
        hook_bytes=totals["bytes"] * per,
        system_tuples=totals["system_cross"] * per,
        all_tuples=totals["own"] * per,
        failed_tuples=sum(
            t.get("failed", 0) for w in inside for t in w.tasks if t["component"] in spouts
        ),
        nodes={
            node: NodeUse(
                None if wire is None else wire.sent[node],
                None if wire is None else wire.received[node],
                round(sum(e[3] for e in executors if e[4] == node), 2),
                sum(1 for e in executors if e[4] == node),
                len({worker for where, worker in workers if where == node}),
            )
            for node in sorted({e[4] for e in executors} | set(wire.sent if wire else ()))
        },
        workers=len(workers),
        graph=Graph(
            executors,
            tuple(
                (a, b, round(n * per, 2), round(size * per, 1), system)
                for (a, b, system), (n, size) in sorted(tuples.items())
            ),
        ),
        started_inside=tuple(
            sorted({f"{w.node}:{w.port}" for w in inside if w.worker_start_ms > since_ms})
        ),
    )


def series(
    windows: Sequence[Window], samples: Sequence[Sample], start_ms: int, what: str
) -> tuple[Point, ...]:
    """The whole run in steps, from its submission on."""
    if not windows:
        return ()
    spouts = spouts_of(windows)
    steps: dict[int, list[Window]] = defaultdict(list)
    for w in windows:
        steps[int((w.end_ms - start_ms) // STEP_MS)].append(w)
    out = []
    for step in range(max(steps) + 1):
        inside = steps.get(step, [])
        begin = start_ms + step * STEP_MS
        wire = _between(samples, begin, begin + STEP_MS)
        out.append(
            Point(
                (step + 1) * STEP_MS / 1000,
                round(throughput_of(inside, what, spouts) * 1000 / STEP_MS, 1),
                _rounded(_latency(inside)),
                None if wire is None else round(wire.between),
            )
        )
    return tuple(out)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def _executors(windows: Iterable[Window]) -> dict[int, tuple[int, int, str]]:
    """Task → first and last task of its executor, and its component."""
    found = {}
    for w in windows:
        for task in w.tasks:
            start, _, end = str(task["executor"]).partition("-")
            found[task["task"]] = (int(start), int(end or start), str(task["component"]))
    return found


def _latency(windows: Iterable[Window]) -> float | None:
    timed = [t for w in windows for t in w.tasks if t.get("complete_ms") is not None]
    weight = sum(t.get("acked", 0) for t in timed)
    if not weight:
        return None
    return float(sum(t["complete_ms"] * t.get("acked", 0) for t in timed) / weight)


def _covered_secs(windows: Sequence[Window]) -> float:
    """How long the span was watched: the mean over workers of their windows together."""
    watched: dict[tuple[str, str], int] = defaultdict(int)
    for w in windows:
        watched[w.node, w.worker] += w.end_ms - w.start_ms
    return sum(watched.values()) / len(watched) / 1000.0 if watched else 0.0


@dataclass(frozen=True)
class _Wire:
    """Bytes a second."""

    between: float
    control: float
    sent: dict[str, float]
    received: dict[str, float]


def _between(samples: Sequence[Sample], since_ms: float, until_ms: float) -> _Wire | None:
    """From the counters next to the two moments; their own times count."""
    if len(samples) < 2:
        return None
    times = [sample.time_ms for sample in samples]
    a = samples[min(bisect_left(times, since_ms), len(samples) - 1)]
    b = samples[min(bisect_left(times, until_ms), len(samples) - 1)]
    secs = (b.time_ms - a.time_ms) / 1000.0
    if secs <= 0:
        return None
    old, new = a.traffic, b.traffic
    control = new.control_received - old.control_received + new.control_sent - old.control_sent
    return _Wire(
        (new.between_nodes - old.between_nodes) / secs,
        control / secs,
        {node: (new.sent[node] - old.sent[node]) / secs for node in new.sent},
        {node: (new.received[node] - old.received[node]) / secs for node in new.received},
    )
