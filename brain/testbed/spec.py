"""What a testbed is to be: nodes with their slots and limits, and the distances between them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

from brain.errors import BadInput

LEAST_NODES, MOST_NODES = 2, 12
MODES = ("netns", "loopback")

Pair = tuple[str, str]
"""Two node ids, in order."""


@dataclass(frozen=True)
class Delay:
    """How long a packet is held on its way, one way: a round trip takes twice that."""

    mean_ms: float
    sd_ms: float = 0.0


@dataclass(frozen=True)
class NodeSpec:
    id: str
    slots: int = 2
    bandwidth_mbit: float | None = None
    """Of its link, in each direction; ``None`` for no limit."""
    cpu_points: float | None = None
    """Hard limit of its CPU, 100 a core; ``None`` for none. Storm is told it as its capacity."""
    memory_mb: float | None = None
    """What Storm is told as its capacity; nothing is enforced."""


@dataclass(frozen=True)
class TestbedSpec:
    name: str
    nodes: tuple[NodeSpec, ...]
    delays: Mapping[Pair, Delay] = field(default_factory=dict, hash=False)
    """Pairs that are not named have none. Empty: nodes are bridged, without a router."""
    mode: str = "netns"
    storm_conf: Mapping[str, Any] = field(default_factory=dict, hash=False)

    __test__ = False  # not a test class, whatever its name begins with

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise BadInput("mode", f"{self.mode!r} is not one of {', '.join(MODES)}")
        if not LEAST_NODES <= len(self.nodes) <= MOST_NODES:
            raise BadInput("nodes", f"{LEAST_NODES} to {MOST_NODES}, not {len(self.nodes)}")
        ids = [node.id for node in self.nodes]
        if len(set(ids)) != len(ids):
            raise BadInput("nodes", "two have the same id")
        for node in self.nodes:
            _check_node(node)
        for (a, b), delay in self.delays.items():
            where = f"delays.{a}-{b}"
            if a not in ids or b not in ids or a >= b:
                raise BadInput(where, "is not a pair of nodes, the lower id first")
            if delay.mean_ms < 0 or delay.sd_ms < 0:
                raise BadInput(where, "a delay cannot be negative")

    @classmethod
    def uniform(
        cls,
        name: str,
        nodes: int,
        slots: int = 2,
        bandwidth_mbit: float | None = None,
        cpu_points: float | None = None,
        **others: Any,
    ) -> TestbedSpec:
        ids = node_ids(nodes)
        return cls(
            name, tuple(NodeSpec(i, slots, bandwidth_mbit, cpu_points) for i in ids), **others
        )

    def to_json(self) -> dict[str, Any]:
        raw = asdict(self)
        raw["delays"] = [[a, b, d.mean_ms, d.sd_ms] for (a, b), d in sorted(self.delays.items())]
        return raw

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> TestbedSpec:
        return cls(
            **{
                **raw,
                "nodes": tuple(NodeSpec(**node) for node in raw["nodes"]),
                "delays": {(a, b): Delay(mean, sd) for a, b, mean, sd in raw["delays"]},
            }
        )


def _check_node(node: NodeSpec) -> None:
    where = f"nodes.{node.id}"
    if not 1 <= node.slots <= 50:
        raise BadInput(f"{where}.slots", f"1 to 50, not {node.slots}")
    if node.bandwidth_mbit is not None and not 0.1 <= node.bandwidth_mbit <= 100_000:
        raise BadInput(f"{where}.bandwidth_mbit", f"0.1 to 100000, not {node.bandwidth_mbit:g}")
    if node.cpu_points is not None and node.cpu_points < 1:
        raise BadInput(f"{where}.cpu_points", f"1 or more, not {node.cpu_points:g}")


def node_ids(nodes: int) -> list[str]:
    """``node-01`` … so that ids sort like numbers; ``node-1`` … for fewer than ten."""
    width = len(str(nodes))
    return [f"node-{i:0{width}d}" for i in range(1, nodes + 1)]


def gaussian_delays(
    nodes: int | Sequence[str],
    mean_ms: tuple[float, float] = (12.0, 32.0),
    sd_ms: tuple[float, float] = (1.0, 3.0),
    seed: int = 0,
) -> dict[Pair, Delay]:
    """A wide-area network in a plane: Cardellini's means 12…32 ms with deviations 1…3 ms.

    Nodes are points drawn in a square and a pair's mean grows with its distance, so that the
    distances can be embedded, as those of real networks nearly can. By the seed.
    """
    ids = node_ids(nodes) if isinstance(nodes, int) else list(nodes)
    draw = random.Random(seed)
    points = {node: (draw.random(), draw.random()) for node in ids}
    pairs = sorted((min(p), max(p)) for p in combinations(ids, 2))
    far = {
        (a, b): sum((x - y) ** 2 for x, y in zip(points[a], points[b], strict=True)) ** 0.5
        for a, b in pairs
    }
    low, high = min(far.values()), max(far.values())
    delays = {}
    for pair in pairs:
        share = (far[pair] - low) / (high - low) if high > low else 0.0
        mean = mean_ms[0] + share * (mean_ms[1] - mean_ms[0])
        delays[pair] = Delay(round(mean, 2), round(draw.uniform(*sd_ms), 2))
    return delays
