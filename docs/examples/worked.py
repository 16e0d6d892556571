"""Computes the numbers of docs/algorithms.md; ``python docs/examples/worked.py`` writes them there.

The problem is I-Scheduler's diamond with 30 tasks on unequal nodes (3 for six tasks, 3 for four,
4 for two), for which the paper gives the optimum: 146.
"""

from __future__ import annotations

import re
from pathlib import Path

from brain.algorithms import registry
from brain.algorithms.offline import most_per_slot
from brain.model import Options
from brain.problems.clusters import cluster
from brain.problems.micro import micro

PAGE = Path(__file__).parents[1] / "algorithms.md"
_MADE = re.compile(r"<!-- (\w+) -->\n.*?<!-- /\1 -->", re.DOTALL)


def comparison() -> str:
    problem = micro("diamond", 30, cluster("heterogeneous"))
    rows = ["| algorithm | inter-node traffic | within all limits | proven |", "|---|---|---|---|"]
    for name in registry.names():
        result = registry.run(name, problem, None, Options(theta=5.0))
        kept = "yes" if result.status == "ok" else result.reasons[0]
        proven = "optimal" if result.proven_optimal else ""
        rows.append(f"| `{name}` | {result.score.inter_node:g} | {kept} | {proven} |")
    return "\n".join(rows)


def executors_per_slot() -> str:
    alphas = (0.0, 0.05, 0.1, 0.2, 1.0)
    head = "| α | " + " | ".join(f"{a:g}" for a in alphas) + " |"
    most = "| M(α) | " + " | ".join(str(most_per_slot(30, 8, a)) for a in alphas) + " |"
    return "\n".join([head, "|---" * (len(alphas) + 1) + "|", most])


def fused() -> str:
    problem = micro("diamond", 30, cluster("heterogeneous"))
    options = Options(theta=5.0, params={"phi": 8})
    (trace,) = registry.run("ischeduler", problem, None, options).details["trace"]
    rows = ["| node capacity | nodes | k | fused | unfused tasks left |", "|---|---|---|---|---|"]
    for step in trace["iterations"]:
        rows.append(
            f"| {step['capacity']} | {step['quantity']} | {step['k']} | {step['alpha']} "
            f"| {step['t']} |"
        )
    return "\n".join(rows)


TABLES = {"comparison": comparison, "slots": executors_per_slot, "fused": fused}


def with_numbers(page: str) -> str:
    """The page with every table between ``<!-- name -->`` and ``<!-- /name -->`` made anew."""

    def made(found: re.Match[str]) -> str:
        return f"<!-- {found[1]} -->\n{TABLES[found[1]]()}\n<!-- /{found[1]} -->"

    return _MADE.sub(made, page)


if __name__ == "__main__":
    PAGE.write_text(with_numbers(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
