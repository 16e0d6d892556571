"""A topology file that cannot be used is refused with its name, the line and the fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from brain.errors import BadInput
from brain.submit.loading import describe, load_topology_file
from brain.submit.options import make_options

REPOSITORY = Path(__file__).parents[2]

COMPONENTS = """
from dataclasses import dataclass
from streamparse import Bolt, Spout, Topology

class Numbers(Spout):
    outputs = ("n",)

class Sink(Bolt):
    pass
"""
ONE_CLASS = f"""{COMPONENTS}
class Mine(Topology):
    numbers = Numbers.spec()
    sink = Sink.spec(inputs=[numbers])
"""
WITH_OPTIONS = f"""{COMPONENTS}
@dataclass(frozen=True)
class Options:
    sinks: int = 2
    \"\"\"How many
    sinks.\"\"\"
    fast: bool = False
    ratio: float = 0.5

    def __post_init__(self):
        if self.sinks < 1:
            raise ValueError("sinks must be 1 or more")

def build(options):
    numbers = Numbers.spec(name="numbers")
    sink = Sink.spec(name="sink", inputs=[numbers], par=options.sinks)
    return type(Topology)("T", (Topology,), {{"numbers": numbers, "sink": sink}})
"""


def write(directory: Path, text: str, name: str = "flow.py") -> Path:
    path = directory / name
    path.write_text(text)
    return path


def refusal(path: Path) -> BadInput:
    with pytest.raises(BadInput) as caught:
        load_topology_file(path).build({})
    return caught.value


def test_a_syntax_error_is_told_with_file_and_line(tmp_path: Path) -> None:
    path = write(tmp_path, "import os\n\ndef broken(:\n")
    assert refusal(path).message.startswith(f"{path}:3: syntax error")


def test_a_syntax_error_in_an_imported_file_names_that_file(tmp_path: Path) -> None:
    helper = write(tmp_path, "x = = 1\n", "flow_helper.py")
    assert refusal(write(tmp_path, "import flow_helper\n")).message.startswith(f"{helper}:1:")


def test_a_module_that_is_not_there_is_named(tmp_path: Path) -> None:
    error = refusal(write(tmp_path, "\nimport no_such_module\n"))
    assert "flow.py:2" in error.message
    assert "no_such_module" in error.message


def test_an_exception_is_told_with_the_users_line(tmp_path: Path) -> None:
    assert "flow.py:1: ZeroDivisionError" in refusal(write(tmp_path, "1 / 0\n")).message


def test_a_wrong_file_is_named(tmp_path: Path) -> None:
    assert "no such file" in refusal(tmp_path / "nothing.py").message
    assert "not a Python file" in refusal(write(tmp_path, "", "flow.txt")).message


def test_a_file_without_a_topology_is_told_what_to_define(tmp_path: Path) -> None:
    error = refusal(write(tmp_path, COMPONENTS))
    assert "neither a Topology class nor build" in error.message


def test_several_classes_need_a_choice(tmp_path: Path) -> None:
    path = write(tmp_path, ONE_CLASS + ONE_CLASS.replace("Mine", "Other"))
    assert "--class: Mine, Other" in (refusal(path).hint or "")
    assert load_topology_file(path).build({}, "Other").__name__ == "Other"
    with pytest.raises(BadInput, match="no class Third"):
        load_topology_file(path).build({}, "Third")


def test_a_file_in_a_package_keeps_its_full_module_name(tmp_path: Path) -> None:
    package = tmp_path / "flows" / "deep"
    package.mkdir(parents=True)
    for directory in (package, package.parent):
        (directory / "__init__.py").touch()
    file = load_topology_file(write(package, ONE_CLASS))
    assert (file.module.__name__, file.root) == ("flows.deep.flow", tmp_path)
    script = file.build({}).thrift_bolts["sink"].bolt_object.shell.script
    assert script == "flows.deep.flow.Sink"


def test_a_file_of_the_same_name_elsewhere_is_not_confused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, ONE_CLASS.replace("Mine", f"In{name.upper()}"))
    names = [load_topology_file(tmp_path / n / "flow.py").build({}).__name__ for n in "ab"]
    assert names == ["InA", "InB"]


def test_options_are_typed_and_described(tmp_path: Path) -> None:
    file = load_topology_file(write(tmp_path, WITH_OPTIONS))
    built = file.build({"sinks": "4"})
    assert built.thrift_bolts["sink"].common.parallelism_hint == 4
    assert describe(file)["sinks"] == {"type": "int", "default": 2, "meaning": "How many sinks."}
    assert file.options_class is not None
    made = make_options(file.options_class, {"fast": "on", "ratio": "2"}, "here")
    assert (made.fast, made.ratio) == (True, 2.0)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"sink": "4"}, "has no option sink"),
        ({"sinks": "many"}, "option sinks must be a whole number, not 'many'"),
        ({"fast": "maybe"}, "option fast must be true or false"),
        ({"sinks": "0"}, "sinks must be 1 or more"),
    ],
)
def test_a_wrong_option_is_named(tmp_path: Path, given: dict[str, str], told: str) -> None:
    file = load_topology_file(write(tmp_path, WITH_OPTIONS))
    with pytest.raises(BadInput) as caught:
        file.build(given)
    assert told in caught.value.message


def test_an_unknown_option_lists_the_known_ones(tmp_path: Path) -> None:
    file = load_topology_file(write(tmp_path, WITH_OPTIONS))
    with pytest.raises(BadInput) as caught:
        file.build({"sink": "4"})
    assert "sinks=2, fast=False, ratio=0.5" in (caught.value.hint or "")


def test_every_topology_of_the_package_loads_and_builds() -> None:
    for path in sorted((REPOSITORY / "topologies").glob("[!_]*.py")):
        assert load_topology_file(path).build({}).thrift_spouts
