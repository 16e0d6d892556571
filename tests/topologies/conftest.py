"""What all tests of topologies share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_naps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sources in this process are asked when it is their turn: there is nothing to wait for."""
    monkeypatch.setattr("topologies.common.spout._LONGEST_NAP_SECONDS", 0.0)
