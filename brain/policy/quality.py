"""What agents say of their nodes, as part of a placement problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from brain.model import Node
from brain.qos.space import CostSpace, NodeQos


def with_quality(
    nodes: tuple[Node, ...], quality: Mapping[str, NodeQos], burnt: Mapping[str, float]
) -> tuple[Node, ...]:
    """Utilisation by what is not in the problem, and availability, where agents tell them."""
    return tuple(
        n
        if (q := quality.get(n.id)) is None
        else replace(
            n,
            utilisation=min(1.0, max(0.0, q.utilisation - burnt.get(n.id, 0.0) / q.cpu_points)),
            availability=q.availability,
        )
        for n in nodes
    )


def latencies(
    nodes: tuple[Node, ...], quality: Mapping[str, NodeQos]
) -> NDArray[np.float64] | None:
    """Round-trip times by the agents' coordinates; a node without an agent is far from all."""
    known = CostSpace([quality[n.id] for n in nodes if n.id in quality])
    if len(known.nodes) < 2:
        return None
    return np.array([[known.rtt_ms(a.id, b.id) for b in nodes] for a in nodes])
