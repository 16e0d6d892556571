"""Agents, shim and Storm together: nodes some milliseconds apart, a finite run, and its results."""

from __future__ import annotations

import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from benchmarks.qos import STORM_CONF
from benchmarks.qos_parts.agents import PORT, AgentFleet, Pace
from brain.cluster.processes import ProcessRef
from brain.demo.run import brain_process
from brain.plans.plan import Executor, Plan, SlotId
from brain.plans.store import PlanStore
from brain.submit.submission import Submitter, wait_until_gone
from brain.testbed import Testbed, TestbedSpec, cannot_use_namespaces, gaussian_delays
from brain.testbed.cgroups import cannot_limit
from brain.testbed.machine import cannot_delay
from tests.harness.storm import assignment
from tests.harness.zookeeper import eventually
from topologies.batch import applications
from topologies.common.results import finished_sources, read_counters, read_results
from topologies.data.sentences import Sentences

REASON = cannot_use_namespaces() or cannot_limit() or cannot_delay()
pytestmark = [
    pytest.mark.storm_full,
    pytest.mark.timeout(900),
    pytest.mark.skipif(REASON is not None, reason=str(REASON)),
]

TAG_AND_COUNT = Path(__file__).parents[2] / "topologies" / "tag_and_count.py"
SEED, EVENTS, RATE = 7, 1000, 8
NODES, CPU_POINTS = 4, 50.0
EXECUTORS = 8
"""Seven and an acker."""
PINS = {"source": "node-1", "consumer": "node-4"}
PACE = Pace(round_secs=3.0, gossip_secs=1.0, probe_secs=0.3, observe_secs=15.0, cooldown_rounds=4)
QUIET_ROUNDS = 6
"""Without a plan for so long, agents have settled: more than the cooldown."""
BURN = [sys.executable, "-I", "-c", "while True: pass"]


@pytest.fixture(scope="module")
def bed(cluster_state_root: Path) -> Iterator[Testbed]:
    spec = TestbedSpec.uniform(
        "agents",
        nodes=NODES,
        slots=2,
        cpu_points=CPU_POINTS,
        delays=gaussian_delays(NODES, (12.0, 32.0), (1.0, 3.0), seed=1),
        storm_conf=STORM_CONF,
    )
    with Testbed.up(spec) as bed:
        assert bed.cluster.plugin_jar is not None, "run `make setup`"
        yield bed


@dataclass
class Run:
    """A finite run of tag-and-count that agents place."""

    bed: Testbed
    store: PlanStore
    topology_id: str
    results: Path

    def placed(self) -> dict[Executor, SlotId]:
        return assignment(self.bed.cluster, self.topology_id)

    def plan(self) -> Plan | None:
        stored = self.store.read(self.topology_id)
        return stored.plan if stored else None

    def in_force(self) -> Plan | None:
        """The stored plan, once it is what runs."""
        plan = self.plan()
        return plan if plan is not None and dict(plan.executors) == self.placed() else None

    def component_nodes(self) -> dict[str, set[str]]:
        ids = {node.host: node.id for node in self.bed.cluster.supervisors}
        with self.bed.cluster.nimbus() as nimbus:
            executors = nimbus.topology(self.topology_id).executors
        found: dict[str, set[str]] = {}
        for executor in executors:
            found.setdefault(executor.component, set()).add(ids[executor.host])
        return found

    def acked(self) -> int:
        return sum(c.get("acked", 0) for c in read_counters(self.results).values())

    def finished(self) -> bool:
        return len(finished_sources(self.results)) == 1

    def flows_on(self, seconds: float = 90.0) -> None:
        before = self.acked()
        eventually(lambda: self.acked() > before + 10 or self.finished(), seconds, "more acks")

    def settles(self, seconds: float = 120.0) -> None:
        """No plan for some rounds, and the last one in force."""
        deadline = time.monotonic() + seconds
        quiet, epoch = time.monotonic(), -1
        while time.monotonic() - quiet < QUIET_ROUNDS * PACE.round_secs:
            plan = self.plan()
            if plan is not None and plan.epoch != epoch:
                epoch, quiet = plan.epoch, time.monotonic()
            assert time.monotonic() < deadline, f"still moving at epoch {epoch}"
            time.sleep(0.3)
        assert self.in_force()


