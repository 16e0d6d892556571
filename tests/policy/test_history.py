"""A topology that the brain has never measured starts from what the metric logs know of it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from brain.config import Settings
from brain.core import BrainCore
from brain.monitor.snapshot import Component, TopologyView
from brain.pipeline.profile import NodeProfile, Profile, Rate, TaskProfile
from brain.plans.plan import Executor
from brain.policy.history import HistoryProfile


def past() -> HistoryProfile:
    """Two lines a → b that say unequally much, tasks 3 to 6."""
    tasks = tuple(
        TaskProfile(task, component, f"{task}-{task}", cpu, "n1", 6700)
        for task, component, cpu in ((3, "a", 10.0), (4, "a", 30.0), (5, "b", 5.0), (6, "b", 7.0))
    )
    rates = (Rate(3, 5, 100.0, 6000.0), Rate(4, 6, 300.0, 18_000.0))
    own = Profile(
        "lines-1-1700000000", "lines", 60_000, 10, tasks,
        (Rate("a", "b", 400.0, 24_000.0),), rates, (NodeProfile("n1", (6700,), 200.0, None),),
    )  # fmt: skip
    return HistoryProfile("lines", (), (), (), 0, past=own)


def view(executors: Mapping[Executor, str]) -> TopologyView:
    components = {c: Component(c, "bolt", 2) for c in executors.values()}
    return TopologyView("lines-2-1800000000", "lines", 2, components, executors, {}, {})


def test_task_i_is_expected_to_say_what_task_i_said() -> None:
    again = view({(1, 1): "a", (2, 2): "a", (7, 7): "b", (8, 8): "b", (9, 9): "__acker"})
    assert past().fits(again)
    rates = past().to_rates(again)
    edges = zip(rates.source.tolist(), rates.target.tolist(), rates.tuples.tolist(), strict=True)
    assert set(edges) == {(1, 7, 100.0), (2, 8, 300.0)}
    cpu = dict(zip(rates.task.tolist(), rates.cpu_points.tolist(), strict=True))
    assert cpu == {1: 10.0, 2: 30.0, 7: 5.0, 8: 7.0, 9: 0.0}


def test_another_parallelism_gets_the_same_traffic_and_load_in_all() -> None:
    wider = view({(1, 2): "a", (3, 4): "a", (5, 5): "b", (6, 6): "b"})
    rates = past().to_rates(wider)
    assert rates.tuples.sum() == pytest.approx(400)
    assert rates.bytes.sum() == pytest.approx(24_000)
    assert len(rates.source) == 8
    assert rates.cpu_points.sum() == pytest.approx(52)
    assert np.unique(rates.cpu_points[:4]).size == 1


def test_a_component_that_the_logs_have_never_seen_does_not_fit() -> None:
    assert not past().fits(view({(1, 1): "a", (2, 2): "new"}))


def test_the_brain_takes_it_for_the_first_placement() -> None:
    core = BrainCore(Settings({}))
    core.profiles["lines"] = past()
    again = view({(1, 1): "a", (2, 2): "a", (3, 3): "b", (4, 4): "b"})
    assert core._new_record(again, 0).profile is core.profiles["lines"]
