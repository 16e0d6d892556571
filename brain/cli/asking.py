"""What the commands share that ask the leading brain: where it is, the call, and options."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

ZooKeeper = Annotated[
    str | None,
    typer.Option(
        envvar="STORMBRAIN_ZOOKEEPER",
        help="Storm's ZooKeeper: host:port, …; without, a local cluster's.",
        rich_help_panel="Where the brain is",
    ),
]
Cluster = Annotated[
    str, typer.Option(help="Local cluster to ask.", rich_help_panel="Where the brain is")
]
Root = Annotated[
    str,
    typer.Option(
        envvar="STORMBRAIN_ROOT",
        help="brain.scheduler.zookeeper.root",
        rich_help_panel="Where the brain is",
    ),
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


@dataclass(frozen=True)
class BrainAt:
    """Where the operator says that the leading brain is to be found."""

    zookeeper: str | None = None
    cluster: str = "default"
    root: str = ROOT
    token: str = ""

    def ask(self, question: str, **arguments: Any) -> Any:
        """The leading brain's answer; errors are one line, as all of the CLI's."""
        from brain.cli.connection import call_brain, leader_address, zookeeper_client

        with zookeeper_client(self.zookeeper_hosts) as client:
            address = leader_address(client, self.root)
        given = {k: v for k, v in arguments.items() if v is not None}
        theta = given.get("theta")
        timeout = 120.0 + 2 * float(theta if theta is not None else 30.0)
        text = call_brain(address, "ask", self.token, question, json.dumps(given), timeout=timeout)
        return json.loads(text)

    @property
    def zookeeper_hosts(self) -> str:
        from brain.cli.connection import zookeeper_hosts

        return zookeeper_hosts(self.zookeeper, self.cluster)


_PLACE = (("zookeeper", ZooKeeper), ("cluster", Cluster), ("root", Root), ("token", Token))


def asks_brain(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options that say where the brain is; it gets them as ``brain``."""

    @functools.wraps(command)
    def asking(**values: Any) -> None:
        place = {name: values.pop(name) for name, _ in _PLACE}
        command(brain=BrainAt(**place), **values)

    plain = inspect.signature(command, eval_str=True)
    own = [
        p.replace(kind=p.KEYWORD_ONLY) for name, p in plain.parameters.items() if name != "brain"
    ]
    places = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=getattr(BrainAt, name), annotation=kind
        )
        for name, kind in _PLACE
    ]
    parameters = [*own, *places]
    asking.__signature__ = plain.replace(parameters=parameters)  # type: ignore[attr-defined]
    asking.__annotations__ = {p.name: p.annotation for p in parameters}
    return asking
