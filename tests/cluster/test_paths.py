from __future__ import annotations

from pathlib import Path

import pytest

from brain.cluster.paths import cache_root, cluster_dir, state_root
from brain.errors import BadInput


def test_own_variables_win_over_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("STORMBRAIN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("STORMBRAIN_STATE", str(tmp_path / "state"))
    assert (cache_root(), state_root()) == (tmp_path / "cache", tmp_path / "state")


def test_xdg_wins_over_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("STORMBRAIN_CACHE", "STORMBRAIN_STATE", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_root() == tmp_path / "xdg" / "stormbrain"
    assert state_root() == tmp_path / "home" / ".local" / "state" / "stormbrain"


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "-x", "a" * 41, "a b"])
def test_a_cluster_name_cannot_leave_the_state_dir(name: str) -> None:
    with pytest.raises(BadInput, match="not a name for a cluster"):
        cluster_dir(name)
