"""Leader election: one ephemeral znode, and a counter that fences the deposed.

Whoever creates ``<root>/leader`` leads. Before it acts it raises ``<root>/term``; every plan is
written in a transaction that checks the term's version, so of two brains that both believe to
lead only the later one can write. On a suspended connection the brain stops acting at once and
resumes if the session survived; a lost session means a new election.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import BadVersionError, KazooException, NodeExistsError, NoNodeError

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Leadership:
    """Proof of leading: the term, and the version that a write must find."""

    term: int
    term_version: int


@dataclass(frozen=True)
class LeaderInfo:
    address: str
    id: str
    term: int
    version: str


class Election:
    """Campaigns until stopped. Thread-safe; ``leadership`` is None while another leads."""

    def __init__(
        self,
        client: KazooClient,
        root: str,
        info: Callable[[], dict[str, str]],
        on_change: Callable[[Leadership | None], None],
    ) -> None:
        """``info()`` gives id, address and version for the leader znode."""
        self._zk = client
        self._path = f"{root.rstrip('/')}/leader"
        self._term_path = f"{root.rstrip('/')}/term"
        self._info = info
        self._on_change = on_change
        self._leadership: Leadership | None = None
        self._connected = client.connected
        self.known_leader: str | None = None
        """Address of the leader as last seen, for redirects; asking ZooKeeper would be slow."""
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="election", daemon=True)

    def start(self) -> None:
        self._zk.ensure_path(self._term_path.rsplit("/", 1)[0])
        self._zk.add_listener(self._connection_changed)
        self._thread.start()

    def stop(self) -> None:
        """Resigns; a second brain takes over at once."""
        self._stopped = True
        self._wake.set()
        self._zk.remove_listener(self._connection_changed)
        self._thread.join(timeout=5)
        if self._leadership is not None:
            self._set(None)
            try:
                self._zk.delete(self._path)
            except KazooException as e:
                log.warning("could not remove the leader znode, its session will: %s", e)

    @property
    def leadership(self) -> Leadership | None:
        """None as well while the connection is suspended: whoever cannot write must not act."""
        return self._leadership if self._connected else None

    def _connection_changed(self, state: str) -> None:
        self._connected = state == KazooState.CONNECTED
        if state == KazooState.LOST:
            # kazoo's own thread must not block; the campaign thread does the work.
            log.warning("ZooKeeper session lost: leading no longer")
        self._wake.set()

    def _run(self) -> None:
        while not self._stopped:
            self._wake.clear()
            try:
                if self._connected:
                    self._campaign()
            except KazooException as e:
                log.warning("election: %s, trying again", e or type(e).__name__)
            except Exception:
                log.exception("election failed, trying again")
            self._wake.wait(timeout=5)

    def _campaign(self) -> None:
        held = self._zk.exists(self._path, watch=lambda _event: self._wake.set())
        session = self._zk.client_id[0] if self._zk.client_id else None
        if held is not None and held.ephemeralOwner == session and self._leadership:
            self._put_right(self._leadership)  # still ours
            return
        if self._leadership is not None:
            self._set(None)
        if held is not None and held.ephemeralOwner == session:
            self._zk.delete(self._path)  # ours, but of an unfinished try
        elif held is not None:
            leader = read_leader(self._zk, self._path)
            self.known_leader = leader.address if leader else None
            return
        try:
            self._zk.create(self._path, b"{}", ephemeral=True)
        except NodeExistsError:
            return
        leadership = self._raise_term()
        self._zk.set(self._path, self._words(leadership))
        self._zk.exists(self._path, watch=lambda _event: self._wake.set())
        self._set(leadership)

    def _words(self, leadership: Leadership) -> bytes:
        return json.dumps({**self._info(), "term": leadership.term}).encode()

    def _put_right(self, leadership: Leadership) -> None:
        """Nimbus finds the brain by this znode alone, so what others wrote there cannot stay."""
        words = self._words(leadership)
        if self._zk.get(self._path)[0] != words:
            log.warning("somebody overwrote %s; it says again who leads", self._path)
            self._zk.set(self._path, words)

    def _raise_term(self) -> Leadership:
        while True:
            try:
                data, stat = self._zk.get(self._term_path)
                term = (int(data) if data.isdigit() else stat.version) + 1
                stat = self._zk.set(self._term_path, str(term).encode(), version=stat.version)
                return Leadership(term, stat.version)
            except NoNodeError:
                with contextlib.suppress(NodeExistsError):
                    self._zk.create(self._term_path, b"0")
            except BadVersionError:
                continue

    def _set(self, leadership: Leadership | None) -> None:
        with self._lock:
            self._leadership = leadership
        if leadership:
            log.info("leading, term %d", leadership.term)
        else:
            log.info("leading no longer")
        self._on_change(leadership)


def read_leader(client: KazooClient, path: str) -> LeaderInfo | None:
    """Who leads, or None while nobody does (or the znode is not written yet)."""
    try:
        data = json.loads(client.get(path)[0])
        return LeaderInfo(data["address"], data["id"], int(data["term"]), data.get("version", ""))
    except (NoNodeError, ValueError, KeyError, TypeError):
        return None
