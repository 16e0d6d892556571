"""What the commands share that ask the leading brain: options, the call, and names of things."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

ZooKeeper = Annotated[
    str | None,
    typer.Option(help="Storm's ZooKeeper: host:port, …", rich_help_panel="Where the brain is"),
]
Cluster = Annotated[
    str, typer.Option(help="Local cluster to ask.", rich_help_panel="Where the brain is")
]
Root = Annotated[
    str,
    typer.Option(help="brain.scheduler.zookeeper.root", rich_help_panel="Where the brain is"),
]
Token = Annotated[
    str,
    typer.Option(
        envvar="STORMBRAIN_TOKEN",
        show_envvar=True,
        help="brain.scheduler.token",
        rich_help_panel="Where the brain is",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on stdout.")]
Topology = Annotated[str, typer.Argument(help="Topology name or id.", metavar="TOPOLOGY")]


def complete_algorithm(incomplete: str) -> list[str]:
    from brain.algorithms.registry import names

    return [n for n in names() if n.startswith(incomplete)]


Algorithm = Annotated[
    str | None,
    typer.Option(
        help="Instead of the configured one.", autocompletion=complete_algorithm, metavar="NAME"
    ),
]
Theta = Annotated[float | None, typer.Option(min=0.01, max=60, help="θ: seconds that it may take.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed of everything random.")]
ROOT = "/stormbrain"


def ask(
    question: str,
    arguments: dict[str, Any],
    zookeeper: str | None,
    cluster: str,
    root: str,
    token: str,
) -> Any:
    """Asks the leading brain; errors are one line, as all of the CLI's."""
    from brain.cli.connection import (
        call_brain,
        leader_address,
        zookeeper_client,
        zookeeper_hosts,
    )

    with zookeeper_client(zookeeper_hosts(zookeeper, cluster)) as client:
        address = leader_address(client, root)
    given = {k: v for k, v in arguments.items() if v is not None}
    theta = given.get("theta")
    timeout = 60.0 + 2 * float(theta if theta is not None else 30.0)
    return json.loads(
        call_brain(address, "ask", token, question, json.dumps(given), timeout=timeout)
    )


def add_row(table: Table, *values: Any) -> None:
    """Names from outside are text, never markup."""
    table.add_row(*(Text(str(v)) for v in values))


def rate(value: float, unit: str = "bytes/s") -> str:
    """1.2 MB/s or 300 tuples/s, as fits the unit that costs are measured in."""
    if unit != "bytes/s":
        return f"{value:,.0f} {unit}"
    for name in ("B", "kB", "MB", "GB"):
        if abs(value) < 1000:
            return f"{value:.3g} {name}/s"
        value /= 1000
    return f"{value:.3g} TB/s"
