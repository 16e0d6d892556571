"""Vivaldi network coordinates (Dabek et al., SIGCOMM 2004): 2-D plus height, adaptive timestep.

Each node pulls and pushes itself by the springs between it and the peers that it has probed:

    w  = e_i / (e_i + e_j)                      trust in the own position against the peer's
    e_s = |distance - rtt| / rtt                error of this sample
    e_i = e_s·c_e·w + e_i·(1 - c_e·w)           running error
    x_i = x_i + c_c·w·(rtt - distance)·u(x_i - x_j)

Distance is |x_i - x_j| + h_i + h_j: the plane is the core of the network, a height the way from
the node to it. Round-trip times are in ms.

How we differ: nothing that a peer says is trusted. What is not a number, negative or absurd is
refused; the peer's samples go through a median; one sample moves a node by a bounded step; a peer
whose samples keep contradicting those of the others is heard no more until it agrees with them.
A weak pull to the origin (as in Serf) keeps the whole system from drifting away.
"""

from __future__ import annotations

import math
import random
from collections import deque
from dataclasses import dataclass, field
from statistics import median

TIMESTEP = 0.25
"""c_c: the share of a sample's error by which a node moves, at full distrust of itself."""
ERROR_STEP = 0.25
"""c_e: how fast the running error follows."""
MAX_RTT_MS = 30_000.0
MAX_PLACE_MS = 100_000.0
"""No coordinate lies further out; whoever claims so lies or is broken."""
MIN_HEIGHT = 0.01
MAX_ERROR = 2.0
MIN_ERROR = 0.02
"""A peer may claim to be sure, but not surer than this: else it would drag all others about."""
GRAVITY_MS = 5_000.0
SAMPLES = 5
"""Round-trip times of a peer whose median counts: one that was held up in a queue does not."""
SUSPICIOUS_AFTER = 6
SUSPICIOUS_ERROR = 0.6
"""From so many samples on, a peer off by this much where the others agree is not believed."""


@dataclass(frozen=True, slots=True)
class Coordinate:
    """A place in the network; ``error`` is the relative error that its owner estimates."""

    x: float = 0.0
    y: float = 0.0
    height: float = 1.0
    error: float = MAX_ERROR

    def distance(self, other: Coordinate) -> float:
        """The predicted round-trip time in ms."""
        return math.hypot(self.x - other.x, self.y - other.y) + self.height + other.height

    @property
    def sane(self) -> bool:
        """Whether it could be a coordinate at all."""
        numbers = (self.x, self.y, self.height, self.error)
        return (
            all(isinstance(n, int | float) and math.isfinite(n) for n in numbers)
            and max(abs(self.x), abs(self.y)) <= MAX_PLACE_MS
            and 0.0 <= self.height <= MAX_PLACE_MS
            and 0.0 <= self.error <= 10.0 * MAX_ERROR
        )


@dataclass
class _Peer:
    rtts: deque[float] = field(default_factory=lambda: deque(maxlen=SAMPLES))
    heard: int = 0
    error: float = 0.0
    """How far its samples are from what the coordinates predict: a running mean."""


class Vivaldi:
    """The coordinate of one node. ``seed`` decides the direction in which equals part."""

    def __init__(self, seed: int = 0, start: Coordinate | None = None) -> None:
        self.coordinate = start or Coordinate()
        self._random = random.Random(seed)
        self._peers: dict[str, _Peer] = {}

    def observe(self, peer: str, remote: Coordinate, rtt_ms: float) -> bool:
        """Takes one probe of a peer; False if it was not believed."""
        if not remote.sane or not plausible_rtt(rtt_ms):
            return False
        known = self._peers.setdefault(peer, _Peer())
        known.rtts.append(rtt_ms)
        known.heard += 1
        rtt = median(known.rtts)
        off = abs(self.coordinate.distance(remote) - rtt) / rtt
        known.error = off if known.heard == 1 else 0.75 * known.error + 0.25 * min(off, 10.0)
        if self._contradicts_all(known):
            return False
        self.coordinate = self._stepped(remote, rtt)
        return True

    def forget(self, peer: str) -> None:
        self._peers.pop(peer, None)

    def rtt_ms(self, peer: str) -> float | None:
        """The median of the last probes of a peer."""
        known = self._peers.get(peer)
        return median(known.rtts) if known and known.rtts else None

    def _contradicts_all(self, known: _Peer) -> bool:
        if known.heard < SUSPICIOUS_AFTER or known.error < SUSPICIOUS_ERROR:
            return False
        others = [p.error for p in self._peers.values() if p is not known and p.heard > 2]
        return len(others) >= 2 and median(others) < known.error / 3.0

    def _stepped(self, remote: Coordinate, rtt: float) -> Coordinate:
        own = self.coordinate
        trust = own.error / (own.error + max(remote.error, MIN_ERROR))
        predicted = own.distance(remote)
        off = abs(predicted - rtt) / rtt
        weight = ERROR_STEP * trust
        error = min(MAX_ERROR, max(MIN_ERROR, off * weight + own.error * (1.0 - weight)))
        push = max(-4.0 * rtt, min(4.0 * rtt, rtt - predicted)) * TIMESTEP * trust
        dx, dy = own.x - remote.x, own.y - remote.y
        length = math.hypot(dx, dy)
        if length < 1e-6:  # at the same place: part in any direction
            angle = self._random.uniform(0.0, 2.0 * math.pi)
            dx, dy, plane = math.cos(angle), math.sin(angle), 1.0
        else:
            dx, dy, plane = dx / length, dy / length, length
        norm = plane + own.height + remote.height
        x = own.x + push * dx * plane / norm
        y = own.y + push * dy * plane / norm
        height = own.height + push * (own.height + remote.height) / norm
        pull = 1.0 - min(0.5, (math.hypot(x, y) / GRAVITY_MS) ** 2)
        return Coordinate(
            _bounded(x * pull), _bounded(y * pull), min(max(height, MIN_HEIGHT), MAX_RTT_MS), error
        )


def plausible_rtt(rtt_ms: float) -> bool:
    """Whether a number can be a round-trip time; a clock that jumped gives others."""
    return math.isfinite(rtt_ms) and 0.0 < rtt_ms <= MAX_RTT_MS


def _bounded(value: float) -> float:
    return max(-MAX_PLACE_MS, min(MAX_PLACE_MS, value))


def embed(distances: list[list[float]], *, rounds: int = 200, seed: int = 0) -> list[Coordinate]:
    """Coordinates for a known matrix of round-trip times (0 or less: unknown), repeatable."""
    count = len(distances)
    nodes = [Vivaldi(seed + i) for i in range(count)]
    order = random.Random(seed)
    for _ in range(rounds if count > 1 else 0):
        for i in range(count):
            j = order.randrange(count - 1)
            j += j >= i
            if distances[i][j] > 0:
                nodes[i].observe(str(j), nodes[j].coordinate, distances[i][j])
    return [node.coordinate for node in nodes]
