"""The schedulers that are compared, and what a topology is submitted with under each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from brain.cluster.storm_yaml import SCHEDULER_CLASS

RAS_CLASS = "org.apache.storm.scheduler.resource.ResourceAwareScheduler"


@dataclass(frozen=True)
class Scheduler:
    """One competitor."""

    name: str
    """Its label in tables."""
    meaning: str
    storm_scheduler: str = SCHEDULER_CLASS
    """``storm.scheduler`` of Nimbus; Nimbus is restarted between runs when it changes."""
    conf: Mapping[str, Any] = field(default_factory=dict, hash=False)
    replaces: bool = False
    """Whether the brain re-places the topology once, after it was seen running under even."""

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "meaning": self.meaning,
            "storm_scheduler": self.storm_scheduler,
            "conf": dict(self.conf),
            "replaces": self.replaces,
        }


def _brain(name: str, meaning: str, algorithm: str, **conf: Any) -> Scheduler:
    settings = {"topology.brain.mode": "auto", "topology.brain.algorithm": algorithm}
    return Scheduler(name, meaning, conf={**settings, **conf}, replaces=True)


_OFF = {"topology.brain.mode": "off"}

SCHEDULERS = {
    one.name: one
    for one in (
        Scheduler("default", "Storm's EvenScheduler", conf=_OFF),
        Scheduler("ras", "Storm's own ResourceAwareScheduler", RAS_CLASS, _OFF),
        _brain("offline", "Aniello's offline scheduler", "offline"),
        _brain("online", "Aniello's online scheduler (greedy, OLS)", "online"),
        _brain("metis", "Fischer's METIS scheduler", "metis"),
        _brain(
            "ischeduler-0",
            "I-Scheduler, θ = 0 (heuristic)",
            "ischeduler",
            **{"topology.brain.theta.secs": 0.01, "topology.brain.algorithm.params": {"phi": 0}},
        ),
        _brain(
            "ischeduler-1",
            "I-Scheduler, θ = 1 s",
            "ischeduler",
            **{"topology.brain.theta.secs": 1.0},
        ),
        _brain("rstorm", "R-Storm's algorithm in the brain", "rstorm"),
        _brain("auto", "our portfolio", "auto"),
    )
}
