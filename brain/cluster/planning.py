"""The shape of a new cluster: ids, loopback addresses and free ports."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from brain.cluster.paths import clusters_root
from brain.cluster.ports import free_ports
from brain.cluster.state import ClusterState, NimbusNode, Node, load_state
from brain.errors import BadInput

MAX_NODES = 200
MAX_SLOTS = 50
MAX_NIMBUSES = 5
NIMBUS_HOST = ipaddress.IPv4Address("127.0.0.1")


@dataclass(frozen=True)
class Site:
    """Where a supervisor is to run, other than on a loopback address of this machine."""

    id: str
    host: str
    slots: int
    launcher: tuple[str, ...] = ()
    """Command that starts a given command there, such as ``ip netns exec NAMESPACE``."""
    conf: Mapping[str, Any] = field(default_factory=dict)
    """Entries of this supervisor's own storm.yaml."""


@dataclass(frozen=True)
class Sites:
    """Nodes of a cluster with addresses of their own, and the address that they see us at."""

    control_host: str
    nodes: tuple[Site, ...]


def loopback_sites(nodes: int, slots: int) -> Sites:
    """Supervisors that share this machine's network and differ by their loopback address."""
    return Sites(
        control_host=str(NIMBUS_HOST),
        nodes=tuple(Site(f"node-{i}", str(NIMBUS_HOST + i), slots) for i in range(1, nodes + 1)),
    )


def check_shape(nodes: int, slots: int, nimbuses: int) -> None:
    for option, value, highest in (
        ("--nodes", nodes, MAX_NODES),
        ("--slots", slots, MAX_SLOTS),
        ("--nimbuses", nimbuses, MAX_NIMBUSES),
    ):
        if not 1 <= value <= highest:
            raise BadInput(option, f"must be from 1 to {highest}, not {value}")


def plan_cluster(name: str, sites: Sites, nimbuses: int) -> ClusterState:
    """Draws ports that no other cluster on record has, so that those may restart daemons."""
    reserved: set[int] = set()
    for other in clusters_root().glob("*"):
        if other.is_dir() and other.name != name:
            state = load_state(other)
            reserved |= state.ports if state is not None else set()
    slots = sum(1 + site.slots for site in sites.nodes)
    ports = iter(free_ports(2 + nimbuses + slots, reserved))
    return ClusterState(
        name=name,
        zookeeper_port=next(ports),
        control_host=sites.control_host,
        nimbuses=[
            NimbusNode(
                daemon="nimbus" if i == 0 else f"nimbus-{i + 1}",
                # Storm lists Nimbuses by host alone, so each must have another one.
                host=str(ipaddress.IPv4Address(sites.control_host) + 256 * i),
                port=next(ports),
            )
            for i in range(nimbuses)
        ],
        gateway_port=next(ports) if nimbuses > 1 else None,
        nodes=[
            Node(
                id=site.id,
                host=site.host,
                thrift_port=next(ports),
                slots=tuple(next(ports) for _ in range(site.slots)),
                launcher=site.launcher,
                conf=dict(site.conf),
            )
            for site in sites.nodes
        ],
    )
