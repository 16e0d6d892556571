"""A testbed: made, found again, changed while it runs, and taken down whatever has happened."""

from __future__ import annotations

import hashlib
import ipaddress
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from brain.cluster import processes
from brain.cluster.local import LocalCluster
from brain.cluster.locks import exclusive
from brain.cluster.paths import cluster_dir, state_root
from brain.cluster.planning import Site, Sites, loopback_sites
from brain.cluster.processes import MARKER, ProcessRef
from brain.errors import BadInput, StormbrainError
from brain.testbed import cgroups
from brain.testbed.machine import cannot_delay, cannot_use_namespaces
from brain.testbed.network import (
    SWITCH,
    TUN,
    Network,
    Traffic,
    free_subnet,
    namespaces,
    remove_network,
)
from brain.testbed.spec import Delay, Pair, TestbedSpec

RECORD = "testbed.json"
_LOCK = Path("/run/lock/stormbrain-testbeds.lock")

_ROUTER = Path(__file__).with_name("wan.py")
_ROUTER_START_SECS = 30.0

Progress = Callable[[str], None]


class TestbedFailed(StormbrainError):
    """The testbed could not be made as asked for."""

    __test__ = False


@dataclass(frozen=True)
class PairDelay:
    """How long packets from one node to another are held: as set, and as they really were."""

    source: str
    target: str
    set_mean_ms: float
    set_sd_ms: float
    packets: int
    mean_ms: float | None
    sd_ms: float | None


def _silent(_: str) -> None:
    return


