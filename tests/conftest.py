"""Fixtures for all tests. Those that need a real Storm cluster are marked ``storm``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from brain.cluster.local import LocalCluster
from brain.cluster.paths import STATE_VARIABLE


@pytest.fixture(scope="session")
def cluster_state_root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keeps the clusters of the tests apart from those of the user."""
    root = tmp_path_factory.mktemp("stormbrain-state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(STATE_VARIABLE, str(root))
        yield root


@pytest.fixture(scope="session")
def storm_cluster(cluster_state_root: Path) -> Iterator[LocalCluster]:
    """One real cluster of three nodes with two slots each, shared by all tests that need one.

    With the plugin if it has been built. A test leaves it as it was: all daemons up, and no
    topology of its own running.
    """
    with LocalCluster.start("shared", nodes=3, slots=2) as cluster:
        yield cluster
