"""KATTS (Fischer et al. 2013): learnt placements against the oracle, from ``pipeline learn``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brain.bench.report.document import Block, Heading, Text, table

COMMAND = "stormbrain pipeline learn --json > benchmarks/results/learn.json"
PAPER = {
    ("opengov", "uniform"): ("69.5 … 69.8", "5.27"),
    ("opengov", "oracle"): ("29 … 37.7", "7.04"),
    ("opengov", "prev-1"): ("30.1 … 36", "–"),
    ("srbench", "uniform"): ("100", "2.68"),
    ("srbench", "oracle"): ("< 1", "3.74"),
    ("srbench", "prev-1"): ("< 1", "–"),
}
"""Network messages and load deviation in %, where the paper gives them. It has Storm's even
placement where we have ``uniform``; of the load it gives one figure for all learnt placements."""


def blocks(learnt: Sequence[Mapping[str, Any]] | None, provenance: str = "") -> list[Block]:
    found: list[Block] = [Heading("Learnt placements against the oracle", 3)]
    if not learnt:
        return [*found, Text(f"No results yet of `{COMMAND}`.")]
    rows = []
    for document in learnt:
        for strategy, mean in document["summary"].items():
            network, load = PAPER.get((document["history"], strategy), ("–", "–"))
            rows.append(
                [
                    document["history"],
                    document["objective"],
                    strategy,
                    network,
                    f"{mean['network_percent']:.2f}",
                    load,
                    f"{mean['load_rsd_percent']:.2f}",
                ]
            )
    machines = ", ".join(str(m) for m in dict.fromkeys(d["machines"] for d in learnt))
    head = [
        "history", "METIS objective", "placement", "network messages %, paper", "ours",
        "load deviation %, paper", "ours",
    ]  # fmt: skip
    return [
        *found,
        Text(
            f"The history is cut into slices; a slice is placed on {machines} machines by its own "
            "traffic (oracle) or by that of the 1, 2 or 3 slices before it, and judged on itself; "
            "`uniform` deals the tasks out at random. Means over the slices. Messages that cross "
            f"machines, in % of all. Command: `{COMMAND}`{provenance}."
        ),
        table(head, rows, left=3),
    ]
