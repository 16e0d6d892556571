"""What was counted and did not arrive: the workers say so themselves, the brain passes it on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brain.doctor.check import Check, ok, warn

RECENT_MS = 600_000
"""What was lost longer ago than this, before a brain ran say, is no longer worth a warning."""


def loss_words(losses: Mapping[str, Any]) -> str:
    """In words; empty if nothing was lost."""
    words = (
        (losses["reports"], "windows did not reach a brain"),
        (losses["lines"], "lines were not written to the metric log"),
        (losses["edges"], "edges found no room"),
    )
    return ", ".join(f"{count:,} {told}" for count, told in words if count)


def check_losses(topology: Mapping[str, Any], now_ms: int) -> Check:
    name, losses = f"losses of {topology['name']}", topology["losses"]
    told = loss_words(losses)
    if not told:
        return ok(name, "none")
    if losses["edges"]:
        return warn(
            name, told, "raise brain.scheduler.max.edges: traffic is missing from the graph"
        )
    ago_ms = now_ms - (losses["last_ms"] or 0)
    if ago_ms > RECENT_MS:
        return ok(name, f"{told}; none in the last {RECENT_MS // 60_000} minutes")
    if losses["lines"]:
        return warn(
            name, told, "is the disk of topology.brain.metrics.dir full, or may workers not write?"
        )
    return warn(
        name,
        told,
        "do all workers reach the brain's address? See their logs for «do not reach the brain»; "
        "windows lost while no brain ran are counted, too",
    )
