"""What an algorithm is asked with, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from brain.model.placement import Placement


class Status(StrEnum):
    OK = "ok"
    BEST_EFFORT = "best-effort"
    """Some executors could not be placed, or a constraint had to give: named in the reasons."""
    INFEASIBLE = "infeasible"


@dataclass(frozen=True, slots=True)
class Options:
    """``theta`` is the time allowed in seconds; ``max_moves`` caps the executors that may move."""

    theta: float = 1.0
    seed: int = 0
    max_moves: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    """An algorithm's own parameters, by their documented names."""


@dataclass(frozen=True, slots=True)
class Score:
    """Costs a second, and what a re-placement disturbs (0 without a current placement).

    ``inter_node`` crosses nodes, ``inter_worker`` crosses workers of one node. ``imbalance`` is
    the fullest node's share of the load over its share of the capacity, 1.0 being even.
    ``restarted_workers`` counts the workers that must start, since in Storm a worker restarts
    when its set of executors changes.
    """

    inter_node: float
    inter_worker: float
    imbalance: float
    moved_executors: int = 0
    restarted_workers: int = 0
    latency_ms: float | None = None
    """Mean round-trip time between the nodes of a tuple's source and target; None: not known."""


@dataclass(frozen=True)
class Result:
    status: Status
    algorithm: str
    placement: Placement
    score: Score
    reasons: tuple[str, ...] = ()
    proven_optimal: bool = False
    lower_bound: float | None = None
    seconds: float = 0.0
    details: Mapping[str, Any] = field(default_factory=dict)
    """For explanations: candidates and their scores, intermediate numbers of the paper."""
