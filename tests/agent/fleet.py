"""Agents as real processes, a real ZooKeeper, and Nimbus's part played by the test.

``Fleet.nimbus`` publishes what the shim would and applies plans by the shim's rules: newer epoch,
made from what runs, live slots.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import psutil
from kazoo.exceptions import KazooException

from brain.plans.plan import Executor, SlotId, assignment_digest
from brain.plans.store import PlanStore
from tests.harness.zookeeper import ZooKeeperServer

TOPOLOGY = "chain-1-100"
COMPONENTS = ["source", "one", "two", "three", "consumer"]


class Fleet:
    def __init__(self, zookeeper: ZooKeeperServer, folder: Path, nodes: int = 4) -> None:
        self.zookeeper = zookeeper
        self.folder = folder
        self.root = f"/fleet-{uuid.uuid4().hex[:8]}"
        self.client = zookeeper.client()
        self.store = PlanStore(self.client, self.root)
        self.store.ensure_layout()
        self.nodes = [f"n{i + 1}" for i in range(nodes)]
        self.executors: dict[Executor, str] = {(i + 1, i + 1): c for i, c in enumerate(COMPONENTS)}
        self.assignment: dict[Executor, SlotId] = {
            e: (self.nodes[i % nodes], 6700) for i, e in enumerate(self.executors)
        }
        self.pins = {"source": ["host-n1"], "consumer": [f"host-{self.assignment[5, 5][0]}"]}
        self.epoch = 0
        self.applied: list[dict[Executor, SlotId]] = []
        self.refused = 0
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.sequence = 0

    def start(self, *nodes: str, **environment: str) -> None:
        # All share this machine, whose load is that of other tests: as nodes they are idle.
        idle = self.folder / "idle-group"
        idle.mkdir(exist_ok=True)
        (idle / "cpuacct.usage").write_text("0")
        for node in nodes or tuple(self.nodes):
            command = [
                sys.executable, "-m", "brain.agent", "--node", node,
                "--zookeeper", self.zookeeper.hosts, "--root", self.root,
                "--listen", "127.0.0.1:0", "--metrics", str(self.folder / node),
                "--round-secs", "0.6", "--gossip-secs", "0.3", "--probe-secs", "0.1",
                "--cooldown-rounds", "3", "--cgroup", str(idle), "--cpu-points", "100",
            ]  # fmt: skip
            log = (self.folder / f"{node}.log").open("ab")
            self.processes[node] = subprocess.Popen(
                command, stdout=log, stderr=log, env={**os.environ, **environment}
            )

    def close(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()

    def log(self, node: str) -> str:
        return (self.folder / f"{node}.log").read_text()

    def memory_mb(self, node: str) -> float:
        return float(psutil.Process(self.processes[node].pid).memory_info().rss / 2**20)

    def live_agents(self) -> list[str]:
        path = f"{self.root}/agents/live"
        return sorted(self.client.get_children(path)) if self.client.exists(path) else []

    # ------------------------------------------------------------ Nimbus and the workers

    def nimbus(self) -> None:
        """One round of Nimbus: applies a plan that fits, tells agents what runs."""
        stored = self.store.read(TOPOLOGY)
        if stored is not None and stored.plan.epoch > self.epoch:
            plan = stored.plan
            fits = (
                plan.based_on == assignment_digest(self.assignment)
                and plan.executor_hash == "hash"
                and set(plan.executors) == set(self.executors)
                and all(s[0] in self.nodes for s in plan.executors.values())
            )
            if fits:
                self.epoch = plan.epoch
                self.assignment = dict(plan.executors)
                self.applied.append(self.assignment)
            else:
                self.refused += 1
        conf = {"topology.brain.algorithm": "qos-distributed", "topology.brain.pin": self.pins}
        self._write("stage/" + TOPOLOGY, {
            "v": 1, "topology": TOPOLOGY, "name": "chain", "workers": len(self.nodes),
            "conf": conf,
            "executor_hash": "hash",
            "executors": [[*e, c, *self.assignment[e]] for e, c in self.executors.items()],
        })  # fmt: skip
        used: dict[str, list[int]] = {}
        for node, port in self.assignment.values():
            used.setdefault(node, []).append(port)
        self._write("cluster", {
            "v": 1,
            "supervisors": [
                {"id": n, "host": f"host-{n}", "ports": [6700, 6701], "blacklisted": False}
                for n in self.nodes
            ],
            "used": used,
            "topologies": [TOPOLOGY],
        })  # fmt: skip

    def end(self) -> None:
        """The topology is killed: Nimbus names it no more."""
        self.client.delete(f"{self.root}/stage/{TOPOLOGY}")
        cluster = json.loads(self.client.get(f"{self.root}/cluster")[0])
        self._write("cluster", {**cluster, "used": {}, "topologies": []})

    def workers(self) -> None:
        """One window of the hook on each node: 10 tuples a second along the chain."""
        now = int(time.time() * 1000)
        for node in self.nodes:
            here = [e for e, s in self.assignment.items() if s[0] == node]
            if not here:
                continue
            folder = self.folder / node / TOPOLOGY
            folder.mkdir(parents=True, exist_ok=True)
            common = {"v": 1, "topology": TOPOLOGY, "node": node, "worker": "6700-a",
                      "seq": self.sequence, "start": now - 500, "end": now}  # fmt: skip
            rows: list[dict[str, Any]] = []
            for task, _ in here:
                if task > 1:
                    rows.append({**common, "kind": "edge", "source": task - 1, "target": task,
                                 "tuples": 5, "bytes": 500})  # fmt: skip
                rows.append({**common, "kind": "task", "task": task, "cpu_ms": 5.0})
            rows.append({**common, "kind": "window"})
            with (folder / f"{node}-6700-a-0000.jsonl").open("a") as f:
                f.writelines(json.dumps(r) + "\n" for r in rows)
        self.sequence += 1

    def live(self, until: Any, seconds: float = 40.0) -> bool:
        """Nimbus and workers go on until a condition holds; whether it came to hold."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.workers()
            # On a busy machine the test's own session may be lost: Nimbus's next round is near.
            with contextlib.suppress(KazooException):
                self.nimbus()
                if until():
                    return True
            time.sleep(0.25)
        return False

    def _write(self, path: str, value: Any) -> None:
        whole, data = f"{self.root}/{path}", json.dumps(value).encode()
        if self.client.exists(whole):
            self.client.set(whole, data)
        else:
            self.client.create(whole, data, makepath=True)
