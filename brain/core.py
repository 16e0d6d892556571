"""The brain without I/O: snapshots, reports and the clock in; work, decisions and plans out.

The loop, from the runtime's side (brain/service/runtime.py)::

    on_snapshot / on_report        what Nimbus and the workers say
    due(now) → SolveTask …         which placements to compute now
    on_result(task, result)        → Decision, and a Draft if it is to be applied
    on_written(stored plan)        the plan is in ZooKeeper from now on
    references()                   what schedule() answers with
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from brain.config import Settings, TopologySettings
from brain.model import Options, Result
from brain.monitor.forecast import Seasons
from brain.monitor.machines import MachineLoad, Machines
from brain.monitor.snapshot import ClusterView, TopologyView
from brain.monitor.traffic import Rates, TaskRates, TopologyTraffic
from brain.pipeline.burst_stats import BurstFile
from brain.plans.plan import Plan, PlanRef, StoredPlan
from brain.policy.computation import Draft, SolveTask, assess
from brain.policy.decision import (
    Decision,
    Outcome,
    Trigger,
)
from brain.policy.problem_builder import LoadRates, build_problem
from brain.policy.profile import Profile, learn
from brain.policy.record import BOOTSTRAP, PlanState, TopologyRecord
from brain.policy.stability import Stability
from brain.policy.triggers import due, measured_since_ms
from brain.policy.trouble import (
    Overload,
    OverloadWatch,
    broken_constraints,
    node_loads,
    overloads,
)
from brain.qos.space import NodeQos

log = logging.getLogger(__name__)

LEARN_MS = 120_000
"""How often a running topology's profile is kept anew."""
OVERLOAD_LOOK_MS = 1000
RATES_KEPT_MS = 1000
MAX_REJECTIONS = 3
"""After so many rounds in which the shim refused a plan, it is given up."""
STORE_TROUBLES = frozenset({"unreadable", "digest", "stale-epoch", "unreachable", "topology-gone"})
"""Rejections that say that ZooKeeper does not hold the plan that the brain named."""
UNKNOWN_TOPOLOGIES = 1000
EARLY_MS = 60_000
"""Reports may come before the first snapshot names their topology (or after it was killed): so
many topologies are kept apart, for so long."""
EARLY_BYTES = 64 * 1024 * 1024
"""And no more than this of them together: whoever may report could else fill the memory."""


@dataclass
class Counters:
    snapshots: int = 0
    reports: int = 0
    refused_reports: int = 0
    decisions: int = 0
    last_snapshot_ms: int = 0


