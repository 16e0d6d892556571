"""Agents on the nodes of a testbed, and what became of them."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import psutil
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from brain.agent.board import read_agents
from brain.agent.loop import ALGORITHM
from brain.cluster import processes
from brain.cluster.processes import MARKER, ProcessRef
from brain.service.decision_log import read_decisions
from brain.testbed import Testbed
from brain.testbed.bed import machine_name, testbed_dir
from brain.testbed.cgroups import node_group

ROOT = "/stormbrain"
PORT = 6791


@dataclass
class Pace:
    """Seconds; the paper's are 30 and K = 5."""

    round_secs: float = 6.0
    gossip_secs: float = 3.0
    probe_secs: float = 0.5
    observe_secs: float = 20.0
    cooldown_rounds: int = 5


@dataclass
class AgentFleet:
    bed: Testbed
    pace: Pace
    coordinated: bool
    cpu_points: float
    processes: dict[str, ProcessRef] = field(default_factory=dict)
    started: float = 0.0

    def start(self) -> None:
        cluster = self.bed.cluster
        self.started = time.monotonic()
        for i, (node, address) in enumerate(self.bed.addresses.items()):
            group = node_group(machine_name(self.bed.spec.name), node)
            assert self.bed.network is not None
            # nsenter and not `ip netns exec`: that would hide the control groups from the agent.
            enter = ["nsenter", f"--net=/run/netns/{self.bed.network.namespace(node)}"]
            command = [
                *enter, sys.executable, "-m", "brain.agent", "--node", node,
                "--zookeeper", cluster.zookeeper_address, "--root", ROOT,
                "--listen", f"{address}:{PORT}", "--metrics", str(cluster.metrics_dir),
                "--cgroup", str(group.accounting), "--cpu-points", str(self.cpu_points),
                "--round-secs", str(self.pace.round_secs),
                "--gossip-secs", str(self.pace.gossip_secs),
                "--probe-secs", str(self.pace.probe_secs),
                "--observe-secs", str(self.pace.observe_secs),
                "--cooldown-rounds", str(self.pace.cooldown_rounds),
                "--seed", str(i),
            ]  # fmt: skip
            if not self.coordinated:
                command.append("--uncoordinated")
            self.processes[node] = _run_outside(self.bed, node, command)

    def stop(self) -> dict[str, Any]:
        """Ends the agents; what they cost."""
        passed = time.monotonic() - self.started
        memory, cpu = [], []
        for process in self.processes.values():
            try:
                p = psutil.Process(process.pid)
                memory.append(p.memory_info().rss / 2**20)
                used = p.cpu_times()
                cpu.append(100.0 * (used.user + used.system) / passed)
            except psutil.NoSuchProcess:
                continue
        for process in self.processes.values():
            process.signal(signal.SIGTERM)
        return {
            "agents": len(memory),
            "memory_mb_max": max(memory, default=None),
            "cpu_percent_of_a_core_mean": sum(cpu) / len(cpu) if cpu else None,
            "probe_secs": self.pace.probe_secs,
            "round_secs": self.pace.round_secs,
        }


def _run_outside(bed: Testbed, node: str, command: list[str]) -> ProcessRef:
    """On the node's network, but not within its CPU limit: a stressed node's agent still speaks."""
    own = {**os.environ, MARKER: str(testbed_dir(bed.spec.name))}
    log = testbed_dir(bed.spec.name) / f"agent-{node}.out"
    return processes.spawn(command, own, log, Path.cwd())


@contextmanager
def zookeeper_of(bed: Testbed) -> Iterator[KazooClient]:
    client = KazooClient(hosts=bed.cluster.zookeeper_address)
    client.start(timeout=20)
    try:
        yield client
    finally:
        client.stop()
        client.close()


@dataclass(frozen=True)
class Seen:
    """What agents have decided lately, by id and reason, and what Nimbus says that runs."""

    decisions: dict[str, str]
    slots: dict[str, str]
    """Executor → node:port."""


def look(client: KazooClient, topology_id: str) -> Seen:
    rows = read_decisions(client, f"{ROOT}/decisions", topology_id)
    try:
        stage = json.loads(client.get(f"{ROOT}/stage/{topology_id}")[0])
    except NoNodeError:
        stage = {"executors": []}
    slots = {f"{a}-{b}": ":".join(map(str, slot)) for a, b, _, *slot in stage["executors"] if slot}
    return Seen({r["id"]: r["reason"] for r in rows if r["algorithm"] == ALGORITHM}, slots)


def vivaldi_errors(bed: Testbed) -> dict[str, Any]:
    """Relative errors of predicted against true round-trip times: what the router really held."""
    with zookeeper_of(bed) as client:
        nodes = read_agents(client, ROOT)
    held = {(d.source, d.target): d.mean_ms for d in bed.delays()}
    errors = []
    for a in nodes:
        for b in nodes:
            there, back = held.get((a, b)), held.get((b, a))
            if a < b and there is not None and back is not None:
                true = there + back
                said = nodes[a].coordinate.distance(nodes[b].coordinate)
                errors.append(abs(said - true) / true)
    return {
        "pairs": len(errors),
        "median_relative_error": median(errors) if errors else None,
        "largest_relative_error": max(errors, default=None),
        "utilisation": {n: round(q.utilisation, 3) for n, q in sorted(nodes.items())},
    }
