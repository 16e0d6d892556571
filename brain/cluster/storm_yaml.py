"""The configuration files of a cluster's daemons: storm.yaml, zoo.cfg, Log4j."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from brain.cluster.state import ClusterState, NimbusNode, Node

SCHEDULER_CLASS = "io.stormbrain.scheduler.BrainScheduler"
HOOK_CLASS = "io.stormbrain.hook.TrafficHook"
# Storm's own log handler, which besides tells the hook which subprocess serves which task.
SHELL_LOG_HANDLER_CLASS = "io.stormbrain.hook.BrainShellLogHandler"

# Small and quick to start: on a workstation many JVMs share few cores and little memory.
SMALL_JVM = (
    "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss512k -XX:+ExitOnOutOfMemoryError "
    "-Djava.net.preferIPv4Stack=true"
)

_LOCAL_DEFAULTS: Mapping[str, Any] = {
    # A lost node or worker is noticed in seconds, not minutes, yet not by a short stall.
    "nimbus.monitor.freq.secs": 3,
    "nimbus.task.timeout.secs": 20,
    "nimbus.supervisor.timeout.secs": 20,
    "nimbus.task.launch.secs": 60,
    "nimbus.code.sync.freq.secs": 5,
    "nimbus.topology.blobstore.deletion.delay.ms": 5_000,
    "supervisor.heartbeat.frequency.secs": 2,
    "supervisor.monitor.frequency.secs": 1,
    "supervisor.worker.start.timeout.secs": 60,
    "supervisor.worker.timeout.secs": 20,
    "supervisor.worker.shutdown.sleep.secs": 1,
    "task.heartbeat.frequency.secs": 1,
    # How soon an executor's first counters reach Nimbus; until then it does not count as up.
    "executor.metrics.frequency.secs": 3,
    "task.refresh.poll.secs": 2,
    "storm.zookeeper.session.timeout": 15_000,
    "storm.zookeeper.connection.timeout": 10_000,
    # Nobody reads these here, and RocksDB alone costs Nimbus tens of megabytes.
    "storm.metricstore.class": "org.apache.storm.metricstore.NoOpMetricStore",
    "worker.metrics": {},
    "nimbus.thrift.threads": 16,
    "supervisor.thrift.threads": 4,
    "worker.heap.memory.mb": 128,
    # A fixed heap: %HEAP-MEM% would grow with the executors that a scheduler puts there.
    # topology.worker.childopts comes later on the command line, so its -Xmx wins.
    "worker.childopts": f"-Xmx128m {SMALL_JVM}",
}


def cluster_conf(state: ClusterState, nimbus_port: int) -> dict[str, Any]:
    """What all daemons of the cluster share, with the user's overrides on top."""
    conf: dict[str, Any] = dict(_LOCAL_DEFAULTS)
    conf["storm.zookeeper.servers"] = [state.control_host]
    conf["storm.zookeeper.port"] = state.zookeeper_port
    conf["nimbus.seeds"] = [state.control_host]
    conf["nimbus.thrift.port"] = nimbus_port
    if state.plugin_jar is not None:
        conf["storm.scheduler"] = SCHEDULER_CLASS
        conf["topology.auto.task.hooks"] = [HOOK_CLASS]
        conf["topology.multilang.log.handler"] = SHELL_LOG_HANDLER_CLASS
    conf.update(state.storm_conf)
    return conf


def nimbus_conf(state: ClusterState, nimbus: NimbusNode, local_dir: Path) -> dict[str, Any]:
    conf = cluster_conf(state, nimbus.port)
    conf["storm.local.dir"] = str(local_dir)
    conf["storm.local.hostname"] = nimbus.host
    return conf


def supervisor_conf(
    state: ClusterState, node: Node, local_dir: Path, nimbus_port: int
) -> dict[str, Any]:
    conf = cluster_conf(state, nimbus_port)
    conf["storm.local.dir"] = str(local_dir)
    conf["storm.local.hostname"] = node.host
    conf["supervisor.thrift.port"] = node.thrift_port
    conf["supervisor.slots.ports"] = list(node.slots)
    conf.update(node.conf)
    return conf


def write_storm_yaml(directory: Path, conf: Mapping[str, Any]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(dict(conf), sort_keys=True, allow_unicode=True)
    (directory / "storm.yaml").write_text(text, encoding="utf-8")


def write_zoo_cfg(path: Path, host: str, port: int, data_dir: Path) -> None:
    data_dir.mkdir(parents=True, exist_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    settings = {
        "clientPort": port,
        "clientPortAddress": host,
        "dataDir": data_dir,
        "tickTime": 1000,
        "minSessionTimeout": 1000,
        "maxSessionTimeout": 60_000,
        "maxClientCnxns": 0,
        "admin.enableServer": "false",
    }
    lines = (f"{key}={value}\n" for key, value in settings.items())
    path.write_text("".join(lines), encoding="utf-8")


def write_log4j(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("cluster.xml", "worker.xml"):
        (directory / name).write_text(template(name), encoding="utf-8")


def template(name: str) -> str:
    found = resources.files("brain.cluster") / "templates" / name
    return found.read_text(encoding="utf-8")
