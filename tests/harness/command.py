"""Runs `stormbrain` commands in this process, as a terminal of a fixed width would."""

from __future__ import annotations

import importlib
import json
from dataclasses import dataclass
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from brain.cli.main import COMMAND_MODULES
from brain.errors import StormbrainError


@dataclass(frozen=True)
class Run:
    code: int
    out: str
    error: StormbrainError | None

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run(*arguments: str) -> Run:
    """A StormbrainError is what main() would tell in one line; it comes back as ``error``."""
    app = typer.Typer()
    for module in COMMAND_MODULES:
        importlib.import_module(module).register(app)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "200")
        done = CliRunner().invoke(app, [str(a) for a in arguments])
    if isinstance(done.exception, StormbrainError):
        return Run(done.exception.exit_code, done.output, done.exception)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Run(done.exit_code, done.output, None)
