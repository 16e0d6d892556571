"""One brain: its Thrift door, its seat in the election, and the planner thread.

Threads: the door's (one a connection) only touch the core, under the lock, and never wait for
ZooKeeper or an algorithm. The planner thread does everything slow: it computes (in the solver
process), writes plans, keeps decisions, sweeps what is gone.
"""

from __future__ import annotations

import dataclasses
import hmac
import ipaddress
import logging
import threading
import time
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException

from brain import __version__
from brain.agent.board import read_agents
from brain.config import Settings
from brain.core import BrainCore
from brain.errors import BadInput, StormbrainError
from brain.idl import PROTOCOL_VERSION, wire
from brain.monitor.snapshot import read_snapshot
from brain.plans.codec import UnreadablePlan
from brain.plans.election import Election, Leadership
from brain.plans.plan import StoredPlan
from brain.plans.store import PlanConflict, PlanStore
from brain.policy.computation import Draft, SolveTask
from brain.policy.replay import to_document
from brain.service.audit import PlanAudit
from brain.service.burst_watch import BurstWatch
from brain.service.clock import Clock
from brain.service.decision_log import DecisionLog
from brain.service.door import Door
from brain.service.inside import Inside
from brain.service.inspect import AWAY_AFTER_SECS, Inspector
from brain.service.profile_store import ProfileStore
from brain.service.solver import Solver, SolverFailed
from brain.service.status import status_of
from brain.service.tls import ServerTls, TlsFiles

log = logging.getLogger(__name__)

TICK_SECS = 0.5
AGENTS_SECS = 20.0
FIRST_PLACEMENT_SECS = 1.2
"""Of the shim's deadline (2 s by default), for topologies that are placed by their profile."""


