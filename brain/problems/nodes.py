"""The ``nodes`` of a problem file."""

from __future__ import annotations

from typing import Any

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

FIELDS = ("id", "rack", "host", "slots", "cpu", "memory_mb", "excluded")


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

    return Node(
        id=an_id(needed(fields, "id", where), f"{where}.id"),
        slots=tuple(slots),
        rack=text("rack"),
        cpu=limit("cpu"),
        memory_mb=limit("memory_mb"),
        host=text("host"),
        excluded=a_boolean(fields.get("excluded", False), f"{where}.excluded"),
    )
