"""Keeps the plans in ZooKeeper as they were written, whoever else writes there."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from brain.core import BrainCore
from brain.plans.election import Leadership
from brain.plans.store import PlanConflict, PlanStore

log = logging.getLogger(__name__)

AUDIT_SECS = 30.0
"""How often every plan is looked at; one that the shim could not make sense of, at once."""


class PlanAudit:
    """Puts plans back that somebody overwrote or removed, before anybody must rely on them."""

    def __init__(
        self,
        store: PlanStore,
        core: BrainCore,
        lock: threading.Lock,
        every_secs: float = AUDIT_SECS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._core = core
        self._lock = lock
        self._every_secs = every_secs
        self._clock = clock
        self._looked = clock()

    def look(self, leadership: Leadership) -> None:
        """Called by the planner thread while this brain leads."""
        with self._lock:
            doubtful, self._core.doubtful = self._core.doubtful, set()
            plans = self._core.stored_plans()
        if self._clock() - self._looked < self._every_secs:
            plans = [stored for stored in plans if stored.plan.topology_id in doubtful]
        else:
            self._looked = self._clock()
        for stored in plans:
            topology_id = stored.plan.topology_id
            if topology_id not in doubtful and self._store.unchanged(stored):
                continue
            try:
                repaired = self._store.repair(stored, leadership.term_version)
            except PlanConflict as e:
                log.warning("%s: %s", topology_id, e.message)
                continue
            if repaired is not None:
                log.warning(
                    "%s: somebody overwrote or removed plan %d in ZooKeeper; it was put back "
                    "(brain.scheduler.zookeeper.auth keeps others from writing)",
                    topology_id,
                    stored.plan.epoch,
                )
                with self._lock:
                    self._core.on_repaired(stored, repaired)
