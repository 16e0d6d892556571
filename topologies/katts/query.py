"""A query read from XML: its operators in order, each with its variables, inputs and level."""

from __future__ import annotations

import keyword
from collections.abc import Callable
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from brain.errors import BadInput
from topologies.data.catalogue import DATASETS
from topologies.katts.expression import ExpressionError, parse_expression
from topologies.katts.patterns import TriplePattern
from topologies.katts.schema import (
    AGGREGATES,
    GROUPINGS,
    OPERATORS,
    Problems,
    check_shape,
    identifier,
    milliseconds,
    parallelism,
    variables,
)
from topologies.katts.xmltree import Element, XmlFault, parse_xml

STATEFUL = ("aggregate", "join")


class BadQuery(BadInput):
    """A query that cannot be compiled; every fault with its line."""

    def __init__(self, name: str, problems: list[tuple[int, str]]) -> None:
        told = [f"{name}:{line}: {reason}" for line, reason in sorted(set(problems))]
        first = told[0].removeprefix(f"{name}:")
        line, _, reason = first.partition(": ")
        super().__init__(f"{name}:{line}", "\n".join([reason, *told[1:]]))
        self.problems = sorted(set(problems))


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
        _resolve(operator, operators, prefixes, problems)
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


def _resolve(
    operator: Operator,
    operators: dict[str, Operator],
    prefixes: dict[str, str],
    problems: Problems,
) -> None:
    """Finds the operator's variables, options, level and readers from what feeds it."""
    feeds = [operators[feed.source] for feed in operator.inputs]
    for feed, source in zip(operator.inputs, feeds, strict=True):
        _need(feed.fields, source.variables, feed.line, f"of {source.id!r}", problems)
        operator.readers |= source.readers
    deepest = max((source.level for source in feeds), default=0)
    operator.level = deepest + (1 if operator.kind in STATEFUL else 0)
    if operator.kind == "reader":
        operator.readers = {operator.id}
    _RESOLVERS[operator.kind](operator, feeds, prefixes, problems)
    for name in operator.variables:
        if keyword.iskeyword(name):
            problems.add(operator.line, f"?{name} cannot be a variable: the word is reserved")


def _need(
    names: list[str], available: list[str], line: int, where: str, problems: Problems
) -> None:
    for name in names:
        if name not in available:
            known = " ".join(f"?{v}" for v in available) or "none"
            problems.add(line, f"there is no variable ?{name} among those {where} ({known})")


def _reader(
    operator: Operator, feeds: list[Operator], prefixes: dict[str, str], problems: Problems
) -> None:
    element = operator.element
    patterns = [_pattern(child, prefixes, problems) for child in element.all("pattern")]
    found = list(dict.fromkeys(v for pattern in patterns for v in pattern.variables))
    emits = element.all("emit")
    if len(emits) > 1:
        problems.add(emits[1].line, "a reader has one <emit>")
    if patterns:
        chosen = variables(emits[0], "variables", problems) if emits else found
        _need(chosen, found, emits[0].line if emits else element.line, "in patterns", problems)
    else:
        chosen = ["s", "p", "o"]
        if emits:
            problems.add(emits[0].line, "<emit> needs patterns; without, ?s ?p ?o are emitted")
    dataset = element.attributes.get("dataset", "")
    if dataset and dataset not in DATASETS:
        known = ", ".join(DATASETS)
        problems.add(element.line, f"there is no dataset {dataset!r} (there are: {known})")
    operator.variables = chosen
    operator.options = {
        "dataset": dataset,
        "data_dir": element.attributes.get("files", ""),
        "patterns": [list(pattern.terms) for pattern in patterns],
        "variables": chosen,
    }


def _triple_pattern(
    operator: Operator, feeds: list[Operator], prefixes: dict[str, str], problems: Problems
) -> None:
    patterns = operator.element.all("pattern")
    if len(patterns) != 1:
        problems.add(operator.line, f"<triple-pattern> has one <pattern>, not {len(patterns)}")
        return
    if feeds[0].variables != ["s", "p", "o"]:
        problems.add(operator.line, "<triple-pattern> takes the triples of a plain reader")
    pattern = _pattern(patterns[0], prefixes, problems)
    operator.variables = list(dict.fromkeys(pattern.variables))
    operator.options = {"pattern": list(pattern.terms), "variables": operator.variables}


