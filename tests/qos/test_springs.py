"""Spring relaxation finds the known optimum on small cases, and never adds energy."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain.qos.springs import energy, middle, relax


def test_one_operator_between_two_ends_rests_where_the_rates_pull_it() -> None:
    found = relax(
        {"a": (0.0, 0.0), "b": (30.0, 0.0)}, {"x": (5.0, 9.0)}, [("a", "x", 2.0), ("x", "b", 1.0)]
    )
    assert found["x"] == pytest.approx((10.0, 0.0), abs=0.05)


def test_a_chain_rests_evenly_between_its_ends() -> None:
    springs = [("a", 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (3, "b", 1.0)]
    found = relax(
        {"a": (0.0, 0.0), "b": (40.0, 20.0)},
        dict.fromkeys([1, 2, 3], (0.0, 0.0)),
        springs,
        tolerance=1e-6,
    )
    assert found[1] == pytest.approx((10.0, 5.0), abs=0.01)
    assert found[2] == pytest.approx((20.0, 10.0), abs=0.01)
    assert found[3] == pytest.approx((30.0, 15.0), abs=0.01)


def test_a_body_without_springs_stays() -> None:
    assert relax({}, {"x": (3.0, 4.0)}, []) == {"x": (3.0, 4.0)}
    assert middle([]) is None
    assert middle([((1.0, 1.0), float("nan"))]) is None


places = st.tuples(st.floats(-200, 200), st.floats(-200, 200))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(places, min_size=1, max_size=3),
    st.lists(places, min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.floats(0.1, 100)), max_size=15),
)
def test_relaxation_never_adds_energy_and_ends_at_rest(
    ends: list[tuple[float, float]],
    free: list[tuple[float, float]],
    talk: list[tuple[int, int, float]],
) -> None:
    fixed = {f"end{i}": p for i, p in enumerate(ends)}
    loose = {f"op{i}": p for i, p in enumerate(free)}
    names = [*fixed, *loose]
    springs = [(names[a % len(names)], names[b % len(names)], r) for a, b, r in talk]
    found = relax(fixed, loose, springs)
    before, after = {**fixed, **loose}, {**fixed, **found}
    assert energy(after, springs) <= energy(before, springs) + 1e-6
    for body in loose:
        for dx, dy in ((5.0, 0.0), (-5.0, 0.0), (0.0, 5.0), (0.0, -5.0)):
            x, y = found[body]
            nudged = {**after, body: (x + dx, y + dy)}
            assert energy(nudged, springs) >= energy(after, springs) - 10.0
