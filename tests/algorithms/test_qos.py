"""What only the QoS algorithms promise: latency, load and availability decide."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from brain.algorithms import registry
from brain.algorithms.parts.verify import check
from brain.model import Node, Options, Problem
from tests.algorithms.clusters import chain, nodes_of, topology, union

NAMES = ("qos", "qos-bootstrap")


def wide(count: int = 8, seed: int = 0) -> np.ndarray:
    """Round-trip times of points in a plane, 24 … 64 ms as in the paper."""
    rng = np.random.default_rng(seed)
    points = rng.random((count, 2))
    far = np.linalg.norm(points[:, None] - points[None, :], axis=2)
    matrix = 24.0 + 40.0 * far / far.max()
    np.fill_diagonal(matrix, 0.0)
    return matrix


def fog(seed: int = 0, **fields: object) -> Problem:
    """Tag-and-count between pinned ends on eight nodes of two slots."""
    nodes = [Node(f"n{i + 1}", (6700, 6701), cpu=100.0) for i in range(8)]
    fields.setdefault("pin", {"c0": ("n1",), "c6": ("n7",)})
    problem = chain(7, nodes, cpu=2.0, workers=8, **fields)
    return replace(problem, latency_ms=wide(8, seed))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_one_stream_is_left_between_the_pinned_ends(name: str, seed: int) -> None:
    problem = fog(seed)
    assert problem.latency_ms is not None
    result = registry.run(name, problem, None, Options())
    assert check(problem, result, None, Options()) == []
    even = registry.run("even", problem, None, Options())
    assert even.score.latency_ms is not None
    assert result.score.latency_ms == pytest.approx(problem.latency_ms[0, 6] / 6.0)
    assert result.score.latency_ms < 0.5 * even.score.latency_ms


@pytest.mark.parametrize("name", NAMES)
def test_a_loaded_node_between_near_ones_is_avoided(name: str) -> None:
    problem = fog(pin={"c0": ("n1", "n2", "n3"), "c6": ("n1", "n2", "n3")})
    nodes = list(problem.nodes)
    nodes[0] = replace(nodes[0], utilisation=1.0)
    loaded = replace(problem, nodes=tuple(nodes))
    result = registry.run(name, loaded, None, Options())
    assert 0 not in nodes_of(loaded, result.placement)


def test_from_what_runs_executors_leave_a_node_that_became_loaded() -> None:
    problem = fog()
    first = registry.run("qos", problem, None, Options()).placement
    where = nodes_of(problem, first)
    busy = max(set(where), key=where.count)
    nodes = [
        replace(n, utilisation=0.97 if i == busy else 0.1) for i, n in enumerate(problem.nodes)
    ]
    loaded = replace(problem, nodes=tuple(nodes))
    again = registry.run("qos", loaded, first, Options())
    pinned = {0: where[0], 6: where[6]}
    after = nodes_of(loaded, again.placement)
    assert all(after[e] == n for e, n in pinned.items())
    assert sum(n == busy for e, n in enumerate(after) if e not in pinned) == 0


def test_a_flaky_node_is_as_bad_as_a_loaded_one() -> None:
    problem = fog(pin={"c0": ("n1", "n2"), "c6": ("n1", "n2")})
    nodes = list(problem.nodes)
    nodes[0] = replace(nodes[0], availability=0.3)
    result = registry.run("qos", replace(problem, nodes=tuple(nodes)), None, Options())
    assert 0 not in nodes_of(problem, result.placement)


def test_auto_weighs_latency_if_told_to() -> None:
    """Two nodes hold the executors; which pair of nodes is all one for traffic, not for latency."""
    nodes = [Node(f"n{i}", (1, 2), cpu=200.0) for i in range(5)]
    own = topology("t", {"a": 2, "b": 2}, cpu=100.0, workers=2)
    problem = union(nodes, [own], [[(0, 2, 5.0), (1, 3, 5.0), (0, 3, 4.0), (1, 2, 4.0)]])
    latency = np.full((5, 5), 80.0)
    latency[3, 4] = latency[4, 3] = 5.0
    np.fill_diagonal(latency, 0.0)
    near = replace(problem, latency_ms=latency)
    options = Options(theta=1.0, params={"latency_weight": 0.5, "steps": 2000})
    result = registry.run("auto", near, None, options)
    assert check(near, result, None, options) == []
    assert set(nodes_of(near, result.placement)) == {3, 4}
    qos = registry.run("qos", near, None, Options())
    assert result.score.latency_ms is not None
    assert qos.score.latency_ms is not None
    assert result.score.latency_ms <= qos.score.latency_ms + 1e-9


def test_pools_gather_around_the_pinned_executors() -> None:
    """Four workers, two pinned ends: the ends' neighbours are in their pools."""
    problem = fog()
    problem = replace(problem, topologies=(replace(problem.topologies[0], workers=2),))
    where = nodes_of(problem, registry.run("qos-bootstrap", problem, None, Options()).placement)
    assert where[1] == where[0] == 0
    assert where[5] == where[6] == 6
