"""What is packed and sent: sources, settings, and the check with the workers' Python."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from brain.errors import BadInput
from brain.submit.packing import MissingOnWorkers, check_imports
from brain.submit.settings import parse_settings
from brain.submit.submission import component_targets, prepare

REPOSITORY = Path(__file__).parents[2]
PARALLEL = REPOSITORY / "topologies" / "parallel.py"
PYTHON = Path(sys.executable)

FLOW = """
from streamparse import Bolt, Spout, Topology
import {imported}

class Numbers(Spout):
    outputs = ("n",)

class Flow(Topology):
    config = {{"topology.workers": 2, "topology.debug": True}}
    numbers = Numbers.spec()
"""


def contents(jar: Path) -> list[str]:
    with zipfile.ZipFile(jar) as packed:
        return packed.namelist()


def test_the_whole_package_is_packed_and_nothing_else(tmp_path: Path) -> None:
    prepared = prepare(PARALLEL, tmp_path / "a.jar")
    names = contents(prepared.jar)
    assert {
        "resources/topologies/__init__.py",
        "resources/topologies/parallel.py",
        "resources/topologies/common/java_hash.py",
    } <= set(names)
    assert not [n for n in names if not n.startswith("resources/topologies/") or ".pyc" in n]


def test_equal_sources_give_an_equal_jar(tmp_path: Path) -> None:
    first, second = (prepare(PARALLEL, tmp_path / f"{i}.jar").jar for i in range(2))
    assert first.read_bytes() == second.read_bytes()


def test_a_single_file_takes_along_what_it_imports_beside_it(tmp_path: Path) -> None:
    (tmp_path / "flow_beside.py").write_text("x = 1\n")
    (tmp_path / "unrelated.py").write_text("x = 1\n")
    (tmp_path / "flow.py").write_text(FLOW.format(imported="flow_beside"))
    prepared = prepare(tmp_path / "flow.py", tmp_path / "flow.jar")
    assert contents(prepared.jar) == ["resources/flow.py", "resources/flow_beside.py"]
    check_imports(prepared.jar, component_targets(prepared.topology), PYTHON)


def test_the_packed_topology_imports_without_stormbrain(tmp_path: Path) -> None:
    prepared = prepare(PARALLEL, tmp_path / "a.jar")
    targets = component_targets(prepared.topology)
    assert set(targets) == {
        "topologies.parallel.KeySpout",
        "topologies.parallel.KeyBolt",
        "topologies.parallel.LastBolt",
    }
    code = "import sys; sys.modules['brain'] = None; sys.path.append(sys.argv[1]); import "
    modules = ", ".join(target.rpartition(".")[0] for target in targets)
    subprocess.run([PYTHON, "-I", "-c", code + modules, f"{prepared.jar}/resources"], check=True)


def test_a_module_that_only_the_submitter_has_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "only_here.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(str(elsewhere))
    flows = tmp_path / "flows"
    flows.mkdir()
    (flows / "flow.py").write_text(FLOW.format(imported="only_here"))
    prepared = prepare(flows / "flow.py", tmp_path / "flow.jar")
    with pytest.raises(MissingOnWorkers, match=r"module only_here, which flow\.Numbers imports"):
        check_imports(prepared.jar, component_targets(prepared.topology), PYTHON)


def test_a_python_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    prepared = prepare(PARALLEL, tmp_path / "a.jar")
    with pytest.raises(MissingOnWorkers, match="no-python"):
        check_imports(prepared.jar, [], tmp_path / "no-python")


def test_settings_go_to_options_or_to_storm_by_their_name(tmp_path: Path) -> None:
    settings = ["depth=2", "topology.debug=true", "topology.x=[1, a]"]
    prepared = prepare(PARALLEL, tmp_path / "a.jar", settings=settings, workers=5)
    assert prepared.name == "parallel"
    assert set(prepared.topology.thrift_bolts) == {"bolt-1", "bolt-2"}
    assert prepared.conf["topology.debug"] is True
    assert prepared.conf["topology.x"] == [1, "a"]
    assert prepared.conf["topology.workers"] == 5


def test_the_users_settings_win_over_the_classs_own(tmp_path: Path) -> None:
    (tmp_path / "flow.py").write_text(FLOW.format(imported="os"))
    prepared = prepare(tmp_path / "flow.py", tmp_path / "a.jar", settings=["topology.debug=false"])
    assert prepared.conf == {"topology.workers": 2, "topology.debug": False}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"settings": ["dept=2"]}, "has no option dept"),
        ({"settings": ["depth"]}, "'depth' is not key=value"),
        ({"settings": ["topology.x=[1"]}, "the value of topology.x is not YAML"),
        ({"name": "a/b"}, "not a name for a topology"),
        ({"workers": 0}, "must be 1 or more"),
    ],
)
def test_wrong_settings_are_named(tmp_path: Path, arguments: dict[str, object], told: str) -> None:
    with pytest.raises(BadInput) as caught:
        prepare(PARALLEL, tmp_path / "a.jar", **arguments)  # type: ignore[arg-type]
    assert told in caught.value.message


def test_values_are_read_as_in_storm_yaml() -> None:
    given = ["a=1", "b=1.5", "c=true", "d=x=y", "e=", "f='1'"]
    assert parse_settings(given) == {
        "a": 1, "b": 1.5, "c": True, "d": "x=y", "e": None, "f": "1"
    }  # fmt: skip
