"""Every benchmark's options: told to the user, checked, with the paper's values as defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from brain.errors import BadInput
from brain.submit.loading import describe, load_topology_file

TOPOLOGIES = Path(__file__).parents[2] / "topologies"
FILES = sorted(p for p in TOPOLOGIES.glob("*.py") if p.stem != "__init__")
QUERIES = sorted((TOPOLOGIES / "queries").glob("*.xml"))


@pytest.mark.parametrize("path", [*FILES, *QUERIES], ids=lambda p: p.stem)
def test_every_option_has_a_meaning(path: Path) -> None:
    described = describe(load_topology_file(path))
    assert described
    assert [name for name, option in described.items() if not option["meaning"]] == []


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_a_module_begins_with_a_drawing(path: Path) -> None:
    doc = load_topology_file(path).module.__doc__ or ""
    assert "──►" in doc or "─►" in doc


TASKS: dict[str, dict[str, int]] = {
    "word_count": {"source": 2, "split": 3, "count": 3, "consumer": 3},
    "tag_and_count": {"source": 1, "tokenise": 1, "number": 1, "consumer": 1},
    "log_processing": {"source": 1, "filter": 2, "index": 2, "statistics": 2, "consumer": 1},
    "soccer": {"sensor": 8, "speed": 4, "analysis": 2},
    "smart_homes": {"source": 10, "house": 10, "plug": 10, "sink": 10},
    "taxi": {"source": 16, "preprocess": 16, "count": 8, "rank": 4, "final": 1},
    "reference": {"spout": 4, "simple-1": 3, "stateful-2": 2, "stateful-6": 2, "ack": 2},
    "opengov": {"ticker": 5, "contracts": 5, "aggregate": 10, "join": 10, "output": 1},
    "srbench_q3": {"reader": 12, "aggregate": 48, "filter": 48, "output": 1},
    "payload": {"spout": 10, "bolt-1": 10, "bolt-7": 10},
    "linear": {"source": 8, "operator-1": 8, "sink": 8},
    "diamond": {"source": 8, "operator-3": 8, "sink": 8},
    "star": {"source-1": 4, "centre": 8, "sink-2": 8},
}


def tasks_of(path: Path, options: dict[str, str]) -> dict[str, int]:
    return {spec.name: spec.par for spec in load_topology_file(path).build(options).specs}


@pytest.mark.parametrize("name", sorted(TASKS))
def test_defaults_are_the_papers(name: str) -> None:
    found = tasks_of(TOPOLOGIES / f"{name}.py", {})
    assert {component: found[component] for component in TASKS[name]} == TASKS[name]


def test_replicated_tag_and_count_has_two_executors_an_operator() -> None:
    found = tasks_of(TOPOLOGIES / "tag_and_count.py", {"form": "replicated"})
    assert {found[c] for c in ("tokenise", "tag", "tally", "classify", "number")} == {2}
    assert found["source"] == found["consumer"] == 1


def test_queries_have_the_papers_parallelism_and_take_tasks_from_options() -> None:
    for path in QUERIES:
        assert {n for n in tasks_of(path, {}).values() if n > 12} == {48}
        assert tasks_of(path, {"tasks": "3", "aggregate_tasks": "5"})["aggregate"] == 5
        assert tasks_of(path, {"tasks": "3"})["filter"] == 3


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("word_count", {"rate": "-1"}, "rate must be 0 or more"),
        ("word_count", {"counters": "0"}, "counters must be 1 or more"),
        ("word_count", {"events": "-5"}, "events must be 0 or more"),
        ("tag_and_count", {"form": "light"}, "base, heavy, replicated"),
        ("smart_homes", {"slice_minutes": "7"}, "does not divide a day"),
        ("payload", {"tuple_bytes": "3"}, "a key has 16"),
        ("linear", {"form": "disk"}, "io, cpu"),
        ("linear", {"rate": "-2"}, "rate must be -1 or more"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(name: str, options: Any, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        load_topology_file(TOPOLOGIES / f"{name}.py").build(options)


def test_pins_go_to_the_configuration() -> None:
    for name in ("word_count", "tag_and_count", "log_processing"):
        file = load_topology_file(TOPOLOGIES / f"{name}.py")
        config = file.build({"pin_source": "n1", "pin_consumer": "n2,n3"}).config
        assert config["topology.brain.pin"] == {"source": ["n1"], "consumer": ["n2", "n3"]}
