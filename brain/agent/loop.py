"""The agent: one round each 30 s over the topologies that are placed by agents."""

from __future__ import annotations

import logging
import random
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import KazooException, NoAuthError

from brain.agent.board import AgentBoard, ClusterNews, StageNews
from brain.agent.qos_monitor import QosMonitor
from brain.agent.worker_monitor import WorkerMonitor
from brain.errors import StormbrainError
from brain.plans.codec import UnreadablePlan
from brain.plans.plan import Cost, Executor, Plan, SlotId
from brain.plans.store import PlanConflict
from brain.qos.mape import AdaptiveScheduler, MapeSettings, QosDecision
from brain.qos.stage import Rates

log = logging.getLogger(__name__)

ALGORITHM = "qos-distributed"
LOAD_SECS = 5.0
COMPLAIN_SECS = 600.0
PENDING_ROUNDS = 4
"""So many rounds a plan may wait for Nimbus before another may take its place."""


@dataclass
class _Pending:
    epoch: int
    since_round: int


@dataclass
class Agent:
    """``run`` returns when ``stop`` is called; nothing that fails in a round ends the agent."""

    client: KazooClient
    board: AgentBoard
    monitor: QosMonitor
    workers: WorkerMonitor
    advertise: str
    settings: MapeSettings
    round_secs: float = 30.0
    seed: int | None = None
    moves: int = 0
    decisions: int = 0
    _laid_out: bool = False
    _stop: threading.Event = field(default_factory=threading.Event)
    _pending: dict[str, _Pending] = field(default_factory=dict)
    _said: dict[str, str] = field(default_factory=dict)
    _complained: tuple[str, float] = ("", 0.0)

    def __post_init__(self) -> None:
        self.scheduler = AdaptiveScheduler(self.board.node, self.settings)
        self._random = random.Random(self.seed)

    def run(self) -> None:
        self.monitor.start()
        # Rounds of agents are not to fall together, so each begins at a moment of its own.
        next_round = time.monotonic() + self._random.uniform(0.1, 1.0) * self.round_secs
        while not self._stop.is_set():
            self.monitor.measure_load()
            try:
                if self.client.state == KazooState.CONNECTED:
                    if not self._laid_out:
                        self.board.ensure_layout()
                        self._laid_out = True
                    self.board.announce(self.advertise, self.monitor.own())
                    self.monitor.set_peers(self.board.agents())
                    if time.monotonic() >= next_round:
                        next_round = time.monotonic() + self.round_secs
                        self.round()
            except NoAuthError:
                self._complain(
                    "ZooKeeper lets this agent write nothing: give it STORMBRAIN_ZOOKEEPER_AUTH, "
                    "brain.scheduler.zookeeper.auth as the brain has it"
                )
            except (KazooException, StormbrainError) as e:
                self._complain(f"this round is lost: {e or type(e).__name__}")
            except Exception:
                log.exception("this round failed, the agent goes on")
            left = max(0.05, next_round - time.monotonic())
            self._stop.wait(min(LOAD_SECS, left))
        self.monitor.stop()

    def stop(self) -> None:
        self._stop.set()

    def _complain(self, words: str) -> None:
        """The same trouble is told once in ten minutes: it comes back every few seconds."""
        told, at = self._complained
        if words != told or time.monotonic() - at > COMPLAIN_SECS:
            self._complained = (words, time.monotonic())
            log.warning("%s", words)

    def round(self) -> None:
        """Monitor, analyse, plan and execute for each topology of agents with executors here."""
        self.scheduler.next_round()
        cluster = self.board.cluster()
        if cluster is None:
            return
        live = set(cluster.topologies)
        self.scheduler.forget(live)
        self.workers.forget(live)
        self.board.forget(live)
        self._pending = {t: p for t, p in self._pending.items() if t in live}
        for topology_id in cluster.topologies:
            news = self.board.stage(topology_id, cluster)
            if news is not None:
                self._look_after(news, cluster)

    def _look_after(self, news: StageNews, cluster: ClusterNews) -> None:
        stage = news.stage
        topology_id = stage.topology_id
        self.scheduler.observe(stage)
        if not stage.on([self.board.node]):
            return
        self.workers.read(topology_id)
        self.board.tell_rates(topology_id, self.workers.rates(topology_id).to_json())
        if news.settings.get("topology.brain.mode", "auto") not in ("auto", "dry-run"):
            return
        why = self.scheduler.waiting(stage)
        if why is not None:
            self._say(topology_id, why)
            return
        space = self.monitor.space()
        rates, cpu, worker_points = self.board.rates(topology_id, stage.executors)
        stage = replace(stage, worker_points=worker_points)
        if not rates and not stage.misplaced():
            self._say(topology_id, "no traffic measured yet")
            return
        if not self.settings.coordinated:
            decision = self.scheduler.decide_alone(stage, space, rates, cpu)
            if decision is not None:
                self._execute(news, decision, rates)
            return
        wishes = self.scheduler.wishes(stage, space, rates, cpu)
        self.board.tell_wishes(topology_id, stage.base, wishes)
        if not wishes:
            self._say(topology_id, "nothing here would be better elsewhere")
            return
        with self.board.locked(topology_id) as mine:
            if not mine:
                self._say(topology_id, "another agent decides just now")
                return
            fresh = self.board.stage(topology_id, cluster)
            if fresh is None or fresh.stage.base != stage.base or self._waits(fresh):
                return
            known = self.board.wishes(topology_id, stage.base)
            decision = self.scheduler.compose(stage, space, rates, cpu, known)
            if decision is None:
                self._say(topology_id, f"{len(wishes)} wishes, but together they gain too little")
                return
            self._execute(news, decision, rates)

    def _waits(self, news: StageNews) -> bool:
        """Whether a plan for this very assignment waits for Nimbus already."""
        topology_id = news.stage.topology_id
        try:
            stored = self.board.plans.read(topology_id)
        except UnreadablePlan:
            return False
        if stored is None or stored.plan.based_on != news.stage.base:
            return False
        if news.rejected_epoch == stored.plan.epoch:
            return False
        pending = self._pending.get(topology_id)
        if pending is None or pending.epoch != stored.plan.epoch:
            self._pending[topology_id] = _Pending(stored.plan.epoch, self.scheduler.round)
            return True
        return self.scheduler.round - pending.since_round < PENDING_ROUNDS

    def _execute(self, news: StageNews, decision: QosDecision, rates: Rates) -> None:
        stage = news.stage
        topology_id = stage.topology_id
        dry = news.settings.get("topology.brain.mode") == "dry-run"
        record = self._record(news, decision, dry)
        if dry:
            self._say(topology_id, f"dry run: {decision.reason}")
            self.board.keep_decision(topology_id, record)
            return
        plan = Plan(
            topology_id=topology_id,
            epoch=self.board.plans.next_epoch(topology_id),
            executor_hash=stage.executor_hash,
            algorithm=ALGORITHM,
            before=_traffic(rates, stage.assignment),
            after=_traffic(rates, decision.placement),
            reason=f"agent {self.board.node}: {decision.reason}",
            executors=decision.placement,
            created_ms=int(time.time() * 1000),
            brain=f"agent {self.board.node}",
            decision_id=str(record["id"]),
            based_on=decision.base,
        )
        try:
            self.board.plans.write(plan)
        except PlanConflict as e:
            log.info("%s: %s", topology_id, e.message)
            return
        self.decisions += 1
        self.moves += len(decision.moved)
        log.info("%s: plan %d written: %s", topology_id, plan.epoch, decision.reason)
        self._said.pop(topology_id, None)
        self._pending[topology_id] = _Pending(plan.epoch, self.scheduler.round)
        self.board.keep_decision(topology_id, record)

    def _record(self, news: StageNews, decision: QosDecision, dry: bool) -> dict[str, Any]:
        """In the form of the brain's decisions."""
        stage = news.stage
        return {
            "id": uuid.uuid4().hex[:12],
            "time_ms": int(time.time() * 1000),
            "topology_id": stage.topology_id,
            "topology_name": news.name,
            "trigger": {"kind": "agent", "detail": f"round of {self.board.node}"},
            "mode": "dry-run" if dry else "auto",
            "algorithm": ALGORITHM,
            "outcome": "move",
            "reason": decision.reason,
            "before": None,
            "after": None,
            "moves": [
                {
                    "executor": f"{e[0]}-{e[1]}",
                    "component": stage.executors[e],
                    "from_slot": _slot_name(stage.assignment.get(e)),
                    "to_slot": _slot_name(decision.placement[e]),
                }
                for e in decision.moved
            ],
            "restarts": [],
            "seconds": 0.0,
            "observed_secs": 0.0,
            "details": {},
            "gain_percent": None,
        }

    def _say(self, topology_id: str, words: str) -> None:
        """Once, when it changes."""
        if self._said.get(topology_id) != words:
            self._said[topology_id] = words
            log.info("%s: %s", topology_id, words)


def _traffic(rates: Rates, assignment: Mapping[Executor, SlotId]) -> Cost:
    between = within = 0.0
    for (a, b), rate in rates.items():
        one, two = assignment.get(a), assignment.get(b)
        if one is None or two is None or one == two:
            continue
        if one[0] != two[0]:
            between += rate
        else:
            within += rate
    return Cost(between, within)


def _slot_name(slot: SlotId | None) -> str | None:
    return None if slot is None else f"{slot[0]}:{slot[1]}"
