"""Decisions are kept: all on disk (rolled), the latest per topology in ZooKeeper."""

from __future__ import annotations

import gzip
import json
import logging
import threading
from collections import deque
from collections.abc import Mapping
from pathlib import Path

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError

from brain.policy.decision import Decision

log = logging.getLogger(__name__)

KEPT_IN_ZOOKEEPER = 20
KEPT_IN_MEMORY = 50
MAX_FILE_BYTES = 32 * 1024 * 1024
MAX_MOVES_IN_ZOOKEEPER = 200
KEPT_FILES = 200
"""Decision files with their whole problem, for `stormbrain replay`."""


class DecisionLog:
    def __init__(self, directory: Path, client: KazooClient, root: str) -> None:
        self._file = directory / "decisions.jsonl"
        self._folder = directory / "decisions"
        self._zk = client
        self._root = f"{root.rstrip('/')}/decisions"
        self._recent: dict[str, deque[dict[str, object]]] = {}
        self._recalled: set[str] = set()
        self._lock = threading.Lock()

    def append(self, decision: Decision) -> None:
        """Never raises: a full disk or an absent ZooKeeper must not stop the loop."""
        record = decision.to_json()
        self._remember(decision.topology_id, [record])
        try:
            if self._file.exists() and self._file.stat().st_size > MAX_FILE_BYTES:
                self._file.replace(self._file.with_suffix(".1.jsonl"))
            with self._file.open("a", encoding="utf-8") as f:
                f.write(json.dumps(record, default=str) + "\n")
        except OSError as e:
            log.warning("%s: decision not written to disk: %s", decision.topology_id, e)
        try:
            self._append_to_zookeeper(decision.topology_id, record)
        except KazooException as e:
            log.warning("%s: decision not kept in ZooKeeper: %s", decision.topology_id, e)

    def keep_inputs(self, decision: Decision, document: Mapping[str, object]) -> None:
        """Writes what the decision was made from, for `stormbrain replay`; never raises."""
        name = f"{decision.time_ms}-{decision.topology_name}-{decision.id}.json.gz"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            aside = self._folder / f".{decision.id}.part"
            aside.write_bytes(gzip.compress(json.dumps(document, default=str).encode(), 5))
            aside.replace(self._folder / name)
            for old in sorted(self._folder.glob("*.json.gz"))[:-KEPT_FILES]:
                old.unlink(missing_ok=True)
        except OSError as e:
            log.warning("%s: decision file not written: %s", decision.topology_id, e)

    def recent(self, topology_id: str) -> list[dict[str, object]]:
        """The latest decisions of a topology from memory, oldest first; never waits."""
        with self._lock:
            return list(self._recent.get(topology_id, ()))

    def recall(self, topology_id: str) -> None:
        """Brings back, once, what an earlier leader decided; asks ZooKeeper."""
        if topology_id in self._recalled:
            return
        try:
            earlier = read_decisions(self._zk, self._root, topology_id)
        except KazooException as e:
            log.warning("%s: earlier decisions not read: %s", topology_id, e)
            return
        self._recalled.add(topology_id)
        self._remember(topology_id, earlier, earlier=True)

    def _remember(
        self, topology_id: str, records: list[dict[str, object]], earlier: bool = False
    ) -> None:
        with self._lock:
            kept = self._recent.setdefault(topology_id, deque(maxlen=KEPT_IN_MEMORY))
            known = {r.get("id") for r in kept} if earlier else set()
            new = [r for r in records if r.get("id") not in known]
            self._recent[topology_id] = deque(
                [*new, *kept] if earlier else [*kept, *new], maxlen=KEPT_IN_MEMORY
            )

    def forget(self, topology_id: str) -> None:
        with self._lock:
            self._recent.pop(topology_id, None)
            self._recalled.discard(topology_id)
        try:
            self._zk.delete(f"{self._root}/{topology_id}")
        except NoNodeError:
            pass
        except KazooException as e:
            log.warning("%s: decisions not removed from ZooKeeper: %s", topology_id, e)

    def _append_to_zookeeper(self, topology_id: str, record: dict[str, object]) -> None:
        path = f"{self._root}/{topology_id}"
        brief = {**record, "details": {}}
        moves = record.get("moves")
        if isinstance(moves, list | tuple) and len(moves) > MAX_MOVES_IN_ZOOKEEPER:
            brief["moves"] = list(moves[:MAX_MOVES_IN_ZOOKEEPER])
            brief["moves_left_out"] = len(moves) - MAX_MOVES_IN_ZOOKEEPER
        kept = _with(read_decisions(self._zk, self._root, topology_id), brief)
        data = json.dumps(kept, default=str).encode()
        while len(data) > 512 * 1024 and len(kept) > 1:
            kept = kept[1:]
            data = json.dumps(kept, default=str).encode()
        if self._zk.exists(path):
            self._zk.set(path, data)
        else:
            self._zk.create(path, data, makepath=True)


def _with(kept: list[dict[str, object]], new: dict[str, object]) -> list[dict[str, object]]:
    """The latest decisions and a new one. One that only repeats the last takes its place, so that
    an hour without news does not push out what led to it."""
    last = kept[-1] if kept else {}
    if new["outcome"] == "stay" and all(
        last.get(k) == new[k] for k in ("outcome", "reason", "algorithm", "mode")
    ):
        again = last.get("repeated")
        new = {**new, "repeated": (again if isinstance(again, int) else 0) + 1}
        kept = kept[:-1]
    return [*kept, new][-KEPT_IN_ZOOKEEPER:]


def read_decisions(client: KazooClient, path: str, topology_id: str) -> list[dict[str, object]]:
    """The latest decisions of a topology, oldest first; none if there are none."""
    try:
        kept = json.loads(client.get(f"{path}/{topology_id}")[0])
    except (NoNodeError, ValueError):
        return []
    return kept if isinstance(kept, list) else []
