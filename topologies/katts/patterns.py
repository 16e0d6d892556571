"""Triple patterns: which triples of one time give which bindings.

The patterns of a reader form one graph pattern. It is matched against the triples that have the
same time, are next to each other in the reader's input: an observation's triples come together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from topologies.common.events import Event
from topologies.data.dataset import finite
from topologies.data.triples import plain_value

Triple = Sequence[str]
_NUMBER_TYPES = ("float", "double", "decimal", "integer", "int", "long", "short", "byte")
_XSD = "<http://www.w3.org/2001/XMLSchema#"


@dataclass(frozen=True)
class TriplePattern:
    """Subject, predicate and object: each a term in N-Triples form, or ``?variable``."""

    subject: str
    predicate: str
    object: str

    @property
    def terms(self) -> tuple[str, str, str]:
        return self.subject, self.predicate, self.object

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(term[1:] for term in self.terms if term.startswith("?"))

    def match(self, triple: Triple, bound: dict[str, str]) -> dict[str, str] | None:
        """``bound`` extended by what the triple binds, or None if it does not match."""
        result = bound
        for term, value in zip(self.terms, triple, strict=True):
            if not term.startswith("?"):
                if term != value:
                    return None
                continue
            name = term[1:]
            known = result.get(name)
            if known is None:
                if result is bound:
                    result = dict(bound)
                result[name] = value
            elif known != value:
                return None
        return result if result is not bound else dict(bound)


def match_graph(
    patterns: Sequence[TriplePattern], triples: Iterable[Triple]
) -> list[dict[str, str]]:
    """All ways to satisfy all patterns with ``triples``, in a fixed order."""
    by_predicate: dict[str, list[Triple]] = {}
    everything: list[Triple] = []
    for triple in triples:
        by_predicate.setdefault(triple[1], []).append(triple)
        everything.append(triple)
    solutions: list[dict[str, str]] = [{}]
    for pattern in patterns:
        fixed = not pattern.predicate.startswith("?")
        candidates = by_predicate.get(pattern.predicate, []) if fixed else everything
        solutions = _extend(pattern, candidates, solutions)
    return solutions


def _extend(
    pattern: TriplePattern, candidates: Sequence[Triple], solutions: list[dict[str, str]]
) -> list[dict[str, str]]:
    """Joins the pattern's matches to the solutions so far, by hash on the shared variables."""
    if not solutions:
        return []
    shared = [v for v in dict.fromkeys(pattern.variables) if v in solutions[0]]
    matches: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for triple in candidates:
        match = pattern.match(triple, {})
        if match is not None:
            matches.setdefault(tuple(match[v] for v in shared), []).append(match)
    return [
        {**solution, **match}
        for solution in solutions
        for match in matches.get(tuple(solution[v] for v in shared), ())
    ]


def typed(term: str) -> Any:
    """A term as an operator sees it: numbers as numbers, texts and IRIs without their marks."""
    text = plain_value(term)
    if term.startswith('"') and "^^" + _XSD in term:
        datatype = term.rsplit("#", 1)[1][:-1]
        if datatype in _NUMBER_TYPES:
            try:
                return int(text) if datatype in _NUMBER_TYPES[3:] else finite(text)
            except ValueError:
                return text
    return text


def bindings_of(
    patterns: Sequence[TriplePattern], variables: Sequence[str], events: Iterable[Event]
) -> Iterator[Event]:
    """The bindings of ``variables`` that the patterns find in a stream of triples, with time."""
    group: list[Triple] = []
    time: int | None = None
    for when, triple in events:
        if when != time:
            if time is not None:
                yield from _solutions(patterns, variables, time, group)
            time, group = when, []
        group.append(triple)
    if time is not None:
        yield from _solutions(patterns, variables, time, group)


def _solutions(
    patterns: Sequence[TriplePattern], variables: Sequence[str], time: int, group: list[Triple]
) -> Iterator[Event]:
    for solution in match_graph(patterns, group):
        yield time, [*(typed(solution[v]) for v in variables), time]
