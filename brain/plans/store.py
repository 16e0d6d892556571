"""The plan store on ZooKeeper.

Layout under the root (default ``/stormbrain``)::

    leader                 ephemeral: who leads (election.py)
    term                   counter: one more with each leader
    plans/<topology-id>    the plan in force
    proposals/<topology-id>  a plan that waits for `stormbrain apply`
    chunks/<digest>/NNNN   the parts of a plan too large for one znode
    epochs/<topology-id>   highest epoch ever given out for this id

A write is one transaction that also checks the term, so a brain that has been deposed without
noticing cannot write, and compare-and-set on the plan's version, so two writers cannot mix.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from kazoo.client import KazooClient
from kazoo.exceptions import (
    BadVersionError,
    KazooException,
    NodeExistsError,
    NoNodeError,
)

from brain.errors import StormbrainError
from brain.plans.codec import ZNODE_BYTES, UnreadablePlan, decode, encode, manifest_of
from brain.plans.ownership import take_ownership
from brain.plans.plan import Plan, StoredPlan


class PlanConflict(StormbrainError):
    """Somebody else wrote meanwhile, or this brain leads no longer. Nothing was written."""


class PlanStore:
    """Reads and writes plans; ``area`` is ``plans`` or ``proposals``."""

    def __init__(
        self, client: KazooClient, root: str = "/stormbrain", znode_bytes: int = ZNODE_BYTES
    ) -> None:
        self._zk = client
        self._root = root.rstrip("/")
        self._znode_bytes = znode_bytes

    def ensure_layout(self) -> None:
        for name in ("plans", "proposals", "chunks", "epochs", "decisions", "profiles"):
            self._zk.ensure_path(f"{self._root}/{name}")
        take_ownership(self._zk, self._root)

    def read(self, topology_id: str, area: str = "plans") -> StoredPlan | None:
        """The plan, None if there is none; UnreadablePlan if the znode holds something else."""
        try:
            head, stat = self._zk.get(self._path(area, topology_id))
        except NoNodeError:
            return None
        plan, digest = decode(head, self._chunk)
        return StoredPlan(plan, digest, stat.version)

    def ids(self, area: str = "plans") -> list[str]:
        """Topology ids that have a plan."""
        try:
            return sorted(self._zk.get_children(f"{self._root}/{area}"))
        except NoNodeError:
            return []

    def next_epoch(self, topology_id: str) -> int:
        """A number higher than any given out for this topology id, also by other brains."""
        path = self._path("epochs", topology_id)
        while True:
            try:
                data, stat = self._zk.get(path)
            except NoNodeError:
                try:
                    self._zk.create(path, b"1", makepath=True)
                except NodeExistsError:
                    continue
                return 1
            epoch = (int(data) if data.isdigit() else stat.version) + 1
            try:
                self._zk.set(path, str(epoch).encode(), version=stat.version)
            except BadVersionError:
                continue
            return epoch

    def write(self, plan: Plan, term_version: int | None = None, area: str = "plans") -> StoredPlan:
        """Writes the plan if its epoch is newer than the stored one and this brain still leads.

        ``term_version`` is the version of the term znode while the writer leads (None: unchecked,
        for `stormbrain apply`). Raises PlanConflict otherwise; then nothing was written.
        """
        encoded = encode(plan, self._znode_bytes)
        path = self._path(area, plan.topology_id)
        version, old_digest = self._current(path, plan)
        for i, chunk in enumerate(encoded.chunks):
            self._put_chunk(encoded.digest, i, chunk)
        tx = self._zk.transaction()
        if term_version is not None:
            tx.check(f"{self._root}/term", term_version)
        if version is None:
            tx.create(path, encoded.head)
        else:
            tx.set_data(path, encoded.head, version=version)
        results = tx.commit()
        if any(isinstance(r, Exception) for r in results):
            if encoded.chunks and encoded.digest != old_digest:
                self._drop_chunks(encoded.digest)
            raise PlanConflict(
                f"plan {plan.epoch} of {plan.topology_id} was not written: "
                "another brain leads or wrote first"
            )
        if old_digest and old_digest != encoded.digest:
            self._drop_chunks(old_digest)
        return StoredPlan(plan, encoded.digest, 0 if version is None else version + 1)

    def repair(self, stored: StoredPlan, term_version: int) -> StoredPlan | None:
        """Puts a plan back whose znode was overwritten or removed by somebody else.

        None if there is nothing to repair: the znode holds the plan, or a newer one. Raises
        PlanConflict if this brain leads no longer.
        """
        plan, path = stored.plan, self._path("plans", stored.plan.topology_id)
        version: int | None = None
        try:
            head, stat = self._zk.get(path)
            version = stat.version
            found, digest = decode(head, self._chunk)
            ours = digest == stored.digest
            if found.topology_id == plan.topology_id and (ours or found.epoch > plan.epoch):
                return None
        except (NoNodeError, UnreadablePlan):
            pass  # just that is to be repaired
        encoded = encode(plan, self._znode_bytes)
        for i, chunk in enumerate(encoded.chunks):
            self._put_chunk(encoded.digest, i, chunk)
        tx = self._zk.transaction()
        tx.check(f"{self._root}/term", term_version)
        if version is None:
            tx.create(path, encoded.head)
        else:
            tx.set_data(path, encoded.head, version=version)
        if any(isinstance(r, Exception) for r in tx.commit()):
            raise PlanConflict(f"plan {plan.epoch} of {plan.topology_id} was not put back")
        return StoredPlan(plan, encoded.digest, 0 if version is None else version + 1)

    def unchanged(self, stored: StoredPlan) -> bool:
        """Whether nobody has written to the plan's znode since; one cheap look."""
        stat = self._zk.exists(self._path("plans", stored.plan.topology_id))
        return stat is not None and bool(stat.version == stored.version)

    def delete(self, topology_id: str, area: str = "plans") -> bool:
        """Removes a plan and its chunks; whether there was one."""
        path = self._path(area, topology_id)
        try:
            head, stat = self._zk.get(path)
            self._zk.delete(path, version=stat.version)
        except (NoNodeError, BadVersionError):
            return False
        digest = _chunk_digest(head)
        if digest:
            self._drop_chunks(digest)
        return True

    def retain(self, live: Iterable[str]) -> list[str]:
        """Removes plans, proposals and epochs of topologies that are gone; returns their ids."""
        keep = set(live)
        gone = {t for area in ("plans", "proposals", "epochs") for t in self.ids(area)} - keep
        for topology_id in sorted(gone):
            self.forget(topology_id)
        self._sweep_chunks()
        return sorted(gone)

    def forget(self, topology_id: str) -> None:
        """Removes what there is of one topology that is gone: ids never come back."""
        self.delete(topology_id)
        self.delete(topology_id, "proposals")
        with contextlib.suppress(NoNodeError):
            self._zk.delete(self._path("epochs", topology_id))

    def _sweep_chunks(self) -> None:
        """Removes chunks that no manifest names: what an interrupted write left behind."""
        chunked = self.ids("chunks")
        if not chunked:
            return
        heads = (
            self._zk.get(self._path(area, topology_id))[0]
            for area in ("plans", "proposals")
            for topology_id in self.ids(area)
        )
        named = {_chunk_digest(head) for head in heads}
        for digest in chunked:
            if digest not in named:
                self._drop_chunks(digest)

    def _current(self, path: str, plan: Plan) -> tuple[int | None, str | None]:
        """Version of the znode (None: not there) and the digest of its chunks, if it has any."""
        try:
            head, stat = self._zk.get(path)
        except NoNodeError:
            return None, None
        try:
            stored, _ = decode(head, self._chunk)
        except UnreadablePlan:
            return stat.version, _chunk_digest(head)  # garbage is overwritten
        if stored.epoch >= plan.epoch:
            raise PlanConflict(
                f"plan {plan.epoch} of {plan.topology_id} is not newer than the stored "
                f"{stored.epoch}"
            )
        return stat.version, _chunk_digest(head)

    def _path(self, area: str, topology_id: str) -> str:
        if not topology_id or "/" in topology_id or topology_id in (".", ".."):
            raise StormbrainError(f"not a topology id: {topology_id!r}")
        return f"{self._root}/{area}/{topology_id}"

    def _chunk(self, digest: str, index: int) -> bytes:
        try:
            data: bytes = self._zk.get(f"{self._root}/chunks/{digest}/{index:04d}")[0]
        except (NoNodeError, ValueError) as e:
            raise UnreadablePlan(f"chunk {index} of {digest[:12]} is missing") from e
        return data

    def _put_chunk(self, digest: str, index: int, chunk: bytes) -> None:
        path = f"{self._root}/chunks/{digest}/{index:04d}"
        try:
            self._zk.create(path, chunk, makepath=True)
        except NodeExistsError:
            self._zk.set(path, chunk)

    def _drop_chunks(self, digest: str) -> None:
        with contextlib.suppress(KazooException):  # left behind at worst: retain() sweeps
            self._zk.delete(f"{self._root}/chunks/{digest}", recursive=True)


def _chunk_digest(head: bytes) -> str | None:
    try:
        manifest = manifest_of(head)
    except UnreadablePlan:
        return None
    return None if manifest is None else str(manifest.digest)
