"""A local cluster's Redis server is started once, marked as the cluster's, and found again."""

from __future__ import annotations

from pathlib import Path

import pytest

from brain.cluster import processes
from brain.cluster.redis import RedisUnavailable, ensure_redis
from topologies.common.redis_store import RedisMissing, connect


@pytest.mark.redis
def test_it_is_started_once_and_ends_with_the_clusters_processes(tmp_path: Path) -> None:
    url = ensure_redis(tmp_path)
    try:
        connect(url).set("key", "kept")
        assert ensure_redis(tmp_path) == url
        assert connect(url).get("key") == "kept"
    finally:
        marked = processes.find_marked(tmp_path)
        processes.stop(list(marked), grace_secs=5.0)
    assert len(list(marked)) == 1
    another = ensure_redis(tmp_path)
    try:
        assert connect(another).get("key") is None
    finally:
        processes.stop(list(processes.find_marked(tmp_path)), grace_secs=5.0)


def test_without_the_program_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RedisUnavailable) as caught:
        ensure_redis(tmp_path)
    assert "apt-get install redis-server" in (caught.value.hint or "")


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", "127.0.0.1:6379", "redis://host:port"])
def test_a_server_that_is_not_there_is_named_with_what_to_do(url: str) -> None:
    with pytest.raises(RedisMissing) as caught:
        connect(url)
    assert url in str(caught.value)
    assert "redis-server" in str(caught.value)
    assert "redis_url" in str(caught.value)
