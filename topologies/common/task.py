"""A task's place in its topology, and the settings of the run, read from Storm's handshake."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

RUN_KEY = "topology.bench.run"
"""Topology configuration key: the settings of the run, the same for every component."""

COMPONENT_KEY = "topology.bench.component"
"""Component configuration key: what this component needs to know besides."""

WATERMARK = "watermark"
"""The stream on which sources say how far their events have been processed."""

WATERMARK_FIELDS = ["source", "seq", "time", "level", "confirmed", "intended"]


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What a run is told once for all its components; see docs/topologies.md."""

    rate: float = 0.0
    events: int = 0
    seed: int = 0
    reliable: bool = True
    batch: int = 10
    data_dir: str = ""
    disorder_ms: int = 0
    watermark_every: int = 1000
    watermark_seconds: float = 1.0
    results_dir: str = ""
    state_dir: str = ""
    redis_url: str = ""

    @classmethod
    def from_conf(cls, conf: dict[str, Any]) -> RunSettings:
        """The settings in a component's configuration.

        A submitted topology has a directory of its own in ``state_dir``, so that it never takes
        up the state of an earlier run.
        """
        settings = cls(**conf.get(RUN_KEY, {}))
        if settings.state_dir and conf.get("storm.id"):
            return replace(settings, state_dir=str(Path(settings.state_dir) / conf["storm.id"]))
        return settings

    @property
    def results_path(self) -> Path | None:
        return Path(self.results_dir) if self.results_dir else None

    @property
    def state_path(self) -> Path | None:
        return Path(self.state_dir) if self.state_dir else None


@dataclass(frozen=True, slots=True)
class TaskPlace:
    """Which task of which component this is."""

    component: str
    index: int
    count: int
    watermark_sources: tuple[str, ...]
    """Every task of every spout whose watermarks this component hears, as ``spout.index``."""

    @property
    def name(self) -> str:
        return f"{self.component}.{self.index}"

    @classmethod
    def from_context(cls, context: dict[str, Any]) -> TaskPlace:
        tasks: dict[str, list[int]] = {}
        for task, component in context["task->component"].items():
            tasks.setdefault(component, []).append(int(task))
        task_id = int(context["taskid"])
        component = context.get("componentid") or context["task->component"][str(task_id)]
        mine = sorted(tasks[component])
        heard = context.get("source->stream->grouping") or {}
        sources = tuple(
            f"{spout}.{i}"
            for spout in sorted(heard)
            if WATERMARK in heard[spout]
            for i in range(len(tasks[spout]))
        )
        return cls(component, mine.index(task_id), len(mine), sources)
