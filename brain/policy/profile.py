"""What a topology is remembered by: its traffic, free of task ids and places.

As KATTS learnt from earlier slices of a stream, a topology that is submitted again under its name
starts from what was measured before, if its components, their parallelism and their streams are
the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from brain.errors import BadInput
from brain.monitor.snapshot import TopologyView
from brain.monitor.traffic import Rates
from brain.policy.problem_builder import executor_loads

FORMAT = 1


@dataclass(frozen=True)
class Profile:
    """Executors are numbered as in the topology: by start task, so by component and index."""

    name: str
    shape: tuple[tuple[str, int, tuple[tuple[str, str, str], ...]], ...]
    """Component, number of executors and inputs, by component."""
    cpu_points: tuple[float, ...]
    edges: tuple[tuple[int, int, bool, float, float], ...]
    """Source executor, target executor, system stream, tuples/s, bytes/s."""
    learnt_ms: int
    downtime_secs: float | None = None
    """What a move of it was measured to cost, if one was."""

    def fits(self, view: TopologyView) -> bool:
        return self.shape == shape_of(view)

    def to_rates(self, view: TopologyView) -> Rates:
        """As if it had been measured on this topology, which must fit."""
        first_task = np.array([start for start, _ in view.executors], dtype=np.int32)
        flat = np.array(self.edges, dtype=np.float64).reshape(-1, 5)
        load = np.array(self.cpu_points)
        nothing = np.zeros(len(first_task))
        return Rates(
            seconds=0.0,
            source=first_task[flat[:, 0].astype(int)],
            target=first_task[flat[:, 1].astype(int)],
            system=flat[:, 2].astype(bool),
            tuples=flat[:, 3],
            bytes=flat[:, 4],
            task=first_task,
            cpu_points=load,
            executed=nothing,
            emitted=nothing,
            acked=nothing,
            failed=nothing,
            complete_ms=np.full(len(first_task), np.nan),
        )

    def to_json(self) -> dict[str, Any]:
        return {"format": FORMAT, **self.__dict__}

    @classmethod
    def from_json(cls, value: Any) -> Profile:
        """BadInput if it is not a profile of this format."""
        try:
            if value["format"] != FORMAT:
                raise BadInput("profile", f"format {value['format']} is not {FORMAT}")
            return cls(
                str(value["name"]),
                tuple(
                    (str(c), int(n), tuple((str(a), str(b), str(g)) for a, b, g in inputs))
                    for c, n, inputs in value["shape"]
                ),
                tuple(float(p) for p in value["cpu_points"]),
                tuple(
                    (int(s), int(t), bool(own), float(n), float(size))
                    for s, t, own, n, size in value["edges"]
                ),
                int(value["learnt_ms"]),
                None if value.get("downtime_secs") is None else float(value["downtime_secs"]),
            )
        except (KeyError, TypeError, ValueError) as e:
            raise BadInput("profile", f"is not one: {e!r}") from None


def shape_of(
    view: TopologyView,
) -> tuple[tuple[str, int, tuple[tuple[str, str, str], ...]], ...]:
    counts: dict[str, int] = {}
    for component in view.executors.values():
        counts[component] = counts.get(component, 0) + 1
    return tuple(
        (c, n, tuple(sorted(view.components[c].inputs)) if c in view.components else ())
        for c, n in sorted(counts.items())
    )


def learn(
    view: TopologyView, rates: Rates, now_ms: int, downtime_secs: float | None = None
) -> Profile:
    """The profile of what was measured."""
    rows = view.task_rows
    known = (
        (rates.source >= 0)
        & (rates.target >= 0)
        & (rates.source < len(rows))
        & (rates.target < len(rows))
    )
    sums: dict[tuple[int, int, bool], tuple[float, float]] = {}
    for s, t, own, n, size in zip(
        rows[rates.source[known]].tolist(),
        rows[rates.target[known]].tolist(),
        rates.system[known].tolist(),
        rates.tuples[known].tolist(),
        rates.bytes[known].tolist(),
        strict=True,
    ):
        if s >= 0 and t >= 0:
            old = sums.get((s, t, own), (0.0, 0.0))
            sums[s, t, own] = (old[0] + n, old[1] + size)
    return Profile(
        view.name,
        shape_of(view),
        tuple(executor_loads(view, rates).tolist()),
        tuple((s, t, own, n, size) for (s, t, own), (n, size) in sorted(sums.items())),
        now_ms,
        downtime_secs,
    )
