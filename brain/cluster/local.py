"""A Storm cluster of real daemons on this machine.

    with LocalCluster.start("mine", nodes=3, slots=2) as cluster:
        with cluster.nimbus() as nimbus:
            nimbus.cluster()

ZooKeeper, Nimbus and supervisors are processes of their own that outlive this one; the state
dir has all that is needed to find, inspect and end them again.
"""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from brain.cluster import processes
from brain.cluster.daemons import GATEWAY, ZOOKEEPER, Daemons
from brain.cluster.locks import exclusive
from brain.cluster.paths import cluster_dir, clusters_root
from brain.cluster.planning import Sites, check_shape, loopback_sites, plan_cluster
from brain.cluster.ports import accepts
from brain.cluster.prerequisites import find_java
from brain.cluster.processes import ProcessRef
from brain.cluster.shutdown import end_all_processes
from brain.cluster.state import STATE_FILE, ClusterState, NimbusNode, Node, load_state
from brain.cluster.storm_home import Progress, ensure_storm_home, find_plugin_jar, link_cluster_home
from brain.errors import BadInput, StormbrainError
from brain.submit.nimbus import NimbusClient, NimbusFailed, NimbusUnreachable
from brain.submit.views import ClusterView

START_TIMEOUT_SECS = 120.0


class ClusterNotRunning(StormbrainError):
    """There is no such cluster, or it is not up."""


class ClusterAlreadyRunning(StormbrainError):
    """A cluster of that name is up."""


class ClusterStartFailed(StormbrainError):
    """A daemon ended early or did not become ready in time."""


@dataclass(frozen=True)
class DaemonStatus:
    name: str
    pid: int
    running: bool
    rss_mb: float
    uptime_secs: float


def _silent(_: str) -> None:
    return


