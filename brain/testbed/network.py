"""The network of a testbed: a namespace for each node, and one with the bridge between them.

::

    node-1 [eth0] ══ [n1]┐                         with delays:
    node-2 [eth0] ══ [n2]┤ br0 ├[ctl] ══ this      n1, n2 … are isolated from each other; packets
      …                  ┘   machine               between them are routed br0 → wan (TUN) → br0

Both ends of a node's veth have a token bucket: ``eth0`` limits what the node sends, ``n1`` what it
receives. This machine's own end (ZooKeeper, Nimbus, brain, Redis) is on the bridge without a limit
or delay. Everything but that end lives in namespaces, so deleting those removes all of it.
"""

from __future__ import annotations

import ipaddress
import json
from dataclasses import dataclass
from pathlib import Path

from brain.errors import StormbrainError
from brain.testbed.machine import run
from brain.testbed.spec import TestbedSpec

RANGE = ipaddress.IPv4Network("10.213.0.0/16")
SWITCH = "net"
TUN = "wan"
_TABLE = "77"
_BURST_MS = 4
"""A token bucket must hold what passes between two ticks of the kernel."""


@dataclass(frozen=True)
class Traffic:
    """Bytes through interfaces since the testbed came up."""

    sent: dict[str, int]
    """By node, all that it sent."""
    received: dict[str, int]
    control_sent: int
    """From this machine (ZooKeeper, Nimbus, brain, Redis) to nodes."""
    control_received: int

    @property
    def between_nodes(self) -> int:
        """What nodes sent to each other."""
        return sum(self.sent.values()) - self.control_received


