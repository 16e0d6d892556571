"""Experiment files: those of the repository are sound, and faults are told with their path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from brain.bench.experiment import EXPERIMENTS_DIR, load_experiment
from brain.bench.submitting import run_conf
from brain.config import keys
from brain.errors import BadInput
from brain.submit.submission import prepare

FILES = sorted((Path(__file__).parents[2] / EXPERIMENTS_DIR).glob("*.yaml"))

GOOD: dict[str, Any] = {
    "name": "x",
    "title": "X",
    "paper": "fischer2015",
    "topology": {"file": "topologies/payload.py", "options": {"depth": 2}},
    "cluster": {"nodes": 2, "bandwidth_mbit": [10, 20]},
    "schedulers": ["default", {"name": "offline", "label": "o", "conf": {"a.b": 1}}],
    "cases": [{"name": "one"}, {"name": "two", "options": {"depth": 3}, "schedulers": ["default"]}],
    "goals": [{"measure": "throughput", "scheduler": "o", "against": "default", "at_least": 1.5}],
}


def written(folder: Path, raw: Any) -> Path:
    path = folder / "x.yaml"
    path.write_text(yaml.safe_dump(raw))
    return path


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_experiment_of_the_repository_is_sound(
    path: Path, quick: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Topology, options and settings exist; the topology can be built and packed."""
    monkeypatch.chdir(path.parents[2])
    experiment = load_experiment(path, quick)
    assert experiment.name == path.stem
    assert "default" in {scheduler.name for scheduler in experiment.schedulers}
    known = set(keys.KEYS)
    for case, label, _ in experiment.order():
        conf = run_conf(experiment.scheduler(label), case.topology, experiment.timing)
        unknown = {key for key in conf if key.startswith("topology.brain.")} - known
        assert not unknown
    if not quick:
        for case in experiment.cases:
            if case.topology.file is not None:
                settings = [f"{key}={value}" for key, value in case.topology.options.items()]
                prepare(Path(case.topology.file), tmp_path / "x.jar", settings=settings)


def test_schedulers_take_turns(tmp_path: Path) -> None:
    experiment = load_experiment(written(tmp_path, {**GOOD, "repeats": 2}))
    turns = [(case.name, label, repeat) for case, label, repeat in experiment.order()]
    assert turns[:4] == [("one", "default", 0), ("one", "o", 0), ("one", "default", 1),
                         ("one", "o", 1)]  # fmt: skip
    assert turns[4:] == [("two", "default", 0), ("two", "default", 1)]
    assert experiment.cases[1].topology.options == {"depth": 3}
    assert experiment.scheduler("o").conf["a.b"] == 1
    nodes = experiment.cases[0].cluster.spec("n", "netns", {}).nodes
    assert [node.bandwidth_mbit for node in nodes] == [10, 20]


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"paper": "mine"}, "paper"),
        ({"name": None}, "name: is missing"),
        ({"repeats": 0}, "repeats"),
        ({"repeat": 3}, "repeat: there is no such field"),
        ({"throughput": "fast"}, "throughput"),
        ({"schedulers": ["default", "fastest"]}, r"schedulers\[1\]"),
        ({"schedulers": ["default", "default"]}, "schedulers"),
        ({"cluster": {"nodes": 1}}, "cluster.nodes"),
        ({"cluster": {"nodes": 2, "bandwidth_mbit": "a lot"}}, "cluster.bandwidth_mbit"),
        ({"cluster": {"nodes": 2, "speed": 3}}, "cluster.speed"),
        ({"topology": {}}, "topology"),
        ({"timing": {"measure": -1}}, "timing.measure"),
        ({"cases": [{"name": "a"}, {"name": "a"}], "goals": []}, "cases"),
        ({"cases": [{"name": "a", "schedulers": ["metis"]}], "goals": []}, r"cases\[0\].sched"),
        ({"goals": [{**GOOD["goals"][0], "measure": "beauty"}]}, r"goals\[0\].measure"),
        ({"goals": [{**GOOD["goals"][0], "at_most": 2}]}, r"goals\[0\].at_least"),
        ({"quick": {"cases": ["three"]}}, "quick.cases"),
    ],
)
def test_a_fault_is_told_with_its_path(tmp_path: Path, change: Any, where: str) -> None:
    with pytest.raises(BadInput, match=where):
        load_experiment(written(tmp_path, {**GOOD, **change}), quick="quick" in change)
