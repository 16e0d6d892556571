"""Numbers as people read them, with their units."""

from __future__ import annotations

from brain.model import CommGraph

BYTES, TUPLES = "bytes/s", "tuples/s"
"""What a cost is measured in: bytes where the hook has measured any, else tuples."""


def rate(value: float, unit: str = BYTES) -> str:
    """1.2 MB/s or 300 tuples/s."""
    if unit != BYTES:
        return f"{value:,.0f} {unit}"
    for name in ("B", "kB", "MB", "GB"):
        if abs(value) < 999.5:
            return f"{value:.3g} {name}/s"
        value /= 1000
    return f"{value:.3g} TB/s"


def unit_of(graph: CommGraph) -> str:
    """What the costs of this graph are measured in."""
    return BYTES if (graph.weight != graph.tuples).any() else TUPLES
