"""``stormbrain status`` and ``stormbrain history``: what the brain knows, and what it decided."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer
from rich.table import Table

from brain.cli.output import console, print_json

ZooKeeper = Annotated[str | None, typer.Option(help="Storm's ZooKeeper: host:port, …")]
Cluster = Annotated[str, typer.Option(help="Local cluster to ask.")]
Root = Annotated[str, typer.Option(help="brain.scheduler.zookeeper.root")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on stdout.")]


def register(app: typer.Typer) -> None:
    app.command()(status)
    app.command()(history)


def status(
    zookeeper: ZooKeeper = None,
    cluster: Cluster = "default",
    root: Root = "/stormbrain",
    token: Annotated[str, typer.Option(envvar="STORMBRAIN_TOKEN", help="Shared token.")] = "",
    as_json: AsJson = False,
) -> None:
    """Who leads, which topologies are watched, what was decided last."""
    from brain.cli.connection import (
        call_brain,
        leader_address,
        zookeeper_client,
        zookeeper_hosts,
    )

    with zookeeper_client(zookeeper_hosts(zookeeper, cluster)) as client:
        address = leader_address(client, root)
    answer = call_brain(address, "status", token)
    if as_json:
        print_json(_plain(answer))
        return
    ago = _ago(answer.last_snapshot_ms)
    console.print(
        f"brain [bold]{answer.brain}[/bold] {answer.version} leads (term {answer.term}); "
        f"last snapshot of Nimbus {ago}; {answer.reports_received} reports"
    )
    table = Table("topology", "mode", "algorithm", "plan", "inter-node", "tuples/s", "state")
    for t in answer.topologies:
        cost = "–"
        if t.cost_now is not None and t.cost_planned is not None:
            cost = f"{t.cost_now.inter_node:,.0f} → {t.cost_planned.inter_node:,.0f}"
        table.add_row(
            t.name, t.mode, t.algorithm, str(t.plan.epoch) if t.plan else "–", cost,
            f"{t.tuples_per_sec or 0:,.0f}", t.last_decision or "",
        )  # fmt: skip
    console.print(table)


def history(
    topology: Annotated[str, typer.Argument(help="Topology name or id.")],
    zookeeper: ZooKeeper = None,
    cluster: Cluster = "default",
    root: Root = "/stormbrain",
    as_json: AsJson = False,
) -> None:
    """The latest decisions about a topology, each with its reason."""
    from brain.cli.connection import zookeeper_client, zookeeper_hosts
    from brain.errors import StormbrainError
    from brain.service.decision_log import read_decisions

    with zookeeper_client(zookeeper_hosts(zookeeper, cluster)) as client:
        path = f"{root.rstrip('/')}/decisions"
        ids = client.get_children(path) if client.exists(path) else []
        wanted = [i for i in ids if i == topology or i.rsplit("-", 2)[0] == topology]
        if not wanted:
            raise StormbrainError(
                f"no decision about {topology} is on record",
                f"known: {', '.join(sorted(ids)) or 'none yet'}",
            )
        found = [d for i in sorted(wanted) for d in read_decisions(client, path, i)]
    if as_json:
        print_json(found)
        return
    table = Table("time", "topology", "trigger", "algorithm", "outcome", "reason")
    for d in found:
        trigger: Any = d.get("trigger") or {}
        when = time.strftime("%H:%M:%S", time.localtime(int(str(d["time_ms"])) / 1000))
        table.add_row(
            when, str(d["topology_id"]), str(trigger.get("kind")), str(d["algorithm"]),
            str(d["outcome"]), str(d["reason"]),
        )  # fmt: skip
    console.print(table)


def _plain(value: Any) -> Any:
    """A Thrift struct as plain JSON values."""
    if hasattr(value, "thrift_spec"):
        return {spec[1]: _plain(getattr(value, spec[1])) for spec in value.thrift_spec.values()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return value


def _ago(time_ms: int | None) -> str:
    if not time_ms:
        return "never"
    return f"{max(0.0, time.time() - time_ms / 1000):.0f} s ago"