def _aggregate(
    operator: Operator, feeds: list[Operator], prefixes: dict[str, str], problems: Problems
) -> None:
    element, available = operator.element, feeds[0].variables
    group = variables(element, "group-by", problems)
    _need(group, available, element.line, f"of {feeds[0].id!r}", problems)
    window = milliseconds(element, "window", problems)
    step = milliseconds(element, "step", problems)
    if not problems.found and (window <= 0 or step <= 0 or step > window):
        problems.add(element.line, "a window and its step are positive, and a step fits in it")
    aggregates: list[tuple[str, str]] = []
    given: list[str] = []
    for child in element.children:
        if child.tag not in AGGREGATES:
            continue
        of, name = variables(child, "of", problems), variables(child, "as", problems)
        _need(of, available, child.line, f"of {feeds[0].id!r}", problems)
        if len(of) != 1 or len(name) != 1:
            problems.add(child.line, f"<{child.tag}> takes one variable and gives one")
            continue
        if name[0] in group + given:
            problems.add(child.line, f"?{name[0]} is there already")
        aggregates.append((child.tag, of[0]))
        given.append(name[0])
    if not aggregates:
        problems.add(element.line, "<aggregate> has no <min>, <max> or <avg>")
    feed = operator.inputs[0]
    if feed.grouping == "fields" and not set(feed.fields) <= set(group):
        problems.add(feed.line, "rows of one group would go to different tasks: group by fields")
    if feed.grouping not in ("fields", "global") and operator.parallelism > 1:
        problems.add(
            feed.line, f"grouping={feed.grouping} would tear groups apart: use fields or global"
        )
    operator.variables = [*group, *given]
    operator.options = {
        "inputs": available,
        "group": group,
        "aggregates": aggregates,
        "window": window,
        "step": step,
    }


def _bind(
    operator: Operator, feeds: list[Operator], prefixes: dict[str, str], problems: Problems
) -> None:
    _expression(operator, feeds[0], problems)
    names = variables(operator.element, "as", problems)
    if len(names) != 1 or names[0] in feeds[0].variables:
        problems.add(operator.line, "as names one variable that is not there yet")
    operator.variables = [*feeds[0].variables, *names]


def _filter(
    operator: Operator, feeds: list[Operator], prefixes: dict[str, str], problems: Problems
) -> None:
    _expression(operator, feeds[0], problems)
    operator.variables = list(feeds[0].variables)


def _expression(operator: Operator, feed: Operator, problems: Problems) -> None:
    text = operator.element.attributes["expression"]
    try:
        used = parse_expression(text).variables
        _need(sorted(used), feed.variables, operator.line, f"of {feed.id!r}", problems)
    except ExpressionError as fault:
        problems.add(operator.line, f"expression {fault}")
    operator.options = {"inputs": feed.variables, "expression": text}


def _join(
    operator: Operator, feeds: list[Operator], prefixes: dict[str, str], problems: Problems
) -> None:
    element, (left, right) = operator.element, feeds
    if left.id == right.id:
        problems.add(operator.line, "the two inputs of a join are different operators")
    on = variables(element, "on", problems)
    for side in feeds:
        _need(on, side.variables, element.line, f"of {side.id!r}", problems)
    extra = [v for v in right.variables if v not in on]
    for name in extra:
        if name in left.variables:
            problems.add(element.line, f"?{name} comes from both sides, but is not joined on")
    for feed in operator.inputs:
        ok = feed.grouping == "global" or (
            feed.grouping == "fields" and set(feed.fields) <= set(on)
        )
        if not ok and operator.parallelism > 1:
            problems.add(feed.line, "matching rows would miss each other: group by fields of on")
    min_lag = milliseconds(element, "min-lag", problems)
    max_lag = milliseconds(element, "max-lag", problems)
    if min_lag > max_lag:
        problems.add(element.line, "min-lag is above max-lag")
    operator.variables = [*on, *(v for v in left.variables if v not in on), *extra]
    operator.options = {
        "left": {"from": left.id, "variables": left.variables},
        "right": {"from": right.id, "variables": right.variables},
        "on": on,
        "min_lag": min_lag,
        "max_lag": max_lag,
    }


def _output(
    operator: Operator, feeds: list[Operator], prefixes: dict[str, str], problems: Problems
) -> None:
    operator.options = {"inputs": feeds[0].variables}


def _pattern(element: Element, prefixes: dict[str, str], problems: Problems) -> TriplePattern:
    terms = (element.attributes[part] for part in ("subject", "predicate", "object"))
    return TriplePattern(*(_term(term.strip(), element, prefixes, problems) for term in terms))


def _term(term: str, element: Element, prefixes: dict[str, str], problems: Problems) -> str:
    """A variable, ``<iri>``, ``prefix:name`` or ``"literal"`` in the form triples have."""
    if term.startswith(("?", "<", '"', "_:")):
        if term.startswith("?"):
            variables(Element("term", {"term": term}, element.line), "term", problems)
        return term
    prefix, colon, local = term.partition(":")
    if not colon or prefix not in prefixes:
        problems.add(element.line, f'{term!r} is no ?variable, <iri>, "text" or known prefix:name')
    return f"<{prefixes.get(prefix, '')}{local}>"


_RESOLVERS: dict[str, Callable[[Operator, list[Operator], dict[str, str], Problems], None]] = {
    "reader": _reader,
    "triple-pattern": _triple_pattern,
    "aggregate": _aggregate,
    "bind": _bind,
    "filter": _filter,
    "join": _join,
    "output": _output,
}