@pytest.fixture
def run(bed: Testbed, tmp_path: Path) -> Iterator[Run]:
    client = KazooClient(hosts=bed.cluster.zookeeper_address)
    client.start(timeout=20)
    settings = {
        "seed": SEED,
        "events": EVENTS,
        "rate": RATE,
        "acking": "true",
        "timeout_seconds": 20,
        "max_pending": 50,
        "watermark_every": 100,
        "results_dir": tmp_path / "results",
        "state_dir": tmp_path / "state",
        "pin_source": PINS["source"],
        "pin_consumer": PINS["consumer"],
        "topology.brain.algorithm": "qos-distributed",
        "topology.brain.window.secs": 1,
        "topology.acker.executors": 1,
    }
    name = f"fog-{time.monotonic_ns()}"
    with brain_process(bed.cluster, tmp_path / "brain.log"):
        eventually(lambda: client.exists("/stormbrain/leader"), 60, "a leading brain")
        with bed.cluster.nimbus() as nimbus:
            topology_id = Submitter(nimbus).submit(
                TAG_AND_COUNT,
                name=name,
                workers=NODES,
                settings=[f"{key}={value}" for key, value in settings.items()],
            )
        run = Run(bed, PlanStore(client), topology_id, tmp_path / "results")
        try:
            plan = eventually(run.in_force, 90, "the first placement")
            assert plan.algorithm == "qos-bootstrap"
            eventually(lambda: run.acked() > 10, 180, "the first acks")
        except BaseException:
            _remove(bed, name)
            client.stop()
            raise
    # From here on without a brain: agents need none.
    try:
        yield run
    finally:
        _remove(bed, name)
        client.stop()
        client.close()


def _remove(bed: Testbed, name: str) -> None:
    with bed.cluster.nimbus() as nimbus:
        nimbus.kill(name, wait_secs=0)
        wait_until_gone(nimbus, name)


@pytest.fixture
def fleet(bed: Testbed) -> Iterator[AgentFleet]:
    fleet = AgentFleet(bed, PACE, coordinated=True, cpu_points=CPU_POINTS)
    try:
        yield fleet
    finally:
        fleet.stop()


def loose(run: Run) -> list[str]:
    """The nodes of the executors that agents may move."""
    placed = run.component_nodes().items()
    return [node for component, nodes in placed for node in nodes if component not in PINS]


def middle(run: Run) -> str:
    """The node with most of them."""
    return Counter(loose(run)).most_common(1)[0][0]


def ends_whole(run: Run) -> None:
    """All events are through, each counted once: nothing was lost, nothing counted twice."""
    eventually(run.finished, 300, "the end of the run")
    expected = applications.tag_and_count(Sentences().generate(SEED, 0, 1, EVENTS))

    def counted() -> dict[str, int]:
        return {r["class"]: r["sentences"] for r in read_results(run.results).values()}

    eventually(lambda: counted() == expected, 60, f"{expected}, not {counted()}")


def left_under_stress(run: Run) -> Plan:
    """Load on the node in the middle: the plan in force with which agents left it."""
    before, node = run.plan(), middle(run)
    assert before is not None
    burning: ProcessRef = run.bed.run(node, BURN)

    def left() -> Plan | None:
        plan = run.in_force()
        newer = plan is not None and plan.epoch > before.epoch
        return plan if newer and node not in loose(run) else None

    try:
        plan: Plan = eventually(left, 120, f"agents to leave {node}")
        run.settles()
        assert node not in loose(run)
    finally:
        burning.signal(signal.SIGKILL)
    return plan


def keeps_its_promises(run: Run) -> None:
    placed = run.component_nodes()
    for component, node in PINS.items():
        assert placed[component] == {node}
    assert len(run.placed()) == EXECUTORS


def test_agents_move_a_running_topology_and_nothing_is_lost(run: Run, fleet: AgentFleet) -> None:
    keeps_its_promises(run)
    fleet.start()
    run.flows_on()
    plan = left_under_stress(run)
    assert plan.algorithm == "qos-distributed"
    assert plan.based_on
    keeps_its_promises(run)
    run.flows_on()
    assert all(process.alive() for process in fleet.processes.values())
    assert fleet.stop()["memory_mb_max"] < 60.0
    ends_whole(run)


def test_dead_deaf_and_lying_agents_lose_nothing(run: Run, fleet: AgentFleet) -> None:
    """One is killed and a liar takes its place, one hangs; the two that are left do the work."""
    fleet.start()
    run.flows_on()
    busy = middle(run)
    dead, deaf = [n for n in fleet.processes if n != busy][:2]
    fleet.processes[dead].signal(signal.SIGKILL)
    fleet.processes[deaf].signal(signal.SIGSTOP)
    bed = run.bed
    lying = bed.run(
        dead,
        [sys.executable, "-m", "tests.agent.liar", dead, bed.cluster.zookeeper_address,
         f"{bed.addresses[dead]}:{PORT}", run.topology_id],
    )  # fmt: skip
    left_under_stress(run)
    keeps_its_promises(run)
    assert lying.alive()
    fleet.processes[deaf].signal(signal.SIGCONT)
    run.settles()
    keeps_its_promises(run)
    living = [p.alive() for node, p in fleet.processes.items() if node != dead]
    assert all(living)
    lying.signal(signal.SIGKILL)
    ends_whole(run)
