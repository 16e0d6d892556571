"""Submitting to real Storm: the topology runs, and what fails leaves nothing behind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from brain.cluster.local import LocalCluster
from brain.submit.nimbus import NimbusClient, TopologyNameTaken, TopologyNotFound, TopologyRejected
from brain.submit.packing import MissingOnWorkers
from brain.submit.submission import Submitter, wait_until_gone, wait_until_up
from tests.harness.zookeeper import eventually
from topologies.parallel import Options, next_index

pytestmark = pytest.mark.storm

PARALLEL = Path(__file__).parents[2] / "topologies" / "parallel.py"
SMALL = ["depth=2", "parallelism=2", "rate=50"]
RECEIVED = re.compile(
    r"Processing received TUPLE: source: ([\w-]+):(\d+), stream: default,.* for TASK: (\d+)"
)
"""What a worker logs about each tuple with topology.debug."""


@pytest.fixture
def nimbus(storm_cluster: LocalCluster) -> Iterator[NimbusClient]:
    with storm_cluster.nimbus() as client:
        yield client
        for topology in client.cluster().topologies:
            client.kill(topology.name, wait_secs=0)
            wait_until_gone(client, topology.name)


def names(nimbus: NimbusClient) -> list[str]:
    return [topology.name for topology in nimbus.cluster().topologies]


def test_parallel_runs_and_is_killed_without_a_trace(
    storm_cluster: LocalCluster, nimbus: NimbusClient
) -> None:
    submitter = Submitter(nimbus)
    topology_id = submitter.submit(PARALLEL, name="lines", settings=SMALL, workers=2)
    view = wait_until_up(nimbus, topology_id)
    assert {e.component for e in view.executors} == {"__acker", "spout", "bolt-1", "bolt-2"}
    assert {e.host for e in view.executors} <= {n.host for n in storm_cluster.supervisors}
    assert len(storm_cluster.workers()) == 2

    with pytest.raises(TopologyNameTaken, match="lines is already running"):
        submitter.submit(PARALLEL, name="lines", settings=SMALL)

    def acked() -> int:
        executors = nimbus.topology(topology_id).executors
        return sum(e.acked for e in executors if e.component == "spout")

    eventually(acked, 60.0, "acked tuples")

    nimbus.kill("lines", wait_secs=0)
    wait_until_gone(nimbus, "lines")
    with pytest.raises(TopologyNotFound):
        nimbus.topology_id("lines")
    with pytest.raises(TopologyNotFound, match="no topology lines is running"):
        nimbus.kill("lines")
    eventually(
        lambda: not storm_cluster.workers() and not storm_cluster.worker_children(),
        60.0,
        "the end of the workers",
    )


def test_the_lines_of_parallel_stay_apart_in_real_storm(
    storm_cluster: LocalCluster, nimbus: NimbusClient
) -> None:
    settings = ["depth=2", "parallelism=3", "rate=20", "topology.debug=true"]
    topology_id = Submitter(nimbus).submit(PARALLEL, name="apart", settings=settings, workers=2)
    tasks: dict[str, list[int]] = {}
    for executor in wait_until_up(nimbus, topology_id).executors:
        tasks.setdefault(executor.component, []).append(executor.start_task)
    order = {task: index for ids in tasks.values() for index, task in enumerate(sorted(ids))}

    def seen() -> set[tuple[str, int, int]]:
        logs = storm_cluster.logs_dir.glob(f"workers-artifacts/{topology_id}/*/worker.log")
        found = (RECEIVED.findall(log.read_text(errors="replace")) for log in logs)
        return {(source, order[int(a)], order[int(b)]) for hits in found for source, a, b in hits}

    eventually(lambda: len(seen()) >= 6, 60.0, "tuples on every line")
    stages = enumerate(("spout", "bolt-1"))
    lines = {
        (name, i, next_index(Options(), stage, i, 3)) for stage, name in stages for i in range(3)
    }
    assert seen() == lines


def test_several_files_are_submitted_all_or_none(nimbus: NimbusClient, tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text(PARALLEL.read_text().replace("import hashlib", "import hashlib, typer"))
    submitter = Submitter(nimbus, python=Path("/usr/bin/false"))
    with pytest.raises(MissingOnWorkers):
        submitter.submit_all([PARALLEL, broken], settings=SMALL)
    assert names(nimbus) == []


def test_what_nimbus_refuses_takes_back_the_others(nimbus: NimbusClient, tmp_path: Path) -> None:
    refused = tmp_path / "refused.py"
    refused.write_text(
        "from streamparse import Spout, Topology\n"
        "class Numbers(Spout):\n    outputs = ('n',)\n"
        "class Refused(Topology):\n"
        "    config = {'topology.workers': 'many'}\n"
        "    numbers = Numbers.spec()\n"
    )
    with pytest.raises(TopologyRejected, match="Nimbus rejects refused"):
        Submitter(nimbus).submit_all([PARALLEL, refused])
    eventually(lambda: not names(nimbus), 60.0, "the end of parallel")
