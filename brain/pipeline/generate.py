"""Seeded metric logs as the hook would write them, for tests, benchmarks and trying the jobs out.

The workload is simple and its rates are known: each stream has a rate and a tuple size, tuples are
Poisson, tasks of a component share a stream evenly (shuffle) or task i talks to task i (straight).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import numpy as np

BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Stream:
    source: str
    target: str
    tuples_per_s: float
    tuple_bytes: int = 120
    straight: bool = False
    system: bool = False


@dataclass(frozen=True)
class Workload:
    """A topology and what it does. ``components`` maps names to parallelism; task ids are dealt
    out from 1 in the order of the names, as Storm does."""

    topology: str
    components: Mapping[str, int]
    streams: Sequence[Stream]
    spouts: frozenset[str] = frozenset()
    python: frozenset[str] = frozenset()
    cpu_ms_per_tuple: float = 0.02
    latency_ms: float = 8.0

    def tasks(self) -> dict[int, str]:
        names = [c for c in sorted(self.components) for _ in range(self.components[c])]
        return dict(enumerate(names, start=1))


@dataclass(frozen=True)
class Move:
    """At window ``window`` the tasks go to other workers (by index); theirs and the new ones
    restart and say nothing for ``gap`` windows."""

    window: int
    to: Mapping[int, int]
    gap: int = 2


@dataclass(frozen=True)
class Cluster:
    """``workers`` are dealt round robin on the nodes."""

    nodes: int = 2
    workers: int = 4
    cores: int = 4
    skew_ms: Mapping[int, int] = field(default_factory=dict)
    """By node index: how far its clock is ahead."""


@dataclass(frozen=True)
class Shape:
    windows: int = 24
    window_ms: int = 5000
    start_ms: int = 1_790_000_000_000
    roll_bytes: int = 64 << 20
    seed: int = 0
    moves: Sequence[Move] = ()
    burst: Sequence[float] = (1.0,)
    """The streams' rates are multiplied by these factors, one a window, over and over."""


def word_count(topology: str = "wordcount-1-1790000000", rate: float = 400.0) -> Workload:
    """sentence → split → count with an acker: the shape of most examples."""
    return Workload(
        topology,
        {"sentence": 2, "split": 4, "count": 4, "__acker": 2},
        (
            Stream("sentence", "split", rate, 160),
            Stream("split", "count", rate * 5, 60),
            Stream("sentence", "__acker", rate, 40, system=True),
            Stream("count", "__acker", rate * 5, 40, system=True),
        ),
        spouts=frozenset({"sentence"}),
        python=frozenset({"split"}),
    )


@dataclass
class _Worker:
    node: int
    port: int
    started: int
    generation: int = 0
    seq: int = 0
    number: int = 0
    quiet_until: int = 0
    out: TextIO | None = None
    written: int = 0

    @property
    def id(self) -> str:
        return f"{self.port}-{_base36(self.started)}"


def _base36(value: int) -> str:
    digits = ""
    while value:
        value, last = divmod(value, 36)
        digits = BASE36[last] + digits
    return digits or "0"


