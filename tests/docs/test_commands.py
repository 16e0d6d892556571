"""Every command in the documentation exists with the options shown, and the quick ones run."""

from __future__ import annotations

import importlib
import itertools
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from brain.cli.main import COMMAND_MODULES
from tests.docs.shell_blocks import ROOT, Block, blocks, commands

ALL = list(blocks())
SERVICE_OF_THE_CLI = "stormbrain"
"""The service of docker-compose.yml whose arguments are those of the command."""


@cache
def cli() -> Any:
    app = typer.Typer(name="stormbrain")
    app.callback()(lambda: None)
    for module in COMMAND_MODULES:
        importlib.import_module(module).register(app)
    return typer.main.get_command(app)


def check_stormbrain(words: list[str]) -> None:
    """``words`` follow ``stormbrain``."""
    command = cli()
    path = ["stormbrain"]
    while words and hasattr(command, "commands"):
        if words[0] in ("--help", "--version", "--debug"):
            words = words[1:]
            continue
        assert words[0] in command.commands, f"there is no command {' '.join(path)} {words[0]}"
        path.append(words[0])
        command = command.commands[words[0]]
        words = words[1:]
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    for word in words:
        if re.match(r"--?[A-Za-z]", word):
            name = word.partition("=")[0]
            assert name in known | {"--help"}, f"{' '.join(path)} has no option {name}"


def check_compose(words: list[str]) -> None:
    """``words`` follow ``docker compose``."""
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    profiles = {p for s in compose["services"].values() for p in s.get("profiles", [])}
    for option, value in itertools.pairwise(words):
        if option == "--profile":
            assert value in profiles, f"there is no profile {value}"
    if "run" in words:
        after = list(words[words.index("run") + 1 :])
        while after and after[0].startswith("-"):
            after = after[1:]
        assert after[0] in compose["services"], f"there is no service {after[0]}"
        if after[0] == SERVICE_OF_THE_CLI:
            check_stormbrain(after[1:])
        if after[0] == "submit":
            assert (ROOT / "topologies" / f"{after[1]}.py").is_file(), after[1]


def check_make(words: list[str]) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for word in words:
        if "=" not in word and not word.startswith("-"):
            assert word in targets, f"the Makefile has no target {word}"


@pytest.mark.parametrize("block", ALL, ids=lambda b: b.label)
def test_commands_exist_with_the_options_shown(block: Block) -> None:
    for words in commands(block):
        program, arguments = Path(words[0]).name, words[1:]
        if program == "stormbrain":
            check_stormbrain(arguments)
        elif program == "docker" and arguments[:1] == ["compose"]:
            check_compose(arguments[1:])
        elif program == "make":
            check_make(arguments)
        elif words[0].startswith(("deploy/", "./deploy/")):
            assert os.access(ROOT / words[0], os.X_OK), f"{words[0]} is not there"
        for word in words:
            if word.startswith(("deploy/", "tests/", "docs/", "topologies/", "brain/")):
                assert (ROOT / word.partition("::")[0]).exists(), f"{word} is not there"


@pytest.mark.parametrize("block", [b for b in ALL if b.runs], ids=lambda b: b.label)
def test_quick_commands_run(block: Block, tmp_path: Path) -> None:
    """In a folder of their own, which sees the repository's files under the same names."""
    for shown in ("docs", "topologies", "brain", "deploy", "tests"):
        (tmp_path / shown).symlink_to(ROOT / shown)
    environment = dict(os.environ, PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    environment["STORMBRAIN_STATE"] = str(tmp_path / "state")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.body],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def test_there_are_commands_to_check() -> None:
    assert sum(1 for b in ALL if b.runs) >= 5
    assert sum(1 for b in ALL for _ in commands(b)) >= 30


@pytest.mark.parametrize(
    "page", sorted({b.page for b in ALL} | set(ROOT.glob("docs/*.md"))), ids=lambda p: p.name
)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
