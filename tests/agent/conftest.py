from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness.zookeeper import ZooKeeperServer


@pytest.fixture(scope="session")
def zookeeper() -> Iterator[ZooKeeperServer]:
    with ZooKeeperServer() as server:
        yield server
