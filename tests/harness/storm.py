"""What tests on a real Storm cluster share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kazoo.client import KazooClient

from brain.cluster.local import LocalCluster
from brain.plans.plan import Executor, SlotId
from brain.submit.submission import Submitter
from tests.harness.zookeeper import eventually

PARALLEL = Path(__file__).parents[2] / "topologies" / "parallel.py"
LIGHT = ("depth=2", "parallelism=3", "rate=30", "acking=false")
"""Parallel as a trickle: enough to measure, little enough for a loaded machine; without acks, whose
way no placement can shorten."""


def submit(
    cluster: LocalCluster, name: str, settings: Sequence[str] = LIGHT, workers: int = 3
) -> str:
    with cluster.nimbus() as nimbus:
        return Submitter(nimbus).submit(
            PARALLEL, name=name, workers=workers, settings=list(settings)
        )


def assignment(cluster: LocalCluster, topology_id: str) -> dict[Executor, SlotId]:
    """Executor → (supervisor id, port), as Nimbus tells it."""
    ids = {node.host: node.id for node in cluster.supervisors}
    with cluster.nimbus() as nimbus:
        placed = nimbus.topology(topology_id).assignment
    return {executor: (ids[host], port) for executor, (host, port) in placed.items()}


def kill(cluster: LocalCluster, client: KazooClient, name: str, topology_id: str) -> None:
    """Kills a topology and waits until its assignment is gone.

    Only once it has workers: Storm's supervisors halt when a topology is killed while they fetch
    its files.
    """
    eventually(lambda: runs(cluster, topology_id), 90, f"workers of {name}")
    with cluster.nimbus() as nimbus:
        nimbus.kill(name, wait_secs=0)
    eventually(
        lambda: topology_id not in client.get_children("/storm/assignments"),
        90,
        "the assignment to be gone",
    )


def runs(cluster: LocalCluster, topology_id: str) -> bool:
    """Whether every slot that it was given has its worker."""
    slots = set(assignment(cluster, topology_id).values())
    workers = [w for w in cluster.workers() if topology_id in w.command_line()]
    return bool(slots) and len(workers) >= len(slots)


def is_even(placed: dict[Executor, SlotId], workers: int = 3) -> bool:
    """Storm's even scheduler deals executors out to the slots in turn, by their first task."""
    slots = [slot for _, slot in sorted(placed.items())]
    return len(set(slots[:workers])) == workers and all(
        slot == slots[i % workers] for i, slot in enumerate(slots)
    )
