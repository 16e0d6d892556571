"""KATTS operators as streamparse components; each is told its work by its configuration.

A tuple holds the values of the variables, then the time, then what every benchmark tuple has
(name and intended emission). Variables are fields of the stream, without the question mark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from topologies.common.bolt import Logic, Output, SinkBolt, StatefulBolt, StatelessBolt
from topologies.common.dataset_spout import DatasetSpout
from topologies.common.events import Event
from topologies.common.identity import window_id
from topologies.common.windows import SlidingWindows, Summary
from topologies.data.catalogue import DATASETS
from topologies.data.dataset import Dataset
from topologies.data.triples import format_triple, parse_triple
from topologies.katts.expression import EvaluationError, parse_expression
from topologies.katts.join import LEFT, RIGHT, TemporalJoin
from topologies.katts.patterns import TriplePattern, bindings_of, typed


class TripleFiles(Dataset):
    """Time-stamped N-Triples from files; there is nothing to generate."""

    name = "triples"
    title = "time-stamped N-Triples"
    suffix = "nt"

    def generate(
        self, seed: int, partition: int, partitions: int, size: int | None
    ) -> Iterator[Event]:
        return iter(())

    def format(self, event: Event) -> str:
        return format_triple(event)

    def parse(self, line: str) -> Event | None:
        return parse_triple(line)


class ReaderSpout(DatasetSpout):
    """Reads time-stamped triples and emits the bindings that its patterns find in them; without
    patterns, the triples themselves as the variables s, p and o.

    Options: ``dataset`` (what to generate if no files are given), ``patterns``, ``variables``.
    """

    def dataset(self) -> Dataset:
        return DATASETS.get(self.options.get("dataset", ""), TripleFiles())

    def payload(self, events: Iterable[Event]) -> Iterator[Event]:
        patterns = [TriplePattern(*terms) for terms in self.options["patterns"]]
        if patterns:
            return bindings_of(patterns, self.options["variables"], events)
        return ((time, [*triple, time]) for time, triple in events)


class PatternBolt(StatelessBolt):
    """Matches one triple pattern against each triple. Options: ``pattern``, ``variables``."""

    def setup(self) -> None:
        self._pattern = TriplePattern(*self.options["pattern"])
        self._variables: list[str] = self.options["variables"]

    def transform(self, values: Sequence[Any]) -> Iterable[list[Any]]:
        *triple, time = values
        match = self._pattern.match(triple, {})
        if match is None:
            return []
        return [[*(typed(match[v]) for v in self._variables), time]]


class BindBolt(StatelessBolt):
    """Adds a variable with the value of an expression. A row for which it has no value is left
    out and counted as ``errors``. Options: ``inputs`` (variables), ``expression``."""

    def setup(self) -> None:
        self._expression = parse_expression(self.options["expression"])
        self._inputs: list[str] = self.options["inputs"]

    def transform(self, values: Sequence[Any]) -> Iterable[list[Any]]:
        *row, time = values
        try:
            value = self._expression.value(dict(zip(self._inputs, row, strict=True)))
        except EvaluationError:
            self.report.count("errors")
            return []
        return [[*row, value, time]]


class FilterBolt(StatelessBolt):
    """Passes on the rows for which a condition holds. Options: ``inputs``, ``expression``."""

    def setup(self) -> None:
        self._expression = parse_expression(self.options["expression"])
        self._inputs: list[str] = self.options["inputs"]

    def transform(self, values: Sequence[Any]) -> Iterable[list[Any]]:
        row = dict(zip(self._inputs, values[:-1], strict=True))
        return [list(values)] if self._expression.holds(row) else []


class AggregateLogic:
    """Aggregates over sliding windows by group: the bolt's options say which."""

    def __init__(self, component: str, options: dict[str, Any]) -> None:
        self._component = component
        inputs: list[str] = options["inputs"]
        self._group = [inputs.index(v) for v in options["group"]]
        self._aggregates = [(kind, inputs.index(v)) for kind, v in options["aggregates"]]
        self._columns = sorted({column for _, column in self._aggregates})
        self._windows = SlidingWindows(options["window"], options["step"], len(self._columns))

    def insert(self, values: Sequence[Any], name: str) -> Iterable[Output]:
        *row, time = values
        try:
            numbers = [float(row[c]) for c in self._columns]
        except (TypeError, ValueError):
            return ()
        self._windows.add(json.dumps([row[c] for c in self._group]), time, numbers)
        return ()

    def again(self, values: Sequence[Any], name: str) -> Iterable[Output]:
        return ()

    def advance(self, watermark: int) -> Iterator[Output]:
        for group, end, summaries in self._windows.close(watermark):
            by_column = dict(zip(self._columns, summaries, strict=True))
            aggregated = [_aggregate(kind, by_column[c]) for kind, c in self._aggregates]
            name = window_id(self._component, group, end)
            yield Output([*json.loads(group), *aggregated, end], name)

    def state(self) -> Any:
        return self._windows.state()

    def load(self, state: Any) -> None:
        self._windows.load(state)


def _aggregate(kind: str, summary: Summary) -> float:
    if kind == "min":
        return summary.minimum
    if kind == "max":
        return summary.maximum
    return summary.average


class AggregateBolt(StatefulBolt):
    """Minimum, maximum and average over sliding windows. Options: ``inputs``, ``group``,
    ``aggregates`` (kind and variable), ``window`` and ``step`` in ms, ``level``."""

    def logic(self) -> Logic:
        return AggregateLogic(self.place.component, self.options)


class JoinBolt(StatefulBolt):
    """Joins two streams on variables and time. Options: ``left`` and ``right`` (component and
    its variables), ``on``, ``min_lag`` and ``max_lag`` in ms, ``level``."""

    dedupe = False

    def logic(self) -> Logic:
        options = self.options
        return TemporalJoin(len(options["on"]), options["min_lag"], options["max_lag"])

    def payload(self, tup: Any) -> list[Any]:
        side = LEFT if tup.component == self.options["left"]["from"] else RIGHT
        variables: list[str] = self.options[side]["variables"]
        *row, time = tup.values[:-2]
        bound = dict(zip(variables, row, strict=True))
        key = [bound.pop(v) for v in self.options["on"]]
        return [side, *key, *bound.values(), time]


class OutputBolt(SinkBolt):
    """Writes every row down as a result. Options: ``inputs`` (variables)."""

    def fields(self, values: Sequence[Any]) -> dict[str, Any]:
        *row, time = values
        return {**dict(zip(self.options["inputs"], row, strict=True)), "time": time}
