"""What all subcommands share: consoles, JSON output, key=value options."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table
from rich.text import Text

from brain.errors import BadInput

console = Console(highlight=False)
progress_console = Console(stderr=True, highlight=False)
"""Progress and notes go to stderr, so that stdout stays clean for scripts."""


def print_json(value: Any) -> None:
    """One JSON document alone on stdout."""
    json.dump(value, sys.stdout, indent=2, default=str)
    sys.stdout.write("\n")


def add_row(table: Table, *values: Any) -> None:
    """Names from outside are text, never markup."""
    table.add_row(*(Text(str(v)) for v in values))


def slot_name(slot: str | None, hosts: Mapping[str, str]) -> str:
    """host:port of a slot that the brain names by its supervisor's id."""
    node, _, port = (slot or "").rpartition(":")
    return f"{hosts.get(node, node)}:{port}" if slot else "–"


def parse_pairs(pairs: Iterable[str], where: str = "--set") -> dict[str, Any]:
    """``key=value`` options; values are YAML, so numbers, lists and maps come out typed."""
    values: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key.strip():
            raise BadInput(where, f"{pair!r} is not key=value")
        try:
            values[key.strip()] = yaml.safe_load(text)
        except yaml.YAMLError as e:
            raise BadInput(f"{where} {key}", f"cannot be read as YAML: {e}") from None
    return values
