"""The incumbent, and all that was compared with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from brain.algorithms.objective import Key, Prices, order_of_result
from brain.algorithms.parts.workspace import Workspace
from brain.model import Result


class Board:
    """Keeps the best result by ``objective`` and a line on each candidate."""

    def __init__(self, work: Workspace, prices: Prices) -> None:
        self.work = work
        self.prices = prices
        self.best: Result | None = None
        self.best_key: Key | None = None
        self.winner = ""
        self.lines: list[dict[str, Any]] = []

    def add(self, label: str, result: Result, seconds: float = 0.0) -> bool:
        """Enters a candidate; True if it is the best so far (the earlier one stays on a tie).

        One that moves more than is allowed is none: ``even`` knows no cap, and a cap is hard.
        """
        cap, moved = self.work.options.max_moves, result.score.moved_executors
        if cap is not None and moved > cap:
            self.fail(label, f"moves {moved} executors, {cap} allowed")
            return False
        key = order_of_result(self.work, self.prices, result)
        self.lines.append(
            {
                "candidate": label,
                "status": str(result.status),
                "broken": key[1],
                "cost": key[2],
                "inter_node": result.score.inter_node,
                "inter_worker": result.score.inter_worker,
                "moved_executors": result.score.moved_executors,
                "restarted_workers": result.score.restarted_workers,
                "seconds": round(seconds, 4),
            }
        )
        if result.details.get("cut_off"):
            self.lines[-1]["cut_off"] = True  # by the clock, before all its steps were done
        if self.best_key is None or key < self.best_key:
            self.best, self.best_key, self.winner = result, key, label
            return True
        return False

    def fail(self, label: str, why: str) -> None:
        """Notes a member that gave no result."""
        self.lines.append({"candidate": label, "failed": why})

    def answer(self, lower_bound: float, note: dict[str, Any]) -> Result:
        """The incumbent as the result of ``auto``."""
        assert self.best is not None, "there is always a candidate"
        best = self.best
        cost = best.score.inter_node
        ok = str(best.status) == "ok"
        proven = ok and cost <= lower_bound + 1e-9 * max(abs(cost), 1.0)
        return replace(
            best,
            algorithm="auto",
            proven_optimal=proven,
            lower_bound=cost if proven else min(lower_bound, cost),
            details={
                **note,
                "winner": self.winner,
                "move_cost": self.prices.move,
                "restart_cost": self.prices.restart,
                "candidates": self.lines,
            },
        )