class LocalCluster:
    """A cluster that is up, or that was; made by :meth:`start` or :meth:`attach`."""

    def __init__(self, directory: Path, state: ClusterState) -> None:
        self._directory = directory
        self._state = state

    # --- coming and going

    @classmethod
    def start(
        cls,
        name: str = "default",
        *,
        nodes: int = 3,
        slots: int = 2,
        nimbuses: int = 1,
        sites: Sites | None = None,
        storm_conf: Mapping[str, Any] | None = None,
        plugin_jar: Path | None = None,
        plugin: bool = True,
        progress: Progress = _silent,
    ) -> LocalCluster:
        """Starts a cluster and returns once Nimbus answers and all supervisors registered.

        ``sites`` gives nodes addresses of their own, in place of ``nodes`` and ``slots``.
        ``plugin=False`` leaves Storm stock; otherwise the plugin is used if it has been built.
        Whatever fails, an interrupt included, takes down what had been started.
        """
        if sites is None:
            check_shape(nodes, slots, nimbuses)
            sites = loopback_sites(nodes, slots)
        directory = cluster_dir(name)
        java = find_java()
        jar = find_plugin_jar(plugin_jar) if plugin else None
        cached = ensure_storm_home(progress)
        with _locked(name, progress):
            cls._clear_leftovers(name, directory, progress)
            with exclusive(clusters_root() / ".ports.lock"):
                state = plan_cluster(name, sites, nimbuses)
                state.storm_conf = dict(storm_conf or {})
                state.plugin_jar = None if jar is None else str(jar)
                state.save(directory)
            cluster = cls(directory, state)
            try:
                daemons = Daemons(directory, state, java)
                link_cluster_home(daemons.home, cached, jar)
                daemons.write_shared_files()
                cluster._bring_up(daemons, progress)
            except BaseException:
                progress("start failed, ending what had been started")
                cluster._take_down(keep_logs=True)
                raise
        return cluster

    @classmethod
    def attach(cls, name: str = "default") -> LocalCluster:
        """The cluster of that name, as it is on record; its daemons may be dead."""
        state = load_state(cluster_dir(name))
        if state is None:
            raise ClusterNotRunning(
                f"no cluster named {name} is up", f"start it: stormbrain cluster up --name {name}"
            )
        return cls(cluster_dir(name), state)

    @classmethod
    def _clear_leftovers(cls, name: str, directory: Path, progress: Progress) -> None:
        """Refuses if the cluster is up; ends and removes what a crash has left of it."""
        state = load_state(directory)
        if state is not None:
            running = [p for p in state.processes.values() if p.alive()]
            if state.ready and running:
                raise ClusterAlreadyRunning(
                    f"cluster {name} is already running",
                    f"end it (stormbrain cluster down --name {name}) or choose another --name",
                )
        if directory.exists():
            progress("ending what an earlier run has left behind")
            end_all_processes(directory, state)
            shutil.rmtree(directory)

    def _bring_up(self, daemons: Daemons, progress: Progress) -> None:
        progress("starting ZooKeeper")
        self._spawn(daemons, ZOOKEEPER)
        state = self._state
        self._wait(
            lambda: accepts(state.control_host, state.zookeeper_port), "ZooKeeper", [ZOOKEEPER]
        )
        names = [name for name in daemons.names() if name != ZOOKEEPER]
        progress(f"starting {', '.join(names)}")
        for name in names:
            self._spawn(daemons, name)
        progress("waiting for Nimbus and the supervisors")
        self._wait(self._all_registered, "Nimbus or a supervisor", names)
        self._state.ready = True
        self._state.save(self._directory)

    @classmethod
    def remove(cls, name: str = "default", *, keep_logs: bool = False) -> bool:
        """Ends whatever there is of the cluster of that name, orphans without a record included.

        Says whether there was anything.
        """
        directory = cluster_dir(name)
        with _locked(name, _silent):
            state = load_state(directory)
            found = end_all_processes(directory, state)
            _remove_files(directory, keep_logs)
        return found or state is not None

    def down(self, *, keep_logs: bool = False) -> None:
        """Ends every process of the cluster and removes its state dir. May be repeated."""
        with _locked(self.name, _silent):
            self._take_down(keep_logs)

    def _take_down(self, keep_logs: bool) -> None:
        end_all_processes(self._directory, self._state)
        _remove_files(self._directory, keep_logs)
        self._state.processes.clear()

    def __enter__(self) -> LocalCluster:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.down()

    # --- what it is

    @property
    def name(self) -> str:
        return self._state.name

    @property
    def state_dir(self) -> Path:
        return self._directory

    @property
    def logs_dir(self) -> Path:
        return self._directory / "logs"

    @property
    def metrics_dir(self) -> Path:
        """Where the traffic hook of this cluster's workers writes the metric log."""
        return self.logs_dir / "brain-metrics"

    @property
    def control_host(self) -> str:
        """The address of this machine that all nodes reach; what serves them listens there."""
        return self._state.control_host

    @property
    def nimbus_address(self) -> str:
        """``host:port`` where some Nimbus answers, whichever leads."""
        return f"{self.control_host}:{self._state.nimbus_entry_port}"

    @property
    def zookeeper_address(self) -> str:
        return f"{self.control_host}:{self._state.zookeeper_port}"

    @property
    def supervisors(self) -> tuple[Node, ...]:
        return tuple(self._state.nodes)

    @property
    def nimbuses(self) -> tuple[NimbusNode, ...]:
        return tuple(self._state.nimbuses)

    @property
    def plugin_jar(self) -> Path | None:
        return None if self._state.plugin_jar is None else Path(self._state.plugin_jar)

    def nimbus(self, timeout_secs: float = 20.0) -> NimbusClient:
        return NimbusClient.at(self.nimbus_address, timeout_secs)

    def daemons(self) -> list[DaemonStatus]:
        """Every daemon on record, running or not."""
        return [
            DaemonStatus(
                name=name,
                pid=ref.pid,
                running=(running := ref.alive()),
                rss_mb=ref.rss_mb() if running else 0.0,
                uptime_secs=ref.uptime_secs() if running else 0.0,
            )
            for name, ref in self._state.processes.items()
        ]

    def workers(self) -> list[ProcessRef]:
        """The worker JVMs of this cluster, orphaned ones included."""
        return [p for p in self._undaemonic() if _WORKER_CLASS in p.command_line()]

    def worker_children(self) -> list[ProcessRef]:
        """The multilang subprocesses of this cluster's workers."""
        return [p for p in self._undaemonic() if _WORKER_CLASS not in p.command_line()]

    def _undaemonic(self) -> list[ProcessRef]:
        known = set(self._state.processes.values())
        return [p for p in processes.find_marked(self._directory) if p not in known]

    def log(self, daemon: str) -> Path:
        """The log file of a daemon."""
        self._process(daemon)
        own = self.logs_dir / f"{daemon}.log"
        return own if daemon != GATEWAY else self.logs_dir / f"{daemon}.out"

    def worker_logs(self) -> list[Path]:
        """``workers-artifacts/<topology id>/<port>/worker.log``, the topology's oldest first."""
        return sorted(self.logs_dir.glob("workers-artifacts/*/*/worker.log"))

    # --- single daemons, above all for tests that break things

    def pid(self, daemon: str) -> int:
        return self._process(daemon).pid

    def kill_daemon(self, daemon: str, number: int = signal.SIGKILL) -> None:
        """Sends a signal to a daemon; with the default, -9, returns when it is gone."""
        ref = self._process(daemon)
        ref.signal(number)
        if number == signal.SIGKILL:
            processes.stop([ref], 0.0)

    def start_daemon(self, daemon: str) -> None:
        """Starts a daemon again after it has ended, with the same ports, ids and data."""
        if self._process(daemon).alive():
            raise BadInput(daemon, "it runs already", "kill it first")
        self._spawn(Daemons(self._directory, self._state, find_java()), daemon)

    def set_conf(self, entries: Mapping[str, Any]) -> None:
        """Entries of storm.yaml for daemons that are started from now on."""
        self._state.storm_conf.update(entries)
        self._state.save(self._directory)

    def wait_ready(self, timeout_secs: float = START_TIMEOUT_SECS) -> ClusterView:
        """Waits until Nimbus answers and every supervisor is registered."""
        self._wait(self._all_registered, "the cluster", [], timeout_secs)
        with self.nimbus() as nimbus:
            return nimbus.cluster()

    def _process(self, daemon: str) -> ProcessRef:
        try:
            return self._state.processes[daemon]
        except KeyError:
            names = ", ".join(self._state.processes)
            raise BadInput(daemon, "no such daemon in this cluster", f"daemons: {names}") from None

    def _spawn(self, daemons: Daemons, name: str) -> None:
        self._state.processes[name] = daemons.start(name)
        self._state.save(self._directory)

    def _all_registered(self) -> bool:
        """Whether Nimbus answers and knows every supervisor and every Nimbus that runs."""
        try:
            with self.nimbus(timeout_secs=5.0) as nimbus:
                seen = nimbus.cluster()
        except (NimbusUnreachable, NimbusFailed):  # not up yet, or no leader yet
            return False
        running = {n.port for n in self._state.nimbuses if self._process(n.daemon).alive()}
        nodes = {node.id for node in self._state.nodes}
        return running <= {n.port for n in seen.nimbuses} and nodes <= {
            supervisor.id for supervisor in seen.supervisors
        }

    def _wait(
        self,
        condition: Callable[[], bool],
        what: str,
        daemons: list[str],
        timeout_secs: float = START_TIMEOUT_SECS,
    ) -> None:
        """Polls until the condition holds; fails at once when one of ``daemons`` has ended."""
        deadline = time.monotonic() + timeout_secs
        while not condition():
            for name in daemons:
                if not self._state.processes[name].alive():
                    raise ClusterStartFailed(
                        f"{name} ended while starting: {self._last_words(name)}",
                        f"see the logs under {self.logs_dir}",
                    )
            if time.monotonic() > deadline:
                raise ClusterStartFailed(
                    f"{what} was not ready after {timeout_secs:.0f} s",
                    f"see the logs under {self.logs_dir}",
                )
            time.sleep(0.1)

    def _last_words(self, name: str) -> str:
        """The most telling line of a dead daemon's output, since its logs will be removed."""
        for suffix in (".log", ".out"):
            path = self.logs_dir / f"{name}{suffix}"
            lines = path.read_text(errors="replace").splitlines() if path.exists() else []
            errors = [line for line in lines if "[ERROR]" in line or "Exception" in line]
            if errors or lines:
                return (errors or lines)[-1].strip()
        return "no output"


_WORKER_CLASS = "org.apache.storm.daemon.worker.Worker"


@contextmanager
def _locked(name: str, progress: Progress) -> Any:
    lock = clusters_root() / f".{name}.lock"
    with exclusive(lock, lambda: progress(f"waiting for another command on cluster {name}")):
        yield


def _remove_files(directory: Path, keep_logs: bool) -> None:
    """Removes the record first: what has no record is not a cluster any more."""
    (directory / STATE_FILE).unlink(missing_ok=True)
    if not keep_logs:
        shutil.rmtree(directory, ignore_errors=True)
        return
    for entry in directory.iterdir() if directory.is_dir() else ():
        if entry.name != "logs":
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
