"""Fixtures for all tests. Those that need a real Storm cluster are marked ``storm``."""

from __future__ import annotations

import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from brain.cluster.local import LocalCluster
from brain.cluster.paths import STATE_VARIABLE

NEEDED = {"browser": "chromium", "redis": "redis-server"}
"""Markers of tests that need a program which a fresh machine may lack, and the program."""


def pytest_configure(config: pytest.Config) -> None:
    """A run that is told to end (``timeout``, CI) ends like an interrupted one: cleanly."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what this machine cannot run, and says so; .ci/run installs both programs."""
    for marker, program in NEEDED.items():
        if shutil.which(program) is None:
            left_out = [item for item in items if marker in item.keywords]
            items[:] = [item for item in items if marker not in item.keywords]
            if left_out:
                config.hook.pytest_deselected(items=left_out)
                print(f"\n{program} is missing (apt-get install {program}): "
                      f"{len(left_out)} tests are left out", file=sys.stderr)  # fmt: skip


@pytest.fixture(scope="session")
def cluster_state_root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keeps the clusters of the tests apart from those of the user."""
    root = tmp_path_factory.mktemp("stormbrain-state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(STATE_VARIABLE, str(root))
        yield root


@pytest.fixture(autouse=True)
def _supervised(request: pytest.FixtureRequest) -> None:
    """Starts what an earlier test has left dead of the shared cluster, as its operator would."""
    if "storm_cluster" in request.fixturenames:
        cluster: LocalCluster = request.getfixturevalue("storm_cluster")
        dead = [d.name for d in cluster.daemons() if not d.running]
        for name in dead:
            cluster.start_daemon(name)
        if dead:
            cluster.wait_ready()


@pytest.fixture(scope="session")
def storm_cluster(cluster_state_root: Path) -> Iterator[LocalCluster]:
    """One real cluster of three nodes with two slots each, shared by all tests that need one.

    With the plugin if it has been built. A test leaves it as it was: all daemons up, and no
    topology of its own running.
    """
    with LocalCluster.start("shared", nodes=3, slots=2) as cluster:
        yield cluster
