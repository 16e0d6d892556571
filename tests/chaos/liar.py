"""A brain that leads and lies: its plans are wrong in every way that the shim must notice.

With ``sure`` its plans are feasible, but it has been deposed and does not know: it must not be
able to write.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException

from brain.idl import wire
from brain.plans.codec import encode
from brain.plans.election import Election, Leadership
from brain.plans.plan import Plan, StoredPlan
from brain.plans.store import PlanConflict, PlanStore
from brain.service.door import Door

LIES = ("dead node", "dead port", "executor missing", "executor unknown", "wrong executor set",
        "wrong digest", "wrong epoch", "no such topology", "garbage")  # fmt: skip


class Liar:
    """Serves a real Thrift door and writes to the real store, as a brain does."""

    def __init__(self, zookeeper: str, stored: StoredPlan, sure: bool = False) -> None:
        self._zookeeper = zookeeper
        self._client = KazooClient(hosts=zookeeper, timeout=6)
        self._stored = stored
        self._sure = sure
        self._held: Leadership | None = None
        self.asked = self.written = self.conflicts = 0
        self.rejected: dict[str, str] = {}
        self._told: dict[int, str] = {}
        self._door = Door(self, "127.0.0.1", 0, 64, 1 << 24)
        self.address = "{}:{}".format(*self._door.address)

    def __enter__(self) -> Liar:
        self._client.start(timeout=15)
        self.store = PlanStore(self._client)
        self._door.start()
        self.election = Election(
            self._client,
            "/stormbrain",
            lambda: {"id": "liar", "address": self.address, "version": "0"},
            self._changed,
        )
        self.election.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._door.stop()
        self.election.stop()
        self._client.stop()
        self._client.close()

    def _changed(self, leadership: Leadership | None) -> None:
        if leadership is not None:
            self._held = self._held or leadership  # of a later term it would not be deposed

    def expire_session(self) -> None:
        """Ends its campaign and its session, as ZooKeeper would; it goes on as if it led."""
        self.election._stopped = True
        thief = KazooClient(hosts=self._zookeeper, client_id=self._client.client_id)
        thief.start(timeout=10)
        thief.stop()
        thief.close()

    def put_back(self) -> None:
        """The znode as it was: what the lies did to it is not what is tested afterwards."""
        self._client.set(
            f"/stormbrain/plans/{self._stored.plan.topology_id}", encode(self._stored.plan).head
        )

    # --- what Nimbus calls

    def schedule(self, state: Any) -> Any:
        self.asked += 1
        for r in state.rejections or ():
            lie = self._told.get(r.epoch)
            if lie is not None:
                self.rejected[lie] = f"{r.code}: {r.message}"
        term = self._held.term if self._held else 0
        if self._sure:
            return wire.ScheduleReply([self._overreach()], term)
        lie = next((lie for lie in LIES if lie not in self.rejected), LIES[0])
        return wire.ScheduleReply([self._tell(lie)], term)

    def report(self, report: Any) -> None:
        return

    def status(self, token: str) -> Any:
        return wire.BrainStatus(1, "liar", "0", True, self.address, 1, [])

    # --- the lies

    def _overreach(self) -> Any:
        """A feasible plan that would move everything, written with a term that is over."""
        plan = self._stored.plan
        swapped = dict(zip(plan.executors, reversed(plan.executors.values()), strict=True))
        as_it_was = wire.PlanRef(plan.topology_id, plan.epoch, self._stored.digest)
        try:
            if not self.deposed:
                return as_it_was
            epoch = self.store.next_epoch(plan.topology_id)
        except KazooException:
            return as_it_was  # just now its session is taken; a failed call would lose it Nimbus
        forged = dataclasses.replace(plan, epoch=epoch, executors=swapped)
        try:
            stored = self.store.write(forged, self._held.term_version)
            self.written += 1
        except PlanConflict:
            self.conflicts += 1
            return wire.PlanRef(plan.topology_id, epoch, encode(forged).digest)
        return wire.PlanRef(plan.topology_id, stored.plan.epoch, stored.digest)

    @property
    def deposed(self) -> bool:
        term = self._client.get("/stormbrain/term")[0]
        return self._held is not None and int(term) > self._held.term

    def _tell(self, lie: str) -> Any:
        plan = self._stored.plan
        epoch = self.store.next_epoch(plan.topology_id)
        self._told[epoch] = lie
        if lie == "no such topology":
            return wire.PlanRef("stranger-9-9", epoch, "0" * 64)
        if lie == "garbage":
            self._client.set(f"/stormbrain/plans/{plan.topology_id}", b"SBPL\x01\x00garbage")
            return wire.PlanRef(plan.topology_id, epoch, "0" * 64)
        forged = dataclasses.replace(self._forge(plan, lie), epoch=epoch)
        stored = self.store.write(forged)
        digest = "f" * 64 if lie == "wrong digest" else stored.digest
        if lie == "wrong epoch":
            self._told[epoch + 1_000_000] = lie
            return wire.PlanRef(plan.topology_id, epoch + 1_000_000, digest)
        return wire.PlanRef(plan.topology_id, epoch, digest)

    def _forge(self, plan: Plan, lie: str) -> Plan:
        executors = dict(plan.executors)
        first = min(executors)
        if lie == "dead node":
            executors[first] = ("node-99", 6700)
        elif lie == "dead port":
            executors[first] = (executors[first][0], 1)
        elif lie == "executor missing":
            del executors[first]
        elif lie == "executor unknown":
            executors[999, 999] = executors[first]
        elif lie == "wrong executor set":
            return dataclasses.replace(plan, executor_hash="0" * 64)
        return dataclasses.replace(plan, executors=executors)
