"""A decision: what was asked, what was found, what was chosen and why. And the choosing itself.

``judge`` is the one gate between an algorithm's result and a plan; it is a pure function, so what
a dry run shows is what would be applied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from brain.config import TopologySettings
from brain.model import Result, Score, Status
from brain.plans.plan import Executor, SlotId
from brain.units import BYTES, rate


class Outcome(StrEnum):
    MOVE = "move"
    STAY = "stay"
    FAILED = "failed"


@dataclass(frozen=True)
class Trigger:
    """Why a computation was made now."""

    kind: str
    detail: str


@dataclass(frozen=True)
class Move:
    executor: str
    component: str
    from_slot: str | None
    to_slot: str


@dataclass(frozen=True)
class Decision:
    id: str
    time_ms: int
    topology_id: str
    topology_name: str
    trigger: Trigger
    mode: str
    algorithm: str
    outcome: Outcome
    reason: str
    before: Score | None = None
    after: Score | None = None
    moves: tuple[Move, ...] = ()
    restarts: tuple[str, ...] = ()
    seconds: float = 0.0
    observed_secs: float = 0.0
    details: Mapping[str, Any] = field(default_factory=dict)
    inputs_digest: str | None = None
    """SHA-256 of what it was made from: see brain/policy/replay.py."""

    @property
    def gain_percent(self) -> float | None:
        if self.before is None or self.after is None:
            return None
        return gain_percent(self.before, self.after)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "gain_percent": self.gain_percent}


def gain_percent(before: Score, after: Score) -> float:
    """How much inter-node traffic falls, in percent; 0 if there was none to lose."""
    if before.inter_node <= 0:
        return 0.0
    return 100.0 * (before.inter_node - after.inter_node) / before.inter_node


@dataclass(frozen=True)
class Situation:
    """What a result is judged against: what runs, what is wrong with it, what a move costs."""

    before: Score
    running: bool
    """False for a topology that has no assignment yet: there is nothing to disturb."""
    trouble: tuple[str, ...] = ()
    """Overloads and broken constraints that the running placement has."""
    saved_tuples: float = 0.0
    """Tuples a second that would no longer cross nodes."""
    tuples: float = 0.0
    """Tuples a second of the whole topology."""
    workers: int = 1
    downtime_secs: float = 0.0
    unit: str = BYTES
    """What inter-node traffic is measured in."""


def judge(situation: Situation, result: Result, settings: TopologySettings) -> tuple[Outcome, str]:
    """Whether a result is worth moving for. Never for something predicted worse."""
    before, after = situation.before, result.score

    def cost(score: Score) -> str:
        return rate(score.inter_node, situation.unit)

    if result.status is Status.INFEASIBLE:
        return Outcome.STAY, f"{result.algorithm} found no placement: {'; '.join(result.reasons)}"
    if result.status is Status.BEST_EFFORT:
        return Outcome.STAY, (
            f"{result.algorithm} could not keep every constraint: {'; '.join(result.reasons[:3])}"
        )
    if not situation.running:
        return Outcome.MOVE, (
            f"first placement from what is known: inter-node traffic {cost(after)}"
        )
    if after.moved_executors == 0:
        return Outcome.STAY, "what runs is already the best placement found"
    cap = settings["max.moves"]
    if cap is not None and after.moved_executors > cap:
        return Outcome.STAY, f"would move {after.moved_executors} executors, {cap} are allowed"
    words = (
        f"inter-node traffic {cost(before)} → {cost(after)}, "
        f"{after.moved_executors} executors move, {after.restarted_workers} workers restart"
    )
    if situation.trouble:
        # The result keeps every limit and constraint (status ok), which what runs does not.
        return Outcome.MOVE, f"{'; '.join(situation.trouble[:3])}: {words}"
    if after.inter_node > before.inter_node:
        return Outcome.STAY, (
            f"{result.algorithm}'s placement is worse than what runs: inter-node "
            f"{cost(before)} → {cost(after)}"
        )
    gain, wanted = gain_percent(before, after), settings["min.gain.percent"]
    if gain <= wanted:
        return Outcome.STAY, f"gain of {gain:.1f} % is not above the {wanted:g} % asked for"
    share = min(1.0, after.restarted_workers / max(1, situation.workers))
    held_up = situation.downtime_secs * situation.tuples * share
    saved = situation.saved_tuples * settings["horizon.secs"]
    if saved <= held_up:
        return Outcome.STAY, (
            f"the move would hold up {held_up:,.0f} tuples ({after.restarted_workers} restarts, "
            f"{situation.downtime_secs:.0f} s each) and save {saved:,.0f} between nodes within "
            f"{settings['horizon.secs']} s"
        )
    return Outcome.MOVE, f"{words} (-{gain:.1f} %)"


def moves_between(
    current: Mapping[Executor, SlotId],
    planned: Mapping[Executor, SlotId],
    components: Mapping[Executor, str],
) -> tuple[tuple[Move, ...], tuple[str, ...]]:
    """The executors whose slot changes, and the slots whose worker (re)starts."""
    moves = tuple(
        Move(
            f"{executor[0]}-{executor[1]}",
            components[executor],
            _slot_name(current.get(executor)),
            f"{slot[0]}:{slot[1]}",
        )
        for executor, slot in sorted(planned.items())
        if current.get(executor) != slot
    )
    now, then = _workers(current), _workers(planned)
    return moves, tuple(f"{n}:{p}" for (n, p), s in sorted(then.items()) if now.get((n, p)) != s)


def _workers(placed: Mapping[Executor, SlotId]) -> dict[SlotId, frozenset[Executor]]:
    workers: dict[SlotId, set[Executor]] = {}
    for executor, slot in placed.items():
        workers.setdefault(slot, set()).add(executor)
    return {slot: frozenset(executors) for slot, executors in workers.items()}


def _slot_name(slot: SlotId | None) -> str | None:
    return None if slot is None else f"{slot[0]}:{slot[1]}"
