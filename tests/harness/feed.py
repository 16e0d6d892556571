"""A brain in this process and a Nimbus that talks to it over Thrift: for questions and pictures.

``FedBrain`` plays what Nimbus and the workers say; where a plan comes into force, it is because
the feed applied it as the plugin would.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from pathlib import Path
from typing import Any

from brain.cli.connection import call_brain
from brain.config import Settings
from brain.service.runtime import BrainRuntime
from tests.harness.wire import cluster_state, report, supervisor, topology
from tests.harness.zookeeper import ZooKeeperServer, eventually

QUIET = {
    "topology.brain.mode": "dry-run",
    "topology.brain.algorithm": "metis",
    "topology.brain.window.secs": 1,
    "topology.brain.first.replacement.secs": 3600,
}
"""The brain measures and answers, but decides nothing by itself."""
REPORT_MS = 600
"""A brain takes 120 reports a minute of one worker."""


class FedBrain:
    """``lines`` chains of ``depth`` components dealt out in turn, so that they cross nodes."""

    def __init__(
        self,
        zookeeper: ZooKeeperServer,
        directory: Path,
        nodes: int = 3,
        lines: int = 3,
        depth: int = 3,
        conf: dict[str, Any] | None = None,
        name: str = "lines",
        root: str | None = None,
        **settings: Any,
    ) -> None:
        self.zookeeper = zookeeper
        self.directory = directory
        self.root = root or f"/feed-{uuid.uuid4().hex[:8]}"
        self.settings = Settings({"brain.scheduler.zookeeper.root": self.root, **settings})
        self.token = str(settings.get("brain.scheduler.token", ""))
        self.nodes = [f"n{i}" for i in range(1, nodes + 1)]
        self.topology_id = f"{name}-1-100"
        self.conf = {**QUIET, **(conf or {})}
        self.components = {f"stage-{d}" if d else "spout": lines for d in range(depth)}
        self.edges = {
            (d * lines + i + 1, (d + 1) * lines + i + 1): (500, 60_000)
            for d in range(depth - 1)
            for i in range(lines)
        }
        self.tasks = range(1, lines * depth + 1)
        self.slots = {t: (self.nodes[(t - 1 + (t - 1) // lines) % nodes], 6700) for t in self.tasks}
        self.sequence = 0
        self._reported_ms = 0
        self.lost_windows = self.lost_lines = 0
        """What the worker on the first node says it has lost so far."""
        self.brain = self._new_brain()
        self._feeding: threading.Thread | None = None
        self._quiet = threading.Event()

    # ------------------------------------------------------------ the brain

    def _new_brain(self) -> BrainRuntime:
        return BrainRuntime(
            self.settings, self.zookeeper.client(), self.directory, away_after_secs=2.0
        )

    def start(self) -> FedBrain:
        self.brain.start()
        eventually(lambda: self.brain.election.leadership, what="the brain leads")
        return self

    def restart(self) -> None:
        """As after a crash of the brain: another one on the same ZooKeeper."""
        self.brain.stop()
        self.brain = self._new_brain()
        self.start()

    def stop(self) -> None:
        self.pause()
        self.brain.stop()

    # ------------------------------------------------------------ Nimbus and workers

    def state(self, **more: Any) -> Any:
        own = topology(
            self.topology_id, self.components, self.slots, workers=len(self.nodes), conf=self.conf
        )
        state = cluster_state(
            [supervisor(n) for n in self.nodes],
            [own],
            token=self.token or None,
            plugin_version=more.pop("plugin_version", "0.1.0"),
            storm_version="2.8.3",
            nimbus="nimbus.example:6627",
            **more,
        )
        state.time_ms = int(time.time() * 1000)
        return state

    def schedule(self) -> Any:
        reply = call_brain(self.brain.address, "schedule", self.state())
        for ref in reply.plans:
            self._apply(ref)
        return reply

    def _apply(self, ref: Any) -> None:
        """What the plugin does: takes the plan from ZooKeeper if it is the one referred to."""
        stored = self.brain.store.read(ref.topology_id)
        if stored is not None and stored.digest == ref.digest:
            self.slots = {start: slot for (start, _), slot in stored.plan.executors.items()}

    def report(self) -> None:
        """One window of each worker, about the tasks that run there; none if the last is new."""
        now = int(time.time() * 1000)
        if now - self._reported_ms < REPORT_MS:
            return
        self._reported_ms = now
        for slot in sorted(set(self.slots.values())):
            here = {t for t, s in self.slots.items() if s == slot}
            window = report(
                self.topology_id,
                self.sequence,
                now - 1000,
                {(s, t): v for (s, t), v in self.edges.items() if t in here},
                dict.fromkeys(sorted(here), 120.0),
                worker=f"{slot[0]}-{slot[1]}",
                node=slot[0],
                port=slot[1],
                length_ms=1000,
                token=self.token or None,
                dropped=self.lost_windows if slot[0] == self.nodes[0] else 0,
                dropped_lines=self.lost_lines if slot[0] == self.nodes[0] else 0,
            )
            for load in window.tasks:
                if load.task <= self.components["spout"]:
                    load.acked, load.complete_latency_ms = 480, 12.5
            self.brain.report(window)
        self.sequence += 1

    def round(self) -> Any:
        self.report()
        return self.schedule()

    def until_measured(self) -> None:
        """Rounds until the brain has traffic to compute with."""

        def measured() -> bool:
            self.round()
            core = self.brain.core
            now_ms = int(time.time() * 1000)
            return (
                self.topology_id in core.records and core.rates(self.topology_id, now_ms).measured
            )

        eventually(measured, 30, "measured traffic")

    def feed(self) -> None:
        """Goes on by itself, a round every 0.3 s, until paused."""
        self._quiet.clear()
        self._feeding = threading.Thread(target=self._feed, name="feed", daemon=True)
        self._feeding.start()

    def _feed(self) -> None:
        while not self._quiet.wait(0.3):
            try:
                self.round()
            except Exception:
                continue  # the brain is being restarted

    def pause(self) -> None:
        self._quiet.set()
        if self._feeding is not None:
            self._feeding.join(timeout=10)
            self._feeding = None

    # ------------------------------------------------------------ an operator

    def ask(self, question: str, **arguments: Any) -> Any:
        text = call_brain(
            self.brain.address, "ask", self.token, question, json.dumps(arguments), timeout=60.0
        )
        return json.loads(text)

    def inter_node(self) -> float:
        """Bytes a second between nodes, counted from the feed's own edges and slots."""
        return float(
            sum(size for (s, t), (_, size) in self.edges.items()
                if self.slots[s][0] != self.slots[t][0])
        )  # fmt: skip
