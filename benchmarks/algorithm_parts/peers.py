"""Stronger partitioners on the same graphs: Mt-KaHyPar and KaMinPar, where they are installed."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.algorithm_parts.clock import timed
from brain.algorithms import auto
from brain.algorithms.auto_parts import partitioners
from brain.algorithms.localsearch import metis_start
from brain.algorithms.parts.finish import finish
from brain.algorithms.parts.workspace import Workspace
from brain.model import Options, Problem
from brain.problems.fischer import opengov, reference
from brain.problems.randoms import random_problem


def partitioners_compared(theta: float) -> list[dict[str, Any]]:
    """Share of the traffic between nodes after repair, and seconds, by partitioner."""
    problems = {
        "reference-40": reference(7, 40),
        "opengov-40": opengov(40),
        "random-1000x100": random_problem(1000, 100, 0),
    }
    return [{"problem": name, **_row(problem, theta)} for name, problem in problems.items()]


def _row(problem: Problem, theta: float) -> dict[str, Any]:
    work = Workspace(problem, None, Options())
    total = problem.graph.total

    def entry(label: str, call: Any) -> dict[str, Any]:
        result, wall, cpu = timed(call)
        share = result.score.inter_node / total
        return {
            "partitioner": label,
            "status": str(result.status),
            "share": round(share, 5),
            "seconds": round(wall, 3),
            "cpu_seconds": round(cpu, 3),
        }

    rows = [entry("metis", lambda: finish(work, "metis", work.units.scatter(metis_start(work, 0))))]
    if importlib.util.find_spec("mtkahypar") is not None:
        for preset in ("default", "quality"):
            options = Options(params={"preset": preset})
            rows.append(
                entry(
                    f"mtkahypar {preset}",
                    lambda o=options: partitioners.solve_mtkahypar(problem, None, o),
                )
            )
    if importlib.util.find_spec("kaminpar") is not None:
        rows.append(entry("kaminpar", lambda: finish(work, "kaminpar", _kaminpar(work))))
    members = {"members": ["metis"]}
    rows.append(
        entry(
            "auto without them",
            lambda: auto.solve(problem, None, Options(theta=theta, params=members)),
        )
    )
    rows.append(entry("auto", lambda: auto.solve(problem, None, Options(theta=theta))))
    return {"rows": rows}


def _kaminpar(work: Workspace) -> NDArray[np.int32]:
    """KaMinPar reads METIS files only."""
    import kaminpar

    nodes, load, room = partitioners.balanced(work)
    graph = work.units.graph
    weight = partitioners.whole(graph.weight)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "graph.metis"
        with path.open("w") as file:
            file.write(f"{len(graph)} {graph.edges // 2} 11\n")
            for u in range(len(graph)):
                span = range(int(graph.indptr[u]), int(graph.indptr[u + 1]))
                pairs = " ".join(f"{graph.indices[i] + 1} {weight[i]}" for i in span)
                file.write(f"{load[u]} {pairs}\n")
        loaded = kaminpar.load_graph(str(path), kaminpar.GraphFileFormat.METIS)
    part = kaminpar.KaMinPar(1, kaminpar.default_context()).compute_partition(
        loaded, [int(r) for r in room]
    )
    return work.units.scatter(nodes[np.asarray(part)].astype(np.int32))