class BrainRuntime:
    """``start`` returns when the door is open and the election runs; ``stop`` ends all threads."""

    def __init__(
        self,
        settings: Settings,
        client: KazooClient,
        state_dir: Path,
        host: str = "127.0.0.1",
        port: int = 0,
        advertise: str | None = None,
        brain_id: str | None = None,
        away_after_secs: float = AWAY_AFTER_SECS,
    ) -> None:
        self._settings = settings
        self._zk = client
        self._lock = threading.Lock()
        self._clock = Clock()
        self.core = BrainCore(settings)
        self.tls = TlsFiles.from_settings(settings)
        self.door = Door(
            self,
            host,
            port,
            settings["max.connections"],
            settings["max.frame.bytes"],
            ServerTls(self.tls) if self.tls else None,
        )
        bound_host, bound_port = self.door.address
        self.address = advertise or f"{bound_host}:{bound_port}"
        self.id = brain_id or self.address
        root = settings["zookeeper.root"]
        self.store = PlanStore(client, root)
        self.decisions = DecisionLog(state_dir, client, root)
        self.profiles = ProfileStore(client, root)
        self.election = Election(client, root, self._leader_info, self._leadership_changed)
        self._audit = PlanAudit(self.store, self.core, self._lock)
        self._solver = Solver()
        self._bursts = BurstWatch(settings["bursts.file"])
        self.inspector = Inspector(
            Inside(
                self.core, self._lock, self._clock, self.store, self.election, self.decisions,
                settings, self.id, self.address,
            ),
            away_after_secs,
        )  # fmt: skip
        self._wake = threading.Event()
        self._agents_heard = -AGENTS_SECS
        self._stopping = threading.Event()
        self._sweep: set[str] = set()
        self._inherited: list[StoredPlan] | None = None
        self._inherit = False
        self._round_done = threading.Event()
        self._planner = threading.Thread(target=self._plan_for_ever, name="planner", daemon=True)

    @property
    def token(self) -> str | None:
        """What callers must show, if anything."""
        token: str | None = self._settings["token"]
        return token

    def start(self) -> None:
        self.store.ensure_layout()
        self.door.start()
        self.election.start()
        self._planner.start()
        self.inspector.start()
        secured = "with mutual TLS" if self.tls else "without TLS"
        log.info("brain %s %s listens on %s, %s", self.id, __version__, self.address, secured)
        if not (self.tls or self.token or _is_loopback(self.door.address[0])):
            log.warning(
                "anybody who reaches %s may ask and tell this brain: set brain.scheduler.token or "
                "brain.scheduler.tls.*, or listen on loopback", self.address,
            )  # fmt: skip

    def stop(self) -> None:
        self._stopping.set()
        self._wake.set()
        self.door.stop()
        self.election.stop()
        self._solver.close()
        self.inspector.stop()
        self._planner.join(timeout=10)

    # ------------------------------------------------------------ the door's side

    def schedule(self, state: Any) -> Any:
        self._authorise(state.token)
        if state.protocol_version != PROTOCOL_VERSION:
            raise wire.UnsupportedVersion(
                PROTOCOL_VERSION,
                state.protocol_version,
                f"brain {__version__} speaks protocol {PROTOCOL_VERSION}, the plugin "
                f"{state.plugin_version or '?'} speaks {state.protocol_version}: put the brain's "
                "own storm-plugin jar into Nimbus's extlib-daemon/ and restart Nimbus",
            )
        leadership = self.election.leadership
        if leadership is None:
            raise wire.NotLeader(self._leader_address(), f"brain {self.id} does not lead")
        try:
            view = read_snapshot(state)
        except BadInput as e:
            raise wire.BadRequest(e.where, e.message) from None
        now = self._clock.now_ms()
        with self._lock:
            self._sweep.update(self.core.on_snapshot(view, now))
            if self._inherited is not None:
                self._sweep.update(self.core.adopt(self._inherited, now))
                self._inherited = None
            first_placements = self.core.awaits_first_placement()
        self._wake.set()
        if first_placements:
            self._wait_for_first_placements()
        with self._lock:
            refs = [] if self._inherit else self.core.references()
            notes = self.core.notes(now)
        return wire.ScheduleReply(
            [wire.PlanRef(r.topology_id, r.epoch, r.digest) for r in refs],
            leadership.term,
            notes,
        )

    def _wait_for_first_placements(self) -> None:
        """A topology whose traffic is known is worth a moment: later it would have to move."""
        deadline = time.monotonic() + FIRST_PLACEMENT_SECS
        while (left := deadline - time.monotonic()) > 0:
            self._round_done.clear()
            with self._lock:
                if not self.core.awaits_first_placement():
                    return
            self._round_done.wait(left)

    def report(self, report: Any) -> None:
        self._authorise(report.token)
        if report.protocol_version != PROTOCOL_VERSION:
            return
        with self._lock:
            self.core.on_report(report, self._clock.now_ms())

    def status(self, token: str) -> Any:
        self._authorise(token or None)
        leader = self._leader_address()
        with self._lock:
            return status_of(
                self.core, self.id, self.election.leadership, leader, self._clock.now_ms()
            )

    def ask(self, token: str, question: str, arguments: str) -> str:
        self._authorise(token or None)
        return self.inspector.answer(question, arguments)

    def _authorise(self, token: str | None) -> None:
        expected = self._settings["token"]
        if expected and not hmac.compare_digest(expected.encode(), (token or "").encode()):
            raise wire.Unauthorised("the token is missing or wrong: set brain.scheduler.token")

    # ------------------------------------------------------------ leadership

    def _leader_info(self) -> dict[str, str]:
        return {"id": self.id, "address": self.address, "version": __version__}

    def _leadership_changed(self, leadership: Leadership | None) -> None:
        with self._lock:
            self._inherit = leadership is not None
            self._inherited = None
        self._wake.set()

    def _leader_address(self) -> str | None:
        if self.election.leadership is not None:
            return self.address
        return self.election.known_leader

    # ------------------------------------------------------------ the planner's side

    def _plan_for_ever(self) -> None:
        threading.Thread(target=self._warm_up, name="warm-up", daemon=True).start()
        while not self._stopping.is_set():
            self._wake.wait(TICK_SECS)
            self._wake.clear()
            try:
                self._plan_once()
            except KazooException as e:
                log.warning("ZooKeeper: %s; trying again", e or type(e).__name__)
            except Exception:
                log.exception("the planner failed in this round and goes on")
            self._round_done.set()

    def _warm_up(self) -> None:
        """Beside the planner: on a busy machine the solver may take a while to be ready."""
        try:
            self._solver.start()
        except SolverFailed as e:
            log.error("%s; trying again when there is work", e.message)

    def _plan_once(self) -> None:
        leadership = self.election.leadership
        if leadership is None or self._stopping.is_set():
            return
        if self._inherit:
            inherited, profiles = self._read_all(), self.profiles.read_all()
            with self._lock:
                self._inherited, self._inherit = inherited, False
                self.core.profiles.update(profiles)
        self._sweep_gone()
        self._audit.look(leadership)
        self._hear_agents()
        bursts = self._bursts.changed()
        with self._lock:
            if bursts is not None:
                self.core.take_bursts(bursts)
            tasks = self.core.due(self._clock.now_ms())
            learnt = self.core.learnt(self._clock.now_ms())
        for task in tasks:
            self._compute(task, leadership)
        for profile in learnt:
            self.profiles.write(profile)

    def _hear_agents(self) -> None:
        """What agents, if there are any, say of their nodes: now and then."""
        if time.monotonic() - self._agents_heard < AGENTS_SECS:
            return
        self._agents_heard = time.monotonic()
        quality = read_agents(self._zk, self._settings["zookeeper.root"])
        with self._lock:
            self.core.quality = quality

    def _compute(self, task: SolveTask, leadership: Leadership) -> None:
        built = task.built
        log.info("%s: computing with %s (%s)", task.topology_id, task.algorithm, task.trigger)
        try:
            result = self._solver.solve(task.algorithm, built.problem, built.current, task.options)
        except StormbrainError as e:
            with self._lock:
                decision = self.core.on_failure(task, e.message, self._clock.now_ms())
            log.error("%s: %s", task.topology_id, e.message)
            self.decisions.append(decision)
            return
        with self._lock:
            decision, draft = self.core.on_result(task, result, self._clock.now_ms())
        log.info(
            "%s: %s (%s mode, %s, %.2f s): %s",
            task.topology_id, decision.outcome, decision.mode, decision.algorithm,
            decision.seconds, decision.reason,
        )  # fmt: skip
        decision, document = to_document(task, result, decision)
        self.decisions.append(decision)
        self.decisions.keep_inputs(decision, document)
        if draft is not None:
            self._write(draft, leadership)

    def _write(self, draft: Draft, leadership: Leadership) -> None:
        topology_id = draft.plan.topology_id
        stored = None
        try:
            plan = dataclasses.replace(
                draft.plan,
                epoch=self.store.next_epoch(topology_id),
                term=leadership.term,
                brain=self.id,
            )
            stored = self.store.write(plan, leadership.term_version, draft.area)
            log.info("%s: plan %d written to %s", topology_id, plan.epoch, draft.area)
        except PlanConflict as e:
            log.warning("%s: %s", topology_id, e.message)
        finally:
            with self._lock:
                if stored is not None and draft.area == "plans":
                    self.core.on_written(stored)
                else:
                    self.core.on_not_written(topology_id)

    def _read_all(self) -> list[StoredPlan]:
        plans = []
        for topology_id in self.store.ids():
            try:
                stored = self.store.read(topology_id)
            except UnreadablePlan as e:
                log.warning("%s: stored plan is unreadable: %s", topology_id, e.message)
                continue
            if stored is not None:
                plans.append(stored)
        return plans

    def _sweep_gone(self) -> None:
        """Removes what no longer holds: plans that were retired, all of killed topologies."""
        with self._lock:
            gone, self._sweep = self._sweep, set()
            live = set(self.core.records)
            snapshot_seen = self.core.view is not None
        for topology_id in gone & live:
            self.store.delete(topology_id)
        if gone - live and snapshot_seen:
            for topology_id in self.store.retain(live):
                self.decisions.forget(topology_id)
                log.info("%s: gone; its plans were removed", topology_id)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
