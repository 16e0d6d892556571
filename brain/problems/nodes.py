"""The ``nodes`` of a problem file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from brain.errors import BadInput
from brain.model import Node
from brain.problems.fields import (
    a_boolean,
    a_count,
    a_list,
    a_number,
    a_string,
    an_id,
    an_object,
    needed,
)

FIELDS = (
    "id",
    "rack",
    "host",
    "slots",
    "cpu",
    "memory_mb",
    "excluded",
    "utilisation",
    "availability",
)


def nodes_from(document: Any) -> tuple[Node, ...]:
    nodes: list[Node] = []
    seen: dict[str, int] = {}
    for i, entry in enumerate(a_list(document, "nodes")):
        node = _node(entry, f"nodes[{i}]")
        if node.id in seen:
            raise BadInput(f"nodes[{i}].id", f"{node.id!r} is already nodes[{seen[node.id]}]")
        seen[node.id] = i
        nodes.append(node)
    return tuple(nodes)


def _node(entry: Any, where: str) -> Node:
    fields = an_object(entry, where, FIELDS)
    slots: list[int] = []
    for j, port in enumerate(a_list(needed(fields, "slots", where), f"{where}.slots")):
        number = a_count(port, f"{where}.slots[{j}]", 0, 65535)
        if number in slots:
            raise BadInput(f"{where}.slots[{j}]", f"port {number} is listed twice")
        slots.append(number)

    def text(name: str) -> str | None:
        value = fields.get(name)
        return None if value is None else a_string(value, f"{where}.{name}")

    def limit(name: str) -> float | None:
        value = fields.get(name)
        return None if value is None else a_number(value, f"{where}.{name}")

    def share(name: str, default: float) -> float:
        value = a_number(fields.get(name, default), f"{where}.{name}")
        if value > 1.0:
            raise BadInput(f"{where}.{name}", f"must be between 0 and 1, not {value:g}")
        return value

    return Node(
        id=an_id(needed(fields, "id", where), f"{where}.id"),
        slots=tuple(slots),
        rack=text("rack"),
        cpu=limit("cpu"),
        memory_mb=limit("memory_mb"),
        host=text("host"),
        excluded=a_boolean(fields.get("excluded", False), f"{where}.excluded"),
        utilisation=share("utilisation", 0.0),
        availability=share("availability", 1.0),
    )


def latency_from(document: Any, nodes: tuple[Node, ...]) -> NDArray[np.float64]:
    """``{node: {node: ms}}``; one direction is enough, and two are averaged."""
    index = {n.id: i for i, n in enumerate(nodes)}
    told = np.full((len(nodes), len(nodes)), np.nan)
    for source, row in an_object(document, "latency_ms").items():
        if source not in index:
            raise BadInput(f"latency_ms.{source}", f"node {source!r} does not exist")
        for target, value in an_object(row, f"latency_ms.{source}").items():
            where = f"latency_ms.{source}.{target}"
            if target not in index:
                raise BadInput(where, f"node {target!r} does not exist")
            told[index[source], index[target]] = a_number(value, where)
    matrix = np.where(np.isnan(told), told.T, np.where(np.isnan(told.T), told, (told + told.T) / 2))
    np.fill_diagonal(matrix, 0.0)
    missing = np.argwhere(np.isnan(matrix))
    if len(missing):
        a, b = (nodes[int(i)].id for i in missing[0])
        raise BadInput("latency_ms", f"nothing is said of {a!r} and {b!r}", "every pair needs one")
    return matrix
