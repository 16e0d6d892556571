"""Options that every benchmark has, and how they become Storm's configuration."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from streamparse import Grouping, Topology
from streamparse.dsl.topology import TopologyType

from topologies.common.task import COMPONENT_KEY, RUN_KEY, WATERMARK


@dataclass(frozen=True)
class RunOptions:
    """How a run is fed, checked and bounded. A topology's own options extend these."""

    rate: float = 0.0
    """Tuples a second of each source task; 0: as fast as acking allows."""
    events: int = 0
    """How many events all sources emit together, then the run ends; 0: endless."""
    seed: int = 0
    """The same seed gives the same data."""
    acking: bool = True
    """Whether tuples are tracked and replayed; exact results need it."""
    max_pending: int = 500
    """Unacked tuples a source task may have (topology.max.spout.pending)."""
    timeout_seconds: int = 30
    """After how long a lost tuple is replayed (topology.message.timeout.secs)."""
    batch: int = 10
    """Tuples a source task emits in one call at most."""
    workers: int = 4
    """Worker processes (topology.workers)."""
    data_dir: str = ""
    """Directory or file to read in place of generating; see ``stormbrain data``."""
    disorder_ms: int = 0
    """How much older than the newest an event of a source may be; older ones are left out."""
    results_dir: str = ""
    """Where results, counters and latencies go; it must be seen by all workers."""
    state_dir: str = ""
    """Where stateful tasks remember across restarts; it must be seen by all workers."""
    redis_url: str = ""
    """Redis server for the topologies that use one."""
    watermark_every: int = 1000
    """Tuples of a source task after which it tells its progress."""
    watermark_seconds: float = 1.0
    """Seconds after which it tells its progress anyway."""

    def __post_init__(self) -> None:
        """Numbers are not negative, and counts of things there must be at least one of are 1 or
        more: those whose default is."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            default: Any = field.default
            least = 1 if isinstance(default, int) and default >= 1 else min(0, default)
            if value < least:
                raise ValueError(f"{field.name} must be {least:g} or more, not {value:g}")

    def run_settings(self) -> dict[str, Any]:
        """What the components are told, under ``RUN_KEY``."""
        return {
            "rate": self.rate,
            "events": self.events,
            "seed": self.seed,
            "reliable": self.acking,
            "batch": self.batch,
            "data_dir": self.data_dir,
            "disorder_ms": self.disorder_ms,
            "watermark_every": self.watermark_every,
            "watermark_seconds": self.watermark_seconds,
            "results_dir": self.results_dir,
            "state_dir": self.state_dir,
            "redis_url": self.redis_url,
        }

    def config(self, pins: dict[str, list[str]] | None = None) -> dict[str, Any]:
        """The topology's configuration."""
        config: dict[str, Any] = {
            RUN_KEY: self.run_settings(),
            "topology.workers": self.workers,
            "topology.message.timeout.secs": self.timeout_seconds,
            "topology.max.spout.pending": self.max_pending,
        }
        if self.results_dir:
            config["topology.tick.tuple.freq.secs"] = 1
        if not self.acking:
            config["topology.acker.executors"] = 0
        pins = {component: hosts for component, hosts in (pins or {}).items() if hosts}
        if pins:
            config["topology.brain.pin"] = pins
        return config


def component(**settings: Any) -> dict[str, Any]:
    """Component configuration that a task finds as ``self.options``."""
    return {COMPONENT_KEY: settings}


def watermarks(*sources: Any) -> dict[Any, Any]:
    """Inputs by which a stateful operator hears the progress of ``sources`` (spout specs)."""
    return {source[WATERMARK]: Grouping.ALL for source in sources}


def make_topology(name: str, components: dict[str, Any], config: dict[str, Any]) -> type[Topology]:
    """A streamparse topology class from component specs by name."""
    class_name = "".join(part.capitalize() for part in name.replace("_", "-").split("-"))
    made: type[Topology] = TopologyType(class_name, (Topology,), {**components, "config": config})
    return made


def data_directory(data_dir: str, source: str) -> str:
    """A source's files: the directory of its name in ``data_dir``, if there is one, else all."""
    if data_dir and (Path(data_dir) / source).is_dir():
        return str(Path(data_dir) / source)
    return data_dir


def hosts(text: str) -> list[str]:
    """The hosts of a pin option: ``node1,node2``; empty for no pin."""
    return [host.strip() for host in text.split(",") if host.strip()]


def at_least_one(share: float) -> int:
    return max(1, math.floor(share))
