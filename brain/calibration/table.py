"""What was measured: seconds to a proven optimum by the number of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

Family = Literal["alike", "measured"]
"""alike: tasks of a component are interchangeable; measured: every rate differs."""
Row = tuple[int, float]


@dataclass(frozen=True)
class Table:
    """Rows (tasks, seconds), tasks ascending, for each family of graphs."""

    alike: tuple[Row, ...]
    measured: tuple[Row, ...]

    def threshold(self, theta: float, family: Family) -> int:
        """φ: the most tasks that were solved within θ, as were all smaller numbers; 0 if none."""
        rows: Sequence[Row] = self.alike if family == "alike" else self.measured
        # A lucky large case does not make up for an unlucky smaller one.
        slowest = accumulate((seconds for _, seconds in rows), max)
        fitting = [tasks for (tasks, _), worst in zip(rows, slowest, strict=True) if worst <= theta]
        return max(fitting, default=0)


BUILT_IN = Table(
    alike=((8, 0.02), (16, 0.05), (24, 0.3), (32, 0.5), (48, 0.6), (64, 0.8), (80, 1.0)),
    measured=((8, 0.05), (10, 0.2), (12, 0.4), (14, 1.5), (16, 4.0)),
)
"""A slow 2-core machine's figures, for callers that cannot wait for a measurement."""
