"""Network coordinates: they find a known embedding, and no liar moves them far."""

from __future__ import annotations

import math
import random
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain.qos.vivaldi import MAX_PLACE_MS, Coordinate, Vivaldi, embed
from tests.qos.worlds import plane, wide_area

Network = dict[tuple[str, str], float]


def rtt(network: Network, a: str, b: str) -> float:
    return network.get((a, b), network.get((b, a), 0.0))


def run(
    network: Network, rounds: int, jitter: float = 0.0, liar: str | None = None, lie: object = None
) -> dict[str, Vivaldi]:
    """Every node probes one random peer a round; the liar claims ``lie`` for its coordinate."""
    names = sorted({n for pair in network for n in pair})
    nodes = {n: Vivaldi(i) for i, n in enumerate(names)}
    rng = random.Random(1)
    for _ in range(rounds):
        for n in names:
            peer = rng.choice([p for p in names if p != n])
            said = nodes[peer].coordinate
            if peer == liar and isinstance(lie, Coordinate):
                said = lie
            sample = rtt(network, n, peer) + rng.gauss(0.0, jitter)
            if peer == liar and isinstance(lie, float):
                sample = lie
            nodes[n].observe(peer, said, sample)
    return nodes


def errors(network: Network, nodes: dict[str, Vivaldi], without: str | None = None) -> list[float]:
    return [
        abs(nodes[a].coordinate.distance(nodes[b].coordinate) - true) / true
        for (a, b), true in network.items()
        if without not in (a, b)
    ]


@pytest.mark.parametrize("network", [plane(12, 3), wide_area(8, 5), wide_area(20, 1)])
def test_coordinates_converge_on_a_known_embedding(network: Network) -> None:
    found = errors(network, run(network, 400))
    assert median(found) < 0.05


@pytest.mark.parametrize("seed", range(4))
def test_jitter_of_the_paper_leaves_the_median_error_below_15_percent(seed: int) -> None:
    network = wide_area(8, seed)
    assert median(errors(network, run(network, 300, jitter=3.0))) < 0.15


@pytest.mark.parametrize(
    "lie",
    [
        Coordinate(math.nan, 0.0, 1.0, 0.1),
        Coordinate(math.inf, 0.0, 1.0, 0.1),
        Coordinate(0.0, 0.0, -5.0, 0.1),
        Coordinate(1e12, 0.0, 1.0, 0.0),
        Coordinate(90_000.0, -90_000.0, 1.0, 0.0),
        Coordinate(400.0, 400.0, 10.0, 0.0),
        -20.0,
        0.0,
        math.nan,
        math.inf,
        1e9,
    ],
    ids=str,
)
def test_a_liar_does_not_spoil_the_coordinates_of_the_others(lie: object) -> None:
    network = wide_area(8, 2)
    nodes = run(network, 400, jitter=1.0, liar="n4", lie=lie)
    assert median(errors(network, nodes, without="n4")) < 0.15


@pytest.mark.parametrize("sample", [math.nan, math.inf, -1.0, 0.0, 1e7])
def test_what_cannot_be_a_round_trip_time_is_refused(sample: float) -> None:
    node = Vivaldi()
    before = node.coordinate
    assert not node.observe("p", Coordinate(1.0, 1.0, 1.0, 0.5), sample)
    assert node.coordinate == before


def test_a_late_node_finds_its_place_without_moving_the_others_much() -> None:
    network = wide_area(9, 7)
    old = {pair: ms for pair, ms in network.items() if "n9" not in pair}
    nodes = run(old, 400)
    before = {n: v.coordinate for n, v in nodes.items()}
    late = nodes["n9"] = Vivaldi(77)
    rng = random.Random(3)
    for _ in range(60):
        peer = rng.choice(sorted(before))
        late.observe(peer, nodes[peer].coordinate, rtt(network, "n9", peer))
        nodes[peer].observe("n9", late.coordinate, rtt(network, "n9", peer))
    assert median(errors(network, nodes)) < 0.1


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.floats(allow_nan=True, allow_infinity=True),
            st.floats(allow_nan=True, allow_infinity=True),
            st.floats(allow_nan=True, allow_infinity=True),
            st.floats(allow_nan=True, allow_infinity=True),
            st.floats(allow_nan=True, allow_infinity=True),
        ),
        max_size=40,
    )
)
def test_whatever_is_said_the_coordinate_stays_sane(
    said: list[tuple[float, float, float, float, float]],
) -> None:
    node = Vivaldi(1)
    for i, (x, y, height, error, sample) in enumerate(said):
        node.observe(str(i % 3), Coordinate(x, y, height, error), sample)
        assert node.coordinate.sane
        assert abs(node.coordinate.x) <= MAX_PLACE_MS


def test_embedding_a_matrix_is_repeatable() -> None:
    network = plane(6, 1)
    names = sorted({n for pair in network for n in pair})
    matrix = [[rtt(network, a, b) for b in names] for a in names]
    assert embed(matrix, seed=4) == embed(matrix, seed=4)
    assert embed([[0.0]]) == [Coordinate()]
    assert embed([]) == []
