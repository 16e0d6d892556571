"""What each operator of a query gives, given what feeds it: its variables, options and level."""

from __future__ import annotations

import keyword
from collections.abc import Callable

from topologies.data.catalogue import DATASETS
from topologies.katts.expression import ExpressionError, parse_expression
from topologies.katts.model import STATEFUL, Operator
from topologies.katts.patterns import TriplePattern
from topologies.katts.schema import AGGREGATES, Problems, milliseconds, variables
from topologies.katts.xmltree import Element


def resolve(
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