@dataclass(frozen=True)
class Network:
    """Names and addresses of a testbed's network; the kernel holds the rest."""

    prefix: str
    """Unique on this machine; namespaces are ``<prefix>-<node>``."""
    subnet: ipaddress.IPv4Network
    nodes: tuple[str, ...]

    @property
    def control_address(self) -> str:
        return str(self.subnet[1])

    @property
    def _router_address(self) -> str:
        return str(self.subnet[254])

    @property
    def _control_link(self) -> str:
        return self.prefix[:15]

    def address(self, node: str) -> str:
        return str(self.subnet[11 + self.nodes.index(node)])

    def namespace(self, node: str) -> str:
        return f"{self.prefix}-{node}"

    @property
    def switch(self) -> str:
        return self.namespace(SWITCH)

    # --- making it

    def make(self, spec: TestbedSpec) -> None:
        switch, routed = self.switch, bool(spec.delays)
        run(["ip", "netns", "add", switch])
        self._in(switch, "link add br0 type bridge")
        self._in(switch, "link set br0 up")
        run(["ip", "link", "add", self._control_link, "type", "veth",
             "peer", "name", "ctl", "netns", switch])  # fmt: skip
        self._in(switch, "link set ctl master br0 up")
        run(["ip", "link", "set", self._control_link, "up"])
        run(["ip", "addr", "add", f"{self.control_address}/24", "dev", self._control_link])
        if routed:
            self._make_router()
        for number, node in enumerate(spec.nodes, start=1):
            self._make_node(node.id, f"n{number}", routed)
            self.limit(node.id, node.bandwidth_mbit)

    def _make_node(self, node: str, port: str, routed: bool) -> None:
        own, switch = self.namespace(node), self.switch
        run(["ip", "netns", "add", own])
        run(["ip", "link", "add", port, "netns", switch, "type", "veth",
             "peer", "name", "eth0", "netns", own])  # fmt: skip
        self._in(switch, f"link set {port} master br0 up")
        self._in(own, "link set lo up")
        self._in(own, "link set eth0 up")
        if not routed:
            self._in(own, f"addr add {self.address(node)}/24 dev eth0")
            return
        self._in(switch, f"link set {port} type bridge_slave isolated on")
        self._in(own, f"addr add {self.address(node)}/32 dev eth0")
        for near in (self.control_address, self._router_address):
            self._in(own, f"route add {near}/32 dev eth0")
        self._in(own, f"route add {self.subnet} via {self._router_address}")

    def _make_router(self) -> None:
        """Packets that come from the bridge go to the TUN device; those it returns, to nodes."""
        switch = self.switch
        self._in(switch, f"addr add {self._router_address}/24 dev br0")
        self._in(switch, f"tuntap add dev {TUN} mode tun")
        self._in(switch, f"link set {TUN} up txqueuelen 10000")
        self._in(switch, f"rule add iif br0 to {self.subnet} lookup {_TABLE} pref 100")
        self._in(switch, f"route add default dev {TUN} table {_TABLE}")
        settings = ["ip_forward=1"]
        for scope in ("all", "br0", TUN):
            settings += [f"conf/{scope}/rp_filter=0", f"conf/{scope}/send_redirects=0"]
        for setting in settings:
            key, _, value = setting.partition("=")
            script = f"echo {value} > /proc/sys/net/ipv4/{key}"
            run(["ip", "netns", "exec", switch, "sh", "-c", script])

    @staticmethod
    def _in(namespace: str, command: str) -> None:
        run(["ip", "-n", namespace, *command.split()])

    # --- using it

    def launcher(self, node: str) -> list[str]:
        """A command prefix that starts a command on the node."""
        return ["ip", "netns", "exec", self.namespace(node)]

    def limit(self, node: str, mbit: float | None) -> None:
        """The node's bandwidth in both directions from now on; ``None`` lifts the limit."""
        port = f"n{self.nodes.index(node) + 1}"
        for namespace, link in ((self.namespace(node), "eth0"), (self.switch, port)):
            if mbit is None:
                run(["tc", "-n", namespace, "qdisc", "del", "dev", link, "root"], check=False)
                continue
            burst = max(16_000, int(mbit * 1e6 / 8 * _BURST_MS / 1000))
            run(["tc", "-n", namespace, "qdisc", "replace", "dev", link, "root", "tbf",
                 "rate", f"{int(mbit * 1e6)}bit", "burst", str(burst),
                 "latency", "50ms"])  # fmt: skip

    def traffic(self) -> Traffic:
        shown = json.loads(run(["ip", "-n", self.switch, "-s", "-j", "link", "show"]))
        counted = {link["ifname"]: link["stats64"] for link in shown}
        ports = {node: counted[f"n{i}"] for i, node in enumerate(self.nodes, start=1)}
        return Traffic(  # what a port of the switch receives, its node has sent
            sent={node: port["rx"]["bytes"] for node, port in ports.items()},
            received={node: port["tx"]["bytes"] for node, port in ports.items()},
            control_sent=counted["ctl"]["rx"]["bytes"],
            control_received=counted["ctl"]["tx"]["bytes"],
        )


def namespaces(prefix: str) -> list[str]:
    """Namespaces of a testbed that are there, whoever left them."""
    folder = Path("/run/netns")
    found = folder.iterdir() if folder.is_dir() else ()
    return sorted(path.name for path in found if path.name.startswith(f"{prefix}-"))


def remove_network(prefix: str) -> bool:
    """Deletes all namespaces of a testbed; says whether there were any."""
    found = namespaces(prefix)
    for name in found:
        run(["ip", "netns", "del", name], check=False)
    # It goes with its other end, but the kernel takes a moment for that.
    run(["ip", "link", "del", prefix[:15]], check=False)
    return bool(found)


def free_subnet() -> ipaddress.IPv4Network:
    """A range that no address and no route of this machine overlaps."""
    shown = json.loads(run(["ip", "-j", "-4", "route", "show", "table", "all"]))
    taken = []
    for route in shown:
        try:
            taken.append(ipaddress.IPv4Network(route["dst"], strict=False))
        except ValueError:
            continue  # default and the like
    for subnet in RANGE.subnets(new_prefix=24):
        if not any(subnet.overlaps(other) for other in taken if other.prefixlen > 0):
            return subnet
    raise StormbrainError(f"no free range for a testbed in {RANGE}", "take other testbeds down")
