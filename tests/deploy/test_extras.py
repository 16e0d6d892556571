"""A brain without Spark and plots: what it can still do, and what it says of the rest."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from brain.extras import EXTRAS, MissingExtra, missing_extra, require

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {modules!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: (
    None if name in {modules!r} else found(name, package))
from brain.cli.main import main
main()
"""


def stormbrain_without_extras(*arguments: str) -> subprocess.CompletedProcess[str]:
    modules = {m for own in EXTRAS.values() for m in own}
    code = WITHOUT.format(modules=modules)
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
    )


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^A-Za-z0-9_.-]", line)[0] for line in requirements}


def test_extras_are_those_of_the_project() -> None:
    declared = PROJECT["optional-dependencies"]
    for extra, modules in EXTRAS.items():
        assert names(declared[extra]) <= set(modules)
        assert not names(declared[extra]) & names(PROJECT["dependencies"])
    assert "stormbrain[pipeline,plots]" in declared["test"]


@pytest.mark.parametrize("image", ["brain", "workers"])
def test_images_have_no_extras_unless_asked(image: str) -> None:
    script = ROOT / "deploy" / "docker" / "requirements.py"

    def listed(*extras: str) -> set[str]:
        done = subprocess.run(
            [sys.executable, str(script), str(ROOT / "pyproject.toml"), image, *extras],
            capture_output=True,
            text=True,
            check=True,
        )
        return names(done.stdout.splitlines())

    assert not listed() & {m for own in EXTRAS.values() for m in own}
    assert "streamparse" in listed()
    if image == "brain":
        assert {"pyspark", "pyarrow", "pandas"} <= listed("pipeline")


def test_a_brain_without_extras_solves_and_serves() -> None:
    solved = stormbrain_without_extras("solve", "deploy/docker/smoke.json", "--json")
    assert solved.returncode == 0, solved.stderr
    assert '"inter_node": 1.0' in solved.stdout
    assert stormbrain_without_extras("serve", "--help").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "module", "extra"),
    [
        (("pipeline", "ingest", "logs", "-s", "store"), "pyspark", "pipeline"),
        (("serve", "--profiles", "graph"), "pyspark", "pipeline"),
        (("demo",), "matplotlib", "plots"),
        (("bench", "report"), "matplotlib", "plots"),
    ],
)
def test_a_command_that_needs_an_extra_names_it_in_one_line(
    arguments: tuple[str, ...], module: str, extra: str
) -> None:
    done = stormbrain_without_extras(*arguments)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        f"error: this needs {module}, which is not installed here",
        f"hint: pip install 'stormbrain[{extra}]'",
    ]


def test_an_import_that_fails_later_is_told_the_same_way() -> None:
    told = missing_extra(ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow.fs"))
    assert isinstance(told, MissingExtra)
    assert told.hint == "pip install 'stormbrain[pipeline]'"
    assert missing_extra(ModuleNotFoundError("no", name="brain.nowhere")) is None
    require("pipeline", "plots")  # all of it is installed where tests run
