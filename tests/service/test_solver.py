"""Algorithms run in a process that can be stopped."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import numpy as np
import pytest

from brain.model import CommGraph, Node, Options, Problem, Topology
from brain.service.solver import Solver, SolverFailed

PROBLEM = Problem(
    (Node("n1", (6700,)), Node("n2", (6700,))),
    (
        Topology("t", ("a",), np.zeros(4, dtype=np.int32), np.ones(4), np.zeros(4), range(4)),
    ),
    CommGraph.from_edges(4, [0, 2], [1, 3], [10.0, 10.0]),
)  # fmt: skip


@pytest.fixture(scope="module")
def solver() -> Iterator[Solver]:
    solver = Solver()
    yield solver
    solver.stop()


def test_a_result_comes_back(solver: Solver) -> None:
    result = solver.solve("metis", PROBLEM, None, Options())
    assert result.score.inter_node == 0


def test_an_unknown_algorithm_is_named(solver: Solver) -> None:
    with pytest.raises(SolverFailed, match="no-such"):
        solver.solve("no-such", PROBLEM, None, Options())


def test_a_child_that_dies_is_replaced(solver: Solver) -> None:
    solver.solve("metis", PROBLEM, None, Options())
    os.kill(solver._child.pid, signal.SIGKILL)
    solver._child.join()
    assert solver.solve("metis", PROBLEM, None, Options()).score.inter_node == 0


def test_a_child_that_hangs_is_stopped_and_told(
    solver: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("brain.service.solver.GRACE_SECS", 0.5)
    solver.start()
    os.kill(solver._child.pid, signal.SIGSTOP)
    with pytest.raises(SolverFailed, match="did not return"):
        solver.solve("metis", PROBLEM, None, Options(theta=0.01))
    monkeypatch.undo()
    assert solver.solve("metis", PROBLEM, None, Options()).score.inter_node == 0
