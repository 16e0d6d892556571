"""``stormbrain serve``: run a brain."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Annotated, Any

import typer

from brain.cli.output import parse_pairs, progress_console
from brain.errors import BadInput

DASHBOARD = "127.0.0.1:8790"


def register(app: typer.Typer) -> None:
    app.command()(serve)


def serve(
    listen: Annotated[
        str, typer.Option(help="Address of the Thrift door; port 0 takes a free one.")
    ] = "127.0.0.1:6790",
    advertise: Annotated[
        str | None, typer.Option(help="Address that Nimbus and workers reach it by, if different.")
    ] = None,
    zookeeper: Annotated[str | None, typer.Option(help="Storm's ZooKeeper: host:port, …")] = None,
    cluster: Annotated[str, typer.Option(help="Local cluster to serve.")] = "default",
    config: Annotated[
        Path | None, typer.Option(help="A storm.yaml to read brain.* and topology.brain.* from.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="key=value over the file; may be repeated.")
    ] = None,
    state_dir: Annotated[
        Path | None, typer.Option(help="Where decisions are kept on disk.")
    ] = None,
    profiles: Annotated[
        str | None,
        typer.Option(help="A graph of `pipeline graph`: where first placements start from."),
    ] = None,
    brain_id: Annotated[str | None, typer.Option("--id", help="Name in logs and plans.")] = None,
    dashboard: Annotated[
        str,
        typer.Option(help="Address of the dashboard and of /metrics; `off` for none."),
    ] = DASHBOARD,
    verbose: Annotated[bool, typer.Option("--verbose", help="Log at debug level.")] = False,
) -> None:
    """Run a brain: it measures, decides and writes plans. Several may run; one leads."""
    from kazoo.client import KazooClient
    from kazoo.retry import KazooRetry

    from brain.cli.connection import zookeeper_hosts
    from brain.config import Settings
    from brain.plans.ownership import zookeeper_credentials
    from brain.service.runtime import BrainRuntime

    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.INFO,
        stream=sys.stderr,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    logging.getLogger("kazoo").setLevel(logging.WARNING)
    host, port = _split(listen)
    known = _profiles(profiles)
    from_file, wrong = Settings.read_file(_read_yaml(config), str(config))
    for message in wrong:
        logging.getLogger("brain").warning("%s; the default is used", message)
    said = Settings.read(parse_pairs(settings or []), "--set")
    chosen = Settings({**from_file.overrides, **said.overrides})
    hosts = zookeeper_hosts(zookeeper, cluster)
    directory = state_dir or _default_state_dir()
    directory.mkdir(parents=True, exist_ok=True)
    # kazoo reconnects for ever; commands are retried while the session lives.
    client = KazooClient(
        hosts=hosts,
        timeout=6,
        connection_retry=KazooRetry(max_tries=-1, max_delay=5),
        command_retry=KazooRetry(max_tries=3, max_delay=1),
        **zookeeper_credentials(chosen["zookeeper.auth"]),
    )
    client.start_async()
    stop = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stop.set())
    if not _wait_connected(client, hosts, stop):
        return
    runtime = BrainRuntime(
        chosen,
        client,
        directory,
        host,
        port,
        advertise,
        brain_id,
    )
    runtime.core.profiles.update(known)
    page = _dashboard(runtime, dashboard)
    runtime.start()
    progress_console.print(f"brain {runtime.id} listens on {runtime.address}, ZooKeeper {hosts}")
    if page is not None:
        page.start()
        progress_console.print(f"dashboard: {page.url}")
    stop.wait()
    if page is not None:
        page.stop()
    runtime.stop()
    client.stop()
    client.close()


def _profiles(graph: str | None) -> dict[str, Any]:
    """What a graph knows of topologies, by name; read first, so that a wrong path is told at once.

    What this brain learns itself, or finds in ZooKeeper when it comes to lead, goes before it.
    """
    if graph is None:
        return {}
    from brain.extras import require

    require("pipeline")
    from brain.policy.history import history_profiles

    found = history_profiles(graph)
    progress_console.print(f"profiles of {', '.join(sorted(found)) or 'no topology'} from {graph}")
    return dict(found)


def _dashboard(runtime: Any, address: str) -> Any:
    """The dashboard, not started yet; on another port if the usual one is taken."""
    from brain.dashboard.server import Dashboard
    from brain.errors import StormbrainError

    if address == "off":
        return None
    host, port = _split(address, "--dashboard")
    try:
        page = Dashboard(runtime, host, port, runtime.token)
    except StormbrainError:
        if address != DASHBOARD:
            raise
        page = Dashboard(runtime, host, 0, runtime.token)  # another brain runs here, too
    runtime.inspector.dashboard_url = page.url
    return page


def _wait_connected(client: Any, hosts: str, stop: threading.Event) -> bool:
    """A brain may be started before ZooKeeper is; it says so and waits."""
    told = False
    while not stop.is_set():
        if client.connected:
            return True
        if not told:
            progress_console.print(f"waiting for ZooKeeper at {hosts}")
            told = True
        stop.wait(0.1)
    return False


def _split(listen: str, option: str = "--listen") -> tuple[str, int]:
    host, colon, port = listen.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise BadInput(option, f"{listen!r} is not host:port")
    return host.strip("[]") or "127.0.0.1", int(port)


def _read_yaml(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    import yaml

    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (OSError, yaml.YAMLError) as e:
        raise BadInput(str(path), f"cannot be read: {e}") from None
    if not isinstance(values, dict):
        raise BadInput(str(path), "must be a map of keys to values, like storm.yaml")
    return values


def _default_state_dir() -> Path:
    base = os.environ.get("STORMBRAIN_STATE") or os.environ.get("XDG_STATE_HOME")
    root = Path(base) if base else Path.home() / ".local" / "state"
    return root / "stormbrain" / "brain"