class Testbed:
    """A testbed that is up; made by :meth:`up` or found by :meth:`attach`."""

    __test__ = False

    def __init__(self, spec: TestbedSpec, network: Network | None, storm: bool) -> None:
        self.spec = spec
        self.network = network
        self._storm = storm
        self._directory = testbed_dir(spec.name)

    # --- coming and going

    @classmethod
    def up(cls, spec: TestbedSpec, *, storm: bool = True, progress: Progress = _silent) -> Testbed:
        """Makes it, or finds it if it is up already as specified. ``storm=False``: nodes only.

        What an earlier command left half-made or dead is removed first. Whatever fails, an
        interrupt included, takes down what had been made.
        """
        if (found := cls._running(spec, storm)) is not None:
            progress(f"testbed {spec.name} is up already")
            return found
        cls.remove(spec.name)
        network = None
        try:
            if spec.mode == "netns":
                network = cls._make_network(spec, progress)
            bed = cls(spec, network, storm)
            bed._save()
            bed._start_router()
            if storm:
                bed._start_storm(progress)
        except BaseException:
            progress("taking down what had been made")
            cls.remove(spec.name)
            raise
        return bed

    @classmethod
    def _running(cls, spec: TestbedSpec, storm: bool) -> Testbed | None:
        """The testbed if all of it runs; an error if another of this name does."""
        try:
            found = cls.attach(spec.name)
        except StormbrainError:
            return None
        if found.problems():
            return None
        if found.spec != spec or found._storm != storm:
            raise TestbedFailed(
                f"testbed {spec.name} is up with another shape",
                f"take it down first: stormbrain testbed down --name {spec.name}",
            )
        return found

    @classmethod
    def _make_network(cls, spec: TestbedSpec, progress: Progress) -> Network:
        reasons = [cannot_use_namespaces(), cannot_delay() if spec.delays else None]
        if any(node.cpu_points is not None for node in spec.nodes):
            reasons.append(cgroups.cannot_limit())
        if reason := next((reason for reason in reasons if reason), None):
            raise TestbedFailed(reason, "or use mode loopback, without limits and delays")
        prefix = machine_name(spec.name)
        progress(f"making {len(spec.nodes)} network namespaces")
        with exclusive(_LOCK):  # so that two testbeds do not choose the same addresses
            network = Network(prefix, free_subnet(), tuple(node.id for node in spec.nodes))
            network.make(spec)
        for node in spec.nodes:
            group = cgroups.node_group(prefix, node.id)
            group.make()
            group.limit(node.cpu_points)
        return network

    @classmethod
    def attach(cls, name: str) -> Testbed:
        """The testbed of that name as it is on record; parts of it may be dead."""
        try:
            raw = json.loads((testbed_dir(name) / RECORD).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise StormbrainError(
                f"no testbed named {name} is up", f"start it: stormbrain testbed up --name {name}"
            ) from None
        spec = TestbedSpec.from_json(raw["spec"])
        network = None
        if raw["subnet"] is not None:
            subnet = ipaddress.IPv4Network(raw["subnet"])
            network = Network(machine_name(name), subnet, tuple(n.id for n in spec.nodes))
        return cls(spec, network, raw["storm"])

    @classmethod
    def remove(cls, name: str) -> bool:
        """Ends whatever there is of it, also without a record; says whether there was anything."""
        directory = testbed_dir(name)
        found = directory.exists()
        found |= LocalCluster.remove(name)
        found |= bool(marked := processes.find_marked(directory))
        processes.stop(marked, grace_secs=2.0)
        if os.geteuid() == 0 and shutil.which("ip") is not None:
            prefix = machine_name(name)
            found |= remove_network(prefix)
            cgroups.remove_groups(prefix)
        shutil.rmtree(directory, ignore_errors=True)
        return found

    def down(self) -> None:
        Testbed.remove(self.spec.name)

    def __enter__(self) -> Testbed:
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
    def cluster(self) -> LocalCluster:
        return LocalCluster.attach(self.spec.name)

    @property
    def cannot(self) -> list[str]:
        """What cannot be measured or enforced here, and why."""
        if self.network is None:
            return [
                "bytes on the wire: supervisors share the loopback interface",
                "bandwidth limits, CPU limits and delays of nodes",
            ]
        reason = cgroups.cannot_limit()
        return [] if reason is None else [reason]

    @property
    def addresses(self) -> dict[str, str]:
        """Of each node, as the others reach it."""
        if self.network is None:
            sites = loopback_sites(len(self.spec.nodes), 1).nodes
            pairs = zip(self.spec.nodes, sites, strict=True)
            return {node.id: site.host for node, site in pairs}
        return {node.id: self.network.address(node.id) for node in self.spec.nodes}

    @property
    def control_address(self) -> str:
        """Of this machine, as the nodes reach it."""
        return "127.0.0.1" if self.network is None else self.network.control_address

    def problems(self) -> list[str]:
        """What is not as it should be; nothing if all of it is up."""
        wrong = []
        if self.network is not None:
            wanted = {self.network.switch, *map(self.network.namespace, self.addresses)}
            missing = wanted - set(namespaces(self.network.prefix))
            wrong += [f"namespace {name} is gone" for name in sorted(missing)]
            if self.spec.delays and not self._router_alive():
                wrong.append("the router of delays is gone")
        if self._storm:
            try:
                dead = [d.name for d in self.cluster.daemons() if not d.running]
                wrong += [f"{name} is dead" for name in dead]
            except StormbrainError as e:
                wrong.append(e.message)
        return wrong

    def traffic(self) -> Traffic | None:
        """Bytes so far; ``None`` on loopback."""
        return None if self.network is None else self.network.traffic()

    def cpu_secs(self) -> dict[str, float | None]:
        """CPU seconds of each node so far, daemons and workers."""
        prefix = machine_name(self.spec.name)
        return {n.id: cgroups.node_group(prefix, n.id).cpu_secs() for n in self.spec.nodes}

    def delays(self) -> list[PairDelay]:
        """Of every ordered pair that has one."""
        if self.network is None or not self.spec.delays:
            return []
        held = {}
        stats = self._directory / "wan-stats.json"
        if stats.exists():
            rows = json.loads(stats.read_text())
            held = {(source, target): rest for source, target, *rest in rows}
        found = []
        for source, target, delay in self._directed():
            packets, mean, sd = held.get(
                (self.addresses[source], self.addresses[target]), (0, None, None)
            )
            found.append(PairDelay(source, target, delay.mean_ms, delay.sd_ms, packets, mean, sd))
        return found

    # --- changing it

    def set_delay(self, a: str, b: str, delay: Delay) -> None:
        """Another delay of a pair, both ways, from now on."""
        if not self.spec.delays:
            raise BadInput("delays", "this testbed was made without a router", "give it delays")
        pair: Pair = (min(a, b), max(a, b))
        self.spec = replace(self.spec, delays={**self.spec.delays, pair: delay})
        self._save()
        self._write_router_config()
        for process in self._router_processes():
            process.signal(signal.SIGHUP)

    def set_bandwidth(self, node: str, mbit: float | None) -> None:
        self._namespaced().limit(node, mbit)

    def set_cpu(self, node: str, cpu_points: float | None) -> None:
        """Another CPU limit from now on; Storm is not told."""
        self._namespaced()
        cgroups.node_group(machine_name(self.spec.name), node).limit(cpu_points)

    def run(
        self, node: str, command: Sequence[str], log: Path | None = None, **environment: str
    ) -> ProcessRef:
        """Starts a process on a node; it is ended with the testbed."""
        output = log or self._directory / f"{node}.out"
        whole = [*self.launcher(node), *command]
        own = {**os.environ, **environment, MARKER: str(self._directory)}
        return processes.spawn(whole, own, output, Path.cwd())

    def launcher(self, node: str) -> list[str]:
        """A command prefix that starts a command on a node, within its CPU limit."""
        if self.network is None:
            return []
        # The group first: within a network namespace /sys is another one.
        group = cgroups.node_group(machine_name(self.spec.name), node)
        return [*group.launcher(), *self.network.launcher(node)]

    def _namespaced(self) -> Network:
        if self.network is None:
            raise BadInput("mode", "loopback nodes have no limits", "use network namespaces")
        return self.network

    # --- parts

    def _save(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        subnet = None if self.network is None else str(self.network.subnet)
        raw: dict[str, Any] = {"spec": self.spec.to_json(), "subnet": subnet, "storm": self._storm}
        aside = self._directory / f"{RECORD}.new"
        aside.write_text(json.dumps(raw, indent=1) + "\n", encoding="utf-8")
        aside.replace(self._directory / RECORD)

    def _directed(self) -> list[tuple[str, str, Delay]]:
        both = [((a, b), (b, a), delay) for (a, b), delay in sorted(self.spec.delays.items())]
        return [(*pair, delay) for there, back, delay in both for pair in (there, back)]

    def _write_router_config(self) -> Path:
        address = self.addresses
        rows = [[address[a], address[b], d.mean_ms, d.sd_ms] for a, b, d in self._directed()]
        path = self._directory / "wan.json"
        aside = path.with_suffix(".new")
        aside.write_text(json.dumps({"delays": rows}))
        aside.replace(path)
        return path

    def _start_router(self) -> None:
        if self.network is None or not self.spec.delays:
            return
        config, stats = self._write_router_config(), self._directory / "wan-stats.json"
        # By its path and isolated: the router needs nothing of ours, and is up at once.
        command = [*self.network.launcher(SWITCH), sys.executable, "-I", str(_ROUTER), TUN,
                   str(config), str(stats)]  # fmt: skip
        environment = {**os.environ, MARKER: str(self._directory)}
        log = self._directory / "wan.out"
        router = processes.spawn(command, environment, log, self._directory)
        deadline = time.monotonic() + _ROUTER_START_SECS
        while not stats.exists():
            if not router.alive() or time.monotonic() > deadline:
                said = log.read_text().strip().splitlines()[-1:] or ["no output"]
                raise TestbedFailed(f"the router of delays did not come up: {said[0]}")
            time.sleep(0.02)

    def _router_processes(self) -> list[ProcessRef]:
        marked = processes.find_marked(self._directory)
        return [p for p in marked if str(_ROUTER) in p.command_line()]

    def _router_alive(self) -> bool:
        return bool(self._router_processes())

    def _start_storm(self, progress: Progress) -> None:
        cores = (os.cpu_count() or 1) * 100.0
        sites = []
        for node in self.spec.nodes:
            conf: dict[str, Any] = {"supervisor.cpu.capacity": node.cpu_points or cores}
            if node.memory_mb is not None:
                conf["supervisor.memory.capacity.mb"] = node.memory_mb
            launcher = tuple(self.launcher(node.id))
            sites.append(Site(node.id, self.addresses[node.id], node.slots, launcher, conf))
        LocalCluster.start(
            self.spec.name,
            sites=Sites(self.control_address, tuple(sites)),
            storm_conf=self.spec.storm_conf,
            progress=progress,
        )


def testbed_dir(name: str) -> Path:
    """Where a testbed's record is; the name is checked as a cluster's."""
    return state_root() / "testbeds" / cluster_dir(name).name


testbed_dir.__test__ = False  # type: ignore[attr-defined]


def machine_name(name: str) -> str:
    """Unique on this machine, for users and state dirs may have testbeds of the same name."""
    return "sb" + hashlib.sha256(str(testbed_dir(name)).encode()).hexdigest()[:8]
