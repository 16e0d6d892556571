"""A real ZooKeeper server for tests, on a free loopback port; it can be killed and restarted."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from kazoo.client import KazooClient

from brain.cluster.prerequisites import find_java
from brain.cluster.storm_home import ensure_storm_home


class ZooKeeperServer:
    """``with ZooKeeperServer() as zk: zk.client()``; everything is gone afterwards."""

    def __init__(self, longest_session_ms: int = 10_000) -> None:
        self._longest_session_ms = longest_session_ms
        self._dir = Path(tempfile.mkdtemp(prefix="stormbrain-zk-"))
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port: int = s.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        self._clients: list[KazooClient] = []

    @property
    def hosts(self) -> str:
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> ZooKeeperServer:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        home = ensure_storm_home(lambda _: None)
        config = self._dir / "zoo.cfg"
        config.write_text(
            f"dataDir={self._dir / 'data'}\nclientPort={self.port}\n"
            "clientPortAddress=127.0.0.1\nadmin.enableServer=false\ntickTime=500\n"
            "minSessionTimeout=1000\nmaxClientCnxns=0\n"
            f"maxSessionTimeout={self._longest_session_ms}\n"
        )
        with (self._dir / "zookeeper.out").open("ab") as out:
            self._process = subprocess.Popen(
                [
                    str(find_java()), "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                    "-Dzookeeper.forceSync=no", "-cp", f"{home / 'lib-zookeeper'}/*",
                    "org.apache.zookeeper.server.ZooKeeperServerMain", str(config),
                ],
                stdout=out, stderr=subprocess.STDOUT,
            )  # fmt: skip
        client = KazooClient(hosts=self.hosts)
        client.start(timeout=30)
        client.stop()
        client.close()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def client(self, timeout: float = 4.0) -> KazooClient:
        """A started client, closed with the server."""
        client = KazooClient(hosts=self.hosts, timeout=timeout)
        client.start(timeout=15)
        self._clients.append(client)
        return client

    def close(self) -> None:
        for client in self._clients:
            client.stop()
            client.close()
        self.kill()
        shutil.rmtree(self._dir, ignore_errors=True)


def eventually(condition, seconds: float = 20.0, what: str = "the condition"):  # type: ignore[no-untyped-def]
    """The first true value of ``condition()``; fails after ``seconds``."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"{what} did not come true within {seconds:g} s"
        time.sleep(0.05)
