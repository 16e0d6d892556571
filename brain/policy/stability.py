"""Against restlessness: measured downtime, and damping when placements come and go.

A move back to a placement that was in force lately is an oscillation: each one doubles the
cooldown (up to 16 times); a calm of four such cooldowns halves it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from brain.plans.plan import Executor, SlotId

REMEMBERED = 6
SIMILAR = 0.8
"""Share of executors on the same node for two placements to count as the same."""
MAX_DAMPING = 16
_SMOOTHING = 0.5


@dataclass
class Stability:
    downtime_secs: float | None = None
    """Mean of the measured ones, newest weighing most; None until a move was measured."""
    damping: int = 1
    _calm_since_ms: int | None = None
    _recent: list[dict[Executor, str]] = field(default_factory=list)

    def moved(
        self, old: Mapping[Executor, SlotId], new: Mapping[Executor, SlotId], now_ms: int
    ) -> bool:
        """Notes that a placement came into force; True if it is a return to a recent one."""
        nodes = _nodes(new)
        returned = any(_similar(nodes, past) for past in self._recent)
        self.damping = min(MAX_DAMPING, self.damping * 2) if returned else self.damping
        self._recent = [*self._recent, _nodes(old)][-REMEMBERED:]
        self._calm_since_ms = now_ms
        return returned

    def cooldown_secs(self, configured: int, now_ms: int) -> int:
        """The cooldown in force, after calming down if there has been reason to."""
        if self._calm_since_ms is None:
            return configured
        while self.damping > 1:
            calm_ms = 4 * configured * self.damping * 1000
            if now_ms - self._calm_since_ms < calm_ms:
                break
            self._calm_since_ms += calm_ms
            self.damping //= 2
        return configured * self.damping

    def measured_downtime(self, seconds: float) -> None:
        old = self.downtime_secs
        self.downtime_secs = seconds if old is None else old + _SMOOTHING * (seconds - old)


def _nodes(placed: Mapping[Executor, SlotId]) -> dict[Executor, str]:
    return {executor: slot[0] for executor, slot in placed.items()}


def _similar(a: Mapping[Executor, str], b: Mapping[Executor, str]) -> bool:
    if not a or a.keys() != b.keys():
        return False
    return sum(b[e] == node for e, node in a.items()) >= SIMILAR * len(a)
