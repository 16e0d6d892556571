"""``stormbrain submit``, ``kill``, ``list`` and ``rebalance``: topologies on a Storm cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brain.errors import BadInput

if TYPE_CHECKING:
    from brain.submit.nimbus import NimbusClient

NimbusOption = Annotated[
    str | None, typer.Option("--nimbus", help="Nimbus as host:port, in place of --cluster.")
]
ClusterOption = Annotated[str, typer.Option("--cluster", "-c", help="Name of a local cluster.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, alone on stdout.")]
WaitTimeout = Annotated[float, typer.Option(help="How long --wait may take, in seconds.")]


def register(app: typer.Typer) -> None:
    app.command()(submit)
    app.command()(kill)
    app.command(name="list")(list_topologies)
    app.command()(rebalance)


def submit(
    files: Annotated[list[Path], typer.Argument(help="Python files, each with a topology.")],
    name: Annotated[
        str | None, typer.Option("--name", "-n", help="Its name; by default the file's.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", "-w", help="Worker processes.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", "-s", help="key=value: an option of the topology, or a Storm setting (a.b.c)."
        ),
    ] = None,
    class_name: Annotated[
        str | None, typer.Option("--class", help="Which of several Topology classes.")
    ] = None,
    nimbus: NimbusOption = None,
    cluster: ClusterOption = "default",
    python: Annotated[
        Path | None, typer.Option(help="The workers' Python, to check the imports with.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until all executors are up.")] = False,
    wait_timeout: WaitTimeout = 120.0,
    options: Annotated[
        bool, typer.Option("--options", help="Only list the options of the topology.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Submit streamparse topologies: all of the given files, or none."""
    from brain.submit.submission import Submitter, wait_until_up

    if options:
        _show_options(files, as_json)
        return
    given = settings or []
    if nimbus is None:
        given = [*given, *_redis_setting(files, given, cluster)]
    with _client(nimbus, cluster) as client:
        submitter = Submitter(client) if python is None else Submitter(client, python)
        ids = submitter.submit_all(
            files, name=name, settings=given, workers=workers, class_name=class_name
        )
        if wait:
            for topology_id in ids:
                wait_until_up(client, topology_id, wait_timeout)
    if as_json:
        typer.echo(json.dumps({"submitted": ids}))
        return
    for topology_id in ids:
        typer.echo(f"{topology_id} {'is up' if wait else 'is submitted'}")


def kill(
    name: Annotated[str, typer.Argument(help="Name of the topology.")],
    wait_secs: Annotated[
        int, typer.Option(help="Seconds that its tuples get to be processed, spouts off.")
    ] = 0,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it is gone.")] = False,
    wait_timeout: WaitTimeout = 120.0,
    nimbus: NimbusOption = None,
    cluster: ClusterOption = "default",
) -> None:
    """Kill a topology."""
    from brain.submit.submission import wait_until_gone

    with _client(nimbus, cluster) as client:
        client.kill(name, wait_secs)
        if wait:
            wait_until_gone(client, name, wait_timeout + wait_secs)
    typer.echo(f"{name} {'is gone' if wait else 'is being killed'}")


def list_topologies(
    nimbus: NimbusOption = None, cluster: ClusterOption = "default", as_json: Json = False
) -> None:
    """List the topologies that run."""
    from dataclasses import asdict

    with _client(nimbus, cluster) as client:
        topologies = client.cluster().topologies
    if as_json:
        typer.echo(json.dumps([asdict(topology) for topology in topologies]))
        return
    if not topologies:
        typer.echo("no topology is running")
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("name", "status", "workers", "executors", "tasks", "up s", "scheduler", "id")
    for t in topologies:
        numbers = [str(n) for n in (t.workers, t.executors, t.tasks, t.uptime_secs)]
        table.add_row(t.name, t.status, *numbers, t.scheduler_status, t.id)
    Console().print(table)


def rebalance(
    name: Annotated[str, typer.Argument(help="Name of the topology.")],
    workers: Annotated[
        int | None, typer.Option("--workers", "-w", help="New number of workers.")
    ] = None,
    executors: Annotated[
        list[str] | None,
        typer.Option("--executors", "-e", help="component=number, at most its tasks; repeatable."),
    ] = None,
    wait_secs: Annotated[
        int, typer.Option(help="Seconds that its tuples get to be processed, spouts off.")
    ] = 0,
    nimbus: NimbusOption = None,
    cluster: ClusterOption = "default",
) -> None:
    """Have a topology scheduled anew, with other numbers of workers or executors if given."""
    numbers = _executor_numbers(executors or [])
    with _client(nimbus, cluster) as client:
        client.rebalance(name, wait_secs, workers, numbers)
    typer.echo(f"{name} is being rebalanced")


def _client(nimbus: str | None, cluster: str) -> NimbusClient:
    from brain.submit.nimbus import NimbusClient

    if nimbus is not None:
        return NimbusClient.at(nimbus)
    from brain.cluster.local import LocalCluster

    return LocalCluster.attach(cluster).nimbus()


def _redis_setting(files: list[Path], given: list[str], cluster: str) -> list[str]:
    """The address of the local cluster's Redis server, if a topology needs one and names none."""
    from brain.submit.loading import load_topology_file

    if any(setting.startswith("redis_url=") for setting in given):
        return []
    if not any(getattr(load_topology_file(f).module, "NEEDS_REDIS", False) for f in files):
        return []
    from brain.cluster.local import LocalCluster
    from brain.cluster.redis import ensure_redis

    attached = LocalCluster.attach(cluster)
    return [f"redis_url={ensure_redis(attached.state_dir, attached.control_host)}"]


def _executor_numbers(texts: list[str]) -> dict[str, int]:
    from brain.submit.settings import split_setting

    numbers: dict[str, int] = {}
    for text in texts:
        component, number = split_setting(text, "--executors")
        if not number.isdigit() or int(number) < 1:
            raise BadInput("--executors", f"{number!r} of {component} is not a number above 0")
        numbers[component] = int(number)
    return numbers


def _show_options(files: list[Path], as_json: bool) -> None:
    from brain.submit.loading import describe, load_topology_file

    described: dict[str, Any] = {str(path): describe(load_topology_file(path)) for path in files}
    if as_json:
        typer.echo(json.dumps(described))
        return
    from rich.console import Console
    from rich.table import Table

    for path, fields in described.items():
        table = Table("option", "type", "default", "meaning", title=path)
        for name, field in fields.items():
            table.add_row(name, field["type"], str(field["default"]), field["meaning"])
        Console().print(table)
