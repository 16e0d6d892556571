"""Rates stay right through gaps, duplicates, restarts, moves and skewed clocks."""

from __future__ import annotations

import math
import random

import pytest

from brain.monitor.traffic import TopologyTraffic
from tests.harness.wire import report

EDGE = {(1, 2): (500, 50_000)}  # 100 tuples/s, 10 kB/s in windows of 5 s
TASKS = {2: 250.0}  # 5 points


def traffic() -> TopologyTraffic:
    return TopologyTraffic(span_secs=60, max_edges=1000)


def feed(
    t: TopologyTraffic, sequences: range | list[int], skew_ms: int = 0, **more: object
) -> None:
    for n in sequences:
        start = n * 5000
        t.add(report("t", n, start + skew_ms, EDGE, TASKS, **more), start + 5000)


def rate(t: TopologyTraffic, since: int, until: int) -> tuple[float, float, float]:
    r = t.rates(since, until)
    assert len(r.tuples) == 1
    return float(r.tuples[0]), float(r.bytes[0]), float(r.cpu_points[0])


def test_rates_are_per_second() -> None:
    t = traffic()
    feed(t, range(6))
    assert rate(t, 0, 30_000) == pytest.approx((100.0, 10_000.0, 5.0))


def test_duplicates_count_once() -> None:
    t = traffic()
    feed(t, range(6))
    feed(t, range(6))
    assert t.duplicates == 6
    assert rate(t, 0, 30_000) == pytest.approx((100.0, 10_000.0, 5.0))


def test_what_workers_lost_is_counted_once_and_over_their_restarts() -> None:
    t = traffic()
    feed(t, [0], dropped=0, dropped_lines=0)
    assert (t.losses.reports, t.losses.lines, t.losses.last_ms) == (0, 0, None)
    feed(t, [1, 2, 3], dropped=4, dropped_lines=2)
    assert (t.losses.reports, t.losses.lines, t.losses.last_ms) == (4, 2, 10_000)
    feed(t, [1], dropped=9)  # a repeated window tells nothing new
    feed(t, [0, 1], worker="w2", dropped=3)  # counts from its own start
    assert (t.losses.reports, t.losses.lines) == (7, 2)
    feed(t, [4], dropped=None, dropped_lines=-5)  # an older hook, or a liar, takes nothing back
    assert (t.losses.reports, t.losses.lines) == (7, 2)


def test_missing_reports_do_not_lower_the_rate() -> None:
    t = traffic()
    feed(t, [0, 2, 5])
    assert rate(t, 0, 30_000) == pytest.approx((100.0, 10_000.0, 5.0))


def test_order_does_not_matter() -> None:
    t = traffic()
    order = list(range(6))
    random.Random(1).shuffle(order)
    for n in order:  # all arrive together, late and mixed
        t.add(report("t", n, n * 5000, EDGE, TASKS), 30_000)
    assert rate(t, 0, 60_000) == pytest.approx((100.0, 10_000.0, 5.0))


@pytest.mark.parametrize("skew_ms", [-3_600_000, 86_400_000])
def test_a_clock_that_is_wrong_by_hours_changes_nothing(skew_ms: int) -> None:
    t = traffic()
    feed(t, range(6), skew_ms)
    assert rate(t, 0, 30_000) == pytest.approx((100.0, 10_000.0, 5.0))


def test_a_queue_of_late_windows_lands_in_the_past() -> None:
    t = traffic()
    feed(t, range(4))
    for n in range(4, 8):  # the brain was away for 20 s, then all come at once
        t.add(report("t", n, n * 5000, EDGE, TASKS), 40_000)
    assert rate(t, 35_000, 40_000)[0] == pytest.approx(100.0)
    recent = t.rates(35_000, 40_000)
    assert recent.seconds == pytest.approx(5.0)


