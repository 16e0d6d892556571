"""The Redis server that some benchmarks keep their records in."""

from __future__ import annotations

from typing import Any

DEFAULT_URL = "redis://127.0.0.1:6379/0"
KEY_SECONDS = 86_400
"""Keys of a run vanish after a day, should nobody delete them."""


class RedisMissing(RuntimeError):
    """No Redis server answers; says how to get one."""


def connect(url: str) -> Any:
    """A client of the server at ``url``; raises ``RedisMissing`` if nobody answers there."""
    import redis

    url = url or DEFAULT_URL
    try:
        client = redis.Redis.from_url(url, decode_responses=True, socket_connect_timeout=5)
        client.ping()
    except (redis.exceptions.RedisError, ValueError) as problem:
        raise RedisMissing(
            f"no Redis server answers at {url} ({problem}); start one (redis-server, from Debian's "
            "package of that name) and give its address as the option redis_url"
        ) from problem
    return client
