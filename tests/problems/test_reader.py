"""Malformed problem files are refused with the path of the wrong field."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from brain.errors import BadInput
from brain.problems import load, parse, problem_from_dict, problem_to_dict

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "brain/problems/problem.schema.json").read_text("utf-8")
)

GOOD: dict[str, Any] = {
    "nodes": [
        {"id": "n1", "rack": "r1", "slots": [6700, 6701], "cpu": 400, "memory_mb": 4096},
        {"id": "n2", "host": "h2", "slots": [6700], "excluded": True},
    ],
    "topologies": [
        {
            "id": "t-1",
            "name": "words",
            "workers": 2,
            "max_executors_per_worker": None,
            "executors": [
                {"id": 0, "component": "a", "cpu": 10, "memory_mb": 128},
                {"id": 1, "component": "b"},
                {"id": 2, "component": "b"},
            ],
            "edges": [
                {"from": 0, "to": 1, "tuples": 120.0, "bytes": 54000.0},
                {"from": 0, "to": 2, "tuples": 3},
            ],
            "streams": [{"from": "a", "to": "b", "grouping": "fields"}],
            "pin": {"a": ["n1"]},
            "spread": ["b"],
            "colocate": [["a", "b"]],
        }
    ],
    "current": {"t-1": {"0": ["n1", 6700]}},
}

T = "topologies[0]"
WRONG: list[tuple[str, list[Any], Any, str]] = [
    ("no nodes at all", ["nodes"], ..., "nodes: is missing"),
    ("no topologies", ["topologies"], ..., "topologies: is missing"),
    ("nodes not a list", ["nodes"], {}, "nodes: must be a list, not an object"),
    ("node not an object", ["nodes", 0], 7, "nodes[0]: must be an object"),
    ("no slots", ["nodes", 0, "slots"], ..., "nodes[0].slots: is missing"),
    ("slots a number", ["nodes", 0, "slots"], 6700, "nodes[0].slots: must be a list"),
    ("port too large", ["nodes", 0, "slots", 1], 70000, "nodes[0].slots[1]: must be between"),
    ("port twice", ["nodes", 0, "slots", 1], 6700, "nodes[0].slots[1]: port 6700 is listed twice"),
    ("port a boolean", ["nodes", 0, "slots", 1], True, "nodes[0].slots[1]: must be a whole number"),
    ("node id twice", ["nodes", 1, "id"], "n1", "nodes[1].id: 'n1' is already nodes[0]"),
    ("node id empty", ["nodes", 0, "id"], "", "nodes[0].id: must not be empty"),
    ("negative capacity", ["nodes", 0, "cpu"], -1, "nodes[0].cpu: must not be negative"),
    ("capacity a string", ["nodes", 0, "cpu"], "400", "nodes[0].cpu: must be a number"),
    ("capacity a boolean", ["nodes", 0, "cpu"], True, "nodes[0].cpu: must be a number"),
    ("huge capacity", ["nodes", 0, "memory_mb"], 1e300, "nodes[0].memory_mb: must be at most"),
    ("huge integer", ["nodes", 0, "cpu"], 10**400, "nodes[0].cpu: must be at most"),
    ("excluded a string", ["nodes", 1, "excluded"], "no", "nodes[1].excluded: must be true or"),
    ("misspelt field", ["nodes", 0, "slot"], [1], "nodes[0].slot: unknown field"),
    ("unknown top field", ["node"], [], "node: unknown field"),
    ("topology id twice", ["topologies", 1], ("copy", 0), "topologies[1].id: 't-1' is already"),
    ("executors missing", ["topologies", 0, "executors"], ..., f"{T}.executors: is missing"),
    ("executor id twice", ["topologies", 0, "executors", 1, "id"], "0", f"{T}.executors[1].id:"),
    ("executor id a float", ["topologies", 0, "executors", 1, "id"], 0.5, f"{T}.executors[1].id:"),
    ("no component", ["topologies", 0, "executors", 2, "component"], ..., f"{T}.executors[2].comp"),
    (
        "negative demand",
        ["topologies", 0, "executors", 0, "cpu"],
        -5,
        f"{T}.executors[0].cpu: must",
    ),
    (
        "missing executor",
        ["topologies", 0, "edges", 1, "to"],
        99,
        f"{T}.edges[1].to: executor 99 d",
    ),
    (
        "missing source",
        ["topologies", 0, "edges", 1, "from"],
        "x",
        f"{T}.edges[1].from: executor x",
    ),
    (
        "negative rate",
        ["topologies", 0, "edges", 0, "tuples"],
        -1.0,
        f"{T}.edges[0].tuples: must n",
    ),
    ("negative bytes", ["topologies", 0, "edges", 0, "bytes"], -1, f"{T}.edges[0].bytes: must not"),
    ("no rate", ["topologies", 0, "edges", 1, "tuples"], ..., f"{T}.edges[1]: needs tuples or byt"),
    ("zero workers", ["topologies", 0, "workers"], 0, f"{T}.workers: must be between 1"),
    ("half a worker", ["topologies", 0, "workers"], 1.5, f"{T}.workers: must be a whole number"),
    ("T of zero", ["topologies", 0, "max_executors_per_worker"], 0, f"{T}.max_executors_per_worke"),
    ("pin to nowhere", ["topologies", 0, "pin", "a", 0], "n9", f"{T}.pin.a[0]: node 'n9' does not"),
    ("pin to nothing", ["topologies", 0, "pin", "a"], [], f"{T}.pin.a: must name at least one"),
    ("pin of nobody", ["topologies", 0, "pin", "z"], ["n1"], f"{T}.pin.z: component 'z' has no ex"),
    ("spread of nobody", ["topologies", 0, "spread", 0], "z", f"{T}.spread[0]: component 'z' has"),
    ("colocate flat", ["topologies", 0, "colocate"], ["a"], f"{T}.colocate[0]: must be a list"),
    ("colocate nobody", ["topologies", 0, "colocate", 0, 1], "z", f"{T}.colocate[0][1]: component"),
    ("stream of nobody", ["topologies", 0, "streams", 0, "to"], "z", f"{T}.streams[0].to: compone"),
    (
        "odd grouping",
        ["topologies", 0, "streams", 0, "grouping"],
        "x",
        f"{T}.streams[0].grouping: ",
    ),
    ("frozen a number", ["topologies", 0, "frozen"], 1, f"{T}.frozen: must be true or false"),
    ("current topology", ["current", "t-2"], {}, "current.t-2: topology 't-2' does not exist"),
    ("current executor", ["current", "t-1", "9"], ["n1", 6700], "current.t-1.9: executor 9 does"),
    ("current node", ["current", "t-1", "0", 0], "n9", "current.t-1.0[0]: node 'n9' does not ex"),
    ("current port", ["current", "t-1", "0", 1], 6799, "current.t-1.0[1]: node 'n1' has no slot"),
    (
        "current triple",
        ["current", "t-1", "0"],
        ["n1", 1, 2],
        "current.t-1.0: must be [node, port]",
    ),
]

ONLY_THE_READER = {
    "node id twice",
    "topology id twice",
    "executor id twice",
    "missing executor",
    "missing source",
    "pin to nowhere",
    "pin of nobody",
    "spread of nobody",
    "colocate nobody",
    "stream of nobody",
    "current topology",
    "current executor",
    "current node",
    "current port",
}
"""References between fields are beyond a JSON schema."""


def changed(path: list[Any], value: Any) -> dict[str, Any]:
    document = copy.deepcopy(GOOD)
    place: Any = document
    for step in path[:-1]:
        place = place[step]
    if value is ...:
        del place[path[-1]]
    elif isinstance(value, tuple):
        place.append(copy.deepcopy(place[value[1]]))
    else:
        place[path[-1]] = value
    return document


def test_the_documented_example_is_read() -> None:
    problem, current = problem_from_dict(GOOD)
    assert [n.id for n in problem.nodes] == ["n1", "n2"]
    assert problem.topologies[0].components == ("a", "b")
    assert problem.graph.weight.tolist() == [54000.0, 3.0]  # bytes where given, else tuples
    assert current is not None
    assert current.slot.tolist() == [0, -1, -1]


def test_the_schema_itself_is_valid_and_accepts_the_example() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator(SCHEMA).validate(GOOD)


def test_what_is_written_reads_back_the_same() -> None:
    problem, current = problem_from_dict(GOOD)
    written = problem_to_dict(problem, current)
    again, current_again = problem_from_dict(json.loads(json.dumps(written)))
    assert problem_to_dict(again, current_again) == written
    jsonschema.Draft202012Validator(SCHEMA).validate(written)


@pytest.mark.parametrize(("name", "path", "value", "message"), WRONG, ids=[w[0] for w in WRONG])
def test_wrong_fields_are_named_by_their_path(
    name: str, path: list[Any], value: Any, message: str
) -> None:
    document = changed(path, value)
    with pytest.raises(BadInput) as e:
        problem_from_dict(document)
    assert e.value.message.startswith(message)
    assert e.value.exit_code == 2
    refused = not jsonschema.Draft202012Validator(SCHEMA).is_valid(document)
    assert refused == (name not in ONLY_THE_READER)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "p: is not JSON: Expecting value at line 1, column 1"),
        ("{", "p: is not JSON"),
        ('{"nodes": [}', "p: is not JSON"),
        ("[]", "$: must be an object, not a list"),
        ("null", "$: must be an object, not null"),
        ('{"nodes": [], "nodes": [], "topologies": []}', "p: the field 'nodes' is given twice"),
        ('{"nodes": [{"id": "a", "slots": [], "cpu": NaN}]}', "p: NaN is not a JSON number"),
        ('{"nodes": [{"id": "a", "slots": [], "cpu": Infinity}]}', "p: Infinity is not a JSON"),
        ('{"nodes": [{"id": "a", "slots": [], "cpu": -Infinity}]}', "p: -Infinity is not a JSON"),
        ('{"nodes": [{"id": "a", "slots": [], "cpu": 1e999}]}', "nodes[0].cpu: must be a finite"),
        ('{"nodes": [{"id": "a", "slots": [], "cpu": ' + "9" * 5000 + "}]}", "p: is not usable"),
        ("[" * 100_000, "p: is nested too deeply"),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else None,
)
def test_text_that_is_not_a_problem_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadInput) as e:
        parse(text, "p")
    assert e.value.message.startswith(message)


def test_a_slot_of_two_topologies_is_refused() -> None:
    document = copy.deepcopy(GOOD)
    document["topologies"].append({**document["topologies"][0], "id": "t-2"})
    document["current"] = {"t-1": {"0": ["n1", 6700]}, "t-2": {"1": ["n1", 6700]}}
    with pytest.raises(BadInput, match=r"current\.t-2\.1: slot n1:6700 also runs t-1"):
        problem_from_dict(document)


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        load(str(tmp_path / "missing.json"))
    with pytest.raises(BadInput, match="cannot be read: Is a directory"):
        load(str(tmp_path))
    binary = tmp_path / "binary.json"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match="cannot be read"):
        load(str(binary))


FOG = {
    "nodes": [
        {"id": "a", "slots": [1], "utilisation": 0.25, "availability": 0.9},
        {"id": "b", "slots": [1]},
        {"id": "c", "slots": [1]},
    ],
    "topologies": [],
    "latency_ms": {"a": {"b": 20, "c": 30}, "c": {"b": 12.5, "a": 34}},
}


def test_latencies_are_read_both_ways_and_written_again() -> None:
    problem, _ = problem_from_dict(FOG)
    assert problem.latency_ms is not None
    assert problem.latency_ms.tolist() == [[0, 20, 32], [20, 0, 12.5], [32, 12.5, 0]]
    again, _ = problem_from_dict(problem_to_dict(problem))
    assert again.latency_ms is not None
    assert again.latency_ms.tolist() == problem.latency_ms.tolist()
    assert again.nodes == problem.nodes
    assert again.nodes[0].utilisation == 0.25


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"latency_ms": {"a": {"b": 20}}}, "latency_ms"),
        ({"latency_ms": {"x": {"b": 20}}}, "latency_ms.x"),
        ({"latency_ms": {"a": {"b": -1}}}, "latency_ms.a.b"),
        ({"latency_ms": {"a": 3}}, "latency_ms.a"),
        ({"nodes": [{"id": "a", "slots": [], "utilisation": 1.5}]}, "nodes[0].utilisation"),
    ],
)
def test_latencies_that_cannot_be_are_refused_by_their_path(
    change: dict[str, object], where: str
) -> None:
    with pytest.raises(BadInput) as e:
        problem_from_dict({**FOG, **change})
    assert e.value.where == where
