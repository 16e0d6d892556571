"""What an operator copies into a cluster: storm.yaml fragment and systemd unit."""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from brain.agent.__main__ import parser as agent_parser
from brain.cli import serve
from brain.cluster.storm_yaml import HOOK_CLASS, SCHEDULER_CLASS
from brain.config import Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
SCRIPTS = sorted(
    p
    for p in DEPLOY.rglob("*")
    if p.is_file() and p.read_bytes()[:2] == b"#!" and b"sh" in p.read_bytes().split(b"\n")[0]
)


def storm_yaml(path: Path) -> dict[str, Any]:
    values: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return values


@pytest.mark.parametrize("name", ["storm.yaml.fragment", "docker/storm.yaml"])
def test_storm_yaml_names_classes_that_exist(name: str) -> None:
    values = storm_yaml(DEPLOY / name)
    assert values["storm.scheduler"] == SCHEDULER_CLASS
    assert values["topology.auto.task.hooks"] == [HOOK_CLASS]
    for java in (SCHEDULER_CLASS, HOOK_CLASS):
        source = ROOT / "storm-plugin/src/main/java" / f"{java.replace('.', '/')}.java"
        assert source.is_file()


@pytest.mark.parametrize("name", ["storm.yaml.fragment", "docker/storm.yaml", "docker/brain.yaml"])
def test_keys_of_ours_are_known_and_valid(name: str) -> None:
    values = storm_yaml(DEPLOY / name)
    Settings.read(values, name)


def test_the_fragment_begins_with_a_dry_run() -> None:
    assert storm_yaml(DEPLOY / "storm.yaml.fragment")["topology.brain.mode"] == "dry-run"


def unit() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    text = (DEPLOY / "stormbrain.service").read_text(encoding="utf-8")
    parser.read_string(re.sub(r"\\\n\s*", " ", text))
    return parser


def test_the_unit_starts_serve_with_options_that_exist() -> None:
    words = shlex.split(unit()["Service"]["ExecStart"])
    assert words[1] == "serve"
    app = typer.Typer()
    serve.register(app)
    known = {name for option in typer.main.get_command(app).params for name in option.opts}
    assert {w for w in words if w.startswith("--")} <= known


def test_the_unit_reads_the_variables_that_brain_env_sets() -> None:
    wanted = set(re.findall(r"\$\{(\w+)\}", unit()["Service"]["ExecStart"]))
    lines = (DEPLOY / "brain.env").read_text().splitlines()
    given = {line.partition("=")[0] for line in lines if line and not line.startswith("#")}
    assert wanted == given


def test_the_unit_is_hardened_and_without_root() -> None:
    service = unit()["Service"]
    assert service["User"] == "stormbrain"
    assert service["CapabilityBoundingSet"] == ""
    for key in ("NoNewPrivileges", "ProtectHome", "PrivateTmp", "PrivateDevices"):
        assert service[key] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert service["Restart"] == "always"
    assert "MemoryMax" in service


def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    """Asked of systemd itself where there is one; its exposure score must be "OK" (below 3)."""
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        assert unit().sections() == ["Unit", "Service", "Install"]
        return
    copy = tmp_path / "stormbrain.service"
    copy.write_text((DEPLOY / "stormbrain.service").read_text(encoding="utf-8"))
    done = subprocess.run(
        [analyze, "security", "--offline=yes", "--threshold=30", str(copy)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-500:] + done.stderr
    assert "Unknown" not in done.stderr, done.stderr


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: str(p.relative_to(DEPLOY)))
def test_scripts_are_executable_and_parse(script: Path) -> None:
    assert script.stat().st_mode & 0o111
    shell = "bash" if b"bash" in script.read_bytes().split(b"\n")[0] else "sh"
    subprocess.run([shell, "-n", str(script)], check=True)


def test_the_agents_unit_names_options_and_variables_that_exist() -> None:
    text = (DEPLOY / "stormbrain-agent.service").read_text(encoding="utf-8")
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(re.sub(r"\\\n\s*", " ", text))
    start = parser["Service"]["ExecStart"]
    words = shlex.split(start)
    assert words[1] == "agent"
    known = {name for action in agent_parser()._actions for name in action.option_strings}
    assert {w for w in words if w.startswith("--")} <= known
    lines = (DEPLOY / "agent.env").read_text().splitlines()
    given = {line.partition("=")[0] for line in lines if line and not line.startswith("#")}
    assert set(re.findall(r"\$\{(\w+)\}", start)) == given
    assert parser["Service"]["CapabilityBoundingSet"] == ""