@dataclass
class BrainCore:
    """Not thread-safe: the runtime calls it under one lock. All times are ms of one clock."""

    settings: Settings
    new_id: Callable[[], str] = field(default=lambda: uuid.uuid4().hex[:12])
    view: ClusterView | None = None
    records: dict[str, TopologyRecord] = field(default_factory=dict)
    counters: Counters = field(default_factory=Counters)
    profiles: dict[str, Profile] = field(default_factory=dict)
    """By topology name: what was learnt before."""
    overload: OverloadWatch = field(default_factory=OverloadWatch)
    doubtful: set[str] = field(default_factory=set)
    """Topologies whose stored plan the shim could not make sense of: to be looked at."""
    quality: Mapping[str, NodeQos] = field(default_factory=dict)
    """What live agents say of their nodes, by supervisor id."""
    machines: Machines = field(default_factory=Machines)
    bursts: BurstFile | None = None
    _looked_ms: int = 0
    _rates_kept: dict[str, tuple[int, Rates]] = field(default_factory=dict)
    _learnt: list[Profile] = field(default_factory=list)
    _early: dict[str, TopologyTraffic] = field(default_factory=dict)

    # ------------------------------------------------------------ what comes in

    def on_snapshot(self, view: ClusterView, now_ms: int) -> list[str]:
        """Takes Nimbus's view; returns ids of topologies whose stored plan must go."""
        self.counters.snapshots += 1
        self.counters.last_snapshot_ms = now_ms
        old_nodes = set(self.view.supervisors) if self.view else set(view.supervisors)
        self.view = view
        retired = []
        gone = sorted(set(self.records) - set(view.topologies))
        for topology_id in gone:
            self._learn(self.records.pop(topology_id), now_ms)
            self._rates_kept.pop(topology_id, None)
            retired.append(topology_id)
        self._note_events(old_nodes, set(view.supervisors), gone)
        for topology_id, traffic in list(self._early.items()):
            if now_ms - (traffic.last_report_ms or 0) > EARLY_MS:
                del self._early[topology_id]
        for topology_id, topology in view.topologies.items():
            record = self.records.get(topology_id)
            if record is None:
                self.records[topology_id] = self._new_record(topology, now_ms)
                continue
            if topology.conf != record.view.conf:
                self._new_settings(record, topology)
            why = record.observe(topology, view, now_ms)
            if record.of_agents:
                # What lies in ZooKeeper is the agents' from the moment that all of it runs.
                if why or topology.fully_assigned:
                    record.retire_plan()
                continue
            if why:
                log.info("%s: plan retired: %s", topology_id, why)
                record.retire_plan()
                retired.append(topology_id)
        for r in view.rejections:
            record = self.records.get(r.topology_id)
            if record is None or record.plan is None or record.plan.plan.epoch != r.epoch:
                continue
            record.rejections += 1
            if r.code in STORE_TROUBLES:
                self.doubtful.add(r.topology_id)
            log.warning("%s: the shim refused plan %d: %s", r.topology_id, r.epoch, r.message)
            if record.rejections >= MAX_REJECTIONS and record.plan_state is PlanState.PENDING:
                log.warning("%s: plan %d given up", r.topology_id, r.epoch)
                record.retire_plan()
                retired.append(r.topology_id)
        return retired

    def on_report(self, report: Any, now_ms: int) -> bool:
        """Takes one WindowReport; False if it was a duplicate, late or of an unknown topology."""
        self.counters.reports += 1
        record = self.records.get(report.topology_id)
        traffic = record.traffic if record else self._early_traffic(report.topology_id)
        taken = traffic is not None and traffic.add(report, now_ms)
        if not taken:
            self.counters.refused_reports += 1
        else:
            self.machines.add(report, now_ms)
            if record is not None:
                record.heard(now_ms)
        return taken

    def take_bursts(self, bursts: BurstFile) -> None:
        """Takes what the pipeline found out about bursts and seasons, for all topologies."""
        self.bursts = bursts
        for record in self.records.values():
            self._tell_history(record)

    def adopt(self, plans: Iterable[StoredPlan], now_ms: int) -> list[str]:
        """Takes over the plans of an earlier leader; returns ids whose plan is not in force.

        A plan that does not run now is not put in force by a change of leader: whatever happened
        meanwhile, nothing is moved without a decision of this brain.
        """
        dropped = []
        for stored in plans:
            record = self.records.get(stored.plan.topology_id)
            if record is None or record.of_agents:
                continue
            if record.view.assignment == stored.plan.executors:
                record.plan, record.plan_state = stored, PlanState.IN_FORCE
                record.moved_ms = min(stored.plan.created_ms, now_ms)
            else:
                dropped.append(stored.plan.topology_id)
        return dropped

    # ------------------------------------------------------------ what is to be done

    def due(self, now_ms: int) -> list[SolveTask]:
        """Computations to make now; each is answered by on_result or on_failure."""
        if self.view is None:
            return []
        self._look_for_overloads(now_ms)
        tasks = []
        for record in self.records.values():
            trigger = due(record, now_ms, self._trouble(record, now_ms), self._closed(record))
            if isinstance(trigger, Trigger):
                task = self.prepare(record.view.id, trigger, now_ms)
                if task is not None:
                    record.busy, record.event = True, None
                    tasks.append(task)
        return tasks

    def prepare(self, topology_id: str, trigger: Trigger, now_ms: int) -> SolveTask | None:
        """The placement problem of a topology as measured now; None if nothing was measured.

        A topology that does not run yet is placed by its profile.
        """
        record, view = self.records[topology_id], self.view
        assert view is not None
        own = self.rates(topology_id, now_ms)
        if not record.view.assignment and record.profile is not None:
            own = record.profile.to_rates(record.view)
        if not own.measured and not record.to_bootstrap:
            return None
        if record.view.assignment:
            own = record.traffic.expected(own, now_ms, record.settings["horizon.secs"] * 1000)
        rates: dict[str, LoadRates] = {
            t: self.task_rates(t, now_ms) for t in self.records if t != topology_id
        }
        rates[topology_id] = own
        s = record.settings
        machines = self.machine_loads(now_ms)
        built = build_problem(view, topology_id, rates, self.settings, s, machines, self.quality)
        overloaded = [str(o) for o in self._overloads(record, now_ms)]
        broken = broken_constraints(built)
        if broken and trigger.kind == "gain":
            trigger = Trigger("constraint-broken", "; ".join(broken[:3]))
        return SolveTask(
            topology_id,
            trigger,
            BOOTSTRAP if record.of_agents else s["algorithm"],
            Options(s["theta.secs"], s["seed"], s["max.moves"], s["algorithm.params"]),
            built,
            s,
            own.seconds,
            record.view,
            (*overloaded, *broken),
            record.downtime_secs,
        )

    def on_result(
        self, task: SolveTask, result: Result, now_ms: int
    ) -> tuple[Decision, Draft | None]:
        """Judges a result. The draft is there if a plan is to be written."""
        decision, plan = self.assess(task, result, now_ms)
        self._finish(task.topology_id, decision, now_ms)
        if decision.outcome is not Outcome.MOVE or decision.mode == "dry-run":
            return decision, None
        if task.topology_id in self.records:
            self.records[task.topology_id].busy = True  # until it is written
        return decision, Draft(plan, "proposals" if decision.mode == "advise" else "plans")

    def assess(self, task: SolveTask, result: Result, now_ms: int) -> tuple[Decision, Plan]:
        """The decision about a result and the plan it would make; remembers nothing."""
        return assess(task, result, self.new_id(), now_ms)

    def on_failure(self, task: SolveTask, message: str, now_ms: int) -> Decision:
        """A computation that broke or ran over its time changes nothing, and is told."""
        decision = Decision(
            id=self.new_id(),
            time_ms=now_ms,
            topology_id=task.topology_id,
            topology_name=task.view.name,
            trigger=task.trigger,
            mode=task.settings["mode"],
            algorithm=task.algorithm,
            outcome=Outcome.FAILED,
            reason=message,
            observed_secs=task.observed_secs,
        )
        self._finish(task.topology_id, decision, now_ms)
        return decision

    def on_written(self, stored: StoredPlan) -> None:
        """The plan is in ZooKeeper: schedule() refers to it from now on."""
        record = self.records.get(stored.plan.topology_id)
        if record is not None:
            record.plan, record.plan_state, record.rejections = stored, PlanState.PENDING, 0
            record.busy = False

    def stored_plans(self) -> list[StoredPlan]:
        """The plans that ZooKeeper should hold."""
        return [r.plan for r in self.records.values() if r.plan is not None and not r.busy]

    def on_repaired(self, old: StoredPlan, new: StoredPlan) -> None:
        """The plan is in ZooKeeper again, unless it was replaced or retired meanwhile."""
        record = self.records.get(new.plan.topology_id)
        if record is not None and record.plan is old:
            record.plan, record.rejections = new, 0

    def on_not_written(self, topology_id: str) -> None:
        """The draft went elsewhere (a proposal) or could not be written; life goes on."""
        if topology_id in self.records:
            self.records[topology_id].busy = False

    # ------------------------------------------------------------ what is answered

    def awaits_first_placement(self) -> bool:
        """Whether a topology without assignment could be placed by its profile, and is not yet."""
        return any(
            r.plan is None
            and r.settings["mode"] == "auto"
            and (
                (r.of_agents and not r.view.fully_assigned and (r.busy or r.to_bootstrap))
                or (
                    not r.of_agents
                    and not r.view.assignment
                    and r.profile is not None
                    and (r.busy or r.computed_ms is None)
                )
            )
            for r in self.records.values()
        )

    def references(self) -> list[PlanRef]:
        """Plans that fit the latest snapshot, pending or in force.

        Outside of mode auto a plan is only ever written because an operator applied it.
        """
        if self.view is None:
            return []
        return [
            r.plan.ref
            for r in self.records.values()
            if r.plan is not None and r.settings["mode"] != "off" and r.usable(self.view)
        ]

    def notes(self, now_ms: int) -> dict[str, str]:
        """One line a topology for Storm's UI."""
        return {t: self.note(record, now_ms) for t, record in self.records.items()}

    def note(self, record: TopologyRecord, now_ms: int) -> str:
        words = []
        if record.plan is not None:
            p = record.plan.plan
            words.append(f"plan {p.epoch} by {p.algorithm} {record.plan_state}: {p.reason}")
        elif record.last_decision is not None:
            d = record.last_decision
            words.append(f"{d.outcome}: {d.reason}")
        waiting = self.waiting(record, now_ms)
        if waiting:
            words.append(waiting)
        words.extend(record.settings.errors)
        return "; ".join(words)

    def waiting(self, record: TopologyRecord, now_ms: int) -> str | None:
        """Why no placement is computed just now; None if one is due."""
        why = due(record, now_ms, closed=self._closed(record))
        return why if isinstance(why, str) else None

    def rates(self, topology_id: str, now_ms: int) -> Rates:
        """What was measured of a topology lately, since it last moved, bursts left out."""
        return _measured(self.records[topology_id], now_ms)

    def rates_lately(self, topology_id: str, now_ms: int) -> Rates:
        """``rates`` of at most a second ago: for those who ask often and need no more."""
        kept = self._rates_kept.get(topology_id)
        if kept is None or not 0 <= now_ms - kept[0] < RATES_KEPT_MS:
            kept = (now_ms, self.rates(topology_id, now_ms))
            self._rates_kept[topology_id] = kept
        return kept[1]

    def task_rates(self, topology_id: str, now_ms: int) -> TaskRates:
        """The tasks' part of ``rates``: cheap however many edges there are."""
        record = self.records[topology_id]
        return record.traffic.task_rates(
            measured_since_ms(record, now_ms), now_ms, record.settings["burst.factor"]
        )

    def machine_loads(self, now_ms: int) -> dict[str, MachineLoad]:
        """What the machines of the supervisors that there are were lately measured to do."""
        return self.machines.loads(self.view.supervisors if self.view else (), now_ms)

    def learnt(self, now_ms: int) -> list[Profile]:
        """Profiles to keep: of topologies that went, and now and then of those that run."""
        for record in self.records.values():
            if now_ms - record.learnt_ms >= LEARN_MS:
                self._learn(record, now_ms)
        learnt, self._learnt = self._learnt, []
        return learnt

    # ------------------------------------------------------------ inside

    def _finish(self, topology_id: str, decision: Decision, now_ms: int) -> None:
        self.counters.decisions += 1
        record = self.records.get(topology_id)
        if record is not None:
            record.busy = False
            record.computed_ms = now_ms
            record.last_decision = decision

    def _learn(self, record: TopologyRecord, now_ms: int) -> None:
        record.learnt_ms = now_ms
        if not record.settings["learn"]:
            return
        rates = _measured(record, now_ms)
        if rates.measured:
            profile = learn(record.view, rates, now_ms, record.stability.downtime_secs)
            self.profiles[profile.name] = profile
            self._learnt.append(profile)

    def _note_events(self, old: set[str], new: set[str], gone: list[str]) -> None:
        """What happened to the cluster is worth a look by everybody who runs on it."""
        happened = {
            "node-lost": sorted(old - new),
            "node-joined": sorted(new - old),
            "topology-killed": gone,
        }
        kinds = [kind for kind, names in happened.items() if names]
        if kinds:
            words = "; ".join(f"{kind}: {', '.join(happened[kind])}" for kind in kinds)
            for record in self.records.values():
                record.event = Trigger(kinds[0], words)

    def _new_settings(self, record: TopologyRecord, view: TopologyView) -> None:
        """`storm rebalance` may change a topology's settings while it runs."""
        old, record.settings = record.settings, self._settings_of(view)
        log.info("%s: its settings have changed", view.id)
        if any(old[k] != record.settings[k] for k in ("observe.secs", "window.secs")):
            locations = record.traffic.locations
            record.traffic = self._traffic(record.settings)  # other windows, so it starts anew
            record.traffic.locations = locations
            self._tell_history(record)

    def _settings_of(self, view: TopologyView) -> TopologySettings:
        settings = self.settings.for_topology(view.name, view.conf)
        settings = replace(settings, errors=(*settings.errors, *_strangers(settings, view)))
        for error in settings.errors:
            log.warning("%s: %s; it is passed over", view.id, error)
        return settings

    def _look_for_overloads(self, now_ms: int) -> None:
        """Once a second is enough for something that must last for many."""
        if self.view is None or now_ms - self._looked_ms < OVERLOAD_LOOK_MS:
            return
        self._looked_ms = now_ms
        loads = node_loads(self.view, {t: self.task_rates(t, now_ms) for t in self.records})
        found = overloads(self.view, loads, self.machine_loads(now_ms), self.settings)
        self.overload.update(found, now_ms)

    def _overloads(self, record: TopologyRecord, now_ms: int) -> list[Overload]:
        nodes = {slot[0] for slot in record.view.assignment.values()}
        return self.overload.lasting(nodes, record.settings["overload.secs"], now_ms)

    def _trouble(self, record: TopologyRecord, now_ms: int) -> tuple[str, ...]:
        """What is quick to see; the verifier looks at the rest when a problem is built."""
        return tuple(str(o) for o in self._overloads(record, now_ms))

    def _closed(self, record: TopologyRecord) -> tuple[str, ...]:
        """Nodes that it runs on and that Storm has blacklisted: they live, but take nobody in."""
        if self.view is None:
            return ()
        nodes = {slot[0] for slot in record.view.assignment.values()}
        return tuple(sorted(nodes & self.view.blacklisted))

    def _tell_history(self, record: TopologyRecord) -> None:
        """Seasons of the topology's streams, and how long its bursts usually are."""
        if self.bursts is None:
            return
        traffic, view = record.traffic, record.view
        histories = self.bursts.topologies.get(view.name, ())
        factors = {(h.source, h.target, h.system): h.season.factors for h in histories if h.season}
        components = {
            task: component
            for (start, end), component in view.executors.items()
            for task in range(start, end + 1)
        }
        traffic.forecast.seasons = (
            Seasons(factors, self.bursts.slice_ms, components) if factors else None
        )
        lengths = [h.bursts.mean_length_s for h in histories if h.bursts and not h.system]
        traffic.usual_burst_ms = int(1000 * max(lengths, default=0.0))

    def _new_record(self, view: TopologyView, now_ms: int) -> TopologyRecord:
        settings = self._settings_of(view)
        traffic = self._early.pop(view.id, None) or self._traffic(settings)
        known = self.profiles.get(view.name) if settings["learn"] else None
        if known is not None and not known.fits(view):
            known = None
        record = TopologyRecord(
            view,
            settings,
            traffic,
            seen_ms=now_ms,
            changed_ms=now_ms,
            profile=known,
            stability=Stability(known.downtime_secs if known else None),
            learnt_ms=now_ms,
        )
        self._tell_history(record)
        return record

    def _traffic(self, settings: TopologySettings) -> TopologyTraffic:
        return TopologyTraffic(
            settings["observe.secs"],
            self.settings["max.edges"],
            settings["window.secs"],
            self.settings["reports.per.worker.per.minute"],
        )

    def _early_traffic(self, topology_id: str) -> TopologyTraffic | None:
        if sum(traffic.nbytes for traffic in self._early.values()) > EARLY_BYTES:
            return None
        if topology_id not in self._early and len(self._early) < UNKNOWN_TOPOLOGIES:
            self._early[topology_id] = self._traffic(self.settings.for_topology("", {}))
        return self._early.get(topology_id)


def _measured(record: TopologyRecord, now_ms: int) -> Rates:
    return record.traffic.rates(
        measured_since_ms(record, now_ms), now_ms, record.settings["burst.factor"]
    )


def _strangers(settings: TopologySettings, view: TopologyView) -> list[str]:
    """Components that the settings name and the topology does not have."""
    named = {
        "pin": settings["pin"],
        "spread": settings["spread"],
        "colocate": [c for group in settings["colocate"] for c in group],
    }
    known = set(view.executors.values())
    return [
        f"{view.name}: topology.brain.{key}: there is no component {name!r}"
        for key, names in named.items()
        for name in names
        if name not in known
    ]
