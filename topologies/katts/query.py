"""A query read from XML and checked, every fault told with its line."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from brain.errors import BadInput
from topologies.katts.model import Input, Operator, Query
from topologies.katts.resolve import resolve
from topologies.katts.schema import (
    GROUPINGS,
    OPERATORS,
    Problems,
    check_shape,
    identifier,
    parallelism,
    variables,
)
from topologies.katts.xmltree import Element, XmlFault, parse_xml


class BadQuery(BadInput):
    """A query that cannot be compiled; every fault with its line."""

    def __init__(self, name: str, problems: list[tuple[int, str]]) -> None:
        told = [f"{name}:{line}: {reason}" for line, reason in sorted(set(problems))]
        first = told[0].removeprefix(f"{name}:")
        line, _, reason = first.partition(": ")
        super().__init__(f"{name}:{line}", "\n".join([reason, *told[1:]]))
        self.problems = sorted(set(problems))


def read_query(path: Path) -> Query:
    """Reads and checks a query file; raises ``BadQuery`` with every fault found."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise BadInput(str(path), f"cannot be read: {problem}") from problem
    return parse_query(text, str(path))


def parse_query(text: str, name: str = "query") -> Query:
    problems = Problems()
    try:
        root = parse_xml(text)
    except XmlFault as fault:
        raise BadQuery(name, [(fault.line, fault.reason)]) from None
    check_shape(root, problems)
    _stop_at(problems, name)
    operators = _operators(root, problems)
    _stop_at(problems, name)
    ordered = _in_order(operators, problems)
    _stop_at(problems, name)
    prefixes = {p.attributes["name"]: p.attributes["iri"] for p in root.all("prefix")}
    for operator in ordered:
        resolve(operator, operators, prefixes, problems)
        _stop_at(problems, name)
    _check_whole(root, ordered, problems)
    workers = root.attributes.get("workers", "")
    if workers and (not workers.isdigit() or int(workers) < 1):
        problems.add(root.line, f"workers={workers!r} is not a whole number of 1 or more")
    _stop_at(problems, name)
    named = {operator.id: operator for operator in ordered}
    return Query(root.attributes["name"], int(workers) if workers else None, named)


def _stop_at(problems: Problems, name: str) -> None:
    if problems.found:
        raise BadQuery(name, problems.found)


def _operators(root: Element, problems: Problems) -> dict[str, Operator]:
    operators: dict[str, Operator] = {}
    for element in root.children:
        if element.tag not in OPERATORS:
            continue
        name = identifier(element, problems)
        if name in operators:
            problems.add(element.line, f"id={name!r} is taken (line {operators[name].line})")
        inputs = [_input(child, problems) for child in element.all("input")]
        operators[name] = Operator(
            element.tag, name, parallelism(element, problems), inputs, element.line, element
        )
    return operators


def _input(element: Element, problems: Problems) -> Input:
    grouping = element.attributes.get("grouping", "local-or-shuffle")
    fields = variables(element, "fields", problems)
    if grouping not in GROUPINGS:
        known = ", ".join(GROUPINGS)
        problems.add(element.line, f"unknown grouping {grouping!r} (there are: {known})")
    elif grouping == "fields" and not fields:
        problems.add(element.line, "grouping=fields needs the attribute fields")
    elif grouping != "fields" and fields:
        problems.add(element.line, f"fields goes with grouping=fields, not with {grouping}")
    return Input(element.attributes["from"], grouping, fields, element.line)


def _in_order(operators: dict[str, Operator], problems: Problems) -> list[Operator]:
    """Every operator after its inputs; tells unknown inputs, wrong numbers of them, and cycles."""
    for operator in operators.values():
        wanted = {"reader": 0, "join": 2}.get(operator.kind, 1)
        if len(operator.inputs) != wanted:
            problems.add(
                operator.line,
                f"<{operator.kind}> has {len(operator.inputs)} inputs, but takes {wanted}",
            )
        for feed in operator.inputs:
            if feed.source not in operators:
                problems.add(feed.line, f"there is no operator {feed.source!r}")
            elif operators[feed.source].kind == "output":
                problems.add(feed.line, f"{feed.source!r} is an output and gives nothing")
    if problems.found:
        return []
    graph = {o.id: {feed.source for feed in o.inputs} for o in operators.values()}
    try:
        return [operators[name] for name in TopologicalSorter(graph).static_order()]
    except CycleError as error:
        cycle = list(reversed(error.args[1]))
        line = operators[cycle[0]].line
        problems.add(line, "the operators feed each other in a circle: " + " → ".join(cycle))
        return []


def _check_whole(root: Element, operators: list[Operator], problems: Problems) -> None:
    kinds = {operator.kind for operator in operators}
    for kind in ("reader", "output"):
        if kind not in kinds:
            problems.add(root.line, f"the query has no <{kind}>")
    used = {feed.source for operator in operators for feed in operator.inputs}
    for operator in operators:
        if operator.kind != "output" and operator.id not in used:
            problems.add(operator.line, f"nobody takes what {operator.id!r} gives")
