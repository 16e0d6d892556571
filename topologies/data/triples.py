"""Time-stamped N-Triples: ``<s> <p> <o> [2004-08-08T00:00:00Z] .``, one triple a line.

The time stands in brackets before the final dot, as the KATTS paper writes it, in ISO 8601 or in
milliseconds since the epoch. Terms keep their N-Triples form (``<iri>``, ``_:node``,
``"text"^^<type>``), so that comparing two terms is comparing two strings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from topologies.common.events import Event
from topologies.data.dataset import MalformedLine, finite

_TERM = r'(<[^<>"{}|^`\\\s]*>|_:[A-Za-z0-9][\w.-]*|"(?:[^"\\]|\\.)*"(?:\^\^<[^<>\s]*>|@[\w-]+)?)'
TRIPLE = re.compile(rf"^\s*{_TERM}\s+{_TERM}\s+{_TERM}\s*(?:\[([^\]]+)\]\s*)?\.\s*(?:#.*)?$")
XSD_FLOAT = "http://www.w3.org/2001/XMLSchema#float"
_LONGEST_TIME = 15
"""Digits of a time in milliseconds: the year 30,000 has fifteen."""
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", '"': '"', "\\": "\\", "b": "\b", "f": "\f", "'": "'"}


def parse_time(text: str) -> int:
    """Milliseconds since the epoch of ``1091923200000`` or ``2004-08-08T00:00:00Z``."""
    text = text.strip()
    if text.isascii() and text.lstrip("-").isdigit():
        if len(text) > _LONGEST_TIME:
            raise MalformedLine(f"{text[:_LONGEST_TIME]}… is no time")
        return int(text)
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise MalformedLine(f"{text!r} is neither milliseconds nor an ISO 8601 time") from None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return round(when.timestamp() * 1000)


def format_time(milliseconds: int) -> str:
    when = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z").replace(".000Z", "Z")


def split_triple(line: str) -> tuple[str, str, str, str | None] | None:
    """Subject, predicate, object and time of a line; None for an empty line or a comment."""
    stripped = line.strip()
    if not stripped or stripped.startswith("#"):
        return None
    match = TRIPLE.match(line)
    if match is None:
        raise MalformedLine("not a triple")
    subject, predicate, obj, time = match.groups()
    if subject.startswith('"') or not predicate.startswith("<"):
        raise MalformedLine("a subject is no literal, and a predicate is an IRI")
    return subject, predicate, obj, time


def parse_triple(line: str) -> Event | None:
    """A time-stamped triple as an event with the payload subject, predicate, object."""
    parts = split_triple(line)
    if parts is None:
        return None
    subject, predicate, obj, time = parts
    if time is None:
        raise MalformedLine("a triple without its time in brackets before the dot")
    return parse_time(time), [subject, predicate, obj]


def format_triple(event: Event) -> str:
    subject, predicate, obj = event[1]
    return f"{subject} {predicate} {obj} [{format_time(event[0])}] ."


def iri(text: str) -> str:
    return f"<{text}>"


def literal(value: object, datatype: str | None = None) -> str:
    text = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"^^<{datatype}>' if datatype else f'"{text}"'


def plain_value(term: str) -> str:
    """A literal's text without quotes and type; an IRI without its angle brackets."""
    if term.startswith("<"):
        return term[1:-1]
    if not term.startswith('"'):
        return term
    body = term[1 : term.rindex('"')]
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), body) if "\\" in body else body


def number_of(term: str) -> float | None:
    """The number that a literal holds; None if it holds none."""
    try:
        return finite(plain_value(term))
    except ValueError:
        return None


def by_time(triples: Iterable[Event]) -> Iterator[tuple[int, dict[str, dict[str, str]]]]:
    """The triples of one time that come together, as subject → predicate → object."""
    subjects: dict[str, dict[str, str]] = {}
    time: int | None = None
    for when, (subject, predicate, obj) in triples:
        if when != time and time is not None:
            yield time, subjects
            subjects = {}
        time = when
        subjects.setdefault(subject, {})[predicate] = obj
    if time is not None:
        yield time, subjects
