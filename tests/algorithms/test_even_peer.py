"""``even`` against Storm's real EvenScheduler and DefaultScheduler, on hundreds of random clusters.

The Java side is ``io.stormbrain.peer.EvenSchedulerPeer`` in storm-plugin's test sources, compiled
here against Storm's own jars.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from brain.algorithms import even
from brain.model import UNPLACED, Node, Options, Placement, Problem
from tests.algorithms.clusters import topology, union

PLUGIN = Path(__file__).parents[2] / "storm-plugin"
PEER = PLUGIN / "src/test/java/io/stormbrain/peer/EvenSchedulerPeer.java"
CLUSTERS = 250
pytestmark = pytest.mark.timeout(900)  # a busy machine takes minutes to start a JVM


@pytest.fixture(scope="module")
def storm_classpath() -> str:
    listed = PLUGIN / "target/test-classpath.txt"
    jars = listed.read_text().strip().split(":") if listed.exists() else []
    if not jars or not all(Path(jar).exists() for jar in jars):
        maven = shutil.which("mvn")
        assert maven is not None, "mvn is needed to fetch Storm's jars"
        build = [maven, "--batch-mode", "--quiet", "--file", str(PLUGIN / "pom.xml")]
        subprocess.run([*build, "-DskipTests", "package"], check=True, timeout=800)
    return listed.read_text().strip()


@pytest.fixture(scope="module")
def peer(storm_classpath: str, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    classes = tmp_path_factory.mktemp("peer")
    compile_ = ["javac", "-nowarn", "-cp", storm_classpath, "-d", str(classes), str(PEER)]
    subprocess.run(compile_, check=True, timeout=800)
    name = "io.stormbrain.peer.EvenSchedulerPeer"
    return ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{classes}:{storm_classpath}", name]


def ask_storm(peer: list[str], questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    lines = "".join(json.dumps(question) + "\n" for question in questions)
    run = subprocess.run(
        peer, input=lines, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        check=True, timeout=800,
    )  # fmt: skip
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    assert [a for a in answers if "error" in a] == []
    assert len(answers) == len(questions)
    return [answer["assignments"] for answer in answers]


def random_cluster(seed: int, *, running: float) -> tuple[Problem, Placement]:
    """Nodes in any order of their names, some blacklisted, some without slots; topologies of which
    a share runs already, on slots of their own, not always in full."""
    rng = np.random.default_rng(seed)
    names = rng.permutation([f"s{i}-{int(rng.integers(100))}" for i in range(rng.integers(1, 9))])
    nodes = [
        Node(
            str(name),
            tuple(int(p) for p in rng.permutation(np.arange(6700, 6700 + rng.integers(0, 6)))),
            excluded=bool(rng.random() < 0.1),
        )
        for name in names
    ]
    own = [
        topology(f"t-{i}", {"c": int(rng.integers(1, 20))}, workers=int(rng.integers(1, 10)))
        for i in range(int(rng.integers(1, 5)))
    ]
    problem = union(nodes, own)
    slot = np.full(len(problem), UNPLACED, dtype=np.int32)
    usable = [s for s in range(len(problem.slots)) if not nodes[problem.slots.node[s]].excluded]
    free = [int(s) for s in rng.permutation(np.array(usable, dtype=np.int64))]
    for t in range(len(own)):
        if free and rng.random() < running:
            # Storm throws if a topology runs on more slots than it asks for and misses executors.
            most = min(len(free), own[t].workers or 1)
            mine = [free.pop() for _ in range(int(rng.integers(1, most + 1)))]
            span = problem.executors_of(t)
            slot[span] = rng.choice(mine, size=span.stop - span.start)
            if rng.random() < 0.5:
                slot[span][rng.random(span.stop - span.start) < 0.3] = UNPLACED
    return problem, Placement(slot)


def question(problem: Problem, current: Placement, scheduler: str) -> dict[str, Any]:
    topologies = []
    for t, own in enumerate(problem.topologies):
        first = int(problem.offsets[t])
        topologies.append(
            {
                "id": own.id,
                "workers": own.workers,
                "executors": [[e + 1, e + 1] for e in range(len(own))],
                "assignment": {
                    f"{e + 1}-{e + 1}": place(problem, int(current.slot[first + e]))
                    for e in range(len(own))
                    if current.slot[first + e] != UNPLACED
                },
            }
        )
    supervisors = [
        {"id": n.id, "ports": list(n.slots), "blacklisted": n.excluded} for n in problem.nodes
    ]
    return {"scheduler": scheduler, "supervisors": supervisors, "topologies": topologies}


def place(problem: Problem, slot: int) -> list[Any]:
    return [problem.nodes[int(problem.slots.node[slot])].id, int(problem.slots.port[slot])]


def answer(problem: Problem, placement: Placement) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for t, own in enumerate(problem.topologies):
        first = int(problem.offsets[t])
        result[own.id] = {
            f"{e + 1}-{e + 1}": place(problem, int(placement.slot[first + e]))
            for e in range(len(own))
            if placement.slot[first + e] != UNPLACED
        }
    return result


Compared = list[tuple[dict[str, Any], dict[str, Any]]]
CASES = {"even": ("even", 0.5), "fresh": ("default", 0.0), "default": ("default", 0.6)}
"""The scheduler, and the share of topologies that run already."""


@pytest.fixture(scope="module")
def compared(peer: list[str]) -> dict[str, Compared]:
    """Our answer and Storm's for each cluster of each case; one JVM answers them all."""
    questions, ours, names = [], [], []
    for name, (scheduler, running) in CASES.items():
        for seed in range(CLUSTERS):
            problem, current = random_cluster(seed, running=running)
            result = even.solve(problem, current, Options(params={"variant": scheduler}))
            questions.append(question(problem, current, scheduler))
            ours.append(answer(problem, result.placement))
            names.append(name)
    pairs: dict[str, Compared] = {name: [] for name in CASES}
    for name, own, real in zip(names, ours, ask_storm(peer, questions), strict=True):
        pairs[name].append((own, real))
    return pairs


def test_even_is_storms_even_scheduler_slot_by_slot(compared: dict[str, Compared]) -> None:
    assert [(a, b) for a, b in compared["even"] if a != b] == []
    assert len(compared["even"]) >= 200


def test_default_is_storms_default_scheduler_for_new_topologies(
    compared: dict[str, Compared],
) -> None:
    assert [(a, b) for a, b in compared["fresh"] if a != b] == []


def test_default_keeps_and_frees_as_much_as_storms_default_scheduler(
    compared: dict[str, Compared],
) -> None:
    """Which of several slots of the same size it keeps is up to a hash map, so the sizes count."""

    def sizes(assignments: dict[str, Any]) -> dict[str, list[int]]:
        return {
            t: sorted(Counter(tuple(slot) for slot in slots.values()).values())
            for t, slots in assignments.items()
        }

    assert [(a, b) for a, b in compared["default"] if sizes(a) != sizes(b)] == []
