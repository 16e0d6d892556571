"""Networks and topologies in one line, for the tests of the QoS scheduler."""

from __future__ import annotations

import itertools
import random

from brain.plans.plan import Executor, SlotId
from brain.qos.mape import MapeSettings
from brain.qos.simulation import World
from brain.qos.stage import Stage


def wide_area(count: int = 8, seed: int = 0) -> dict[tuple[str, str], float]:
    """Round-trip times of nodes n1 … as in the paper: each delays what it sends by 12 … 32 ms."""
    rng = random.Random(seed)
    delay = {f"n{i + 1}": rng.uniform(12.0, 32.0) for i in range(count)}
    return {(a, b): delay[a] + delay[b] for a in delay for b in delay if a < b}


def plane(count: int = 8, seed: int = 0, size: float = 100.0) -> dict[tuple[str, str], float]:
    """Round-trip times of nodes in a plane with access links: a known embedding."""
    rng = random.Random(seed)
    place = {
        f"n{i + 1}": (rng.uniform(0, size), rng.uniform(0, size), rng.uniform(1.0, 8.0))
        for i in range(count)
    }
    rtt = {}
    for a, (ax, ay, ah) in place.items():
        for b, (bx, by, bh) in place.items():
            if a < b:
                rtt[a, b] = ((ax - bx) ** 2 + (ay - by) ** 2) ** 0.5 + ah + bh
    return rtt


def tag_and_count(
    replicas: int = 1, nodes: int = 8, slots: int = 2, pinned: bool = True
) -> tuple[Stage, dict[tuple[Executor, Executor], float]]:
    """The paper's chain of five operators between two pinned ends, dealt out evenly."""
    names = ["source", "tokenise", "tag", "tally", "classify", "number", "consumer"]
    executors: dict[Executor, str] = {}
    members: dict[str, list[Executor]] = {}
    task = 1
    for name in names:
        for _ in range(1 if name in ("source", "consumer") else replicas):
            executors[task, task] = name
            members.setdefault(name, []).append((task, task))
            task += 1
    rates: dict[tuple[Executor, Executor], float] = {}
    for one, two in itertools.pairwise(names):
        share = 10.0 / len(members[one]) / len(members[two])
        rates.update({(a, b): share for a in members[one] for b in members[two]})
    places = [(f"n{i % nodes + 1}", 6700 + i // nodes) for i in range(nodes * slots)]
    assignment: dict[Executor, SlotId] = {}
    for i, e in enumerate(executors):
        assignment[e] = places[i % nodes]
    pins = {}
    if pinned:
        for name in ("source", "consumer"):
            pins[name] = frozenset({assignment[members[name][0]][0]})
    used = set(assignment.values())
    stage = Stage(
        "tag-and-count-1-1",
        executors,
        assignment,
        "hash",
        workers=nodes,
        pins=pins,
        free_slots={
            f"n{i + 1}": tuple(p for n, p in places if n == f"n{i + 1}" and (n, p) not in used)
            for i in range(nodes)
        },
        live_nodes=frozenset(f"n{i + 1}" for i in range(nodes)),
    )
    return stage, rates


def world(
    *,
    replicas: int = 1,
    coordinated: bool = True,
    seed: int = 0,
    cpu: float = 2.0,
    nodes: int = 8,
    **settings: object,
) -> World:
    stage, rates = tag_and_count(replicas, nodes)
    return World(
        rtt_ms=wide_area(nodes, seed),
        stage=stage,
        rates=rates,
        cpu=dict.fromkeys(stage.executors, cpu),
        background=dict.fromkeys(sorted(stage.live_nodes), 0.1),
        settings=MapeSettings(coordinated=coordinated, **settings),  # type: ignore[arg-type]
        seed=seed,
    )


def chain_path(stage: Stage) -> list[Executor]:
    """One executor of each component, in the order of the topology."""
    first: dict[str, Executor] = {}
    for e, component in stage.executors.items():
        first.setdefault(component, e)
    return list(first.values())
