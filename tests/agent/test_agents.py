"""Agents as processes: they find each other, move executors through plans, and stay small."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.agent.fleet import TOPOLOGY, Fleet
from tests.harness.zookeeper import ZooKeeperServer, eventually


@pytest.fixture
def fleet(zookeeper: ZooKeeperServer, tmp_path: Path) -> Iterator[Fleet]:
    fleet = Fleet(zookeeper, tmp_path)
    try:
        yield fleet
    finally:
        fleet.close()


def places(fleet: Fleet) -> set[str]:
    return {slot[0] for slot in fleet.assignment.values()}


def test_agents_bring_a_chain_together_without_a_brain_and_keep_still_then(fleet: Fleet) -> None:
    fleet.start()
    assert fleet.live(lambda: len(fleet.live_agents()) == 4)
    assert fleet.live(lambda: bool(fleet.applied)), fleet.log("n2")
    assert fleet.live(lambda: len(places(fleet)) == 1), fleet.assignment
    assert fleet.assignment[1, 1][0] == "n1"  # pinned
    plan = fleet.store.read(TOPOLOGY)
    assert plan is not None
    assert plan.plan.algorithm == "qos-distributed"
    assert plan.plan.after.inter_node < plan.plan.before.inter_node
    moved = len(fleet.applied)
    rounds = fleet.sequence + 20
    assert fleet.live(lambda: fleet.sequence > rounds)
    assert len(fleet.applied) == moved
    kept = fleet.client.get(f"{fleet.root}/decisions/{TOPOLOGY}")[0]
    assert b'"algorithm": "qos-distributed"' in kept


def test_an_agent_is_small_and_imports_nothing_heavy(fleet: Fleet) -> None:
    fleet.start()
    assert fleet.live(lambda: bool(fleet.applied))
    for node in fleet.nodes:
        assert fleet.memory_mb(node) < 60.0
        maps = {m.path for m in psutil.Process(fleet.processes[node].pid).memory_maps()}
        for heavy in ("numpy", "scipy", "pandas", "pyarrow", "matplotlib"):
            assert not any(f"/{heavy}/" in path for path in maps), heavy


def test_a_dead_agent_leaves_the_others_to_go_on(fleet: Fleet) -> None:
    fleet.start()
    assert fleet.live(lambda: len(fleet.live_agents()) == 4)
    fleet.processes["n3"].kill()
    assert fleet.live(lambda: bool(fleet.applied))
    assert set(fleet.assignment) == set(fleet.executors)
    assert fleet.live(lambda: "n3" not in fleet.live_agents())
    moved = len(fleet.applied)
    rounds = fleet.sequence + 16
    assert fleet.live(lambda: fleet.sequence > rounds)
    assert len(fleet.applied) - moved <= 1


def test_a_late_agent_is_found_by_the_others(fleet: Fleet) -> None:
    fleet.start("n1", "n2")
    assert fleet.live(lambda: len(fleet.live_agents()) == 2)
    fleet.start("n3", "n4")
    assert fleet.live(lambda: len(fleet.live_agents()) == 4)
    assert fleet.live(lambda: len(places(fleet)) == 1)


def test_garbage_in_zookeeper_and_in_the_metric_log_ends_no_agent(fleet: Fleet) -> None:
    for node in fleet.nodes:
        folder = fleet.folder / node / TOPOLOGY
        folder.mkdir(parents=True)
        (folder / f"{node}-6700-z-0000.jsonl").write_bytes(b'{"kind": "edge"}\n\xff\xfe\n[]\n3\n')
    fleet.nimbus()
    for path, data in (
        ("agents/live/liar", b'{"address": "nowhere", "qos": [1]}'),
        (f"agents/rates/{TOPOLOGY}/liar", b'{"edges": [[1, 2, -5], [1, 2, 1e999]], "cpu": 3}'),
        (f"agents/wishes/{TOPOLOGY}/liar", b'{"base": 3, "wishes": [[1]]}'),
    ):  # fmt: skip
        fleet.client.create(f"{fleet.root}/{path}", data, makepath=True)
    fleet.start()
    assert fleet.live(lambda: bool(fleet.applied)), fleet.log("n2")
    assert all(p.poll() is None for p in fleet.processes.values())


def test_zookeeper_gone_and_back_is_survived(tmp_path: Path) -> None:
    with ZooKeeperServer() as own:
        fleet = Fleet(own, tmp_path)
        try:
            fleet.start()
            assert fleet.live(lambda: len(fleet.live_agents()) == 4)
            own.kill()
            own.start()
            eventually(lambda: fleet.client.connected, what="the test is connected again")
            assert fleet.live(lambda: bool(fleet.applied), seconds=60.0), fleet.log("n2")
            assert all(p.poll() is None for p in fleet.processes.values())
        finally:
            fleet.close()


def test_a_clock_that_jumps_about_changes_nothing(fleet: Fleet, tmp_path: Path) -> None:
    """The wall clock of two nodes leaps by days, forwards and back, at every look."""
    (tmp_path / "sitecustomize.py").write_text(
        "import itertools, time\n"
        "real, days = time.time, itertools.cycle([0, 3, -7, 40, -400])\n"
        "time.time = lambda: real() + 86400 * next(days)\n"
    )
    path = os.pathsep.join([str(tmp_path), os.getcwd()])
    fleet.start("n1", "n2", PYTHONPATH=path)
    fleet.start("n3", "n4")
    assert fleet.live(lambda: len(fleet.live_agents()) == 4), fleet.log("n1")
    assert fleet.live(lambda: len(places(fleet)) == 1), fleet.log("n2")
    moved, rounds = len(fleet.applied), fleet.sequence + 16
    assert fleet.live(lambda: fleet.sequence > rounds)
    assert len(fleet.applied) == moved
    assert set(fleet.assignment) == set(fleet.executors)


def test_a_partitioned_agent_moves_nothing_and_comes_back(fleet: Fleet) -> None:
    """It reaches ZooKeeper no more and answers nobody (it is stopped), then wakes with old news."""
    fleet.start()
    assert fleet.live(lambda: len(fleet.live_agents()) == 4)
    fleet.processes["n2"].send_signal(signal.SIGSTOP)
    assert fleet.live(lambda: len(fleet.live_agents()) == 3), "its session ends without it"
    assert fleet.live(lambda: bool(fleet.applied)), fleet.log("n1")
    assert set(fleet.assignment) == set(fleet.executors)
    fleet.processes["n2"].send_signal(signal.SIGCONT)
    assert fleet.live(lambda: len(fleet.live_agents()) == 4)
    assert fleet.live(lambda: len(places(fleet)) == 1)
    moved, rounds = len(fleet.applied), fleet.sequence + 16
    assert fleet.live(lambda: fleet.sequence > rounds)
    assert len(fleet.applied) == moved
    assert fleet.refused == 0


def test_what_is_left_of_a_topology_that_ended_is_removed_without_a_brain(fleet: Fleet) -> None:
    fleet.start()
    assert fleet.live(lambda: bool(fleet.applied)), fleet.log("n2")
    paths = [f"{fleet.root}/{area}/{TOPOLOGY}"
             for area in ("plans", "epochs", "decisions", "agents/locks", "agents/rates",
                          "agents/wishes")]  # fmt: skip
    assert all(fleet.client.exists(path) for path in paths)
    fleet.end()
    eventually(
        lambda: not [path for path in paths if fleet.client.exists(path)],
        30,
        "nothing of the topology to be left",
    )


def test_a_wrong_option_is_told_in_one_line(tmp_path: Path) -> None:
    from brain.agent.__main__ import main

    common = ["--node", "n", "--zookeeper", "127.0.0.1:1", "--metrics", str(tmp_path)]
    assert main([*common, "--listen", "here"]) != 0
    assert main([*common, "--listen", "127.0.0.1:0", "--cgroup", str(tmp_path)]) != 0
