"""A mixed-integer model for HiGHS, column by column, and what came out of solving it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import highspy
import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Budget:
    """``deadline`` is a time of ``time.perf_counter``; ``nodes`` limits the branch-and-bound
    nodes instead (the deadline is infinite then), which makes a run repeatable."""

    deadline: float
    seed: int = 0
    nodes: int | None = None

    @property
    def seconds(self) -> float:
        """What is left, never nothing at all."""
        return min(max(self.deadline - time.perf_counter(), 1e-2), 1e9)

    def spent(self, share: float) -> Callable[[], bool]:
        """Whether so large a share of what is left now has passed."""
        if math.isinf(self.deadline):
            return lambda: False
        until = time.perf_counter() + share * (self.deadline - time.perf_counter())
        return lambda: time.perf_counter() > until


@dataclass(frozen=True)
class Solved:
    values: NDArray[np.float64] | None
    bound: float
    proven: bool
    infeasible: bool


@dataclass
class Model:
    """Minimises ``cost · x`` under rows ``lower ≤ A x ≤ upper``; all columns are ≥ 0."""

    cost: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    integer: list[bool] = field(default_factory=list)
    row_lower: list[float] = field(default_factory=list)
    row_upper: list[float] = field(default_factory=list)
    starts: list[int] = field(default_factory=lambda: [0])
    rows: list[int] = field(default_factory=list)
    coefficients: list[float] = field(default_factory=list)

    def row(self, lower: float, upper: float) -> int:
        self.row_lower.append(lower)
        self.row_upper.append(upper)
        return len(self.row_lower) - 1

    def column(
        self, cost: float, upper: float, entries: list[tuple[int, float]], integer: bool = True
    ) -> int:
        self.cost.append(cost)
        self.upper.append(upper)
        self.integer.append(integer)
        for row, coefficient in entries:
            self.rows.append(row)
            self.coefficients.append(coefficient)
        self.starts.append(len(self.rows))
        return len(self.cost) - 1

    def solve(
        self, budget: Budget, start: NDArray[np.float64] | None = None, step: float = 0.0
    ) -> Solved:
        """``step`` is the least difference between two objective values, where one is known
        (1 for integer rates): a gap below it proves the optimum."""
        highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        highs.setOptionValue("threads", 1)
        highs.setOptionValue("random_seed", budget.seed % 2**31)
        highs.setOptionValue("time_limit", budget.seconds)
        highs.setOptionValue("mip_rel_gap", 0.0)
        highs.setOptionValue("mip_abs_gap", max(step * 0.999, 1e-9))
        if budget.nodes is not None:
            highs.setOptionValue("mip_max_nodes", budget.nodes)
        highs.passModel(self._lp())
        if start is not None:
            solution = highspy.HighsSolution()
            solution.col_value = start.tolist()
            highs.setSolution(solution)
        highs.run()
        return self._read(highs)

    def _lp(self) -> highspy.HighsLp:
        lp = highspy.HighsLp()
        lp.num_col_ = len(self.cost)
        lp.num_row_ = len(self.row_lower)
        lp.col_cost_ = np.array(self.cost)
        lp.col_lower_ = np.zeros(len(self.cost))
        lp.col_upper_ = np.array(self.upper)
        lp.row_lower_ = np.array(self.row_lower)
        lp.row_upper_ = np.array(self.row_upper)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_ = np.array(self.starts, dtype=np.int32)
        lp.a_matrix_.index_ = np.array(self.rows, dtype=np.int32)
        lp.a_matrix_.value_ = np.array(self.coefficients)
        kinds = highspy.HighsVarType
        lp.integrality_ = [kinds.kInteger if i else kinds.kContinuous for i in self.integer]
        return lp

    def _read(self, highs: highspy.Highs) -> Solved:
        status = highs.getModelStatus()
        info = highs.getInfo()
        proven = status == highspy.HighsModelStatus.kOptimal
        infeasible = status == highspy.HighsModelStatus.kInfeasible
        feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        values = np.array(highs.getSolution().col_value) if feasible else None
        # A model without integers left after presolve reports no MIP bound of its own.
        bound = info.mip_dual_bound if any(self.integer) else info.objective_function_value
        if not math.isfinite(bound) or infeasible:
            bound = -math.inf
        return Solved(values, float(bound), proven and values is not None, infeasible)
