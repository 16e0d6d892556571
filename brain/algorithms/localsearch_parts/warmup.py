"""Loads the compiled functions, so that no deadline pays for it.

numba compiles each function once and keeps it on disk: beside the source, or in the user's cache
directory where that is not writable (``NUMBA_CACHE_DIR`` overrides both). Loading takes a few
tenths of a second; the very first compilation some tens of seconds.
"""

from __future__ import annotations

import threading

import numpy as np

from brain.algorithms.localsearch_parts.driver import Search
from brain.algorithms.online_phase import Bins, assign_pairs
from brain.algorithms.parts.limits import Limits
from brain.algorithms.parts.units import Units
from brain.model import CommGraph, Node, Problem, Topology

_lock = threading.Lock()
_warm = False


def is_warm() -> bool:
    """Whether this process has the compiled functions loaded."""
    return _warm


def warm_up() -> None:
    """Compiles or loads everything that local search and ``online`` need, once per process."""
    global _warm
    with _lock:
        if _warm:
            return
        four = 4
        topology = Topology(
            id="warm-up",
            components=("c",),
            component_of=np.zeros(four, dtype=np.int32),
            cpu=np.ones(four),
            memory_mb=np.zeros(four),
            executor_ids=range(four),
        )
        graph = CommGraph.from_edges(four, [0, 1, 2], [1, 2, 3], [1.0, 2.0, 1.0])
        problem = Problem((Node("a", (1,), cpu=2.0), Node("b", (1,), cpu=2.0)), (topology,), graph)
        limits = Limits.of(problem, None)
        start = np.array([0, 1, 0, 1], dtype=np.int32)
        units = Units.of(problem, limits, graph)
        # A fresh placement and a re-placement, which anneal by different functions.
        for search in (Search(limits, units), Search(limits, units, home=start, move_cost=1.0)):
            search.load(start)
            search.polish()
            search.anneal_softly(10)
            search.anneal(10)
        bins = Bins(np.ones(four), np.full(2, 4.0), np.full(2, four, dtype=np.int64))
        assign_pairs(graph.symmetric, bins, np.ones(four, dtype=bool))
        bins.least_loaded(0)
        _warm = True
