"""Finds or starts a Redis server on the loopback interface, for local runs and tests."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from topologies.common.redis_store import RedisMissing, connect

_START_SECONDS = 20.0


class RedisServer:
    """A Redis server of our own, without persistence; ``stop`` ends it and removes its files."""

    def __init__(self, host: str = "127.0.0.1", port: int | None = None) -> None:
        program = shutil.which("redis-server")
        if program is None:
            raise RedisMissing(
                "redis-server is not on the PATH; install Debian's package redis-server, or give "
                "the address of a running server as the option redis_url"
            )
        self._directory = Path(tempfile.mkdtemp(prefix="stormbrain-redis-"))
        self.port = port or _free_port(host)
        self.url = f"redis://{host}:{self.port}/0"
        self._log = self._directory / "redis.log"
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                [program, "--bind", host, "--port", str(self.port), "--save", "",
                 "--appendonly", "no", "--dir", str(self._directory)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip
        self._wait_until_up()

    def _wait_until_up(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                connect(self.url).close()
                return
            except RedisMissing:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    told = self._log.read_text(errors="replace").strip().splitlines()[-1:]
                    self.stop()
                    raise RedisMissing(f"redis-server did not come up: {told}") from None
                time.sleep(0.05)

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self._directory, ignore_errors=True)


@contextmanager
def redis_server(url: str = "") -> Iterator[str]:
    """The address of a server: ``url`` if one answers there, else one started for the occasion."""
    if url:
        connect(url).close()
        yield url
        return
    server = RedisServer()
    try:
        yield server.url
    finally:
        server.stop()


def _free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
