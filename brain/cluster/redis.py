"""The Redis server of a local cluster, started when a topology first needs one.

It listens on the one address that the nodes reach this machine at, keeps nothing on disk, and
carries the cluster's marker, so that it ends with the cluster.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from brain.cluster.ports import free_ports
from brain.cluster.processes import MARKER, spawn
from brain.cluster.state import LOOPBACK
from brain.errors import StormbrainError

_ADDRESS_FILE = "redis.url"
_START_SECS = 20.0


class RedisUnavailable(StormbrainError):
    """A topology needs Redis, and there is none to be had."""


def ensure_redis(directory: Path, host: str = LOOPBACK) -> str:
    """The address of the Redis server of the cluster in ``directory``, started if need be."""
    record = directory / _ADDRESS_FILE
    if record.exists():
        url = record.read_text().strip()
        if _answers(url):
            return url
    program = shutil.which("redis-server")
    if program is None:
        raise RedisUnavailable(
            "this topology keeps records in Redis, but redis-server is not on the PATH",
            "install it (apt-get install redis-server), or give the address of a running one: "
            "--set redis_url=redis://host:port/0",
        )
    [port] = free_ports(1)
    url = f"redis://{host}:{port}/0"
    # By setting its title Redis would wipe the environment that others read, and the marker in it.
    # Protected mode would refuse nodes that are network namespaces of this machine.
    command = [program, "--bind", host, "--protected-mode", "no", "--port", str(port), "--save", "",
               "--appendonly", "no", "--set-proc-title", "no", "--dir", str(directory)]  # fmt: skip
    log = directory / "logs" / "redis.out"
    process = spawn(command, {**os.environ, MARKER: str(directory)}, log, directory)
    deadline = time.monotonic() + _START_SECS
    while not _answers(url):
        if not process.alive() or time.monotonic() > deadline:
            process.signal(9)
            raise RedisUnavailable(f"redis-server did not come up on port {port}", f"see {log}")
        time.sleep(0.05)
    record.write_text(url + "\n")
    return url


def _answers(url: str) -> bool:
    import redis

    client = redis.Redis.from_url(url, socket_connect_timeout=2, socket_timeout=2)
    try:
        return bool(client.ping())
    except redis.exceptions.RedisError:
        return False
    finally:
        client.close()
