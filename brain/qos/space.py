"""The cost space (Pietzuch et al. 2006; Cardellini et al. 2015, section III-B): four dimensions.

Two are network coordinates, one is availability, one utilisation. An executor's ideal place has
no utilisation and full availability, so a loaded or flaky node is far from everything. Latency
weighs twice utilisation (section IV).

How we differ: latencies are measured against the largest one between known nodes, so that all
dimensions are of one size; utilisation counts squared (Pietzuch's weighting function: a node at
40 % is hardly worse than an idle one, a full one is); heights of the coordinates count; and on one
node the latency is nil, which no coordinate says.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from brain.qos.vivaldi import Coordinate

SMALLEST_SCALE_MS = 1.0
"""Below this all nodes are as good as side by side, and utilisation decides."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each dimension counts."""

    latency: float = 2.0
    utilisation: float = 1.0
    availability: float = 1.0


@dataclass(frozen=True, slots=True)
class NodeQos:
    """What is known of a node: ``utilisation`` and ``availability`` are 0 … 1."""

    id: str
    coordinate: Coordinate
    utilisation: float = 0.0
    availability: float = 1.0
    cpu_points: float = 100.0
    """Its capacity: 100 a core."""

    @property
    def sane(self) -> bool:
        shares = (self.utilisation, self.availability)
        return (
            self.coordinate.sane
            and all(isinstance(s, int | float) and 0.0 <= s <= 1.0 for s in shares)
            and isinstance(self.cpu_points, int | float)
            and math.isfinite(self.cpu_points)
            and 0.0 < self.cpu_points <= 1e7
        )


Point = tuple[float, float]
CONTRADICTION = 3.0
"""A claimed place is not believed if it is off the measured round-trip time by this many times."""


def believable(own: Coordinate, info: NodeQos, rtt_ms: float | None) -> bool:
    """Whether what a node says of itself can be, by what it is and by what was measured of it."""
    if not info.sane:
        return False
    if rtt_ms is None or own.error > 0.5:  # nothing to hold against it yet
        return True
    return abs(own.distance(info.coordinate) - rtt_ms) <= CONTRADICTION * max(rtt_ms, 1.0)


class CostSpace:
    """Nodes as points. What is not sane is not in it: nobody moves to a node that lies."""

    def __init__(
        self,
        nodes: Iterable[NodeQos],
        weights: Weights | None = None,
        latency: Mapping[tuple[str, str], float] | None = None,
    ) -> None:
        """``latency`` are measured round-trip times, used in place of the predicted ones."""
        self.weights = weights or Weights()
        self.nodes: dict[str, NodeQos] = {n.id: n for n in nodes if n.sane}
        self._latency = dict(latency or {})
        places = list(self.nodes)
        largest = max(
            (self.rtt_ms(a, b) for i, a in enumerate(places) for b in places[i + 1 :]), default=0.0
        )
        self.scale_ms = max(largest, SMALLEST_SCALE_MS)

    def __contains__(self, node: str) -> bool:
        return node in self.nodes

    def rtt_ms(self, a: str, b: str) -> float:
        """The round-trip time between nodes; 0 within one, the largest to a node not known."""
        if a == b:
            return 0.0
        known = self._latency.get((a, b), self._latency.get((b, a)))
        if known is not None:
            return known
        one, two = self.nodes.get(a), self.nodes.get(b)
        if one is None or two is None:
            return self.scale_ms
        return one.coordinate.distance(two.coordinate)

    def latency(self, a: str, b: str) -> float:
        """The same as a share of the largest."""
        return self.rtt_ms(a, b) / self.scale_ms

    def load_cost(self, utilisation: float) -> float:
        return self.weights.utilisation * min(max(utilisation, 0.0), 2.0) ** 2

    def availability_cost(self, node: str) -> float:
        known = self.nodes.get(node)
        return self.weights.availability * (1.0 - (known.availability if known else 0.0))

    def distance(self, point: Point, node: str) -> float:
        """From an executor's ideal place to a node."""
        known = self.nodes[node]
        c = known.coordinate
        latency = (math.hypot(point[0] - c.x, point[1] - c.y) + c.height) / self.scale_ms
        return math.sqrt(
            (self.weights.latency * latency) ** 2
            + self.load_cost(known.utilisation) ** 2
            + self.availability_cost(node) ** 2
        )

    def nearest(self, point: Point) -> list[str]:
        """The nodes, the nearest to a place first; equals by name."""
        return sorted(self.nodes, key=lambda n: (self.distance(point, n), n))

    def point(self, node: str) -> Point | None:
        known = self.nodes.get(node)
        return None if known is None else (known.coordinate.x, known.coordinate.y)
