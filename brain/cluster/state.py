"""What is on record about a cluster: its shape, its addresses and its processes.

One JSON file in the cluster's state dir, replaced in one step, so that a crash leaves either
the old or the new record.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from brain.cluster.processes import ProcessRef
from brain.errors import StormbrainError

STATE_FILE = "cluster.json"
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Node:
    """A supervisor: id and address as Nimbus knows them, and its ports."""

    id: str
    host: str
    thrift_port: int
    slots: tuple[int, ...]
    launcher: tuple[str, ...] = ()
    """Command that starts a given command on this node, such as ``ip netns exec NAMESPACE``."""
    conf: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Entries of this supervisor's own storm.yaml."""


@dataclass(frozen=True)
class NimbusNode:
    """A Nimbus: the daemon's name, and where it serves Thrift."""

    daemon: str
    host: str
    port: int


@dataclass
class ClusterState:
    name: str
    zookeeper_port: int
    nimbuses: list[NimbusNode]
    nodes: list[Node]
    storm_conf: dict[str, Any] = field(default_factory=dict)
    plugin_jar: str | None = None
    gateway_port: int | None = None
    control_host: str = LOOPBACK
    """Where ZooKeeper, Nimbus and all else that is not a node can be reached from the nodes."""
    ready: bool = False
    processes: dict[str, ProcessRef] = field(default_factory=dict)

    @property
    def nimbus_entry_port(self) -> int:
        """Where supervisors and workers look for a Nimbus."""
        return self.nimbuses[0].port if self.gateway_port is None else self.gateway_port

    @property
    def ports(self) -> set[int]:
        ports = {self.zookeeper_port, *(nimbus.port for nimbus in self.nimbuses)}
        for node in self.nodes:
            ports.update((node.thrift_port, *node.slots))
        if self.gateway_port is not None:
            ports.add(self.gateway_port)
        return ports

    def save(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        aside = directory / f"{STATE_FILE}.new"
        with aside.open("w", encoding="utf-8") as out:
            json.dump(asdict(self), out, indent=1)
            out.flush()
            os.fsync(out.fileno())
        aside.replace(directory / STATE_FILE)


def load_state(directory: Path) -> ClusterState | None:
    """The record of a cluster, ``None`` if there is none."""
    path = directory / STATE_FILE
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        return ClusterState(
            name=raw["name"],
            zookeeper_port=raw["zookeeper_port"],
            nimbuses=[NimbusNode(**nimbus) for nimbus in raw["nimbuses"]],
            nodes=[_node(node) for node in raw["nodes"]],
            storm_conf=raw["storm_conf"],
            plugin_jar=raw["plugin_jar"],
            gateway_port=raw["gateway_port"],
            control_host=raw.get("control_host", LOOPBACK),
            ready=raw["ready"],
            processes={name: ProcessRef(**ref) for name, ref in raw["processes"].items()},
        )
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as e:
        raise StormbrainError(
            f"{path} is not a cluster's record: {e}",
            "remove the directory after checking that none of its daemons runs",
        ) from e


def _node(raw: dict[str, Any]) -> Node:
    lists = {key: tuple(raw.get(key, ())) for key in ("slots", "launcher")}
    return Node(**{**raw, **lists})