class LogWriter:
    """Writes the logs of one workload on one cluster under ``directory``."""

    def __init__(self, directory: Path, work: Workload, cluster: Cluster, shape: Shape) -> None:
        self.work, self.cluster, self.shape = work, cluster, shape
        self.directory = directory / work.topology
        self.rng = np.random.default_rng(shape.seed)
        self.tasks = work.tasks()
        self.workers = [
            _Worker(i % cluster.nodes, 6700 + i // cluster.nodes, shape.start_ms - 9000 - i)
            for i in range(cluster.workers)
        ]
        self.placement = {t: i % cluster.workers for i, t in enumerate(self.tasks)}
        self.source, self.target, self.rate, self.size, self.system = self._edges()
        self.lines = 0

    def _edges(self) -> tuple[np.ndarray, ...]:
        by_component: dict[str, list[int]] = {}
        for task, component in self.tasks.items():
            by_component.setdefault(component, []).append(task)
        rows: list[tuple[int, int, float, int, bool]] = []
        for s in self.work.streams:
            sources, targets = by_component[s.source], by_component[s.target]
            if s.straight:
                n = max(len(sources), len(targets))
                pairs = [(sources[i % len(sources)], targets[i % len(targets)]) for i in range(n)]
            else:
                pairs = [(a, b) for a in sources for b in targets]
            rate = s.tuples_per_s / len(pairs)
            rows += [(a, b, rate, s.tuple_bytes, s.system) for a, b in pairs]
        rows.sort(key=lambda r: (r[1], r[0]))
        columns = list(zip(*rows, strict=True))
        return tuple(np.array(c) for c in columns)

    def write(self) -> int:
        """Writes all windows; the number of lines."""
        self.directory.mkdir(parents=True, exist_ok=True)
        moves = {m.window: m for m in self.shape.moves}
        try:
            for window in range(self.shape.windows):
                if window in moves:
                    self._move(window, moves[window])
                self.write_window(window)
        finally:
            for w in self.workers:
                if w.out:
                    w.out.close()
        return self.lines

    def _move(self, window: int, move: Move) -> None:
        touched = {self.placement[t] for t in move.to} | set(move.to.values())
        self.placement.update(move.to)
        for i in touched:
            w = self.workers[i]
            if w.out:
                w.out.close()
            restarted = self.shape.start_ms + window * self.shape.window_ms + 1000 + i
            self.workers[i] = _Worker(
                w.node, w.port, restarted, w.generation + 1, quiet_until=window + move.gap
            )

    def write_window(self, window: int) -> None:
        seconds = self.shape.window_ms / 1000
        factor = self.shape.burst[window % len(self.shape.burst)]
        tuples = self.rng.poisson(self.rate * seconds * factor)
        noise = self.rng.uniform(0.9, 1.1, len(self.tasks) + 1)
        at = np.array([self.placement[int(t)] for t in self.target])
        for index, w in enumerate(self.workers):
            if window < w.quiet_until:
                continue
            mine = np.flatnonzero((at == index) & (tuples > 0))
            lines = list(self._lines(window, index, w, mine, tuples, noise))
            self._append(w, lines)
            w.seq += 1

    def _lines(
        self,
        window: int,
        index: int,
        w: _Worker,
        mine: np.ndarray,
        tuples: np.ndarray,
        noise: np.ndarray,
    ) -> Iterator[str]:
        start = self.shape.start_ms + window * self.shape.window_ms
        start += self.cluster.skew_ms.get(w.node, 0)
        tail = (
            f'"topology":"{self.work.topology}","node":"n{w.node + 1}","worker":"{w.id}",'
            f'"seq":{w.seq},"start":{start},"end":{start + self.shape.window_ms}'
        )
        head = f'{{"v":1,"kind":"edge",{tail},"source":'
        sizes = (tuples[mine] * self.size[mine]).tolist()
        for s, t, n, b, own in zip(
            self.source[mine].tolist(),
            self.target[mine].tolist(),
            tuples[mine].tolist(),
            sizes,
            self.system[mine].tolist(),
            strict=True,
        ):
            flag = ',"system":true' if own else ""
            yield f'{head}{s},"target":{t},"tuples":{n},"bytes":{b}{flag}}}\n'
        held = [t for t, i in self.placement.items() if i == index]
        received = np.bincount(self.target, weights=tuples, minlength=len(self.tasks) + 1)
        sent = np.bincount(self.source, weights=tuples, minlength=len(self.tasks) + 1)
        for task in held:
            yield self._task_line(tail, task, int(received[task]), int(sent[task]), noise[task])
        if w.port == 6700:
            yield self._node_line(tail, w.node, float(noise[0]))
        host = f"127.0.0.{w.node + 1}"
        yield (
            f'{{"v":1,"kind":"window",{tail},"host":"{host}","port":{w.port},"edges":{len(mine)},'
            f'"tasks":{len(held)},"dropped_reports":0,"dropped_lines":0,"heap_mb":64.5}}\n'
        )

    def _task_line(self, tail: str, task: int, received: int, sent: int, noise: float) -> str:
        component = self.tasks[task]
        spout = component in self.work.spouts
        cpu = (received + sent) * self.work.cpu_ms_per_tuple * noise
        fields = (
            f'"task":{task},"component":"{component}","executor":"{task}-{task}",'
            f'"cpu_ms":{cpu:.3f},"executed":{0 if spout else received},"emitted":{sent},'
            f'"acked":{sent if spout else received},"failed":0'
        )
        if component in self.work.python:
            fields += f',"shell_cpu_ms":{cpu * 2:.3f}'
        if spout and sent:
            fields += f',"complete_ms":{self.work.latency_ms * noise:.3f}'
        elif received:
            fields += f',"execute_ms":{0.1 * noise:.4f},"process_ms":{0.12 * noise:.4f}'
        if not spout:
            fields += f',"queue_percent":{3 * noise:.2f},"queue_overflow":0'
        return f'{{"v":1,"kind":"task",{tail},{fields}}}\n'

    def _node_line(self, tail: str, node: int, noise: float) -> str:
        cpu = 40 * noise
        return (
            f'{{"v":1,"kind":"node",{tail},"cores":{self.cluster.cores},"mhz":2600.0,'
            f'"cpu_percent":{cpu:.2f},"memory_mb":8192.0,"memory_used_mb":{2048 * noise:.1f},'
            f'"rx_bytes":{int(1e6 * noise)},"tx_bytes":{int(9e5 * noise)},'
            f'"machine":"boot-{node + 1}"}}\n'
        )

    def _append(self, w: _Worker, lines: list[str]) -> None:
        if w.out is None or w.written >= self.shape.roll_bytes:
            if w.out:
                w.out.close()
            name = f"n{w.node + 1}-{w.id}-{w.number:04d}.jsonl"
            w.out = (self.directory / name).open("w", encoding="utf-8")
            w.number, w.written = w.number + 1, 0
        text = "".join(lines)
        w.out.write(text)
        w.written += len(text)
        self.lines += len(lines)


def write_logs(
    directory: Path,
    work: Workload | None = None,
    cluster: Cluster | None = None,
    shape: Shape | None = None,
) -> int:
    """Writes the logs of a workload; the number of lines written."""
    return LogWriter(
        directory, work or word_count(), cluster or Cluster(), shape or Shape()
    ).write()


def spoil(directory: Path, share: float, seed: int = 0) -> int:
    """Breaks a share of the lines of every file beyond repair; how many."""
    rng = np.random.default_rng(seed)
    spoilt = 0
    for path in sorted(directory.rglob("*.jsonl")):
        lines = path.read_bytes().splitlines(keepends=True)
        for i in np.flatnonzero(rng.random(len(lines)) < share).tolist():
            lines[i] = _WOUNDS[i % len(_WOUNDS)](lines[i])
            spoilt += 1
        path.write_bytes(b"".join(lines))
    return spoilt


_WOUNDS = (
    lambda line: line[: len(line) // 2] + b"\n",
    lambda line: line.replace(b'"v":1', b'"v":"one"'),
    lambda line: b"\xff\xfe" + line,
    lambda line: line.replace(b'"kind":"', b'"kind":"no-'),
    lambda line: json.dumps([1, 2]).encode() + b"\n",
    lambda line: line.replace(b'"start":', b'"start":"x","was":'),
)
