"""FIRST_LEVEL of I-Scheduler (Eskandari 2020, Algorithm 1, lines 22–54; formulas 6–9).

Symbols: t unfused tasks, f fused tasks, N[i] = (c, q) the i-th largest capacity in tasks and how
many nodes have it, k parts of an iteration (6), β fusions needed to reach φ (8), α fusions made
(9).

Where the page contradicts itself we follow its worked example (Fig. 2). Formula 7 counts the
graph's tasks, "t" there includes the fused ones; taken literally as line 38 has it, the second
iteration of the example would give β = ⌈(8 − 8) / 2⌉ = 0, while the text fuses 1. So β is
⌈(t + f − φ) / (c − 1)⌉ here. A capacity of 1 cannot shrink the graph; β is then all there is.
Which α of the k parts are fused the paper leaves open: those that keep most traffic inside.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.ischeduler_parts.tasks import heaviest_first, partition_tasks
from brain.algorithms.parts.subgraph import subgraph
from brain.algorithms.parts.units import Units


@dataclass(frozen=True)
class NodeGroup:
    """One element of N: nodes for the same number of tasks."""

    capacity: int
    nodes: tuple[int, ...]

    @property
    def quantity(self) -> int:
        return len(self.nodes)


@dataclass(frozen=True)
class Iteration:
    """The numbers of one pass of the while loop, as they are after it."""

    capacity: int
    quantity: int
    k: int
    beta: int | None
    alpha: int
    t: int
    f: int
    phi: int


@dataclass
class Fusion:
    """``group[u]`` is the fused task of unit u, or -1; ``made_for[g]`` the index into N that the
    fused task was sized for."""

    group: NDArray[np.int64]
    made_for: list[int] = field(default_factory=list)
    use_solver: bool = True
    trace: list[Iteration] = field(default_factory=list)

    def whole_group(self) -> NDArray[np.int64]:
        """Like ``group``, but what was not fused is a task of its own."""
        whole = self.group.copy()
        loose = np.flatnonzero(whole < 0)
        whole[loose] = len(self.made_for) + np.arange(len(loose))
        return whole

    def explain(self) -> list[dict[str, Any]]:
        return [asdict(step) for step in self.trace]


def reduce_graph(units: Units, groups: list[NodeGroup], phi: int, seed: int) -> Fusion:
    """Fuses tasks until the graph has at most φ (lines 23–47); φ = 0 asks for the heuristic."""
    fusion = Fusion(np.full(len(units), -1, dtype=np.int64), use_solver=phi > 0)
    t, f = len(units), 0
    for i, group in enumerate(groups):
        if t + f <= phi or t == 0:  # line 26
            break
        k = -(-t // group.capacity)  # line 27, formula 6
        rest = np.flatnonzero(fusion.group < 0)
        if k == 1:  # lines 28–31
            fusion.group[rest] = f
            fusion.made_for.append(i)
            fusion.trace.append(
                Iteration(group.capacity, group.quantity, 1, None, 1, 0, f + 1, phi)
            )
            break
        if k > phi and fusion.use_solver:  # lines 32–35
            fusion.use_solver, phi = False, 0
        local = subgraph(units.graph, rest)
        part = partition_tasks(local, k, group.capacity, units.size[rest].astype(float), seed)
        beta = None
        alpha = min(k, group.quantity)  # line 40
        if fusion.use_solver:
            shrink = group.capacity - 1
            beta = -(-(t + f - phi) // shrink) if shrink else k  # formula 8
            alpha = min(beta, alpha)  # line 38, formula 9
        for p in heaviest_first(local, part, k)[:alpha]:  # line 42
            taken = rest[part == p]
            if len(taken):
                fusion.group[taken] = f
                fusion.made_for.append(i)
                f += 1  # line 44
        t = int((fusion.group < 0).sum())  # line 43: parts that are full take α · c
        fusion.trace.append(Iteration(group.capacity, group.quantity, k, beta, alpha, t, f, phi))
    return fusion
