"""Tables for people: what ``solve`` and ``evaluate`` print without ``--json``."""

from __future__ import annotations

from collections import defaultdict

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from brain.model import UNPLACED, Problem, Result, Score, Status

COLOUR = {Status.OK: "green", Status.BEST_EFFORT: "yellow", Status.INFEASIBLE: "red"}


def show_answer(problem: Problem, result: Result) -> None:
    console = Console(highlight=False)
    proven = ", proven optimal" if result.proven_optimal else ""
    bound = "" if result.lower_bound is None else f", lower bound {result.lower_bound:g}"
    console.print(
        f"[{COLOUR[result.status]}]{result.status}[/] by {escape(result.algorithm)}{proven}{bound} "
        f"({result.seconds:.3f} s)"
    )
    console.print(_scores(result.score))
    console.print(_workers(problem, result))
    for reason in result.reasons:
        console.print(f"[yellow]-[/] {escape(reason)}", soft_wrap=True)


def show_evaluation(score: Score, broken: list[tuple[str, str]]) -> None:
    console = Console(highlight=False)
    console.print(_scores(score))
    if not broken:
        console.print("[green]no constraint is violated[/]")
    for kind, message in broken:
        console.print(f"[red]{kind}[/]: {escape(message)}", soft_wrap=True)


def _scores(score: Score) -> Table:
    table = Table("measure", "value", title="Score", title_justify="left")
    table.columns[1].justify = "right"
    for name in ("inter_node", "inter_worker", "imbalance", "moved_executors", "restarted_workers"):
        table.add_row(name.replace("_", " "), f"{getattr(score, name):,g}")
    if score.latency_ms is not None:
        table.add_row("latency ms", f"{score.latency_ms:,g}")
    return table


def _workers(problem: Problem, result: Result) -> Table:
    """One row for each worker, with its executors by component."""
    table = Table("node", "port", "topology", "cpu", "executors", title="Placement")
    table.title_justify = "left"
    members: dict[int, list[int]] = defaultdict(list)
    for e, s in enumerate(result.placement.slot.tolist()):
        if s != UNPLACED:
            members[s].append(e)
    for s in sorted(members):
        t = int(problem.topology_of[members[s][0]])
        table.add_row(
            escape(problem.nodes[int(problem.slots.node[s])].id),
            str(int(problem.slots.port[s])),
            escape(problem.topologies[t].id),
            f"{float(problem.cpu[members[s]].sum()):g}",
            escape(_by_component(problem, t, members[s])),
        )
    return table


def _by_component(problem: Problem, t: int, executors: list[int]) -> str:
    topology, first = problem.topologies[t], int(problem.offsets[t])
    names: dict[str, list[str]] = defaultdict(list)
    for e in executors:
        component = topology.components[int(topology.component_of[e - first])]
        names[component].append(str(topology.executor_ids[e - first]))
    return "; ".join(f"{component}: {' '.join(ids)}" for component, ids in names.items())
