"""A stronger partitioner as an optional member: Mt-KaHyPar, where it is installed.

``pip install "stormbrain[partitioners]"``. It wins over METIS on many graphs (see
docs/algorithms-benchmark.md). It knows nothing of slots, pins or workers; its parts are repaired
like those of METIS. (KaMinPar reads graphs from files only, so it is compared in the benchmark but
is no member.)
"""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.parts.finish import finish
from brain.algorithms.parts.workspace import Workspace
from brain.model import Options, Placement, Problem, Result

HERE = "brain.algorithms.auto_parts.partitioners"
_VERTEX_SCALE = 1000
_EDGE_SUM = 2**29


def installed() -> list[tuple[str, str]]:
    """(label, where its function is) of the partitioners that can be imported."""
    return [
        (name, f"{HERE}:solve_{name}")
        for name in ("mtkahypar",)
        if importlib.util.find_spec(name) is not None
    ]


def solve_mtkahypar(problem: Problem, current: Placement | None, options: Options) -> Result:
    """Mt-KaHyPar, preset ``quality`` (``preset``: default, quality, highest_quality)."""
    import mtkahypar

    work = Workspace(problem, current, options)
    nodes, load, room = balanced(work)
    if len(nodes) < 2 or len(work.units) <= len(nodes):
        return finish(work, "mtkahypar", work.current_node)
    runtime = _mtkahypar()
    presets = {
        "default": mtkahypar.PresetType.DEFAULT,
        "quality": mtkahypar.PresetType.QUALITY,
        "highest_quality": mtkahypar.PresetType.HIGHEST_QUALITY,
    }
    preset = presets[work.choice("preset", "quality", tuple(presets))]
    context = runtime.context_from_preset(preset)
    context.set_partitioning_parameters(len(nodes), 0.03, mtkahypar.Objective.CUT)
    context.logging = False
    context.set_individual_target_block_weights(room.tolist())
    mtkahypar.set_seed(options.seed % 2**31)
    source, target, weight = _edges_once(work)
    graph = runtime.create_graph(
        context,
        len(work.units),
        len(source),
        list(zip(source.tolist(), target.tolist(), strict=True)),
        load.tolist(),
        weight.tolist(),
    )
    partitioned = graph.partition(context)
    part = np.array([partitioned.block_id(u) for u in range(len(work.units))], dtype=np.int64)
    return finish(work, "mtkahypar", work.units.scatter(nodes[part].astype(np.int32)))


@cache
def _mtkahypar() -> Any:
    """Mt-KaHyPar's runtime; it may be made once in a process only."""
    import mtkahypar

    return mtkahypar.initialize(1)


def balanced(
    work: Workspace,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Usable nodes, the load of each unit and the room of each node, as whole numbers."""
    limits, units = work.limits, work.units
    nodes = np.flatnonzero(limits.usable)
    load, room = units.size.astype(float), np.ones(len(nodes))
    for demand, free in ((units.memory_mb, limits.memory_free), (units.cpu, limits.cpu_free)):
        if demand.sum() > 0 and np.isfinite(free[nodes]).all():
            load, room = demand, np.maximum(free[nodes], 0.0)
    # It wants room for all: where there is less, everybody gets his share of the load.
    room = room * max(1.0, 1.03 * float(load.sum()) / max(float(room.sum()), 1e-12))
    if float(room.max(initial=0.0)) <= 1.0:
        room = room * float(load.sum()) * 1.03 / len(nodes)
    scale = _VERTEX_SCALE / max(float(load.max()), 1e-12)
    whole = np.maximum(np.rint(load * scale), 1).astype(np.int64)
    return nodes, whole, np.maximum(np.floor(room * scale), 1).astype(np.int64)


def _edges_once(
    work: Workspace,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    graph = work.units.graph
    up = graph.sources < graph.indices
    return graph.sources[up], graph.indices[up], whole(graph.weight)[up]


def whole(weight: NDArray[np.float64]) -> NDArray[np.int64]:
    total = float(weight.sum())
    scale = min(_EDGE_SUM / total, 1e6) if total > 0 else 1.0
    return np.maximum(np.rint(weight * scale), 1).astype(np.int64)
