from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness.zookeeper import ZooKeeperServer


@pytest.fixture(scope="session")
def zookeeper() -> Iterator[ZooKeeperServer]:
    # Agents that are dead are to be missed soon.
    with ZooKeeperServer(longest_session_ms=4_000) as server:
        yield server
