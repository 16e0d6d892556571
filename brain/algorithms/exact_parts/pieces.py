"""Pieces and patterns: the columns of the class model.

A *piece* is a connected set of items, written as a count per class; what a node holds falls apart
into pieces. A *pattern* is a multiset of signatures of pieces that one node of a type can hold.
Pieces alone carry the objective, patterns alone carry the capacities, and both sets stay small:
the 72 cases of Eskandari et al. need a few hundred columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brain.algorithms.exact_parts.classes import Classes, NodeTypes
from brain.algorithms.exact_parts.items import Items
from brain.algorithms.exact_parts.room import Room, Signature, TooMany

Counts = tuple[tuple[int, int], ...]
"""(class, how many), in the order of classes, only those with at least one."""


MOST_SIGNATURES = 100
"""Patterns grow exponentially with the kinds of pieces; beyond this there is no hope."""


@dataclass(frozen=True)
class Pieces:
    counts: tuple[Counts, ...]
    internal: NDArray[np.float64]
    """The traffic that stays inside when the piece is on one node."""
    signature: NDArray[np.int64]
    signatures: tuple[Signature, ...]

    def __len__(self) -> int:
        return len(self.counts)


@dataclass(frozen=True)
class Pattern:
    node_type: int
    counts: tuple[tuple[int, int], ...]
    """(signature, how many), only those with at least one."""
    workers: tuple[tuple[int, int], ...]
    """(topology, workers it needs on the node)."""


@dataclass(frozen=True)
class Effort:
    """How much may be enumerated: ``most`` columns of a kind, and no longer than ``expired``."""

    most: int
    expired: Callable[[], bool] = lambda: False

    def check(self, count: int, what: str) -> None:
        if count > self.most:
            raise TooMany(f"more than {self.most} {what}")
        if count % 64 == 0 and self.expired():
            raise TooMany(f"no time to list all {what}")


def enumerate_pieces(
    items: Items, classes: Classes, types: NodeTypes, room: Room, effort: Effort
) -> Pieces:
    """All connected pieces that fit on some node; raises TooMany past the effort.

    A connected set always has a member whose removal leaves it connected, so growing pieces one
    neighbour at a time reaches them all.
    """
    k = len(classes)
    single = [room.of_class(items, classes, types, c) for c in range(k)]
    size = classes.size.tolist()
    weight = classes.weight.tolist()
    adjacent = [np.flatnonzero(classes.weight[c] > 0.0).tolist() for c in range(k)]
    counts_of: list[Counts] = []
    internal: list[float] = []
    signature_of: list[int] = []
    signatures: dict[Signature, int] = {}
    seen: set[Counts] = set()
    frontier: list[tuple[Counts, float, Signature]] = []

    def admit(counts: Counts, inside: float, signature: Signature) -> None:
        seen.add(counts)
        if not room.fits_somewhere(signature):
            return
        counts_of.append(counts)
        effort.check(len(counts_of), "pieces")
        internal.append(inside)
        signature_of.append(signatures.setdefault(signature, len(signatures)))
        if len(signatures) > MOST_SIGNATURES:
            raise TooMany(f"more than {MOST_SIGNATURES} kinds of pieces")
        frontier.append((counts, inside, signature))

    for c in range(k):
        admit(((c, 1),), 0.0, single[c])
    while frontier:
        counts, inside, signature = frontier.pop()
        have = dict(counts)
        for d in sorted({d for c in have for d in adjacent[c]}):
            if have.get(d, 0) >= size[d]:
                continue
            grown = tuple(sorted((have | {d: have.get(d, 0) + 1}).items()))
            if grown not in seen:
                gain = sum(n * weight[d][c] for c, n in counts)
                admit(grown, inside + gain, signature + single[d])
    return Pieces(
        tuple(counts_of),
        np.array(internal),
        np.array(signature_of, dtype=np.int64),
        tuple(signatures),
    )


def enumerate_patterns(
    pieces: Pieces, classes: Classes, types: NodeTypes, room: Room, effort: Effort
) -> list[Pattern]:
    """All ways to fill one node with signatures; raises TooMany past the effort.

    Patterns supply room and pieces take it, so where nothing but capacity counts only maximal
    patterns are kept; where workers count, fuller patterns are dearer, so all are.
    """
    supply = _supply(pieces, classes)
    order = sorted(
        range(len(supply)),
        key=lambda s: (-pieces.signatures[s].cpu, -pieces.signatures[s].memory_mb, s),
    )
    fill = _Fill(pieces, room, supply, effort)
    for node_type in range(len(types)):
        fill.node_type = node_type
        fill.usable = [s for s in order if room.fits(pieces.signatures[s], node_type)]
        fill.descend(0, room.nothing, [])
    return fill.patterns


def _supply(pieces: Pieces, classes: Classes) -> list[int]:
    """How many pieces of a signature can exist at once, at most."""
    supply = [0] * len(pieces.signatures)
    total = int(classes.size.sum())
    for counts, s in zip(pieces.counts, pieces.signature.tolist(), strict=True):
        supply[s] += min(int(classes.size[c]) // n for c, n in counts)
    return [min(x, total) for x in supply]


class _Fill:
    """Depth-first filling of one node, signature by signature, the most of each first."""

    def __init__(self, pieces: Pieces, room: Room, supply: list[int], effort: Effort) -> None:
        self.signatures = pieces.signatures
        self.room = room
        self.supply = supply
        self.effort = effort
        self.only_maximal = room.one_topology and not room.workers_bind
        self.node_type = 0
        self.usable: list[int] = []
        self.patterns: list[Pattern] = []
        self.visited = 0

    def descend(self, at: int, held: Signature, chosen: list[tuple[int, int]]) -> None:
        self.visited += 1
        # Most branches of the descent may end in patterns that are not maximal.
        if self.visited > 4 * self.effort.most:
            raise TooMany(f"more than {self.effort.most} patterns")
        if self.visited % 64 == 0 and self.effort.expired():
            raise TooMany("no time to list all patterns")
        if at == len(self.usable):
            self._keep(held, chosen)
            return
        s = self.usable[at]
        states = [held]
        while len(states) <= self.supply[s]:
            more = states[-1] + self.signatures[s]
            if not self.room.fits(more, self.node_type):
                break
            states.append(more)
        for n in range(len(states) - 1, -1, -1):
            self.descend(at + 1, states[n], [*chosen, (s, n)] if n else chosen)

    def _keep(self, held: Signature, chosen: list[tuple[int, int]]) -> None:
        if not chosen:
            return
        taken = dict(chosen)
        self.visited += len(self.usable) // 8  # the check below is as dear as so many visits
        if self.only_maximal and any(
            self.supply[s] > taken.get(s, 0)
            and self.room.fits(held + self.signatures[s], self.node_type)
            for s in self.usable
        ):
            return
        workers = tuple(sorted(self.room.workers(held).items()))
        self.patterns.append(Pattern(self.node_type, tuple(chosen), workers))
        self.effort.check(len(self.patterns), "patterns")
