"""One world for all faults; each test gets it at work, and gives one row of the matrix."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from brain.cluster.local import LocalCluster
from tests.chaos import matrix
from tests.chaos.trial import Trial
from tests.chaos.world import CONF, World
from tests.harness.storm import is_even
from tests.harness.zookeeper import eventually

ROWS = pytest.StashKey[list[dict[str, object]]]()
TRIAL = pytest.StashKey[Trial]()
KEPT = Path("out/chaos")
"""Logs of the last run, for looking into a failure."""


@pytest.fixture(scope="session")
def world(cluster_state_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with LocalCluster.start("chaos", nodes=3, slots=3, nimbuses=2, storm_conf=CONF) as cluster:
        client = KazooClient(hosts=cluster.zookeeper_address)
        client.start(timeout=15)
        world = World(cluster, client, tmp_path_factory.mktemp("chaos"))
        try:
            world.start_brain()
            eventually(world.leader, 60, "a leader")
            world.start_brain()
            world.submit_counted()
            assert is_even(eventually(world.placed, 60, "an assignment"))
            eventually(world.plan_in_force, 240, "a plan in force")
            world.numbers_arrive(180)
            yield world
        finally:
            world.stop_brains()
            client.stop()
            client.close()
            shutil.rmtree(KEPT, ignore_errors=True)
            shutil.copytree(cluster.logs_dir, KEPT / "storm", ignore_dangling_symlinks=True)
            for log in world.folder.glob("*.log"):
                shutil.copy(log, KEPT)


@pytest.fixture
def trial(world: World, request: pytest.FixtureRequest) -> Trial:
    """A world with two brains, all daemons, a plan in force and tuples on their way."""
    world.two_brains()
    eventually(world.settled, 90, "all daemons to run")
    world.cluster.wait_ready()
    world.remove_newcomers()
    if not world.plan_in_force():
        # A fault has placed the topology otherwise: a fresh brain finds it and places it anew.
        world.stop_brains()
        world.two_brains()
        eventually(world.plan_in_force, 180, "a plan in force again")
    eventually(world.brain_resumed, 60, "a brain at work")
    world.numbers_arrive(180)
    fault, _, expected = (request.function.__doc__ or "").strip().partition(": ")
    variant = getattr(request.node, "callspec", None)
    if variant is not None:
        fault = fault.format(**variant.params)
    made = Trial(world, fault, " ".join(expected.split()))
    request.node.stash[TRIAL] = made
    return made


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    trial = item.stash.get(TRIAL, None)
    if trial is not None and report.when == "call":
        rows = item.config.stash.setdefault(ROWS, [])
        rows.append(trial.row(report.outcome, report.duration))


def pytest_sessionfinish(session: pytest.Session) -> None:
    rows = session.config.stash.get(ROWS, [])
    if rows:
        matrix.keep(rows)
