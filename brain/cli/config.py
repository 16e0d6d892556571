"""``stormbrain config``: all keys with default, unit and meaning."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.table import Table

from brain.cli.output import console, print_json
from brain.config import KEYS


def register(app: typer.Typer) -> None:
    app.command()(config)


def config(
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout.")] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="The table of docs/configuration.md.")
    ] = False,
) -> None:
    """All configuration keys with their defaults, units and meanings."""
    if as_json:
        print_json(
            [
                {
                    "key": k.name,
                    "default": k.default,
                    "unit": k.unit,
                    "scope": k.scope,
                    "read_by": k.reader,
                    "meaning": k.meaning,
                }
                for k in KEYS.values()
            ]
        )
        return
    if markdown:
        print(as_markdown(), end="")
        return
    table = Table("key", "default", "unit", "read by", "meaning")
    for k in KEYS.values():
        table.add_row(k.name, json.dumps(k.default), k.unit, k.reader, k.meaning)
    console.print(table)


def as_markdown() -> str:
    """The generated page, so that documentation and code cannot differ."""
    lines = [
        "# Configuration",
        "",
        "Made by `stormbrain config --markdown`; do not edit. Cluster keys go into storm.yaml (and",
        "to `stormbrain serve --config storm.yaml`); `topology.brain.*` may be set there for all",
        "topologies and per topology at submission, where the topology's own value wins.",
        "",
        "| key | default | unit | read by | meaning |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| `{k.name}` | `{json.dumps(k.default)}` | {k.unit} | {k.reader} | {k.meaning} |"
        for k in KEYS.values()
    ]
    return "\n".join(lines) + "\n"
