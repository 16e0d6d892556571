"""Reads a problem file. The format is described in docs/problem-files.md and, as a JSON schema,
in problem.schema.json beside this file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from brain.errors import BadInput
from brain.model import UNPLACED, CommGraph, Node, Placement, Problem
from brain.problems.fields import a_count, a_list, an_id, an_object, needed
from brain.problems.nodes import latency_from, nodes_from
from brain.problems.topologies import EdgeArrays, topology_from

TOP_FIELDS = ("nodes", "topologies", "current", "latency_ms", "$schema", "comment")


def load(path: str) -> tuple[Problem, Placement | None]:
    """Reads a problem file, or standard input for ``-``."""
    return parse(read_text(path), path)


def read_text(path: str) -> str:
    try:
        if path == "-":
            return sys.stdin.read()
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        why = e.strerror if isinstance(e, OSError) and e.strerror else str(e)
        raise BadInput(path, f"cannot be read: {why}") from e


def parse(text: str, source: str = "problem") -> tuple[Problem, Placement | None]:
    """A problem and its current placement from JSON text; ``source`` names it in errors."""
    return problem_from_dict(parse_json(text, source))


def parse_json(text: str, source: str) -> Any:
    """Strict JSON: no NaN or Infinity, no field twice."""
    try:
        return json.loads(
            text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_duplicates
        )
    except json.JSONDecodeError as e:
        raise BadInput(source, f"is not JSON: {e.msg} at line {e.lineno}, column {e.colno}") from e
    except RecursionError as e:
        raise BadInput(source, "is nested too deeply") from e
    except _NotStrict as e:
        raise BadInput(source, e.args[0]) from e
    except ValueError as e:  # an integer of thousands of digits
        raise BadInput(source, f"is not usable JSON: {e}") from e


class _NotStrict(ValueError):
    pass


def _refuse_constant(name: str) -> NoReturn:
    raise _NotStrict(f"{name} is not a JSON number; rates and capacities must be finite")


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _NotStrict(f"the field {twice!r} is given twice in one object")
    return document


def problem_from_dict(document: Any) -> tuple[Problem, Placement | None]:
    """A problem and its current placement from a parsed document."""
    top = an_object(document, "$", TOP_FIELDS)
    nodes = nodes_from(needed(top, "nodes", "$"))
    node_ids = frozenset(n.id for n in nodes)
    topologies = []
    edges = EdgeArrays()
    seen: dict[str, int] = {}
    offset = 0
    for i, entry in enumerate(a_list(needed(top, "topologies", "$"), "topologies")):
        topology = topology_from(entry, f"topologies[{i}]", node_ids, offset, edges)
        if topology.id in seen:
            raise BadInput(
                f"topologies[{i}].id", f"{topology.id!r} is already topologies[{seen[topology.id]}]"
            )
        seen[topology.id] = i
        offset += len(topology)
        topologies.append(topology)
    graph = CommGraph.from_edges(offset, edges.source, edges.target, edges.tuples, edges.bytes)
    told = top.get("latency_ms")
    latency = None if told is None else latency_from(told, nodes)
    problem = Problem(nodes, tuple(topologies), graph, latency)
    current = top.get("current")
    return problem, None if current is None else placement_from(problem, current, "current")


def placement_from(
    problem: Problem, document: Any, where: str, missing: list[str] | None = None
) -> Placement:
    """A placement ``{topology: {executor: [node, port]}}``; executors may be left out.

    A slot that does not exist or is shared by topologies is an error, unless ``missing`` is given:
    it then takes the complaints about slots that do not exist, and sharing is left to the verifier.
    """
    slot = np.full(len(problem), UNPLACED, dtype=np.int32)
    index = {t.id: i for i, t in enumerate(problem.topologies)}
    owner: dict[int, str] = {}
    for topology_id, executors in an_object(document, where).items():
        path = f"{where}.{topology_id}"
        if topology_id not in index:
            raise BadInput(path, f"topology {topology_id!r} does not exist")
        t = index[topology_id]
        first = int(problem.offsets[t])
        numbers = {str(e): first + i for i, e in enumerate(problem.topologies[t].executor_ids)}
        for executor, place in an_object(executors, path).items():
            if executor not in numbers:
                raise BadInput(f"{path}.{executor}", f"executor {executor} does not exist")
            try:
                s = _slot(problem, place, f"{path}.{executor}")
            except _NoSlot as e:
                if missing is None:
                    raise
                missing.append(e.message)
                continue
            if missing is None and owner.setdefault(s, topology_id) != topology_id:
                raise BadInput(
                    f"{path}.{executor}", f"slot {place[0]}:{place[1]} also runs {owner[s]}"
                )
            slot[numbers[executor]] = s
    return Placement(slot)


class _NoSlot(BadInput):
    pass


def _slot(problem: Problem, place: Any, where: str) -> int:
    if not isinstance(place, list) or len(place) != 2:
        raise BadInput(where, "must be [node, port]")
    node, port = an_id(place[0], f"{where}[0]"), a_count(place[1], f"{where}[1]", 0, 65535)
    s = problem.slots.index(node, port)
    if s is None:
        known: Node | None = next((n for n in problem.nodes if n.id == node), None)
        if known is None:
            raise _NoSlot(f"{where}[0]", f"node {node!r} does not exist")
        raise _NoSlot(f"{where}[1]", f"node {node!r} has no slot {port}")
    return s