def test_a_task_that_moves_to_another_worker_keeps_its_rate() -> None:
    t = traffic()
    feed(t, range(3), worker="old", node="n1")
    feed(t, range(3, 6), worker="new", node="n2")
    assert rate(t, 0, 30_000) == pytest.approx((100.0, 10_000.0, 5.0))
    assert t.locations[2] == ("n2", 6700)


def test_a_restarted_worker_may_count_from_zero_again() -> None:
    t = traffic()
    feed(t, range(3), worker="6700-a")
    for n in range(3):
        start = 15_000 + n * 5000
        t.add(report("t", n, start, EDGE, TASKS, worker="6700-b"), start + 5000)
    assert rate(t, 0, 30_000) == pytest.approx((100.0, 10_000.0, 5.0))


def test_impossible_numbers_are_not_believed() -> None:
    t = traffic()
    feed(t, range(2))
    lie = report("t", 9, 10_000, {(1, 2): (-5, -7)}, {2: math.nan, 3: math.inf, 4: -1.0})
    t.add(lie, 15_000)
    r = t.rates(0, 15_000)
    assert r.cpu_points.tolist() == pytest.approx([500.0 / 15.0 / 10.0, 0.0, 0.0])
    assert (r.tuples >= 0).all()


def test_old_traffic_is_forgotten() -> None:
    t = traffic()
    feed(t, range(6))
    t.add(report("t", 99, 200_000, {}, {2: 0.0}), 205_000)
    assert not t.rates(0, 205_000).measured


def test_a_hundred_thousand_edges_fit_in_a_bounded_space() -> None:
    t = TopologyTraffic(span_secs=60, max_edges=100_000)
    edges = {(s, 1000 + d): (10, 1000) for s in range(400) for d in range(300)}
    tasks = {1000 + d: 1.0 for d in range(300)}
    for n in range(3):
        t.add(report("t", n, n * 5000, edges, tasks), n * 5000 + 5000)
    assert t.edges == 100_000
    assert t.nbytes < 128 * 1024 * 1024


def windows_of(tuples: list[int]) -> TopologyTraffic:
    t = traffic()
    for n, count in enumerate(tuples):
        t.add(report("t", n, n * 5000, {(1, 2): (count, count * 100)}, TASKS), n * 5000 + 5000)
    return t


def test_a_burst_of_one_window_decides_nothing() -> None:
    t = windows_of([500, 500, 500, 50_000, 500, 500, 500])
    assert float(t.rates(0, 35_000).tuples[0]) > 1000
    assert float(t.rates(0, 35_000, burst_factor=3.0).tuples[0]) == pytest.approx(100.0)


def test_a_high_last_window_waits_until_it_has_proved_to_last() -> None:
    t = windows_of([500, 500, 500, 500, 500, 50_000])
    assert float(t.rates(0, 30_000, burst_factor=3.0).tuples[0]) == pytest.approx(100.0)


def test_a_change_that_lasts_is_believed() -> None:
    t = windows_of([500, 500, 500, 500, 50_000, 50_000, 50_000])
    assert float(t.rates(0, 35_000, burst_factor=3.0).tuples[0]) > 4000


def test_a_worker_that_floods_is_held_to_its_rate() -> None:
    t = TopologyTraffic(60, 1000, reports_per_minute=10)
    taken = [t.add(report("t", n, n, EDGE, TASKS), 5000 + n) for n in range(50)]
    assert taken.count(True) == 10
    assert t.refused == 40
    assert t.add(report("t", 99, 60_000, EDGE, TASKS), 70_000)


def test_places_of_tasks_are_bounded_like_edges() -> None:
    traffic = TopologyTraffic(span_secs=60, max_edges=1000, window_secs=5)
    for sequence in range(30):
        tasks = dict.fromkeys(range(sequence * 100, sequence * 100 + 100), 1.0)
        traffic.add(report("t-1-1", sequence, 0, {}, tasks), 5000)
    assert len(traffic.locations) == 1000
