from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness.feed import FedBrain
from tests.harness.zookeeper import ZooKeeperServer


@pytest.fixture(scope="session")
def zookeeper() -> Iterator[ZooKeeperServer]:
    with ZooKeeperServer() as server:
        yield server


@pytest.fixture(scope="module")
def fed(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FedBrain]:
    """A brain that has measured a topology of nine executors, all lines crossing nodes."""
    fed = FedBrain(zookeeper, tmp_path_factory.mktemp("brain")).start()
    try:
        fed.until_measured()
        yield fed
    finally:
        fed.stop()
