"""Windows and joins against what their definitions say, whatever the order of the tuples."""

from __future__ import annotations

import json
import math
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from topologies.common.identity import END_OF_TIME, SeenIds
from topologies.common.windows import SlidingWindows, Summary, add_exactly
from topologies.katts.join import LEFT, RIGHT, TemporalJoin

events_strategy = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 500), st.floats(-1e9, 1e9)), max_size=40
)


def by_definition(
    events: list[tuple[str, int, float]], length: int, step: int
) -> dict[tuple[str, int], tuple[float, float, float]]:
    found = {}
    for group in "ab":
        for end in range(step, 501 + length + step, step):
            inside = [v for g, t, v in events if g == group and end - length <= t < end]
            if inside:
                total = math.fsum(inside)
                found[group, end] = (min(inside), max(inside), total / len(inside))
    return found


@settings(max_examples=150, deadline=None)
@given(
    events_strategy,
    st.integers(1, 60),
    st.integers(1, 60),
    st.lists(st.integers(0, 600), max_size=5),
    st.randoms(use_true_random=False),
)
def test_windows_hold_what_their_definition_says(
    events: list[tuple[str, int, float]], length: int, step: int, marks: list[int], rng: Any
) -> None:
    windows = SlidingWindows(length, step)
    found: dict[tuple[str, int], tuple[float, float, float]] = {}
    waiting = list(events)
    rng.shuffle(waiting)
    for mark in [*sorted(marks), END_OF_TIME]:
        for event in [e for e in waiting if e[1] < mark]:
            windows.add(event[0], event[1], [event[2]])
        waiting = [e for e in waiting if e[1] >= mark]
        state = json.loads(json.dumps(windows.state()))
        windows = SlidingWindows(length, step)
        windows.load(state)
        for group, end, (summary,) in windows.close(mark):
            assert (group, end) not in found
            assert end <= mark
            found[group, end] = (summary.minimum, summary.maximum, summary.average)
    assert found == by_definition(events, length, step)


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=50), st.integers(0, 49))
def test_sums_do_not_depend_on_order_or_grouping(values: list[float], cut: int) -> None:
    forward, left, right = Summary(), Summary(), Summary()
    for value in values:
        forward.add(value)
    for value in reversed(values[:cut]):
        left.add(value)
    for value in values[cut:]:
        right.add(value)
    right.merge(left)
    assert forward.total == right.total == math.fsum(values)
    partials: list[float] = []
    add_exactly(partials, 0.1)
    assert math.fsum(partials) == 0.1


rows_strategy = st.lists(
    st.tuples(st.sampled_from([LEFT, RIGHT]), st.sampled_from("ab"), st.integers(0, 100)),
    max_size=30,
)


@settings(max_examples=150, deadline=None)
@given(rows_strategy, st.integers(-20, 20), st.integers(0, 30), st.randoms(use_true_random=False))
def test_the_join_finds_each_fitting_pair_and_forgets_old_rows(
    rows: list[tuple[str, str, int]], min_lag: int, width: int, rng: Any
) -> None:
    max_lag = min_lag + width
    join = TemporalJoin(1, min_lag, max_lag)
    named = [(f"r{i}:0", row) for i, row in enumerate(rows)]
    waiting = list(named)
    rng.shuffle(waiting)
    pairs: dict[str, list[Any]] = {}
    for mark in (25, 50, 75, END_OF_TIME):
        for name, (side, key, time) in [r for r in waiting if r[1][2] < mark]:
            for _ in range(rng.choice([1, 1, 2])):
                for output in join.insert([side, key, name, time], name):
                    assert pairs.setdefault(output.id, output.values) == output.values
        waiting = [r for r in waiting if r[1][2] >= mark]
        list(join.advance(mark))
        state = json.loads(json.dumps(join.state()))
        join = TemporalJoin(1, min_lag, max_lag)
        join.load(state)
    expected = {
        f"{left}&{right}"
        for left, (side_l, key_l, time_l) in named
        for right, (side_r, key_r, time_r) in named
        if (side_l, side_r, key_l) == (LEFT, RIGHT, key_r) and min_lag <= time_l - time_r <= max_lag
    }
    assert pairs.keys() == expected
    assert len(join) == 0


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 2)), max_size=60), st.data())
def test_seen_ids_count_each_name_once_in_bounded_memory(
    names: list[tuple[int, int]], data: st.DataObject
) -> None:
    seen, known = SeenIds(), set()
    for seq, part in names:
        name = f"s.0:{seq}:{part}"
        assert seen.first_time(name) == (name not in known)
        known.add(name)
    floor = data.draw(st.integers(-1, 20))
    seen.settle("s.0", floor)
    copy = SeenIds()
    copy.load(json.loads(json.dumps(seen.state())))
    assert len(copy) == len({n for n in known if int(n.split(":")[1]) > floor})
    assert not any(copy.first_time(f"s.0:{seq}:9") for seq in range(floor + 1))
