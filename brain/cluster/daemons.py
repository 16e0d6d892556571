"""How each daemon of a cluster is configured and started."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from brain.cluster import storm_yaml
from brain.cluster.processes import MARKER, ProcessRef, spawn
from brain.cluster.state import ClusterState, NimbusNode, Node
from brain.cluster.supervisor_id import seed_supervisor_id
from brain.errors import BadInput

ZOOKEEPER = "zookeeper"
GATEWAY = "nimbus-gateway"

_HEAP = {"zookeeper": "-Xmx64m", "nimbus": "-Xmx192m", "supervisor": "-Xmx64m"}
_SMALL_JVM = storm_yaml.SMALL_JVM.split()


class Daemons:
    """Starts the daemons of one cluster; knows the layout of its state dir."""

    def __init__(self, directory: Path, state: ClusterState, java: Path) -> None:
        self._directory = directory
        self._state = state
        self._java = java

    @property
    def home(self) -> Path:
        return self._directory / "storm-home"

    @property
    def logs(self) -> Path:
        return self._directory / "logs"

    def names(self) -> list[str]:
        """All daemons in the order in which they are started."""
        gateway = [GATEWAY] if self._state.gateway_port is not None else []
        return [
            ZOOKEEPER,
            *(nimbus.daemon for nimbus in self._state.nimbuses),
            *gateway,
            *(node.id for node in self._state.nodes),
        ]

    def start(self, name: str) -> ProcessRef:
        """Writes the daemon's configuration anew and starts it."""
        if name == ZOOKEEPER:
            return self._start_zookeeper()
        if name == GATEWAY and self._state.gateway_port is not None:
            return self._start_gateway(self._state.gateway_port)
        for nimbus in self._state.nimbuses:
            if nimbus.daemon == name:
                return self._start_nimbus(nimbus)
        for node in self._state.nodes:
            if node.id == name:
                return self._start_supervisor(node)
        raise BadInput(
            name, "this cluster has no such daemon", f"daemons: {', '.join(self.names())}"
        )

    def write_shared_files(self) -> None:
        """Logging configuration and the supervisors' ``java``."""
        storm_yaml.write_log4j(self.home / "log4j2")
        launcher = self.home / "java-home" / "bin" / "java"
        launcher.parent.mkdir(parents=True, exist_ok=True)
        java = self._java.resolve()
        script = storm_yaml.template("java.sh")
        script = script.replace("@JAVA_HOME@", str(java.parents[1])).replace("@JAVA@", str(java))
        launcher.write_text(script, encoding="utf-8")
        launcher.chmod(0o755)

    def _start_zookeeper(self) -> ProcessRef:
        cfg = self._directory / "conf" / ZOOKEEPER / "zoo.cfg"
        data_dir = self._directory / "data" / ZOOKEEPER
        host, port = self._state.control_host, self._state.zookeeper_port
        storm_yaml.write_zoo_cfg(cfg, host, port, data_dir)
        # The data of a test cluster need not survive a power cut, so fsync is spared.
        flags = ["-Dzookeeper.forceSync=no", "-Dzookeeper.4lw.commands.whitelist="]
        main = ["org.apache.zookeeper.server.ZooKeeperServerMain", str(cfg)]
        return self._start_java(ZOOKEEPER, "zookeeper", ["lib-zookeeper/*"], flags, main)

    def _start_nimbus(self, nimbus: NimbusNode) -> ProcessRef:
        conf = storm_yaml.nimbus_conf(self._state, nimbus, self._directory / "data" / nimbus.daemon)
        storm_yaml.write_storm_yaml(self._conf_dir(nimbus.daemon), conf)
        main = ["org.apache.storm.daemon.nimbus.Nimbus"]
        return self._start_java(nimbus.daemon, "nimbus", _DAEMON_CLASSPATH, [], main)

    def _start_supervisor(self, node: Node) -> ProcessRef:
        local_dir = self._directory / "data" / node.id
        seed_supervisor_id(local_dir, node.id)
        conf = storm_yaml.supervisor_conf(
            self._state, node, local_dir, self._state.nimbus_entry_port
        )
        storm_yaml.write_storm_yaml(self._conf_dir(node.id), conf)
        main = ["org.apache.storm.daemon.supervisor.Supervisor"]
        return self._start_java(
            node.id, "supervisor", _DAEMON_CLASSPATH, [], main, launcher=node.launcher
        )

    def _start_gateway(self, port: int) -> ProcessRef:
        targets = [f"{nimbus.host}:{nimbus.port}" for nimbus in self._state.nimbuses]
        command = [sys.executable, "-m", "brain.cluster.nimbus_gateway", str(port), *targets]
        return self._spawn(GATEWAY, command)

    def _start_java(
        self,
        name: str,
        role: str,
        classpath: list[str],
        flags: list[str],
        main: list[str],
        launcher: Sequence[str] = (),
    ) -> ProcessRef:
        elements = [str(self.home / element) for element in classpath]
        command = [
            *launcher,
            str(self._java),
            _HEAP[role],
            *_SMALL_JVM,
            *flags,
            f"-Dstorm.home={self.home}",
            f"-Dstorm.log.dir={self.logs}",
            f"-Dlogfile.name={name}.log",
            f"-Dlog4j.configurationFile={self.home / 'log4j2' / 'cluster.xml'}",
            f"-Djava.io.tmpdir={self._directory / 'tmp'}",
            "-cp",
            os.pathsep.join([*elements, str(self._conf_dir(name))]),
            *main,
        ]
        return self._spawn(name, command)

    def _spawn(self, name: str, command: list[str]) -> ProcessRef:
        (self._directory / "tmp").mkdir(exist_ok=True)
        output = self.logs / f"{name}.out"
        return spawn(command, self._environment(name), output, self._directory)

    def _environment(self, name: str) -> dict[str, str]:
        environment = dict(os.environ)
        # Settings of an enclosing session must not leak into daemons and workers.
        for leaking in ("CLASSPATH", "JAVA_TOOL_OPTIONS", "STORM_EXT_CLASSPATH", "PYTHONPATH"):
            environment.pop(leaking, None)
        # Workers run "streamparse_run" from the PATH: it is to be that of this interpreter.
        bin_dir = str(Path(sys.executable).parent)
        environment["PATH"] = os.pathsep.join([bin_dir, environment.get("PATH", os.defpath)])
        environment["JAVA_HOME"] = str(self.home / "java-home")
        environment["STORM_CONF_DIR"] = str(self._conf_dir(name))
        environment["MALLOC_ARENA_MAX"] = "2"  # glibc's arenas inflate a JVM's resident size
        environment[MARKER] = str(self._directory)
        return environment

    def _conf_dir(self, name: str) -> Path:
        return self._directory / "conf" / name


_DAEMON_CLASSPATH = ["lib/*", "extlib/*", "extlib-daemon/*"]
