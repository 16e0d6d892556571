"""The papers' own problems: I-Scheduler's 72 cases, Fischer's topologies."""

from __future__ import annotations

from typing import Any

from benchmarks.algorithm_parts.clock import timed
from brain.algorithms import registry
from brain.algorithms.parts.verify import check
from brain.model import Options, Problem
from brain.problems.clusters import NAMED, cluster
from brain.problems.fischer import opengov, parallel, payload, reference
from brain.problems.micro import LAYOUTS, PAPER_TASKS, micro

PAPER_MISSES = {("diamond", "heterogeneous", 30): 148.0, ("star", "heterogeneous", 30): 90.0}
HEURISTICS = ("even", "offline", "online", "metis", "rstorm", "tstorm", "ischeduler")


def micro_benchmarks(theta: float) -> dict[str, Any]:
    """The 72 cases by exact, auto and ischeduler, each under θ."""
    rows = []
    for layout in LAYOUTS:
        for nodes in NAMED:
            for tasks in PAPER_TASKS:
                rows.append(_case(layout, nodes, tasks, theta))
    summary: dict[str, Any] = {"cases": len(rows)}
    for name in ("exact", "auto"):
        summary[f"{name}_proven"] = sum(r[name]["proven"] for r in rows)
        summary[f"{name}_slowest_seconds"] = max(r[name]["seconds"] for r in rows)
        summary[f"{name}_slowest_cpu_seconds"] = max(r[name]["cpu_seconds"] for r in rows)
    summary["ischeduler_optimal"] = sum(r["ischeduler"]["cost"] <= r["best"] + 1e-9 for r in rows)
    summary["ischeduler_no_worse_than_paper"] = sum(
        r["ischeduler"]["cost"] <= r["paper_ischeduler"] + 1e-9 for r in rows
    )
    return {"summary": summary, "rows": rows}


def _case(layout: str, nodes: str, tasks: int, theta: float) -> dict[str, Any]:
    problem = micro(layout, tasks, cluster(nodes))
    row: dict[str, Any] = {"layout": layout, "nodes": nodes, "tasks": tasks}
    for name in ("exact", "auto", "ischeduler"):
        solve = registry.get(name)
        result, wall, cpu = timed(lambda s=solve: s(problem, None, Options(theta=theta)))
        assert check(problem, result) == []
        row[name] = {
            "cost": result.score.inter_node,
            "proven": result.proven_optimal,
            "seconds": round(wall, 4),
            "cpu_seconds": round(cpu, 4),
        }
    row["best"] = min(row[n]["cost"] for n in ("exact", "auto"))
    row["paper_ischeduler"] = PAPER_MISSES.get((layout, nodes, tasks), row["best"])
    return row


def fischer(theta: float, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Share of the traffic between nodes by each algorithm; auto is to be at most every other."""
    makers = {"parallel": parallel, "payload": payload, "reference": reference}
    rows = []
    for size in sizes:
        problems: dict[str, Problem] = {
            **{name: make(7, size) for name, make in makers.items()},
            "opengov": opengov(size),
        }
        for name, problem in problems.items():
            rows.append(_compare(f"{name}-{size}", problem, theta))
    return rows


def _compare(name: str, problem: Problem, theta: float) -> dict[str, Any]:
    row: dict[str, Any] = {
        "problem": name,
        "executors": len(problem),
        "nodes": len(problem.nodes),
        "edges": problem.graph.edges,
    }
    shares: dict[str, float | None] = {}
    options = {"metis-cut": {"objective": "cut"}, "ischeduler": {"phi": 12}}
    for label in (*HEURISTICS, "metis-cut", "localsearch", "auto"):
        solve = registry.get("metis" if label == "metis-cut" else label)
        params = options.get(label, {})
        result, wall, _ = timed(
            lambda s=solve, p=params: s(problem, None, Options(theta=theta, params=p))
        )
        ok = str(result.status) == "ok"
        shares[label] = round(result.score.inter_node / problem.graph.total, 5) if ok else None
        if label == "auto":
            row["auto_seconds"] = round(wall, 3)
            row["auto_winner"] = result.details["winner"]
    others = [s for label, s in shares.items() if label != "auto" and s is not None]
    row["shares"] = shares
    row["auto_is_best"] = shares["auto"] is not None and shares["auto"] <= min(others) + 1e-9
    return row
