"""The ``topologies`` of a problem file: executors, edges and constraints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import nan
from typing import Any

import numpy as np

from brain.errors import BadInput
from brain.model import Topology
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
    "name",
    "workers",
    "max_executors_per_worker",
    "executors",
    "edges",
    "streams",
    "pin",
    "spread",
    "colocate",
    "frozen",
)
EXECUTOR_FIELDS = ("id", "component", "cpu", "memory_mb")
EDGE_FIELDS = ("from", "to", "tuples", "bytes")
GROUPINGS = ("shuffle", "fields", "all", "global", "direct", "none", "local_or_shuffle", "custom")
MOST_WORKERS = 10_000_000


@dataclass
class EdgeArrays:
    """The edges of all topologies, over executors numbered through."""

    source: list[int] = field(default_factory=list)
    target: list[int] = field(default_factory=list)
    tuples: list[float] = field(default_factory=list)
    bytes: list[float] = field(default_factory=list)


def topology_from(
    entry: Any, where: str, nodes: frozenset[str], offset: int, edges: EdgeArrays
) -> Topology:
    """A topology; its edges are added to ``edges``, its executors counting from ``offset``."""
    fields = an_object(entry, where, FIELDS)
    executors = _Executors(needed(fields, "executors", where), f"{where}.executors")
    _edges(fields.get("edges", []), f"{where}.edges", executors.index, offset, edges)
    known = executors.components

    def count(name: str) -> int | None:
        value = fields.get(name)
        return None if value is None else a_count(value, f"{where}.{name}", 1, MOST_WORKERS)

    name = fields.get("name")
    return Topology(
        id=an_id(needed(fields, "id", where), f"{where}.id"),
        components=tuple(known),
        component_of=np.array(executors.component_of, dtype=np.int32),
        cpu=np.array(executors.cpu, dtype=np.float64),
        memory_mb=np.array(executors.memory_mb, dtype=np.float64),
        executor_ids=tuple(executors.index),
        workers=count("workers"),
        max_executors_per_worker=count("max_executors_per_worker"),
        pin=_pins(fields.get("pin", {}), f"{where}.pin", known, nodes),
        spread=tuple(_components(fields.get("spread", []), f"{where}.spread", known)),
        colocate=tuple(
            tuple(_components(group, f"{where}.colocate[{i}]", known))
            for i, group in enumerate(a_list(fields.get("colocate", []), f"{where}.colocate"))
        ),
        frozen=a_boolean(fields.get("frozen", False), f"{where}.frozen"),
        name="" if name is None else a_string(name, f"{where}.name"),
        streams=_streams(fields.get("streams", []), f"{where}.streams", known),
    )


class _Executors:
    def __init__(self, document: Any, where: str) -> None:
        self.index: dict[str, int] = {}
        self.components: dict[str, int] = {}
        self.component_of: list[int] = []
        self.cpu: list[float] = []
        self.memory_mb: list[float] = []
        for i, entry in enumerate(a_list(document, where)):
            path = f"{where}[{i}]"
            fields = an_object(entry, path, EXECUTOR_FIELDS)
            name = an_id(needed(fields, "id", path), f"{path}.id")
            if name in self.index:
                raise BadInput(
                    f"{path}.id", f"executor {name} is already {where}[{self.index[name]}]"
                )
            component = a_string(needed(fields, "component", path), f"{path}.component")
            self.index[name] = i
            self.component_of.append(self.components.setdefault(component, len(self.components)))
            self.cpu.append(_demand(fields, "cpu", path))
            self.memory_mb.append(_demand(fields, "memory_mb", path))


def _demand(fields: Mapping[str, Any], name: str, where: str) -> float:
    value = fields.get(name)
    return 0.0 if value is None else a_number(value, f"{where}.{name}")


def _edges(
    document: Any, where: str, index: Mapping[str, int], offset: int, edges: EdgeArrays
) -> None:
    for i, entry in enumerate(a_list(document, where)):
        path = f"{where}[{i}]"
        fields = an_object(entry, path, EDGE_FIELDS)
        for end, into in (("from", edges.source), ("to", edges.target)):
            executor = an_id(needed(fields, end, path), f"{path}.{end}")
            if executor not in index:
                raise BadInput(f"{path}.{end}", f"executor {executor} does not exist")
            into.append(offset + index[executor])
        tuples, size = fields.get("tuples"), fields.get("bytes")
        if tuples is None and size is None:
            raise BadInput(path, "needs tuples or bytes (or both) a second")
        edges.tuples.append(0.0 if tuples is None else a_number(tuples, f"{path}.tuples"))
        edges.bytes.append(nan if size is None else a_number(size, f"{path}.bytes"))


def _components(document: Any, where: str, known: Mapping[str, int]) -> list[str]:
    names = []
    for i, entry in enumerate(a_list(document, where)):
        name = a_string(entry, f"{where}[{i}]")
        _must_exist(name, f"{where}[{i}]", known)
        names.append(name)
    return names


def _must_exist(component: str, where: str, known: Mapping[str, int]) -> None:
    if component not in known:
        raise BadInput(where, f"component {component!r} has no executors")


def _pins(
    document: Any, where: str, known: Mapping[str, int], nodes: frozenset[str]
) -> dict[str, tuple[str, ...]]:
    pins: dict[str, tuple[str, ...]] = {}
    for component, allowed in an_object(document, where).items():
        path = f"{where}.{component}"
        _must_exist(component, path, known)
        ids = [an_id(n, f"{path}[{i}]") for i, n in enumerate(a_list(allowed, path))]
        if not ids:
            raise BadInput(path, "must name at least one node")
        for i, node in enumerate(ids):
            if node not in nodes:
                raise BadInput(f"{path}[{i}]", f"node {node!r} does not exist")
        pins[component] = tuple(ids)
    return pins


def _streams(
    document: Any, where: str, known: Mapping[str, int]
) -> tuple[tuple[str, str, str], ...]:
    streams = []
    for i, entry in enumerate(a_list(document, where)):
        path = f"{where}[{i}]"
        fields = an_object(entry, path, ("from", "to", "grouping"))
        ends = []
        for end in ("from", "to"):
            component = a_string(needed(fields, end, path), f"{path}.{end}")
            _must_exist(component, f"{path}.{end}", known)
            ends.append(component)
        grouping = a_string(fields.get("grouping", "shuffle"), f"{path}.grouping")
        if grouping not in GROUPINGS:
            raise BadInput(f"{path}.grouping", f"must be one of {', '.join(GROUPINGS)}")
        streams.append((ends[0], ends[1], grouping))
    return tuple(streams)
