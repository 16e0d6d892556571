"""``stormbrain cluster``: a local Storm cluster of real daemons."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from brain.cluster.local import LocalCluster
    from brain.cluster.storm_home import Progress

cluster_app = typer.Typer(
    help="A local Storm cluster: ZooKeeper, Nimbus and supervisors as processes on this machine.",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Option("--name", "-n", help="Name of the cluster.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, alone on stdout.")]


def register(app: typer.Typer) -> None:
    app.add_typer(cluster_app, name="cluster")


@cluster_app.command()
def up(
    nodes: Annotated[int, typer.Option(help="Supervisors, each on its own 127.0.0.x.")] = 3,
    slots: Annotated[int, typer.Option(help="Worker slots of each supervisor.")] = 2,
    nimbuses: Annotated[int, typer.Option(help="Nimbuses; the further ones stand by.")] = 1,
    name: Name = "default",
    plugin: Annotated[
        bool, typer.Option("--plugin/--no-plugin", help="Use Stormbrain's scheduler and hook.")
    ] = True,
    plugin_jar: Annotated[Path | None, typer.Option(help="The plugin's jar.")] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Class for storm.scheduler, in place of Stormbrain's.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="storm.yaml entry key=value; repeatable.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Start a cluster and wait until all of it is ready."""
    from brain.cluster.local import ClusterAlreadyRunning, LocalCluster
    from brain.submit.settings import parse_settings

    conf = parse_settings(settings or [])
    if scheduler is not None:
        conf["storm.scheduler"] = scheduler
    try:
        with _progress(f"cluster {name}") as progress:
            cluster = LocalCluster.start(
                name,
                nodes=nodes,
                slots=slots,
                nimbuses=nimbuses,
                storm_conf=conf,
                plugin_jar=plugin_jar,
                plugin=plugin,
                progress=progress,
            )
    except ClusterAlreadyRunning as e:
        cluster = LocalCluster.attach(name)
        if not as_json:
            typer.echo(f"{e.message}; end it with: stormbrain cluster down --name {name}")
    _show(cluster, as_json)


@cluster_app.command()
def status(name: Name = "default", as_json: Json = False) -> None:
    """Show daemons, memory, workers and addresses."""
    from brain.cluster.local import LocalCluster

    _show(LocalCluster.attach(name), as_json)


@cluster_app.command()
def logs(
    which: Annotated[
        str, typer.Argument(help="A daemon (nimbus, node-1, …), 'worker', or a worker's port.")
    ] = "nimbus",
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as the log grows.")] = False,
    lines: Annotated[int, typer.Option(help="How many of the last lines.")] = 50,
    name: Name = "default",
) -> None:
    """Print the log of a daemon or of the workers."""
    from brain.cluster.follow import follow as follow_files
    from brain.cluster.follow import last_lines
    from brain.cluster.local import LocalCluster

    cluster = LocalCluster.attach(name)

    def chosen() -> list[Path]:
        if which == "worker":
            return cluster.worker_logs()
        if which.isdigit():
            return [path for path in cluster.worker_logs() if path.parent.name == which]
        return [cluster.log(which)]

    def label(path: Path) -> str:
        shown = f"{path.parent.parent.name}:{path.parent.name}"
        return f"{shown} " if path.name == "worker.log" else ""

    for path in chosen():
        for line in last_lines(path, lines):
            typer.echo(label(path) + line)
    if follow:
        for path, line in follow_files(chosen):
            typer.echo(label(path) + line)


@cluster_app.command()
def down(
    name: Name = "default",
    keep_logs: Annotated[bool, typer.Option(help="Leave the logs in the state dir.")] = False,
) -> None:
    """End a cluster: workers, supervisors, Nimbus, ZooKeeper, also after a crash."""
    from brain.cluster.local import LocalCluster

    with _progress(f"cluster {name}") as progress:
        progress("ending its processes")
        found = LocalCluster.remove(name, keep_logs=keep_logs)
    typer.echo(f"cluster {name} is down" if found else f"no cluster named {name} was up")


@contextmanager
def _progress(title: str) -> Iterator[Progress]:
    """A spinner on a terminal, a line for each step elsewhere; both on stderr."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    if not console.is_terminal:
        yield lambda step: console.print(f"{title}: {step}", markup=False)
        return
    with console.status(title) as spinner:
        yield lambda step: spinner.update(f"{title}: {step}")


def _show(cluster: LocalCluster, as_json: bool) -> None:
    report = _report(cluster)
    if as_json:
        typer.echo(json.dumps(report))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("daemon", "pid", "state", "RSS MB", "up s", title=f"cluster {cluster.name}")
    for daemon in report["daemons"]:
        state = "running" if daemon["running"] else "dead"
        rss, uptime = f"{daemon['rss_mb']:.0f}", f"{daemon['uptime_secs']:.0f}"
        table.add_row(daemon["name"], str(daemon["pid"]), state, rss, uptime)
    for worker in report["workers"]:
        table.add_row("worker", str(worker["pid"]), "running", f"{worker['rss_mb']:.0f}", "")
    console = Console()
    console.print(table)
    registered = report["supervisors"]
    console.print(
        f"Nimbus {report['nimbus']} ({'answers' if report['nimbus_answers'] else 'silent'}), "
        f"ZooKeeper {report['zookeeper']}, "
        f"{len(registered)} of {len(cluster.supervisors)} supervisors registered, "
        f"{report['rss_mb']:.0f} MB in all",
        highlight=False,
    )
    console.print(f"logs: {report['logs']}", highlight=False, soft_wrap=True)


def _report(cluster: LocalCluster) -> dict[str, Any]:
    from dataclasses import asdict

    from brain.errors import StormbrainError

    try:
        with cluster.nimbus(timeout_secs=5.0) as nimbus:
            supervisors = [asdict(s) for s in nimbus.cluster().supervisors]
        answers = True
    except StormbrainError:  # a status is told of a broken cluster as well
        supervisors, answers = [], False
    daemons = [asdict(d) for d in cluster.daemons()]
    workers = [{"pid": w.pid, "rss_mb": w.rss_mb()} for w in cluster.workers()]
    children = [{"pid": p.pid, "rss_mb": p.rss_mb()} for p in cluster.worker_children()]
    return {
        "name": cluster.name,
        "running": answers and all(d["running"] for d in daemons),
        "nimbus": cluster.nimbus_address,
        "nimbus_answers": answers,
        "zookeeper": cluster.zookeeper_address,
        "daemons": daemons,
        "supervisors": supervisors,
        "nodes": [asdict(node) for node in cluster.supervisors],
        "workers": workers,
        "worker_children": children,
        "rss_mb": sum(p["rss_mb"] for p in [*daemons, *workers, *children]),
        "plugin_jar": None if cluster.plugin_jar is None else str(cluster.plugin_jar),
        "state_dir": str(cluster.state_dir),
        "logs": str(cluster.logs_dir),
    }
