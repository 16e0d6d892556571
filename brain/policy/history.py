"""First placements from the pipeline's graphs: what the metric logs know of a topology's past.

The brain learns profiles of what it measures itself (:mod:`brain.policy.profile`). A graph that
``stormbrain pipeline graph`` wrote knows more: topologies that ran before there was a brain, or
under another one. The log does not tell groupings, so such a profile fits every topology of that
name whose components it knows; where a parallelism has changed, rates are spread evenly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brain.monitor.snapshot import TopologyView
from brain.monitor.traffic import Rates
from brain.pipeline.profile import Profile as Past
from brain.pipeline.profile import load_profile, profiled_topologies, topology_name
from brain.policy.profile import Profile


@dataclass(frozen=True)
class HistoryProfile(Profile):
    past: Past | None = None

    def fits(self, view: TopologyView) -> bool:
        assert self.past is not None
        known = self.past.tasks_of()
        own = {c for c in view.executors.values() if not c.startswith("__")}
        return bool(own) and own <= known.keys()

    def to_rates(self, view: TopologyView) -> Rates:
        assert self.past is not None
        tasks = _tasks(view)
        expected = self.past.expected(tasks)
        task = np.array(sorted(t for own in tasks.values() for t in own), dtype=np.int32)
        nothing = np.zeros(len(task))
        cpu = _cpu(self.past, tasks)
        return Rates(
            seconds=0.0,
            source=np.array([int(r.source) for r in expected], dtype=np.int32),
            target=np.array([int(r.target) for r in expected], dtype=np.int32),
            system=np.array([r.system for r in expected], dtype=bool),
            tuples=np.array([r.tuples_per_s for r in expected], dtype=np.float64),
            bytes=np.array([r.bytes_per_s for r in expected], dtype=np.float64),
            task=task,
            cpu_points=np.array([cpu[t] for t in task.tolist()], dtype=np.float64),
            executed=nothing,
            emitted=nothing,
            acked=nothing,
            failed=nothing,
            complete_ms=np.full(len(task), np.nan),
        )


def history_profiles(graph: str) -> dict[str, Profile]:
    """The profiles that a graph holds, by topology name; of several submissions the latest."""
    names = dict.fromkeys(topology_name(i) for i in profiled_topologies(graph))
    return {
        name: HistoryProfile(name, (), (), (), 0, past=load_profile(graph, name)) for name in names
    }


def _tasks(view: TopologyView) -> dict[str, list[int]]:
    tasks: dict[str, list[int]] = {}
    for (start, end), component in sorted(view.executors.items()):
        tasks.setdefault(component, []).extend(range(start, end + 1))
    return tasks


def _cpu(past: Past, tasks: dict[str, list[int]]) -> dict[int, float]:
    """Task i as task i was where there are as many, else the component's CPU spread evenly."""
    points = {t.task: t.cpu for t in past.tasks}
    before = past.tasks_of()
    cpu: dict[int, float] = {}
    for component, own in tasks.items():
        old = before.get(component, [])
        if len(old) == len(own):
            cpu.update(zip(sorted(own), (points[t] for t in old), strict=True))
        else:
            cpu.update(dict.fromkeys(own, sum(points[t] for t in old) / len(own)))
    return cpu
