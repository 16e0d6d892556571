"""What a query in XML may say: elements, attributes, and what they mean.

::

    <topology name="srbench-q3">
      <prefix name="om" iri="http://…#"/>
      <reader id="r" dataset="srbench" parallelism="12">
        <pattern subject="?obs" predicate="om:procedure" object="?sensor"/>
        …
        <emit variables="?sensor ?value"/>
      </reader>
      <aggregate id="a" group-by="?sensor" window="3h" step="1h" parallelism="48">
        <input from="r" grouping="fields" fields="?sensor"/>
        <min of="?value" as="?lowest"/>
      </aggregate>
      <filter id="f" expression="?lowest &gt;= 74"><input from="a"/></filter>
      <output id="o"><input from="f"/></output>
    </topology>

An operator's inputs are named by ``from``; operators may stand in any order. Without a grouping
an input is ``local-or-shuffle``, as in KATTS. A join has two inputs: the first is its left side.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from topologies.katts.xmltree import Element

GROUPINGS = ("fields", "shuffle", "local-or-shuffle", "global", "all")
AGGREGATES = ("min", "max", "avg")
_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"^\s*(-?\d+)\s*(ms|s|m|h|d)\s*$")
_NAME = re.compile(r"^[A-Za-z][A-Za-z0-9_-]*$")
_VARIABLE = re.compile(r"^\?[A-Za-z][A-Za-z0-9_]*$")
RESERVED = frozenset({"time", "id", "intended"})
"""Fields that every tuple has; no variable may be called so."""


class Problems:
    """What is wrong with a query, line by line."""

    def __init__(self) -> None:
        self.found: list[tuple[int, str]] = []

    def add(self, line: int, reason: str) -> None:
        self.found.append((line, reason))


@dataclass(frozen=True)
class Allowed:
    """The attributes (required, optional) and children of an element."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    children: tuple[str, ...] = ()


_OPERATOR = ("id",)
OPERATORS: dict[str, Allowed] = {
    "reader": Allowed(_OPERATOR, ("parallelism", "dataset", "files"), ("pattern", "emit")),
    "triple-pattern": Allowed(_OPERATOR, ("parallelism",), ("input", "pattern")),
    "aggregate": Allowed(
        (*_OPERATOR, "group-by", "window", "step"), ("parallelism",), ("input", *AGGREGATES)
    ),
    "bind": Allowed((*_OPERATOR, "expression", "as"), ("parallelism",), ("input",)),
    "filter": Allowed((*_OPERATOR, "expression"), ("parallelism",), ("input",)),
    "join": Allowed((*_OPERATOR, "on", "max-lag"), ("parallelism", "min-lag"), ("input",)),
    "output": Allowed(_OPERATOR, ("parallelism",), ("input",)),
}
_PARTS: dict[str, Allowed] = {
    "topology": Allowed(("name",), ("workers",), ("prefix", *OPERATORS)),
    "prefix": Allowed(("name", "iri")),
    "pattern": Allowed(("subject", "predicate", "object")),
    "emit": Allowed(("variables",)),
    "input": Allowed(("from",), ("grouping", "fields")),
    **{kind: Allowed(("of", "as")) for kind in AGGREGATES},
}


def check_shape(root: Element, problems: Problems) -> None:
    """Checks that elements and attributes are known and complete, all the way down."""
    if root.tag != "topology":
        problems.add(root.line, f"a query begins with <topology>, not <{root.tag}>")
        return
    _check(root, problems)


def _check(element: Element, problems: Problems) -> None:
    allowed = _PARTS.get(element.tag) or OPERATORS[element.tag]
    for name in allowed.required:
        if not element.attributes.get(name, "").strip():
            problems.add(element.line, f"<{element.tag}> lacks the attribute {name}")
    for name in element.attributes:
        if name not in allowed.required + allowed.optional:
            known = ", ".join(allowed.required + allowed.optional)
            problems.add(element.line, f"<{element.tag}> has no attribute {name} (it has: {known})")
    for child in element.children:
        if child.tag in allowed.children:
            _check(child, problems)
        elif element.tag == "topology":
            known = ", ".join(OPERATORS)
            problems.add(child.line, f"unknown operator <{child.tag}> (there are: {known})")
        else:
            problems.add(child.line, f"<{child.tag}> has no place in <{element.tag}>")


def milliseconds(element: Element, attribute: str, problems: Problems, default: int = 0) -> int:
    """A duration such as ``3h``, ``20d`` or ``500ms``."""
    text = element.attributes.get(attribute)
    if text is None:
        return default
    match = _DURATION.match(text)
    if match is None:
        problems.add(
            element.line, f"{attribute}={text!r} is not a duration such as 500ms, 30s, 3h or 20d"
        )
        return default
    return int(match[1]) * _UNITS[match[2]]


def variables(element: Element, attribute: str, problems: Problems) -> list[str]:
    """Variables such as ``?sensor ?value``, without their question marks."""
    names: list[str] = []
    for word in element.attributes.get(attribute, "").replace(",", " ").split():
        if not _VARIABLE.match(word):
            problems.add(element.line, f"{attribute}: {word!r} is not a variable such as ?price")
        elif word[1:] in RESERVED:
            problems.add(element.line, f"{attribute}: {word} is a name the engine uses itself")
        elif word[1:] in names:
            problems.add(element.line, f"{attribute}: {word} is named twice")
        else:
            names.append(word[1:])
    return names


def identifier(element: Element, problems: Problems) -> str:
    name = element.attributes.get("id", "")
    if name and not _NAME.match(name):
        problems.add(element.line, f"id={name!r} is not a name (letters, digits, - and _)")
    return name


def parallelism(element: Element, problems: Problems) -> int:
    text = element.attributes.get("parallelism", "1")
    if not text.isdigit() or int(text) < 1:
        problems.add(element.line, f"parallelism={text!r} is not a whole number of 1 or more")
        return 1
    return int(text)
