"""A query as data: operators with their inputs, variables and levels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from topologies.katts.xmltree import Element

STATEFUL = ("aggregate", "join")


@dataclass
class Input:
    """One input of an operator."""

    source: str
    grouping: str
    fields: list[str]
    line: int


@dataclass
class Operator:
    """One operator: what it is, what it gives, and what its component is told."""

    kind: str
    id: str
    parallelism: int
    inputs: list[Input]
    line: int
    element: Element
    variables: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    level: int = 0
    """How many stateful operators lie on the longest way up to and with this one."""
    readers: set[str] = field(default_factory=set)
    """The readers that feed it."""


@dataclass
class Query:
    """A checked query; operators come after what feeds them."""

    name: str
    workers: int | None
    operators: dict[str, Operator]

    @property
    def levels(self) -> int:
        return max(1, *(operator.level for operator in self.operators.values()))
