"""The model as the paper has it (Eskandari et al. 2020, formulas 1–5), in PuLP.

P_iu and X_ij are formulas 1 and 2. Formula 2, X_ij = Σ_u Σ_v≠u P_iu · P_jv, is a product; since
task j is on exactly one node (formula 5), Σ_v≠u P_jv = 1 − P_ju, and X_ij ≥ P_iu − P_ju for all u
says the same in linear form when X is minimised. The objective is formula 3 over communicating
pairs i < j. Formula 4 is written with < there, but the paper fills nodes to the brim (Fig. 1:
capacity 3, three tasks), so it is ≤ here; memory is treated like load, and pins fix P_iu to 0.
"""

from __future__ import annotations

import numpy as np
import pulp

from brain.algorithms.exact_parts.highs import Budget
from brain.algorithms.exact_parts.items import Items
from brain.algorithms.exact_parts.outcome import Outcome


def solve_paper(items: Items, budget: Budget, solver: str) -> Outcome:
    """Solves formulas 1–5 with CBC or HiGHS. Workers and spread are beyond the paper's model."""
    model = pulp.LpProblem("placement", pulp.LpMinimize)
    tasks = range(len(items))
    nodes = np.flatnonzero(items.allowed.any(axis=0)).tolist()
    placed = {  # formula 1
        (i, u): model.add_variable(f"P_{i}_{u}", cat="Binary")
        for i in tasks
        for u in nodes
        if items.allowed[i, u]
    }
    apart = {}
    for i, j in zip(*(a.tolist() for a in np.nonzero(np.triu(items.weight))), strict=True):
        apart[i, j] = model.add_variable(f"X_{i}_{j}", 0, 1)
        for u in nodes:  # formula 2, linear
            model += apart[i, j] >= placed.get((i, u), 0) - placed.get((j, u), 0)
    model.setObjective(  # formula 3
        pulp.lpSum(float(items.weight[i, j]) * x for (i, j), x in apart.items())
    )
    limits, units = items.limits, items.units
    for u in nodes:  # formula 4, for load and for memory
        for demand, free in ((units.cpu, limits.cpu_free), (units.memory_mb, limits.memory_free)):
            if np.isfinite(free[u]):
                load = pulp.lpSum(float(demand[i]) * placed.get((i, u), 0) for i in tasks)
                model += load <= float(free[u])
    for i in tasks:  # formula 5
        model += pulp.lpSum(placed[i, u] for u in nodes if (i, u) in placed) == 1
    size = {"columns": model.numVariables(), "rows": model.numConstraints()}
    model.solve(_solver(solver, budget))
    status = pulp.LpStatus[model.status]
    if status == "Infeasible":
        return Outcome(None, 0.0, False, True, size)
    values = {key: variable.value() for key, variable in placed.items()}
    if any(v is None for v in values.values()):
        return Outcome(None, 0.0, False, False, size)
    node = np.full(len(items), -1, dtype=np.int64)
    for (i, u), value in values.items():
        if value > 0.5:
            node[i] = u
    if (node < 0).any():
        return Outcome(None, 0.0, False, False, size)
    proven = model.sol_status == pulp.LpSolutionOptimal
    # PuLP passes no dual bound on, so what is not proven has only the trivial one.
    return Outcome(node, items.cut(node) if proven else 0.0, proven, False, size)


def _solver(name: str, budget: Budget) -> pulp.LpSolver:
    if name == "highs":
        return pulp.HiGHS(msg=False, timeLimit=budget.seconds, gapRel=0.0, threads=1)
    seed = [f"randomSeed {budget.seed % 2**31}"]
    return pulp.PULP_CBC_CMD(
        msg=False, timeLimit=max(budget.seconds, 0.01), gapRel=0.0, threads=1, options=seed
    )
