"""From a checked query to a streamparse topology, as if it had been written by hand."""

from __future__ import annotations

from dataclasses import dataclass, field, make_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from streamparse import Grouping, Topology
from streamparse.dsl.bolt import ShellBoltSpec
from streamparse.dsl.spout import ShellSpoutSpec

from topologies.common.bolt import output_fields
from topologies.common.options import (
    RunOptions,
    component,
    data_directory,
    make_topology,
    watermarks,
)
from topologies.common.spout import source_outputs
from topologies.katts import operators
from topologies.katts.model import STATEFUL, Input, Operator, Query
from topologies.katts.query import read_query

_COMPONENTS: dict[str, Any] = {
    "reader": operators.ReaderSpout,
    "triple-pattern": operators.PatternBolt,
    "aggregate": operators.AggregateBolt,
    "bind": operators.BindBolt,
    "filter": operators.FilterBolt,
    "join": operators.JoinBolt,
    "output": operators.OutputBolt,
}


@dataclass(frozen=True)
class QueryOptions(RunOptions):
    """Options of a query; ``<operator>_tasks`` for each operator and ``<reader>_events`` for each
    reader come on top; 0 leaves them as they are."""

    tasks: int = 0
    """Tasks of every operator but readers and outputs; 0: as the query says."""


def options_class(query: Query) -> type[QueryOptions]:
    """``QueryOptions`` with the tasks of each operator and the events of each reader."""
    own = [
        _option(f"{_plain(name)}_tasks", f"Tasks of {name}; 0: as the query says.")
        for name in query.operators
    ]
    for operator in query.operators.values():
        if operator.kind == "reader":
            told = f"Events that {operator.id} generates; 0: the option events."
            own.append(_option(f"{_plain(operator.id)}_events", told))
    return make_dataclass("Options", own, bases=(QueryOptions,), frozen=True)


def compile_query(query: Query, options: QueryOptions) -> type[Topology]:
    """The topology of a query. Operators of one level hear the watermarks of that level."""
    specs: dict[str, Any] = {}
    for operator in query.operators.values():
        specs[operator.id] = _spec(operator, specs, query.levels, options)
    config = options.config()
    if query.workers is not None:
        config["topology.workers"] = query.workers
    return make_topology(query.name, specs, config)


def query_module(path: Path) -> ModuleType:
    """A module as ``stormbrain submit`` expects it, made from a query file."""
    query = read_query(path)
    module = ModuleType("topologies.katts.compiled", f"The query {path.name}.")
    module.__file__ = str(path)

    def build(options: QueryOptions) -> type[Topology]:
        return compile_query(query, options)

    vars(module).update(Options=options_class(query), build=build)
    return module


def _spec(operator: Operator, specs: dict[str, Any], levels: int, options: QueryOptions) -> Any:
    """A component's spec, made directly: its fields are the query's, not those of a class."""
    kind = _COMPONENTS[operator.kind]
    common = {
        "component_cls": kind,
        "name": operator.id,
        "command": "streamparse_run",
        "script": f"{kind.__module__}.{kind.__name__}",
        "par": _tasks(operator, options),
    }
    if operator.kind == "reader":
        return ShellSpoutSpec(
            **common,
            config=component(**_reader_settings(operator, levels, options)),
            outputs=source_outputs(*operator.variables, "time"),
        )
    inputs: dict[Any, Any] = {specs[i.source]: _grouping(i) for i in operator.inputs}
    if operator.kind in STATEFUL:
        inputs |= watermarks(*(specs[reader] for reader in sorted(operator.readers)))
    last = operator.kind == "output"
    return ShellBoltSpec(
        **common,
        inputs=inputs,
        config=component(**operator.options, level=operator.level),
        outputs=[] if last else output_fields(*operator.variables, "time"),
    )


def _reader_settings(operator: Operator, levels: int, options: QueryOptions) -> dict[str, Any]:
    own_events = getattr(options, f"{_plain(operator.id)}_events", 0)
    files = operator.options["data_dir"] or data_directory(options.data_dir, operator.id)
    return {
        **operator.options,
        "levels": levels,
        "events": own_events or options.events,
        "data_dir": files,
    }


def _tasks(operator: Operator, options: QueryOptions) -> int:
    own = int(getattr(options, f"{_plain(operator.id)}_tasks", 0))
    if own:
        return own
    if options.tasks and operator.kind not in ("reader", "output"):
        return options.tasks
    return operator.parallelism


def _option(name: str, meaning: str) -> tuple[str, type[int], Any]:
    return name, int, field(default=0, metadata={"meaning": meaning})


def _plain(name: str) -> str:
    return name.replace("-", "_")


def _grouping(feed: Input) -> Any:
    if feed.grouping == "fields":
        return Grouping.fields(*feed.fields)
    return {
        "shuffle": Grouping.SHUFFLE,
        "local-or-shuffle": Grouping.LOCAL_OR_SHUFFLE,
        "global": Grouping.GLOBAL,
        "all": Grouping.ALL,
    }[feed.grouping]
