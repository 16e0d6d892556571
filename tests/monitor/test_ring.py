"""Sliding sums equal a plain recomputation, and memory stays bounded."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from brain.monitor.ring import Ring

events = st.lists(st.tuples(st.integers(0, 400), st.integers(-5, 5), st.integers(0, 9)))


@given(events, st.integers(0, 400), st.integers(0, 400))
def test_totals_equal_a_plain_sum_over_what_is_still_kept(
    log: list[tuple[int, int, int]], since: int, until: int
) -> None:
    ring = Ring(quantities=1, buckets=8, bucket_ms=10, max_keys=100)
    kept: list[tuple[int, int, int]] = []
    newest = -(10**9)
    for time, key, value in log:
        taken = ring.add(time, np.array([key]), np.array([[float(value)]]))
        assert taken == (time // 10 > newest - 8)
        if taken:
            kept.append((time // 10, key, value))
            newest = max(newest, time // 10)
    totals = dict(
        zip(ring.keys.tolist(), ring.totals(ring.buckets(since, until))[0].tolist(), strict=True)
    )
    first, last = max(-(-since // 10), newest - 7), until // 10
    for key in {k for _, k, _ in kept}:
        expected = sum(v for b, k, v in kept if k == key and first <= b <= last)
        assert totals.get(key, 0.0) == expected


def test_the_number_of_keys_is_bounded_and_silent_keys_make_room() -> None:
    ring = Ring(quantities=1, buckets=4, bucket_ms=10, max_keys=10)
    ring.add(0, np.arange(10), np.ones((1, 10)))
    ring.add(1, np.arange(100, 105), np.ones((1, 5)))
    assert len(ring.keys) == 10
    assert ring.dropped_keys == 5
    ring.add(100, np.arange(100, 105), np.ones((1, 5)))  # the first ten are long silent
    assert ring.keys.tolist() == [100, 101, 102, 103, 104]


def test_repeated_keys_in_one_call_are_summed() -> None:
    ring = Ring(quantities=2, buckets=4, bucket_ms=10, max_keys=10)
    ring.add(0, np.array([7, 7, 8]), np.array([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]]))
    assert ring.totals([0]).tolist() == [[3.0, 3.0], [30.0, 30.0]]
