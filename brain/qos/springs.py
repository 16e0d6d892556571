"""Virtual placement by spring relaxation (Pietzuch et al., ICDE 2006, section 3.2).

Operators are bodies in the plane of network coordinates, streams are springs between them: the
constant of a spring is the stream's rate, its extension the latency. Pinned operators do not move.
At rest the energy Σ rate · latency² is the least there is, and every free operator lies in the
weighted middle of those it talks to. Its place is virtual: no node need be there.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping

from brain.qos.space import Point

Spring = tuple[Hashable, Hashable, float]
"""Two bodies and the rate of what they say to each other."""


def middle(pulls: Iterable[tuple[Point, float]]) -> Point | None:
    """Where one body comes to rest between fixed ones; None if nothing pulls."""
    x = y = total = 0.0
    for (px, py), rate in pulls:
        if rate > 0 and math.isfinite(rate):
            x, y, total = x + rate * px, y + rate * py, total + rate
    return (x / total, y / total) if total > 0 else None


def relax(
    fixed: Mapping[Hashable, Point],
    free: Mapping[Hashable, Point],
    springs: Iterable[Spring],
    *,
    tolerance: float = 0.01,
    rounds: int = 500,
) -> dict[Hashable, Point]:
    """Places of the free bodies at rest, from where they are; bodies without a pull stay.

    Each in turn goes to the middle of its neighbours until none moves more than ``tolerance`` (ms).
    """
    place: dict[Hashable, Point] = {**free, **fixed}
    pulls: dict[Hashable, list[tuple[Hashable, float]]] = {body: [] for body in free}
    for a, b, rate in springs:
        if a in pulls and b in place and a != b:
            pulls[a].append((b, rate))
        if b in pulls and a in place and a != b:
            pulls[b].append((a, rate))
    for _ in range(rounds):
        moved = 0.0
        for body, own in pulls.items():
            if body in fixed:
                continue
            goal = middle((place[other], rate) for other, rate in own)
            if goal is not None:
                old = place[body]
                place[body] = goal
                moved = max(moved, math.hypot(goal[0] - old[0], goal[1] - old[1]))
        if moved <= tolerance:
            break
    return {body: place[body] for body in free}


def energy(place: Mapping[Hashable, Point], springs: Iterable[Spring]) -> float:
    """Σ rate · latency², which relaxation makes least."""
    return sum(
        rate * ((place[a][0] - place[b][0]) ** 2 + (place[a][1] - place[b][1]) ** 2)
        for a, b, rate in springs
    )
