"""The shape of a new cluster: ids, loopback addresses and free ports."""

from __future__ import annotations

import ipaddress

from brain.cluster.paths import clusters_root
from brain.cluster.ports import free_ports
from brain.cluster.state import ClusterState, NimbusNode, Node, load_state
from brain.errors import BadInput

MAX_NODES = 200
MAX_SLOTS = 50
MAX_NIMBUSES = 5
NIMBUS_HOST = ipaddress.IPv4Address("127.0.0.1")


def check_shape(nodes: int, slots: int, nimbuses: int) -> None:
    for option, value, highest in (
        ("--nodes", nodes, MAX_NODES),
        ("--slots", slots, MAX_SLOTS),
        ("--nimbuses", nimbuses, MAX_NIMBUSES),
    ):
        if not 1 <= value <= highest:
            raise BadInput(option, f"must be from 1 to {highest}, not {value}")


def plan_cluster(name: str, nodes: int, slots: int, nimbuses: int) -> ClusterState:
    """Draws ports that no other cluster on record has, so that those may restart daemons."""
    reserved: set[int] = set()
    for other in clusters_root().glob("*"):
        if other.is_dir() and other.name != name:
            state = load_state(other)
            reserved |= state.ports if state is not None else set()
    ports = iter(free_ports(2 + nimbuses + nodes * (1 + slots), reserved))
    return ClusterState(
        name=name,
        zookeeper_port=next(ports),
        nimbuses=[
            NimbusNode(
                daemon="nimbus" if i == 0 else f"nimbus-{i + 1}",
                # Storm lists Nimbuses by host alone, so each must have another one.
                host=str(NIMBUS_HOST + 256 * i),
                port=next(ports),
            )
            for i in range(nimbuses)
        ],
        gateway_port=next(ports) if nimbuses > 1 else None,
        nodes=[
            Node(
                id=f"node-{i}",
                host=str(NIMBUS_HOST + i),
                thrift_port=next(ports),
                slots=tuple(next(ports) for _ in range(slots)),
            )
            for i in range(1, nodes + 1)
        ],
    )
