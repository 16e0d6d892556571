"""Experiments as declared in ``benchmarks/experiments/*.yaml``; every fault is told with its path.

::

    name: payload                    # also the name of the result
    title: Payload …
    paper: fischer2015               # a key of PAPERS
    topology:
      file: topologies/payload.py    # streamparse; or java: a main class of the plugin's test jar
      options: {depth: 3}            # of the topology
      workers: 4
      conf: {}                       # Storm settings
    throughput: acked                # at spouts; or executed:COMPONENT
    latency_of: bolt-3               # optional: percentiles from this component's histograms
    cluster: {nodes: 4, slots: 2, bandwidth_mbit: 20, cpu_points: [100, 50]}   # lists go in turn
    schedulers: [default, online, {name: ras, conf: {…}}]
    cases:                           # optional; each changes the topology or the cluster
      - {name: 3 KB, options: {…}, conf: {…}, workers: 4, cluster: {…}, schedulers: [default]}
    repeats: 3
    timing: {observe: 10, settle: 5, measure: 20, cut: 2}    # seconds
    quick: {repeats: 1, cases: [3 KB], timing: {…}}          # what --quick changes
    goals:
      - {measure: wire_bytes, scheduler: auto, against: default, case: 3 KB, at_most: 0.12,
         paper_ratio: 0.12, says: "…"}
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import yaml

from brain.bench.fields import Fields
from brain.bench.schedulers import SCHEDULERS, Scheduler
from brain.bench.summary import MEASURES
from brain.errors import BadInput
from brain.testbed.spec import NodeSpec, TestbedSpec, node_ids

EXPERIMENTS_DIR = Path("benchmarks/experiments")
BASE = "base"
PAPERS = {
    "fischer2015": "Fischer & Bernstein 2015, METIS scheduler",
    "eskandari2020": "Eskandari et al. 2020, I-Scheduler",
    "aniello2013": "Aniello et al. 2013, offline and online schedulers",
    "fischer2013": "Fischer et al. 2013, KATTS",
    "storm": "Storm's own kind of topologies, in Java",
}


@dataclass(frozen=True)
class Timing:
    """Seconds."""

    observe: float = 10.0
    """Traffic under even before the brain re-places (Fischer: 60)."""
    settle: float = 5.0
    """Cut off after all tasks work where they are to be."""
    measure: float = 20.0
    cut: float = 2.0
    """Cut off before the topology is killed."""


@dataclass(frozen=True)
class ClusterShape:
    """Values that are lists go to the nodes in turn."""

    nodes: int = 4
    slots: tuple[int, ...] = (2,)
    bandwidth_mbit: tuple[float, ...] = ()
    cpu_points: tuple[float, ...] = ()
    memory_mb: tuple[float, ...] = ()

    def spec(self, name: str, mode: str, storm_conf: Mapping[str, Any]) -> TestbedSpec:
        def turn(values: tuple[float, ...], i: int) -> float | None:
            return values[i % len(values)] or None if values else None

        nodes = tuple(
            NodeSpec(
                node,
                self.slots[i % len(self.slots)],
                turn(self.bandwidth_mbit, i),
                turn(self.cpu_points, i),
                turn(self.memory_mb, i),
            )
            for i, node in enumerate(node_ids(self.nodes))
        )
        return TestbedSpec(name, nodes, mode=mode, storm_conf=storm_conf)


@dataclass(frozen=True)
class Subject:
    """The topology of a case."""

    file: str | None
    java: str | None
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    workers: int | None = None
    conf: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Case:
    name: str
    topology: Subject
    cluster: ClusterShape
    schedulers: tuple[str, ...]


@dataclass(frozen=True)
class Goal:
    """What is aimed at: a ratio of medians of two schedulers."""

    measure: str
    scheduler: str
    against: str
    case: str
    at_least: float | None = None
    at_most: float | None = None
    paper_ratio: float | None = None
    says: str = ""


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    paper: str
    schedulers: tuple[Scheduler, ...]
    cases: tuple[Case, ...]
    throughput: str = "acked"
    latency_of: str | None = None
    repeats: int = 3
    timing: Timing = Timing()
    goals: tuple[Goal, ...] = ()

    def scheduler(self, name: str) -> Scheduler:
        return next(one for one in self.schedulers if one.name == name)

    def order(self) -> list[tuple[Case, str, int]]:
        """Case, scheduler, repeat as they are run: the schedulers in turn, again and again."""
        return [
            (case, scheduler, repeat)
            for case in self.cases
            for repeat in range(self.repeats)
            for scheduler in case.schedulers
        ]

    def to_json(self) -> dict[str, Any]:
        raw = asdict(replace(self, schedulers=()))
        return {**raw, "schedulers": [one.to_json() for one in self.schedulers]}

    def digest(self) -> str:
        """Of what makes runs comparable: not of repeats, goals or the title."""
        raw = self.to_json()
        for key in ("repeats", "goals", "title", "paper", "cases"):
            raw.pop(key)
        return hashlib.sha256(json.dumps(raw, sort_keys=True).encode()).hexdigest()[:16]


def load_experiment(path: Path, quick: bool = False) -> Experiment:
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = ", ".join(sorted(p.stem for p in EXPERIMENTS_DIR.glob("*.yaml")))
        raise BadInput(str(path), "there is no such experiment", f"there are: {known}") from None
    except yaml.YAMLError as e:
        raise BadInput(str(path), f"is not YAML: {str(e).splitlines()[0]}") from e
    top = Fields(raw, str(path))
    shortened = top.child("quick")
    experiment = _read(top)
    top.done()
    return _shortened(experiment, shortened) if quick else experiment


def _read(top: Fields) -> Experiment:
    paper = top.text("paper")
    if paper not in PAPERS:
        raise top.wrong("paper", f"{paper!r} is not one of {', '.join(PAPERS)}")
    base_topology = _subject(top.child("topology"), Subject(None, None))
    base_cluster = _cluster(top.child("cluster"), ClusterShape())
    schedulers = tuple(_scheduler(one) for one in top.items("schedulers"))
    names = tuple(one.name for one in schedulers)
    if len(set(names)) != len(names) or not names:
        raise top.wrong("schedulers", "at least one, and none twice")
    base = Case(BASE, base_topology, base_cluster, names)
    cases = tuple(_case(one, base) for one in top.items("cases")) or (base,)
    if len({case.name for case in cases}) != len(cases):
        raise top.wrong("cases", "two have the same name")
    for case in cases:
        if (case.topology.file is None) == (case.topology.java is None):
            raise top.wrong("topology", "give either file or java")
    return Experiment(
        name=top.text("name"),
        title=top.text("title"),
        paper=paper,
        schedulers=schedulers,
        cases=cases,
        throughput=_throughput(top),
        latency_of=top.text("latency_of", None),
        repeats=top.count("repeats", 3),
        timing=_timing(top.child("timing"), Timing()),
        goals=tuple(_goal(one, names, cases) for one in top.items("goals")),
    )


def _throughput(top: Fields) -> str:
    text = top.text("throughput", "acked")
    assert text is not None
    if text != "acked" and not text.startswith("executed:"):
        raise top.wrong("throughput", f"{text!r} is neither acked nor executed:COMPONENT")
    return text


def _scheduler(one: Fields) -> Scheduler:
    if isinstance(one.raw, str):
        name, conf, label = one.raw, {}, one.raw
    else:
        name, conf = one.text("name"), one.mapping("conf")
        label = one.text("label", name) or name
        one.done()
    if name not in SCHEDULERS:
        raise BadInput(one.path, f"there is no {name!r}", f"choose of {', '.join(SCHEDULERS)}")
    preset = SCHEDULERS[name]
    return replace(preset, name=label, conf={**preset.conf, **conf})


def _case(one: Fields, base: Case) -> Case:
    name = one.text("name")
    topology = _subject(one, base.topology)
    cluster = _cluster(one.child("cluster"), base.cluster)
    chosen = tuple(str(item.raw) for item in one.items("schedulers")) or base.schedulers
    for scheduler in chosen:
        if scheduler not in base.schedulers:
            raise one.wrong("schedulers", f"{scheduler!r} is not among those of the experiment")
    one.done()
    return Case(name, topology, cluster, chosen)


def _subject(one: Fields, base: Subject) -> Subject:
    return Subject(
        file=one.text("file", base.file),
        java=one.text("java", base.java),
        options={**base.options, **one.mapping("options")},
        workers=one.count("workers", base.workers),
        conf={**base.conf, **one.mapping("conf")},
    )


def _cluster(one: Fields, base: ClusterShape) -> ClusterShape:
    shape = ClusterShape(
        nodes=one.count("nodes", base.nodes),
        slots=tuple(int(n) for n in one.numbers("slots", base.slots)),
        bandwidth_mbit=one.numbers("bandwidth_mbit", base.bandwidth_mbit),
        cpu_points=one.numbers("cpu_points", base.cpu_points),
        memory_mb=one.numbers("memory_mb", base.memory_mb),
    )
    one.done()
    try:
        shape.spec("check", "netns", {})
    except BadInput as e:
        raise BadInput(f"{one.path}.{e.where}", e.message.partition(": ")[2], e.hint) from e
    return shape


def _timing(one: Fields, base: Timing) -> Timing:
    values = {f.name: one.number(f.name, getattr(base, f.name)) for f in fields(Timing)}
    one.done()
    return Timing(**values)


def _goal(one: Fields, schedulers: tuple[str, ...], cases: tuple[Case, ...]) -> Goal:
    goal = Goal(
        measure=one.text("measure"),
        scheduler=one.text("scheduler"),
        against=one.text("against"),
        case=one.text("case", cases[0].name) or cases[0].name,
        at_least=one.number("at_least", None),
        at_most=one.number("at_most", None),
        paper_ratio=one.number("paper_ratio", None),
        says=one.text("says", "") or "",
    )
    one.done()
    for key, value, known in (
        ("measure", goal.measure, tuple(MEASURES)),
        ("scheduler", goal.scheduler, schedulers),
        ("against", goal.against, schedulers),
        ("case", goal.case, tuple(case.name for case in cases)),
    ):
        if value not in known:
            raise one.wrong(key, f"{value!r} is not one of {', '.join(known)}")
    if (goal.at_least is None) == (goal.at_most is None):
        raise one.wrong("at_least", "give either at_least or at_most")
    return goal


def _shortened(experiment: Experiment, quick: Fields) -> Experiment:
    cases = [str(item.raw) for item in quick.items("cases")]
    schedulers = [str(item.raw) for item in quick.items("schedulers")]
    kept = tuple(case for case in experiment.cases if not cases or case.name in cases)
    if not kept:
        raise quick.wrong("cases", "none of these is a case of the experiment")
    if schedulers:
        kept = tuple(
            replace(case, schedulers=tuple(s for s in case.schedulers if s in schedulers))
            for case in kept
        )
    timing = _timing(quick.child("timing"), replace(experiment.timing, measure=12.0))
    repeats = quick.count("repeats", 1)
    quick.done()
    return replace(experiment, cases=kept, repeats=repeats, timing=timing)
