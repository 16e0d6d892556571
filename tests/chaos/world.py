"""A real cluster to be broken: two Nimbuses, three nodes, two brains, and a counted topology."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException

from brain.cli.connection import call_brain
from brain.cluster.local import LocalCluster
from brain.cluster.processes import ProcessRef
from brain.errors import StormbrainError
from brain.plans.election import LeaderInfo, read_leader
from brain.plans.plan import Executor, SlotId, StoredPlan
from brain.plans.store import PlanStore
from brain.submit.submission import Submitter
from tests.harness.proxy import Relay
from tests.harness.storm import assignment, kill, submit
from tests.harness.zookeeper import eventually
from topologies.counted import Tally

ROUND_SECS = 3
DEADLINE_SECS = 2
SYNC_SECS = 6
COUNTED = Path(__file__).parents[2] / "topologies" / "counted.py"
CONF = {
    "nimbus.monitor.freq.secs": ROUND_SECS,
    "topology.brain.window.secs": 1,
    "topology.brain.first.replacement.secs": 8,
    "topology.brain.observe.secs": 15,
    "topology.brain.algorithm": "metis",
    "topology.brain.algorithm.params": {"objective": "cut"},
    # One re-placement, then quiet: whatever moves after that was moved by a fault.
    "topology.brain.cooldown.secs": 3600,
    "topology.brain.learn": False,
    "storm.zookeeper.session.timeout": 6_000,
}


@dataclass
class Brain:
    process: subprocess.Popen[bytes]
    relay: Relay
    """Its way to ZooKeeper, which a test may cut."""

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        if self.alive:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()
        self.relay.close()


@dataclass
class World:
    cluster: LocalCluster
    client: KazooClient
    folder: Path
    brains: dict[str, Brain] = field(default_factory=dict)
    newcomers: dict[str, str] = field(default_factory=dict)
    topology_id: str = ""
    number: int = 0

    def __post_init__(self) -> None:
        self.tally = Tally(self.folder / "counted")
        self.store = PlanStore(self.client)

    # --- brains

    def start_brain(self) -> Brain:
        self.number += 1
        name = f"brain-{self.number}"
        host, _, port = self.cluster.zookeeper_address.partition(":")
        relay = Relay((host, int(port)))
        command = [sys.executable, "-m", "brain", "serve", "--listen", "127.0.0.1:0", "--id", name,
                   "--zookeeper", relay.address, "--dashboard", "off",
                   "--state-dir", str(self.folder / name)]  # fmt: skip
        with (self.folder / f"{name}.log").open("ab") as out:
            process = subprocess.Popen(
                command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
            )
        self.brains[name] = Brain(process, relay)
        return self.brains[name]

    def leader(self) -> LeaderInfo | None:
        try:
            return read_leader(self.client, "/stormbrain/leader")
        except KazooException:  # ZooKeeper is what is broken just now
            return None

    def leading_brain(self) -> Brain:
        return self.brains[eventually(self.leader, 60, "a leader").id]

    def stop_brains(self) -> None:
        for brain in self.brains.values():
            brain.kill()

    def two_brains(self) -> None:
        while sum(b.alive for b in self.brains.values()) < 2:
            self.start_brain()

    def brain_status(self) -> Any | None:
        """What the leading brain says of itself, None while none answers."""
        leader = self.leader()
        try:
            return None if leader is None else call_brain(leader.address, "status", "", timeout=3)
        except StormbrainError:
            return None

    def brain_resumed(self) -> bool:
        """A brain leads, Nimbus asks it, and it has taken the plan in force over."""
        status = self.brain_status()
        if status is None or not status.leading or (status.snapshots_received or 0) < 2:
            return False
        mine = [t for t in status.topologies if t.topology_id == self.topology_id]
        return bool(mine) and mine[0].plan is not None

    # --- the topology

    def submit_counted(self) -> None:
        with self.cluster.nimbus() as nimbus:
            self.topology_id = Submitter(nimbus).submit(
                COUNTED,
                name="counted",
                settings=[
                    f"results_dir={self.tally.directory}",
                    # So that the code is with both Nimbuses before it counts as submitted.
                    f"topology.min.replication.count={len(self.cluster.nimbuses)}",
                ],
            )

    def plan(self) -> StoredPlan | None:
        return self.store.read(self.topology_id)

    def placed(self) -> dict[Executor, SlotId]:
        return assignment(self.cluster, self.topology_id)

    def plan_in_force(self) -> bool:
        stored = self.plan()
        return stored is not None and self.placed() == stored.plan.executors

    def workers(self) -> list[ProcessRef]:
        return [w for w in self.cluster.workers() if self.topology_id in w.command_line()]

    def workers_on(self, node: str) -> list[ProcessRef]:
        return [w for w in self.workers() if f"/data/{node}/" in " ".join(w.command_line())]

    def all_seen(self, up_to: dict[int, int]) -> bool:
        self.tally.read()
        return bool(up_to) and not self.tally.missing(up_to)

    def numbers_arrive(self, seconds: float = 120) -> None:
        """Of every spout task, a number that was not yet emitted when this is called."""
        beyond = {source: last + 5 for source, last in self.tally.emitted().items()}
        eventually(lambda: self.all_seen(beyond), seconds, "new numbers at the sinks")

    # --- the others

    def nimbus_pids(self) -> dict[str, int]:
        return {n.daemon: self.cluster.pid(n.daemon) for n in self.cluster.nimbuses}

    def dead_daemons(self) -> list[str]:
        return [d.name for d in self.cluster.daemons() if not d.running]

    def settled(self) -> bool:
        """All daemons run, and for long enough to have fetched what they need."""
        dead = self.supervise()
        return not dead and all(d.uptime_secs >= SYNC_SECS for d in self.cluster.daemons())

    def heir_of(self, nimbus: str) -> str | None:
        """The other Nimbus, once it leads. It too may have ended: a standby ends itself when the
        leader dies while it fetches files from it."""
        self.supervise(but=nimbus)
        leads = self.leading_nimbus()
        return leads if leads != nimbus else None

    def supervise(self, but: str = "") -> list[str]:
        """What keeps a real cluster's daemons alive: starts those that have ended."""
        dead = [name for name in self.dead_daemons() if name != but]
        for name in dead:
            self.cluster.start_daemon(name)
        return dead

    def ended_itself(self, daemon: str) -> bool:
        """Whether a daemon ended by an error of its own that our code has no part in."""
        words = (self.cluster.logs_dir / f"{daemon}.log").read_text(errors="replace")
        _, ended, rest = words.rpartition("terminating server")
        stack = rest.partition("\n20")[0]  # up to the next line that begins with a date
        return bool(ended) and "io.stormbrain" not in stack

    def leading_nimbus(self) -> str | None:
        try:
            with self.cluster.nimbus(timeout_secs=5) as nimbus:
                leader = nimbus.leader()
        except StormbrainError:
            return None
        nodes = self.cluster.nimbuses
        return next((n.daemon for n in nodes if leader and n.port == leader.port), None)

    def newcomer(self) -> float:
        """Seconds from the submission of a new topology to its assignment."""
        settings: Sequence[str] = ("depth=1", "parallelism=1", "rate=1", "topology.brain.mode=off")
        name = f"newcomer-{int(time.time() * 1000)}"
        topology_id = submit(self.cluster, name, settings, 1)
        self.newcomers[name] = topology_id
        begun = time.monotonic()
        eventually(
            lambda: assignment(self.cluster, topology_id),
            2 * (ROUND_SECS + DEADLINE_SECS) + 5,
            f"{name} to be scheduled in two rounds",
        )
        return time.monotonic() - begun

    def remove_newcomers(self) -> None:
        while self.newcomers:
            name, topology_id = self.newcomers.popitem()
            kill(self.cluster, self.client, name, topology_id)
