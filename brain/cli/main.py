"""The ``stormbrain`` command. Each subcommand lives in a file of its own and imports what it
needs when it runs, so that ``stormbrain --help`` stays quick."""

from __future__ import annotations

import importlib
import logging
import sys
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from brain import __version__
from brain.errors import StormbrainError
from brain.extras import missing_extra

app = typer.Typer(
    name="stormbrain",
    help="Places the executors of Apache Storm topologies by their measured traffic.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

COMMAND_MODULES = (
    "brain.cli.cluster",
    "brain.cli.testbed",
    "brain.cli.bench",
    "brain.cli.topologies",
    "brain.cli.data",
    "brain.cli.serve",
    "brain.cli.agent",
    "brain.cli.status",
    "brain.cli.plan",
    "brain.cli.explain",
    "brain.cli.whatif",
    "brain.cli.doctor",
    "brain.cli.dashboard",
    "brain.cli.demo",
    "brain.cli.solve",
    "brain.cli.simulate",
    "brain.cli.bench_report",
    "brain.cli.config",
    "brain.cli.replay",
    "brain.cli.pipeline",
)
"""Each module has ``register(app)``, which adds its commands."""


def _version(show: bool) -> None:
    if show:
        print(f"stormbrain {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Runs the CLI: errors are one line and a hint; tracebacks only with ``--debug``."""
    for module in COMMAND_MODULES:
        importlib.import_module(module).register(app)
    debug = "--debug" in sys.argv[1:]
    if (
        not debug
    ):  # kazoo's complaints would stand before our one line; `serve` has a log of its own
        logging.getLogger("kazoo").addHandler(logging.NullHandler())
    try:
        app()  # exits by itself, with usage errors and interrupts told by typer
    except StormbrainError as e:
        if debug:
            raise
        _end_with(e)
    except ModuleNotFoundError as e:
        missing = missing_extra(e)
        if debug or missing is None:
            raise
        _end_with(missing)


def _end_with(error: StormbrainError) -> NoReturn:
    err = Console(stderr=True, highlight=False, soft_wrap=True)
    err.print("[red]error:[/red]", end=" ")
    err.print(error.message, markup=False)
    if error.hint:
        err.print("[dim]hint:[/dim]", end=" ")
        err.print(error.hint, markup=False)
    sys.exit(error.exit_code)
